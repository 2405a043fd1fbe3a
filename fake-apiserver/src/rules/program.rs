//! Expressions that were read.

use cel::common::ast::{Expr, IdedExpr, SourceInfo};
use cel::parser::Parser;
use std::collections::HashMap;

/// An expression, and where in its text the parts of it are.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) expression: IdedExpr,
    places: HashMap<u64, usize>,
    text: String,
}

impl Program {
    /// Reads an expression. What is wrong with it, otherwise.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let parser = Parser::new()
            .enable_optional_syntax(true)
            .enable_ident_escape_syntax(true);
        let (expression, source) = parser
            .parse_with_source_info(text)
            .map_err(|why| format!("compilation failed: {}", why.to_string().replace("\n| ", "\n | ")))?;
        let mut places = HashMap::new();
        note(&expression, &source, &mut places);
        Ok(Self {
            expression,
            places,
            text: text.to_owned(),
        })
    }

    /// The text of a fault at a part of the expression.
    pub(super) fn fault(&self, id: u64, why: &str) -> String {
        let at = self
            .places
            .get(&id)
            .copied()
            .unwrap_or_default()
            .min(self.text.len());
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count());
        let shown = self.text.lines().nth(line).unwrap_or_default();
        let dots = ".".repeat(column);
        format!(
            "compilation failed: ERROR: <input>:{}:{}: {why}\n | {shown}\n | {dots}^",
            line + 1,
            column + 1
        )
    }

    /// Whether the expression is nothing but a variable, or a member or an entry of one.
    pub(super) fn reads_only(&self) -> bool {
        let mut part = &self.expression;
        loop {
            part = match &part.expr {
                Expr::Ident(_) => return true,
                Expr::Select(select) if !select.test => &select.operand,
                Expr::Call(call) if call.func_name == "_[_]" && !call.args.is_empty() => &call.args[0],
                _ => return false,
            };
        }
    }

    /// Whether the expression uses a variable.
    pub(super) fn uses(&self, name: &str) -> bool {
        let mut found = false;
        visit(&self.expression, &mut |part| {
            found |= matches!(&part.expr, Expr::Ident(ident) if ident == name);
        });
        found
    }
}

fn note(expression: &IdedExpr, source: &SourceInfo, places: &mut HashMap<u64, usize>) {
    visit(expression, &mut |part| {
        if let Some((start, _)) = source.offset_for(part.id) {
            places.insert(part.id, start as usize);
        }
    });
}

/// Visits an expression and all its parts.
fn visit<'a>(expression: &'a IdedExpr, look: &mut impl FnMut(&'a IdedExpr)) {
    use cel::common::ast::EntryExpr;
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
