//! The search for the fastest pair of modes: the pairs that are tried, and the pair that is chosen.
//!
//! It is a study with the modes as factors ([`crate::Single`]), whose runs are short.

use serde::Serialize;

use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::modes::{MODES, Mode};
use bitcost_model::record::Role;

use crate::varied::Varied;

/// Measured window of a try and its warm-up, in milliseconds.
pub const WINDOW_MS: u32 = 200;
const WARMUP_MS: u32 = 50;

/// The number of tries of each pair.
pub const TRIES: u32 = 3;

/// The relative difference under which two throughputs count as equal: the pair with the lower cost
/// is then chosen.
const SAME: f64 = 0.02;

/// The throughput and the cost of one short run of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Try {
    /// Delivered, in Mbit/s.
    pub throughput_mbps: f64,
    /// CPU time of the sender, in µs per KiB sent; absent: the CPU time cannot be attributed to one
    /// endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_service_demand_us_per_kib: Option<f64>,
    /// CPU time of the receiver, in µs per KiB received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_service_demand_us_per_kib: Option<f64>,
}

impl Try {
    /// CPU time of both endpoints, in µs per KiB.
    pub fn cpu_us_per_kib(&self) -> Option<f64> {
        Some(self.send_service_demand_us_per_kib? + self.receive_service_demand_us_per_kib?)
    }
}

/// A pair of modes and the results of its tries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The mode in which the sender hands over messages.
    pub send_mode: Mode,
    /// The mode in which the receiver takes them.
    pub receive_mode: Mode,
    /// The tries in their order.
    pub tries: Vec<Try>,
    /// The reason why the pair was ruled out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl Candidate {
    /// The median throughput of its tries, in Mbit/s; absent where the pair was ruled out.
    pub fn throughput_mbps(&self) -> Option<f64> {
        if self.refused.is_some() {
            return None;
        }
        middle(self.tries.iter().map(|a_try| a_try.throughput_mbps))
    }

    /// The median cost of its tries, in µs per KiB of both endpoints together.
    pub fn cpu_us_per_kib(&self) -> Option<f64> {
        middle(self.tries.iter().filter_map(Try::cpu_us_per_kib))
    }
}

/// The middle one of the numbers; of an even count the lower of the two.
fn middle(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len().checked_sub(1)? / 2).copied()
}

/// The modes of a run that are not searched for, because they were requested by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Whether the sender's mode was named.
    pub send_mode: bool,
    /// Whether the receiver's mode was named.
    pub receive_mode: bool,
}

/// The pairs of modes of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ModeSearch {
    /// The candidates in the order of the table of modes.
    pub candidates: Vec<Candidate>,
    /// Pairs that cannot carry the run's messages.
    impossible: Vec<(Mode, Mode)>,
}

impl ModeSearch {
    /// Every pair that the workload has and that carries the run's messages.
    pub fn new(conditions: &Conditions, named: Named, mtu_bytes: u32) -> ModeSearch {
        let send_modes = modes_of(
            Role::Sender,
            conditions.workload,
            named.send_mode.then_some(conditions.send_mode),
        );
        let receive_modes = modes_of(
            Role::Receiver,
            conditions.workload,
            named.receive_mode.then_some(conditions.receive_mode),
        );
        let mut search = ModeSearch {
            candidates: Vec::new(),
            impossible: Vec::new(),
        };
        for (send_mode, receive_mode) in pairs(&send_modes, &receive_modes) {
            let pair = Conditions {
                send_mode,
                receive_mode,
                ..conditions.clone()
            };
            if pair.check_modes(mtu_bytes).is_err() {
                search.impossible.push((send_mode, receive_mode));
                continue;
            }
            search.candidates.push(Candidate {
                send_mode,
                receive_mode,
                tries: Vec::new(),
                refused: None,
            });
        }
        search
    }

    /// The settings of each try: a short window, and no bound except time.
    pub fn settings(&self) -> [(&'static str, String); 3] {
        [
            ("duration_s", format!("{WINDOW_MS}ms")),
            ("warmup_s", format!("{WARMUP_MS}ms")),
            ("idle_baseline_s", "0".to_owned()),
        ]
    }

    /// The study of these pairs.
    pub fn varied(&self, workload: Workload) -> Varied {
        let test = workload.info().short_name;
        Varied {
            name: format!("test-{test}-modes"),
            title: format!("bitcost test {test}"),
            question: "Which pair of modes is the fastest?",
            factors: self.factors(),
        }
    }

    /// The factors of a study of these pairs, and the pairs that it leaves out.
    fn factors(&self) -> String {
        let all = || {
            let possible = self.candidates.iter();
            let possible = possible.map(|found| (found.send_mode, found.receive_mode));
            possible.chain(self.impossible.iter().copied())
        };
        let mut text = factor("send_mode", all().map(|(mode, _)| mode));
        text += &factor("receive_mode", all().map(|(_, mode)| mode));
        for (send_mode, receive_mode) in &self.impossible {
            text += &format!(
                "\n[[leave_out]]\nsend_mode = [\"{}\"]\nreceive_mode = [\"{}\"]\n",
                send_mode.name(),
                receive_mode.name()
            );
        }
        text
    }

    /// The candidates that were not ruled out, the fastest first.
    pub fn by_throughput(&self) -> Vec<usize> {
        let of = |index: &usize| self.candidates[*index].throughput_mbps();
        let mut order: Vec<usize> = (0..self.candidates.len())
            .filter(|index| of(index).is_some())
            .collect();
        order.sort_by(|a, b| of(b).unwrap_or(0.0).total_cmp(&of(a).unwrap_or(0.0)));
        order
    }

    /// The chosen pair: the one with the highest median throughput among those with the most tries,
    /// or a cheaper one with the same throughput; absent where all were ruled out.
    pub fn chosen(&self) -> Option<&Candidate> {
        let order: Vec<&Candidate> = self
            .by_throughput()
            .into_iter()
            .map(|index| &self.candidates[index])
            .collect();
        let most = order.iter().map(|candidate| candidate.tries.len()).max()?;
        let mut finalists = order
            .into_iter()
            .filter(|candidate| candidate.tries.len() == most);
        let best = finalists.next()?;
        let bar = best.throughput_mbps()? * (1.0 - SAME);
        let cost = |candidate: &Candidate| candidate.cpu_us_per_kib();
        let cheaper = |taken: &'_ Candidate, other: &Candidate| {
            cost(other).zip(cost(taken)).is_some_and(|(o, t)| o < t)
        };
        let same = finalists
            .filter(|candidate| candidate.throughput_mbps().is_some_and(|mbps| mbps >= bar));
        Some(same.fold(
            best,
            |taken, other| if cheaper(taken, other) { other } else { taken },
        ))
    }
}

/// The modes that a workload has at an endpoint; only `asked` where a mode was named.
fn modes_of(end: Role, workload: Workload, asked: Option<Mode>) -> Vec<Mode> {
    MODES
        .iter()
        .filter(|row| row.end == end && row.is_of(workload))
        .map(|row| row.mode)
        .filter(|mode| asked.is_none_or(|asked| asked == *mode))
        .collect()
}

fn pairs(senders: &[Mode], receivers: &[Mode]) -> Vec<(Mode, Mode)> {
    let of_sender = |sender: &Mode| {
        let sender = *sender;
        receivers.iter().map(move |receiver| (sender, *receiver))
    };
    senders.iter().flat_map(of_sender).collect()
}

/// A factor with these modes as levels, each once.
fn factor(name: &str, modes: impl Iterator<Item = Mode>) -> String {
    let mut levels: Vec<String> = Vec::new();
    for mode in modes {
        let level = format!("\"{}\"", mode.name());
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    format!(
        "\n[[factor]]\nname = \"{name}\"\nlevels = [{}]\n",
        levels.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(named: Named) -> ModeSearch {
        let conditions = Conditions {
            workload: Workload::UdpStream,
            message_size_bytes: 64,
            ..Conditions::default()
        };
        ModeSearch::new(&conditions, named, 1500)
    }

    fn add_try(candidate: &mut Candidate, throughput_mbps: f64, cpu: f64) {
        candidate.tries.push(Try {
            throughput_mbps,
            send_service_demand_us_per_kib: Some(cpu / 2.0),
            receive_service_demand_us_per_kib: Some(cpu / 2.0),
        });
    }

    #[test]
    fn every_pair_is_a_candidate() {
        let of = |end| modes_of(end, Workload::UdpStream, None).len();
        assert_eq!(
            search(Named::default()).candidates.len(),
            of(Role::Sender) * of(Role::Receiver)
        );
    }

    #[test]
    fn named_modes_and_impossible_pairs_are_not_searched() {
        let named = search(Named {
            send_mode: true,
            receive_mode: false,
        });
        assert!(
            named
                .candidates
                .iter()
                .all(|candidate| candidate.send_mode == Mode::Plain)
        );
        let large = Conditions {
            workload: Workload::UdpStream,
            message_size_bytes: 8192,
            ..Conditions::default()
        };
        let large = ModeSearch::new(&large, Named::default(), 1500);
        assert!(
            large
                .candidates
                .iter()
                .all(|candidate| candidate.send_mode != Mode::Gso)
        );
        assert!(large.impossible.iter().any(|(mode, _)| *mode == Mode::Gso));
    }

    #[test]
    fn the_fastest_is_chosen_or_one_as_fast_that_costs_less() {
        let mut search = search(Named::default());
        assert_eq!(search.chosen(), None);
        for (candidate, mbps) in search
            .candidates
            .iter_mut()
            .zip([10.0, 100.0, 99.5, 50.0, 200.0])
        {
            add_try(candidate, mbps, 1.0);
        }
        search.candidates[4].refused = Some("not here".into());
        for _ in 0..2 {
            add_try(&mut search.candidates[1], 100.0, 1.0);
            add_try(&mut search.candidates[2], 99.5, 0.5);
            add_try(&mut search.candidates[3], 300.0, 0.1);
        }
        // Two of three tries made it the fastest.
        assert_eq!(search.chosen(), Some(&search.candidates[3]));
        search.candidates[3].refused = Some("it broke".into());
        assert_eq!(search.chosen(), Some(&search.candidates[2]));
    }
}
