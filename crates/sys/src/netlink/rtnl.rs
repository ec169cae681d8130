//! Links and addresses (rtnetlink(7)).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{
    IFA_ADDRESS, IFA_LOCAL, IFLA_IFNAME, IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINK,
    IFLA_LINK_NETNSID, IFLA_LINKINFO, IFLA_MASTER, IFLA_MAX_MTU, IFLA_MTU, IFLA_NET_NS_FD,
    RTM_GETLINK, RTM_NEWADDR, RTM_NEWLINK,
};

use crate::netlink::connection::{Connection, NLM_F_CREATE, NLM_F_EXCL};
use crate::netlink::error::Error;
use crate::netlink::message::{Message, Reply, attribute, attributes, bytes_of, text, u32_at};

const VETH_INFO_PEER: u16 = 1;

const IFA_F_NODAD: u8 = 0x02;

/// The flag of [`Link::flags`] of a link that is up.
const IFF_UP: u32 = 0x1;

/// The flag of [`Link::flags`] of a link that is operational (RFC 2863).
const IFF_RUNNING: u32 = 0x40;
const IFF_LOWER_UP: u32 = 0x1_0000;

const IFF_LOOPBACK: u32 = 0x8;

const MTU: &str = "mtu";

/// Numbers of a link by their names in ip-link(8), with their attributes (linux/if_link.h): the largest packet, since Linux
/// 4.19 with the largest that its driver allows; segments (4.16) and bytes of a packet that GSO makes, bytes of one that GRO
/// makes (5.17), those of IPv4 separately (6.3), and what the device allows (5.19).
const NUMBERS: [(&str, u16); 9] = [
    (MTU, IFLA_MTU),
    ("max_mtu", IFLA_MAX_MTU),
    ("gso_max_segs", 40),
    ("gso_max_size", 41),
    ("gso_ipv4_max_size", 63),
    ("gro_max_size", 58),
    ("gro_ipv4_max_size", 64),
    ("tso_max_size", 59),
    ("tso_max_segs", 60),
];

/// A pair of virtual Ethernet devices to create.
#[derive(Debug, Clone, Copy)]
pub struct VethPair<'a> {
    /// The name of the device in the connection's namespace.
    pub name: &'a str,
    /// The name of the peer.
    pub peer_name: &'a str,
    /// The namespace of the peer, by a file descriptor that refers to it; `None` for the same one.
    pub peer_netns: Option<BorrowedFd<'a>>,
    /// The MTU of both devices, in bytes.
    pub mtu_bytes: u32,
}

/// A network device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its interface index in its namespace.
    pub index: u32,
    /// Its name in its namespace.
    pub name: String,
    /// Its MTU in bytes.
    pub mtu_bytes: u32,
    /// The numbers that this kernel reports, by its names: [`Rtnl::set_numbers`].
    pub numbers: BTreeMap<&'static str, u32>,
    /// Its flags, such as `IFF_UP` (netdevice(7)).
    pub flags: u32,
    /// The kind of a virtual device, such as "veth"; `None` for hardware and loopback.
    pub kind: Option<String>,
    /// The interface index of the link below it (of a macvlan, a VLAN, a tunnel) or of its peer (of
    /// a veth), in this namespace.
    pub lower: Option<u32>,
    /// The interface index of the bridge or bond that it is a port of.
    pub master: Option<u32>,
}

impl Link {
    /// Whether the link is up and has a carrier: the driver says so at once, and the kernel sends when it has noticed.
    pub fn is_running(&self) -> bool {
        let both = IFF_RUNNING | IFF_LOWER_UP;
        self.flags & both == both
    }

    /// Whether the link is loopback.
    pub fn is_loopback(&self) -> bool {
        self.flags & IFF_LOOPBACK != 0
    }
}

/// A connection to rtnetlink.
#[derive(Debug)]
pub struct Rtnl {
    pub(crate) connection: Connection,
}

impl Rtnl {
    /// Opens a connection in the calling thread's network namespace.
    pub fn open() -> Result<Self, Error> {
        let connection = Connection::open(None)?;
        Ok(Self { connection })
    }

    /// Sends a request about a link. If it fails, the link's name is read for the error.
    pub(crate) fn request_of(
        &mut self,
        index: u32,
        message: Message,
        asked: impl Fn(&str) -> String,
    ) -> Result<(), Error> {
        let answer = self.connection.request("", message).map(drop);
        answer.map_err(|error| error.asking(asked(&self.name(index))))
    }

    /// As [`Rtnl::request_of`], for a list.
    pub(crate) fn list_of(
        &mut self,
        index: u32,
        message: Message,
        asked: impl Fn(&str) -> String,
    ) -> Result<Vec<Reply>, Error> {
        let answer = self.connection.dump("", message);
        answer.map_err(|error| error.asking(asked(&self.name(index))))
    }

    /// The name of a link, or its interface index if it has none here.
    pub(crate) fn name(&mut self, index: u32) -> String {
        let links = self.links().unwrap_or_default();
        let link = links.into_iter().find(|link| link.index == index);
        link.map_or_else(|| format!("link {index}"), |link| link.name)
    }

    /// Creates a veth pair. `EOPNOTSUPP` when the kernel has no veth, `EEXIST` when a name is
    /// taken.
    pub fn create_veth(&mut self, pair: &VethPair<'_>) -> Result<(), Error> {
        let flags = NLM_F_CREATE | NLM_F_EXCL;
        let message = Message::new(RTM_NEWLINK, flags, &link_header(0, 0, 0))
            .attribute_text(IFLA_IFNAME, pair.name)
            .attribute_u32(IFLA_MTU, pair.mtu_bytes)
            .nested(IFLA_LINKINFO, |info| {
                info.attribute_text(IFLA_INFO_KIND, "veth")
                    .nested(IFLA_INFO_DATA, |data| {
                        data.nested(VETH_INFO_PEER, |peer| describe_peer(peer, pair))
                    })
            });
        let VethPair {
            name,
            peer_name,
            mtu_bytes,
            ..
        } = pair;
        let asked =
            format!("make the veth pair {name} and {peer_name} with an MTU of {mtu_bytes} bytes");
        self.connection.request(&asked, message).map(drop)
    }

    /// Creates a bridge without spanning tree. `EOPNOTSUPP` when the kernel has no bridges.
    pub fn create_bridge(&mut self, name: &str) -> Result<(), Error> {
        let message = Message::new(
            RTM_NEWLINK,
            NLM_F_CREATE | NLM_F_EXCL,
            &link_header(0, 0, 0),
        )
        .attribute_text(IFLA_IFNAME, name)
        .nested(IFLA_LINKINFO, |info| {
            info.attribute_text(IFLA_INFO_KIND, "bridge")
        });
        self.connection
            .request(&format!("make the bridge {name}"), message)
            .map(drop)
    }

    /// Makes a link a port of a bridge.
    pub fn set_master(&mut self, index: u32, bridge: u32) -> Result<(), Error> {
        let message = Message::new(RTM_NEWLINK, 0, &link_header(index, 0, 0))
            .attribute_u32(IFLA_MASTER, bridge);
        let answer = self.connection.request("", message).map(drop);
        answer.map_err(|error| {
            let (link, bridge) = (self.name(index), self.name(bridge));
            error.asking(format!("make {link} a port of the bridge {bridge}"))
        })
    }

    /// Sets a link up or down.
    pub fn set_up(&mut self, index: u32, up: bool) -> Result<(), Error> {
        let flags = if up { IFF_UP } else { 0 };
        let message = Message::new(RTM_NEWLINK, 0, &link_header(index, flags, IFF_UP));
        let state = if up { "up" } else { "down" };
        self.request_of(index, message, |link| format!("set {link} {state}"))
    }

    /// Sets the flags of a link that are in `change` to what they are in `flags` (netdevice(7)).
    pub fn set_flags(&mut self, index: u32, flags: u32, change: u32) -> Result<(), Error> {
        let message = Message::new(RTM_NEWLINK, 0, &link_header(index, flags, change));
        self.request_of(index, message, |link| {
            format!("set the flags {change:#x} of {link} to {flags:#x}")
        })
    }

    /// Sets the MTU of a link, in bytes. `EINVAL` when the device cannot have it.
    pub fn set_mtu(&mut self, index: u32, mtu_bytes: u32) -> Result<(), Error> {
        self.set_numbers(index, &[(MTU, mtu_bytes)])
    }

    /// Sets numbers of a link, by the kernel's names, in one message. A kernel that does not know one of them ignores it:
    /// read them back. `EINVAL` or `ERANGE` when a value is not allowed.
    pub fn set_numbers(&mut self, index: u32, numbers: &[(&str, u32)]) -> Result<(), Error> {
        let mut message = Message::new(RTM_NEWLINK, 0, &link_header(index, 0, 0));
        for (name, value) in numbers {
            if let Some((_, kind)) = NUMBERS.iter().find(|(known, _)| known == name) {
                message = message.attribute_u32(*kind, *value);
            }
        }
        let values = numbers
            .iter()
            .map(|(name, value)| format!("{name} to {value}"));
        let values = values.collect::<Vec<_>>().join(" and ");
        self.request_of(index, message, |link| format!("set {values} of {link}"))
    }

    /// Adds an address to a link. `EEXIST` when it has it already.
    ///
    /// IPv6 addresses are added without duplicate address detection, so that they are usable at
    /// once.
    pub fn add_address(
        &mut self,
        index: u32,
        address: IpAddr,
        prefix_length: u8,
    ) -> Result<(), Error> {
        let (family, bytes) = bytes_of(address);
        let flags = if address.is_ipv6() { IFA_F_NODAD } else { 0 };
        let mut header = vec![family, prefix_length, flags, 0];
        header.extend_from_slice(&index.to_ne_bytes());
        let message = Message::new(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &header)
            .attribute(IFA_LOCAL, &bytes)
            .attribute(IFA_ADDRESS, &bytes);
        let asked = |link: &str| format!("give {link} the address {address}/{prefix_length}");
        self.request_of(index, message, asked)
    }

    /// The link with this name. `ENODEV` when there is none in this namespace.
    pub fn link(&mut self, name: &str) -> Result<Link, Error> {
        let message =
            Message::new(RTM_GETLINK, 0, &link_header(0, 0, 0)).attribute_text(IFLA_IFNAME, name);
        let asked = format!("read link \"{name}\"");
        let answer = self.connection.request(&asked, message)?;
        let link = answer.iter().find_map(read_link);
        link.ok_or_else(|| Error::malformed(asked, "no link in the answer"))
    }

    /// All links of this namespace.
    pub fn links(&mut self) -> Result<Vec<Link>, Error> {
        let message = Message::new(RTM_GETLINK, 0, &link_header(0, 0, 0));
        let answer = self.connection.dump("list the links", message)?;
        Ok(answer.iter().filter_map(read_link).collect())
    }
}

/// The names of all devices in the caller's network namespace; empty if they cannot be listed.
pub fn devices() -> Vec<String> {
    let links = Rtnl::open()
        .and_then(|mut rtnl| rtnl.links())
        .unwrap_or_default();
    links.into_iter().map(|link| link.name).collect()
}

fn describe_peer(peer: Message, pair: &VethPair<'_>) -> Message {
    let peer = peer
        .raw(&link_header(0, 0, 0))
        .attribute_text(IFLA_IFNAME, pair.peer_name)
        .attribute_u32(IFLA_MTU, pair.mtu_bytes);
    match pair.peer_netns {
        None => peer,
        Some(fd) => peer.attribute(IFLA_NET_NS_FD, &fd.as_raw_fd().to_ne_bytes()),
    }
}

/// `struct ifinfomsg`.
pub(crate) fn link_header(index: u32, flags: u32, change: u32) -> Vec<u8> {
    let mut header = vec![0; 4];
    for word in [index, flags, change] {
        header.extend_from_slice(&word.to_ne_bytes());
    }
    header
}

pub(crate) fn read_link(reply: &Reply) -> Option<Link> {
    if reply.kind != RTM_NEWLINK {
        return None;
    }
    let mut link = Link {
        index: u32_at(&reply.payload, 4)?,
        name: String::new(),
        mtu_bytes: 0,
        numbers: BTreeMap::new(),
        flags: u32_at(&reply.payload, 8)?,
        kind: None,
        lower: None,
        master: None,
    };
    let all = reply.payload.get(16..)?;
    for (kind, value) in attributes(all) {
        match kind {
            IFLA_IFNAME => link.name = text(value),
            // The index of a link in another namespace means nothing here.
            IFLA_LINK => {
                link.lower =
                    u32_at(value, 0).filter(|_| attribute(all, IFLA_LINK_NETNSID).is_none())
            }
            IFLA_MASTER => link.master = u32_at(value, 0),
            IFLA_LINKINFO => link.kind = attribute(value, IFLA_INFO_KIND).map(text),
            _ => {
                if let Some((name, _)) = NUMBERS.iter().find(|(_, number)| *number == kind) {
                    link.numbers.insert(name, u32_at(value, 0)?);
                }
            }
        }
    }
    link.mtu_bytes = *link.numbers.get(MTU).unwrap_or(&0);
    Some(link)
}
