//! Host constants: what copying a KiB and a packet cost on a machine, measured before the runs of an execution; and what
//! data cannot cost less than by them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Unavailable;
use crate::record::Role;

/// The constants of a host, each the median of its samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostConstants {
    /// Copying a KiB from one cached buffer to another, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_kib_ns: Option<f64>,
    /// Sending a packet of one byte through the host's own stack and receiving it, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_ns: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineConstants {
    pub roles: Vec<Role>,
    /// Its constants; absent where they could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostConstants>,
    /// The reason why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
}

impl HostConstants {
    /// Checks what another host reports.
    pub fn check(&self) -> Result<(), Unavailable> {
        let mut times = self.copy_kib_ns.into_iter().chain(self.packet_ns);
        match times.all(|ns| (0.0..1e12).contains(&ns)) {
            true => Ok(()),
            false => Err(Unavailable(
                "the host reports a constant that is not a time from 0 to 1000 s".to_owned(),
            )),
        }
    }
}

/// The most data that one packet carries through a stack, in KiB: what segmentation offloads leave whole.
const PACKET_KIB: f64 = 64.0;

/// What a KiB cannot cost less than at both ends together where each of its bytes is copied at each end, in µs: two copies, and
/// a packet for each 64 KiB. Absent where a machine lacks a constant.
pub fn floor_us_per_kib(machines: &[MachineConstants]) -> Option<f64> {
    let of = |machine: &MachineConstants| {
        let host = machine.host?;
        Some(2.0 * host.copy_kib_ns? + host.packet_ns? / PACKET_KIB)
    };
    let each: Vec<f64> = machines.iter().map(of).collect::<Option<_>>()?;
    let floor = each.iter().sum::<f64>() / each.len() as f64 / 1000.0;
    // Not a number of no machine, and 0 of hosts that say so.
    (floor > 0.0).then_some(floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_of_another_host_are_checked() {
        let of = |packet_ns, copy_kib_ns| HostConstants {
            packet_ns: Some(packet_ns),
            copy_kib_ns,
        };
        assert_eq!(of(1000.0, Some(50.0)).check(), Ok(()));
        assert_eq!(HostConstants::default().check(), Ok(()));
        for wrong in [of(-1.0, None), of(f64::NAN, None), of(1.0, Some(1e13))] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn floor_is_two_copies_and_a_share_of_a_packet() {
        let host = |copy_kib_ns, packet_ns| MachineConstants {
            roles: vec![Role::Sender],
            host: Some(HostConstants {
                copy_kib_ns: Some(copy_kib_ns),
                packet_ns,
            }),
            absent: None,
        };
        let (one, other) = (host(50.0, Some(1280.0)), host(100.0, Some(1280.0)));
        assert_eq!(floor_us_per_kib(&[one.clone(), other]), Some(0.17));
        assert_eq!(floor_us_per_kib(&[one, host(50.0, None)]), None);
        assert_eq!(floor_us_per_kib(&[host(0.0, Some(0.0))]), None);
        assert_eq!(floor_us_per_kib(&[]), None);
    }
}
