//! CPU time of other programs, by the clocks of their processes: `/proc/PID/stat` of every process
//! that `/proc` shows (kernel doc: filesystems/proc, 1.1; proc_pid_stat(5)).
//!
//! The kernel scales user and system time of a process to the run time that its scheduler measured
//! (`cputime_adjust`), so their sum is exact to the tick that it is printed in. A process that ended
//! is in the times of the children that its parent waited for.

use std::collections::BTreeMap;

use bitcost_model::counters::{ForeignLoad, ForeignProgram};

use crate::read;

/// A kernel thread, in the flags of a process (`PF_KTHREAD`, linux/sched.h).
const KERNEL_THREAD: u64 = 0x0020_0000;

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

/// The most programs that a record names.
const NAMED: usize = 5;

/// The first process, which is nobody's child that ended for the run.
const FIRST: u32 = 1;

/// The kernel thread that starts all others (`kthreadd`, init/main.c). It is a process of the machine's
/// own PID namespace only, so `/proc` of a container does not show it.
const KERNEL_THREADS: u32 = 2;

/// One process as `/proc/PID/stat` shows it. Times are in ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    name: String,
    parent: u32,
    flags: u64,
    own_ticks: u64,
    children_ticks: u64,
    started_ticks: u64,
}

/// Every process at one time.
#[derive(Clone, Debug)]
pub struct Census {
    at_ns: u64,
    processes: BTreeMap<u32, Process>,
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

    /// Whether this has the processes of the whole machine.
    fn is_of_machine(&self) -> bool {
        let starter = self.processes.get(&KERNEL_THREADS);
        self.processes.contains_key(&FIRST)
            && starter.is_some_and(|process| process.flags & KERNEL_THREAD != 0)
    }

    /// The census of these texts of `/proc/PID/stat`, at a time.
    pub fn of_texts<'a>(at_ns: u64, texts: impl IntoIterator<Item = (u32, &'a str)>) -> Census {
        let processes = texts
            .into_iter()
            .filter_map(|(pid, text)| Some((pid, parse(text)?)));
        Census {
            at_ns,
            processes: processes.collect(),
        }
    }

    /// The CPU time that others than the run used since `earlier`. The run is the process `agent`
    /// (its number in `/proc`),
    /// its ancestors without their other children, and everything that its parent started, which
    /// are the lab daemon and the other agent.
    pub fn since(&self, earlier: &Census, agent: u32, ticks_per_second: u64) -> ForeignLoad {
        let own = Own::of(self, agent);
        let ended = earlier.ended_before(self);
        let mut programs: BTreeMap<(String, u32), u64> = BTreeMap::new();
        for (pid, process) in &self.processes {
            if own.has_all_of(self, *pid) || process.is_shared_work() {
                continue;
            }
            let known = earlier.same(*pid, process);
            let before = |of: fn(&Process) -> u64| known.map_or(0, of);
            let mut ticks = match own.ancestors.contains(pid) {
                true => 0,
                false => process
                    .own_ticks
                    .saturating_sub(before(|was| was.own_ticks)),
            };
            // Times of ended children also contain what these used before the earlier reading.
            let children = process
                .children_ticks
                .saturating_sub(before(|was| was.children_ticks));
            ticks += children.saturating_sub(ended.get(pid).copied().unwrap_or(0));
            if ticks > 0 {
                programs.insert((process.name.clone(), *pid), ticks);
            }
        }
        let ns = |ticks: u64| ticks * 1_000_000_000 / ticks_per_second.max(1);
        let cpu_ns = ns(programs.values().sum());
        let mut programs: Vec<ForeignProgram> = programs
            .into_iter()
            .map(|((name, pid), ticks)| ForeignProgram {
                name,
                pid,
                cpu_ns: ns(ticks),
            })
            .collect();
        programs.sort_by_key(|program| std::cmp::Reverse(program.cpu_ns));
        programs.truncate(NAMED);
        ForeignLoad {
            start_ns: earlier.at_ns,
            end_ns: self.at_ns,
            cpu_ns,
            programs,
        }
    }

    /// The process of this number, if it is the same process as the later one.
    fn same(&self, pid: u32, later: &Process) -> Option<&Process> {
        let process = self.processes.get(&pid)?;
        (process.started_ticks == later.started_ticks).then_some(process)
    }

    /// What processes that have ended before `later` had used at this reading, by the nearest
    /// ancestor that still runs, which is the one that can have waited for them.
    fn ended_before(&self, later: &Census) -> BTreeMap<u32, u64> {
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
    fn ancestors(&self, pid: u32) -> impl Iterator<Item = u32> + '_ {
        let parent = |pid: &u32| {
            let parent = self.processes.get(pid)?.parent;
            (parent != 0).then_some(parent)
        };
        // As many steps as there are processes: a reading of a changing table may have a circle.
        std::iter::successors(parent(&pid), parent).take(self.processes.len())
    }
}

/// The processes of the run.
struct Own {
    /// The process whose descendants belong to the run.
    root: u32,
    /// The ancestors of the agent: their own time is the run's, or nothing.
    ancestors: Vec<u32>,
}

impl Own {
    fn of(census: &Census, agent: u32) -> Own {
        let ancestors: Vec<u32> = census
            .ancestors(agent)
            .filter(|ancestor| *ancestor != FIRST)
            .collect();
        Own {
            root: ancestors.first().copied().unwrap_or(agent),
            ancestors,
        }
    }

    /// Whether everything of this process is the run's.
    fn has_all_of(&self, census: &Census, pid: u32) -> bool {
        pid == self.root || census.ancestors(pid).any(|ancestor| ancestor == self.root)
    }
}

impl Process {
    fn is_shared_work(&self) -> bool {
        self.flags & KERNEL_THREAD != 0
            && SHARED_WORK.iter().any(|start| self.name.starts_with(start))
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
    use super::*;

    /// `(pid, parent, name, flags, own, children, started)`
    type Line<'a> = (u32, u32, &'a str, u64, u64, u64, u64);

    fn census(at_ns: u64, lines: &[Line]) -> Census {
        let texts: Vec<(u32, String)> = lines
            .iter()
            .map(|(pid, parent, name, flags, own, children, started)| {
                let text = format!(
                    "{pid} ({name}) S {parent} 1 1 0 -1 {flags} 9 9 9 9 {own} 0 {children} 0 20 0 1 0 {started} 4096"
                );
                (*pid, text)
            })
            .collect();
        Census::of_texts(at_ns, texts.iter().map(|(pid, text)| (*pid, text.as_str())))
    }

    /// A shell (10) runs bitcost (11) with its lab daemon (12) and two agents (13, 14).
    const RUN: [Line<'static>; 7] = [
        (1, 0, "init", 0, 100, 5000, 1),
        (2, 0, "kthreadd", KERNEL_THREAD, 1, 0, 1),
        (10, 1, "bash", 0, 50, 700, 2),
        (11, 10, "bitcost", 0, 20, 3, 90),
        (12, 11, "exe", 0, 20, 0, 91),
        (13, 11, "exe", 0, 20, 0, 92),
        (14, 11, "exe", 0, 20, 0, 92),
    ];

    fn load(later: &[Line], earlier: &[Line]) -> ForeignLoad {
        census(2_000_000_000, later).since(&census(0, earlier), 14, 100)
    }

    fn with(more: &[Line<'static>]) -> Vec<Line<'static>> {
        RUN.into_iter().chain(more.iter().copied()).collect()
    }

    #[test]
    fn run_and_what_works_for_packets_is_not_foreign() {
        let work = |ticks| {
            let [init, kthreadd, bash, controller, daemon, sender, receiver] = RUN;
            let more = |line: Line<'static>| {
                (
                    line.0,
                    line.1,
                    line.2,
                    line.3,
                    line.4 + ticks,
                    line.5,
                    line.6,
                )
            };
            vec![
                init,
                kthreadd,
                more(bash),
                more(controller),
                more(daemon),
                more(sender),
                more(receiver),
                (20, 2, "napi/h1-eth0-260", KERNEL_THREAD, ticks, 0, 93),
                (21, 2, "ksoftirqd/1", KERNEL_THREAD, ticks, 0, 1),
                (22, 2, "kworker/0:1-events", KERNEL_THREAD, ticks, 0, 1),
                (23, 13, "watchdog of it", 0, ticks, 0, 93),
            ]
        };
        assert_eq!(load(&work(150), &work(0)).cpu_ns, 0);
    }

    #[test]
    fn other_programs_are_counted_and_the_largest_is_first() {
        let earlier = with(&[
            (30, 10, "burn (1) x", 0, 1000, 0, 3),
            (31, 1, "sshd", 0, 7, 0, 3),
            (32, 2, "kswapd0", KERNEL_THREAD, 7, 0, 1),
        ]);
        let later = with(&[
            (30, 10, "burn (1) x", 0, 1010, 0, 3),
            (31, 1, "sshd", 0, 7, 0, 3),
            (32, 2, "kswapd0", KERNEL_THREAD, 9, 0, 1),
            (40, 10, "new", 0, 3, 1, 200),
        ]);
        let load = load(&later, &earlier);
        assert_eq!((load.start_ns, load.end_ns), (0, 2_000_000_000));
        assert_eq!(load.cpu_ns, 160_000_000);
        let names: Vec<&str> = load
            .programs
            .iter()
            .map(|program| program.name.as_str())
            .collect();
        assert_eq!(names, ["burn (1) x", "new", "kswapd0"]);
        assert_eq!(load.programs[0].cpu_ns, 100_000_000);
    }

    #[test]
    fn programs_that_ended_count_with_what_they_used_meanwhile() {
        // A compiler of make ended; the shell waited for make. Before, they had used 400 ticks.
        let earlier = with(&[
            (50, 10, "make", 0, 100, 0, 5),
            (51, 50, "cc1", 0, 300, 0, 6),
        ]);
        let mut later = with(&[]);
        later[2].5 += 430;
        assert_eq!(load(&later, &earlier).cpu_ns, 300_000_000);
    }

    #[test]
    fn number_that_another_process_got_is_another_process() {
        let earlier = with(&[(60, 1, "old", 0, 900, 0, 5)]);
        let later = with(&[(60, 1, "new", 0, 4, 0, 300)]);
        assert_eq!(load(&later, &earlier).cpu_ns, 40_000_000);
    }

    #[test]
    fn what_is_not_a_process_is_absent() {
        assert_eq!(parse(""), None);
        assert_eq!(parse("1 (init) S"), None);
        assert!(
            parse("7 (a) b) R 1 1 1 0 -1 0 9 9 9 9 1 2 3 4 20 0 1 0 5 6").is_some_and(|process| {
                process.name == "a) b" && process.own_ticks == 3 && process.children_ticks == 7
            })
        );
    }

    #[test]
    fn a_container_s_processes_are_not_the_machine_s() {
        assert!(census(0, &RUN).is_of_machine());
        assert!(!census(0, &RUN[..1]).is_of_machine());
        let shell = [RUN[0], (2, 1, "kthreadd", 0, 1, 0, 1)];
        assert!(!census(0, &shell).is_of_machine());
    }

    #[test]
    fn work_of_this_machine_is_found() {
        let Some(before) = Census::take() else { return };
        let load = Census::take()
            .expect("as before")
            .since(&before, std::process::id(), 100);
        assert!(load.end_ns > load.start_ns && load.programs.len() <= NAMED);
    }
}
