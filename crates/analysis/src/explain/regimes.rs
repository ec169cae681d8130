//! Two regimes of one cell: its runs, or parts of them, by what their packets carry.

use bitcost_model::units::plain;
use bitcost_stats::{gap, median};

use super::regime::Regime;

/// A run is of a regime that it had for this share of its time.
const WHOLE: f64 = 0.9;

/// The least difference of rate or cost, relative to the lower one, for which two regimes are told.
const DIFFERENCE: f64 = 0.1;

/// One of two regimes of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Numbers of the runs that are wholly of it, from 1.
    pub runs: Vec<u64>,
    /// Its share of the time of all runs.
    pub share: f64,
    /// Medians of its runs, or, where none is wholly of it, of the parts of runs.
    pub regime: Regime,
}

/// A cell in two regimes.
#[derive(Clone, Debug, PartialEq)]
pub struct Regimes {
    /// The regime in which packets carry less, and the other one.
    pub groups: [Group; 2],
    /// Numbers of the runs that had both, from 1.
    pub mixed: Vec<u64>,
}

impl Regimes {
    /// The two regimes of these runs, each given by its number and what [`super::regimes`] found;
    /// absent where there is one.
    pub fn of(runs: &[(u64, Vec<Regime>)]) -> Option<Regimes> {
        let parts = || runs.iter().flat_map(|(_, parts)| parts);
        let carried: Vec<f64> = parts().map(|part| part.bytes_per_packet).collect();
        let cut = gap(&carried)?;
        let time: f64 = parts().map(|part| part.share).sum();
        let group = |is_higher: bool| {
            let is_of = |part: &&Regime| (part.bytes_per_packet > cut) == is_higher;
            let share = |parts: &[Regime]| -> f64 {
                parts.iter().filter(is_of).map(|part| part.share).sum()
            };
            let whole = runs.iter().filter(|(_, parts)| share(parts) >= WHOLE);
            let numbers: Vec<u64> = whole.clone().map(|(run, _)| *run).collect();
            let used: Vec<&Regime> = match numbers.is_empty() {
                true => parts().filter(is_of).collect(),
                false => whole
                    .flat_map(|(_, parts)| parts.iter().filter(is_of))
                    .collect(),
            };
            Some(Group {
                runs: numbers,
                share: runs.iter().map(|(_, parts)| share(parts)).sum::<f64>() / time,
                regime: middle(&used)?,
            })
        };
        let groups = [group(false)?, group(true)?];
        if !differ(&groups) {
            return None;
        }
        let is_mixed = |run: &&u64| !groups.iter().any(|group| group.runs.contains(run));
        let mixed = runs.iter().map(|(run, _)| run).filter(is_mixed).copied();
        Some(Regimes {
            mixed: mixed.collect(),
            groups,
        })
    }

    /// The regime of which most runs are, whose figures stand for the cell; absent where each run had
    /// both.
    pub fn main(&self) -> Option<&Group> {
        let [lower, higher] = &self.groups;
        let main = match higher.runs.len() > lower.runs.len() {
            true => higher,
            false => lower,
        };
        (!main.runs.is_empty()).then_some(main)
    }

    /// Whether packets are full in the regime of a run; absent for a run that had both.
    pub fn is_full(&self, run: u64) -> Option<bool> {
        let mut groups = self.groups.iter();
        let own = groups.find(|group| group.runs.contains(&run))?;
        Some(own.regime.is_full)
    }

    /// The share of the time of all runs that the figures of the cell are not of.
    pub fn left_out(&self) -> f64 {
        self.main().map_or(1.0, |main| 1.0 - main.share)
    }

    /// `two regimes: 10.4 Gbit/s in 8 runs (one message a packet; 0.55 + 0.1 µs/KiB), 18.1 Gbit/s in 2
    /// runs (window-limited, full packets; 0.16 + 0.15 µs/KiB)`.
    pub fn sentence(&self) -> String {
        format!("two regimes: {}", self.said())
    }

    /// The sentence without its first words.
    pub fn said(&self) -> String {
        let is_by_runs = self.mixed.is_empty();
        let said = |group: &Group| {
            let place = match is_by_runs {
                true if group.runs.len() == 1 => "in 1 run".to_owned(),
                true => format!("in {} runs", group.runs.len()),
                false => format!("in {:.0} % of the time", 100.0 * group.share),
            };
            let Regime { mbps, costs, .. } = group.regime;
            let cost = match costs {
                [Some(send), Some(receive)] => {
                    format!("; {} + {} µs/KiB", plain(send), plain(receive))
                }
                _ => String::new(),
            };
            format!("{} {place} ({}{cost})", rate(mbps), group.regime.words())
        };
        let [lower, higher] = self.groups.each_ref().map(said);
        let unknown = match self
            .groups
            .iter()
            .any(|group| group.regime.window_limited.is_some())
        {
            true => "",
            false => {
                "; known by bytes per packet alone, because the kernel does not report what limits the connection"
            }
        };
        format!("{lower}, {higher}{unknown}")
    }
}

/// Three significant digits of a rate.
fn rate(mbps: f64) -> String {
    match mbps >= 1000.0 {
        true => format!("{} Gbit/s", plain(mbps / 1000.0)),
        false => format!("{} Mbit/s", plain(mbps)),
    }
}

fn middle(parts: &[&Regime]) -> Option<Regime> {
    let of = |value: &dyn Fn(&Regime) -> Option<f64>| {
        let values: Vec<f64> = parts.iter().filter_map(|part| value(part)).collect();
        median(&values)
    };
    let first = parts.first()?;
    let full = parts.iter().filter(|part| part.is_full).count();
    Some(Regime {
        share: of(&|part| Some(part.share))?,
        mbps: of(&|part| Some(part.mbps))?,
        costs: [of(&|part| part.costs[0]), of(&|part| part.costs[1])],
        bytes_per_packet: of(&|part| Some(part.bytes_per_packet))?,
        message_bytes: first.message_bytes,
        window_limited: of(&|part| part.window_limited),
        buffer_limited: of(&|part| part.buffer_limited),
        is_full: 2 * full > parts.len(),
    })
}

/// Whether the rates or the costs of two regimes differ.
fn differ(groups: &[Group; 2]) -> bool {
    let [one, other] = groups.each_ref().map(|group| group.regime);
    let sum = |regime: &Regime| Some(regime.costs[0]? + regime.costs[1]?);
    let apart = |a: f64, b: f64| a.max(b) >= (1.0 + DIFFERENCE) * a.min(b);
    apart(one.mbps, other.mbps)
        || sum(&one)
            .zip(sum(&other))
            .is_some_and(|(one, other)| apart(one, other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regime(share: f64, gbps: f64, bytes_per_packet: f64) -> Regime {
        let is_full = bytes_per_packet > 12_288.0;
        Regime {
            share,
            mbps: 1000.0 * gbps,
            costs: [Some(4.0 / gbps), Some(2.0 / gbps)],
            bytes_per_packet,
            message_bytes: 8192.0,
            window_limited: Some(if is_full { 0.7 } else { 0.02 }),
            buffer_limited: Some(0.0),
            is_full,
        }
    }

    fn whole(runs: &[(f64, f64)]) -> Vec<(u64, Vec<Regime>)> {
        let run = |(gbps, bytes): &(f64, f64)| vec![regime(1.0, *gbps, *bytes)];
        (1..).zip(runs.iter().map(run)).collect()
    }

    #[test]
    fn runs_of_two_regimes_are_told_with_their_costs() {
        let mut runs = vec![(10.4, 4900.0); 8];
        runs.extend([(18.1, 40_000.0), (18.1, 38_000.0)]);
        let found = Regimes::of(&whole(&runs)).expect("two regimes");
        assert_eq!(found.groups[1].runs, [9, 10]);
        assert_eq!(found.main().map(|main| main.runs.len()), Some(8));
        assert_eq!(found.is_full(9), Some(true));
        assert_eq!(
            found.sentence(),
            "two regimes: 10.4 Gbit/s in 8 runs (one message a packet; 0.385 + 0.192 µs/KiB), 18.1 Gbit/s in 2 runs (window-limited, full packets; 0.221 + 0.110 µs/KiB)"
        );
    }

    #[test]
    fn a_run_that_changes_has_no_figure_for_the_cell() {
        let parts = vec![regime(0.6, 3.8, 5000.0), regime(0.4, 13.0, 15_000.0)];
        let found = Regimes::of(&[(1, parts)]).expect("two regimes");
        assert_eq!((found.main(), &found.mixed[..]), (None, &[1][..]));
        assert!(
            found
                .sentence()
                .starts_with("two regimes: 3.80 Gbit/s in 60 % of the time (one message a packet")
        );
    }

    #[test]
    fn a_kernel_without_the_shares_is_named() {
        let mut runs = whole(&[(10.0, 5000.0), (30.0, 40_000.0)]);
        for regime in runs.iter_mut().flat_map(|(_, parts)| parts) {
            (regime.window_limited, regime.buffer_limited) = (None, None);
        }
        let said = Regimes::of(&runs).expect("two regimes").sentence();
        assert!(said.contains("30.0 Gbit/s in 1 run (full packets"));
        assert!(said.ends_with("does not report what limits the connection"));
    }

    #[test]
    fn one_regime_or_two_that_make_no_difference_are_not_told() {
        // Recorded on an AMD virtual machine: 32 KiB of receive buffer, 8 KiB messages.
        let one = [
            (6.1, 4930.0),
            (5.5, 4720.0),
            (6.3, 4750.0),
            (5.3, 5080.0),
            (7.7, 6900.0),
        ];
        assert_eq!(Regimes::of(&whole(&one)), None);
        let mut equal = whole(&[(9.4, 5000.0), (9.4, 40_000.0)]);
        equal[1].1[0].costs = equal[0].1[0].costs;
        assert_eq!(Regimes::of(&equal), None);
    }
}
