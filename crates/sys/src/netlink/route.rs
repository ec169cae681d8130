//! Routes: looking up the route to an address, and adding routes (rtnetlink(7)).

use std::net::IpAddr;

use libc::{
    RT_SCOPE_LINK, RT_SCOPE_UNIVERSE, RT_TABLE_MAIN, RTA_DST, RTA_GATEWAY, RTA_OIF, RTM_GETROUTE,
    RTM_NEWROUTE, RTN_LOCAL, RTN_UNICAST, RTPROT_STATIC,
};

use crate::netlink::connection::{NLM_F_CREATE, NLM_F_EXCL};
use crate::netlink::error::Error;
use crate::netlink::message::{Message, bytes_of};
use crate::netlink::records::read_route_record;
use crate::netlink::rtnl::{Link, Rtnl};

/// The route of packets to one address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The link that they leave by: loopback for an address of this host, although for IPv6 the kernel
    /// may report the link that has the address; for one of one link that link.
    pub device: String,
    /// Their source address if the socket is not bound to one.
    pub source: IpAddr,
    /// Whether the address is one of this host.
    pub is_local: bool,
}

impl Rtnl {
    /// The route to an address by this link, or by any where it is 0. `ENETUNREACH` when there is none.
    pub fn route(&mut self, to: IpAddr, link: u32) -> Result<Route, Error> {
        let (family, bytes) = bytes_of(to);
        // `struct rtmsg`: family, length of the destination's prefix, and nothing else.
        let mut header = [0; 12];
        header[..2].copy_from_slice(&[family, bytes.len() as u8 * 8]);
        let asked = format!("find the route to {to}");
        let answer = self.connection.request(
            &asked,
            Message::new(RTM_GETROUTE, 0, &header)
                .attribute(RTA_DST, &bytes)
                .attribute_u32(RTA_OIF, link),
        )?;
        let detail = "no link or no source address in the answer";
        let route = answer.iter().find_map(read_route_record);
        let own = self.address_records()?.into_iter();
        let mut of_link = own.filter(|own| own.address == to && own.scope == RT_SCOPE_LINK);
        let owner = of_link.find(|own| own.address.is_ipv6() && [0, own.link].contains(&link));
        let links = self.links()?.into_iter();
        let found = route.and_then(|route| {
            let is_local = route.kind == RTN_LOCAL;
            let leads = |link: &Link| match (is_local, &owner) {
                (true, Some(owner)) => link.index == owner.link,
                (true, None) => link.is_loopback(),
                (false, _) => route.links.contains(&link.index),
            };
            Some(Route {
                device: links.filter(leads).map(|link| link.name).next()?,
                source: route.source?,
                is_local,
            })
        });
        found.ok_or_else(|| Error::malformed(asked, detail))
    }

    /// Adds the route to a network over a gateway. `EEXIST` when there is one, `ENETUNREACH` when
    /// `via` is not reachable.
    pub fn add_route(&mut self, to: IpAddr, prefix_length: u8, via: IpAddr) -> Result<(), Error> {
        let (family, bytes) = bytes_of(to);
        let own = [RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_UNIVERSE, RTN_UNICAST];
        let header: Vec<u8> = [family, prefix_length, 0, 0]
            .into_iter()
            .chain(own)
            .chain([0; 4])
            .collect();
        let mut message = Message::new(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &header);
        if prefix_length > 0 {
            message = message.attribute(RTA_DST, &bytes);
        }
        let message = message.attribute(RTA_GATEWAY, &bytes_of(via).1);
        let asked = format!("add the route to {to}/{prefix_length} by {via}");
        self.connection.request(&asked, message).map(drop)
    }
}
