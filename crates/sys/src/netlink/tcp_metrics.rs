//! Metrics that the kernel caches of former TCP connections to an address, and uses at the start of
//! the next one (`ip tcp_metrics`).
//!
//! Source: include/uapi/linux/tcp_metrics.h, tcp_init_metrics in net/ipv4/tcp_metrics.c.

use std::net::IpAddr;

use crate::netlink::error::Error;
use crate::netlink::generic::{Family, body};
use crate::netlink::message::{Reply, address, attribute, bytes_of, number};

const GET: u8 = 1;
const DELETE: u8 = 2;
const ADDR_IPV4: u16 = 1;
const ADDR_IPV6: u16 = 2;
const VALUES: u16 = 6;
/// Numbers of the values: their attribute is one more.
const RTT_US: u16 = 5;
const SSTHRESH: u16 = 2;
const CWND: u16 = 3;
const REORDERING: u16 = 4;

/// The cached metrics of one address. A value that is not cached is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerMetrics {
    /// The address.
    pub address: IpAddr,
    /// The smoothed round-trip time, in microseconds.
    pub rtt_us: Option<u32>,
    /// The slow start threshold, in segments.
    pub ssthresh: Option<u32>,
    /// The congestion window, in segments.
    pub cwnd: Option<u32>,
    /// The reordering of segments, in segments.
    pub reordering: Option<u32>,
}

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

    /// All cached metrics of this namespace.
    pub fn all(&mut self) -> Result<Vec<PeerMetrics>, Error> {
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

fn read(reply: &Reply) -> Option<PeerMetrics> {
    let all = body(reply);
    let value = |place: u16| number(attribute(all, VALUES)?, place + 1);
    Some(PeerMetrics {
        address: address(attribute(all, ADDR_IPV4).or(attribute(all, ADDR_IPV6))?)?,
        rtt_us: value(RTT_US),
        ssthresh: value(SSTHRESH),
        cwnd: value(CWND),
        reordering: value(REORDERING),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::message::{Message, replies};

    #[test]
    fn entry_is_read_and_a_truncated_one_has_no_values() {
        let message = Message::new(30, 0, &[1, 1, 0, 0])
            .attribute(ADDR_IPV4, &[10, 0, 0, 2])
            .nested(VALUES, |nest| {
                nest.attribute_u32(RTT_US + 1, 1234)
                    .attribute_u32(REORDERING + 1, 5)
            });
        let reply = replies(&message.finish(0, 0).expect("it is short")).remove(0);
        let address = IpAddr::from([10, 0, 0, 2]);
        let expected = PeerMetrics {
            address,
            rtt_us: Some(1234),
            ssthresh: None,
            cwnd: None,
            reordering: Some(5),
        };
        assert_eq!(read(&reply), Some(expected.clone()));
        let cut = Reply {
            payload: reply.payload[..12].to_vec(),
            ..reply
        };
        assert_eq!(
            read(&cut),
            Some(PeerMetrics {
                rtt_us: None,
                reordering: None,
                ..expected
            })
        );
    }
}
