//! Finds the connections that move data among those that are sought, and the threads that work for them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::time::Duration;

use bitcost_model::record::{Role, TcpInfo, ThreadTime};
use bitcost_probe::sockets::memory_of;
use bitcost_probe::{programs, protocols};
use bitcost_sys::netlink::{SockDiag, SocketRecord};

use super::Sought;
use crate::refusal::Refusal;

/// The time in which it is seen which connections, and which threads, move data.
const LOOK: Duration = Duration::from_millis(300);

/// How often, in as long a time, connections are looked for where none is open.
const LOOKS: u32 = 15;

/// The most connections that are read together: those that move most.
const CONNECTIONS: usize = 64;

/// A thread that runs for a part of the time of the busiest one works for the connections, too: one in this many.
const WORKS: u64 = 2;

/// The times of the threads of a process.
pub(super) type Threads = BTreeMap<u32, ThreadTime>;

/// The connections that are read, or the sockets of datagrams, with the program that holds them.
#[derive(Debug, Default)]
pub struct Held {
    pub(super) sockets: Vec<SocketRecord>,
    /// Connections that are sought and not read.
    pub(super) others: usize,
    /// Whether this end sends most of the data, or receives them.
    pub role: Role,
    pub(super) process: Option<u32>,
    pub(super) name: Option<String>,
    pub(super) threads: Vec<u32>,
}

impl Held {
    /// Of the connections that are sought those that move data in the direction in which most do, or else all of them as those
    /// of an end with this role; where none moves any, the sockets of datagrams.
    ///
    /// # Errors
    /// Where no such connection is open, this user may not see it, or the kernel does not list it.
    pub fn find(sought: &Sought, role: Option<Role>) -> Result<Held, Refusal> {
        let diag = &mut SockDiag::open().map_err(|error| error.to_string())?;
        let (first, process) = some(sought, diag)?;
        let datagrams = match sought.find(diag, SockDiag::datagrams) {
            // Some kernels list no datagram sockets (CONFIG_INET_UDP_DIAG).
            Err(_) if !first.is_empty() => Vec::new(),
            found => found?,
        };
        let first_process = process.or_else(|| holder(sought, &datagrams));
        let before = (times(first_process), passed());
        std::thread::sleep(LOOK);
        let mut moving = moving(&first, sought.find(diag, SockDiag::connections)?);
        let passed = since(passed(), before.1);
        let sum = |of: usize| moving.iter().map(|(_, moved)| moved[of]).sum();
        let moved = [sum(0), sum(1)];
        let is_udp =
            moved == [0, 0] && !datagrams.is_empty() && (first.is_empty() || passed != [0, 0]);
        // One that listens, or works, may have connections that end between two looks.
        if !is_udp
            && first.is_empty()
            && times(first_process) == before.0
            && let Sought::Process(process) = sought
            && sought.find(diag, SockDiag::listening)?.is_empty()
        {
            return Err(format!("process {process} has no TCP or UDP connection open").into());
        }
        if !is_udp && moving.is_empty() && first_process.is_none() {
            return Err(
                "no such connection is open in this network namespace; `ss -tn` lists those that are, --netns PID looks into another namespace, and of another host's addresses and ports something between may have made others (NAT)"
                    .into(),
            );
        }
        let most = match (is_udp, passed) {
            // Of what never becomes a datagram again, nothing is received either.
            (true, [0, 0]) => Role::Receiver,
            (true, passed) => most(passed),
            (false, _) => most(moved),
        };
        let end = role.unwrap_or(most);
        moving.sort_by_key(|(_, moved)| Reverse(moved[end as usize]));
        if moved != [0, 0] && role.is_none() {
            moving.retain(|(_, moved)| moved[end as usize] > 0);
        }
        let mut sockets = match is_udp {
            true => datagrams,
            false => moving.into_iter().map(|(one, _)| one).collect(),
        };
        let process = holder(sought, &sockets).or(first_process.filter(|_| !is_udp));
        let threads = match process == first_process {
            true => before.0,
            // Of that one it was not seen which threads work.
            false => {
                let threads = times(process);
                std::thread::sleep(LOOK);
                threads
            }
        };
        let others = sockets.len().saturating_sub(CONNECTIONS);
        sockets.truncate(CONNECTIONS);
        Ok(Held {
            sockets,
            others,
            role: end,
            process,
            name: process.and_then(programs::name_of),
            threads: working(&threads, &times(process)),
        })
    }

    /// The address and port of this end and of the other of each.
    pub fn connections(&self) -> impl Iterator<Item = [SocketAddr; 2]> {
        self.sockets.iter().map(|one| [one.local, one.peer])
    }
}

/// The connections that are open, and the process that holds the first of them. Short ones are looked for several times.
fn some(sought: &Sought, diag: &mut SockDiag) -> Result<(Vec<SocketRecord>, Option<u32>), Refusal> {
    let mut first = Vec::new();
    for _ in 0..LOOKS {
        first = sought.find(diag, SockDiag::connections)?;
        let process = holder(sought, &first);
        if process.is_some() && !first.is_empty() {
            return Ok((first, process));
        }
        std::thread::sleep(LOOK / LOOKS);
    }
    Ok((first, None))
}

/// The connections that are still there, with what they sent and received meanwhile.
fn moving(before: &[SocketRecord], now: Vec<SocketRecord>) -> Vec<(SocketRecord, [u64; 2])> {
    let before: HashMap<u64, [u64; 2]> = before.iter().map(so_far).collect();
    let moved = |one: SocketRecord| {
        let (cookie, now) = so_far(&one);
        let was = *before.get(&cookie)?;
        // A connection in TIME-WAIT has none.
        one.tcp_info.as_ref()?;
        // The kernel keeps no bytes of one that both ends have closed.
        (now[0] >= was[0] && now[1] >= was[1]).then(|| (one, since(now, was)))
    };
    now.into_iter().filter_map(moved).collect()
}

/// How much two counters grew.
pub(super) fn since(now: [u64; 2], before: [u64; 2]) -> [u64; 2] {
    [0, 1].map(|of| now[of].saturating_sub(before[of]))
}

/// Datagrams that this network namespace sent and received so far.
fn passed() -> [u64; 2] {
    let all = protocols::now();
    let names = [
        ["Udp.OutDatagrams", "Udp6.OutDatagrams"],
        ["Udp.InDatagrams", "Udp6.InDatagrams"],
    ];
    names.map(|names| names.iter().filter_map(|name| all.get(*name)).sum::<i64>() as u64)
}

/// The process that is sought, or that holds the first of these; absent where this user may not see it.
fn holder(sought: &Sought, all: &[SocketRecord]) -> Option<u32> {
    if let Sought::Process(process) = sought {
        return Some(*process);
    }
    let inode = all.first()?.inode;
    programs::holders(|one| one == inode).remove(&inode)
}

/// The role of an end that sent and received so much: that of most of it.
pub(super) fn most([sent, received]: [u64; 2]) -> Role {
    match sent >= received {
        true => Role::Sender,
        false => Role::Receiver,
    }
}

fn times(process: Option<u32>) -> Threads {
    process
        .map(|process| programs::threads_of(process, usize::MAX))
        .unwrap_or_default()
}

/// The threads that worked meanwhile; where none did, the one that has worked most.
pub(super) fn working(before: &Threads, after: &Threads) -> Vec<u32> {
    let ns = |times: &Threads, id: &u32| times.get(id).map_or(0, |time| time.run_ns);
    let grown = |id: &u32| (*id, ns(after, id).saturating_sub(ns(before, id)));
    let grown: Vec<(u32, u64)> = after.keys().map(grown).collect();
    let most = grown.iter().map(|(_, ns)| *ns).max().unwrap_or(0);
    if most == 0 {
        let busiest = after.iter().max_by_key(|(_, time)| time.run_ns);
        return busiest.map(|(id, _)| *id).into_iter().collect();
    }
    let works = grown.into_iter().filter(|(_, ns)| *ns >= most / WORKS);
    works.filter(|(_, ns)| *ns > 0).map(|(id, _)| id).collect()
}

/// User data that a connection moved towards this role.
pub(super) fn moved(role: Role, info: &TcpInfo) -> Option<u64> {
    match role {
        Role::Sender => info.bytes_acked,
        Role::Receiver => info.bytes_received,
    }
}

/// The number of a connection, with the bytes that it sent and received so far; of a socket of datagrams, of which the kernel
/// counts none, with those that it dropped.
pub(super) fn so_far(one: &SocketRecord) -> (u64, [u64; 2]) {
    let info = one.tcp_info.as_ref().map(|of| TcpInfo::of_bytes(of));
    let bytes = |role| info.as_ref().and_then(|info| moved(role, info));
    let both = [Role::Sender, Role::Receiver].map(|role| bytes(role).unwrap_or(0));
    let drops = one.memory.map_or(0, |of| memory_of(of).drops);
    let dropped = [drops.into(), 0];
    (one.cookie, info.as_ref().map_or(dropped, |_| both))
}
