//! The search for the fastest pair of modes: which pairs are tried, in which order, and which one is taken.
//!
//! Every pair is tried once; the best few, and the honest pair, are tried again. Pure: the runs are another's.

use serde::Serialize;

use crate::conditions::Conditions;
use crate::modes::{self, MODES, Mode};
use crate::plan::{Plan, PlannedRun, shuffled};
use crate::record::Role;
use crate::study::Cell;

/// Measured window of a try, in milliseconds, and what comes before it.
pub const WINDOW_MS: u32 = 200;
const WARMUP_MS: u32 = 50;

/// Pairs that are tried again, beside the honest one, and how many times each.
const FINALISTS: usize = 3;
const MORE_TRIES: u32 = 2;

/// Pairs whose throughput differs by less deliver the same: the one that costs less is taken.
const SAME: f64 = 0.02;

/// What one short run of a pair delivered and cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Try {
    /// Delivered, in Mbit/s.
    pub throughput_mbps: f64,
    /// CPU time of the sender, in µs per KiB sent; absent: the ends' time cannot be told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_service_demand_us_per_kib: Option<f64>,
    /// CPU time of the receiver, in µs per KiB received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_service_demand_us_per_kib: Option<f64>,
}

impl Try {
    /// CPU time of both ends, in µs per KiB.
    pub fn cpu_us_per_kib(&self) -> Option<f64> {
        Some(self.send_service_demand_us_per_kib? + self.receive_service_demand_us_per_kib?)
    }
}

/// A pair of modes and what became of its tries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// How the sender hands over messages.
    pub send_mode: Mode,
    /// How the receiver takes them.
    pub receive_mode: Mode,
    /// In their order.
    pub tries: Vec<Try>,
    /// Why it is out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl Candidate {
    /// The median of what its tries delivered, in Mbit/s; absent where it is out.
    pub fn throughput_mbps(&self) -> Option<f64> {
        if self.refused.is_some() {
            return None;
        }
        middle(self.tries.iter().map(|a_try| a_try.throughput_mbps))
    }

    /// The median of what its tries cost, in µs per KiB of both ends together.
    pub fn cpu_us_per_kib(&self) -> Option<f64> {
        middle(self.tries.iter().filter_map(Try::cpu_us_per_kib))
    }
}

/// The middle one of some numbers; of an even count the lower of the two.
fn middle(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len().checked_sub(1)? / 2).copied()
}

/// Which modes of a run are not searched for, because they were asked for by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The sender's.
    pub send_mode: bool,
    /// The receiver's.
    pub receive_mode: bool,
}

/// The candidates of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ModeSearch {
    /// In the order of the table of modes.
    pub candidates: Vec<Candidate>,
    conditions: Conditions,
    /// Of the order of each round.
    pub seed: u64,
}

impl ModeSearch {
    /// Every pair that the workload has and that carries the run's messages.
    pub fn new(conditions: &Conditions, named: Named, mtu_bytes: u32, seed: u64) -> ModeSearch {
        let of_end = |end: Role, asked: Mode, is_named: bool| {
            let of = MODES.iter().filter(move |row| row.end == end && (!is_named || row.mode == asked));
            of.map(|row| row.mode)
        };
        let mut candidates = Vec::new();
        for send_mode in of_end(Role::Sender, conditions.send_mode, named.send_mode) {
            for receive_mode in of_end(Role::Receiver, conditions.receive_mode, named.receive_mode) {
                let pair = Conditions { send_mode, receive_mode, ..conditions.clone() };
                if modes::check(&pair, mtu_bytes).is_ok() {
                    candidates.push(Candidate { send_mode, receive_mode, tries: Vec::new(), refused: None });
                }
            }
        }
        ModeSearch { candidates, conditions: conditions.clone(), seed }
    }

    /// The runs that try every pair once. The number of a run is its candidate's.
    pub fn first_round(&self) -> Plan {
        self.plan((0..self.candidates.len()).collect(), 0)
    }

    /// The runs that try the best pairs, and the honest one, again.
    pub fn later_rounds(&self) -> Vec<Plan> {
        let mut best = self.by_throughput();
        best.truncate(FINALISTS);
        let is_honest = |index: &usize| {
            let candidate = &self.candidates[*index];
            (candidate.send_mode, candidate.receive_mode) == (Mode::Plain, Mode::Plain) && !best.contains(index)
        };
        let honest: Vec<usize> = (0..self.candidates.len()).filter(is_honest).collect();
        best.extend(honest.into_iter().filter(|index| self.candidates[*index].refused.is_none()));
        (1..=MORE_TRIES).map(|round| self.plan(best.clone(), round)).collect()
    }

    fn plan(&self, candidates: Vec<usize>, round: u32) -> Plan {
        let cells = candidates.iter().map(|index| {
            let Candidate { send_mode, receive_mode, .. } = self.candidates[*index];
            let conditions = Conditions {
                send_mode,
                receive_mode,
                stop_bytes: None,
                stop_messages: None,
                idle_baseline_ms: Some(0),
                warmup_ms: WARMUP_MS,
                duration_ms: WINDOW_MS,
                ..self.conditions.clone()
            };
            Cell { levels: Vec::new(), conditions }
        });
        let cells: Vec<Cell> = cells.collect();
        let order = shuffled(cells.len(), self.seed, round).into_iter();
        let runs = order.map(|cell| PlannedRun { index: candidates[cell] as u32, block: round, cell }).collect();
        Plan { seed: self.seed, blocks: 1, lengths: None, cells, runs }
    }

    /// The candidates that are not out, the fastest first.
    pub fn by_throughput(&self) -> Vec<usize> {
        let of = |index: &usize| self.candidates[*index].throughput_mbps();
        let mut order: Vec<usize> = (0..self.candidates.len()).filter(|index| of(index).is_some()).collect();
        order.sort_by(|a, b| of(b).unwrap_or(0.0).total_cmp(&of(a).unwrap_or(0.0)));
        order
    }

    /// The pair to take: the one with the highest median throughput among those that were tried most, or a
    /// cheaper one that delivers the same; absent where all are out.
    pub fn chosen(&self) -> Option<&Candidate> {
        let order: Vec<&Candidate> = self.by_throughput().into_iter().map(|index| &self.candidates[index]).collect();
        let most = order.iter().map(|candidate| candidate.tries.len()).max()?;
        let mut finalists = order.into_iter().filter(|candidate| candidate.tries.len() == most);
        let best = finalists.next()?;
        let bar = best.throughput_mbps()? * (1.0 - SAME);
        let cost = |candidate: &Candidate| candidate.cpu_us_per_kib();
        let cheaper =
            |taken: &'_ Candidate, other: &Candidate| cost(other).zip(cost(taken)).is_some_and(|(o, t)| o < t);
        let same = finalists.filter(|candidate| candidate.throughput_mbps().is_some_and(|mbps| mbps >= bar));
        Some(same.fold(best, |taken, other| if cheaper(taken, other) { other } else { taken }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::Workload;

    fn search(named: Named) -> ModeSearch {
        let conditions = Conditions { workload: Workload::UdpStream, message_size_bytes: 64, ..Conditions::default() };
        ModeSearch::new(&conditions, named, 1500, 7)
    }

    fn tried(candidate: &mut Candidate, throughput_mbps: f64, cpu: f64) {
        candidate.tries.push(Try {
            throughput_mbps,
            send_service_demand_us_per_kib: Some(cpu / 2.0),
            receive_service_demand_us_per_kib: Some(cpu / 2.0),
        });
    }

    #[test]
    fn every_pair_is_tried_once_and_in_no_order_of_its_own() {
        let search = search(Named::default());
        let of = |end| MODES.iter().filter(|row| row.end == end && row.is_of(Workload::UdpStream)).count();
        assert_eq!(search.candidates.len(), of(Role::Sender) * of(Role::Receiver));
        let plan = search.first_round();
        let mut runs: Vec<u32> = plan.runs.iter().map(|run| run.index).collect();
        assert!(!runs.is_sorted());
        runs.sort_unstable();
        assert!(runs.into_iter().eq(0..search.candidates.len() as u32));
        for run in &plan.runs {
            let (candidate, conditions) = (&search.candidates[run.index as usize], &plan.cells[run.cell].conditions);
            assert_eq!((conditions.send_mode, conditions.receive_mode), (candidate.send_mode, candidate.receive_mode));
            assert_eq!(conditions.message_size_bytes, 64);
        }
    }

    #[test]
    fn what_was_named_and_what_cannot_carry_the_message_is_not_searched() {
        let named = search(Named { send_mode: true, receive_mode: false });
        assert!(named.candidates.iter().all(|candidate| candidate.send_mode == Mode::Plain));
        let large = Conditions { workload: Workload::UdpStream, message_size_bytes: 8192, ..Conditions::default() };
        let large = ModeSearch::new(&large, Named::default(), 1500, 7);
        assert!(large.candidates.iter().all(|candidate| candidate.send_mode != Mode::Gso));
    }

    #[test]
    fn the_fastest_is_taken_or_one_as_fast_that_costs_less() {
        let mut search = search(Named::default());
        assert_eq!(search.chosen(), None);
        for (candidate, mbps) in search.candidates.iter_mut().zip([10.0, 100.0, 99.5, 50.0, 200.0]) {
            tried(candidate, mbps, 1.0);
        }
        search.candidates[4].refused = Some("not here".into());
        let rounds = search.later_rounds();
        assert_eq!(rounds.len(), MORE_TRIES as usize);
        let mut again: Vec<u32> = rounds[0].runs.iter().map(|run| run.index).collect();
        again.sort_unstable();
        assert_eq!(again, [0, 1, 2, 3]);
        for _ in 0..2 {
            tried(&mut search.candidates[1], 100.0, 1.0);
            tried(&mut search.candidates[2], 99.5, 0.5);
            tried(&mut search.candidates[3], 300.0, 0.1);
        }
        // Two of three tries made it the fastest.
        assert_eq!(search.chosen(), Some(&search.candidates[3]));
        search.candidates[3].refused = Some("it broke".into());
        assert_eq!(search.chosen(), Some(&search.candidates[2]));
    }
}
