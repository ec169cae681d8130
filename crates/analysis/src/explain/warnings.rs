//! Warnings about the result of a study: one sentence each, with the remedy.

use bitcost_stats::{gap, median};
use serde::Serialize;

use crate::cells::RunRow;
use crate::explain::cells::ExplainedCell;
use crate::explain::kept::Kept;
use crate::metrics::disturbance_bounds;

/// The least ratio of the throughput of two groups of runs that are told.
const APART: f64 = 1.1;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Warning {
    /// Which check found it.
    #[serde(rename = "warning")]
    pub name: &'static str,
    /// The names of its cells; empty where the warning concerns all of them.
    pub cells: Vec<String>,
    /// How much it can change the answer: the share of the figures or of the runs that it concerns, an
    /// estimate.
    #[serde(skip)]
    pub weight: f64,
    /// What was found, with its numbers.
    pub found: String,
    /// What to do.
    pub remedy: &'static str,
    /// The line for a first screen, where the warning changes what the figures mean.
    #[serde(skip)]
    pub headline: Option<String>,
}

pub(super) struct Study<'a> {
    /// The runs of each cell in the order of execution.
    pub runs: &'a [Vec<(&'a RunRow, &'a Kept)>],
    /// The cells with the figures of their runs.
    pub explained: &'a [ExplainedCell],
}

impl Study<'_> {
    /// Names of cells; none where it is all of them.
    fn names(&self, cells: &[usize]) -> Vec<String> {
        let names = cells.iter().map(|cell| self.explained[*cell].name.clone());
        let all = self.explained.len();
        names.filter(|_| cells.len() < all).collect()
    }
}

/// Every warning, the one that can change the answer most first.
pub(super) fn warnings(study: &Study) -> Vec<Warning> {
    let cells = 0..study.explained.len();
    let groups = cells.filter_map(|cell| two_groups(study, cell));
    let all = groups.chain(foreign_load(study));
    let mut all: Vec<Warning> = all.chain(limited_by_wire(study)).collect();
    all.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    all
}

/// The packets of a cell's runs carried one amount of data in some of them and far more in the others, and the throughput
/// differs: medians of all say little.
fn two_groups(study: &Study, cell: usize) -> Option<Warning> {
    let of = |(run, _): &(&RunRow, &Kept)| {
        let of = |name| run.figures.get(name);
        Some((of("sender_bytes_per_packet")?, of("throughput_mbps")?))
    };
    let runs: Vec<(f64, f64)> = study.runs[cell].iter().filter_map(of).collect();
    let carried: Vec<f64> = runs.iter().map(|(bytes, _)| *bytes).collect();
    let cut = gap(&carried)?;
    let group = |is_full: bool| {
        let own = runs.iter().filter(|(bytes, _)| (*bytes > cut) == is_full);
        let (bytes, mbps): (Vec<f64>, Vec<f64>) = own.copied().unzip();
        Some((mbps.len(), median(&bytes)? / 1024.0, median(&mbps)?))
    };
    let ((few, kib, mbps), (many, full_kib, full_mbps)) = (group(false)?, group(true)?);
    let is_apart = mbps.max(full_mbps) >= APART * mbps.min(full_mbps);
    let sentence = format!(
        "two groups of runs: {mbps:.0} Mbit/s in {few} (packets of {kib:.1} KiB), {full_mbps:.0} Mbit/s in {many} (of {full_kib:.1} KiB)"
    );
    is_apart.then(|| Warning {
        name: "two_groups",
        weight: few.min(many) as f64 / runs.len() as f64,
        cells: study.names(&[cell]),
        headline: Some(sentence.clone()),
        found: sentence,
        remedy: "the medians are of all runs: look at each group (show --format csv), and at full_packets_pct",
    })
}

/// The warning of a check on the runs of which something is true: how many these are of all, and `in 2 of 10 runs` of the
/// cells that have them.
fn of_runs(
    study: &Study,
    is_true: fn(&RunRow, &Kept) -> bool,
    words: impl FnOnce([usize; 2], &str) -> Warning,
) -> Option<Warning> {
    let of_cell = |cell: usize| {
        let runs = study.runs[cell].iter();
        runs.filter(|(row, kept)| is_true(row, kept)).count()
    };
    let cells = 0..study.explained.len();
    let cells: Vec<usize> = cells.filter(|cell| of_cell(*cell) > 0).collect();
    let count: usize = cells.iter().map(|cell| of_cell(*cell)).sum();
    let of_cells: usize = cells.iter().map(|cell| study.runs[*cell].len()).sum();
    let all = study.runs.iter().flatten().count();
    (count > 0).then(|| Warning {
        cells: study.names(&cells),
        weight: count as f64 / all as f64,
        ..words([count, all], &format!("in {count} of {of_cells} runs"))
    })
}

/// Other programs took CPU time.
fn foreign_load(study: &Study) -> Option<Warning> {
    of_runs(
        study,
        |row, _| row.is_disturbed,
        |[disturbed, all], runs| Warning {
            name: "foreign_load",
            found: format!("{} {runs}", disturbance_bounds()),
            remedy: "measure on an idle machine, or leave these runs out",
            headline: (2 * disturbed > all).then(|| {
                format!(
                    "other programs used the CPUs in {disturbed} of {all} runs; use a quiet machine"
                )
            }),
            ..Warning::default()
        },
    )
}

/// The wire of the lab filled an endpoint's CPU.
fn limited_by_wire(study: &Study) -> Option<Warning> {
    of_runs(
        study,
        |_, kept| kept.is_limited_by_wire,
        |_, runs| Warning {
            name: "wire_limits",
            headline: Some(format!(
                "{runs} the lab's wire filled an endpoint's CPU: the throughput is what this machine's lab carries"
            )),
            found: format!("the lab's wire did most of the work on an endpoint's full CPU {runs}"),
            remedy: "the lab limits these throughputs: with less work for its wire (larger packets, topology = \"pair\") they would be higher",
            ..Warning::default()
        },
    )
}
