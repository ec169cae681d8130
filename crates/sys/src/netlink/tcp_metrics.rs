//! Metrics that the kernel caches of former TCP connections to an address, and uses at the start of
//! the next one (`ip tcp_metrics`).
//!
//! Source: include/uapi/linux/tcp_metrics.h, tcp_init_metrics in net/ipv4/tcp_metrics.c.

use std::net::IpAddr;

use crate::netlink::error::Error;
use crate::netlink::generic::{Family, body};
use crate::netlink::message::{Reply, address, attribute, bytes_of};

const FAMILY: &str = "tcp_metrics";
const GET: u8 = 1;
const DELETE: u8 = 2;
const ADDR_IPV4: u16 = 1;
const ADDR_IPV6: u16 = 2;

/// The addresses whose metrics are cached in the calling thread's network namespace; `None` if the kernel has no cache.
pub fn cached_metrics() -> Result<Option<Vec<IpAddr>>, Error> {
    let Some(mut family) = Family::open(FAMILY)? else {
        return Ok(None);
    };
    let asked = "list the cached TCP metrics";
    let answer = family.connection.dump(asked, family.command(GET))?;
    Ok(Some(answer.iter().filter_map(read).collect()))
}

/// Removes the cached metrics of an address. `EPERM` without `CAP_NET_ADMIN` of the whole machine, `ESRCH` where there are
/// none.
pub fn forget_metrics(address: IpAddr) -> Result<(), Error> {
    let Some(mut family) = Family::open(FAMILY)? else {
        return Ok(());
    };
    let kind = match address {
        IpAddr::V4(_) => ADDR_IPV4,
        IpAddr::V6(_) => ADDR_IPV6,
    };
    let message = family.command(DELETE);
    let message = message.attribute(kind, &bytes_of(address).1);
    let asked = format!("remove the cached TCP metrics of {address}");
    family.connection.request(&asked, message).map(drop)
}

fn read(reply: &Reply) -> Option<IpAddr> {
    let of = |kind| attribute(body(reply), kind);
    address(of(ADDR_IPV4).or(of(ADDR_IPV6))?)
}
