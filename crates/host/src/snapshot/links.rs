//! The interface, the links on top of it (macvlan, VLAN, bridge, …) and its ports: their MTU and
//! flags.

use bitcost_sys::netlink::{Link, Rtnl};

use super::facts::{Records, Snapshot, parts, unknown};
use crate::HostError;

pub const WORD: &str = "link";
/// The name of the fact of an MTU.
pub const MTU: &str = "mtu_bytes";
const FLAGS: &str = "flags";
/// Kinds of links that are paired with another one, not on top of it.
const PAIRED: [&str; 2] = ["veth", "netkit"];
/// The flags that an administrator sets (netdevice(7)): up, no ARP, promiscuous, all multicast,
/// multicast. The kernel sets the others.
const ASKED_FLAGS: u32 = 0x1 | 0x80 | 0x100 | 0x200 | 0x1000;

/// `device`, then the links that a setting of it affects: its ports, and the links on top of any of
/// these, lower ones first.
pub fn concerned(device: &str) -> Result<Vec<Link>, HostError> {
    let mut rtnl = Rtnl::open()?;
    let first = rtnl.link(device)?;
    Ok(reached(first, rtnl.links()?))
}

fn reached(first: Link, others: Vec<Link>) -> Vec<Link> {
    let index = first.index;
    let mut found = vec![first];
    found.extend(
        others
            .iter()
            .filter(|link| link.master == Some(index))
            .cloned(),
    );
    let mut next = 0;
    while let Some(link) = found.get(next).cloned() {
        let stands_on_it = |other: &&Link| {
            let is_paired = other
                .kind
                .as_deref()
                .is_some_and(|kind| PAIRED.contains(&kind));
            (other.lower == Some(link.index) && !is_paired) || link.master == Some(other.index)
        };
        let above: Vec<Link> = others.iter().filter(stands_on_it).cloned().collect();
        found.extend(
            above
                .into_iter()
                .filter(|other| !found.iter().any(|known| known.index == other.index))
                .collect::<Vec<_>>(),
        );
        next += 1;
    }
    found
}

/// MTU and flags of each link.
pub fn list(links: &[Link], snapshot: &mut Snapshot) -> Result<(), HostError> {
    for link in links {
        let flags = format!("{:#x}", link.flags & ASKED_FLAGS);
        snapshot.add(WORD, &link.name, MTU, link.mtu_bytes.to_string());
        snapshot.add(WORD, &link.name, FLAGS, flags);
    }
    Ok(())
}

pub fn restore(name: &str, value: &str, _records: &Records) -> Result<(), HostError> {
    let (device, what) = parts(name).ok_or_else(|| unknown(name))?;
    let mut rtnl = Rtnl::open()?;
    let index = rtnl.link(device)?.index;
    match what {
        MTU => Ok(rtnl.set_mtu(index, value.parse().map_err(|_| unknown(name))?)?),
        FLAGS => {
            let flags = value
                .strip_prefix("0x")
                .and_then(|digits| u32::from_str_radix(digits, 16).ok());
            Ok(rtnl.set_flags(
                index,
                flags.ok_or_else(|| unknown(name))? & ASKED_FLAGS,
                ASKED_FLAGS,
            )?)
        }
        _ => Err(unknown(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(index: u32, name: &str, kind: &str, lower: Option<u32>, master: Option<u32>) -> Link {
        let (name, kind) = (name.to_owned(), Some(kind.to_owned()));
        Link {
            index,
            name,
            mtu_bytes: 1500,
            numbers: [].into(),
            flags: 0,
            kind,
            lower,
            master,
        }
    }

    #[test]
    fn links_on_an_interface_are_found_lower_first_without_its_pair() {
        let all = vec![
            link(9, "vlan.on.bridge", "vlan", Some(5), None),
            link(2, "eth0", "veth", Some(3), Some(5)),
            link(3, "peer", "veth", Some(2), None),
            link(4, "mv0", "macvlan", Some(2), None),
            link(5, "br0", "bridge", None, None),
            link(6, "port", "veth", None, Some(2)),
            link(7, "elsewhere", "macvlan", Some(8), None),
        ];
        let names: Vec<String> = reached(all[1].clone(), all)
            .into_iter()
            .map(|link| link.name)
            .collect();
        assert_eq!(names, ["eth0", "port", "mv0", "br0", "vlan.on.bridge"]);
    }
}
