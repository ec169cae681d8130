//! The facts of a network device that a result must carry: driver, kind, MTU, features, qdiscs.

use bitcost_sys::netlink::Rtnl;
use serde::{Deserialize, Serialize};

use crate::device::check;
use crate::{FeatureState, HostError, features};

/// The facts of a device at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceFacts {
    pub device: String,
    /// Its interface index in its network namespace.
    pub index: u32,
    /// The name of its driver; `None` when it has none.
    pub driver: Option<String>,
    /// The version of its firmware; `None` when its driver reports none.
    pub firmware: Option<String>,
    /// The kind of a virtual device, such as "veth"; `None` for hardware and loopback.
    pub kind: Option<String>,
    pub mtu_bytes: u32,
    pub up: bool,
    pub qdiscs: Vec<QdiscFact>,
    /// Every feature that the kernel knows.
    pub features: FeatureState,
}

/// A queueing discipline of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QdiscFact {
    /// Its kind, such as "fq".
    pub kind: String,
    /// Its handle as tc writes it, such as "8001:"; "0:" is a default of the kernel.
    pub handle: String,
}

/// Reads the facts of `device` in the caller's network namespace.
///
/// # Errors
/// When there is no such device, with similar names.
pub fn describe(device: &str) -> Result<DeviceFacts, HostError> {
    check(device)?;
    let mut rtnl = Rtnl::open()?;
    let link = rtnl.link(device)?;
    let up = link.is_up();
    let driver = bitcost_sys::ethtool::driver(device).map_err(|source| HostError::Driver {
        device: device.to_owned(),
        source,
    })?;
    let qdiscs = rtnl.qdiscs(link.index)?.into_iter();
    Ok(DeviceFacts {
        device: link.name,
        index: link.index,
        driver: driver.name,
        firmware: driver.firmware,
        kind: link.kind,
        mtu_bytes: link.mtu_bytes,
        up,
        qdiscs: qdiscs
            .map(|q| QdiscFact {
                kind: q.kind,
                handle: format!("{:x}:", q.handle >> 16),
            })
            .collect(),
        features: features(device)?,
    })
}
