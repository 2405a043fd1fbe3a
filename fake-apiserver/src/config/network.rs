//! The cluster network: service CIDR, node ports, and the advertised address of the server.

use crate::machinery::ip;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The addresses and ports that Services get, and the address that the server publishes for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Service CIDR (`--service-cluster-ip-range`). The service `default/kubernetes` gets the first address.
    pub services: Cidr,
    /// Range of node ports (`--service-node-port-range`).
    pub node_ports: RangeInclusive<u16>,
    /// Address in the endpoints of `default/kubernetes` (`--advertise-address`). The server does not listen on this address by itself.
    pub advertise: SocketAddr,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            services: Cidr {
                address: Ipv4Addr::new(10, 96, 0, 0).into(),
                prefix: 12,
            },
            node_ports: 30_000..=32_767,
            advertise: (Ipv4Addr::LOCALHOST, 6443).into(),
        }
    }
}

/// An address range in CIDR notation, such as `10.96.0.0/12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    prefix: u8,
}

/// Parse error: the text is not an address and a prefix length, such as `10.96.0.0/12`. Contains the text.
#[derive(Debug, thiserror::Error)]
#[error("invalid CIDR address: {0}; write an address, a slash and a prefix length, such as 10.96.0.0/12")]
pub struct InvalidCidr(String);

impl FromStr for Cidr {
    type Err = InvalidCidr;

    fn from_str(text: &str) -> Result<Self, InvalidCidr> {
        let read = || {
            let (address, prefix) = text.split_once('/')?;
            let (address, prefix): (IpAddr, u8) = (address.parse().ok()?, prefix.parse().ok()?);
            let range = Self { address, prefix };
            (prefix <= range.bits()).then_some(range)
        };
        let range = read().ok_or_else(|| InvalidCidr(text.to_owned()))?;
        Ok(Self {
            address: range.address_at(0),
            ..range
        })
    }
}

impl std::fmt::Display for Cidr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl Cidr {
    fn bits(&self) -> u8 {
        ip::bit_count(self.address)
    }

    /// Whether the range has IPv4 addresses.
    pub fn is_ipv4(&self) -> bool {
        self.address.is_ipv4()
    }

    /// Number of assignable addresses: all except the network address and, for IPv4, the broadcast address.
    pub fn size(&self) -> u64 {
        let host = u32::from(self.bits() - self.prefix).min(62);
        ((1_u64 << host) - 1).saturating_sub(u64::from(self.is_ipv4()))
    }

    /// The address that follows the network address by `number` addresses.
    pub fn address_at(&self, number: u64) -> IpAddr {
        match ip::network_address(self.address, self.prefix) {
            IpAddr::V4(first) => {
                let offset = u32::try_from(number).unwrap_or(u32::MAX);
                Ipv4Addr::from_bits(first.to_bits().saturating_add(offset)).into()
            }
            IpAddr::V6(first) => Ipv6Addr::from_bits(first.to_bits().saturating_add(number.into())).into(),
        }
    }

    /// Whether the range contains an address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let of = Self {
            address,
            prefix: self.prefix,
        };
        address.is_ipv4() == self.is_ipv4() && of.address_at(0) == self.address_at(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cidr_has_a_first_address_and_a_size() {
        let range: Cidr = "10.0.0.5/24".parse().unwrap();
        assert_eq!((range.to_string().as_str(), range.size()), ("10.0.0.0/24", 254));
        assert_eq!(range.address_at(1).to_string(), "10.0.0.1");
        assert!(range.contains("10.0.0.255".parse().unwrap()));
        assert!(!range.contains("10.0.1.0".parse().unwrap()));
        let range: Cidr = "fd00::/108".parse().unwrap();
        assert_eq!(
            (range.address_at(1).to_string().as_str(), range.size()),
            ("fd00::1", 1_048_575)
        );
        for wrong in ["10.0.0.0", "10.0.0.0/33", "x/8"] {
            assert!(wrong.parse::<Cidr>().is_err(), "{wrong}");
        }
    }
}
