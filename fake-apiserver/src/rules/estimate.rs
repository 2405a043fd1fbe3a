//! What an expression costs at least and at most, before there are values.
//!
//! Owns the estimates of the real server: what it takes for unknown counts here as unknown, too, for rules are refused by
//! these numbers. Sizes are those of the schema for what is reached from a variable, and follow from the arguments for
//! what functions make. Does not know whether types fit.

use super::call_estimate::{Argument, CallEstimate, estimate_call};
use super::check::{Checked, Resolved};
use super::declared::Declared;
use super::evaluate::{LIST_COST, MAP_COST, STRUCT_COST};
use super::names;
use super::scope::Scope;
use super::span::Span;
use super::types::CelType;
use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr, SelectExpr,
};
use std::collections::HashMap;

/// What an expression costs of which this is known; its variables are all of one schema.
pub(super) fn estimate(expression: &IdedExpr, checked: &Checked<'_>, root: Declared<'_>) -> Span {
    let mut estimator = Estimator {
        checked,
        root,
        places: HashMap::new(),
        sizes: HashMap::new(),
        entries: HashMap::new(),
        scope: Scope::new(Vec::new()),
    };
    estimator.cost(expression)
}

/// Where in the schema the value of an expression is.
#[derive(Clone, Copy)]
enum Place<'a> {
    /// It is not reached from a variable.
    Nowhere,
    At(Declared<'a>),
    /// The schema does not know it.
    Lost,
}

/// How large keys and values of a list or map are.
#[derive(Clone, Copy)]
struct Entries {
    is_list: bool,
    key: Span,
    value: Span,
}

/// A variable of a loop.
#[derive(Clone, Copy)]
struct Local<'a> {
    place: Place<'a>,
    size: Option<Span>,
    entries: Option<Entries>,
}

/// A step from a value to one of its parts.
enum Step<'n> {
    Entry,
    Key,
    Index,
    Member(&'n str),
}

struct Estimator<'c, 'a> {
    checked: &'c Checked<'a>,
    root: Declared<'c>,
    /// By the numbers of expressions, as are the following.
    places: HashMap<u64, Place<'c>>,
    sizes: HashMap<u64, Span>,
    entries: HashMap<u64, Entries>,
    scope: Scope<'c, Local<'c>>,
}

impl<'c> Estimator<'c, '_> {
    fn cost(&mut self, expression: &'c IdedExpr) -> Span {
        match &expression.expr {
            Expr::Literal(_) | Expr::Unspecified => Span::NOTHING,
            Expr::Ident(name) => {
                let local = self.scope.find(name).map(|local| local.place);
                self.places
                    .insert(expression.id, local.unwrap_or(Place::At(self.root)));
                Span::exactly(1)
            }
            Expr::Select(select) => self.select(expression.id, select),
            Expr::Call(call) => self.call(expression, call),
            Expr::List(list) => self.list(expression.id, list),
            Expr::Map(map) => self.map(expression.id, map),
            Expr::Struct(made) => {
                let mut cost = Span::exactly(STRUCT_COST);
                for entry in &made.entries {
                    if let EntryExpr::StructField(field) = &entry.expr {
                        cost = cost + self.cost(&field.value);
                    }
                }
                cost
            }
            Expr::Comprehension(loops) if is_bind(loops) => self.bind(expression.id, loops),
            Expr::Comprehension(loops) => self.comprehension(expression.id, loops),
        }
    }

    fn select(&mut self, id: u64, select: &'c SelectExpr) -> Span {
        if !self.checked.types.contains_key(&select.operand.id) {
            // A type with a name of several words.
            self.places.insert(id, Place::At(self.root));
            return Span::exactly(1);
        }
        let cost = self.cost(&select.operand);
        if select.test {
            return cost;
        }
        let place = self.place(&select.operand);
        self.places
            .insert(id, self.step(place, &Step::Member(&select.field)));
        match self.type_of(&select.operand) {
            CelType::Map(..) => cost + Span::exactly(1),
            of if of.is_struct() => cost + Span::exactly(1),
            _ => cost,
        }
    }

    fn call(&mut self, expression: &'c IdedExpr, call: &'c CallExpr) -> Span {
        let id = expression.id;
        if let ("dyn", None, [argument]) = (call.func_name.as_str(), &call.target, call.args.as_slice()) {
            let cost = self.cost(argument);
            self.copy_sizes(id, argument);
            return cost + Span::exactly(1);
        }
        let costs: Vec<Span> = call.args.iter().map(|argument| self.cost(argument)).collect();
        let args: Vec<Argument<'c>> = call.args.iter().map(|argument| self.argument(argument)).collect();
        let sum = costs.iter().fold(Span::NOTHING, |sum, cost| sum + *cost);
        if call.func_name == "_?._" {
            self.note_size(id, self.size(expression));
            return sum + Span::exactly(1);
        }
        let Some(resolved) = self.checked.calls.get(&id) else {
            return Span::NOTHING;
        };
        // What precedes the name of a function in a space is no value.
        let target = call.target.as_deref().filter(|_| resolved.name == call.func_name);
        let (target_cost, target) = match target {
            Some(target) => (self.cost(target), Some(self.argument(target))),
            None => (Span::NOTHING, None),
        };
        let (cost, size) = self.any_overload(expression, resolved, target.as_ref(), &args, &costs);
        self.note_size(id, size);
        target_cost + cost
    }

    /// What the calls that are possible cost, with their arguments, and how large what they return is.
    fn any_overload(
        &mut self,
        expression: &'c IdedExpr,
        resolved: &Resolved,
        target: Option<&Argument<'c>>,
        args: &[Argument<'c>],
        costs: &[Span],
    ) -> (Span, Option<Span>) {
        let mut cost = Span::EMPTY;
        let mut size: Option<Span> = None;
        for overload in &resolved.overloads {
            let found = self.overload(expression, &resolved.name, &overload.args, target, args, costs);
            cost = cost.joined(found.cost);
            size = match (size, found.size) {
                (Some(size), Some(more)) => Some(size.joined(more)),
                (size, more) => size.or(more),
            };
            if resolved.name == "_[_]"
                && let Some(of) = args.first().map(|of| of.expression)
                && matches!(overload.args[0], CelType::List(_) | CelType::Map(..))
            {
                size = self.entries_of(of).map(|entries| entries.value);
                let place = self.step(self.place(of), &Step::Entry);
                self.places.insert(expression.id, place);
            }
            size = size.or_else(|| self.size(expression));
        }
        (cost, size)
    }

    fn overload(
        &mut self,
        expression: &'c IdedExpr,
        name: &str,
        types: &[CelType<'static>],
        target: Option<&Argument<'c>>,
        args: &[Argument<'c>],
        costs: &[Span],
    ) -> CallEstimate {
        let sum = costs.iter().fold(Span::NOTHING, |sum, cost| sum + *cost);
        match (name, costs) {
            ("_&&_" | "_||_", [first, second]) => CallEstimate::of(Span {
                min: first.min,
                max: (*first + *second).max,
            }),
            ("_?_:_", [condition, yes, no]) => {
                let both = (
                    self.entries_of(args[1].expression),
                    self.entries_of(args[2].expression),
                );
                if let Some(entries) = joined_entries(both) {
                    self.entries.insert(expression.id, entries);
                }
                let size = args[1]
                    .computed_or_unknown()
                    .joined(args[2].computed_or_unknown());
                CallEstimate::of(*condition + yes.joined(*no)).sized(size)
            }
            _ => {
                if let ("_+_", [CelType::Text | CelType::Bytes | CelType::List(_), _]) = (name, types) {
                    let both = (
                        self.entries_of(args[0].expression),
                        self.entries_of(args[1].expression),
                    );
                    if let Some(entries) = joined_entries(both) {
                        self.entries.insert(expression.id, entries);
                    }
                }
                let mut found = estimate_call(name, types, target, args);
                found.cost = found.cost + sum;
                found
            }
        }
    }

    fn argument(&self, expression: &'c IdedExpr) -> Argument<'c> {
        let declared = |place| match place {
            Place::At(declared) => Some(declared),
            Place::Nowhere | Place::Lost => None,
        };
        let place = self.place(expression);
        let of = self.type_of(expression);
        let items = match of {
            CelType::List(item) | CelType::Map(item, _) | CelType::Optional(item) | CelType::Type(item) => {
                let is_text = matches!(**item, CelType::Text | CelType::Bytes);
                // Of what is not reached from a variable, the size is that of any value.
                let place = match place {
                    Place::Nowhere => Place::Nowhere,
                    place => self.step(place, &Step::Entry),
                };
                let size = declared(place).map(|declared| Span::up_to(declared.size_max()));
                Some((is_text, size))
            }
            _ => None,
        };
        Argument {
            expression,
            library: match of {
                CelType::Library(name) => Some(name),
                _ => None,
            },
            computed: self.size(expression),
            items,
        }
    }

    fn list(&mut self, id: u64, list: &'c ListExpr) -> Span {
        let mut cost = Span::exactly(LIST_COST);
        let mut value = Span::EMPTY;
        if list.elements.is_empty() {
            value.min = 0;
        }
        for element in &list.elements {
            cost = cost + self.cost(element);
            value = value.joined(self.size(element).unwrap_or(Span::UNKNOWN));
        }
        let entries = Entries {
            is_list: true,
            key: Span::exactly(1),
            value,
        };
        self.entries.insert(id, entries);
        cost
    }

    fn map(&mut self, id: u64, map: &'c MapExpr) -> Span {
        let mut cost = Span::exactly(MAP_COST);
        let (mut key, mut value) = (Span::EMPTY, Span::EMPTY);
        if map.entries.is_empty() {
            (key.min, value.min) = (0, 0);
        }
        for entry in &map.entries {
            if let EntryExpr::MapEntry(entry) = &entry.expr {
                cost = cost + self.cost(&entry.key) + self.cost(&entry.value);
                key = key.joined(self.size(&entry.key).unwrap_or(Span::UNKNOWN));
                value = value.joined(self.size(&entry.value).unwrap_or(Span::UNKNOWN));
            }
        }
        let entries = Entries {
            is_list: false,
            key,
            value,
        };
        self.entries.insert(id, entries);
        cost
    }

    fn comprehension(&mut self, id: u64, loops: &'c ComprehensionExpr) -> Span {
        let mut cost = self.cost(&loops.iter_range) + self.cost(&loops.accu_init);
        let outer = self.scope.len();
        self.push_bound(&loops.accu_var, &loops.accu_init);
        let inner = self.scope.len();
        self.push_entries(loops);
        let each = self.cost(&loops.loop_cond) + self.cost(&loops.loop_step);
        self.scope.truncate(inner);
        cost = cost + self.cost(&loops.result);
        self.scope.truncate(outer);
        let count = self.size(&loops.iter_range).unwrap_or(Span::UNKNOWN);
        cost = cost + count * each;
        match &loops.accu_init.expr {
            Expr::Literal(_) => self.note_size(id, self.size(&loops.accu_init)),
            Expr::List(_) | Expr::Map(_) => {
                self.note_size(id, Some(count));
                if let Some(entries) = self.entries_of(&loops.loop_step) {
                    self.entries.insert(id, entries);
                }
            }
            _ => {}
        }
        cost
    }

    fn bind(&mut self, id: u64, loops: &'c ComprehensionExpr) -> Span {
        let cost = self.cost(&loops.iter_range) + self.cost(&loops.accu_init);
        let outer = self.scope.len();
        self.push_bound(&loops.accu_var, &loops.accu_init);
        let cost = cost + self.cost(&loops.result);
        self.scope.truncate(outer);
        self.copy_sizes(id, &loops.result);
        cost
    }

    fn push_bound(&mut self, name: &'c str, value: &'c IdedExpr) {
        let local = Local {
            place: self.place(value),
            size: self.size(value),
            entries: self.entries_of(value),
        };
        self.scope.push(name, local);
    }

    fn push_entries(&mut self, loops: &'c ComprehensionExpr) {
        let range = &loops.iter_range;
        let entries = self.entries_of(range);
        let is_list = match entries {
            Some(entries) => entries.is_list,
            None => matches!(self.type_of(range), CelType::List(_)),
        };
        let place = self.place(range);
        let value = Local {
            place: self.step(place, &Step::Entry),
            size: entries.map(|entries| entries.value),
            entries: None,
        };
        let key = Local {
            place: self.step(place, if is_list { &Step::Index } else { &Step::Key }),
            size: entries.map(|entries| entries.key),
            entries: None,
        };
        match &loops.iter_var2 {
            Some(second) => {
                self.scope.push(&loops.iter_var, key);
                self.scope.push(second, value);
            }
            None if is_list => self.scope.push(&loops.iter_var, value),
            None => self.scope.push(&loops.iter_var, key),
        }
    }

    /// The place of a part. What is not reached from a variable has its parts at the root.
    fn step(&self, place: Place<'c>, step: &Step<'_>) -> Place<'c> {
        let declared = match place {
            Place::Nowhere => return Place::At(self.root),
            Place::Lost => return Place::Lost,
            Place::At(declared) => declared,
        };
        let part = match step {
            Step::Entry => declared.entries(),
            Step::Key => declared.key(),
            Step::Index => None,
            Step::Member(name) => declared.member(&names::field(name)),
        };
        part.map_or(Place::Lost, Place::At)
    }

    fn type_of(&self, expression: &IdedExpr) -> &CelType<'_> {
        self.checked.types.get(&expression.id).unwrap_or(&CelType::Dyn)
    }

    fn place(&self, expression: &IdedExpr) -> Place<'c> {
        if let Expr::Ident(name) = &expression.expr
            && let Some(local) = self.scope.find(name)
        {
            return local.place;
        }
        self.places.get(&expression.id).copied().unwrap_or(Place::Nowhere)
    }

    fn note_size(&mut self, id: u64, size: Option<Span>) {
        if let Some(size) = size {
            self.sizes.insert(id, size);
        }
    }

    fn copy_sizes(&mut self, id: u64, from: &IdedExpr) {
        self.note_size(id, self.size(from));
        if let Some(entries) = self.entries_of(from) {
            self.entries.insert(id, entries);
        }
    }

    /// How large a value is, as far as that is known.
    fn size(&self, expression: &IdedExpr) -> Option<Span> {
        if let Some(size) = self.sizes.get(&expression.id) {
            return Some(*size);
        }
        let written = match &expression.expr {
            Expr::Literal(LiteralValue::String(text)) => Some(text.inner().chars().count()),
            Expr::Literal(LiteralValue::Bytes(bytes)) => Some(bytes.inner().len()),
            Expr::Literal(_) => Some(1),
            Expr::List(list) => Some(list.elements.len()),
            Expr::Map(map) => Some(map.entries.len()),
            _ => None,
        };
        if let Some(size) = written {
            return Some(Span::exactly(size as u64));
        }
        if let Place::At(declared) = self.place(expression) {
            return Some(Span::up_to(declared.size_max()));
        }
        if self.type_of(expression).is_scalar() {
            return Some(Span::exactly(1));
        }
        match &expression.expr {
            Expr::Ident(name) => self.scope.find(name).and_then(|local| local.size),
            _ => None,
        }
    }

    fn entries_of(&self, expression: &IdedExpr) -> Option<Entries> {
        if let Some(entries) = self.entries.get(&expression.id) {
            return Some(*entries);
        }
        match &expression.expr {
            Expr::Ident(name) => self.scope.find(name).and_then(|local| local.entries),
            _ => None,
        }
    }
}

fn joined_entries(both: (Option<Entries>, Option<Entries>)) -> Option<Entries> {
    let (one, other) = (both.0?, both.1?);
    Some(Entries {
        is_list: one.is_list,
        key: one.key.joined(other.key),
        value: one.value.joined(other.value),
    })
}

/// Whether a loop is never run, and only gives a name to a value.
fn is_bind(loops: &ComprehensionExpr) -> bool {
    let is_empty = matches!(&loops.iter_range.expr, Expr::List(list) if list.elements.is_empty());
    let is_false = match &loops.loop_cond.expr {
        Expr::Literal(LiteralValue::Boolean(value)) => !*value.inner(),
        _ => false,
    };
    is_empty && is_false
}
