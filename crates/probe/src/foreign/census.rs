//! Every process of the machine at one time, with its CPU time, and who started whom.

use std::collections::{BTreeMap, BTreeSet};

use crate::{programs, read};

/// A kernel thread, in the flags of a process (`PF_KTHREAD`, linux/sched.h).
pub(super) const KERNEL_THREAD: u64 = 0x0020_0000;

/// Starts of the names of kernel threads that may work for the run: those that handle packets,
/// interrupts, and what was put off. Whom they work for is not known.
const SHARED_WORK: [&str; 8] = [
    "napi/",
    "backlog_napi/",
    "ksoftirqd/",
    "kworker/",
    "rcu",
    "irq/",
    "migration/",
    "idle_inject/",
];

/// The first process, which is nobody's child that ended for the run.
pub(super) const FIRST: u32 = 1;

/// The kernel thread that starts all others (`kthreadd`, init/main.c). It is a process of the machine's
/// own PID namespace only, so `/proc` of a container does not show it.
const KERNEL_THREADS: u32 = 2;

/// One process as `/proc/PID/stat` shows it. Times are in ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub(super) name: String,
    pub(crate) parent: u32,
    flags: u64,
    pub(super) own_ticks: u64,
    pub(super) children_ticks: u64,
    pub(super) started_ticks: u64,
}

#[derive(Clone, Debug)]
pub struct Census {
    pub(super) at_ns: u64,
    pub(super) processes: BTreeMap<u32, Process>,
}

impl Census {
    /// Reads every process; absent where `/proc` shows only some of them: in a container with a
    /// separate `/proc`, and where it is mounted with `hidepid`. A node of a running lab has the
    /// `/proc` of its machine.
    pub fn take() -> Option<Census> {
        let read = |pid| parse(&read::text(&format!("/proc/{pid}/stat"))?);
        let now_ns = bitcost_sys::clock::monotonic_ns();
        let census = Census::of(now_ns, programs::processes, read);
        census.is_of_machine().then_some(census)
    }

    /// Every process of a list that may change meanwhile, none both by itself and in the times of the children of another one.
    pub fn of(
        at_ns: u64,
        list: impl Fn() -> BTreeSet<u32>,
        read: impl Fn(u32) -> Option<Process>,
    ) -> Census {
        // Children first, since numbers rise: what ends before it is read is in the times of what is read then.
        let numbers = list().into_iter().rev();
        let processes = numbers.filter_map(|pid| Some((pid, read(pid)?)));
        let mut census = Census {
            at_ns,
            processes: processes.collect(),
        };
        loop {
            let present = list();
            let is_ended = |pid: &u32| !present.contains(pid);
            let ended = census.processes.keys().copied().filter(is_ended);
            let ancestors: BTreeSet<u32> = ended.flat_map(|pid| census.ancestors(pid)).collect();
            let count = census.processes.len();
            census.processes.retain(|pid, _| present.contains(pid));
            if census.processes.len() == count {
                return census;
            }
            // One of these has waited for it, before or after it was read.
            for pid in ancestors {
                if let (Some(known), Some(now)) = (census.processes.get_mut(&pid), read(pid)) {
                    *known = now;
                }
            }
        }
    }

    pub(super) fn is_of_machine(&self) -> bool {
        let starter = self.processes.get(&KERNEL_THREADS);
        self.processes.contains_key(&FIRST)
            && starter.is_some_and(|process| process.flags & KERNEL_THREAD != 0)
    }

    /// The process of this number, if it is the same process as the later one.
    pub(super) fn same(&self, pid: u32, later: &Process) -> Option<&Process> {
        let process = self.processes.get(&pid)?;
        (process.started_ticks == later.started_ticks).then_some(process)
    }

    /// What processes that have ended before `later` had used at this reading, by the nearest
    /// ancestor that still runs, which is the one that can have waited for them.
    pub(super) fn ended_before(&self, later: &Census) -> BTreeMap<u32, u64> {
        let mut ended = BTreeMap::new();
        let runs = |pid: u32| {
            let process = later.processes.get(&pid);
            process.is_some_and(|process| self.same(pid, process).is_some())
        };
        for (pid, process) in &self.processes {
            if runs(*pid) {
                continue;
            }
            if let Some(ancestor) = self.ancestors(*pid).find(|ancestor| runs(*ancestor)) {
                *ended.entry(ancestor).or_insert(0) += process.own_ticks + process.children_ticks;
            }
        }
        ended
    }

    /// The ancestors of a process, the nearest first.
    pub(super) fn ancestors(&self, pid: u32) -> impl Iterator<Item = u32> + '_ {
        let parent = |pid: &u32| {
            let parent = self.processes.get(pid)?.parent;
            (parent != 0).then_some(parent)
        };
        // As many steps as there are processes: a reading of a changing table may have a circle.
        std::iter::successors(parent(&pid), parent).take(self.processes.len())
    }
}

impl Process {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn is_of_kernel(&self) -> bool {
        self.flags & KERNEL_THREAD != 0
    }

    pub(super) fn is_shared_work(&self) -> bool {
        self.is_of_kernel() && SHARED_WORK.iter().any(|start| self.name.starts_with(start))
    }
}

/// The line of a process; absent if it is not one.
///
/// The name is in parentheses and may contain any character, so the last parenthesis ends it.
pub fn parse(text: &str) -> Option<Process> {
    let (head, rest) = text.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    // The first of them is field 3 of the line.
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Process {
        name: name.to_owned(),
        parent: u32::try_from(number(4)?).ok()?,
        flags: number(9)?,
        own_ticks: number(14)?.saturating_add(number(15)?),
        children_ticks: number(16)?.saturating_add(number(17)?),
        started_ticks: number(22)?,
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// 5 starts 6, which starts 7. 7 ends before the access with one number, and 6 before that with another one.
    #[test]
    fn what_ends_while_processes_are_read_is_counted_once() {
        for (first, second) in
            (0..12).flat_map(|first| (first..12).map(move |second| (first, second)))
        {
            let accesses = Cell::new(0);
            let ended = || {
                let access = accesses.replace(accesses.get() + 1);
                [first, second].map(|end| access >= end)
            };
            let list = || match ended() {
                [false, _] => BTreeSet::from([5, 6, 7]),
                [true, false] => BTreeSet::from([5, 6]),
                [true, true] => BTreeSet::from([5]),
            };
            let read = |pid| {
                let (own, children, is_there) = match (pid, ended()) {
                    (5, [_, true]) => (0, 400, true),
                    (5, _) => (0, 0, true),
                    (6, [is_last, is_ended]) => (100, if is_last { 300 } else { 0 }, !is_ended),
                    (_, [is_ended, _]) => (300, 0, !is_ended),
                };
                let parent = pid - 1;
                let text = format!(
                    "{pid} (a) S {parent} 1 1 0 -1 0 9 9 9 9 {own} 0 {children} 0 20 0 1 0 7"
                );
                parse(&text).filter(|_| is_there)
            };
            let census = Census::of(0, list, read);
            let ticks = census
                .processes
                .values()
                .map(|process| process.own_ticks + process.children_ticks);
            assert_eq!(ticks.sum::<u64>(), 400, "{first} {second} {census:?}");
        }
    }
}
