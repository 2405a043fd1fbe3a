//! Addresses and ranges of addresses inside objects: reading them as Go does, and the texts of the rules for them.
//!
//! Older fields take an address in any of its forms, with a warning; newer ones in the canonical form only. Does not know
//! which field is which.

use super::names::Complaints;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const NO_IP: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const NO_CIDR: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// An address, in which numbers may begin with zeros.
pub(crate) fn parse(text: &str) -> Option<IpAddr> {
    text.parse().ok().or_else(|| without_zeros(text).parse().ok())
}

/// The text without the zeros with which its numbers begin.
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

/// Whether it is an address of version 4; those inside of version 6 are, too.
pub(crate) fn is_ipv4(address: IpAddr) -> bool {
    address.to_canonical().is_ipv4()
}

/// Whether it is of use on one link alone; those of groups are others.
pub(crate) fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// Whether it is of a group on one link alone.
pub(crate) fn is_link_local_group(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets().starts_with(&[224, 0, 0]),
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    }
}

/// Whether it is of one machine, and of use beyond one link.
pub(crate) fn is_global_unicast(address: IpAddr) -> bool {
    let is_broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
    let is_of_many = is_broadcast || address.is_multicast();
    !(is_of_many || is_link_local(address) || address.is_loopback() || address.is_unspecified())
}

/// A host and a port as URLs have them: the host of an address of version 6 is in brackets.
pub(crate) fn with_port(host: &str, port: impl Display) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

/// How many bits an address has.
pub(crate) fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The first address that has as many bits in common with this one.
pub(crate) fn first(address: IpAddr, prefix: u8) -> IpAddr {
    let host = u32::from(bits(address) - prefix);
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

/// The rules for an address in a field that takes all forms.
pub(crate) fn any_form(text: &str) -> Complaints {
    if parse(text).is_none() {
        return vec![NO_IP.to_owned()];
    }
    match text.parse::<IpAddr>() {
        Err(_) => vec!["must not have leading 0s".to_owned()],
        Ok(address) if is_mapped(address) => vec!["must not be an IPv4-mapped IPv6 address".to_owned()],
        Ok(_) => Complaints::new(),
    }
}

/// The rules for an address in a field that takes the canonical form.
pub(crate) fn canonical(text: &str) -> Complaints {
    let complaints = any_form(text);
    match parse(text) {
        Some(address) if complaints.is_empty() => other_form(text, &address.to_string()),
        _ => complaints,
    }
}

/// The warning about an address that passes in a field that takes all forms.
pub(crate) fn warning(text: &str, field: &str) -> Option<String> {
    let address = parse(text)?;
    let best = address.to_canonical().to_string();
    match text.parse::<IpAddr>() {
        Ok(read) if !is_mapped(read) => (read.is_ipv6() && read.to_string() != text).then(|| {
            format!("{field}: IPv6 address {text:?} should be in RFC 5952 canonical format ({best:?})")
        }),
        _ => Some(format!(
            "{field}: non-standard IP address {text:?} is invalid: use {best:?}"
        )),
    }
}

fn is_mapped(address: IpAddr) -> bool {
    address.is_ipv6() && is_ipv4(address)
}

fn other_form(text: &str, form: &str) -> Complaints {
    let other = (text != form).then(|| format!("must be in canonical form ({form:?})"));
    other.into_iter().collect()
}

/// The rules for a range in a field that takes all forms.
pub(crate) fn any_form_of_range(text: &str) -> Complaints {
    let Some(range) = Range::parse(text) else {
        return vec![NO_CIDR.to_owned()];
    };
    let why = if !range.is_standard {
        "must not have leading 0s in IP or prefix length"
    } else if is_mapped(range.address) {
        "must not have an IPv4-mapped IPv6 address"
    } else if range.address != range.first() {
        "must not have bits set beyond the prefix length"
    } else {
        return Complaints::new();
    };
    vec![why.to_owned()]
}

/// The rules for a range in a field that takes the canonical form.
pub(crate) fn canonical_range(text: &str) -> Complaints {
    let complaints = any_form_of_range(text);
    match Range::parse(text) {
        Some(range) if complaints.is_empty() => other_form(text, &range.shown()),
        _ => complaints,
    }
}

/// The warnings about a range that passes in a field that takes all forms.
pub(crate) fn range_warnings(text: &str, field: &str) -> Vec<String> {
    let Some(range) = Range::parse(text) else {
        return Vec::new();
    };
    let (best, address) = (range.shown(), range.address);
    let mut out = Vec::new();
    if address != range.first() {
        let single = format!("{}/{}", address.to_canonical(), range.bits());
        out.push(format!(
            "{field}: CIDR value {text:?} is ambiguous in this context (should be {best:?} or {single:?}?)"
        ));
    }
    if !range.is_standard || is_mapped(address) {
        out.push(format!(
            "{field}: non-standard CIDR value {text:?} is invalid: use {best:?}"
        ));
    }
    let exact = format!("{address}/{}", range.prefix);
    if out.is_empty() && address.is_ipv6() && exact != text {
        out.push(format!(
            "{field}: IPv6 CIDR value {text:?} should be in RFC 5952 canonical format ({exact:?})"
        ));
    }
    out
}

/// A range of addresses as it was written: its address may be one inside of it.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    address: IpAddr,
    prefix: u8,
    /// No number begins with a zero.
    is_standard: bool,
}

impl Range {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
        let prefix = is_number.then(|| length.parse().ok())??;
        let range = Self {
            is_standard: address.parse::<IpAddr>().is_ok() && length == format!("{prefix}"),
            address: parse(address)?,
            prefix,
        };
        (prefix <= range.bits()).then_some(range)
    }

    /// Whether the addresses are of version 4.
    pub(crate) fn is_ipv4(&self) -> bool {
        is_ipv4(self.address)
    }

    /// Whether the other range is a part of this one, and smaller.
    pub(crate) fn exceeds(&self, other: &Self) -> bool {
        let first = Self {
            address: other.first(),
            ..*self
        };
        first.bits() == self.bits() && self.prefix < other.prefix && first.first() == self.first()
    }

    fn bits(&self) -> u8 {
        bits(self.address)
    }

    fn first(&self) -> IpAddr {
        first(self.address, self.prefix)
    }

    /// The range as Go writes it.
    fn shown(&self) -> String {
        let first = self.first();
        let inside = if is_mapped(first) { 96 } else { 0 };
        format!("{}/{}", first.to_canonical(), self.prefix - inside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_an_address_has_its_complaint() {
        for (text, complaint) in [
            ("10.0.0.1", None),
            ("2001:DB8::1", None),
            ("10.00.0.01", Some("must not have leading 0s")),
            ("::ffff:10.0.0.1", Some("must not be an IPv4-mapped IPv6 address")),
            ("10.0.0", Some(NO_IP)),
            ("", Some(NO_IP)),
        ] {
            assert_eq!(any_form(text).first().map(String::as_str), complaint, "{text}");
        }
        assert_eq!(
            canonical("2001:DB8::1"),
            ["must be in canonical form (\"2001:db8::1\")"]
        );
        assert_eq!(
            warning("010.0.0.1", "f").unwrap(),
            "f: non-standard IP address \"010.0.0.1\" is invalid: use \"10.0.0.1\""
        );
        assert_eq!(
            warning("2001:DB8::1", "f").unwrap(),
            "f: IPv6 address \"2001:DB8::1\" should be in RFC 5952 canonical format (\"2001:db8::1\")"
        );
        assert_eq!(warning("10.0.0.1", "f"), None);
    }

    #[test]
    fn each_form_of_a_range_has_its_complaint() {
        for (text, complaint) in [
            ("10.0.0.0/24", None),
            ("2001:DB8::/32", None),
            (
                "10.0.0.0/08",
                Some("must not have leading 0s in IP or prefix length"),
            ),
            (
                "::ffff:10.0.0.0/112",
                Some("must not have an IPv4-mapped IPv6 address"),
            ),
            (
                "10.0.0.1/24",
                Some("must not have bits set beyond the prefix length"),
            ),
            ("10.0.0.0/33", Some(NO_CIDR)),
            ("10.0.0.0", Some(NO_CIDR)),
            ("10.0.0.0/+8", Some(NO_CIDR)),
        ] {
            assert_eq!(
                any_form_of_range(text).first().map(String::as_str),
                complaint,
                "{text}"
            );
        }
        let range = |text| Range::parse(text).unwrap();
        assert!(range("10.0.0.0/8").exceeds(&range("10.1.0.0/16")));
        assert!(!range("10.0.0.0/8").exceeds(&range("10.0.0.0/8")));
        assert!(!range("10.0.0.0/8").exceeds(&range("11.0.0.0/16")));
        assert!(!range("10.0.0.0/8").exceeds(&range("2001:db8::/32")));
        let told = range_warnings("10.0.0.1/24", "f");
        let text = "f: CIDR value \"10.0.0.1/24\" is ambiguous in this context (should be \"10.0.0.0/24\" or \
            \"10.0.0.1/32\"?)";
        assert_eq!(told, [text]);
    }
}
