//! IP addresses and CIDRs in objects: parsing as in Go, and validation messages.
//!
//! Older API fields accept an address in any notation, with a warning; newer fields accept only the canonical notation. Does not know the
//! fields.

use super::names::Messages;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const NO_IP: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

/// Parses an IP address. Numbers in the address may have leading zeros, as in old API fields.
pub fn parse(text: &str) -> Option<IpAddr> {
    text.parse().ok().or_else(|| without_zeros(text).parse().ok())
}

/// Removes leading zeros from the numbers of an IP address.
fn without_zeros(text: &str) -> String {
    let numbers = text.split_inclusive(['.', ':']).map(|part| {
        let digits = part.trim_end_matches(['.', ':']);
        let end = &part[digits.len()..];
        match digits.trim_start_matches('0') {
            "" if !digits.is_empty() => format!("0{end}"),
            rest => format!("{rest}{end}"),
        }
    });
    numbers.collect()
}

pub(crate) fn is_ipv4(address: IpAddr) -> bool {
    address.to_canonical().is_ipv4()
}

pub(crate) fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// Whether the address is a global unicast address as defined by Go's `IsGlobalUnicast`.
pub(crate) fn is_global_unicast(address: IpAddr) -> bool {
    let is_broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
    let is_of_many = is_broadcast || address.is_multicast();
    !(is_of_many || is_link_local(address) || address.is_loopback() || address.is_unspecified())
}

/// Joins host and port as in URLs: IPv6 addresses are in brackets.
pub(crate) fn with_port(host: &str, port: impl Display) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

/// Number of bits of an IP address: 32 or 128.
pub(crate) fn bit_count(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

pub(crate) fn network_address(address: IpAddr, prefix: u8) -> IpAddr {
    let host = u32::from(bit_count(address) - prefix);
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(host).unwrap_or_default();
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(host).unwrap_or_default();
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

/// Validates an IP address in a field that accepts non-canonical notations, except leading zeros and IPv4-mapped IPv6 addresses.
pub fn validate_any_notation(text: &str) -> Messages {
    if parse(text).is_none() {
        return vec![NO_IP.to_owned()];
    }
    match text.parse::<IpAddr>() {
        Err(_) => vec!["must not have leading 0s".to_owned()],
        Ok(address) if is_mapped(address) => vec!["must not be an IPv4-mapped IPv6 address".to_owned()],
        Ok(_) => Messages::new(),
    }
}

/// Validates an IP address in a field that requires the canonical notation.
pub fn validate_canonical(text: &str) -> Messages {
    let messages = validate_any_notation(text);
    match parse(text) {
        Some(address) if messages.is_empty() => other_form(text, &address.to_string()),
        _ => messages,
    }
}

fn is_mapped(address: IpAddr) -> bool {
    address.is_ipv6() && is_ipv4(address)
}

fn other_form(text: &str, form: &str) -> Messages {
    let other = (text != form).then(|| format!("must be in canonical form ({form:?})"));
    other.into_iter().collect()
}

/// Whether a text is a valid CIDR: an address and a prefix length that its IP family allows.
pub fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else {
        return false;
    };
    let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let prefix = length.parse::<u8>().ok().filter(|_| is_number);
    prefix.is_some_and(|prefix| parse(address).is_some_and(|address| prefix <= bit_count(address)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_invalid_notation_of_an_address_has_its_message() {
        for (text, message) in [
            ("10.0.0.1", None),
            ("2001:DB8::1", None),
            ("10.00.0.01", Some("must not have leading 0s")),
            ("::ffff:10.0.0.1", Some("must not be an IPv4-mapped IPv6 address")),
            ("10.0.0", Some(NO_IP)),
            ("", Some(NO_IP)),
        ] {
            assert_eq!(
                validate_any_notation(text).first().map(String::as_str),
                message,
                "{text}"
            );
        }
        assert_eq!(
            validate_canonical("2001:DB8::1"),
            ["must be in canonical form (\"2001:db8::1\")"]
        );
    }

    #[test]
    fn a_cidr_has_a_prefix_length_of_its_family() {
        for range in ["10.0.0.0/24", "2001:DB8::/32", "10.0.0.1/8"] {
            assert!(is_cidr(range), "{range}");
        }
        for other in ["10.0.0.0/33", "10.0.0.0", "10.0.0.0/+8", "x/8"] {
            assert!(!is_cidr(other), "{other}");
        }
    }
}
