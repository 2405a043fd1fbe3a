//! Expressions that were read.

use super::macros::ENVIRONMENT;
use super::walk::visit;
use super::{constants, depth};
use crate::machinery::stack::with_stack;
use cel::common::ast::{Expr, IdedExpr, SourceInfo};
use std::collections::{HashMap, HashSet};

/// An expression, and where in its text the parts of it are.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) expression: IdedExpr,
    /// The parts that are always the same.
    pub(super) constants: HashSet<u64>,
    /// Its nesting depth.
    pub(super) depth: usize,
    places: HashMap<u64, usize>,
    text: String,
}

impl Program {
    /// Reads an expression. What is wrong with it, otherwise.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let depth = depth::of(text)?;
        with_stack(depth, || Self::parse(text, depth))
    }

    fn parse(text: &str, depth: usize) -> Result<Self, String> {
        let parser = ENVIRONMENT.parser();
        let parser = parser
            .enable_optional_syntax(true)
            .enable_ident_escape_syntax(true);
        let (expression, source) = parser
            .parse_with_source_info(text)
            .map_err(|why| why.to_string().replace("\n| ", "\n | "))
            // An empty text has no first column.
            .map_err(|why| match text {
                "" => why.replacen(":1:1:", ":1:0:", 1),
                _ => why,
            })
            .map_err(|why| format!("compilation failed: {}", with_pointers(&why)))?;
        let mut places = HashMap::new();
        note(&expression, &source, &mut places);
        Ok(Self {
            constants: constants::find(&expression),
            depth,
            expression,
            places,
            text: text.to_owned(),
        })
    }

    /// The text of faults in parts of the expression, in the order of the parts.
    pub(super) fn faults(&self, faults: &[(u64, String)]) -> String {
        let mut found: Vec<_> = faults.iter().map(|(id, why)| (self.place(*id), why)).collect();
        found.sort_by_key(|(place, _)| *place);
        let found = found.into_iter().map(|((line, column), why)| {
            let shown = self.text.lines().nth(line).unwrap_or_default();
            let pointer = pointer(shown, column);
            format!(
                "ERROR: <input>:{}:{}: {why}\n | {shown}\n | {pointer}",
                line + 1,
                column + 1
            )
        });
        let found: Vec<String> = found.collect();
        format!("compilation failed: {}", found.join("\n"))
    }

    /// The line and the column of a part, counted from nothing.
    fn place(&self, id: u64) -> (usize, usize) {
        let at = self.places.get(&id).copied().unwrap_or_default();
        let before = self.text.get(..at.min(self.text.len())).unwrap_or_default();
        let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count());
        (before.matches('\n').count(), column)
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

/// What points to a column of a line: as wide as cel-go takes its characters to be.
fn pointer(line: &str, column: usize) -> String {
    let is_wide = |sign: Option<char>| sign.is_some_and(|sign| sign.len_utf8() > 1);
    let mut signs = line.chars();
    let mut out: String = (0..column)
        .map(|_| if is_wide(signs.next()) { '\u{ff0e}' } else { '.' })
        .collect();
    out.push(if is_wide(signs.next()) { '\u{ff3e}' } else { '^' });
    out
}

/// The text of errors of the parser, which points with narrow signs alone.
fn with_pointers(errors: &str) -> String {
    let mut before = "";
    let lines = errors.split('\n').map(|line| {
        let narrow = line.strip_prefix(" | ").and_then(|line| line.strip_suffix('^'));
        let column = narrow
            .filter(|dots| dots.bytes().all(|byte| byte == b'.'))
            .map(str::len);
        let source = before.strip_prefix(" | ");
        before = line;
        match source.zip(column) {
            Some((source, column)) => format!(" | {}", pointer(source, column)),
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}
