//! Which processes belong to a run: what the processes that started its endpoints have started. The
//! name of a process says nothing: another bitcost may run on the same host.

use bitcost_model::protocol::Origin;

use super::census::{Census, FIRST, parse};
use crate::{host, programs, read};

#[derive(Clone, Debug, Default)]
pub struct Own {
    /// The processes that started its endpoints, whose descendants belong to it.
    roots: Vec<u32>,
    /// Processes whose own time is the run's, or nothing, and whose other descendants are foreign.
    own_time: Vec<u32>,
}

impl Own {
    /// The processes of the run whose endpoints were started by `roots`: these and what they have
    /// started. The time of their ancestors and of `helpers`, such as a lab's daemon, is the run's,
    /// that of the others' children is not.
    pub fn of(census: &Census, roots: Vec<u32>, helpers: Vec<u32>) -> Own {
        let ancestors = roots.iter().flat_map(|root| census.ancestors(*root));
        let own_time = ancestors.filter(|ancestor| *ancestor != FIRST);
        Own {
            own_time: own_time.chain(helpers).collect(),
            roots,
        }
    }

    pub fn has_all_of(&self, census: &Census, pid: u32) -> bool {
        self.roots.contains(&pid)
            || census
                .ancestors(pid)
                .any(|ancestor| self.roots.contains(&ancestor))
    }

    /// The same where the time of these processes is the run's, too.
    pub fn with(self, helpers: impl IntoIterator<Item = u32>) -> Own {
        let own_time = self.own_time.into_iter().chain(helpers).collect();
        Own { own_time, ..self }
    }

    /// Whether the time of this process is the run's, without that of its children.
    pub(super) fn has_own_time_of(&self, pid: u32) -> bool {
        self.own_time.contains(&pid)
    }
}

/// This process as an origin; absent where it cannot be read.
pub fn own_origin() -> Option<Origin> {
    let pid = bitcost_sys::process::id_in_proc().ok()?;
    let text = read::text(&format!("/proc/{pid}/stat"))?;
    Some(Origin {
        boot_id: host::boot_id()?,
        pid,
        started_ticks: parse(&text)?.started_ticks,
    })
}

/// The parent of this process as an origin; this process itself where its parent is the first
/// process, or in an outer PID namespace.
pub fn parent_origin() -> Option<Origin> {
    let own = own_origin()?;
    let parent = parse(&read::text(&format!("/proc/{}/stat", own.pid))?)?.parent;
    let started = |pid: u32| Some(parse(&read::text(&format!("/proc/{pid}/stat"))?)?.started_ticks);
    match (parent > FIRST).then(|| started(parent)).flatten() {
        Some(started_ticks) => Some(Origin {
            pid: parent,
            started_ticks,
            ..own
        }),
        None => Some(own),
    }
}

/// Whether a process has a socket at one of these ports: an endpoint that is no bitcost.
pub fn is_at(pid: u32, ports: &[u16]) -> bool {
    let table = |name| read::text(&format!("/proc/{pid}/net/{name}")).unwrap_or_default();
    let tables = ["tcp", "tcp6", "udp", "udp6"].map(table);
    let inode = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (_, port) = fields.get(1)?.rsplit_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        let inode = fields.get(9).filter(|_| ports.contains(&port))?;
        inode.parse().ok()
    };
    let lines = tables.iter().flat_map(|table| table.lines());
    let own = programs::sockets_of(pid).unwrap_or_default();
    lines.filter_map(inode).any(|inode| own.contains(&inode))
}

/// The number here of the process that is this origin, which may be in an inner PID namespace;
/// absent where it is on another host, has ended, or is outside of what `/proc` shows.
pub fn process_of(census: &Census, origin: &Origin) -> Option<u32> {
    if host::boot_id()? != origin.boot_id {
        return None;
    }
    let innermost = |pid: u32| read::innermost_id(&format!("/proc/{pid}/status"));
    let is_it = |pid: &u32| *pid == origin.pid || innermost(*pid) == Some(origin.pid);
    let mut started = census
        .processes
        .iter()
        .filter(|(_, process)| process.started_ticks == origin.started_ticks);
    started.find(|(pid, _)| is_it(pid)).map(|(pid, _)| *pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_the_port_of_its_socket() {
        let listening = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listening.local_addr().expect("its address").port();
        let own = std::process::id();
        assert!(is_at(own, &[port]));
        drop(listening);
        assert!(!is_at(own, &[port]));
    }

    #[test]
    fn a_process_is_found_by_its_boot_number_and_start() {
        let Some((census, own)) = Census::take().zip(own_origin()) else {
            return;
        };
        assert_eq!(process_of(&census, &own), Some(own.pid));
        let parent = parent_origin().expect("as its own");
        assert!(process_of(&census, &parent).is_some());
        let later = Origin {
            started_ticks: own.started_ticks + 1_000_000,
            ..own.clone()
        };
        assert_eq!(process_of(&census, &later), None);
        let elsewhere = Origin {
            boot_id: "another".into(),
            ..own
        };
        assert_eq!(process_of(&census, &elsewhere), None);
    }
}
