//! The test whose verdict is to be proved: its conditions, its verdict, and what its runs had of each resource.

use bitcost_model::conditions::Conditions;
use bitcost_model::study::LabSpec;

use super::perturbation::Before;
use crate::cells::{RunRow, Status};
use crate::explain::{Limiter, Load};
use crate::findings::Findings;
use crate::metrics::{Metric, full_from, metric};

/// Measured window and warm-up of a run of a study of perturbations, in milliseconds, on a path without delay.
const WINDOW_MS: f64 = 400.0;
const WARMUP_MS: f64 = 150.0;

/// Round trips that the window and the warm-up last for in addition: congestion control has ended its slow start.
const WINDOW_RTTS: f64 = 20.0;
const WARMUP_RTTS: f64 = 10.0;

/// Transactions that a window lasts for at least, so that one more or less changes their number by little.
const TRANSACTIONS: f64 = 20.0;

/// The longest window and warm-up, in milliseconds.
const MOST_MS: f64 = 2000.0;

/// With more segments retransmitted than this share, a window lasts twice as long: loss comes at random.
const LOSSY: f64 = 0.001;

/// The test whose verdict is to be proved.
#[derive(Clone, Debug)]
pub struct Ordinary {
    /// Its conditions.
    pub conditions: Conditions,
    /// What a run of it had of each resource.
    pub load: Load,
    /// Its throughput, in the unit of the workload's main metric.
    pub rate: f64,
    /// The lab; absent between named hosts.
    pub lab: Option<LabSpec>,
    /// The limiter that the counters name; absent where they name none.
    pub named: Option<Limiter>,
    /// The limiters that come next.
    pub next: Vec<Limiter>,
}

/// The metric that an elasticity is of.
pub(crate) fn rate_metric(conditions: &Conditions) -> Option<&'static Metric> {
    metric(match conditions.workload.is_transactional() {
        true => "transactions_per_second",
        false => "throughput_mbps",
    })
}

/// What a used run had of each resource.
pub(super) fn load(row: &RunRow) -> Option<&Load> {
    Some(&row.kept.as_ref()?.load).filter(|_| row.status == Status::Used)
}

impl Ordinary {
    /// The test of these findings; absent where it has several cells, or no run that is used.
    pub fn of(findings: &Findings) -> Option<Ordinary> {
        let summary = &findings.summary;
        let [cell] = &summary.planned[..] else {
            return None;
        };
        let metric = rate_metric(&cell.conditions)?;
        let runs = summary.runs.iter();
        let mut runs: Vec<_> = runs
            .filter_map(|row| {
                Some((
                    row.used_value(metric).filter(|rate| *rate > 0.0)?,
                    load(row)?,
                ))
            })
            .collect();
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (rate, load) = *runs.get(runs.len() / 2)?;
        let verdict = findings.explanation.cells.first()?.verdict()?;
        let verdicts = findings.explanation.cells[0].runs.iter();
        let mut next: Vec<Limiter> = verdicts
            .flat_map(|run| &run.verdicts)
            .filter_map(|verdict| Some(verdict.runner_up.as_ref()?.limiter.clone()))
            .collect();
        next.sort();
        next.dedup();
        Some(Ordinary {
            conditions: cell.conditions.clone(),
            load: *load,
            rate,
            lab: summary.lab.as_deref().cloned(),
            named: Some(verdict.limiter().clone()).filter(|limiter| !limiter.is_unknown()),
            next,
        })
    }

    /// Whether the packets of a stream are known not to be full.
    pub(super) fn has_small_packets(&self) -> bool {
        let bytes = self.load.bytes_per_packet;
        bytes.is_some_and(|bytes| bytes < full_from(&self.conditions))
    }

    /// It as a perturbation sees it.
    pub fn before(&self) -> Before<'_> {
        Before {
            conditions: &self.conditions,
            load: &self.load,
            lab: self.lab.as_ref(),
        }
    }

    /// Whether the path's rate is taken by a background stream, because its links are not those of a lab of our own.
    pub(super) fn shares_the_path(&self) -> bool {
        let lab = self.lab.as_ref();
        lab.is_none_or(|lab| lab.running.is_some())
    }

    /// Whether it is a stream that loses segments, or seems to.
    pub(super) fn is_lossy(&self) -> bool {
        self.load.retransmitted.is_some_and(|share| share > LOSSY)
    }

    /// The settings of the short runs of a study of it, by name; where it screens, of shorter ones, which compare many
    /// changes with less precision.
    pub fn short_runs(&self, screens: bool) -> [(&'static str, String); 3] {
        let (window_ms, times) = match (screens, self.is_lossy()) {
            (true, _) => (WINDOW_MS / 2.0, 1.0),
            (false, true) => (WINDOW_MS, 2.0),
            (false, false) => (WINDOW_MS, 1.0),
        };
        let of_lab = self.lab.as_ref().and_then(|lab| lab.path());
        let of_lab = of_lab.map(|path| path.rtt_us() as f64);
        let rtt_ms = self.load.rtt_us.or(of_lab).unwrap_or(0.0) / 1e3;
        let at_least = match self.conditions.workload.is_transactional() {
            true => TRANSACTIONS / self.rate * 1e3,
            false => 0.0,
        };
        let window = (times * (window_ms + WINDOW_RTTS * rtt_ms)).max(at_least);
        let warmup = WARMUP_MS + WARMUP_RTTS * rtt_ms;
        let own = match screens || self.conditions.is_bounded() {
            true => 0.0,
            false => f64::from(self.conditions.warmup_ms),
        };
        let ms = |ms: f64| format!("{:.0}ms", ms.min(MOST_MS));
        [
            ("duration_s", ms(window)),
            ("warmup_s", ms(warmup.max(own))),
            ("idle_baseline_s", "0".to_owned()),
        ]
    }
}
