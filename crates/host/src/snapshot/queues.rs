//! The maps of the interface's queues: which CPUs handle what it receives (RPS) and sends (XPS).
//! Source: kernel doc, networking/scaling.rst.

use std::io;
use std::path::PathBuf;

use bitcost_sys::namespace::PrivateSysfs;
use bitcost_sys::netlink::Link;

use super::facts::{Records, Snapshot, parts, unknown};
use crate::HostError;
use crate::device::is_name;
use crate::values::Values;

pub const WORD: &str = "queue";
/// The files of a queue that are maps.
const MAPS: [&str; 4] = ["rps_cpus", "rps_flow_cnt", "xps_cpus", "xps_rxqs"];

/// Every map of the interface; none when no sysfs shows the interface.
pub fn list(links: &[Link], snapshot: &mut Snapshot) -> Result<(), HostError> {
    if let Some((link, sysfs)) = links.first().and_then(|link| Some((link, sysfs_of(link)?))) {
        maps(link, &sysfs, snapshot);
    }
    Ok(())
}

/// Every map of `device`.
///
/// # Errors
/// When no sysfs shows the device, so that its maps could not be restored.
pub fn of_device(device: &str) -> Result<Values, HostError> {
    let link = crate::device::link(device)?;
    let why = "a change resets the maps of queues (RPS, XPS), and sysfs is not mounted for this network namespace; mount it (mount -t sysfs sysfs /sys)";
    let sysfs = sysfs_of(&link)
        .ok_or_else(|| HostError::cannot(format!("set the channels of {device}"), why))?;
    let mut snapshot = Snapshot::default();
    maps(&link, &sysfs, &mut snapshot);
    Ok(snapshot.facts)
}

fn maps(link: &Link, sysfs: &PrivateSysfs, snapshot: &mut Snapshot) {
    let folder = queues(&link.name);
    for queue in sysfs.names(&folder).unwrap_or_default() {
        for map in MAPS {
            // A receive queue has no XPS map, and a single transmit queue has none either.
            if let Ok(text) = sysfs.read(&folder.join(&queue).join(map)) {
                snapshot.add(WORD, &link.name, &format!("{queue} {map}"), text);
            }
        }
    }
}

/// A sysfs that shows this link; `None` if this process may not have one, as in some containers.
pub fn sysfs_of(link: &Link) -> Option<PrivateSysfs> {
    let mounted = PrivateSysfs::mount().or_else(|_| PrivateSysfs::mount_in_own_table());
    let found = mounted.or_else(|_| PrivateSysfs::of_machine()).ok()?;
    let index = found
        .read(&PathBuf::from("class/net").join(&link.name).join("ifindex"))
        .ok()?;
    (index == link.index.to_string()).then_some(found)
}

/// As [`sysfs_of`], for the link of these facts.
fn sysfs_of_fact(name: &str) -> Option<PrivateSysfs> {
    let (device, _) = parts(name)?;
    sysfs_of(&crate::device::link(device).ok()?)
}

fn queues(device: &str) -> PathBuf {
    PathBuf::from("class/net").join(device).join("queues")
}

pub fn now(names: &[&str]) -> Values {
    let Some(sysfs) = names.first().and_then(|name| sysfs_of_fact(name)) else {
        return Values::new();
    };
    let read = |name: &&str| Some(((*name).to_owned(), sysfs.read(&path(name)?).ok()?));
    names.iter().filter_map(read).collect()
}

pub fn restore(name: &str, value: &str, _records: &Records) -> Result<(), HostError> {
    let path = path(name).ok_or_else(|| unknown(name))?;
    let sysfs = sysfs_of_fact(name).ok_or(io::ErrorKind::NotFound.into());
    let written = sysfs.and_then(|sysfs| sysfs.write(&path, value));
    written.map_err(|error| HostError::cannot(format!("set {name} to {value}"), error))
}

/// The file of a fact; `None` for an invalid name, such as one that leads to another folder.
fn path(fact: &str) -> Option<PathBuf> {
    let (device, rest) = parts(fact)?;
    let (queue, map) = rest.split_once(' ')?;
    let number = queue
        .strip_prefix("rx-")
        .or_else(|| queue.strip_prefix("tx-"))?;
    let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    let is_fact = is_name(device) && is_number && MAPS.contains(&map);
    is_fact.then(|| queues(device).join(queue).join(map))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_leads_to_its_file_only() {
        assert_eq!(
            path("queue c0 rx-0 rps_cpus"),
            Some(PathBuf::from("class/net/c0/queues/rx-0/rps_cpus"))
        );
        for elsewhere in [
            "queue .. rx-0 rps_cpus",
            "queue c0 rx-../x rps_cpus",
            "queue c0 rx-0 uevent",
            "queue c0",
            "",
        ] {
            assert_eq!(path(elsewhere), None, "{elsewhere}");
        }
    }
}
