//! Where the ends of a flow stand: version of IP, addresses, devices, ports, CPUs, scheduling class.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::record::Role;

/// A version of the Internet Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IpVersion {
    /// IPv4 (RFC 791).
    #[serde(rename = "4")]
    V4,
    /// IPv6 (RFC 8200).
    #[serde(rename = "6")]
    V6,
}

impl IpVersion {
    /// The version of an address.
    pub fn of(address: IpAddr) -> IpVersion {
        if address.is_ipv4() { IpVersion::V4 } else { IpVersion::V6 }
    }

    /// Its number.
    pub fn name(self) -> &'static str {
        match self {
            IpVersion::V4 => "4",
            IpVersion::V6 => "6",
        }
    }

    /// Bytes of its header without options or extensions (RFC 791, RFC 8200).
    pub fn header_bytes(self) -> u32 {
        match self {
            IpVersion::V4 => 20,
            IpVersion::V6 => 40,
        }
    }

    /// Largest UDP payload: the 16-bit length field counts UDP's 8 bytes, and with IPv4 the IP header too
    /// (RFC 768, RFC 791, RFC 8200).
    pub fn udp_payload_max(self) -> u32 {
        match self {
            IpVersion::V4 => 65_507,
            IpVersion::V6 => 65_527,
        }
    }
}

/// The least MTU that IPv6 runs over, in bytes (RFC 8200, section 5).
pub const IPV6_MTU_MIN: u32 = 1280;

/// How the kernel schedules a thread (sched(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheduling {
    /// `SCHED_OTHER`.
    Other,
    /// `SCHED_BATCH`: a thread that wakes up does not push another one aside.
    Batch,
}

impl Scheduling {
    /// Its word in studies and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Scheduling::Other => "other",
            Scheduling::Batch => "batch",
        }
    }
}

/// Ports from the first to the last, both among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ports {
    /// The first.
    pub first: u16,
    /// The last.
    pub last: u16,
}

impl Ports {
    /// Reads `5201` or `40000-40100`; nothing for what is none.
    pub fn parse(text: &str) -> Option<Ports> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first > 0 && first <= last).then_some(Ports { first, last })
    }

    /// True for a port of these.
    pub fn has(self, port: u16) -> bool {
        (self.first..=self.last).contains(&port)
    }

    /// How many they are.
    pub fn count(self) -> u32 {
        u32::from(self.last - self.first) + 1
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last { write!(f, "{}", self.first) } else { write!(f, "{}-{}", self.first, self.last) }
    }
}

/// Reads a list of CPUs such as `0`, `1,2` or `0-3`; nothing for what is none, or names one twice.
pub fn parse_cpus(text: &str) -> Option<Vec<u32>> {
    const CPU_MAX: u32 = 4095;
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last > CPU_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    let mut distinct = cpus.clone();
    distinct.sort_unstable();
    distinct.dedup();
    (distinct.len() == cpus.len()).then_some(cpus)
}

/// What a run asks of the place of one end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EndPlace {
    /// Its own address; absent: that of its interface towards the peer.
    pub address: Option<IpAddr>,
    /// The interface that its sockets are bound to (`SO_BINDTODEVICE`).
    pub device: Option<String>,
    /// Its own ports, one for each flow; absent: the kernel's choice. A sender takes any that is free of
    /// them, a receiver the first for its first flow and so on.
    pub ports: Option<Ports>,
    /// CPUs of its traffic threads, one for each in turn; empty: those of its host.
    pub cpus: Vec<u32>,
}

/// What a run asks of the places of both ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Places {
    /// Absent: that of the address that the receiver's host has first.
    pub ip_version: Option<IpVersion>,
    /// Flow label of what the sender sends (RFC 6437); IPv6 only.
    pub flow_label: Option<u32>,
    /// Of every traffic thread; absent: as found.
    pub scheduling: Option<Scheduling>,
    /// The sender's.
    pub sender: EndPlace,
    /// The receiver's.
    pub receiver: EndPlace,
}

impl Places {
    /// What is asked of one end.
    pub fn end(&self, role: Role) -> &EndPlace {
        match role {
            Role::Sender => &self.sender,
            Role::Receiver => &self.receiver,
        }
    }

    /// What is asked here, and where nothing is, what `other` asks; but for ports and flow labels.
    #[must_use]
    pub fn or(&self, other: &Places) -> Places {
        let has_addresses = self.asked_version().is_some();
        let end = |own: &EndPlace, other: &EndPlace| EndPlace {
            address: own.address.or(other.address.filter(|_| !has_addresses)),
            device: own.device.clone().or(other.device.clone()),
            ports: own.ports,
            cpus: if own.cpus.is_empty() { other.cpus.clone() } else { own.cpus.clone() },
        };
        Places {
            ip_version: self.ip_version.or(other.ip_version.filter(|_| !has_addresses)),
            flow_label: self.flow_label,
            scheduling: self.scheduling.or(other.scheduling),
            sender: end(&self.sender, &other.sender),
            receiver: end(&self.receiver, &other.receiver),
        }
    }

    /// The places of a flow that goes the other way between the same hosts. Addresses, interfaces and CPUs are
    /// of the hosts; ports are of who connects and who listens.
    #[must_use]
    pub fn turned(&self) -> Places {
        let end = |host: &EndPlace, role: &EndPlace| EndPlace { ports: role.ports, ..host.clone() };
        Places {
            sender: end(&self.receiver, &self.sender),
            receiver: end(&self.sender, &self.receiver),
            ..self.clone()
        }
    }

    /// The version of IP that the run asks for, in words or by an address.
    pub fn asked_version(&self) -> Option<IpVersion> {
        let by_address = self.receiver.address.or(self.sender.address).map(IpVersion::of);
        self.ip_version.or(by_address)
    }

    /// Checks that what is asked fits together.
    ///
    /// # Errors
    /// A sentence that says what was found and what is allowed.
    pub fn check(&self, flows: u32, mtu_bytes: u32) -> Result<(), String> {
        let version = self.asked_version();
        for (end, place) in [("sender", &self.sender), ("receiver", &self.receiver)] {
            if let (Some(version), Some(address)) = (version, place.address)
                && version != IpVersion::of(address)
            {
                let number = version.name();
                return Err(format!(
                    "the {end}'s address {address} is none of IPv{number}; allowed: one of IPv{number}"
                ));
            }
            if let Some(ports) = place.ports.filter(|ports| ports.count() < flows) {
                return Err(format!(
                    "{flows} flows do not fit the {end}'s ports {ports}; allowed: as many ports as flows, or more"
                ));
            }
        }
        if self.flow_label.is_some() && version != Some(IpVersion::V6) {
            return Err("a flow label needs IPv6; allowed with: ip_version = 6 (`-6`)".to_owned());
        }
        if version == Some(IpVersion::V6) && mtu_bytes < IPV6_MTU_MIN {
            return Err(format!("IPv6 does not run over an MTU of {mtu_bytes}; allowed: {IPV6_MTU_MIN} and more"));
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
        assert_eq!(Ports::parse("5201").map(|ports| ports.to_string()), Some("5201".to_owned()));
        for text in ["", "0", "70000", "9-8", "1-", "a"] {
            assert_eq!(Ports::parse(text), None, "{text}");
        }
        assert_eq!(parse_cpus("0,2-4,1"), Some(vec![0, 2, 3, 4, 1]));
        for text in ["", "1,", "3-2", "1,1", "0-2,1", "-1", "x", "0-99999"] {
            assert_eq!(parse_cpus(text), None, "{text}");
        }
    }

    #[test]
    fn the_other_way_hosts_keep_their_addresses_and_roles_their_ports() {
        let end = |last: u8, ports| EndPlace {
            address: Some([10, 0, 0, last].into()),
            ports: Ports::parse(ports),
            cpus: vec![last.into()],
            ..EndPlace::default()
        };
        let run = Places { sender: end(1, "9000"), receiver: end(2, "5201"), ..Places::default() };
        let turned = run.turned();
        assert_eq!((turned.sender, turned.receiver), (end(2, "9000"), end(1, "5201")));
        let beside = Places::default().or(&run);
        assert_eq!((beside.sender.address, beside.sender.ports), (run.sender.address, None));
        let v6 = Places { ip_version: Some(IpVersion::V6), ..Places::default() }.or(&run);
        assert_eq!((v6.asked_version(), v6.sender.address), (Some(IpVersion::V6), None));
        assert_eq!(v6.sender.cpus, [1]);
    }

    #[test]
    fn what_does_not_fit_together_is_refused_with_what_is_allowed() {
        let v6 = Places { ip_version: Some(IpVersion::V6), ..Places::default() };
        assert_eq!(v6.check(1, 1280), Ok(()));
        assert!(v6.check(1, 1279).is_err_and(|found| found.contains("allowed: 1280 and more")));
        let mixed =
            Places { sender: EndPlace { address: Some([10, 0, 0, 1].into()), ..EndPlace::default() }, ..v6.clone() };
        assert!(mixed.check(1, 1500).is_err_and(|found| found.contains("none of IPv6")));
        let labelled = Places { flow_label: Some(1), ..Places::default() };
        assert!(labelled.check(1, 1500).is_err_and(|found| found.contains("ip_version = 6")));
        let ports = Places { sender: EndPlace { ports: Ports::parse("9000-9001"), ..EndPlace::default() }, ..v6 };
        assert_eq!(ports.check(2, 1500), Ok(()));
        assert!(
            ports.check(3, 1500).is_err_and(|found| found.contains("3 flows do not fit the sender's ports 9000-9001"))
        );
    }
}
