//! Addresses and routes as the kernel lists them, in a form in which they can be restored
//! (rtnetlink(7)).

use std::net::IpAddr;

use libc::{
    IFA_ADDRESS, IFA_BROADCAST, IFA_CACHEINFO, IFA_F_TEMPORARY, IFA_FLAGS, IFA_LABEL, IFA_LOCAL,
    RT_SCOPE_LINK, RTA_CACHEINFO, RTA_DST, RTA_GATEWAY, RTA_METRICS, RTA_MULTIPATH, RTA_OIF,
    RTA_PREFSRC, RTA_PRIORITY, RTA_TABLE, RTM_GETADDR, RTM_GETROUTE, RTM_NEWADDR, RTM_NEWROUTE,
};

use crate::netlink::connection::{NLM_F_APPEND, NLM_F_CREATE, NLM_F_REPLACE};
use crate::netlink::error::Error;
use crate::netlink::message::{
    AF_INET, AF_INET6, Message, Reply, address, aligned, attribute, attributes, number, text,
    u16_at, u32_at,
};
use crate::netlink::rtnl::Rtnl;

/// Flags that the kernel changes automatically: the states of duplicate address detection, and the
/// end of a preferred lifetime.
const IFA_F_OF_KERNEL: u32 = 0x04 | 0x08 | 0x20 | 0x40;
const FOREVER: u32 = u32::MAX;

const RTA_EXPIRES: u16 = 23;
const RTAX_LOCK: u16 = 1;
const RTAX_MTU: u16 = 2;
/// The flags of a next hop that a request may have. The kernel sets the others.
const RTNH_F_ASKED: u8 = 0x02 | 0x04;
/// Ticks per second in lifetimes that the kernel reports (USER_HZ).
const TICKS_PER_SECOND: u32 = 100;

/// An address of a link with its attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressRecord {
    /// The number of its link.
    pub link: u32,
    /// The address.
    pub address: IpAddr,
    /// The length of its network's prefix.
    pub prefix_length: u8,
    /// How far it is valid (`RT_SCOPE_…`).
    pub scope: u8,
    /// Its flags (`IFA_F_…`), without those that the kernel changes automatically.
    pub flags: u32,
    /// Whether its lifetime is unlimited.
    pub is_forever: bool,
    /// The peer's address, the broadcast address and the label, if it has them.
    pub others: Vec<String>,
    message: Vec<u8>,
}

impl AddressRecord {
    /// Whether the kernel made it temporarily, so that it changes without any request.
    pub fn is_temporary(&self) -> bool {
        // For IPv4 the same bit means a secondary address.
        self.address.is_ipv6() && self.flags & IFA_F_TEMPORARY != 0
    }
}

/// A route with its attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteRecord {
    /// Whether it is one of IPv6.
    pub is_ipv6: bool,
    /// Its destination; `None` for the default route.
    pub destination: Option<IpAddr>,
    /// The length of the destination's prefix.
    pub prefix_length: u8,
    /// The number of its table.
    pub table: u32,
    /// Its metric: the least one is used.
    pub priority: u32,
    /// Its type (`RTN_…`): 1 is an ordinary route.
    pub kind: u8,
    /// Its origin (`RTPROT_…`).
    pub protocol: u8,
    /// The interface indexes that packets leave by.
    pub links: Vec<u32>,
    /// The gateway.
    pub gateway: Option<IpAddr>,
    /// The source address of packets.
    pub source: Option<IpAddr>,
    /// Its own MTU, in bytes.
    pub mtu_bytes: Option<u32>,
    /// Whether the MTU is locked against changes of the kernel.
    pub is_mtu_locked: bool,
    /// Its remaining lifetime in seconds; `None` if unlimited.
    pub expires_s: Option<u32>,
    listed: Vec<u8>,
}

impl RouteRecord {
    /// A request for this route as it was listed, without what only the kernel sets, and with this MTU.
    fn request(&self, flags: u16, mtu_bytes: Option<u32>) -> Message {
        let mut header = self.listed[..12].to_vec();
        let asked = u32_at(&header, 8).unwrap_or(0) & u32::from(RTNH_F_ASKED);
        header[8..].copy_from_slice(&asked.to_ne_bytes());
        let mut message = Message::new(RTM_NEWROUTE, flags, &header);
        let mut metrics = Vec::new();
        for (kind, value) in attributes(&self.listed[12..]) {
            match kind {
                RTA_CACHEINFO | RTA_EXPIRES => {}
                RTA_METRICS => {
                    metrics.extend(attributes(value).filter(|(kind, _)| *kind != RTAX_MTU))
                }
                RTA_MULTIPATH => message = message.attribute(kind, &askable_hops(value)),
                _ => message = message.attribute(kind, value),
            }
        }
        let mtu = mtu_bytes.map(u32::to_ne_bytes);
        metrics.extend(mtu.iter().map(|mtu| (RTAX_MTU, &mtu[..])));
        if metrics.is_empty() {
            return message;
        }
        message.nested(RTA_METRICS, |nest| {
            let add = |nest: Message, (kind, value)| nest.attribute(kind, value);
            metrics.into_iter().fold(nest, add)
        })
    }
}

impl Rtnl {
    /// Every address of this namespace.
    pub fn address_records(&mut self) -> Result<Vec<AddressRecord>, Error> {
        let answer = self
            .connection
            .dump("list the addresses", Message::new(RTM_GETADDR, 0, &[0; 8]))?;
        Ok(answer.iter().filter_map(read_address).collect())
    }

    /// The addresses of a link, without those of link scope.
    pub fn addresses(&mut self, index: u32) -> Result<Vec<IpAddr>, Error> {
        let of_link = |record: &AddressRecord| record.link == index && record.scope < RT_SCOPE_LINK;
        let records = self.address_records()?.into_iter().filter(of_link);
        Ok(records.map(|record| record.address).collect())
    }

    /// Adds an address to its link, as it was listed.
    pub fn add_address_again(&mut self, record: &AddressRecord) -> Result<(), Error> {
        let message = Message::new(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, &record.message);
        let AddressRecord {
            address,
            prefix_length,
            link,
            ..
        } = record;
        let asked = |name: &str| format!("give {name} the address {address}/{prefix_length}");
        self.request_of(*link, message, asked)
    }

    /// Every route of this namespace, without those that the kernel keeps for local addresses.
    pub fn route_records(&mut self) -> Result<Vec<RouteRecord>, Error> {
        let answer = self
            .connection
            .dump("list the routes", Message::new(RTM_GETROUTE, 0, &[0; 12]))?;
        let routes = answer.iter().filter_map(read_route_record);
        Ok(routes
            .filter(|route| !OF_KERNEL.contains(&route.kind))
            .collect())
    }

    /// Replaces an existing route as it was listed, with this MTU. One with a lifetime, such as
    /// from a router advertisement, keeps it.
    ///
    /// For IPv6 the kernel replaces any route with the same destination, table and metric.
    pub fn replace_route(
        &mut self,
        record: &RouteRecord,
        mtu_bytes: Option<u32>,
    ) -> Result<(), Error> {
        let Some(seconds) = record.expires_s else {
            let message = record.request(NLM_F_CREATE | NLM_F_REPLACE, mtu_bytes);
            return self.recreate(record, message);
        };
        let message = record.request(NLM_F_CREATE, mtu_bytes);
        match self.recreate(record, message.attribute_u32(RTA_EXPIRES, seconds)) {
            // The kernel updates lifetime and MTU of an existing route, and reports that it exists.
            Err(error) if error.errno() == Some(libc::EEXIST) => Ok(()),
            outcome => outcome,
        }
    }

    /// Adds a route that is gone, as it was listed, in addition to others to the same destination.
    pub fn add_route_again(&mut self, record: &RouteRecord) -> Result<(), Error> {
        let append = if record.is_ipv6 { 0 } else { NLM_F_APPEND };
        self.recreate(
            record,
            record.request(NLM_F_CREATE | append, record.mtu_bytes),
        )
    }

    fn recreate(&mut self, record: &RouteRecord, message: Message) -> Result<(), Error> {
        let to = record.destination.map_or("default".to_owned(), |to| {
            format!("{to}/{}", record.prefix_length)
        });
        self.connection
            .request(&format!("recreate the route to {to}"), message)
            .map(drop)
    }
}

/// `struct ifaddrmsg`: family, prefix length, flags, scope, link; then attributes.
pub(crate) fn read_address(reply: &Reply) -> Option<AddressRecord> {
    let payload = &reply.payload;
    let (header, body) = (payload.get(..8)?, payload.get(8..)?);
    if reply.kind != RTM_NEWADDR || ![AF_INET, AF_INET6].contains(&header[0]) {
        return None;
    }
    let of = |kind| attribute(body, kind);
    let own = of(IFA_LOCAL).or(of(IFA_ADDRESS)).and_then(address)?;
    let flags = number(body, IFA_FLAGS).unwrap_or(header[2].into());
    let peer = of(IFA_ADDRESS)
        .and_then(address)
        .filter(|peer| *peer != own)
        .map(|peer| format!("peer {peer}"));
    let broadcast = of(IFA_BROADCAST)
        .and_then(address)
        .map(|to| format!("broadcast {to}"));
    let label = of(IFA_LABEL).map(|label| format!("label {}", text(label)));
    Some(AddressRecord {
        link: u32_at(payload, 4)?,
        address: own,
        prefix_length: header[1],
        scope: header[3],
        flags: flags & !IFA_F_OF_KERNEL,
        is_forever: of(IFA_CACHEINFO)
            .and_then(|value| u32_at(value, 4))
            .is_none_or(|valid| valid == FOREVER),
        others: [peer, broadcast, label].into_iter().flatten().collect(),
        message: payload.clone(),
    })
}

/// Types of routes that the kernel keeps for local addresses: local, broadcast, anycast, multicast.
const OF_KERNEL: [u8; 4] = [2, 3, 4, 5];

/// `struct rtmsg`: family, two prefix lengths, type of service, table, protocol, scope, type,
/// flags; then attributes.
pub(crate) fn read_route_record(reply: &Reply) -> Option<RouteRecord> {
    let (header, body) = (reply.payload.get(..12)?, reply.payload.get(12..)?);
    if reply.kind != RTM_NEWROUTE || ![AF_INET, AF_INET6].contains(&header[0]) {
        return None;
    }
    let of = |kind| attribute(body, kind);
    let number = |kind| number(body, kind);
    let metric = |kind| self::number(of(RTA_METRICS)?, kind);
    let hops = of(RTA_MULTIPATH).map(links_of_hops).unwrap_or_default();
    let expires = of(RTA_CACHEINFO)
        .and_then(|value| u32_at(value, 8))
        .filter(|ticks| *ticks != 0);
    Some(RouteRecord {
        is_ipv6: header[0] == AF_INET6,
        destination: of(RTA_DST).and_then(address),
        prefix_length: header[1],
        table: number(RTA_TABLE).unwrap_or(header[4].into()),
        priority: number(RTA_PRIORITY).unwrap_or(0),
        kind: header[7],
        protocol: header[5],
        links: number(RTA_OIF).into_iter().chain(hops).collect(),
        gateway: of(RTA_GATEWAY).and_then(address),
        source: of(RTA_PREFSRC).and_then(address),
        mtu_bytes: metric(RTAX_MTU),
        is_mtu_locked: metric(RTAX_LOCK).is_some_and(|locks| locks & (1 << RTAX_MTU) != 0),
        expires_s: expires.map(|ticks| ticks / TICKS_PER_SECOND),
        listed: reply.payload.clone(),
    })
}

/// `struct rtnexthop`: length, flags, weight, link; then attributes.
fn links_of_hops(mut hops: &[u8]) -> Vec<u32> {
    let mut links = Vec::new();
    while let (Some(length), Some(link)) = (u16_at(hops, 0), u32_at(hops, 4)) {
        links.push(link);
        hops = hops
            .get(aligned(usize::from(length).max(8))..)
            .unwrap_or(&[]);
    }
    links
}

/// The next hops of a route as a request for them.
fn askable_hops(hops: &[u8]) -> Vec<u8> {
    let (mut bytes, mut at) = (hops.to_vec(), 0);
    while let Some(length) = u16_at(&bytes, at).filter(|_| bytes.len() >= at + 8) {
        bytes[at + 2] &= RTNH_F_ASKED;
        at += aligned(usize::from(length).max(8));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::message::replies;

    /// A route as the kernel lists it: fd01::/64 by link 7 with hop limit 9 and an MTU, whose
    /// carrier is down.
    fn listed(mtu: u32) -> Reply {
        let mut header = vec![AF_INET6, 64, 0, 0, 254, 4, 0, 1];
        header.extend(16u32.to_ne_bytes());
        let destination: [u8; 16] = "fd01::"
            .parse::<std::net::Ipv6Addr>()
            .expect("an address")
            .octets();
        let message = Message::new(RTM_NEWROUTE, 0, &header)
            .attribute(RTA_DST, &destination)
            .attribute_u32(RTA_OIF, 7)
            .nested(RTA_METRICS, |nest| {
                nest.attribute_u32(RTAX_MTU, mtu).attribute_u32(10, 9)
            })
            .attribute(RTA_CACHEINFO, &[0; 32]);
        replies(&message.finish(0, 0).expect("it is short")).remove(0)
    }

    #[test]
    fn route_is_requested_as_listed_without_fields_of_the_kernel() {
        let record = read_route_record(&listed(2000)).expect("a route");
        assert_eq!(
            (record.mtu_bytes, record.links.as_slice(), record.table),
            (Some(2000), &[7][..], 254)
        );
        for mtu in [Some(1500), None] {
            let again = record.request(0, mtu);
            let reply = replies(&again.finish(0, 0).expect("it is short")).remove(0);
            assert_eq!(
                reply.payload[8..12],
                [0; 4],
                "a request has no carrier flags"
            );
            assert_eq!(attribute(&reply.payload[12..], RTA_CACHEINFO), None);
            let metrics = attribute(&reply.payload[12..], RTA_METRICS).expect("metrics");
            assert_eq!(attribute(metrics, 10), Some(&9u32.to_ne_bytes()[..]));
            let read = read_route_record(&reply).expect("a route");
            assert_eq!(
                (read.mtu_bytes, read.destination),
                (mtu, record.destination)
            );
        }
    }

    #[test]
    fn truncated_records_are_left_out() {
        let whole = listed(2000).payload;
        for length in 0..whole.len() {
            let reply = Reply {
                kind: RTM_NEWROUTE,
                flags: 0,
                sequence: 0,
                payload: whole[..length].to_vec(),
            };
            assert!(
                read_route_record(&reply).is_none_or(|route| route.is_ipv6),
                "{length}"
            );
        }
        assert_eq!(links_of_hops(&[0; 9]), [0]);
        assert_eq!(
            askable_hops(&[4, 0, 255, 0, 1, 0, 0, 0]),
            [4, 0, 6, 0, 1, 0, 0, 0]
        );
    }
}
