//! Addresses and ranges of addresses, as rules read them: in one form only, and without zones.

use crate::machinery::ip::{bits, first};
use std::fmt::{self, Display, Formatter};
use std::net::IpAddr;

/// A range of addresses, by any address in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::rules) struct Range {
    address: IpAddr,
    prefix: u8,
}

impl Range {
    /// Reads a range. What is wrong with it, otherwise.
    pub(in crate::rules) fn read(text: &str) -> Result<Self, String> {
        let failed = |why: String| {
            format!(
                "network address parse error during conversion from string: netip.ParsePrefix({text:?}): {why}"
            )
        };
        let Some((before, length)) = text.rsplit_once('/') else {
            return Err(failed("no '/'".to_owned()));
        };
        let Ok(address) = before.parse::<IpAddr>() else {
            return Err(failed(format!(
                "ParseAddr({before:?}): {}",
                why_no_address(before)
            )));
        };
        let is_number = length.bytes().all(|byte| byte.is_ascii_digit());
        let is_plain = is_number && (length.len() == 1 || !length.starts_with('0'));
        let Some(prefix) = length.parse::<u32>().ok().filter(|_| is_plain) else {
            return Err(failed(format!("bad bits after slash: {length:?}")));
        };
        match u8::try_from(prefix)
            .ok()
            .filter(|prefix| *prefix <= bits(address))
        {
            None => Err(failed("prefix length out of range".to_owned())),
            Some(_) if is_mapped(address) => Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed")),
            Some(prefix) => Ok(Self { address, prefix }),
        }
    }

    /// The address that it was written with.
    pub(in crate::rules) fn address(&self) -> IpAddr {
        self.address
    }

    /// How many bits its addresses have in common.
    pub(in crate::rules) fn prefix(&self) -> u8 {
        self.prefix
    }

    /// The same, written with its first address.
    pub(in crate::rules) fn masked(&self) -> Self {
        Self {
            address: first(self.address, self.prefix),
            ..*self
        }
    }

    /// Whether all addresses of another range are in it.
    pub(in crate::rules) fn encloses(&self, other: &Self) -> bool {
        self.contains(other.address) && self.prefix <= other.prefix
    }

    /// Whether an address is in it.
    pub(in crate::rules) fn contains(&self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && first(self.address, self.prefix) == first(address, self.prefix)
    }

    /// Bytes that the prefix takes.
    pub(in crate::rules) fn size(&self) -> usize {
        usize::from(self.prefix).div_ceil(8)
    }
}

impl Display for Range {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.address, self.prefix)
    }
}

/// Reads an address. What is wrong with it, otherwise.
pub(in crate::rules) fn address(text: &str) -> Result<IpAddr, String> {
    if let Ok(address) = text.parse() {
        return match address {
            address if is_mapped(address) => Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed")),
            address => Ok(address),
        };
    }
    let zoneless = text.split_once('%').map(|(address, _)| address);
    if zoneless.is_some_and(|address| address.contains(':') && address.parse::<IpAddr>().is_ok()) {
        return Err(format!("IP address {text:?} with zone value is not allowed"));
    }
    Err(format!(
        "IP Address {text:?} parse error during conversion from string: ParseAddr({text:?}): {}",
        why_no_address(text)
    ))
}

/// What Go says of a text that is no address.
fn why_no_address(text: &str) -> String {
    let is_v4 = text
        .find(['.', ':'])
        .is_some_and(|at| text.as_bytes()[at] == b'.');
    if !is_v4 {
        return "unable to parse IP".to_owned();
    }
    let fields: Vec<&str> = text.split('.').collect();
    if let Some(at) = text.find(|c: char| !c.is_ascii_digit() && c != '.') {
        return format!("unexpected character (at {:?})", &text[at..]);
    }
    let is_zero_led = |field: &&str| field.len() > 1 && field.starts_with('0');
    let is_large = |field: &&str| field.parse::<u8>().is_err();
    match () {
        () if fields.iter().any(|field| field.is_empty()) => {
            "IPv4 field must have at least one digit".to_owned()
        }
        () if fields.iter().any(is_zero_led) => "IPv4 field has octet with leading zero".to_owned(),
        () if fields.iter().any(is_large) => "IPv4 field has value >255".to_owned(),
        () if fields.len() > 4 => "IPv4 address too long".to_owned(),
        () => "IPv4 address too short".to_owned(),
    }
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(inner) if inner.to_ipv4_mapped().is_some())
}
