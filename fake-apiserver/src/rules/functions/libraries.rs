//! Functions that Kubernetes adds to CEL: optional values, sets, extremes, quantities, addresses.

use super::found::Found;
use super::lists::extreme;
use crate::machinery::ip::is_link_local;
use crate::machinery::quantity::Quantity;
use crate::rules::failure::Failure;
use crate::rules::value::Val;
use std::cmp::Ordering;
use std::net::IpAddr;
use std::rc::Rc;

/// Functions with a name before theirs.
pub(super) fn of_space<'a>(space: &str, name: &str, args: &[Val<'a>]) -> Found<'a> {
    match (space, name, args) {
        ("optional", "none", []) => Some(Ok(Val::optional(None))),
        ("optional", "of", [value]) => Some(Ok(Val::optional(Some(value.clone())))),
        ("optional", "ofNonZeroValue", [value]) => Some(Ok(Val::optional(
            Some(value.clone()).filter(|value| !is_zero(value)),
        ))),
        ("math", "greatest", _) => math(args, Ordering::Greater),
        ("math", "least", _) => math(args, Ordering::Less),
        ("sets", "contains", [one, other]) => sets(one, other, |one, other| includes(one, other)),
        ("sets", "equivalent", [one, other]) => sets(one, other, |one, other| {
            includes(one, other) && includes(other, one)
        }),
        ("sets", "intersects", [one, other]) => sets(one, other, |one, other| {
            other.iter().any(|item| one.contains(item))
        }),
        ("jsonpatch", "escapeKey", [Val::Text(key)]) => {
            Some(Ok(Val::text(key.replace('~', "~0").replace('/', "~1"))))
        }
        ("strings", "quote", [Val::Text(text)]) => Some(Ok(Val::text(format!("{text:?}")))),
        _ => None,
    }
}

fn math<'a>(args: &[Val<'a>], wanted: Ordering) -> Found<'a> {
    match args {
        [list] if list.items().is_some() => extreme(&list.items()?, wanted).map(Ok),
        values => extreme(values, wanted).map(Ok),
    }
}

fn sets<'a>(one: &Val<'a>, other: &Val<'a>, holds: impl Fn(&[Val<'a>], &[Val<'a>]) -> bool) -> Found<'a> {
    let (one, other) = (one.items()?, other.items()?);
    Some(Ok(Val::Bool(holds(&one, &other))))
}

fn includes(one: &[Val<'_>], other: &[Val<'_>]) -> bool {
    other.iter().all(|item| one.contains(item))
}

fn is_zero(value: &Val<'_>) -> bool {
    match value {
        Val::Null | Val::Bool(false) | Val::Int(0) | Val::Uint(0) => true,
        Val::Double(value) => *value == 0.0,
        other => other.size() == Some(0),
    }
}

/// Functions of their own.
pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    let [Val::Text(text)] = args else {
        return None;
    };
    let failed = |why: &str| Err(Failure::new(why));
    Some(match name {
        "isQuantity" => Ok(Val::Bool(text.parse::<Quantity>().is_ok())),
        "quantity" => match text.parse::<Quantity>() {
            Ok(quantity) => Ok(Val::Quantity(Rc::new(quantity))),
            Err(why) => failed(&why.to_string()),
        },
        "isIP" => Ok(Val::Bool(text.parse::<IpAddr>().is_ok())),
        "ip" => match text.parse() {
            Ok(ip) => Ok(Val::Ip(ip)),
            Err(_) => failed(&format!(
                "IP Address {text:?} parse error during conversion from string"
            )),
        },
        _ => return None,
    })
}

/// Methods of what the libraries make.
pub(super) fn method<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    match args {
        [Val::Optional(value)] => of_optional(name, value.as_deref()),
        [Val::Optional(value), other] => match name {
            "orValue" => Some(Ok(value.as_deref().unwrap_or(other).clone())),
            "or" => Some(Ok(match value {
                Some(_) => args[0].clone(),
                None => other.clone(),
            })),
            _ => None,
        },
        [Val::Quantity(one), Val::Quantity(other)] => compare(name, one.partial_cmp(other)?),
        [Val::Quantity(one)] => of_quantity(name, one),
        [Val::Ip(ip)] => of_address(name, *ip).map(Ok),
        _ => None,
    }
}

fn of_optional<'a>(name: &str, value: Option<&Val<'a>>) -> Found<'a> {
    match name {
        "hasValue" => Some(Ok(Val::Bool(value.is_some()))),
        "value" => {
            let missing = || Failure::new("optional.none() dereference");
            Some(value.cloned().ok_or_else(missing))
        }
        _ => None,
    }
}

fn compare<'a>(name: &str, order: Ordering) -> Found<'a> {
    Some(Ok(match name {
        "isGreaterThan" => Val::Bool(order.is_gt()),
        "isLessThan" => Val::Bool(order.is_lt()),
        "compareTo" => Val::Int(order as i64),
        _ => return None,
    }))
}

fn of_quantity<'a>(name: &str, quantity: &Quantity) -> Found<'a> {
    let sign = match (quantity.is_zero(), quantity.is_negative()) {
        (true, _) => 0,
        (false, true) => -1,
        (false, false) => 1,
    };
    let whole = quantity.value();
    let is_whole = Quantity::from_integer(whole).partial_cmp(quantity) == Some(Ordering::Equal);
    match name {
        "sign" => Some(Ok(Val::Int(sign))),
        "isInteger" => Some(Ok(Val::Bool(is_whole))),
        "asInteger" if is_whole => Some(Ok(Val::Int(whole))),
        "asInteger" => Some(Err(Failure::new("cannot convert value to integer"))),
        _ => None,
    }
}

fn of_address<'a>(name: &str, ip: IpAddr) -> Option<Val<'a>> {
    Some(match name {
        "family" => Val::Int(if ip.is_ipv4() { 4 } else { 6 }),
        "isLoopback" => Val::Bool(ip.is_loopback()),
        "isUnspecified" => Val::Bool(ip.is_unspecified()),
        "isLinkLocalUnicast" => Val::Bool(is_link_local(ip)),
        _ => return None,
    })
}
