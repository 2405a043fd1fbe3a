//! Ways through expressions.

use cel::common::ast::{EntryExpr, Expr, IdedExpr};

/// Visits an expression and all its parts.
pub(super) fn visit<'a>(expression: &'a IdedExpr, look: &mut impl FnMut(&'a IdedExpr)) {
    look(expression);
    match &expression.expr {
        Expr::Call(call) => {
            let target = call.target.as_deref().into_iter();
            target.chain(&call.args).for_each(|part| visit(part, look));
        }
        Expr::Comprehension(loops) => {
            for part in [
                &loops.iter_range,
                &loops.accu_init,
                &loops.loop_cond,
                &loops.loop_step,
                &loops.result,
            ] {
                visit(part, look);
            }
        }
        Expr::List(list) => list.elements.iter().for_each(|part| visit(part, look)),
        Expr::Map(map) => {
            for entry in &map.entries {
                if let EntryExpr::MapEntry(entry) = &entry.expr {
                    visit(&entry.key, look);
                    visit(&entry.value, look);
                }
            }
        }
        Expr::Select(select) => visit(&select.operand, look),
        Expr::Struct(made) => {
            for entry in &made.entries {
                if let EntryExpr::StructField(entry) = &entry.expr {
                    visit(&entry.value, look);
                }
            }
        }
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
}

/// The name that an expression spells: a variable, or members of one.
pub(super) fn qualified(expression: &IdedExpr) -> Option<String> {
    match &expression.expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) if !select.test => {
            let space = qualified(&select.operand)?;
            Some(format!("{space}.{}", select.field))
        }
        _ => None,
    }
}
