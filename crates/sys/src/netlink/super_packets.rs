//! The limits of a link for super-packets (linux/if_link.h): how many segments and bytes GSO and
//! TSO may put into a packet that is sent, and how many bytes GRO into one that is received.

use std::collections::BTreeMap;

use libc::{IFLA_IFNAME, RTM_GETLINK, RTM_NEWLINK};

use crate::netlink::error::Error;
use crate::netlink::message::{Message, attributes, u32_at};
use crate::netlink::rtnl::{Rtnl, link_header};

/// A limit of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Segments of a packet that is sent; reported since Linux 4.4, settable since 4.16.
    GsoSegments,
    /// Bytes of a packet that is sent, with headers. A value of at most 65536 also becomes
    /// [`Limit::GsoIpv4Size`]; in kernels without that, IPv4 has this one up to 65536.
    GsoSize,
    /// The same for IPv4, since Linux 6.3.
    GsoIpv4Size,
    /// Bytes of a received packet that GRO merged, since Linux 5.17. A value of at most 65536 also
    /// becomes [`Limit::GroIpv4Size`].
    GroSize,
    /// The same for IPv4, since Linux 6.3.
    GroIpv4Size,
    /// The largest [`Limit::GsoSize`] that the device allows, since Linux 5.19; cannot be set.
    TsoSize,
    /// The largest [`Limit::GsoSegments`] that the device allows, since Linux 5.19; cannot be set.
    TsoSegments,
}

/// Every limit with its attribute and the name that ip-link(8) has for it.
const LIMITS: [(Limit, u16, &str); 7] = [
    (Limit::GsoSegments, 40, "gso_max_segs"),
    (Limit::GsoSize, 41, "gso_max_size"),
    (Limit::GsoIpv4Size, 63, "gso_ipv4_max_size"),
    (Limit::GroSize, 58, "gro_max_size"),
    (Limit::GroIpv4Size, 64, "gro_ipv4_max_size"),
    (Limit::TsoSize, 59, "tso_max_size"),
    (Limit::TsoSegments, 60, "tso_max_segs"),
];

impl Limit {
    fn row(self) -> (Limit, u16, &'static str) {
        let row = LIMITS.into_iter().find(|row| row.0 == self);
        row.unwrap_or(LIMITS[0])
    }

    /// Its name in ip-link(8), such as "gso_max_segs".
    pub fn name(self) -> &'static str {
        self.row().2
    }
}

impl Rtnl {
    /// The limits of a link that this kernel reports. `ENODEV` when there is no such link.
    pub fn limits(&mut self, name: &str) -> Result<BTreeMap<Limit, u32>, Error> {
        let message =
            Message::new(RTM_GETLINK, 0, &link_header(0, 0, 0)).attribute_text(IFLA_IFNAME, name);
        let asked = format!("read the limits of \"{name}\" for super-packets");
        let answer = self.connection.request(&asked, message)?;
        let reply = answer.iter().find(|reply| reply.kind == RTM_NEWLINK);
        let all = reply.and_then(|reply| reply.payload.get(16..));
        let all = all.ok_or_else(|| Error::malformed(asked, "no link in the answer"))?;
        let limit = |(kind, value): (u16, &[u8])| {
            let row = LIMITS.into_iter().find(|row| row.1 == kind)?;
            Some((row.0, u32_at(value, 0)?))
        };
        Ok(attributes(all).filter_map(limit).collect())
    }

    /// Sets limits of a link, in one message. A kernel that does not know one of them ignores it:
    /// read the limits afterwards. `EINVAL` or `ERANGE` when a value is not allowed.
    pub fn set_limits(&mut self, index: u32, limits: &[(Limit, u32)]) -> Result<(), Error> {
        let header = link_header(index, 0, 0);
        let message = limits.iter().fold(
            Message::new(RTM_NEWLINK, 0, &header),
            |message, (limit, value)| message.attribute_u32(limit.row().1, *value),
        );
        let values: Vec<String> = limits
            .iter()
            .map(|(limit, value)| format!("{} to {value}", limit.name()))
            .collect();
        self.request_of(index, message, |link| {
            format!("set {} of {link}", values.join(" and "))
        })
    }
}
