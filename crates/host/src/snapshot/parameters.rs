//! `net.ipv4.conf` and `net.ipv6.conf` of the links, of `all` and of `default`.
//!
//! In a name the dots of an interface's name are slashes, as sysctl(8) has it.

use std::fs;
use std::path::PathBuf;

use bitcost_sys::netlink::Link;

use super::facts::{Records, Snapshot, parts, unknown};
use crate::HostError;
use crate::device::is_name;
use crate::values::{PARAMETERS, Values, words};

pub const WORD: &str = "sysctl";
const FAMILIES: [&str; 2] = ["ipv4", "ipv6"];
/// The folders that belong to no link.
const COMMON: [&str; 2] = ["all", "default"];

/// Every parameter of these links that can be read.
pub fn list(links: &[Link], snapshot: &mut Snapshot) -> Result<(), HostError> {
    let devices: Vec<&str> = COMMON
        .into_iter()
        .chain(links.iter().map(|link| link.name.as_str()))
        .collect();
    for (device, family) in devices
        .iter()
        .flat_map(|device| FAMILIES.map(|family| (device, family)))
    {
        let entries = fs::read_dir(folder(family, device))
            .into_iter()
            .flatten()
            .flatten();
        for file in entries.filter_map(|entry| entry.file_name().into_string().ok()) {
            // A key that was never set cannot be read.
            if let Ok(text) = fs::read_to_string(folder(family, device).join(&file)) {
                snapshot.add(WORD, device, &dotted(family, device, &file), words(&text));
            }
        }
    }
    Ok(())
}

pub fn now(names: &[&str]) -> Values {
    let read = |name: &&str| {
        Some((
            (*name).to_owned(),
            words(&fs::read_to_string(path(name)?).ok()?),
        ))
    };
    names.iter().filter_map(read).collect()
}

pub fn restore(name: &str, value: &str, _records: &Records) -> Result<(), HostError> {
    let path = path(name).ok_or_else(|| unknown(name))?;
    fs::write(&path, value)
        .map_err(|error| HostError::cannot(format!("set {name} to \"{value}\""), error))
}

fn folder(family: &str, device: &str) -> PathBuf {
    PathBuf::from(PARAMETERS)
        .join("net")
        .join(family)
        .join("conf")
        .join(device)
}

fn dotted(family: &str, device: &str, file: &str) -> String {
    format!("net.{family}.conf.{}.{file}", device.replace('.', "/"))
}

/// The file of a fact; `None` for an invalid name, such as one that leads to another folder.
fn path(fact: &str) -> Option<PathBuf> {
    let (device, dotted_name) = parts(fact)?;
    let file = dotted_name.rsplit('.').next()?;
    let family = FAMILIES
        .into_iter()
        .find(|family| dotted(family, device, file) == dotted_name)?;
    let is_file = !file.is_empty() && file.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_file && is_name(device)).then(|| folder(family, device).join(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_leads_to_its_file_only() {
        let found = |fact: &str| path(fact).map(|path| path.to_string_lossy().into_owned());
        let mtu = "/proc/sys/net/ipv6/conf/eth0.100/mtu";
        assert_eq!(
            found("sysctl eth0.100 net.ipv6.conf.eth0/100.mtu").as_deref(),
            Some(mtu)
        );
        for elsewhere in [
            "sysctl .. net.ipv6.conf.//.mtu",
            "sysctl c0 net.ipv6.conf.c1.mtu",
            "sysctl c0 net.ipv6.conf.c0.",
            "sysctl c0 net.ipv6.conf.c0./etc/passwd",
            "sysctl ../../.. net.ipv6.conf.///////.x",
            "sysctl - net.ipv4.tcp_rmem",
            "sysctl - kernel.core_pattern",
            "sysctl",
        ] {
            assert_eq!(found(elsewhere), None, "{elsewhere}");
        }
    }
}
