//! What must hold of what is written out in an expression.
//!
//! Owns the rules that the real server checks after the types: what texts stand for points in time, durations and patterns,
//! what values are put into texts, and that lists and maps hold values of one type.

use super::functions::{pattern, unfit};
use super::instants::{duration, time};
use super::types::CelType;
use super::walk::visit;
use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue};
use std::collections::{HashMap, HashSet};

type Types<'a> = HashMap<u64, CelType<'a>>;
type Faults = Vec<(u64, String)>;

/// What is wrong with what is written out, by the numbers of the parts.
pub(super) fn faults(expression: &IdedExpr, types: &Types<'_>) -> Faults {
    let mut faults = Vec::new();
    let mut mixed = HashSet::new();
    visit(expression, &mut |part| {
        if let Expr::Call(call) = &part.expr {
            if call.func_name == "format" {
                // What is put into a text may be of any types.
                visit(part, &mut |inner| _ = mixed.insert(inner.id));
                faults.extend(format_fault(part.id, call, types));
            }
            faults.extend(text_fault(call));
        }
    });
    visit(expression, &mut |part| {
        if !mixed.contains(&part.id) {
            faults.extend(mixture(part, types));
        }
    });
    faults
}

fn text(part: &IdedExpr) -> Option<&str> {
    match &part.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner()),
        _ => None,
    }
}

fn text_fault(call: &CallExpr) -> Option<(u64, String)> {
    let argument = call.args.last()?;
    let text = text(argument)?;
    let name = call.func_name.as_str();
    let is_fit = match name {
        "duration" => duration(text).is_some(),
        "timestamp" => time(text).is_some(),
        "matches" => pattern(text).is_ok(),
        _ => true,
    };
    (!is_fit).then(|| (argument.id, format!("invalid {name} argument")))
}

fn format_fault(id: u64, call: &CallExpr, types: &Types<'_>) -> Option<(u64, String)> {
    let text = text(call.target.as_deref()?)?;
    let [
        IdedExpr {
            expr: Expr::List(list),
            ..
        },
    ] = call.args.as_slice()
    else {
        return None;
    };
    let elements = list.elements.iter();
    let values: Vec<_> = elements
        .map(|element| (&types[&element.id], self::text(element)))
        .collect();
    let (at, why) = unfit(text, &values)?;
    let at = at
        .and_then(|at| list.elements.get(at))
        .map_or(id, |element| element.id);
    Some((at, why))
}

/// The first entry of a list or map that is of another type than those before it.
fn mixture(part: &IdedExpr, types: &Types<'_>) -> Option<(u64, String)> {
    let of = |part: &IdedExpr, is_optional: bool| {
        let of = &types[&part.id];
        if is_optional {
            of.unwrapped().clone()
        } else {
            of.clone()
        }
    };
    match &part.expr {
        Expr::List(list) => {
            let elements = list.elements.iter().enumerate();
            differing(elements.map(|(at, part)| (part.id, of(part, list.optional_indices.contains(&at)))))
        }
        Expr::Map(map) => {
            let entries = || {
                map.entries.iter().filter_map(|entry| match &entry.expr {
                    EntryExpr::MapEntry(entry) => Some(entry),
                    EntryExpr::StructField(_) => None,
                })
            };
            let keys = differing(entries().map(|entry| (entry.key.id, of(&entry.key, false))));
            keys.or_else(|| {
                differing(entries().map(|entry| (entry.value.id, of(&entry.value, entry.optional))))
            })
        }
        _ => None,
    }
}

fn differing<'a>(mut parts: impl Iterator<Item = (u64, CelType<'a>)>) -> Option<(u64, String)> {
    let (_, first) = parts.next()?;
    let (id, other) = parts.find(|(_, of)| *of != first)?;
    Some((id, format!("expected type '{first}' but found '{other}'")))
}
