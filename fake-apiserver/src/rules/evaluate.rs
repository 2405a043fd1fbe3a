//! What an expression is worth, and what it costs to find out.
//!
//! Owns the order of evaluation, and the cost of everything but functions. A variable costs one, and so does each member
//! or entry on the way from it; a choice costs nothing itself, nor do variables that it chooses between, nor what is known
//! beforehand. What went wrong is a value until somebody needs it.

use super::failure::Failure;
use super::functions::{self, Call};
use super::macros::RESULT;
use super::names;
use super::program::Program;
use super::scope::Scope;
use super::type_names::type_name;
use super::value::Val;
use super::walk::qualified;
use crate::machinery::stack::with_stack;
use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr, StructExpr,
};
use std::borrow::Cow;
use std::collections::HashSet;
use std::rc::Rc;

/// What one evaluation may cost.
const COST_MAX: u64 = 1_000_000;
/// Functions that make what can be looked up in a set.
const PLAIN: [&str; 5] = ["bool", "double", "int", "string", "uint"];
pub(super) const LIST_COST: u64 = 10;
pub(super) const MAP_COST: u64 = 30;
pub(super) const STRUCT_COST: u64 = 40;

/// What came of an evaluation.
pub(super) type Outcome<'a> = Result<Val<'a>, Failure>;

/// An evaluation.
struct Evaluation<'a> {
    scope: Scope<'a, Outcome<'a>>,
    constants: &'a HashSet<u64>,
    cost: u64,
}

/// Evaluates a part of a program; returns the cost, too.
pub(super) fn evaluate<'a>(
    program: &'a Program,
    part: &'a IdedExpr,
    variables: Vec<(&'a str, Val<'a>)>,
) -> (Outcome<'a>, u64) {
    let variables = variables.into_iter().map(|(name, value)| (name, Ok(value)));
    let mut evaluation = Evaluation {
        scope: Scope::new(variables.collect()),
        constants: &program.constants,
        cost: 0,
    };
    let outcome = with_stack(program.depth, || evaluation.value(part));
    match evaluation.cost > COST_MAX {
        true => (Err(Failure::TooExpensive), evaluation.cost),
        false => (outcome, evaluation.cost),
    }
}

impl<'a> Evaluation<'a> {
    fn spend(&mut self, cost: u64) -> Result<(), Failure> {
        self.cost = self.cost.saturating_add(cost);
        match self.cost > COST_MAX {
            true => Err(Failure::TooExpensive),
            false => Ok(()),
        }
    }

    fn value(&mut self, expression: &'a IdedExpr) -> Outcome<'a> {
        if self.cost > COST_MAX {
            return Err(Failure::TooExpensive);
        }
        if self.constants.contains(&expression.id) {
            let cost = self.cost;
            let value = self.computed(expression);
            self.cost = cost;
            return value;
        }
        if !self.is_path(expression) {
            return self.computed(expression);
        }
        let value = self.along(expression);
        if !self.is_choice(expression) {
            self.spend(1)?;
        }
        value
    }

    /// Whether an expression is a variable or a choice, or a member or an entry of something.
    fn is_path(&self, expression: &IdedExpr) -> bool {
        match &expression.expr {
            Expr::Ident(_) => true,
            Expr::Select(select) => !select.test && self.type_of(expression).is_none(),
            Expr::Call(call) => {
                let name = call.func_name.as_str();
                call.target.is_none() && matches!(name, "_[_]" | "_[?_]" | "_?._" | "_?_:_")
            }
            _ => false,
        }
    }

    /// Whether a path begins with a choice.
    fn is_choice(&self, path: &IdedExpr) -> bool {
        match &path.expr {
            Expr::Select(select) => self.is_path(path) && self.is_choice(&select.operand),
            Expr::Call(call) if self.is_path(path) => {
                call.func_name == "_?_:_" || call.args.first().is_some_and(|operand| self.is_choice(operand))
            }
            _ => false,
        }
    }

    /// The type that a qualified name stands for.
    fn type_of(&self, expression: &IdedExpr) -> Option<Val<'a>> {
        let name = qualified(expression)?;
        let root = name.split('.').next().unwrap_or_default();
        match self.scope.find(root) {
            Some(_) => None,
            None => type_name(&name).map(Val::Type),
        }
    }

    /// Goes along a path.
    fn along(&mut self, expression: &'a IdedExpr) -> Outcome<'a> {
        if !self.is_path(expression) || self.constants.contains(&expression.id) {
            return self.value(expression);
        }
        match &expression.expr {
            Expr::Ident(name) => self.variable(name),
            Expr::Select(select) => {
                let operand = self.along(&select.operand)?;
                self.member(&operand, &names::field(&select.field))
            }
            Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
                ("_?_:_", [condition, yes, no]) => match self.value(condition)? {
                    Val::Bool(true) => self.along(yes),
                    Val::Bool(false) => self.along(no),
                    _ => Err(Failure::no_overload()),
                },
                ("_?._", [operand, field]) => {
                    let operand = self.along(operand)?;
                    let found = optional_member(&operand, &self.value(field)?);
                    self.reached(found)
                }
                (name, [operand, key]) => {
                    let operand = self.along(operand)?;
                    let key = self.key(key);
                    self.entry(&operand, key, name == "_[?_]")
                }
                _ => Err(Failure::no_overload()),
            },
            _ => Err(Failure::no_overload()),
        }
    }

    fn variable(&mut self, name: &str) -> Outcome<'a> {
        match self.scope.find(name) {
            Some(known) => known.clone(),
            None => Err(Failure::new(format!("no such attribute(s): {name}"))),
        }
    }

    /// What an entry is looked for by: where it is a variable itself, only the way from it costs.
    fn key(&mut self, key: &'a IdedExpr) -> Outcome<'a> {
        match self.is_path(key) {
            true => self.along(key),
            false => self.value(key),
        }
    }

    fn member(&mut self, operand: &Val<'a>, name: &str) -> Outcome<'a> {
        match operand {
            Val::Optional(value) => {
                let found = value.as_ref().and_then(|value| value.member(name));
                self.reached(Val::optional(found))
            }
            operand => {
                self.spend(1)?;
                select_from(operand, name)
            }
        }
    }

    fn entry(&mut self, operand: &Val<'a>, key: Outcome<'a>, is_optional: bool) -> Outcome<'a> {
        match operand {
            Val::Optional(inner) => {
                let key = key?;
                let found = inner.as_ref().and_then(|inner| inner.at(&key));
                self.reached(Val::optional(found))
            }
            operand if is_optional => self.reached(Val::optional(operand.at(&key?))),
            operand => {
                self.spend(1)?;
                functions::index(operand, &key?)
            }
        }
    }

    /// A step to what may be missing costs only where it is there.
    fn reached(&mut self, found: Val<'a>) -> Outcome<'a> {
        if let Val::Optional(Some(_)) = &found {
            self.spend(1)?;
        }
        Ok(found)
    }

    fn computed(&mut self, expression: &'a IdedExpr) -> Outcome<'a> {
        match &expression.expr {
            Expr::Literal(literal) => Ok(constant(literal)),
            Expr::Select(select) if select.test => {
                let operand = self.along(&select.operand)?;
                // The way begins with a variable that costs nothing here, and even less with a choice.
                if !self.is_choice(&select.operand) {
                    self.spend(1)?;
                }
                Ok(Val::Bool(has(&operand, &names::field(&select.field))))
            }
            Expr::Ident(_) | Expr::Select(_) => self.type_of(expression).ok_or_else(Failure::no_overload),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Comprehension(loops) => self.comprehension(loops),
            Expr::Struct(made) => self.made(made),
            Expr::Unspecified => Err(Failure::no_overload()),
        }
    }

    fn list(&mut self, list: &'a ListExpr) -> Outcome<'a> {
        self.spend(LIST_COST)?;
        let mut items = Vec::with_capacity(list.elements.len());
        for (at, element) in list.elements.iter().enumerate() {
            match self.value(element)? {
                Val::Optional(value) if list.optional_indices.contains(&at) => {
                    items.extend(value.map(|value| Val::clone(&value)));
                }
                value => items.push(value),
            }
        }
        Ok(Val::list(items))
    }

    fn map(&mut self, map: &'a MapExpr) -> Outcome<'a> {
        self.spend(MAP_COST)?;
        let mut entries = Vec::with_capacity(map.entries.len());
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                return Err(Failure::no_overload());
            };
            let key = self.value(&entry.key)?;
            match self.value(&entry.value)? {
                Val::Optional(value) if entry.optional => {
                    entries.extend(value.map(|value| (key, Val::clone(&value))));
                }
                value => entries.push((key, value)),
            }
        }
        Ok(Val::Map(Rc::new(entries)))
    }

    /// An object of a named type: its members by name.
    fn made(&mut self, made: &'a StructExpr) -> Outcome<'a> {
        self.spend(STRUCT_COST)?;
        let mut entries = Vec::with_capacity(made.entries.len());
        for entry in &made.entries {
            let EntryExpr::StructField(entry) = &entry.expr else {
                return Err(Failure::no_overload());
            };
            let key = Val::Text(names::field(&entry.field));
            match self.value(&entry.value)? {
                Val::Optional(value) if entry.optional => {
                    entries.extend(value.map(|value| (key, Val::clone(&value))));
                }
                value => entries.push((key, value)),
            }
        }
        Ok(Val::Map(Rc::new(entries)))
    }

    fn call(&mut self, call: &'a CallExpr) -> Outcome<'a> {
        match (call.func_name.as_str(), call.args.as_slice()) {
            ("_&&_", [one, other]) => self.both(one, other, false),
            ("_||_", [one, other]) => self.both(one, other, true),
            ("@not_strictly_false", [condition]) => {
                let value = self.value(condition);
                self.spend(1)?;
                Ok(Val::Bool(!matches!(value, Ok(Val::Bool(false)))))
            }
            ("_+_", [one, other]) => {
                let (one, other) = (self.taken(one), self.value(other));
                self.invoke(&Call::operator("_+_"), vec![one, other])
            }
            ("@in", [item, list]) if self.is_set(list) => {
                let (item, list) = (self.value(item)?, self.value(list)?);
                functions::call(&Call::operator("@in"), vec![item, list])
            }
            (name @ ("or" | "orValue"), [otherwise]) => match call.target.as_deref() {
                Some(target) => self.otherwise(name == "or", target, otherwise),
                None => Err(Failure::no_overload()),
            },
            (name, args) => self.function(name, call.target.as_deref(), args),
        }
    }

    /// Whether a list is known beforehand, so that it costs nothing to look something up in it.
    fn is_set(&self, list: &IdedExpr) -> bool {
        let is_plain = |item: &IdedExpr| match &item.expr {
            Expr::Literal(literal) => !matches!(literal, LiteralValue::Bytes(_) | LiteralValue::Null),
            Expr::Call(call) => {
                let name = call.func_name.as_str();
                self.constants.contains(&item.id) && PLAIN.contains(&name)
            }
            _ => false,
        };
        match &list.expr {
            Expr::List(list) => list.elements.iter().all(is_plain),
            _ => false,
        }
    }

    /// The value that is there, or else another.
    fn otherwise(&mut self, stays: bool, target: &'a IdedExpr, other: &'a IdedExpr) -> Outcome<'a> {
        match self.value(target)? {
            Val::Optional(Some(value)) => Ok(match stays {
                true => Val::Optional(Some(value)),
                false => Val::clone(&value),
            }),
            Val::Optional(None) => self.value(other),
            _ => Err(Failure::no_overload()),
        }
    }

    /// The value of an expression that stands where the variable is about to get another value: a list that grows is not
    /// copied for each entry.
    fn taken(&mut self, expression: &'a IdedExpr) -> Outcome<'a> {
        match &expression.expr {
            Expr::Ident(name) if name == RESULT => {
                self.spend(1)?;
                let variable = self.scope.find_mut(name);
                variable
                    .map(|variable| std::mem::replace(variable, Ok(Val::Null)))
                    .unwrap_or_else(|| Err(Failure::no_overload()))
            }
            _ => self.value(expression),
        }
    }

    /// `decisive` on either side is the outcome, whatever the other side is, even a failure.
    fn both(&mut self, one: &'a IdedExpr, other: &'a IdedExpr, decisive: bool) -> Outcome<'a> {
        let first = self.value(one);
        match first {
            Ok(Val::Bool(value)) if value == decisive => return Ok(Val::Bool(decisive)),
            Err(Failure::TooExpensive) => return Err(Failure::TooExpensive),
            _ => {}
        }
        match (first, self.value(other)) {
            (_, Ok(Val::Bool(value))) if value == decisive => Ok(Val::Bool(decisive)),
            (_, Err(Failure::TooExpensive)) => Err(Failure::TooExpensive),
            (Err(why), _) | (Ok(_), Err(why)) => Err(why),
            (Ok(Val::Bool(_)), Ok(Val::Bool(_))) => Ok(Val::Bool(!decisive)),
            _ => Err(Failure::no_overload()),
        }
    }

    fn function(&mut self, name: &str, target: Option<&'a IdedExpr>, args: &'a [IdedExpr]) -> Outcome<'a> {
        let space = target.and_then(|target| match &target.expr {
            Expr::Ident(space) if self.scope.find(space).is_none() => Some(space.as_str()),
            _ => None,
        });
        let target = target.filter(|_| space.is_none());
        // Of more than two arguments, and where a pattern is known beforehand, those after one that went wrong are not asked
        // for, nor is the function called.
        let is_matching = matches!(name, "matches" | "find" | "findAll");
        let is_known = is_matching
            && args
                .last()
                .is_some_and(|pattern| self.constants.contains(&pattern.id));
        let count = args.len() + usize::from(target.is_some());
        let stops = is_known || count > 2;
        let mut values = Vec::with_capacity(count);
        for argument in target.into_iter().chain(args) {
            let value = self.value(argument);
            values.push(match stops && values.len() + 1 < count {
                true => Ok(value?),
                false => value,
            });
        }
        let call = Call {
            space: space.unwrap_or_default(),
            name,
            is_method: target.is_some(),
        };
        self.invoke(&call, values)
    }

    /// Calls a function. It costs the same where an argument went wrong.
    fn invoke(&mut self, call: &Call<'_>, args: Vec<Outcome<'a>>) -> Outcome<'a> {
        let failure = args.iter().find_map(|argument| argument.as_ref().err().cloned());
        let args: Vec<Val<'a>> = args.into_iter().map(|value| value.unwrap_or(Val::Null)).collect();
        let before = functions::cost(call, &args);
        if let Some(failure) = failure {
            let failed = Err(failure);
            self.spend(before.unwrap_or_else(|| functions::cost_of_result(call, &failed)))?;
            return failed;
        }
        if let Some(cost) = before {
            self.spend(cost)?;
            return functions::call(call, args);
        }
        let value = functions::call(call, args);
        self.spend(functions::cost_of_result(call, &value))?;
        value
    }

    fn comprehension(&mut self, loops: &'a ComprehensionExpr) -> Outcome<'a> {
        let range = self.value(&loops.iter_range)?;
        let outer = self.scope.len();
        let start = self.value(&loops.accu_init);
        self.scope.push(&loops.accu_var, start);
        for (first, second) in steps(&range, loops.iter_var2.is_some())? {
            let inner = self.scope.len();
            self.scope.push(&loops.iter_var, Ok(first));
            if let Some((name, value)) = loops.iter_var2.as_deref().zip(second) {
                self.scope.push(name, Ok(value));
            }
            if matches!(self.value(&loops.loop_cond), Ok(Val::Bool(false))) {
                self.scope.truncate(inner);
                break;
            }
            let next = self.value(&loops.loop_step);
            self.scope.truncate(inner);
            if self.cost > COST_MAX {
                return Err(Failure::TooExpensive);
            }
            if let Some(variable) = self.scope.find_mut(&loops.accu_var) {
                *variable = next;
            }
        }
        let result = self.value(&loops.result);
        self.scope.truncate(outer);
        result
    }
}

/// The values that the variables of a loop take.
fn steps<'a>(range: &Val<'a>, is_double: bool) -> Result<Vec<(Val<'a>, Option<Val<'a>>)>, Failure> {
    if let Some(items) = range.items() {
        let items = items.iter().cloned();
        return Ok(match is_double {
            true => (0..)
                .zip(items)
                .map(|(at, item)| (Val::Int(at), Some(item)))
                .collect(),
            false => items.map(|item| (item, None)).collect(),
        });
    }
    match range {
        Val::Members(..) | Val::Map(_) => {
            let entries = range.entries().into_iter();
            Ok(entries.map(|(key, value)| (key, Some(value))).collect())
        }
        _ => Err(Failure::no_overload()),
    }
}

fn constant(literal: &LiteralValue) -> Val<'_> {
    match literal {
        LiteralValue::Boolean(value) => Val::Bool(*value.inner()),
        LiteralValue::Bytes(bytes) => Val::Bytes(bytes.inner().into()),
        LiteralValue::Double(value) => Val::Double(*value.inner()),
        LiteralValue::Int(value) => Val::Int(*value.inner()),
        LiteralValue::Null => Val::Null,
        LiteralValue::String(text) => Val::Text(Cow::Borrowed(text.inner())),
        LiteralValue::UInt(value) => Val::Uint(*value.inner()),
    }
}

fn has(operand: &Val<'_>, name: &str) -> bool {
    match operand {
        Val::Optional(value) => value.as_ref().is_some_and(|value| has(value, name)),
        other => other.member(name).is_some(),
    }
}

fn select_from<'a>(operand: &Val<'a>, name: &str) -> Outcome<'a> {
    match operand {
        Val::Members(..) | Val::Map(_) => {
            let found = operand.member(name);
            found.ok_or_else(|| Failure::new(format!("no such key: {name}")))
        }
        Val::Permission(permission) if name == "requestResource" => {
            Ok(Val::Permission(Rc::new(permission.of_request())))
        }
        Val::Computed(values) => {
            let found = values.iter().find(|(known, _)| *known == name);
            let missing = || Err(Failure::new(format!("no such key: {name}")));
            found.map_or_else(missing, |(_, value)| value.clone())
        }
        _ => Err(Failure::no_overload()),
    }
}

fn optional_member<'a>(operand: &Val<'a>, field: &Val<'a>) -> Val<'a> {
    let inner = match operand {
        Val::Optional(value) => value.as_deref().cloned(),
        other => Some(other.clone()),
    };
    let Val::Text(name) = field else {
        return Val::optional(None);
    };
    Val::optional(inner.and_then(|value| value.member(&names::field(name))))
}
