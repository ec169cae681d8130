//! The place of the endpoints of a flow: version of IP, addresses, devices, ports, CPUs.

use std::fmt;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Invalid;
use crate::record::Role;

words! {
    /// A version of the Internet Protocol.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum IpVersion {
        /// IPv4 (RFC 791).
        #[serde(rename = "4")]
        V4 = "4",
        /// IPv6 (RFC 8200).
        #[serde(rename = "6")]
        V6 = "6",
    }
}

impl IpVersion {
    pub fn of(address: IpAddr) -> IpVersion {
        if address.is_ipv4() {
            IpVersion::V4
        } else {
            IpVersion::V6
        }
    }

    /// Whether an address is of the requested version; every address is, where none is requested.
    pub fn fits(requested: Option<IpVersion>, address: IpAddr) -> bool {
        requested.is_none_or(|version| version == IpVersion::of(address))
    }

    /// Bytes of its header without options or extensions (RFC 791, RFC 8200).
    pub fn header_bytes(self) -> u32 {
        match self {
            IpVersion::V4 => 20,
            IpVersion::V6 => 40,
        }
    }

    /// Largest UDP payload: the 16-bit length field counts UDP's 8 bytes, and with IPv4 also the IP
    /// header (RFC 768, RFC 791, RFC 8200).
    pub fn udp_payload_max(self) -> u32 {
        match self {
            IpVersion::V4 => 65_507,
            IpVersion::V6 => 65_527,
        }
    }
}

/// Whether an address has a meaning on one link alone (RFC 4291, section 2.5.6).
pub fn is_of_one_link(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

/// An address of one link, and the interface towards it at the host that connects, as in `fe80::7%eth0`.
pub fn scoped(text: &str) -> Option<(IpAddr, &str)> {
    let (address, device) = text.split_once('%')?;
    let address = address.parse().ok()?;
    (is_of_one_link(address) && !device.is_empty()).then_some((address, device))
}

/// The least MTU that IPv6 runs over, in bytes (RFC 8200, section 5).
pub const IPV6_MTU_MIN: u32 = 1280;

/// A range of ports, first and last included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ports {
    pub first: u16,
    pub last: u16,
}

impl Ports {
    /// Reads `5201` or `40000-40100`; `None` for a text that is not a port or a range of ports.
    pub fn parse(text: &str) -> Option<Ports> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first > 0 && first <= last).then_some(Ports { first, last })
    }

    /// True for a port in the range.
    pub fn has(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }

    pub fn count(self) -> u32 {
        u32::from(self.last - self.first) + 1
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "{}", self.first)
        } else {
            write!(f, "{}-{}", self.first, self.last)
        }
    }
}

/// The request of a run for the place of one endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EndpointPlace {
    /// Its own address; absent: that of its interface towards the peer.
    pub address: Option<IpAddr>,
    /// The interface that its sockets are bound to (`SO_BINDTODEVICE`).
    pub device: Option<String>,
    /// Its own ports; absent: the kernel's choice. The flows of a sender take free ports of the range, those of a receiver
    /// all come to one.
    pub ports: Option<Ports>,
    /// CPUs of its traffic threads, assigned to them in turn; empty: those of its host.
    pub cpus: Vec<u32>,
}

/// The request of a run for the places of both endpoints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Places {
    /// The version of IP; absent: that of the first address of the receiver's host.
    pub ip_version: Option<IpVersion>,
    pub sender: EndpointPlace,
    pub receiver: EndpointPlace,
}

impl Places {
    pub fn end(&self, role: Role) -> &EndpointPlace {
        match role {
            Role::Sender => &self.sender,
            Role::Receiver => &self.receiver,
        }
    }

    /// This request, completed by that of `other` where it asks for nothing, except for ports.
    #[must_use]
    pub fn or(&self, other: &Places) -> Places {
        let has_addresses = self.asked_version().is_some();
        let end = |own: &EndpointPlace, other: &EndpointPlace| EndpointPlace {
            address: own.address.or(other.address.filter(|_| !has_addresses)),
            device: own.device.clone().or(other.device.clone()),
            ports: own.ports,
            cpus: if own.cpus.is_empty() {
                other.cpus.clone()
            } else {
                own.cpus.clone()
            },
        };
        Places {
            ip_version: self
                .ip_version
                .or(other.ip_version.filter(|_| !has_addresses)),
            sender: end(&self.sender, &other.sender),
            receiver: end(&self.receiver, &other.receiver),
        }
    }

    /// The places of a flow in the opposite direction between the same hosts. Addresses, interfaces
    /// and CPUs belong to the hosts; ports belong to the connecting and the listening endpoint.
    #[must_use]
    pub fn turned(&self) -> Places {
        let end = |host: &EndpointPlace, role: &EndpointPlace| EndpointPlace {
            ports: role.ports,
            ..host.clone()
        };
        Places {
            sender: end(&self.receiver, &self.sender),
            receiver: end(&self.sender, &self.receiver),
            ip_version: self.ip_version,
        }
    }

    /// The version of IP that the run asks for, by name or by an address.
    pub fn asked_version(&self) -> Option<IpVersion> {
        let by_address = self
            .receiver
            .address
            .or(self.sender.address)
            .map(IpVersion::of);
        self.ip_version.or(by_address)
    }

    /// Checks that the requests are consistent.
    pub fn check(&self, flows: u32, mtu_bytes: u32) -> Result<(), Invalid> {
        let version = self.asked_version();
        for (end, place) in [("sender", &self.sender), ("receiver", &self.receiver)] {
            if let (Some(version), Some(address)) = (version, place.address)
                && version != IpVersion::of(address)
            {
                let number = version.name();
                return Err(Invalid(format!(
                    "the {end}'s address {address} is not an IPv{number} address; allowed: an IPv{number} address"
                )));
            }
            let ports = place.ports.filter(|_| end == "sender");
            if let Some(ports) = ports.filter(|ports| ports.count() < flows) {
                return Err(Invalid(format!(
                    "{flows} flows do not fit the {end}'s ports {ports}; allowed: as many ports as flows, or more"
                )));
            }
        }
        if version == Some(IpVersion::V6) && mtu_bytes < IPV6_MTU_MIN {
            return Err(Invalid(format!(
                "IPv6 does not run over an MTU of {mtu_bytes}; allowed: {IPV6_MTU_MIN} and more"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_cpus_are_read() {
        assert_eq!(Ports::parse("40000-40100").map(Ports::count), Some(101));
        assert_eq!(
            Ports::parse("5201").map(|ports| ports.to_string()),
            Some("5201".to_owned())
        );
        for text in ["", "0", "70000", "9-8", "1-", "a"] {
            assert_eq!(Ports::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_other_way_hosts_keep_their_addresses_and_roles_their_ports() {
        let end = |last: u8, ports| EndpointPlace {
            address: Some([10, 0, 0, last].into()),
            ports: Ports::parse(ports),
            cpus: vec![last.into()],
            ..EndpointPlace::default()
        };
        let run = Places {
            sender: end(1, "9000"),
            receiver: end(2, "5201"),
            ..Places::default()
        };
        let turned = run.turned();
        assert_eq!(
            (turned.sender, turned.receiver),
            (end(2, "9000"), end(1, "5201"))
        );
        let background = Places::default().or(&run);
        assert_eq!(
            (background.sender.address, background.sender.ports),
            (run.sender.address, None)
        );
        let v6 = Places {
            ip_version: Some(IpVersion::V6),
            ..Places::default()
        }
        .or(&run);
        assert_eq!(
            (v6.asked_version(), v6.sender.address),
            (Some(IpVersion::V6), None)
        );
        assert_eq!(v6.sender.cpus, [1]);
    }
}
