//! What this host and its interface are.

use model::machine::{DeviceDescription, HostDescription};

/// The host as it stands.
///
/// # Errors
/// A sentence when there is no such interface.
pub fn host(device: &str) -> Result<HostDescription, String> {
    let facts = host::describe(device).map_err(|error| error.to_string())?;
    let mut description = probe::host::describe();
    description.device = DeviceDescription {
        name: facts.device,
        driver: facts.driver.or(facts.kind),
        mtu_bytes: facts.mtu_bytes,
        features: facts.features.bits.iter().map(|(name, bit)| (name.clone(), bit.active)).collect(),
        qdiscs: facts.qdiscs.into_iter().map(|qdisc| qdisc.kind).collect(),
        napi_threaded: napi_threads(device).map(|threads| !threads.is_empty()),
    };
    Ok(description)
}

/// The kernel threads that handle what `device` received; absent where the kernel does not tell.
pub fn napi_threads(device: &str) -> Option<Vec<u32>> {
    let index = netlink::Rtnl::open().ok()?.link(device).ok()?.index;
    let napis = netlink::Netdev::open().ok()??.napis(index).ok()??;
    Some(napis.into_iter().filter_map(|napi| napi.thread_pid).collect())
}
