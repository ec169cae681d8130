//! Connections that move data, or sockets of datagrams, read again and again.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use bitcost_model::machine::HostDescription;
use bitcost_model::record::{EndpointRecord, Role, Sample};
use bitcost_probe::{programs, protocols};
use bitcost_sys::clock::monotonic_ns;
use bitcost_sys::netlink::{SockDiag, SocketRecord};

use super::Read;
use super::find::{Held, Threads, most, since, so_far, working};
use super::sought::{List, Sought};
use crate::refusal::Refusal;

/// The most connections that are kept of a reading: those that moved most. Of sockets of datagrams those that dropped most.
const BUSIEST: usize = 200;

/// The most threads of a process that are read.
const THREADS: usize = 500;

/// What was read at one time.
struct Reading {
    at_ns: u64,
    /// Bytes that each connection sent and received so far.
    so_far: HashMap<u64, [u64; 2]>,
    /// Of those that moved data since the first reading, or all sockets of datagrams.
    busiest: BTreeMap<u64, SocketRecord>,
    /// Of each process that holds one of these.
    threads: BTreeMap<u32, Threads>,
    /// Counters of datagrams of the network namespace, where these are watched.
    protocols: BTreeMap<String, i64>,
}

/// Watches the connections of the present network namespace.
pub struct Watcher {
    sought: Sought,
    is_udp: bool,
    diag: SockDiag,
    /// Who holds the busiest connections, by their inodes; absent where that is not seen.
    holders: BTreeMap<u32, Option<u32>>,
    /// The names of these.
    names: BTreeMap<u32, Option<String>>,
    readings: VecDeque<Reading>,
}

impl Watcher {
    /// Readings after the first that are looked back on.
    pub const STEPS: usize = 10;

    /// Of TCP connections, or of UDP sockets.
    pub fn open(sought: Sought, is_udp: bool) -> Result<Watcher, Refusal> {
        Ok(Watcher {
            sought,
            is_udp,
            diag: SockDiag::open().map_err(|error| error.to_string())?,
            holders: BTreeMap::new(),
            names: BTreeMap::new(),
            readings: VecDeque::new(),
        })
    }

    /// Reads all of them; returns how many did not move data, or less than the busiest.
    pub fn read(&mut self) -> Result<usize, Refusal> {
        let at_ns = monotonic_ns();
        let (list, mut protocols): (List, _) = match self.is_udp {
            true => (SockDiag::datagrams, protocols::now()),
            false => (SockDiag::connections, BTreeMap::new()),
        };
        protocols.retain(|name, _| name.starts_with("Udp"));
        let all = self.sought.find(&mut self.diag, list)?;
        let so_far: HashMap<u64, [u64; 2]> = all.iter().map(so_far).collect();
        // What came since the first reading has moved all of it meanwhile.
        let first = self.readings.front().map_or(&so_far, |first| &first.so_far);
        let grown = |one: &SocketRecord| {
            let was = first.get(&one.cookie).copied().unwrap_or_default();
            let now: u64 = so_far[&one.cookie].iter().sum();
            // The kernel keeps no bytes of one that both ends have closed.
            now.saturating_sub(was.iter().sum())
        };
        let is_busy = |one: &SocketRecord| self.is_udp || grown(one) > 0;
        let mut busiest: Vec<SocketRecord> = all.into_iter().filter(is_busy).collect();
        // Of many that move about as much the same ones stay, or none is read twice.
        let kept = self.readings.back().map(|last| &last.busiest);
        let is_kept = |one: &SocketRecord| kept.is_some_and(|of| of.contains_key(&one.cookie));
        let rank = |one: &SocketRecord| grown(one) << u32::from(is_kept(one));
        busiest.sort_by_key(|one| Reverse((rank(one), one.receive_queue, is_kept(one))));
        busiest.truncate(BUSIEST);
        self.find_holders(busiest.iter().map(|one| one.inode).collect());
        let processes: BTreeSet<u32> = self.holders.values().flatten().copied().collect();
        let threads = |of: u32| (of, programs::threads_of(of, THREADS));
        let rest = so_far.len().saturating_sub(busiest.len());
        self.readings.push_back(Reading {
            at_ns,
            threads: processes.into_iter().map(threads).collect(),
            protocols,
            so_far,
            busiest: busiest.into_iter().map(|one| (one.cookie, one)).collect(),
        });
        if self.readings.len() > Watcher::STEPS + 1 {
            self.readings.pop_front();
        }
        Ok(rest)
    }

    /// Looks through the processes where one of these sockets is new.
    fn find_holders(&mut self, inodes: BTreeSet<u32>) {
        self.holders.retain(|inode, _| inodes.contains(inode));
        if inodes.len() > self.holders.len() {
            let found = programs::holders(|inode| inodes.contains(&inode));
            let holder = |inode: u32| (inode, found.get(&inode).copied());
            self.holders = inodes.into_iter().map(holder).collect();
            let name = |process: &u32| (*process, programs::name_of(*process));
            self.names = self.holders.values().flatten().map(name).collect();
        }
    }

    /// The counters of datagrams at each reading, where these are watched.
    pub fn datagrams(&self) -> Option<Vec<Sample>> {
        let counters = |of: &Reading| Sample {
            at_ns: of.at_ns,
            protocols: of.protocols.clone(),
            ..Sample::default()
        };
        self.is_udp
            .then(|| self.readings.iter().map(counters).collect())
    }

    /// What was read of each connection that moved data and is there.
    pub fn busiest(&self) -> Vec<EndpointRecord> {
        let last = self.readings.back().into_iter();
        let busiest = last.flat_map(|last| last.busiest.values());
        busiest.filter_map(|one| self.record(one)).collect()
    }

    /// Absent where it was read once.
    fn record(&self, one: &SocketRecord) -> Option<EndpointRecord> {
        let readings = self.readings.iter().rev();
        let with = readings.map_while(|of| Some((of, of.busiest.get(&one.cookie)?)));
        let mut with: Vec<(&Reading, &SocketRecord)> = with.collect();
        with.reverse();
        let [(first, _), .., (last, _)] = with[..] else {
            return None;
        };
        let [was, now] = [first, last].map(|of| of.so_far[&one.cookie]);
        let process = self.holders.get(&one.inode).copied().flatten();
        let held = Held {
            sockets: vec![one.clone()],
            role: match self.is_udp {
                true => Role::Receiver,
                false => most(since(now, was)),
            },
            process,
            name: process.and_then(|process| self.names.get(&process)?.clone()),
            ..Held::default()
        };
        let [before, after] = [first, last].map(|of| of.threads.get(&process?));
        let works = before
            .zip(after)
            .map(|(before, after)| working(before, after));
        let mut read = Read::default();
        for (of, one) in with {
            let times = process.and_then(|process| of.threads.get(&process));
            let works = works.iter().flatten();
            read.sockets.push(vec![Some(one.clone())]);
            read.samples.push(Sample {
                at_ns: of.at_ns,
                threads: works.filter_map(|id| times?.get(id).cloned()).collect(),
                protocols: of.protocols.clone(),
                ..Sample::default()
            });
        }
        let lasting = read.keep_lasting(held.role);
        Some(held.record(&read, &lasting, None, &HostDescription::default()))
    }
}
