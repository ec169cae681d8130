//! CPU time of other programs, by the clocks of their processes: `/proc/PID/stat` of every process
//! that `/proc` shows (kernel doc: filesystems/proc, 1.1; proc_pid_stat(5)).
//!
//! The kernel scales user and system time of a process to the run time that its scheduler measured
//! (`cputime_adjust`), so their sum is exact to the tick that it is printed in. A process that ended
//! is in the times of the children that its parent waited for.

mod census;
mod own;

use std::collections::BTreeMap;

use bitcost_model::counters::{ForeignLoad, ForeignProgram};

pub use self::census::{Census, Process, parse};
pub use self::own::{Own, is_at, own_origin, parent_origin, process_of};

const NAMED: usize = 5;

impl Census {
    /// The CPU time that others than the run used since `earlier`.
    pub fn since(&self, earlier: &Census, own: &Own, ticks_per_second: u64) -> ForeignLoad {
        let ended = earlier.ended_before(self);
        let mut programs: BTreeMap<(String, u32), u64> = BTreeMap::new();
        for (pid, process) in &self.processes {
            if own.has_all_of(self, *pid) || process.is_shared_work() {
                continue;
            }
            let known = earlier.same(*pid, process);
            let before = |of: fn(&Process) -> u64| known.map_or(0, of);
            let mut ticks = match own.has_own_time_of(*pid) {
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
}

#[cfg(test)]
mod tests {
    use super::census::KERNEL_THREAD;
    use super::*;

    /// `(pid, parent, name, flags, own, children, started)`
    type Line<'a> = (u32, u32, &'a str, u64, u64, u64, u64);

    fn census(at_ns: u64, lines: &[Line]) -> Census {
        let process = |(pid, parent, name, flags, own, children, started): &Line| {
            let text = format!(
                "{pid} ({name}) S {parent} 1 1 0 -1 {flags} 9 9 9 9 {own} 0 {children} 0 20 0 1 0 {started} 4096"
            );
            Some((*pid, parse(&text)?))
        };
        Census {
            at_ns,
            processes: lines.iter().filter_map(process).collect(),
        }
    }

    /// A shell (10) runs bitcost (11) with its lab daemon (12) and two agents (13, 14).
    const RUN: [Line<'static>; 7] = [
        (1, 0, "init", 0, 100, 5000, 1),
        (2, 0, "kthreadd", KERNEL_THREAD, 1, 0, 1),
        (10, 1, "bash", 0, 50, 700, 2),
        (11, 10, "bitcost", 0, 20, 3, 90),
        (12, 11, "bitcost", 0, 20, 0, 91),
        (13, 11, "bitcost", 0, 20, 0, 92),
        (14, 11, "bitcost", 0, 20, 0, 92),
    ];

    fn load(later: &[Line], earlier: &[Line]) -> ForeignLoad {
        load_next_to(later, earlier, &[11])
    }

    /// The load next to a run with these processes that started its endpoints.
    fn load_next_to(later: &[Line], earlier: &[Line], roots: &[u32]) -> ForeignLoad {
        let now = census(2_000_000_000, later);
        let own = Own::of(&now, roots.to_vec(), Vec::new());
        now.since(&census(0, earlier), &own, 100)
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

    /// A service (70) plays the other end of this run by one agent (71), and another client's run by
    /// another (72), whose client is on this host, too (80, 81).
    #[test]
    fn agent_of_a_service_is_own_and_those_of_other_clients_are_not() {
        let lines = |ticks| {
            with(&[
                (70, 1, "bitcost", 0, 9 * ticks, 0, 3),
                (71, 70, "bitcost", 0, 200 * ticks, 0, 95),
                (72, 70, "bitcost", 0, 30 * ticks, 0, 96),
                (80, 10, "bitcost", 0, ticks, 0, 90),
                (81, 80, "bitcost", 0, 10 * ticks, 0, 91),
            ])
        };
        let of = |load: ForeignLoad| -> Vec<u32> {
            load.programs.iter().map(|program| program.pid).collect()
        };
        assert_eq!(
            of(load_next_to(&lines(1), &lines(0), &[11, 71])),
            [72, 81, 80]
        );
        assert_eq!(of(load(&lines(1), &lines(0)))[0], 71);
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
}
