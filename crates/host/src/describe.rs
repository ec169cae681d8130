//! The facts of a network device that a result must carry: driver, MTU, features, qdiscs.

use bitcost_model::machine::DeviceDescription;
use bitcost_sys::netlink::{Ethtool, Rtnl};

use crate::HostError;
use crate::device::check;

/// Describes `device` in the caller's network namespace, without what its kernel threads and its lab say of it.
pub fn describe(device: &str) -> Result<DeviceDescription, HostError> {
    check(device)?;
    let mut rtnl = Rtnl::open()?;
    let link = rtnl.link(device)?;
    let driver = bitcost_sys::ethtool::driver(device).map_err(|error| {
        let why = format!("{error}; check the device's name");
        HostError::cannot(format!("read the driver of {device}"), why)
    })?;
    let features = Ethtool::open()?.features(device)?.into_iter();
    let qdiscs = rtnl.qdiscs(link.index)?.into_iter();
    Ok(DeviceDescription {
        name: link.name,
        driver: driver.name.or(link.kind),
        firmware: driver.firmware,
        mtu_bytes: link.mtu_bytes,
        features: features.map(|(name, bit)| (name, bit.active)).collect(),
        qdiscs: qdiscs.map(|qdisc| qdisc.kind).collect(),
        ..DeviceDescription::default()
    })
}
