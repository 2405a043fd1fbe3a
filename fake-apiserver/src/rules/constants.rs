//! Parts of expressions that are known before anything is evaluated: nothing is paid for them.

use super::type_names::type_name;
use super::walk::visit;
use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use std::collections::HashSet;

/// Functions from values to values of another type, which have no other effect.
pub(super) const CONVERSIONS: [&str; 10] = [
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "int",
    "string",
    "timestamp",
    "type",
    "uint",
];

/// The parts of an expression that are always the same: literals, lists and maps of such parts, and what they are
/// converted to.
pub(super) fn find(expression: &IdedExpr) -> HashSet<u64> {
    let mut found = HashSet::new();
    visit(expression, &mut |part| {
        if is_constant(part) {
            found.insert(part.id);
        }
    });
    found
}

fn is_constant(part: &IdedExpr) -> bool {
    match &part.expr {
        Expr::Literal(_) => true,
        Expr::Ident(name) => type_name(name).is_some(),
        Expr::List(list) => list.elements.iter().all(is_constant),
        Expr::Map(map) => map.entries.iter().all(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) => is_constant(&entry.key) && is_constant(&entry.value),
            EntryExpr::StructField(_) => false,
        }),
        Expr::Call(call) if call.target.is_none() => match (call.func_name.as_str(), call.args.as_slice()) {
            ("@in", [_, list]) => matches!(&list.expr, Expr::List(list) if list.elements.is_empty()),
            (name, [argument]) => CONVERSIONS.contains(&name) && is_constant(argument),
            _ => false,
        },
        _ => false,
    }
}
