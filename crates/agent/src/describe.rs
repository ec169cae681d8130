//! What this host and its interface are, and which interface leads to an address.

use std::net::IpAddr;

use model::machine::{DeviceDescription, HostDescription};
use wire::Route;

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

/// The way from this host to an address.
///
/// # Errors
/// A sentence when there is none.
pub fn route(to: IpAddr) -> Result<Route, String> {
    let say = |error: netlink::Error| error.to_string();
    let mut rtnl = netlink::Rtnl::open().map_err(say)?;
    let route = rtnl.route(to).map_err(say)?;
    let links = rtnl.links().map_err(say)?;
    let leads = |link: &netlink::Link| if route.is_local { link.is_loopback() } else { link.index == route.link };
    let device = links.into_iter().find(leads).map(|link| link.name);
    let device = device.ok_or_else(|| format!("find the route to {to}: its interface is gone"))?;
    Ok(Route { device, source: route.source, is_local: route.is_local })
}

/// The addresses of an interface, without those of the link alone.
///
/// # Errors
/// A sentence when there is no such interface; near matches are named.
pub fn addresses(device: &str) -> Result<Vec<IpAddr>, String> {
    host::check_device(device).map_err(|error| error.to_string())?;
    let say = |error: netlink::Error| error.to_string();
    let mut rtnl = netlink::Rtnl::open().map_err(say)?;
    let index = rtnl.link(device).map_err(say)?.index;
    rtnl.addresses(index).map_err(say)
}

/// The kernel threads that handle what `device` received; absent where the kernel does not tell.
pub fn napi_threads(device: &str) -> Option<Vec<u32>> {
    let index = netlink::Rtnl::open().ok()?.link(device).ok()?.index;
    let napis = netlink::Netdev::open().ok()??.napis(index).ok()??;
    Some(napis.into_iter().filter_map(|napi| napi.thread_pid).collect())
}
