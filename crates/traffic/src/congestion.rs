//! The congestion control of a TCP socket, and what this host offers where it is not available.

use std::io;
use std::os::fd::AsFd;

use bitcost_model::conditions::Conditions;
use bitcost_model::near::did_you_mean;
use rustix::net::sockopt::set_tcp_congestion;

use crate::flow::TrafficError;

/// Sets the congestion control that the run requests: before a connection is made, and again of the connection, to which the
/// kernel gives that of its route (`congctl`) instead.
pub fn ask(socket: impl AsFd, conditions: &Conditions) -> Result<(), TrafficError> {
    let Some(name) = &conditions.congestion_control else {
        return Ok(());
    };
    set_tcp_congestion(socket, name).map_err(|error| {
        let error = io::Error::from(error);
        let available = listed("tcp_available_congestion_control");
        let allowed = listed("tcp_allowed_congestion_control");
        let (error, hint) = explained(name, error, &available, &allowed);
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

/// Words for the kernel's error, and what to do: of the loaded modules, an ordinary user may use those that are allowed, and a
/// process with CAP_NET_ADMIN every one (tcp(7)).
fn explained(
    name: &str,
    error: io::Error,
    available: &[String],
    allowed: &[String],
) -> (io::Error, String) {
    let kind = error.kind();
    match kind {
        io::ErrorKind::PermissionDenied if !allowed.is_empty() => (
            io::Error::new(kind, "not allowed to this user"),
            format!(
                "; allowed to every user of this host: {}; its root allows it too: `sysctl -w net.ipv4.tcp_allowed_congestion_control='{} {name}'`; root itself needs no permission (--sudo), but `bitcost serve` gives that up",
                allowed.join(", "),
                allowed.join(" ")
            ),
        ),
        io::ErrorKind::NotFound if !available.is_empty() => {
            let meant = did_you_mean(name, available.iter().map(String::as_str));
            let all = available.join(", ");
            // The kernel's ENOENT speaks of a file.
            (
                io::Error::new(kind, "this kernel has none of that name"),
                format!(
                    "{meant}; this host has: {all}; another may be a module that is not loaded (modprobe tcp_{name})"
                ),
            )
        }
        _ => (error, String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_distinguishes_available_from_allowed() {
        let names = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let said = |name, kind: io::ErrorKind, all: &[String]| {
            let (error, hint) = explained(name, kind.into(), all, &names("reno bbr"));
            format!("{error}{hint}")
        };
        let available = names("reno bbr cubic");
        let unknown = said("cubci", io::ErrorKind::NotFound, &available);
        assert!(
            unknown
                .contains("name; did you mean `cubic`?; this host has: reno, bbr, cubic; another"),
            "{unknown}"
        );
        let refused = said("cubic", io::ErrorKind::PermissionDenied, &available);
        let command = "`sysctl -w net.ipv4.tcp_allowed_congestion_control='reno bbr cubic'`";
        assert!(
            refused.contains("user; allowed to every user of this host: reno, bbr;")
                && refused.contains(command),
            "{refused}"
        );
        let bare = said("cubic", io::ErrorKind::NotFound, &[]);
        assert_eq!(bare, io::Error::from(io::ErrorKind::NotFound).to_string());
    }
}
