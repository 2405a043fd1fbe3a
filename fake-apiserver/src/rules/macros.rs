//! Calls that stand for longer expressions.
//!
//! Owns all of them, for what they stand for decides what an expression costs: loops over lists and maps, optional values
//! that are mapped, sorting by what is computed of entries, and the question whether there is a member.

use cel::Env;
use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr, SelectExpr,
};
use cel::parser::{Macro, MacroExprHelper, ParseError};
use std::sync::LazyLock;

/// What a loop computes, while it runs.
pub(super) const RESULT: &str = "@result";
/// The variable of a loop that is never run.
const UNUSED: &str = "#unused";
/// The list that is sorted.
const SORTED: &str = "@__sortBy_input__";
const NO_NAME: &str = "argument must be a simple name";
/// The same, where a list is made.
const NO_IDENTIFIER: &str = "argument is not an identifier";

/// The calls that the parser replaces, by their names and the number of their arguments.
pub(super) static ENVIRONMENT: LazyLock<Env> = LazyLock::new(|| {
    let mut environment = Env::default();
    let has = |helper: &mut MacroExprHelper<'_>, _: &mut Option<IdedExpr>, args: &mut Vec<IdedExpr>| {
        has(&mut Builder(helper), std::mem::take(args)).map(Some)
    };
    // No name comes twice with as many arguments.
    let _ = environment.add_macro(Macro::global("has", 1, has));
    let methods: [(&str, usize, Expand); 19] = [
        ("all", 2, all),
        ("all", 3, all),
        ("exists", 2, exists),
        ("exists", 3, exists),
        ("exists_one", 2, exists_one),
        ("exists_one", 3, exists_one),
        ("existsOne", 3, exists_one),
        ("map", 2, map),
        ("map", 3, map),
        ("filter", 2, filter),
        ("transformList", 3, transform_list),
        ("transformList", 4, transform_list),
        ("transformMap", 3, transform_map),
        ("transformMap", 4, transform_map),
        ("transformMapEntry", 3, transform_map_entry),
        ("transformMapEntry", 4, transform_map_entry),
        ("optMap", 2, opt_map),
        ("optFlatMap", 2, opt_flat_map),
        ("sortBy", 2, sort_by),
    ];
    for (name, count, expand) in methods {
        let expander = move |helper: &mut MacroExprHelper<'_>,
                             target: &mut Option<IdedExpr>,
                             args: &mut Vec<IdedExpr>| {
            let target = target.take().unwrap_or_default();
            expand(&mut Builder(helper), target, std::mem::take(args)).map(Some)
        };
        let _ = environment.add_macro(Macro::receiver(name, count, expander));
    }
    environment
});

type Expanded = Result<IdedExpr, ParseError>;
type Expand = fn(&mut Builder<'_, '_>, IdedExpr, Vec<IdedExpr>) -> Expanded;

/// Makes parts of expressions.
struct Builder<'h, 'p>(&'h mut MacroExprHelper<'p>);

/// A loop over entries, or over keys and values.
struct Loop {
    range: IdedExpr,
    first: String,
    second: Option<String>,
}

impl Builder<'_, '_> {
    fn part(&mut self, expression: Expr) -> IdedExpr {
        self.0.next_expr(expression)
    }

    fn constant(&mut self, value: LiteralValue) -> IdedExpr {
        self.part(Expr::Literal(value))
    }

    fn bool(&mut self, value: bool) -> IdedExpr {
        self.constant(LiteralValue::Boolean(value.into()))
    }

    fn int(&mut self, value: i64) -> IdedExpr {
        self.constant(LiteralValue::Int(value.into()))
    }

    fn variable(&mut self, name: &str) -> IdedExpr {
        self.part(Expr::Ident(name.to_owned()))
    }

    fn result(&mut self) -> IdedExpr {
        self.variable(RESULT)
    }

    fn list(&mut self, elements: Vec<IdedExpr>) -> IdedExpr {
        self.part(Expr::List(ListExpr::new(elements)))
    }

    fn call(&mut self, name: &str, args: Vec<IdedExpr>) -> IdedExpr {
        self.part(Expr::Call(CallExpr {
            func_name: name.to_owned(),
            target: None,
            args,
        }))
    }

    fn method(&mut self, target: IdedExpr, name: &str, args: Vec<IdedExpr>) -> IdedExpr {
        self.part(Expr::Call(CallExpr {
            func_name: name.to_owned(),
            target: Some(Box::new(target)),
            args,
        }))
    }

    /// A call of a function with a name before its own.
    fn in_space(&mut self, space: &str, name: &str, args: Vec<IdedExpr>) -> IdedExpr {
        let space = self.variable(space);
        self.method(space, name, args)
    }

    fn name(&self, part: &IdedExpr, why: &str) -> Result<String, ParseError> {
        match &part.expr {
            Expr::Ident(name) => Ok(name.clone()),
            _ => Err(self.0.new_error(part.id, why)),
        }
    }

    /// The loop, whose first arguments are the names of its variables, and the other arguments.
    fn loops(
        &mut self,
        range: IdedExpr,
        mut args: Vec<IdedExpr>,
        names: usize,
    ) -> Result<(Loop, Vec<IdedExpr>), ParseError> {
        let rest = args.split_off(names);
        let mut found = Vec::new();
        for part in &args {
            let name = self.name(part, NO_NAME)?;
            if found.contains(&name) {
                return Err(self
                    .0
                    .new_error(part.id, format!("duplicate variable name: {name}")));
            }
            if name == "__result__" {
                let why = "iteration variable overwrites accumulator variable";
                return Err(self.0.new_error(part.id, why));
            }
            found.push(name);
        }
        let mut found = found.into_iter();
        let over = Loop {
            range,
            first: found.next().unwrap_or_default(),
            second: found.next(),
        };
        Ok((over, rest))
    }

    fn finish(
        &mut self,
        over: Loop,
        start: IdedExpr,
        condition: IdedExpr,
        step: IdedExpr,
        result: IdedExpr,
    ) -> IdedExpr {
        self.part(Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: over.range,
            iter_var: over.first,
            iter_var2: over.second,
            accu_var: RESULT.to_owned(),
            accu_init: start,
            loop_cond: condition,
            loop_step: step,
            result,
        })))
    }

    /// A value with a name in an expression.
    fn bind(&mut self, name: &str, value: IdedExpr, result: IdedExpr) -> IdedExpr {
        let range = self.list(Vec::new());
        let condition = self.bool(false);
        let step = self.variable(name);
        self.part(Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: range,
            iter_var: UNUSED.to_owned(),
            iter_var2: None,
            accu_var: name.to_owned(),
            accu_init: value,
            loop_cond: condition,
            loop_step: step,
            result,
        })))
    }

    /// The same expression once more, with numbers of its own.
    fn copy(&mut self, part: &IdedExpr) -> IdedExpr {
        let expression = match &part.expr {
            Expr::Call(call) => Expr::Call(CallExpr {
                func_name: call.func_name.clone(),
                target: call.target.as_ref().map(|target| Box::new(self.copy(target))),
                args: self.copies(&call.args),
            }),
            Expr::Select(select) => Expr::Select(SelectExpr {
                operand: Box::new(self.copy(&select.operand)),
                ..select.clone()
            }),
            Expr::List(list) => Expr::List(ListExpr {
                elements: self.copies(&list.elements),
                ..list.clone()
            }),
            Expr::Comprehension(loops) => Expr::Comprehension(Box::new(ComprehensionExpr {
                iter_range: self.copy(&loops.iter_range),
                accu_init: self.copy(&loops.accu_init),
                loop_cond: self.copy(&loops.loop_cond),
                loop_step: self.copy(&loops.loop_step),
                result: self.copy(&loops.result),
                ..(**loops).clone()
            })),
            Expr::Map(map) => Expr::Map(self.copy_map(map)),
            other => other.clone(),
        };
        self.part(expression)
    }

    fn copies(&mut self, parts: &[IdedExpr]) -> Vec<IdedExpr> {
        parts.iter().map(|part| self.copy(part)).collect()
    }

    fn copy_map(&mut self, map: &MapExpr) -> MapExpr {
        let mut map = map.clone();
        for entry in &mut map.entries {
            if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                entry.key = self.copy(&entry.key);
                entry.value = self.copy(&entry.value);
            }
        }
        map
    }
}

fn all(make: &mut Builder<'_, '_>, target: IdedExpr, args: Vec<IdedExpr>) -> Expanded {
    let names = args.len() - 1;
    let (over, rest) = make.loops(target, args, names)?;
    let start = make.bool(true);
    let so_far = make.result();
    let condition = make.call("@not_strictly_false", vec![so_far]);
    let mut both = vec![make.result()];
    both.extend(rest);
    let step = make.call("_&&_", both);
    let result = make.result();
    Ok(make.finish(over, start, condition, step, result))
}

fn exists(make: &mut Builder<'_, '_>, target: IdedExpr, args: Vec<IdedExpr>) -> Expanded {
    let names = args.len() - 1;
    let (over, rest) = make.loops(target, args, names)?;
    let start = make.bool(false);
    let so_far = make.result();
    let not_yet = make.call("!_", vec![so_far]);
    let condition = make.call("@not_strictly_false", vec![not_yet]);
    let mut either = vec![make.result()];
    either.extend(rest);
    let step = make.call("_||_", either);
    let result = make.result();
    Ok(make.finish(over, start, condition, step, result))
}

fn exists_one(make: &mut Builder<'_, '_>, target: IdedExpr, args: Vec<IdedExpr>) -> Expanded {
    let names = args.len() - 1;
    let (over, rest) = make.loops(target, args, names)?;
    let start = make.int(0);
    let condition = make.bool(true);
    let (so_far, one) = (make.result(), make.int(1));
    let more = make.call("_+_", vec![so_far, one]);
    let so_far = make.result();
    let choice = rest.into_iter().chain([more, so_far]).collect();
    let step = make.call("_?_:_", choice);
    let (count, one) = (make.result(), make.int(1));
    let result = make.call("_==_", vec![count, one]);
    Ok(make.finish(over, start, condition, step, result))
}

/// The step of a loop that only some entries make.
fn filtered(make: &mut Builder<'_, '_>, filter: Option<IdedExpr>, step: IdedExpr) -> IdedExpr {
    match filter {
        None => step,
        Some(filter) => {
            let so_far = make.result();
            make.call("_?_:_", vec![filter, step, so_far])
        }
    }
}

fn map(make: &mut Builder<'_, '_>, target: IdedExpr, args: Vec<IdedExpr>) -> Expanded {
    make.name(&args[0], NO_IDENTIFIER)?;
    let (over, rest) = make.loops(target, args, 1)?;
    Ok(listed(make, over, rest))
}

fn transform_list(make: &mut Builder<'_, '_>, target: IdedExpr, args: Vec<IdedExpr>) -> Expanded {
    let (over, rest) = make.loops(target, args, 2)?;
    Ok(listed(make, over, rest))
}

fn filter(make: &mut Builder<'_, '_>, target: IdedExpr, args: Vec<IdedExpr>) -> Expanded {
    make.name(&args[0], NO_IDENTIFIER)?;
    let (over, mut rest) = make.loops(target, args, 1)?;
    let entry = make.variable(&over.first);
    rest.push(entry);
    Ok(listed(make, over, rest))
}

/// A list of what is computed of each entry; of some entries, where a condition comes first.
fn listed(make: &mut Builder<'_, '_>, over: Loop, mut rest: Vec<IdedExpr>) -> IdedExpr {
    let entry = rest.pop().unwrap_or_default();
    let (so_far, entry) = (make.result(), make.list(vec![entry]));
    let step = make.call("_+_", vec![so_far, entry]);
    let step = filtered(make, rest.pop(), step);
    let (start, condition, result) = (make.list(Vec::new()), make.bool(true), make.result());
    make.finish(over, start, condition, step, result)
}

fn transform_map(make: &mut Builder<'_, '_>, target: IdedExpr, args: Vec<IdedExpr>) -> Expanded {
    let (over, mut rest) = make.loops(target, args, 2)?;
    let value = rest.pop().unwrap_or_default();
    let (so_far, key) = (make.result(), make.variable(&over.first));
    let step = make.call("cel.@mapInsert", vec![so_far, key, value]);
    let step = filtered(make, rest.pop(), step);
    Ok(finish_map(make, over, step))
}

fn transform_map_entry(make: &mut Builder<'_, '_>, target: IdedExpr, args: Vec<IdedExpr>) -> Expanded {
    let (over, mut rest) = make.loops(target, args, 2)?;
    let entry = rest.pop().unwrap_or_default();
    let so_far = make.result();
    let step = make.call("cel.@mapInsert", vec![so_far, entry]);
    let step = filtered(make, rest.pop(), step);
    Ok(finish_map(make, over, step))
}

fn finish_map(make: &mut Builder<'_, '_>, over: Loop, step: IdedExpr) -> IdedExpr {
    let start = make.part(Expr::Map(MapExpr { entries: Vec::new() }));
    let (condition, result) = (make.bool(true), make.result());
    make.finish(over, start, condition, step, result)
}

fn opt_map(make: &mut Builder<'_, '_>, target: IdedExpr, args: Vec<IdedExpr>) -> Expanded {
    mapped(make, target, args, "optMap", true)
}

fn opt_flat_map(make: &mut Builder<'_, '_>, target: IdedExpr, args: Vec<IdedExpr>) -> Expanded {
    mapped(make, target, args, "optFlatMap", false)
}

/// What an expression makes of a value that may be missing.
fn mapped(
    make: &mut Builder<'_, '_>,
    target: IdedExpr,
    args: Vec<IdedExpr>,
    called: &str,
    wraps: bool,
) -> Expanded {
    let mut args = args.into_iter();
    let (variable, result) = (args.next().unwrap_or_default(), args.next().unwrap_or_default());
    let name = make.name(
        &variable,
        &format!("{called}() variable name must be a simple identifier"),
    )?;
    let copy = make.copy(&target);
    let is_there = make.method(target, "hasValue", Vec::new());
    let value = make.method(copy, "value", Vec::new());
    let mut found = make.bind(&name, value, result);
    if wraps {
        found = make.in_space("optional", "of", vec![found]);
    }
    let nothing = make.in_space("optional", "none", Vec::new());
    Ok(make.call("_?_:_", vec![is_there, found, nothing]))
}

fn sort_by(make: &mut Builder<'_, '_>, target: IdedExpr, args: Vec<IdedExpr>) -> Expanded {
    const WHY: &str =
        "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
    if matches!(target.expr, Expr::Literal(_) | Expr::Map(_) | Expr::Struct(_)) {
        return Err(make.0.new_error(target.id, WHY));
    }
    let range = make.variable(SORTED);
    let keys = map(make, range, args)?;
    let list = make.variable(SORTED);
    let sorted = make.method(list, "@sortByAssociatedKeys", vec![keys]);
    Ok(make.bind(SORTED, target, sorted))
}

/// Whether there is a member.
fn has(make: &mut Builder<'_, '_>, args: Vec<IdedExpr>) -> Expanded {
    let argument = args.into_iter().next().unwrap_or_default();
    match argument.expr {
        Expr::Select(select) => Ok(make.part(Expr::Select(SelectExpr { test: true, ..select }))),
        _ => Err(make.0.new_error(argument.id, "invalid argument to has() macro")),
    }
}
