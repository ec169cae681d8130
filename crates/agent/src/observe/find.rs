//! Finds the connections that move data among those that are sought, and the threads that work for them.

use std::collections::BTreeMap;
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
pub(super) struct Held {
    pub sockets: Vec<SocketRecord>,
    /// Connections that are sought and not read.
    pub others: usize,
    pub is_tcp: bool,
    pub role: Role,
    pub process: Option<u32>,
    pub name: Option<String>,
    pub threads: Vec<u32>,
}

impl Held {
    /// Of the connections that are sought those that move data in the direction in which most do; where none does, the
    /// sockets of datagrams.
    pub fn find(sought: &Sought, diag: &mut SockDiag) -> Result<Held, Refusal> {
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
            return Ok(Held::of_datagrams(datagrams, passed, process, &before.0));
        }
        if moving.is_empty() && process.is_none() {
            return Err(
                "no such connection is open in this network namespace; `ss -tn` lists those that are, and --netns PID looks into another namespace"
                    .into(),
            );
        }
        let sum = |role: Role| moving.iter().map(|(_, moved)| moved[role as usize]).sum();
        let [sent, received]: [u64; 2] = [sum(Role::Sender), sum(Role::Receiver)];
        let role = match sent >= received {
            true => Role::Sender,
            false => Role::Receiver,
        };
        let moved = |one: &(SocketRecord, [u64; 2])| one.1[role as usize];
        moving.sort_by_key(|one| std::cmp::Reverse(moved(one)));
        if !are_idle {
            moving.retain(|one| moved(one) > 0);
        }
        let others = moving.len().saturating_sub(CONNECTIONS);
        let sockets = moving.into_iter().map(|(one, _)| one);
        let sockets: Vec<SocketRecord> = sockets.take(CONNECTIONS).collect();
        let process = holder_of(&sockets).or(process);
        Ok(Held {
            sockets,
            others,
            is_tcp: true,
            role,
            threads: working(&before.0, &times(process)),
            name: process.and_then(programs::name_of),
            process,
        })
    }

    /// These sockets, of which the host received and sent so many datagrams.
    fn of_datagrams(
        mut sockets: Vec<SocketRecord>,
        [received, sent]: [i64; 2],
        process: Option<u32>,
        before: &BTreeMap<u32, u64>,
    ) -> Held {
        let others = sockets.len().saturating_sub(CONNECTIONS);
        sockets.truncate(CONNECTIONS);
        Held {
            sockets,
            others,
            is_tcp: false,
            role: match received > sent {
                true => Role::Receiver,
                false => Role::Sender,
            },
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
