//! Whether an expression makes sense for a schema, what it yields, and what it costs at most.
//!
//! Owns the rules of types, as far as they are certain: what may be of any type is left to the evaluation. Does not know
//! how values are computed.

use super::functions::type_named;
use super::names;
use super::program::Program;
use super::scope::Scope;
use super::signatures;
use super::types::CelType;
use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr, StructExpr,
};
use std::rc::Rc;

/// What is known of an expression.
pub(super) struct Checked<'a> {
    pub(super) of: CelType<'a>,
    /// The most that an evaluation costs.
    pub(super) cost: u64,
}

/// What is wrong with a part of an expression: its number, and the text.
type Fault = (u64, String);

/// Checks an expression in which these variables are known. The text of what is wrong, otherwise.
pub(super) fn check<'a>(
    program: &'a Program,
    variables: Vec<(&'a str, CelType<'a>)>,
) -> Result<Checked<'a>, String> {
    let mut checker = Checker {
        scope: Scope::new(variables),
        cost: 0,
    };
    match checker.of(&program.expression) {
        Ok(of) => Ok(Checked {
            of,
            cost: checker.cost,
        }),
        Err((id, why)) => Err(program.fault(id, &why)),
    }
}

/// The type of an operation of a JSON patch, and its members.
const PATCH: &str = "JSONPatch";
const PATCH_FIELDS: [&str; 4] = ["op", "path", "from", "value"];

struct Checker<'a> {
    scope: Scope<'a, CelType<'a>>,
    cost: u64,
}

impl<'a> Checker<'a> {
    fn spend(&mut self, cost: u64) {
        self.cost = self.cost.saturating_add(cost);
    }

    fn of(&mut self, expression: &'a IdedExpr) -> Result<CelType<'a>, Fault> {
        match &expression.expr {
            Expr::Literal(literal) => Ok(constant(literal)),
            Expr::Ident(name) => {
                self.spend(1);
                let known = self.scope.find(name).cloned();
                known
                    .or_else(|| type_named(name).map(|_| CelType::Type))
                    .ok_or_else(|| undeclared(expression.id, name))
            }
            Expr::Select(select) => self.select(expression.id, select),
            Expr::Call(call) => self.call(expression.id, call),
            Expr::List(list) => {
                self.spend(10);
                let mut item = None;
                for element in &list.elements {
                    let of = self.of(element)?;
                    item = Some(item.map_or(of.clone(), |known: CelType<'a>| joined(known, &of)));
                }
                Ok(CelType::List(
                    Rc::new(item.unwrap_or(CelType::Dyn)),
                    list.elements.len() as u64,
                ))
            }
            Expr::Map(map) => {
                self.spend(30);
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.of(&entry.key)?;
                        self.of(&entry.value)?;
                    }
                }
                Ok(CelType::Map(Rc::new(CelType::Dyn), map.entries.len() as u64))
            }
            Expr::Comprehension(loops) => self.comprehension(loops),
            Expr::Struct(made) => self.made(expression.id, made),
            Expr::Unspecified => Err((expression.id, "unsupported syntax".to_owned())),
        }
    }

    /// An object of a named type. Its name is a variable where there are such types.
    fn made(&mut self, id: u64, made: &'a StructExpr) -> Result<CelType<'a>, Fault> {
        let root = made.type_name.split('.').next().unwrap_or_default();
        if !matches!(self.scope.find(root), Some(CelType::Made(_))) {
            return Err(undeclared(id, &made.type_name));
        }
        self.spend(40);
        for entry in &made.entries {
            if let EntryExpr::StructField(field) = &entry.expr {
                if root == PATCH && !PATCH_FIELDS.contains(&field.field.as_str()) {
                    return Err((entry.id, format!("undefined field '{}'", field.field)));
                }
                self.of(&field.value)?;
            }
        }
        Ok(CelType::Made(&made.type_name))
    }

    fn select(&mut self, id: u64, select: &'a SelectExpr) -> Result<CelType<'a>, Fault> {
        let operand = self.of(&select.operand)?;
        self.spend(1);
        let found = member(&operand, &select.field).map_err(|why| (id, why))?;
        Ok(if select.test { CelType::Bool } else { found })
    }

    fn call(&mut self, id: u64, call: &'a CallExpr) -> Result<CelType<'a>, Fault> {
        let name = call.func_name.as_str();
        if let ("_?._", [operand, field]) = (name, call.args.as_slice()) {
            let operand = self.of(operand)?;
            self.spend(1);
            let field = match &field.expr {
                Expr::Literal(LiteralValue::String(field)) => field.inner(),
                _ => "",
            };
            return match member(&operand, field).map_err(|why| (id, why))? {
                found @ CelType::Optional(_) => Ok(found),
                found => Ok(CelType::Optional(Rc::new(found))),
            };
        }
        let mut args = Vec::with_capacity(call.args.len() + 1);
        if let Some(target) = &call.target {
            let is_space = matches!(&target.expr, Expr::Ident(name) if self.scope.find(name).is_none());
            if !is_space {
                args.push(self.of(target)?);
            }
        }
        if let ("_?_:_", [condition, yes, no]) = (name, call.args.as_slice()) {
            return self.either(condition, yes, no);
        }
        for argument in &call.args {
            args.push(self.of(argument)?);
        }
        self.spend(signatures::cost(name, &args));
        self.returned(id, name, &args)
    }

    /// A choice costs what the dearer side costs.
    fn either(
        &mut self,
        condition: &'a IdedExpr,
        yes: &'a IdedExpr,
        no: &'a IdedExpr,
    ) -> Result<CelType<'a>, Fault> {
        self.of(condition)?;
        let before = self.cost;
        let one = self.of(yes)?;
        let first = std::mem::replace(&mut self.cost, before);
        let other = self.of(no)?;
        self.cost = self.cost.max(first);
        Ok(joined(one, &other))
    }

    fn returned(&self, id: u64, name: &str, args: &[CelType<'a>]) -> Result<CelType<'a>, Fault> {
        let unfit = || {
            let shown: Vec<String> = args.iter().map(ToString::to_string).collect();
            let shown = shown.join(", ");
            (
                id,
                format!("found no matching overload for '{name}' applied to '({shown})'"),
            )
        };
        match (name, args) {
            ("_[_]", [CelType::List(item, _) | CelType::Map(item, _), _]) => Ok(CelType::clone(item)),
            ("_[?_]", [CelType::List(item, _) | CelType::Map(item, _), _]) => {
                Ok(CelType::Optional(item.clone()))
            }
            ("_[_]" | "_[?_]", _) => Ok(CelType::Dyn),
            ("_==_" | "_!=_", [one, other]) if !one.meets(other) => Err(unfit()),
            ("_<_" | "_<=_" | "_>_" | "_>=_", [one, other]) if !one.is_ordered_with(other) => Err(unfit()),
            ("_&&_" | "_||_" | "!_", args) if args.iter().any(|of| !of.meets(&CelType::Bool)) => Err(unfit()),
            ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [one, other]) => sum(one, other).ok_or_else(unfit),
            _ => signatures::returned(name, args).ok_or_else(|| undeclared(id, name)),
        }
    }

    fn comprehension(&mut self, loops: &'a ComprehensionExpr) -> Result<CelType<'a>, Fault> {
        let range = self.of(&loops.iter_range)?;
        let outer = self.scope.len();
        let start = self.of(&loops.accu_init)?;
        self.scope.push(&loops.accu_var, start);
        let (first, second) = match (&range, &loops.iter_var2) {
            (CelType::List(item, _), Some(_)) => (CelType::Int, CelType::clone(item)),
            (CelType::Map(value, _), Some(_)) => (range.entry(), CelType::clone(value)),
            _ => (range.entry(), CelType::Dyn),
        };
        let inner = self.scope.len();
        self.scope.push(&loops.iter_var, first);
        if let Some(name) = &loops.iter_var2 {
            self.scope.push(name, second);
        }
        let before = std::mem::take(&mut self.cost);
        self.of(&loops.loop_cond)?;
        let next = self.of(&loops.loop_step)?;
        let each = std::mem::replace(&mut self.cost, before);
        self.spend(each.saturating_mul(range.size()));
        self.scope.truncate(inner);
        if let Some(variable) = self.scope.find_mut(&loops.accu_var) {
            *variable = match next {
                CelType::List(item, _) => CelType::List(item, range.size()),
                other => other,
            };
        }
        let result = self.of(&loops.result);
        self.scope.truncate(outer);
        result
    }
}

fn undeclared(id: u64, name: &str) -> Fault {
    (id, format!("undeclared reference to '{name}' (in container '')"))
}

/// The type of a member. Why there is none, otherwise.
fn member<'a>(operand: &CelType<'a>, field: &str) -> Result<CelType<'a>, String> {
    let undefined = || format!("undefined field '{field}'");
    let name = names::field(field);
    match operand {
        CelType::Dyn => Ok(CelType::Dyn),
        CelType::Map(value, _) => Ok(CelType::clone(value)),
        CelType::Optional(inner) => match member(inner, field)? {
            found @ CelType::Optional(_) => Ok(found),
            found => Ok(CelType::Optional(Rc::new(found))),
        },
        CelType::Object(schema, is_object) => {
            if *is_object {
                match &*name {
                    "apiVersion" | "kind" => return Ok(CelType::Text(253)),
                    "metadata" => return Ok(CelType::Metadata),
                    _ => {}
                }
            }
            let property = schema.properties.get(&*name);
            property
                .map(|schema| CelType::of(schema, false))
                .ok_or_else(undefined)
        }
        CelType::Typed(of) => {
            let found = of.field(&name).map(|field| CelType::of_form(&field.form));
            found.ok_or_else(undefined)
        }
        CelType::Record(record) => {
            let found = record.members.iter().find(|(known, _)| *known == name);
            found.map(|(_, member)| member.as_type()).ok_or_else(undefined)
        }
        CelType::Computed(values) => {
            let found = values.iter().find(|(known, _)| *known == name);
            found.map(|(_, of)| of.clone()).ok_or_else(undefined)
        }
        CelType::Permission if name == "requestResource" => Ok(CelType::Permission),
        CelType::Metadata if ["name", "generateName"].contains(&&*name) => Ok(CelType::Text(253)),
        CelType::Metadata => Err(undefined()),
        other => Err(format!("type '{other}' does not support field selection")),
    }
}

/// The type of a sum, or of what other operators make of two values.
fn sum<'a>(one: &CelType<'a>, other: &CelType<'a>) -> Option<CelType<'a>> {
    match (one, other) {
        (CelType::Dyn, _) | (_, CelType::Dyn) => Some(CelType::Dyn),
        (CelType::Text(one), CelType::Text(other)) => Some(CelType::Text(one.saturating_add(*other))),
        (CelType::List(item, size), CelType::List(more, others)) => {
            let item = joined(CelType::clone(item), more);
            Some(CelType::List(Rc::new(item), size.saturating_add(*others)))
        }
        (CelType::Time, CelType::Time) => Some(CelType::Duration),
        (CelType::Time, CelType::Duration) | (CelType::Duration, CelType::Time) => Some(CelType::Time),
        (one, other) => one.meets(other).then(|| one.clone()),
    }
}

/// A type for values of either type.
fn joined<'a>(one: CelType<'a>, other: &CelType<'a>) -> CelType<'a> {
    match (&one, other) {
        (CelType::Dyn, other) => other.clone(),
        (CelType::Text(size), CelType::Text(others)) => CelType::Text(*size.max(others)),
        (one_of, other) if one_of.meets(other) => one,
        _ => CelType::Dyn,
    }
}

fn constant<'a>(literal: &LiteralValue) -> CelType<'a> {
    match literal {
        LiteralValue::Boolean(_) => CelType::Bool,
        LiteralValue::Bytes(_) => CelType::Bytes,
        LiteralValue::Double(_) => CelType::Double,
        LiteralValue::Int(_) => CelType::Int,
        LiteralValue::Null => CelType::Null,
        LiteralValue::String(text) => CelType::Text(text.inner().len() as u64),
        LiteralValue::UInt(_) => CelType::Uint,
    }
}
