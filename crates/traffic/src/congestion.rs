//! The congestion control of a TCP socket, and what this host offers where it is not available.

use std::io;
use std::os::fd::AsFd;

use bitcost_model::conditions::Conditions;
use bitcost_model::near::did_you_mean;
use bitcost_sys::socket;

use crate::flow::TrafficError;

/// Sets the congestion control that the run requests: before a connection is made, and again of the connection, to which the
/// kernel gives that of its route (`congctl`) instead.
pub fn ask(socket: impl AsFd, conditions: &Conditions) -> Result<(), TrafficError> {
    let Some(name) = &conditions.congestion_control else {
        return Ok(());
    };
    socket::set_congestion_control(socket, name).map_err(|error| {
        let hint = hint(
            name,
            &error,
            &listed("tcp_available_congestion_control"),
            &listed("tcp_allowed_congestion_control"),
        );
        // The kernel's ENOENT speaks of a file.
        let error = match error.kind() {
            io::ErrorKind::NotFound => {
                io::Error::new(io::ErrorKind::NotFound, "this kernel has none of that name")
            }
            _ => error,
        };
        TrafficError::System {
            asked: format!("congestion control `{name}`"),
            error,
            hint,
        }
    })
}

/// The words of a kernel parameter; empty where it cannot be read.
fn listed(parameter: &str) -> Vec<String> {
    let text =
        std::fs::read_to_string(format!("/proc/sys/net/ipv4/{parameter}")).unwrap_or_default();
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

/// The available congestion controls: of the loaded modules, an ordinary user may use those that
/// are allowed, and a process with CAP_NET_ADMIN every one (tcp(7)).
fn hint(name: &str, error: &io::Error, available: &[String], allowed: &[String]) -> String {
    let (all, allowed) = (available.join(", "), allowed.join(", "));
    let meant = did_you_mean(name, available.iter().map(String::as_str));
    match error.kind() {
        _ if all.is_empty() => String::new(),
        io::ErrorKind::PermissionDenied => {
            format!("; allowed to every user here: {allowed}; with CAP_NET_ADMIN any of: {all}")
        }
        _ => format!(
            "{meant}; this host has: {all}; another may be a module that is not loaded (modprobe tcp_{name})"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn hint_distinguishes_available_from_allowed() {
        let (available, allowed) = (names("reno bbr cubic"), names("reno bbr"));
        let unknown = hint(
            "cubci",
            &io::ErrorKind::NotFound.into(),
            &available,
            &allowed,
        );
        assert!(
            unknown
                .starts_with("; did you mean `cubic`?; this host has: reno, bbr, cubic; another"),
            "{unknown}"
        );
        let refused = hint(
            "cubic",
            &io::ErrorKind::PermissionDenied.into(),
            &available,
            &allowed,
        );
        assert_eq!(
            refused,
            "; allowed to every user here: reno, bbr; with CAP_NET_ADMIN any of: reno, bbr, cubic"
        );
        assert_eq!(hint("cubic", &io::ErrorKind::NotFound.into(), &[], &[]), "");
    }
}
