//! Addresses and ranges of addresses.

use super::found::Found;
use crate::machinery::ip;
use crate::rules::failure::Failure;
use crate::rules::libraries::{Range, address};
use crate::rules::value::Val;
use std::net::IpAddr;

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    let [Val::Text(text)] = args else { return None };
    Some(match name {
        "isIP" => Ok(Val::Bool(address(text).is_ok())),
        "ip" => address(text).map(Val::Ip).map_err(Failure::new),
        "isCIDR" => Ok(Val::Bool(Range::read(text).is_ok())),
        "cidr" => {
            let context = "network address parse error during conversion from string";
            Range::read(text)
                .map(Val::Cidr)
                .map_err(|why| Failure::new(format!("{context}: {why}")))
        }
        _ => return None,
    })
}

/// Functions that begin with `ip.`.
pub(super) fn of_space<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    match (name, args) {
        ("isCanonical", [Val::Text(text)]) => {
            let found = address(text).map_err(Failure::new);
            Some(found.map(|address| Val::Bool(address.to_string() == **text)))
        }
        _ => None,
    }
}

pub(super) fn method<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    let value = match args {
        [Val::Ip(address)] => of_address(name, *address)?,
        [Val::Cidr(range)] => match name {
            "ip" => Val::Ip(range.address()),
            "masked" => Val::Cidr(range.masked()),
            "prefixLength" => Val::Int(range.prefix().into()),
            _ => return None,
        },
        [Val::Cidr(of), other] => Val::Bool(match (name, other) {
            ("containsIP", Val::Ip(address)) => of.contains(*address),
            ("containsIP", Val::Text(text)) => of.contains(address(text).ok()?),
            ("containsCIDR", Val::Cidr(other)) => of.encloses(other),
            ("containsCIDR", Val::Text(text)) => of.encloses(&Range::read(text).ok()?),
            _ => return None,
        }),
        _ => return None,
    };
    Some(Ok(value))
}

fn of_address<'a>(name: &str, address: IpAddr) -> Option<Val<'a>> {
    Some(match name {
        "family" => Val::Int(if address.is_ipv4() { 4 } else { 6 }),
        "isLoopback" => Val::Bool(address.is_loopback()),
        "isUnspecified" => Val::Bool(address.is_unspecified()),
        "isLinkLocalUnicast" => Val::Bool(ip::is_link_local(address)),
        "isLinkLocalMulticast" => Val::Bool(ip::is_link_local_group(address)),
        "isGlobalUnicast" => Val::Bool(ip::is_global_unicast(address)),
        _ => return None,
    })
}
