//! The knob "sysctl": kernel parameters under `net.`, by their dotted names.
//!
//! A write can be truncated or ignored without an error, so each value is read back.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use bitcost_model::host_settings::{HostSetting, SYSCTL, interface_of};
use bitcost_model::machine::SYSCTLS;
use bitcost_model::near::did_you_mean;

use crate::HostError;
use crate::device::shown;
use crate::knob::{Knob, Scope};
use crate::values::{PARAMETERS, VALUE, Values, single, words};

pub struct Sysctl;

/// The congestion control of sockets that choose none. The kernel lets every user choose what is
/// written here (`tcp_set_default_congestion_control` in net/ipv4/tcp_cong.c).
const DEFAULT_CONGESTION: &str = "net.ipv4.tcp_congestion_control";
/// Those that every user may choose (ip-sysctl.rst): one list for the whole machine. It is a second value of the default, which
/// changes it.
const ALLOWED_CONGESTION: &str = "net.ipv4.tcp_allowed_congestion_control";
const ALLOWED: &str = "allowed";

/// Parameters that all network namespaces of a machine share.
const OF_MACHINE: &[&str] = &[
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.tcp_mem",
    "net.ipv4.udp_mem",
];

impl Knob for Sysctl {
    fn name(&self) -> &'static str {
        SYSCTL.setting
    }

    fn check_subject(&self, name: &str) -> Result<(), HostError> {
        path(name).map(drop)
    }

    fn scope(&self, name: &str) -> Scope {
        if OF_MACHINE.contains(&name) {
            Scope::Machine
        } else {
            Scope::Network
        }
    }

    fn subjects(&self) -> Vec<String> {
        let is_there = |name: &&&str| path(name).is_ok_and(|path| path.exists());
        let names = SYSCTLS.iter().filter(is_there);
        names.map(|name| (*name).to_owned()).collect()
    }

    fn subjects_of(&self, _device: &str, request: &HostSetting) -> Result<Vec<String>, HostError> {
        Ok(request
            .sysctl()
            .map(|sysctl| sysctl.name.clone())
            .into_iter()
            .collect())
    }

    fn label(&self, parameter: &str, _value: &str) -> String {
        format!("sysctl.{parameter}")
    }

    fn observe(&self, name: &str) -> Result<Values, HostError> {
        let text = fs::read_to_string(path(name)?).map_err(|error| unreadable(name, &error))?;
        let mut values = single(words(&text));
        if name == DEFAULT_CONGESTION
            && let Ok(text) = fs::read_to_string(path(ALLOWED_CONGESTION)?)
        {
            values.insert(ALLOWED.to_owned(), words(&text));
        }
        Ok(values)
    }

    fn plan(&self, _name: &str, _now: &Values, request: &HostSetting) -> Result<Values, HostError> {
        match request.sysctl() {
            Some(sysctl) => Ok(single(words(&sysctl.value))),
            None => Err(self.not_its(request)),
        }
    }

    /// The default first, which the kernel adds to those that are allowed. What is there already is not written: in a network
    /// namespace other than the first one, the list can only be read.
    fn write(&self, name: &str, _now: &Values, values: &Values) -> Result<(), HostError> {
        for (value, name) in [(VALUE, name), (ALLOWED, ALLOWED_CONGESTION)] {
            let Some(value) = values.get(value) else {
                continue;
            };
            let path = path(name)?;
            if fs::read_to_string(&path).is_ok_and(|text| words(&text) == *value) {
                continue;
            }
            let file = fs::OpenOptions::new().write(true).open(path);
            let written =
                file.and_then(|mut file| io::Write::write_all(&mut file, value.as_bytes()));
            written.map_err(|error| {
                HostError::cannot(format!("set {name} to \"{value}\""), refusal(name, &error))
            })?;
        }
        Ok(())
    }
}

/// The file of a parameter.
fn path(name: &str) -> Result<PathBuf, HostError> {
    let is_part = |part: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
    };
    if !name.starts_with("net.") || !name.split('.').all(is_part) {
        return Err(HostError::cannot(
            format!("use the sysctl {}", shown(name)),
            "allowed: names such as net.ipv4.tcp_rmem",
        ));
    }
    // The name of an interface may have dots, too.
    let dots = interface_of(name).map_or(usize::MAX, |_| 3);
    let (folder, file) = name.rsplit_once('.').unwrap_or_default();
    let folder = folder.replacen('.', "/", dots);
    Ok(PathBuf::from(PARAMETERS).join(folder).join(file))
}

fn unreadable(name: &str, error: &io::Error) -> HostError {
    let asked = format!("read the sysctl {name}");
    match error.kind() {
        ErrorKind::NotFound => HostError::Gone(format!("{asked}: {error}{}", siblings_like(name))),
        _ => HostError::cannot(asked, error),
    }
}

/// Suggestions for a parameter that does not exist: similar ones in its folder.
fn siblings_like(name: &str) -> String {
    let Some((_, last)) = name.rsplit_once('.') else {
        return String::new();
    };
    let entries = fs::read_dir(path(name).unwrap_or_default().with_file_name(""))
        .into_iter()
        .flatten()
        .flatten();
    let names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    did_you_mean(last, names.iter().map(String::as_str))
}

fn refusal(name: &str, error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied if Sysctl.scope(name) == Scope::Machine => format!(
            "{error}; the whole machine shares this parameter, which only root may write, outside of network namespaces"
        ),
        ErrorKind::PermissionDenied => {
            format!("{error}; this needs root, and a network namespace with its own value")
        }
        ErrorKind::InvalidInput => format!("{error}: the kernel does not accept this value"),
        ErrorKind::NotFound if name.ends_with("congestion_control") => {
            format!(
                "the kernel has no such module; available: {}",
                available_congestion_controls()
            )
        }
        _ => error.to_string(),
    }
}

fn available_congestion_controls() -> String {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .unwrap_or_default();
    words(&text).replace(' ', ", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_of_an_interface_stay() {
        for (name, file) in [
            ("net.ipv4.tcp_rmem", "net/ipv4/tcp_rmem"),
            ("net.ipv4.route.gc_timeout", "net/ipv4/route/gc_timeout"),
            ("net.ipv4.conf.eth0.100.tag", "net/ipv4/conf/eth0.100/tag"),
            ("net.ipv6.conf.lo.mtu", "net/ipv6/conf/lo/mtu"),
        ] {
            let found = path(name).ok();
            assert_eq!(found, Some(PathBuf::from(PARAMETERS).join(file)));
        }
    }
}
