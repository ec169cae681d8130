//! The description of this host and its interface, and the route to an address.

use std::net::IpAddr;

use bitcost_host::HostError;
use bitcost_model::machine::HostDescription;
use bitcost_model::place::is_of_one_link;
use bitcost_model::protocol::Route;
use bitcost_probe::programs;
use bitcost_sys::netlink::{Napi, Rtnl};

use crate::refusal::Refusal;

pub fn host(device: &str) -> Result<HostDescription, Refusal> {
    let mut description = bitcost_probe::host::describe();
    description.device = bitcost_host::describe(device)?;
    description.device.napi_threaded = napi_threads(device).map(|threads| !threads.is_empty());
    Ok(description)
}

/// The route to an address; to one of one link by this interface.
pub fn route(to: IpAddr, device: &str) -> Result<Route, Refusal> {
    let mut rtnl = Rtnl::open().map_err(HostError::from)?;
    let link = match is_of_one_link(to) && !device.is_empty() {
        true => rtnl.link(device).map_err(HostError::from)?.index,
        false => 0,
    };
    let route = rtnl.route(to, link).map_err(HostError::from)?;
    Ok(Route {
        device: route.device,
        source: route.source,
        is_local: route.is_local,
    })
}

/// The addresses of an interface, without link-local ones.
pub fn addresses(device: &str) -> Result<Vec<IpAddr>, Refusal> {
    bitcost_host::check_device(device)?;
    let mut rtnl = Rtnl::open().map_err(HostError::from)?;
    let index = rtnl.link(device).map_err(HostError::from)?.index;
    Ok(rtnl.addresses(index).map_err(HostError::from)?)
}

/// The kernel threads that handle what `device` received, as `/proc` numbers them; absent where the
/// kernel does not report them.
pub fn napi_threads(device: &str) -> Option<Vec<u32>> {
    let index = Rtnl::open().ok()?.link(device).ok()?.index;
    let napis = bitcost_sys::netlink::napis(index).ok()??;
    let reported = |napi: &Napi| napi.thread_pid.filter(|pid| *pid != 0);
    let of_machine = is_proc_of_another_namespace();
    let threads = napis.iter().filter_map(|napi| match reported(napi) {
        None if of_machine => thread_named(&format!("napi/{device}-{}", napi.id)),
        reported => reported,
    });
    Some(threads.collect())
}

/// Whether `/proc` is that of another PID namespace than this process's, as in a node of a running
/// lab: the kernel then reports no process ids of its threads.
pub fn is_proc_of_another_namespace() -> bool {
    bitcost_sys::process::id_in_proc().is_ok_and(|id| id != std::process::id())
}

/// The process in `/proc` with this name, which is unique among the kernel's NAPI threads.
fn thread_named(name: &str) -> Option<u32> {
    let mut ids = programs::processes().into_iter();
    ids.find(|id| programs::name_of(*id).as_deref() == Some(name))
}
