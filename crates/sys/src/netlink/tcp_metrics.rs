//! Metrics that the kernel caches of former TCP connections to an address, and uses at the start of
//! the next one (`ip tcp_metrics`).
//!
//! Source: include/uapi/linux/tcp_metrics.h, tcp_init_metrics in net/ipv4/tcp_metrics.c.

use std::net::IpAddr;

use crate::netlink::error::Error;
use crate::netlink::generic::{Family, body};
use crate::netlink::message::{Reply, address, attribute, bytes_of};

const GET: u8 = 1;
const DELETE: u8 = 2;
const ADDR_IPV4: u16 = 1;
const ADDR_IPV6: u16 = 2;

/// A connection to the kernel's family "tcp_metrics".
#[derive(Debug)]
pub struct TcpMetrics {
    family: Family,
}

impl TcpMetrics {
    /// Opens a connection in the calling thread's network namespace; `None` if the kernel has no
    /// cache.
    pub fn open() -> Result<Option<Self>, Error> {
        Ok(Family::open("tcp_metrics")?.map(|family| Self { family }))
    }

    /// The addresses whose metrics are cached in this namespace.
    pub fn addresses(&mut self) -> Result<Vec<IpAddr>, Error> {
        let answer = self
            .family
            .dump("list the cached TCP metrics", self.family.command(GET))?;
        Ok(answer.iter().filter_map(read).collect())
    }

    /// Removes the cached metrics of an address. `EPERM` without `CAP_NET_ADMIN` of the whole
    /// machine.
    pub fn forget(&mut self, address: IpAddr) -> Result<(), Error> {
        let kind = if address.is_ipv4() {
            ADDR_IPV4
        } else {
            ADDR_IPV6
        };
        let message = self
            .family
            .command(DELETE)
            .attribute(kind, &bytes_of(address).1);
        let asked = format!("remove the cached TCP metrics of {address}");
        match self.family.request(&asked, message) {
            Err(error) if error.errno() == Some(libc::ESRCH) => Ok(()),
            outcome => outcome.map(drop),
        }
    }
}

fn read(reply: &Reply) -> Option<IpAddr> {
    let of = |kind| attribute(body(reply), kind);
    address(of(ADDR_IPV4).or(of(ADDR_IPV6))?)
}
