//! Operators.

use super::convert::shown;
use super::found::Found;
use crate::rules::failure::Failure;
use crate::rules::value::Val;
use std::cmp::Ordering;

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    match (name, args) {
        ("!_", [Val::Bool(value)]) => Some(Ok(Val::Bool(!value))),
        ("-_", [Val::Int(value)]) => Some(overflow(value.checked_neg().map(Val::Int))),
        ("-_", [Val::Double(value)]) => Some(Ok(Val::Double(-value))),
        ("_==_", [one, other]) => Some(Ok(Val::Bool(one == other))),
        ("_!=_", [one, other]) => Some(Ok(Val::Bool(one != other))),
        ("_<_", [one, other]) => ordered(one, other, Ordering::is_lt),
        ("_<=_", [one, other]) => ordered(one, other, Ordering::is_le),
        ("_>_", [one, other]) => ordered(one, other, Ordering::is_gt),
        ("_>=_", [one, other]) => ordered(one, other, Ordering::is_ge),
        ("@in", [item, of]) => contains(item, of).map(|found| Ok(Val::Bool(found))),
        (_, [Val::Int(one), Val::Int(other)]) => whole(name, *one, *other),
        (_, [Val::Uint(one), Val::Uint(other)]) => natural(name, *one, *other),
        (_, [Val::Double(one), Val::Double(other)]) => {
            float(name, *one, *other).map(|value| Ok(Val::Double(value)))
        }
        ("_+_", [Val::Text(one), Val::Text(other)]) => Some(Ok(Val::text(format!("{one}{other}")))),
        ("_+_", [Val::Bytes(one), Val::Bytes(other)]) => {
            Some(Ok(Val::Bytes([&**one, &**other].concat().into())))
        }
        ("_+_" | "_-_", [one, other]) => instants(name == "_+_", one, other),
        _ => None,
    }
}

fn ordered<'a>(one: &Val<'a>, other: &Val<'a>, fits: impl Fn(Ordering) -> bool) -> Found<'a> {
    one.compare(other).map(|order| Ok(Val::Bool(fits(order))))
}

fn overflow(value: Option<Val<'_>>) -> Result<Val<'_>, Failure> {
    value.ok_or_else(|| Failure::new("integer overflow"))
}

fn whole<'a>(name: &str, one: i64, other: i64) -> Found<'a> {
    Some(match name {
        "_+_" => overflow(one.checked_add(other).map(Val::Int)),
        "_-_" => overflow(one.checked_sub(other).map(Val::Int)),
        "_*_" => overflow(one.checked_mul(other).map(Val::Int)),
        "_/_" if other == 0 => Err(Failure::new("division by zero")),
        "_%_" if other == 0 => Err(Failure::new("modulus by zero")),
        "_/_" => overflow(one.checked_div(other).map(Val::Int)),
        "_%_" => overflow(one.checked_rem(other).map(Val::Int)),
        _ => return None,
    })
}

fn natural<'a>(name: &str, one: u64, other: u64) -> Found<'a> {
    let value = match name {
        "_+_" => one.checked_add(other),
        "_-_" => one.checked_sub(other),
        "_*_" => one.checked_mul(other),
        "_/_" if other == 0 => return Some(Err(Failure::new("division by zero"))),
        "_%_" if other == 0 => return Some(Err(Failure::new("modulus by zero"))),
        "_/_" => one.checked_div(other),
        "_%_" => one.checked_rem(other),
        _ => return None,
    };
    let value = value.map(Val::Uint);
    Some(value.ok_or_else(|| Failure::new("unsigned integer overflow")))
}

fn float(name: &str, one: f64, other: f64) -> Option<f64> {
    Some(match name {
        "_+_" => one + other,
        "_-_" => one - other,
        "_*_" => one * other,
        "_/_" => one / other,
        _ => return None,
    })
}

/// Points in time and durations, added or taken from each other.
fn instants<'a>(is_sum: bool, one: &Val<'a>, other: &Val<'a>) -> Found<'a> {
    let value = match (one, other) {
        (Val::Duration(one), Val::Duration(other)) => match is_sum {
            true => one.checked_add(*other),
            false => one.checked_sub(*other),
        }
        .map(Val::Duration),
        (Val::Time(time), Val::Duration(duration)) => match is_sum {
            true => time.checked_add(*duration).ok(),
            false => time.checked_sub(*duration).ok(),
        }
        .map(Val::Time),
        (Val::Duration(duration), Val::Time(time)) if is_sum => {
            time.checked_add(*duration).ok().map(Val::Time)
        }
        (Val::Time(one), Val::Time(other)) if !is_sum => Some(Val::Duration(one.duration_since(*other))),
        _ => return None,
    };
    Some(overflow(value))
}

/// The entry of a key or at an index.
pub(in crate::rules) fn index<'a>(of: &Val<'a>, key: &Val<'a>) -> Result<Val<'a>, Failure> {
    of.at(key).ok_or_else(|| match (of, key) {
        (Val::Members(..) | Val::Map(_), key) => match shown(key) {
            Some(key) => Failure::new(format!("no such key: {key}")),
            None => Failure::no_overload(),
        },
        (Val::Items(..) | Val::List(..), Val::Int(at)) => Failure::new(format!("index out of bounds: {at}")),
        _ => Failure::no_overload(),
    })
}

fn contains(item: &Val<'_>, of: &Val<'_>) -> Option<bool> {
    match of {
        Val::Members(..) | Val::Map(_) => Some(of.at(item).is_some()),
        _ => of.items().map(|items| items.contains(item)),
    }
}
