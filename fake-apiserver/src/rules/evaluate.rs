//! What an expression is worth, and what it costs to find out.
//!
//! Owns the order of evaluation, and the cost of everything but functions. Costs are those that the real server counts,
//! as far as they are known: one for a variable, a member or a call, more for what is made or gone through.

use super::failure::Failure;
use super::functions::{self, Call};
use super::names;
use super::scope::Scope;
use super::value::Val;
use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr, StructExpr,
};
use std::borrow::Cow;
use std::rc::Rc;

/// What one evaluation may cost.
const COST_MAX: u64 = 1_000_000;
const LIST_COST: u64 = 10;
const MAP_COST: u64 = 30;
const STRUCT_COST: u64 = 40;
/// What came of an evaluation.
type Outcome<'a> = Result<Val<'a>, Failure>;

/// An evaluation.
struct Evaluation<'a> {
    scope: Scope<'a, Val<'a>>,
    cost: u64,
}

/// Evaluates an expression; returns the cost, too.
pub(super) fn evaluate<'a>(
    expression: &'a IdedExpr,
    variables: Vec<(&'a str, Val<'a>)>,
) -> (Outcome<'a>, u64) {
    let mut evaluation = Evaluation {
        scope: Scope::new(variables),
        cost: 0,
    };
    let outcome = evaluation.value(expression);
    (outcome, evaluation.cost)
}

impl<'a> Evaluation<'a> {
    fn spend(&mut self, cost: u64) -> Result<(), Failure> {
        self.cost += cost;
        match self.cost > COST_MAX {
            true => Err(Failure::TooExpensive),
            false => Ok(()),
        }
    }

    fn value(&mut self, expression: &'a IdedExpr) -> Outcome<'a> {
        match &expression.expr {
            Expr::Literal(literal) => Ok(constant(literal)),
            Expr::Ident(name) => self.variable(name),
            Expr::Select(select) => {
                let operand = self.value(&select.operand)?;
                self.spend(1)?;
                let name = names::field(&select.field);
                match select.test {
                    true => Ok(Val::Bool(has(&operand, &name))),
                    false => select_from(&operand, &name),
                }
            }
            Expr::Call(call) => self.call(call),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Comprehension(loops) => self.comprehension(loops),
            Expr::Struct(made) => self.made(made),
            Expr::Unspecified => Err(Failure::no_overload()),
        }
    }

    fn variable(&mut self, name: &str) -> Outcome<'a> {
        self.spend(1)?;
        let known = self.scope.find(name).cloned();
        known
            .or_else(|| functions::type_named(name).map(Val::Type))
            .ok_or_else(|| Failure::new(format!("no such attribute(s): {name}")))
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
            ("_?_:_", [condition, yes, no]) => match self.value(condition)? {
                Val::Bool(true) => self.value(yes),
                Val::Bool(false) => self.value(no),
                _ => Err(Failure::no_overload()),
            },
            ("@not_strictly_false", [condition]) => match self.value(condition) {
                Err(Failure::TooExpensive) => Err(Failure::TooExpensive),
                Ok(Val::Bool(false)) => Ok(Val::Bool(false)),
                _ => Ok(Val::Bool(true)),
            },
            ("_?._", [operand, field]) => {
                let (operand, field) = (self.value(operand)?, self.value(field)?);
                self.spend(1)?;
                Ok(optional_member(&operand, &field))
            }
            ("_+_", [one, other]) => {
                let one = self.taken(one)?;
                let other = self.value(other)?;
                self.invoke(&Call::operator("_+_"), vec![one, other])
            }
            (name, args) => self.function(name, call.target.as_deref(), args),
        }
    }

    /// The value of an expression that stands where the variable is about to get another value: a list that grows is not
    /// copied for each entry.
    fn taken(&mut self, expression: &'a IdedExpr) -> Outcome<'a> {
        match &expression.expr {
            Expr::Ident(name) if name.starts_with('@') => {
                self.spend(1)?;
                let variable = self.scope.find_mut(name);
                variable
                    .map(|variable| std::mem::replace(variable, Val::Null))
                    .ok_or_else(Failure::no_overload)
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
        let mut values = Vec::with_capacity(args.len() + 1);
        if let Some(target) = target.filter(|_| space.is_none()) {
            values.push(self.value(target)?);
        }
        for argument in args {
            values.push(self.value(argument)?);
        }
        let call = Call {
            space: space.unwrap_or_default(),
            name,
            is_method: target.is_some() && space.is_none(),
        };
        self.invoke(&call, values)
    }

    fn invoke(&mut self, call: &Call<'_>, args: Vec<Val<'a>>) -> Outcome<'a> {
        self.spend(functions::cost(call, &args))?;
        functions::call(call, args)
    }

    fn comprehension(&mut self, loops: &'a ComprehensionExpr) -> Outcome<'a> {
        let range = self.value(&loops.iter_range)?;
        let outer = self.scope.len();
        let start = self.value(&loops.accu_init)?;
        self.scope.push(&loops.accu_var, start);
        for (first, second) in steps(&range, loops.iter_var2.is_some())? {
            let inner = self.scope.len();
            self.scope.push(&loops.iter_var, first);
            if let Some((name, value)) = loops.iter_var2.as_deref().zip(second) {
                self.scope.push(name, value);
            }
            if !matches!(self.value(&loops.loop_cond)?, Val::Bool(true)) {
                self.scope.truncate(inner);
                break;
            }
            let next = self.value(&loops.loop_step)?;
            self.scope.truncate(inner);
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
        Val::Optional(value) => {
            let found = value.as_ref().and_then(|value| value.member(name));
            Ok(Val::optional(found))
        }
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
