//! What is computed of an expression before there are values, and what goes wrong with that.

use super::constants::CONVERSIONS;
use super::evaluate::evaluate;
use super::failure::Failure;
use super::functions::pattern;
use super::program::Program;
use super::walk::visit;
use cel::common::ast::{Expr, LiteralValue};

/// Converts what can be converted beforehand. Why it cannot be, otherwise.
pub(super) fn instantiate(program: &Program) -> Result<(), String> {
    let mut outcome: Result<(), Failure> = Ok(());
    visit(&program.expression, &mut |part| {
        let Expr::Call(call) = &part.expr else { return };
        if outcome.is_err() {
            return;
        }
        if let ("find" | "findAll", [argument, ..]) = (call.func_name.as_str(), call.args.as_slice())
            && let Expr::Literal(LiteralValue::String(text)) = &argument.expr
        {
            outcome = pattern(text.inner()).map(drop);
        } else if program.constants.contains(&part.id) && CONVERSIONS.contains(&call.func_name.as_str()) {
            outcome = evaluate(program, part, Vec::new()).0.map(drop);
        }
    });
    outcome.map_err(|failure| match failure {
        Failure::Failed(why) => why,
        Failure::TooExpensive => String::new(),
    })
}
