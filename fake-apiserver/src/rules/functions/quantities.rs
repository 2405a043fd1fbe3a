//! Quantities.

use super::found::Found;
use crate::machinery::quantity::Quantity;
use crate::rules::failure::Failure;
use crate::rules::value::Val;
use std::cmp::Ordering;
use std::rc::Rc;

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    Some(match (name, args) {
        ("isQuantity", [Val::Text(text)]) => Ok(Val::Bool(text.parse::<Quantity>().is_ok())),
        ("quantity", [Val::Text(text)]) => match text.parse::<Quantity>() {
            Ok(quantity) => Ok(Val::Quantity(Rc::new(quantity))),
            Err(why) => Err(Failure::new(why.to_string())),
        },
        ("sign", [Val::Quantity(quantity)]) => {
            Ok(Val::Int(match (quantity.is_zero(), quantity.is_negative()) {
                (true, _) => 0,
                (false, true) => -1,
                (false, false) => 1,
            }))
        }
        _ => return None,
    })
}

pub(super) fn method<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    match args {
        [Val::Quantity(one), Val::Quantity(other)] => match changed(name, one, other) {
            Some(value) => Some(Ok(value)),
            None => compared(name, one.partial_cmp(other)?).map(Ok),
        },
        [Val::Quantity(one), Val::Int(other)] => changed(name, one, &Quantity::from_integer(*other)).map(Ok),
        [Val::Quantity(quantity)] => alone(name, quantity),
        _ => None,
    }
}

/// How one value stands to another.
pub(super) fn compared<'a>(name: &str, order: Ordering) -> Option<Val<'a>> {
    Some(match name {
        "isGreaterThan" => Val::Bool(order.is_gt()),
        "isLessThan" => Val::Bool(order.is_lt()),
        "compareTo" => Val::Int(order as i64),
        _ => return None,
    })
}

fn changed<'a>(name: &str, one: &Quantity, other: &Quantity) -> Option<Val<'a>> {
    let value = match name {
        "add" => one.plus(other),
        "sub" => one.plus(&other.negated()),
        _ => return None,
    };
    Some(Val::Quantity(Rc::new(value)))
}

fn alone<'a>(name: &str, quantity: &Quantity) -> Found<'a> {
    let whole = quantity.value();
    let is_whole = Quantity::from_integer(whole).partial_cmp(quantity) == Some(Ordering::Equal);
    Some(match name {
        "isInteger" => Ok(Val::Bool(is_whole)),
        "asInteger" if is_whole => Ok(Val::Int(whole)),
        "asInteger" => Err(Failure::new("cannot convert value to integer")),
        "asApproximateFloat" => Ok(Val::Double(quantity.ratio(&Quantity::from_integer(1)))),
        _ => return None,
    })
}
