//! Finds the connections that move data among those that are sought, and the threads that work for them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use bitcost_model::record::{Role, TcpInfo};
use bitcost_probe::programs;
use bitcost_sys::netlink::{SockDiag, SocketRecord};
use bitcost_traffic::tcp_info_of;

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

/// The connections that are read, or the sockets of datagrams, with the program that holds them.
#[derive(Debug)]
pub struct Held {
    pub(super) sockets: Vec<SocketRecord>,
    /// Connections that are sought and not read.
    pub(super) others: usize,
    pub(super) is_tcp: bool,
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
        let datagrams = sought.find(diag, SockDiag::datagrams)?;
        let holder_of = |all: &[SocketRecord]| match sought {
            Sought::Process(process) => Some(*process),
            _ => all.first().and_then(|one| holder(one.inode)),
        };
        let process = process.or_else(|| holder_of(&datagrams));
        let before = (times(process), passed());
        std::thread::sleep(LOOK);
        let mut moving = moving(&first, sought.find(diag, SockDiag::connections)?);
        let passed = passed().zip(before.1);
        let passed = passed.map_or([0, 0], |(now, before)| {
            [now[0] - before[0], now[1] - before[1]]
        });
        let are_idle = moving.iter().all(|(_, moved)| *moved == [0, 0]);
        if are_idle && !datagrams.is_empty() && (first.is_empty() || passed != [0, 0]) {
            let process = holder_of(&datagrams);
            let most = match passed[0] > passed[1] {
                true => Role::Receiver,
                false => Role::Sender,
            };
            let held = Held::of(datagrams, role.unwrap_or(most), process, &before.0);
            let is_tcp = false;
            return Ok(Held { is_tcp, ..held });
        }
        if moving.is_empty() && process.is_none() {
            return Err(
                "no such connection is open in this network namespace; `ss -tn` lists those that are, --netns PID looks into another namespace, and of another host's addresses and ports something between may have made others (NAT)"
                    .into(),
            );
        }
        let sum = |role: Role| moving.iter().map(|(_, moved)| moved[role as usize]).sum();
        let [sent, received]: [u64; 2] = [sum(Role::Sender), sum(Role::Receiver)];
        let most = match sent >= received {
            true => Role::Sender,
            false => Role::Receiver,
        };
        let is_named = role.is_some();
        let role = role.unwrap_or(most);
        let moved = |one: &(SocketRecord, [u64; 2])| one.1[role as usize];
        moving.sort_by_key(|one| std::cmp::Reverse(moved(one)));
        if !are_idle && !is_named {
            moving.retain(|one| moved(one) > 0);
        }
        let sockets: Vec<SocketRecord> = moving.into_iter().map(|(one, _)| one).collect();
        let process = holder_of(&sockets).or(process);
        Ok(Held::of(sockets, role, process, &before.0))
    }

    /// The address and port of this end and of the other of each.
    pub fn connections(&self) -> impl Iterator<Item = [SocketAddr; 2]> {
        self.sockets.iter().map(|one| [one.local, one.peer])
    }

    /// The first of these sockets, with the threads of their program that worked since `before`.
    fn of(
        mut sockets: Vec<SocketRecord>,
        role: Role,
        process: Option<u32>,
        before: &BTreeMap<u32, u64>,
    ) -> Held {
        let others = sockets.len().saturating_sub(CONNECTIONS);
        sockets.truncate(CONNECTIONS);
        Held {
            sockets,
            others,
            is_tcp: true,
            role,
            process,
            name: process.and_then(programs::name_of),
            threads: working(before, &times(process)),
        }
    }
}

/// The connections that are open, and the process that holds the first of them. Short ones are looked for several times.
fn some(sought: &Sought, diag: &mut SockDiag) -> Result<(Vec<SocketRecord>, Option<u32>), Refusal> {
    let mut first = Vec::new();
    for _ in 0..LOOKS {
        first = sought.find(diag, SockDiag::connections)?;
        let process = match sought {
            Sought::Process(process) => Some(*process),
            _ => first.first().and_then(|one| holder(one.inode)),
        };
        if process.is_some() {
            return Ok((first, process));
        }
        std::thread::sleep(LOOK / LOOKS);
    }
    Ok((first, None))
}

/// The connections that are still there, with what they sent and received meanwhile.
fn moving(before: &[SocketRecord], now: Vec<SocketRecord>) -> Vec<(SocketRecord, [u64; 2])> {
    let grown = |now: &SocketRecord, of: fn(&TcpInfo) -> Option<u64>| {
        let was = before.iter().find(|one| one.cookie == now.cookie)?;
        let count = |one: &SocketRecord| of(&tcp_info_of(one.tcp_info.as_ref()?));
        count(now)?.checked_sub(count(was)?)
    };
    let moved = |one: SocketRecord| {
        let sent = grown(&one, |info| info.bytes_acked)?;
        let received = grown(&one, |info| info.bytes_received)?;
        Some((one, [sent, received]))
    };
    now.into_iter().filter_map(moved).collect()
}

/// Datagrams that this network namespace received and sent so far (`/proc/net/snmp`).
fn passed() -> Option<[i64; 2]> {
    let text = std::fs::read_to_string("/proc/thread-self/net/snmp").ok()?;
    let all = bitcost_probe::protocols::parse(&text);
    Some(["Udp.InDatagrams", "Udp.OutDatagrams"].map(|name| all.get(name).copied().unwrap_or(0)))
}

/// The process that holds a socket; absent where this user may not see it.
fn holder(inode: u32) -> Option<u32> {
    programs::holders(|one| one == inode).remove(&inode)
}

fn times(process: Option<u32>) -> BTreeMap<u32, u64> {
    process.map(programs::threads_of).unwrap_or_default()
}

/// The threads that worked meanwhile; where none did, the one that has worked most.
fn working(before: &BTreeMap<u32, u64>, after: &BTreeMap<u32, u64>) -> Vec<u32> {
    let grown = |(id, ns): (&u32, &u64)| (*id, ns - before.get(id).unwrap_or(&0).min(ns));
    let grown: Vec<(u32, u64)> = after.iter().map(grown).collect();
    let most = grown.iter().map(|(_, ns)| *ns).max().unwrap_or(0);
    if most == 0 {
        let busiest = after.iter().max_by_key(|(_, ns)| **ns);
        return busiest.map(|(id, _)| *id).into_iter().collect();
    }
    let works = grown.into_iter().filter(|(_, ns)| *ns >= most / WORKS);
    works.filter(|(_, ns)| *ns > 0).map(|(id, _)| id).collect()
}
