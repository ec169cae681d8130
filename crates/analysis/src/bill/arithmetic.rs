//! The arithmetic of a bill on the medians of its cells. Every figure and its interval come from the
//! same medians, so that the parts and the rest sum to the whole.

use bitcost_stats::{Interval, Side, estimate_interval};

use super::observed::{Observed, Quantity};
use super::parts::Way;
use super::plan::{Planned, WHOLE};

/// The system calls of a transaction at each endpoint: one sends, one receives.
const CALLS: f64 = 2.0;

/// The least relative change of a number by which a slope over it is taken.
const CHANGED: f64 = 0.1;

/// The medians of the cells.
pub struct Medians<'a> {
    observed: &'a Observed,
    medians: &'a [f64],
}

/// What a packet and an acknowledgement cost, in µs; absent where their number was not varied.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Slopes {
    packet: Option<f64>,
    acknowledgement: Option<f64>,
}

impl Medians<'_> {
    fn of(&self, label: &str, quantity: Quantity) -> Option<f64> {
        let mut values = self.observed.values.iter();
        let place = values.position(|(known, of, _)| known == label && *of == quantity)?;
        self.medians.get(place).copied()
    }

    /// The CPU time of the unchanged run.
    pub fn whole(&self) -> Option<f64> {
        self.of(WHOLE, Quantity::Cost)
    }

    /// The CPU time of wake-ups.
    fn wake_ups(&self, label: &str) -> Option<f64> {
        let each = self.observed.wake_us.as_ref().ok()?;
        Some(each * self.of(label, Quantity::WakeUps)?)
    }

    /// The CPU time of a cell without its wake-ups, which are a part of their own.
    fn work(&self, label: &str) -> Option<f64> {
        Some(self.of(label, Quantity::Cost)? - self.wake_ups(label).unwrap_or(0.0))
    }

    /// What a part costs; absent where that cannot be computed.
    pub fn cost(&self, planned: &Planned, all: &[Planned]) -> Option<f64> {
        match &planned.way {
            Way::Take(change) | Way::Aside(change) => {
                Some(self.work(planned.from)? - self.work(change.label)?)
            }
            Way::Add(change) => Some(self.of(change.label, Quantity::Cost)? - self.whole()?),
            Way::WakeUps => self.wake_ups(WHOLE),
            Way::Calls => Some(CALLS * self.observed.call_us.as_ref().ok()?),
            Way::Packets(_) => Some(self.slopes(all).packet? * self.of(WHOLE, Quantity::Packets)?),
            Way::Acknowledgements(_) => {
                let each = self.slopes(all).acknowledgement?;
                Some(each * self.of(WHOLE, Quantity::Acknowledgements)?)
            }
            Way::Missing(_) => None,
        }
    }

    /// How much a quantity of a cell differs from that of the unchanged run.
    fn change(&self, label: &str, quantity: Quantity) -> Option<f64> {
        Some(self.of(label, quantity)? - self.of(WHOLE, quantity)?)
    }

    /// The slopes by least squares through the unchanged run, over the cells whose packets or
    /// acknowledgements are varied.
    fn slopes(&self, all: &[Planned]) -> Slopes {
        let varies =
            |planned: &&Planned| matches!(planned.way, Way::Packets(_) | Way::Acknowledgements(_));
        let cells = all.iter().filter(varies).flat_map(Planned::changes);
        let points: Vec<[f64; 3]> = cells
            .filter_map(|change| {
                let cost = self.work(change.label)? - self.work(WHOLE)?;
                let packets = self.change(change.label, Quantity::Packets)?;
                let acks = self.change(change.label, Quantity::Acknowledgements);
                Some([packets, acks.unwrap_or(0.0), cost])
            })
            .collect();
        let is_varied = |of: usize, quantity| {
            let least = self.of(WHOLE, quantity).map(|whole| CHANGED * whole);
            let most = points.iter().map(|point| point[of].abs());
            least.is_some_and(|least| most.fold(0.0, f64::max) > least)
        };
        let varied = [
            is_varied(0, Quantity::Packets),
            is_varied(1, Quantity::Acknowledgements),
        ];
        least_squares(&points, varied)
    }
}

/// The slopes of the last number of each point over the first two, through 0; one that is not varied
/// is left out.
fn least_squares(points: &[[f64; 3]], varied: [bool; 2]) -> Slopes {
    let sum = |a: usize, b: usize| points.iter().map(|point| point[a] * point[b]).sum::<f64>();
    let alone = |of: usize| Some(sum(of, 2) / sum(of, of));
    match varied {
        [true, true] => {
            let determinant = sum(0, 0) * sum(1, 1) - sum(0, 1).powi(2);
            if determinant <= 1e-9 * sum(0, 0) * sum(1, 1) {
                return Slopes::default();
            }
            Slopes {
                packet: Some((sum(0, 2) * sum(1, 1) - sum(1, 2) * sum(0, 1)) / determinant),
                acknowledgement: Some(
                    (sum(1, 2) * sum(0, 0) - sum(0, 2) * sum(0, 1)) / determinant,
                ),
            }
        }
        [true, false] => Slopes {
            packet: alone(0),
            acknowledgement: None,
        },
        [false, true] => Slopes {
            packet: None,
            acknowledgement: alone(1),
        },
        [false, false] => Slopes::default(),
    }
}

/// A figure of the medians with its interval, from whole blocks that are resampled.
pub fn estimate(
    observed: &Observed,
    seed: u64,
    figure: impl Fn(&Medians) -> Option<f64>,
) -> Option<Interval> {
    let sides: Vec<Side> = observed
        .values
        .iter()
        .map(|(_, _, values)| &values[..])
        .collect();
    estimate_interval(&sides, seed, |medians| {
        figure(&Medians { observed, medians })
    })
}

#[cfg(test)]
mod tests {
    use bitcost_model::conditions::Conditions;
    use bitcost_model::record::Role;
    use bitcost_model::workload::Workload;

    use super::*;
    use crate::bill::parts::Run;
    use crate::bill::plan::plan;

    /// The parts of a run that works on each message, and what its sender measured in four blocks,
    /// where the work takes this long.
    fn measured(work_us: f64) -> (Vec<Planned>, Observed) {
        let mut conditions = Conditions::of(Workload::TcpStream);
        conditions.buffers.send_work_ns = 100;
        let parts = plan(&Run {
            conditions: &conditions,
            is_lab: true,
            mtu_bytes: 1500,
        });
        let mut values = Vec::new();
        let mut add = |label: &str, quantity, value: f64| {
            let blocks = (0..4).map(|block| (block, value + 0.01 * f64::from(block)));
            values.push((label.to_owned(), quantity, blocks.collect()));
        };
        let costs = [
            (WHOLE, 10.0),
            ("no work", 10.0),
            ("writev", 9.5),
            ("splice, MSG_TRUNC", 8.0),
            ("quarter of a packet", 12.0),
            ("low-water mark 1", 9.0),
            ("pfifo", 10.5),
        ];
        for (label, cost) in costs {
            let works = !["no work", "writev", "splice, MSG_TRUNC"].contains(&label);
            add(
                label,
                Quantity::Cost,
                cost + if works { work_us } else { 0.0 },
            );
            add(label, Quantity::WakeUps, 0.1);
        }
        add("eighth of a packet", Quantity::Cost, 14.0 + work_us);
        add("eighth of a packet", Quantity::WakeUps, 0.1);
        for (label, packets, acks) in [
            (WHOLE, 1.0, 1.0),
            ("quarter of a packet", 2.0, 1.0),
            ("eighth of a packet", 3.0, 1.0),
            ("low-water mark 1", 1.0, 0.5),
        ] {
            add(label, Quantity::Packets, packets);
            add(label, Quantity::Acknowledgements, acks);
        }
        let observed = Observed {
            end: Role::Sender,
            values,
            wake_us: Ok(2.0),
            call_us: Ok(0.1),
        };
        (parts, observed)
    }

    /// What each part costs, where it was measured.
    fn costs(work_us: f64) -> Vec<(&'static str, f64)> {
        let (parts, observed) = measured(work_us);
        let cost = |part: &Planned| {
            let found = estimate(&observed, 7, |medians| medians.cost(part, &parts))?;
            Some((part.part.name, found.value))
        };
        parts.iter().filter_map(cost).collect()
    }

    #[test]
    fn more_work_is_more_of_one_part_alone() {
        let (before, after) = (costs(0.0), costs(0.1));
        assert_eq!(before.len(), after.len());
        for ((name, before), (_, after)) in before.iter().zip(&after) {
            let more = if *name == "work" { 0.1 } else { 0.0 };
            assert!(
                (after - before - more).abs() < 1e-9,
                "{name}: {before} {after}"
            );
        }
        let of = |name: &str| before.iter().find(|one| one.0 == name).map(|one| one.1);
        let is = |name: &str, cost: f64| (of(name).expect(name) - cost).abs() < 1e-9;
        // The median of the four blocks is 0.015 above the first.
        assert!(is("wake_ups", 0.23), "{before:?}");
        assert!(
            (of("packets").expect("packets") - 2.0).abs() < 0.1,
            "{before:?}"
        );
        assert!(is("copies", 2.0) && is("system_calls", 0.5), "{before:?}");
    }

    #[test]
    fn a_part_whose_cell_has_no_runs_has_no_cost() {
        let (parts, mut observed) = measured(0.0);
        observed.values.retain(|(label, ..)| label != "writev");
        let calls = parts.iter().find(|part| part.part.name == "system_calls");
        let calls = calls.expect("system calls");
        let found = estimate(&observed, 7, |medians| medians.cost(calls, &parts));
        assert_eq!(found, None);
    }

    #[test]
    fn packets_and_acknowledgements_are_distinguished() {
        let point = |packets: f64, acks: f64| [packets, acks, 5.0 * packets + 2.0 * acks];
        let points = [point(1.0, 0.5), point(3.0, 1.0), point(0.1, -0.6)];
        let found = least_squares(&points, [true, true]);
        assert!((found.packet.expect("a slope") - 5.0).abs() < 1e-9);
        assert!((found.acknowledgement.expect("a slope") - 2.0).abs() < 1e-9);
        let alone = least_squares(&[[2.0, 0.0, 8.0]], [true, false]);
        assert_eq!((alone.packet, alone.acknowledgement), (Some(4.0), None));
    }
}
