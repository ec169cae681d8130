//! Every process of the machine at one time, with its CPU time, and who started whom.

use std::collections::BTreeMap;

use crate::read;

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
        let at_ns = bitcost_sys::clock::monotonic_ns();
        let numbers = std::fs::read_dir("/proc").ok()?.filter_map(|entry| {
            let name = entry.ok()?.file_name();
            name.to_str()?.parse::<u32>().ok()
        });
        let of = |pid| Some((pid, parse(&read::text(&format!("/proc/{pid}/stat"))?)?));
        let processes: BTreeMap<u32, Process> = numbers.filter_map(of).collect();
        let census = Census { at_ns, processes };
        census.is_of_machine().then_some(census)
    }

    pub(super) fn is_of_machine(&self) -> bool {
        let starter = self.processes.get(&KERNEL_THREADS);
        self.processes.contains_key(&FIRST)
            && starter.is_some_and(|process| process.flags & KERNEL_THREAD != 0)
    }

    pub fn of_texts<'a>(at_ns: u64, texts: impl IntoIterator<Item = (u32, &'a str)>) -> Census {
        let processes = texts
            .into_iter()
            .filter_map(|(pid, text)| Some((pid, parse(text)?)));
        Census {
            at_ns,
            processes: processes.collect(),
        }
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
