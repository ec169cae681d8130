//! Which connections are looked for, and in which network namespace.

use std::fs::File;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::path::Path;
use std::str::FromStr;

use bitcost_probe::programs;
use bitcost_sys::namespace::{Kind, enter, is_in, own_mounts, show_own_devices};
use bitcost_sys::netlink::{SockDiag, SocketRecord};

use crate::refusal::Refusal;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sought {
    /// Those that a process holds.
    Process(u32),
    /// Those with one of these pairs of ends: that here and the other.
    Between(Vec<[End; 2]>),
}

/// An address, a port, both, or any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    pub ip: Option<IpAddr>,
    pub port: Option<u16>,
}

impl From<SocketAddr> for End {
    /// Of a socket of datagrams, which may have no address of its own, or no peer.
    fn from(at: SocketAddr) -> End {
        End {
            ip: Some(at.ip()).filter(|ip| !ip.is_unspecified()),
            port: Some(at.port()).filter(|port| *port != 0),
        }
    }
}

impl FromStr for End {
    type Err = String;

    fn from_str(text: &str) -> Result<End, String> {
        let port = text.strip_prefix(':').map(str::parse);
        let whole = || text.parse().map(|at: SocketAddr| (at.ip(), at.port()));
        match (port, whole(), text.parse()) {
            (Some(Ok(port)), ..) => Ok((None, Some(port))),
            (_, Ok((ip, port)), _) => Ok((Some(ip), Some(port))),
            (.., Ok(ip)) => Ok((Some(ip), None)),
            _ => Err(format!(
                "`{text}` is no address; write 192.0.2.1, 192.0.2.1:443, [2001:db8::1]:443 or :443"
            )),
        }
        .map(|(ip, port)| End { ip, port })
    }
}

impl FromStr for Sought {
    type Err = String;

    /// Reads `LOCAL-PEER`, or one end.
    fn from_str(text: &str) -> Result<Sought, String> {
        match text.split_once('-') {
            Some((local, peer)) => Ok(Sought::Between(vec![[local.parse()?, peer.parse()?]])),
            None => Ok(Sought::with([text.parse()?])),
        }
    }
}

/// A list of the kernel's.
pub(super) type List = fn(&mut SockDiag) -> Result<Vec<SocketRecord>, bitcost_sys::netlink::Error>;

impl Sought {
    /// Those that have one of these ends, here or there.
    pub fn with(ends: impl IntoIterator<Item = End>) -> Sought {
        let any = End::default();
        let pairs = ends.into_iter().map(|end| [[end, any], [any, end]]);
        Sought::Between(pairs.flatten().collect())
    }

    pub(super) fn find(
        &self,
        diag: &mut SockDiag,
        list: List,
    ) -> Result<Vec<SocketRecord>, Refusal> {
        let mut all = list(diag).map_err(|error| error.to_string())?;
        match self {
            Sought::Process(process) => {
                let own = programs::sockets_of(*process);
                let own = own.map_err(|error| unseen(*process, error.kind()))?;
                all.retain(|one| own.contains(&one.inode));
            }
            Sought::Between(pairs) => all.retain(|one| {
                let mut pairs = pairs.iter();
                pairs.any(|pair| is_between([one.local, one.peer], pair))
            }),
        }
        Ok(all)
    }
}

/// Whether a socket has these ends. Where it has one of the ports, an address or a peer that it lacks may be any.
fn is_between(ends: [SocketAddr; 2], pair: &[End; 2]) -> bool {
    let mut both = ends.into_iter().zip(pair);
    let has_port = |(at, end): (SocketAddr, &End)| at.port() != 0 && end.port == Some(at.port());
    let has_port = both.clone().any(has_port);
    both.all(|(at, end)| {
        let is_ip =
            |ip: IpAddr| ip.to_canonical() == at.ip() || has_port && at.ip().is_unspecified();
        let is_port = |port| port == at.port() || has_port && at.port() == 0;
        end.ip.is_none_or(is_ip) && end.port.is_none_or(is_port)
    })
}

/// Why the files of a process are not seen.
fn unseen(process: u32, why: ErrorKind) -> String {
    match why {
        ErrorKind::NotFound => format!(
            "there is no process {process}, or it has ended; `ss -tnp` lists connections with their processes"
        ),
        ErrorKind::PermissionDenied if rustix::process::geteuid().is_root() => format!(
            "root lacks CAP_SYS_PTRACE here, as in a container, so the sockets of process {process} are not seen; run bitcost outside of it"
        ),
        ErrorKind::PermissionDenied => format!(
            "process {process} belongs to another user, so its sockets are not seen; run bitcost as root"
        ),
        other => format!("cannot read the open files of process {process}: {other}"),
    }
}

/// Moves the calling process, which has one thread, into the network namespace of another one, with its devices in `/sys`.
///
/// # Errors
/// Where there is no such process, or this user may not enter.
pub fn enter_network_of(process: u32) -> Result<(), Refusal> {
    let path = |kind: Kind| format!("/proc/{process}/ns/{}", kind.link_name());
    let is_here = is_in(Path::new(&path(Kind::Net)), Kind::Net);
    if is_here.map_err(|error| unseen(process, error.kind()))? {
        return Ok(());
    }
    let open = |kind| File::open(path(kind)).map_err(|error| unseen(process, error.kind()));
    let (user, net) = (open(Kind::User)?, open(Kind::Net)?);
    // An ordinary user's namespaces are entered from their user namespace alone.
    let entered = enter(net.as_fd(), Kind::Net)
        .or_else(|_| enter(user.as_fd(), Kind::User).and_then(|()| enter(net.as_fd(), Kind::Net)));
    entered.map_err(|error| {
        format!(
            "cannot enter the network namespace of process {process}: {error}; run bitcost as root"
        )
    })?;
    // Without them some counters of devices are absent.
    let _ = own_mounts().and_then(|()| show_own_devices());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_another_host_are_those_of_a_socket() {
        let is = |ends: [&str; 2], named: [&str; 2]| {
            let of = |pair: [&str; 2]| pair.map(|end| end.parse::<SocketAddr>().unwrap());
            is_between(of(ends), &of(named).map(End::from))
        };
        let named = ["10.0.0.2:443", "10.0.0.1:4000"];
        assert!(is(named, named));
        assert!(is(["0.0.0.0:443", "0.0.0.0:0"], named));
        assert!(!is(["10.0.0.2:443", "10.0.0.1:4001"], named));
        assert!(!is(["0.0.0.0:99", "0.0.0.0:0"], named));
        assert!(!is(
            ["0.0.0.0:99", "0.0.0.0:0"],
            ["0.0.0.0:0", "0.0.0.0:443"]
        ));
    }

    #[test]
    fn ends_are_addresses_ports_or_both() {
        let end = |ip: Option<&str>, port| End {
            ip: ip.map(|ip| ip.parse().unwrap()),
            port,
        };
        let both = "10.0.0.1:4000-[2001:db8::1]:443".parse();
        let ends = [
            end(Some("10.0.0.1"), Some(4000)),
            end(Some("2001:db8::1"), Some(443)),
        ];
        assert_eq!(both, Ok(Sought::Between(vec![ends])));
        assert_eq!(":443".parse(), Ok(Sought::with([end(None, Some(443))])));
        let address = end(Some("2001:db8::1"), None);
        assert_eq!("2001:db8::1".parse(), Ok(Sought::with([address])));
        for wrong in ["", ":", ":70000", "localhost:80", "10.0.0.1-", "-"] {
            let refused = wrong.parse::<Sought>();
            assert!(refused.is_err_and(|why| why.contains("is no address")));
        }
    }
}
