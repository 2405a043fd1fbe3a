//! Whether an expression makes sense for its variables, and what it yields.
//!
//! Owns the rules of types, and the texts of what is wrong. Does not know how values are computed, nor what that costs.

use super::instantiation::instantiate;
use super::literals;
use super::names;
use super::program::Program;
use super::scope::Scope;
use super::signatures::{Overload, overloads};
use super::type_names::type_named;
use super::types::CelType;
use super::unify::{Bindings, wider};
use super::walk::qualified;
use crate::machinery::stack::with_stack;
use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr, SelectExpr,
    StructExpr,
};
use std::collections::HashMap;
use std::sync::Arc;

/// What is known of an expression.
pub(super) struct Checked<'a> {
    pub(super) of: CelType<'a>,
    /// The types of its parts, by their numbers.
    pub(super) types: HashMap<u64, CelType<'a>>,
    /// The functions that its parts call.
    pub(super) calls: HashMap<u64, Resolved>,
}

/// What a call may mean.
#[derive(Debug)]
pub(super) struct Resolved {
    /// With what precedes the name, where that is no value.
    pub(super) name: String,
    pub(super) overloads: Vec<&'static Overload>,
}

/// Checks an expression in which these variables are known. The text of what is wrong, otherwise.
pub(super) fn check<'a>(
    program: &'a Program,
    variables: Vec<(&'a str, CelType<'a>)>,
) -> Result<Checked<'a>, String> {
    with_stack(program.depth, || check_parts(program, variables))
}

fn check_parts<'a>(
    program: &'a Program,
    variables: Vec<(&'a str, CelType<'a>)>,
) -> Result<Checked<'a>, String> {
    let mut checker = Checker {
        scope: Scope::new(variables),
        bindings: Bindings::default(),
        types: HashMap::new(),
        calls: HashMap::new(),
        faults: Vec::new(),
    };
    let of = checker.of(&program.expression);
    if !checker.faults.is_empty() {
        return Err(program.faults(&checker.faults));
    }
    let bindings = checker.bindings;
    let types = checker.types.into_iter();
    let checked = Checked {
        of: bindings.settle(&of),
        types: types.map(|(id, of)| (id, bindings.settle(&of))).collect(),
        calls: checker.calls,
    };
    let faults = literals::faults(&program.expression, &checked.types);
    if !faults.is_empty() {
        return Err(program.faults(&faults));
    }
    let instantiated = instantiate(program);
    instantiated.map_err(|why| format!("program instantiation failed: {why}"))?;
    Ok(checked)
}

/// The type of an operation of a JSON patch, and its members.
const PATCH: &str = "JSONPatch";
const PATCH_FIELDS: [&str; 4] = ["op", "path", "from", "value"];
/// The space of what there is only where patches can be made.
const PATCH_SPACE: &str = "jsonpatch.";

struct Checker<'a> {
    scope: Scope<'a, CelType<'a>>,
    bindings: Bindings<'a>,
    types: HashMap<u64, CelType<'a>>,
    calls: HashMap<u64, Resolved>,
    /// What is wrong with parts of the expression, by their numbers.
    faults: Vec<(u64, String)>,
}

impl<'a> Checker<'a> {
    /// Notes what is wrong; the type of such a part.
    fn fault(&mut self, id: u64, why: String) -> CelType<'a> {
        self.faults.push((id, why));
        CelType::Error
    }

    fn mismatch(&mut self, id: u64, wanted: &CelType<'a>, found: &CelType<'a>) -> CelType<'a> {
        self.fault(id, format!("expected type '{wanted}' but found '{found}'"))
    }

    fn undeclared(&mut self, id: u64, name: &str) -> CelType<'a> {
        self.fault(id, format!("undeclared reference to '{name}' (in container '')"))
    }

    fn of(&mut self, expression: &'a IdedExpr) -> CelType<'a> {
        let id = expression.id;
        let of = match &expression.expr {
            Expr::Literal(literal) => constant(literal),
            Expr::Ident(name) => match self.named(name) {
                Some(of) => of,
                None => self.undeclared(id, name),
            },
            Expr::Select(select) => self.select(expression, select),
            Expr::Call(call) => self.call(id, call),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Comprehension(loops) => self.comprehension(loops),
            Expr::Struct(made) => self.made(id, made),
            Expr::Unspecified => self.fault(id, "unsupported syntax".to_owned()),
        };
        self.types.insert(id, of.clone());
        of
    }

    /// The type of a variable, or of a type that is named.
    fn named(&self, name: &str) -> Option<CelType<'a>> {
        let known = self.scope.find(name).cloned();
        known.or_else(|| type_named(name).map(|of| CelType::Type(Arc::new(of))))
    }

    fn list(&mut self, list: &'a ListExpr) -> CelType<'a> {
        let mut items = None;
        for (at, element) in list.elements.iter().enumerate() {
            let of = self.entry(element, list.optional_indices.contains(&at));
            items = Some(self.joined(items, of));
        }
        CelType::list(items.unwrap_or_else(|| self.bindings.fresh()))
    }

    fn map(&mut self, map: &'a MapExpr) -> CelType<'a> {
        let (mut keys, mut values) = (None, None);
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                continue;
            };
            let key = self.of(&entry.key);
            keys = Some(self.joined(keys, key));
            let value = self.entry(&entry.value, entry.optional);
            values = Some(self.joined(values, value));
        }
        let key = keys.unwrap_or_else(|| self.bindings.fresh());
        CelType::map(key, values.unwrap_or_else(|| self.bindings.fresh()))
    }

    /// The type of an entry that may be there or not.
    fn entry(&mut self, value: &'a IdedExpr, is_optional: bool) -> CelType<'a> {
        let of = self.of(value);
        if !is_optional {
            return of;
        }
        let inner = of.unwrapped().clone();
        if !matches!(of, CelType::Optional(_) | CelType::Dyn) {
            self.mismatch(value.id, &CelType::optional(inner.clone()), &of);
        }
        inner
    }

    /// The type of entries of both types.
    fn joined(&mut self, known: Option<CelType<'a>>, of: CelType<'a>) -> CelType<'a> {
        match known {
            None => of,
            Some(known) if self.bindings.assign(&known, &of) => wider(&known, &of).clone(),
            Some(_) => CelType::Dyn,
        }
    }

    /// An object of a named type. Its name is a variable where there are such types.
    fn made(&mut self, id: u64, made: &'a StructExpr) -> CelType<'a> {
        let root = made.type_name.split('.').next().unwrap_or_default();
        let is_known = matches!(self.scope.find(root), Some(CelType::Made(_)));
        for entry in &made.entries {
            if let EntryExpr::StructField(field) = &entry.expr {
                if is_known && root == PATCH && !PATCH_FIELDS.contains(&field.field.as_str()) {
                    self.fault(entry.id, format!("undefined field '{}'", field.field));
                }
                self.entry(&field.value, field.optional);
            }
        }
        match is_known {
            true => CelType::Made(&made.type_name),
            false => self.undeclared(id, &made.type_name),
        }
    }

    fn select(&mut self, expression: &'a IdedExpr, select: &'a SelectExpr) -> CelType<'a> {
        if let Some(of) = qualified(expression).and_then(|name| self.named(&name)) {
            return of;
        }
        let found = self.member(expression.id, &select.operand, &select.field);
        match select.test {
            true => CelType::Bool,
            false => self.bindings.resolve(&found),
        }
    }

    /// The type of a member; optional where the operand is.
    fn member(&mut self, id: u64, operand: &'a IdedExpr, field: &str) -> CelType<'a> {
        let operand = self.of(operand);
        let operand = self.bindings.resolve(&operand);
        let of = operand.unwrapped();
        let found = match of {
            CelType::Map(_, value) => CelType::clone(value),
            CelType::Variable(_) => {
                self.bindings.assign(&CelType::Dyn, of);
                CelType::Dyn
            }
            of if of.is_any() => CelType::Dyn,
            of if of.is_struct() => match field_of(of, field) {
                Some(found) => found,
                None => self.fault(id, format!("undefined field '{field}'")),
            },
            of => {
                self.fault(id, format!("type '{of}' does not support field selection"));
                CelType::Dyn
            }
        };
        match &operand {
            CelType::Optional(_) => CelType::optional(found),
            _ => found,
        }
    }

    fn call(&mut self, id: u64, call: &'a CallExpr) -> CelType<'a> {
        let name = call.func_name.as_str();
        if let ("_?._", None, [operand, field]) = (name, &call.target, call.args.as_slice()) {
            return self.optional_member(id, operand, field);
        }
        let mut args: Vec<CelType<'a>> = call.args.iter().map(|argument| self.of(argument)).collect();
        let Some(target) = &call.target else {
            return self.resolve(id, name.to_owned(), &args, call, false);
        };
        let in_space = qualified(target).map(|space| format!("{space}.{name}"));
        if let Some(name) = in_space.filter(|name| self.is_function(name)) {
            return self.resolve(id, name, &args, call, false);
        }
        args.insert(0, self.of(target));
        self.resolve(id, name.to_owned(), &args, call, true)
    }

    fn optional_member(&mut self, id: u64, operand: &'a IdedExpr, field: &'a IdedExpr) -> CelType<'a> {
        let Expr::Literal(LiteralValue::String(name)) = &field.expr else {
            return self.fault(field.id, "unsupported optional field selection".to_owned());
        };
        self.types.insert(field.id, CelType::Text);
        let found = self.member(id, operand, name.inner());
        let found = match found {
            found @ CelType::Optional(_) => found,
            found => CelType::optional(found),
        };
        self.bindings.resolve(&found)
    }

    fn is_function(&self, name: &str) -> bool {
        let is_here = !name.starts_with(PATCH_SPACE) || self.scope.find(PATCH).is_some();
        is_here && overloads(name).is_some()
    }

    /// What a call returns: all ways to call the function that fit are possible.
    fn resolve(
        &mut self,
        id: u64,
        name: String,
        args: &[CelType<'a>],
        call: &'a CallExpr,
        is_method: bool,
    ) -> CelType<'a> {
        let known = match self.is_function(&name) {
            true => overloads(&name).unwrap_or_default(),
            false => return self.undeclared(id, &name),
        };
        if let "_&&_" | "_||_" = name.as_str() {
            return self.logic(id, name, args, call, known);
        }
        let mut found: Option<CelType<'a>> = None;
        let mut fitting = Vec::new();
        let known = known.iter().filter(|known| known.is_method == is_method);
        for overload in known.filter(|known| known.args.len() == args.len()) {
            let mut types: Vec<&CelType<'a>> = vec![&overload.result];
            types.extend(&overload.args);
            let types = self.bindings.instantiate(&types);
            let pairs: Vec<_> = args.iter().zip(&types[1..]).collect();
            if !self.bindings.assign_all(&pairs) {
                continue;
            }
            fitting.push(overload);
            let result = self.bindings.resolve(&types[0]);
            found = Some(match found {
                Some(known) if known != result => CelType::Dyn,
                _ => result,
            });
        }
        let Some(found) = found else {
            return self.unfit(id, &name, args, is_method);
        };
        let overloads = fitting;
        self.calls.insert(id, Resolved { name, overloads });
        found
    }

    fn logic(
        &mut self,
        id: u64,
        name: String,
        args: &[CelType<'a>],
        call: &'a CallExpr,
        known: &'static [Overload],
    ) -> CelType<'a> {
        let mut of = CelType::Bool;
        for (argument, found) in call.args.iter().zip(args) {
            if !self.bindings.assign(found, &CelType::Bool) {
                of = self.mismatch(argument.id, &CelType::Bool, found);
            }
        }
        let overloads = known.iter().collect();
        self.calls.insert(id, Resolved { name, overloads });
        of
    }

    fn unfit(&mut self, id: u64, name: &str, args: &[CelType<'a>], is_method: bool) -> CelType<'a> {
        let mut shown = args.iter().map(|of| self.bindings.settle(of).to_string());
        let target = match is_method {
            true => shown.next().map(|target| target + ".").unwrap_or_default(),
            false => String::new(),
        };
        let shown: Vec<String> = shown.collect();
        let shown = shown.join(", ");
        let why = format!("found no matching overload for '{name}' applied to '{target}({shown})'");
        self.fault(id, why)
    }

    fn comprehension(&mut self, loops: &'a ComprehensionExpr) -> CelType<'a> {
        let range = self.of(&loops.iter_range);
        let start = self.of(&loops.accu_init);
        let range = self.bindings.resolve(&range);
        let outer = self.scope.len();
        self.scope.push(&loops.accu_var, start.clone());
        let inner = self.scope.len();
        let (first, second) = self.entries(&loops.iter_range, &range, loops.iter_var2.is_some());
        self.scope.push(&loops.iter_var, first);
        if let Some(name) = &loops.iter_var2 {
            self.scope.push(name, second);
        }
        let condition = self.of(&loops.loop_cond);
        self.expect(&loops.loop_cond, &CelType::Bool, &condition);
        let step = self.of(&loops.loop_step);
        self.expect(&loops.loop_step, &start, &step);
        self.scope.truncate(inner);
        let result = self.of(&loops.result);
        self.scope.truncate(outer);
        self.bindings.resolve(&result)
    }

    /// The types of the variables of a loop.
    fn entries(&mut self, range: &IdedExpr, of: &CelType<'a>, is_double: bool) -> (CelType<'a>, CelType<'a>) {
        match of {
            CelType::List(item) if is_double => (CelType::Int, CelType::clone(item)),
            CelType::List(item) => (CelType::clone(item), CelType::Dyn),
            CelType::Map(key, value) => (CelType::clone(key), CelType::clone(value)),
            CelType::Dyn | CelType::Error | CelType::Variable(_) => {
                self.bindings.assign(&CelType::Dyn, of);
                (CelType::Dyn, CelType::Dyn)
            }
            of => {
                let why = format!(
                    "expression of type '{of}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                (self.fault(range.id, why), CelType::Error)
            }
        }
    }

    fn expect(&mut self, part: &IdedExpr, wanted: &CelType<'a>, found: &CelType<'a>) {
        if !self.bindings.assign(wanted, found) {
            self.mismatch(part.id, wanted, found);
        }
    }
}

/// The type of a member of a struct.
fn field_of<'a>(of: &CelType<'a>, field: &str) -> Option<CelType<'a>> {
    let name = names::field(field);
    match of {
        CelType::Object(named) => {
            let member = named.declared.member(&name)?;
            CelType::of(member, &format!("{}.{field}", named.name))
        }
        CelType::Typed(of) => of.field(&name).map(|field| CelType::of_form(&field.form)),
        CelType::Record(record) => {
            let mut members = record.members.iter();
            members
                .find(|(known, _)| *known == name)
                .map(|(_, member)| member.as_type())
        }
        CelType::Computed(values) => {
            let mut values = values.iter();
            values.find(|(known, _)| *known == name).map(|(_, of)| of.clone())
        }
        _ => None,
    }
}

fn constant<'a>(literal: &LiteralValue) -> CelType<'a> {
    match literal {
        LiteralValue::Boolean(_) => CelType::Bool,
        LiteralValue::Bytes(_) => CelType::Bytes,
        LiteralValue::Double(_) => CelType::Double,
        LiteralValue::Int(_) => CelType::Int,
        LiteralValue::Null => CelType::Null,
        LiteralValue::String(_) => CelType::Text,
        LiteralValue::UInt(_) => CelType::Uint,
    }
}
