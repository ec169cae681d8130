//! The bill of an execution.

use bitcost_model::Unavailable;
use bitcost_model::record::Role;
use bitcost_stats::Interval;

use super::arithmetic::estimate;
use super::observed::{Observed, Quantity};
use super::parts::{Run, Way};
use super::plan::{FACTOR, Planned, WHOLE, plan};
use crate::cells::Status;
use crate::summary::Summary;

/// The MTU of a run whose cells are there already, in bytes: it decides only their settings.
const ANY_MTU_BYTES: u32 = 1500;

/// What the CPU time of a KiB or a transaction is spent on.
#[derive(Clone, Debug)]
pub struct Bill {
    /// What is paid for: `KiB` or `transaction`.
    pub of: &'static str,
    /// Sender (or client) and receiver (or server).
    pub ends: [EndBill; 2],
}

/// The bill of an endpoint, in µs.
#[derive(Clone, Debug)]
pub struct EndBill {
    /// The endpoint.
    pub end: Role,
    /// CPU time in all, or why it is not known.
    pub whole: Result<Interval, Unavailable>,
    /// The parts, in the order of subtraction; the same at both endpoints.
    pub entries: Vec<Entry>,
    /// The whole less the parts that were measured.
    pub unexplained: Option<Interval>,
}

/// A part at an endpoint.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its key in documents.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What was compared.
    pub by: String,
    /// Whether it is a part of the whole; if not, the run does not pay it, and it would be added.
    pub is_paid: bool,
    /// What it costs.
    pub cost: Cost,
}

/// What a part costs at an endpoint.
#[derive(Clone, Debug)]
pub enum Cost {
    /// This much, in µs.
    Known(Interval),
    /// The part is one of the other endpoint.
    OfOtherEnd,
    /// Not measured, for this reason.
    Missing(String),
}

/// The bill of an execution; absent where its study is not one.
pub fn bill(summary: &Summary) -> Option<Bill> {
    let [factor] = &summary.study.factors[..] else {
        return None;
    };
    let is_whole = |level: &(String, _)| level.0 == FACTOR && level_is(&level.1, WHOLE);
    let mut planned = summary.planned.iter();
    let whole = planned.find(|cell| cell.levels.iter().any(is_whole))?;
    let parts = plan(&Run {
        conditions: &whole.conditions,
        is_lab: summary.lab.is_some(),
        mtu_bytes: ANY_MTU_BYTES,
    });
    if factor.name != FACTOR || !parts.iter().any(|part| !part.changes().is_empty()) {
        return None;
    }
    let end = |end| EndBill::of(summary, &parts, &Observed::of(summary, end));
    Some(Bill {
        of: match whole.conditions.workload.is_transactional() {
            true => "transaction",
            false => "KiB",
        },
        ends: [end(Role::Sender), end(Role::Receiver)],
    })
}

fn level_is(label: &bitcost_model::study::Label, text: &str) -> bool {
    label.to_string() == text
}

impl EndBill {
    fn of(summary: &Summary, parts: &[Planned], observed: &Observed) -> EndBill {
        let seed = summary.seed;
        let whole = estimate(observed, parts, seed, |medians| medians.whole());
        let entries: Vec<Entry> = parts
            .iter()
            .map(|part| Entry {
                name: part.part.name,
                title: part.part.title,
                by: by(part),
                is_paid: !matches!(part.way, Way::Add(_)),
                cost: cost(summary, part, parts, observed),
            })
            .collect();
        let known = |entry: &Entry| entry.is_paid && entry.known().is_some();
        let measured: Vec<&Planned> = parts
            .iter()
            .zip(&entries)
            .filter(|(_, entry)| known(entry))
            .map(|(part, _)| part)
            .collect();
        EndBill {
            end: observed.end,
            unexplained: estimate(observed, parts, seed, |medians| {
                let costs = measured.iter().map(|part| medians.cost(part, parts));
                Some(medians.whole()? - costs.sum::<Option<f64>>()?)
            }),
            whole: whole.ok_or_else(|| Unavailable(missing(summary, observed, WHOLE))),
            entries,
        }
    }

    /// The parts of the whole that were measured, with what they cost.
    pub fn paid(&self) -> impl Iterator<Item = (&Entry, &Interval)> {
        let entries = self.entries.iter().filter(|entry| entry.is_paid);
        entries.filter_map(|entry| Some((entry, entry.known()?)))
    }
}

impl Entry {
    /// What the part costs, where it was measured at this endpoint.
    pub fn known(&self) -> Option<&Interval> {
        match &self.cost {
            Cost::Known(cost) => Some(cost),
            Cost::OfOtherEnd | Cost::Missing(_) => None,
        }
    }
}

/// What is compared, in words.
fn by(part: &Planned) -> String {
    match &part.way {
        Way::Take(change) | Way::Aside(change) => format!("{} → {}", part.from, change.label),
        Way::Add(change) => format!("{WHOLE} → {}", change.label),
        Way::WakeUps => "× run_same_idle".to_owned(),
        Way::Calls => "2 × system_call".to_owned(),
        Way::Packets(_) | Way::FewerPackets(_) => "slope over packets".to_owned(),
        Way::Acknowledgements(_) => "slope over ACKs".to_owned(),
        Way::Missing(_) => String::new(),
    }
}

fn cost(summary: &Summary, part: &Planned, all: &[Planned], observed: &Observed) -> Cost {
    let changes = part.changes();
    if !changes.is_empty() && !changes.iter().any(|of| of.ends.contains(&observed.end)) {
        return Cost::OfOtherEnd;
    }
    let reason = match &part.way {
        Way::Missing(why) => Some((*why).to_owned()),
        Way::WakeUps => observed.wake_us.as_ref().err().cloned(),
        Way::Calls => observed.call_us.as_ref().err().cloned(),
        _ => {
            let labels = changes.iter().map(|change| change.label);
            let mut labels = std::iter::once(part.from).chain(labels);
            let absent = labels.find(|label| !observed.has(label, Quantity::Cost));
            absent.map(|label| missing(summary, observed, label))
        }
    };
    if let Some(reason) = reason {
        return Cost::Missing(reason);
    }
    let found = estimate(observed, all, summary.seed, |medians| {
        medians.cost(part, all)
    });
    of_figure(found, &part.way)
}

/// What a part costs by its figure; a cell without the part that costs clearly more does not measure it.
fn of_figure(found: Option<Interval>, way: &Way) -> Cost {
    let Some(cost) = found else {
        return Cost::Missing(unvaried(way).to_owned());
    };
    match way {
        Way::Take(change) | Way::Aside(change) | Way::FewerPackets(change)
            if cost.high.is_some_and(|high| high < 0.0) =>
        {
            let label = change.label;
            Cost::Missing(format!("`{label}` takes more CPU time than it saves"))
        }
        _ => Cost::Known(cost),
    }
}

/// Why a part with all of its cells has no figure.
fn unvaried(way: &Way) -> &'static str {
    match way {
        Way::Packets(_) | Way::FewerPackets(_) => {
            "their number was not counted, or changed by less than 10 %"
        }
        Way::Acknowledgements(_) => {
            "their number changed by less than 10 %, or with that of packets, whose cost then includes theirs"
        }
        Way::WakeUps => "wake-ups were not counted",
        _ => "the differences are not known",
    }
}

/// Why a cell has no cost at this endpoint.
fn missing(summary: &Summary, observed: &Observed, label: &str) -> String {
    let is_cell = |place: &usize| {
        let mut levels = summary.planned[*place].levels.iter();
        levels.any(|level| level_is(&level.1, label))
    };
    let Some(place) = (0..summary.planned.len()).find(is_cell) else {
        return format!("the log has no cell `{label}`");
    };
    let rows = || summary.runs.iter().filter(|row| row.cell == place);
    let failed = rows().find_map(|row| row.reason.clone());
    let unattributed = summary.cells.get(place).and_then(|cell| {
        let (reason, _) = cell.unattributed.first()?;
        Some(format!("the CPU time of each end is not known: {reason}"))
    });
    let is_used = rows().any(|row| row.status == Status::Used);
    let found = match is_used {
        true => unattributed,
        false => failed,
    };
    let end = observed.end.name();
    found.unwrap_or_else(|| format!("no run of `{label}` has the CPU time of the {end}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bill::parts::Change;

    #[test]
    fn a_cell_that_costs_more_without_a_part_does_not_measure_it() {
        let change = Change {
            label: "splice, MSG_TRUNC",
            settings: Vec::new(),
            ends: &[Role::Sender],
        };
        let of = |way, high| {
            let cost = Interval {
                value: -0.5,
                low: Some(-0.9),
                high: Some(high),
            };
            of_figure(Some(cost), &way)
        };
        let why = "`splice, MSG_TRUNC` takes more CPU time than it saves";
        assert!(matches!(of(Way::Take(change.clone()), -0.1), Cost::Missing(said) if said == why));
        assert!(matches!(of(Way::Take(change.clone()), 0.1), Cost::Known(_)));
        assert!(matches!(of(Way::Add(change), -0.1), Cost::Known(_)));
    }
}
