//! Rewrites the syntax tree of an expression before evaluation.
//!
//! Selections become index operations, which `cel` evaluates without copying the operand, and with an error for strings. Field names are
//! unescaped, message literals become maps, `optMap` becomes a comprehension over a list, and calls that charge the budget are inserted.

use super::functions::{self, ITEMS, SIZED, TICK, call, node, text_literal};
use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::operators as op;
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, ListExpr, LiteralValue, MapEntryExpr,
    MapExpr, SelectExpr,
};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::mem::take;

/// Reserved words of CEL. In expressions, a field whose name is a reserved word is written `__word__`.
pub const RESERVED: [&str; 20] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
];
const ESCAPES: [(&str, &str); 4] = [
    ("__underscores__", "__"),
    ("__dot__", "."),
    ("__dash__", "-"),
    ("__slash__", "/"),
];

/// Namespaces of functions, as in `math.greatest`.
const NAMESPACES: [&str; 9] = [
    "base64",
    "format",
    "ip",
    "jsonpatch",
    "lists",
    "math",
    "optional",
    "sets",
    "strings",
];
/// Functions whose result may be larger than their arguments: the size of the result is charged to the budget.
const GROWING: [&str; 6] = ["encode", "format", "join", "quote", "replace", "split"];
/// Accessors of timestamps and durations. A time zone argument is rejected, because `cel` ignores it.
const TIMES: [&str; 10] = [
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getFullYear",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getSeconds",
];
/// The accumulator variable of macros.
const RESULT: &str = "@result";
/// Variables whose members are separate variables in the scope, such as `variables.x`.
const PREFIXES: [&str; 2] = ["authorizer", "variables"];

fn unescape(name: &str) -> Cow<'_, str> {
    let inner = name.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"));
    if let Some(word) = inner.filter(|word| RESERVED.contains(word)) {
        return Cow::Owned(word.to_owned());
    }
    let (mut plain, mut rest) = (String::with_capacity(name.len()), name);
    while let Some(start) = rest.find("__") {
        plain.push_str(&rest[..start]);
        rest = &rest[start..];
        let (found, length) = match ESCAPES.iter().find(|(escape, _)| rest.starts_with(escape)) {
            Some((escape, found)) => (*found, escape.len()),
            None => ("_", 1),
        };
        plain.push_str(found);
        rest = &rest[length..];
    }
    match plain.is_empty() {
        true => Cow::Borrowed(name),
        false => Cow::Owned(plain + rest),
    }
}

/// The names used in an expression, collected while it is rewritten.
#[derive(Default)]
pub(super) struct Rewrite {
    /// Free variables: variables that no macro of the expression declares.
    pub(super) variables: BTreeSet<String>,
    /// Member paths that are selected from free variables.
    pub(super) members: BTreeSet<Vec<String>>,
    /// The error message for the first unsupported call in the expression.
    pub(super) unsupported: Option<String>,
    /// The expression uses regular expressions, whose parser recurses.
    pub(super) has_pattern: bool,
    declared: Vec<String>,
}

impl Rewrite {
    /// Rewrites an expression; returns the number of AST nodes that are evaluated exactly once.
    pub(super) fn visit(&mut self, tree: &mut IdedExpr) -> i64 {
        match take(&mut tree.expr) {
            Expr::Ident(name) => {
                if !name.starts_with('@') && !self.declared.contains(&name) && !is_type(&name) {
                    self.variables.insert(name.clone());
                }
                tree.expr = Expr::Ident(name);
                1
            }
            Expr::Select(select) => {
                let (expr, nodes) = self.select(select);
                tree.expr = expr;
                nodes
            }
            Expr::Call(called) => {
                let (expr, nodes) = self.call(called);
                tree.expr = expr;
                nodes
            }
            Expr::Comprehension(mut inner) => {
                let nodes = self.comprehension(&mut inner);
                tree.expr = Expr::Comprehension(inner);
                nodes
            }
            Expr::List(mut list) => {
                let nodes = list
                    .elements
                    .iter_mut()
                    .map(|element| self.element(element))
                    .sum::<i64>();
                tree.expr = Expr::List(list);
                1 + nodes
            }
            Expr::Map(mut map) => {
                let nodes = map.entries.iter_mut().map(|entry| self.entry(entry)).sum::<i64>();
                tree.expr = Expr::Map(map);
                1 + nodes
            }
            Expr::Struct(made) => {
                let name = made.type_name.split('.').next().unwrap_or_default();
                self.variables.insert(name.to_owned());
                let mut entries = made.entries;
                let nodes = entries.iter_mut().map(|entry| self.entry(entry)).sum::<i64>();
                tree.expr = Expr::Map(MapExpr { entries });
                1 + nodes
            }
            other @ (Expr::Literal(_) | Expr::Unspecified) => {
                tree.expr = other;
                1
            }
        }
    }

    fn select(&mut self, select: SelectExpr) -> (Expr, i64) {
        let SelectExpr {
            mut operand,
            field,
            test,
        } = select;
        let field = unescape(&field).into_owned();
        if let Expr::Ident(prefix) = &operand.expr
            && PREFIXES.contains(&prefix.as_str())
            && !self.declared.contains(prefix)
        {
            let name = format!("{prefix}.{field}");
            self.variables.insert(name.clone());
            let found = match test {
                true => Expr::Literal(LiteralValue::Boolean(true.into())),
                false => Expr::Ident(name),
            };
            return (found, 1);
        }
        if let Some(mut path) = self.path(&operand) {
            path.push(field.clone());
            self.members.insert(path);
        }
        let nodes = self.visit(&mut operand);
        let expr = match test {
            true => Expr::Select(SelectExpr { operand, field, test }),
            false => call(op::INDEX, None, vec![*operand, text_literal(&field)]).expr,
        };
        (expr, 1 + nodes)
    }

    /// The member path that an expression selects, starting with the variable; None for other expressions.
    fn path(&self, tree: &IdedExpr) -> Option<Vec<String>> {
        match &tree.expr {
            Expr::Ident(name) if !self.declared.contains(name) => Some(vec![name.clone()]),
            Expr::Select(select) if !select.test => {
                let mut path = self.path(&select.operand)?;
                path.push(unescape(&select.field).into_owned());
                Some(path)
            }
            _ => None,
        }
    }

    fn call(&mut self, mut called: CallExpr) -> (Expr, i64) {
        if let ("optMap" | "optFlatMap", Some(target), 2) =
            (called.func_name.as_str(), &mut called.target, called.args.len())
            && let Expr::Ident(name) = &called.args[0].expr
        {
            let (name, body) = (name.clone(), take(&mut called.args[1]));
            let mut expanded = opt_map(take(target), &name, body, called.func_name == "optMap");
            let nodes = self.visit(&mut expanded);
            return (expanded.expr, nodes);
        }
        if called.func_name == op::OPT_SELECT
            && let Some(Expr::Literal(LiteralValue::String(field))) =
                called.args.get(1).map(|field| &field.expr)
        {
            called.args[1] = text_literal(&unescape(field.inner()));
            op::OPT_INDEX.clone_into(&mut called.func_name);
        }
        // `x.size()` reports errors in the evaluation of `x`; `size(x)` would report a missing receiver instead.
        if called.func_name == "size" && called.target.is_none() {
            called.target = called.args.pop().map(Box::new);
        }
        // `cel` cannot compare optionals.
        if [op::EQUALS, op::NOT_EQUALS].contains(&called.func_name.as_str())
            && called.args.iter().any(is_optional)
        {
            for argument in &mut called.args {
                *argument = call(ITEMS, None, vec![take(argument)]);
            }
        }
        let mut nodes = 1;
        let mut name = called.func_name.clone();
        if let Some(target) = &mut called.target {
            match &target.expr {
                Expr::Ident(prefix)
                    if NAMESPACES.contains(&prefix.as_str()) && !self.declared.contains(prefix) =>
                {
                    name = format!("{prefix}.{name}");
                }
                _ => nodes += self.visit(target),
            }
        }
        for argument in &mut called.args {
            nodes += self.visit(argument);
        }
        self.has_pattern |= ["matches", "find", "findAll"].contains(&name.as_str());
        if TIMES.contains(&name.as_str()) && !called.args.is_empty() {
            self.unsupported
                .get_or_insert(format!("time zones are not supported by '{name}'"));
        }
        let is_operator = name.starts_with(['_', '@', '!', '-']);
        if !is_operator && !functions::exists(&name) {
            let why = || undeclared(&called.func_name);
            self.unsupported.get_or_insert_with(why);
        }
        let grows = match is_operator {
            true => name == op::ADD && !called.args.iter().any(adds_little),
            false => GROWING.contains(&called.func_name.as_str()),
        };
        let expr = Expr::Call(called);
        match grows {
            true => (call(SIZED, None, vec![node(expr)]).expr, nodes),
            false => (expr, nodes),
        }
    }

    fn comprehension(&mut self, inner: &mut ComprehensionExpr) -> i64 {
        let mut nodes = 1 + self.visit(&mut inner.iter_range) + self.visit(&mut inner.accu_init);
        self.declared
            .extend([inner.iter_var.clone(), inner.accu_var.clone()]);
        let of_loop = self.visit(&mut inner.loop_cond).min(1) + self.visit(&mut inner.loop_step);
        nodes += self.visit(&mut inner.result);
        self.declared.truncate(self.declared.len() - 2);
        let cost = node(Expr::Literal(LiteralValue::Int(of_loop.into())));
        let goes_on = take(&mut inner.loop_cond);
        // An error in the loop condition ends the loop; an error in an operand of `&&` would not.
        let stop = node(Expr::Literal(LiteralValue::Boolean(false.into())));
        inner.loop_cond = call(
            op::CONDITIONAL,
            None,
            vec![call(TICK, None, vec![cost]), goes_on, stop],
        );
        nodes
    }

    fn element(&mut self, element: &mut IdedExpr) -> i64 {
        let nodes = self.visit(element);
        if !matches!(element.expr, Expr::Literal(_)) {
            *element = call(SIZED, None, vec![take(element)]);
        }
        nodes
    }

    fn entry(&mut self, entry: &mut IdedEntryExpr) -> i64 {
        match &mut entry.expr {
            EntryExpr::MapEntry(entry) => self.visit(&mut entry.key) + self.element(&mut entry.value),
            EntryExpr::StructField(field) => {
                let mut value = take(&mut field.value);
                let nodes = self.element(&mut value);
                entry.expr = EntryExpr::MapEntry(MapEntryExpr {
                    key: text_literal(&unescape(&field.field)),
                    value,
                    optional: field.optional,
                });
                nodes
            }
        }
    }
}

/// The compiler's error message for an unknown variable or function.
pub(super) fn undeclared(name: &str) -> String {
    format!("undeclared reference to '{name}' (in container '')")
}

/// Whether the outermost operation of the expression returns an optional.
fn is_optional(operand: &IdedExpr) -> bool {
    let Expr::Call(called) = &operand.expr else {
        return false;
    };
    let target = called.target.as_ref().map(|target| &target.expr);
    matches!(target, Some(Expr::Ident(name)) if name == "optional")
        || [
            op::OPT_INDEX,
            op::OPT_SELECT,
            "first",
            "last",
            "optMap",
            "optFlatMap",
        ]
        .contains(&called.func_name.as_str())
}

/// Whether the result of an addition with this operand is not charged: numbers do not grow, and macro results are charged by list element.
fn adds_little(operand: &IdedExpr) -> bool {
    match &operand.expr {
        Expr::Literal(LiteralValue::Int(_) | LiteralValue::UInt(_) | LiteralValue::Double(_)) => true,
        Expr::Ident(name) => name == RESULT,
        _ => false,
    }
}

fn is_type(name: &str) -> bool {
    functions::TYPES.iter().any(|(known, _)| *known == name)
}

/// Rewrites `target.optMap(name, body)` to a comprehension over a list of at most one item. Intermediate values are lists, since macro
/// variables of `cel` cannot be optional.
fn opt_map(target: IdedExpr, name: &str, body: IdedExpr, wraps: bool) -> IdedExpr {
    let step = match wraps {
        true => node(Expr::List(ListExpr::new(vec![body]))),
        false => call(ITEMS, None, vec![body]),
    };
    let result = node(Expr::Ident(RESULT.to_owned()));
    node(Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: call(ITEMS, None, vec![target]),
        iter_var: name.to_owned(),
        iter_var2: None,
        accu_var: RESULT.to_owned(),
        accu_init: node(Expr::List(ListExpr::default())),
        loop_cond: node(Expr::Literal(LiteralValue::Boolean(true.into()))),
        loop_step: step,
        result: call("first", Some(result), Vec::new()),
    })))
}

/// The static type of an expression, if its outermost operation determines the type.
pub(super) fn static_type(tree: &IdedExpr) -> Option<&'static str> {
    const BOOL: [&str; 10] = [
        op::LOGICAL_AND,
        op::LOGICAL_OR,
        op::LOGICAL_NOT,
        op::EQUALS,
        op::NOT_EQUALS,
        op::LESS,
        op::LESS_EQUALS,
        op::GREATER,
        op::GREATER_EQUALS,
        op::IN,
    ];
    const ARITHMETIC: [&str; 6] = [
        op::ADD,
        op::SUBSTRACT,
        op::MULTIPLY,
        op::DIVIDE,
        op::MODULO,
        op::NEGATE,
    ];
    match &tree.expr {
        Expr::Literal(literal) => Some(match literal {
            LiteralValue::Boolean(_) => "bool",
            LiteralValue::Bytes(_) => "bytes",
            LiteralValue::Double(_) => "double",
            LiteralValue::Int(_) => "int",
            LiteralValue::Null => "null_type",
            LiteralValue::String(_) => "string",
            LiteralValue::UInt(_) => "uint",
        }),
        Expr::List(list) => Some(match list.elements.first().and_then(static_type) {
            Some("JSONPatch") => "list(JSONPatch)",
            _ => "list",
        }),
        Expr::Struct(made) => Some(match made.type_name.as_str() {
            "JSONPatch" => "JSONPatch",
            _ => "Object",
        }),
        Expr::Map(_) => Some("map"),
        Expr::Select(select) if select.test => Some("bool"),
        Expr::Call(called) if BOOL.contains(&called.func_name.as_str()) => Some("bool"),
        Expr::Call(called) if ARITHMETIC.contains(&called.func_name.as_str()) => {
            called.args.iter().find_map(static_type)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::unescape;

    #[test]
    fn field_names_are_unescaped() {
        for (name, field) in [
            ("a", "a"),
            ("__if__", "if"),
            ("a__dash__b__dot__c", "a-b.c"),
            ("a__underscores__b", "a__b"),
            ("_a_", "_a_"),
            ("a__b", "a__b"),
        ] {
            assert_eq!(unescape(name), field);
        }
    }
}
