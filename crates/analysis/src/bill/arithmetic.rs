//! The arithmetic of a bill on the medians of its cells. Every figure and its interval come from the
//! same medians, so that the parts and the rest sum to the whole.

use bitcost_stats::{Interval, Side, estimate_interval, median};

use super::observed::{Observed, Quantity};
use super::parts::Way;
use super::plan::{Planned, WHOLE};

/// The system calls of a transaction at each endpoint: one sends, one receives.
const CALLS: f64 = 2.0;

/// The least relative change of a number by which a slope over it is taken.
const CHANGED: f64 = 0.1;

/// The factor by which two slopes are less certain than one alone, and from which they are not distinguished: the variance
/// inflation factor of regression.
const INFLATION: f64 = 10.0;

/// The medians of the cells.
#[derive(Clone, Copy)]
pub struct Medians<'a> {
    observed: &'a Observed,
    medians: &'a [f64],
    /// Whether the slopes over packets and over acknowledgements are known.
    varied: [bool; 2],
    /// Which figure of the host constants counts.
    at: usize,
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
        Some(each[self.at] * self.of(label, Quantity::WakeUps)?)
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
            Way::Calls => Some(CALLS * self.observed.call_us.as_ref().ok()?[self.at]),
            Way::Packets(_) => {
                let [each, _] = slopes(&self.points(all), self.varied);
                Some(each? * self.of(WHOLE, Quantity::Packets)?)
            }
            Way::FewerPackets(change) => {
                let saved = self.work(planned.from)? - self.work(change.label)?;
                let packets = |label| self.of(label, Quantity::Packets);
                let fewer = packets(planned.from)? - packets(change.label)?;
                let all = packets(WHOLE)?;
                (fewer > CHANGED * all).then(|| saved / fewer * all)
            }
            Way::Acknowledgements(_) => {
                let [_, each] = slopes(&self.points(all), self.varied);
                Some(each? * self.of(WHOLE, Quantity::Acknowledgements)?)
            }
            Way::Missing(_) => None,
        }
    }

    /// How a cell differs from another one: in packets, in acknowledgements, in CPU time.
    fn point(&self, from: &str, to: &str) -> Option<[f64; 3]> {
        let more = |quantity| Some(self.of(to, quantity)? - self.of(from, quantity)?);
        let acks = more(Quantity::Acknowledgements).unwrap_or(0.0);
        let cost = self.work(to)? - self.work(from)?;
        Some([more(Quantity::Packets)?, acks, cost])
    }

    /// How the cells whose packets or acknowledgements are varied differ from the one that they start from.
    fn points(&self, all: &[Planned]) -> Vec<[f64; 3]> {
        let varies =
            |planned: &&Planned| matches!(planned.way, Way::Packets(_) | Way::Acknowledgements(_));
        let of = |planned: &Planned| -> Vec<[f64; 3]> {
            let changes = planned.changes().iter();
            changes
                .filter_map(|change| self.point(planned.from, change.label))
                .collect()
        };
        all.iter().filter(varies).flat_map(of).collect()
    }

    /// Whether packets and acknowledgements were varied; acknowledgements that change with the packets count as not
    /// varied, so that their cost is in that of packets.
    fn varied(&self, all: &[Planned]) -> [bool; 2] {
        let points = self.points(all);
        let is_varied = |of: usize, quantity| {
            let least = self.of(WHOLE, quantity).map(|whole| CHANGED * whole);
            let most = points.iter().map(|point| point[of].abs());
            least.is_some_and(|least| most.fold(0.0, f64::max) > least)
        };
        let packets = is_varied(0, Quantity::Packets);
        let acks = is_varied(1, Quantity::Acknowledgements);
        [packets, acks && !(packets && are_together(&points))]
    }
}

/// The sum of the products of two numbers of each point.
fn sum(points: &[[f64; 3]], a: usize, b: usize) -> f64 {
    points.iter().map(|point| point[a] * point[b]).sum()
}

fn determinant(points: &[[f64; 3]]) -> f64 {
    sum(points, 0, 0) * sum(points, 1, 1) - sum(points, 0, 1).powi(2)
}

/// Whether the first two numbers of the points change together.
fn are_together(points: &[[f64; 3]]) -> bool {
    INFLATION * determinant(points) < sum(points, 0, 0) * sum(points, 1, 1)
}

/// The slopes of the last number of each point over the first two, by least squares through 0; one that is not varied is
/// left out.
fn slopes(points: &[[f64; 3]], varied: [bool; 2]) -> [Option<f64>; 2] {
    let sum = |a: usize, b: usize| sum(points, a, b);
    let alone = |of: usize| Some(sum(of, 2) / sum(of, of)).filter(|slope| slope.is_finite());
    match varied {
        [true, true] => {
            let over = |of: usize, other: usize| {
                let slope = (sum(of, 2) * sum(other, other) - sum(other, 2) * sum(0, 1))
                    / determinant(points);
                Some(slope).filter(|slope| slope.is_finite())
            };
            [over(0, 1), over(1, 0)]
        }
        [true, false] => [alone(0), None],
        [false, true] => [None, alone(1)],
        [false, false] => [None, None],
    }
}

/// A figure of the medians with its interval, from whole blocks that are resampled, with the host constants and with
/// their 5th and 95th percentiles.
pub fn estimate(
    observed: &Observed,
    all: &[Planned],
    seed: u64,
    figure: impl Fn(&Medians) -> Option<f64>,
) -> Option<Interval> {
    let sides: Vec<Side> = observed
        .values
        .iter()
        .map(|(_, _, values)| &values[..])
        .collect();
    let middle = |side: &Side| median(&side.iter().map(|(_, value)| *value).collect::<Vec<_>>());
    let middles: Vec<f64> = sides.iter().map(middle).collect::<Option<_>>()?;
    let mut whole = Medians {
        observed,
        medians: &middles,
        varied: [false; 2],
        at: 0,
    };
    whole.varied = whole.varied(all);
    let found = |at| {
        estimate_interval(&sides, seed, |medians| {
            figure(&Medians {
                medians,
                at,
                ..whole
            })
        })
    };
    let least = |a: Option<f64>, b: Option<f64>| Some(a?.min(b?));
    let most = |a: Option<f64>, b: Option<f64>| Some(a?.max(b?));
    let (middle, low, high) = (found(0)?, found(1)?, found(2)?);
    Some(Interval {
        value: middle.value,
        low: least(middle.low, least(low.low, high.low)),
        high: most(middle.high, most(low.high, high.high)),
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
            ("full receive calls", 9.0),
            ("quarter of a packet", 11.0),
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
        add("eighth of a packet", Quantity::Cost, 13.0 + work_us);
        add("eighth of a packet", Quantity::WakeUps, 0.1);
        for (label, packets, acks) in [
            (WHOLE, 1.0, 1.0),
            ("full receive calls", 1.0, 0.5),
            ("quarter of a packet", 2.0, 0.5),
            ("eighth of a packet", 3.0, 0.5),
        ] {
            add(label, Quantity::Packets, packets);
            add(label, Quantity::Acknowledgements, acks);
        }
        let observed = Observed {
            end: Role::Sender,
            values,
            wake_us: Ok([2.0; 3]),
            call_us: Ok([0.1; 3]),
        };
        (parts, observed)
    }

    /// What each part costs, where it was measured.
    fn costs(work_us: f64) -> Vec<(&'static str, f64)> {
        let (parts, observed) = measured(work_us);
        let cost = |part: &Planned| {
            let found = estimate(&observed, &parts, 7, |medians| medians.cost(part, &parts))?;
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
    fn packets_that_are_left_are_in_their_cost() {
        let parts = plan(&Run {
            conditions: &Conditions::of(Workload::UdpStream),
            is_lab: true,
            mtu_bytes: 1500,
        });
        let cells = [
            (WHOLE, 10.0, 1.0),
            ("sendmmsg, recvmmsg", 9.0, 1.0),
            ("GSO, GRO", 5.0, 0.2),
        ];
        let values = cells.iter().flat_map(|(label, cost, packets)| {
            let of = |quantity, value: f64| ((*label).to_owned(), quantity, vec![(0, value)]);
            [of(Quantity::Cost, *cost), of(Quantity::Packets, *packets)]
        });
        let mut observed = Observed {
            end: Role::Sender,
            values: values.collect(),
            wake_us: Ok([2.0; 3]),
            call_us: Ok([0.1; 3]),
        };
        let cost = |observed: &Observed| {
            let part = parts.iter().find(|part| part.part.name == "packets");
            let part = part.expect("a part");
            let found = estimate(observed, &parts, 7, |medians| medians.cost(part, &parts));
            found.map(|found| found.value)
        };
        assert_eq!(cost(&observed), Some(5.0));
        let last = observed.values.last_mut().expect("packets");
        last.2 = vec![(0, 0.95)];
        assert_eq!(cost(&observed), None);
    }

    #[test]
    fn an_interval_covers_those_of_the_host_constant() {
        let (parts, mut observed) = measured(0.0);
        observed.wake_us = Ok([2.0, 1.0, 3.0]);
        let found = estimate(&observed, &parts, 7, |medians| medians.wake_ups(WHOLE));
        let found = found.expect("wake-ups");
        assert!((found.value - 0.23).abs() < 1e-9, "{found:?}");
        assert!(found.low.expect("low") < 0.13 && found.high.expect("high") > 0.3);
    }

    #[test]
    fn packets_cost_the_same_where_full_calls_cost_more() {
        let (parts, mut observed) = measured(0.0);
        let full = [
            "full receive calls",
            "quarter of a packet",
            "eighth of a packet",
        ];
        let part = parts.iter().find(|part| part.part.name == "packets");
        let part = part.expect("packets");
        let cost = |observed: &Observed| {
            let found = estimate(observed, &parts, 7, |medians| medians.cost(part, &parts));
            found.expect("a cost").value
        };
        let before = cost(&observed);
        for (label, quantity, values) in &mut observed.values {
            let is_cost = *quantity == Quantity::Cost;
            if is_cost && full.contains(&label.as_str()) {
                values.iter_mut().for_each(|(_, value)| *value += 0.5);
            }
        }
        assert!((cost(&observed) - before).abs() < 1e-9);
    }

    #[test]
    fn a_part_whose_cell_has_no_runs_has_no_cost() {
        let (parts, mut observed) = measured(0.0);
        observed.values.retain(|(label, ..)| label != "writev");
        let calls = parts.iter().find(|part| part.part.name == "system_calls");
        let calls = calls.expect("system calls");
        let found = estimate(&observed, &parts, 7, |medians| medians.cost(calls, &parts));
        assert_eq!(found, None);
    }

    #[test]
    fn packets_and_acknowledgements_are_distinguished_where_they_change_apart() {
        let point = |packets: f64, acks: f64| [packets, acks, 5.0 * packets + 2.0 * acks];
        let points = [point(1.0, 0.5), point(3.0, 1.0), point(0.1, -0.6)];
        assert!(!are_together(&points));
        let [packet, acknowledgement] = slopes(&points, [true, true]);
        assert!((packet.expect("a slope") - 5.0).abs() < 1e-9);
        assert!((acknowledgement.expect("a slope") - 2.0).abs() < 1e-9);
        assert!(are_together(&[point(1.0, 0.5), point(3.0, 1.4)]));
        assert_eq!(slopes(&[[2.0, 0.0, 8.0]], [true, false]), [Some(4.0), None]);
    }

    #[test]
    fn acknowledgements_that_change_with_the_packets_are_in_their_cost() {
        let (parts, mut observed) = measured(0.0);
        for (label, quantity, values) in &mut observed.values {
            if *quantity == Quantity::Acknowledgements {
                let changed = match label.as_str() {
                    "quarter of a packet" => 2.0,
                    "eighth of a packet" => 3.1,
                    _ => 1.0,
                };
                values.iter_mut().for_each(|(_, value)| *value = changed);
            }
        }
        let cost = |name: &str| {
            let part = parts.iter().find(|part| part.part.name == name);
            let part = part.expect("a part");
            estimate(&observed, &parts, 7, |medians| medians.cost(part, &parts))
        };
        assert!(cost("packets").is_some());
        assert_eq!(cost("acknowledgements"), None);
    }
}
