//! What limited a run of which only figures are known: another program's.

use crate::cells::RunRow;
use crate::explain::cells::{ExplainedCell, ExplainedRun};
use crate::explain::decide::strongest;
use crate::explain::limiter::{Bound, Evidence, LimiterRow, Verdict};
use crate::explain::limiters::{LOSS_PCT, RECEIVER_CPU, SENDER_CPU};
use crate::explain::others::Others;
use crate::metrics::Figures;
use crate::summary::Summary;

/// Use of the busiest CPU from which it is full, and of one CPU by a process, in per cent.
const FULL_PCT: f64 = 99.5;
const PROCESS_FULL_PCT: f64 = 95.0;

const TOO_FEW: &str =
    "these figures are not enough for a verdict; repeat the run with bitcost, and explain that run";

/// The cells of an execution, explained by the figures of their used runs.
pub(super) fn by_figures(summary: &Summary) -> Vec<ExplainedCell> {
    let run = |row: &RunRow| ExplainedRun {
        run: row.run,
        verdict: verdict(&row.figures),
        others: Others::default(),
    };
    let cells = summary.cells.iter().zip(summary.used());
    let cells = cells.map(|(cell, rows)| {
        let runs = rows.into_iter().map(run).collect();
        ExplainedCell::new(cell.name(), runs)
    });
    cells.collect()
}

/// A full CPU; of datagrams the receiver's where many are lost, and else the sender's.
fn verdict(figures: &Figures) -> Verdict {
    let lost = figures.get("loss_pct");
    let much = lost.filter(|lost| *lost >= LOSS_PCT);
    let ends: Vec<(&'static LimiterRow, _, _)> = match (lost, much) {
        (_, Some(_)) => vec![(&RECEIVER_CPU, "receiver", 0.9)],
        (Some(_), _) => vec![(&SENDER_CPU, "sender", 0.8)],
        _ => vec![
            (&SENDER_CPU, "sender", 0.8),
            (&RECEIVER_CPU, "receiver", 0.7),
        ],
    };
    let bound = match much {
        Some(_) => Bound::AtLeast(LOSS_PCT),
        None => Bound::AtMost(LOSS_PCT),
    };
    let full = ends.into_iter().filter_map(|(row, end, strength)| {
        let (full, detail) = full_cpu(figures, end)?;
        let loss = evidence(figures, "loss_pct", bound);
        let evidence = [Some(full), loss].into_iter().flatten().collect();
        Some(row.suspect(strength, evidence).with_detail(detail))
    });
    let why = match much {
        Some(lost) => format!(
            "{lost:.1} % of the datagrams were lost; its figures do not say where, and show no full CPU at the receiver"
        ),
        None => "its figures show no full CPU, and no loss of 2 % or more".to_owned(),
    };
    let mut verdict = strongest(full.collect(), why);
    if verdict.limiter().is_unknown() {
        verdict.chosen = verdict.chosen.with_remedy(TOO_FEW);
    }
    verdict
}

/// That a CPU of an end is full. A process that uses one whole CPU is the limit: with several threads it would use more.
fn full_cpu(figures: &Figures, end: &str) -> Option<(Evidence, &'static str)> {
    let of = |counter, least| evidence(figures, &format!("{end}_{counter}"), Bound::AtLeast(least));
    let process = of("process_cpu_pct", PROCESS_FULL_PCT)
        .filter(|used| (PROCESS_FULL_PCT..=200.0 - PROCESS_FULL_PCT).contains(&used.value));
    let busiest = of("peak_cpu_pct", FULL_PCT).filter(|used| used.margin() >= 0.0);
    let process = process.map(|used| (used, "the program's process used a whole CPU"));
    process.or_else(|| Some((busiest?, "its busiest CPU is full")))
}

fn evidence(figures: &Figures, counter: &str, bound: Bound) -> Option<Evidence> {
    Some(Evidence {
        counter: counter.to_owned(),
        value: figures.get(counter)?,
        unit: "%",
        bound,
    })
}
