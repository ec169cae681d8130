//! A table of runs for which only figures are known, explained by sizes.

use std::collections::BTreeMap;

use crate::explain::bounds::LOSS_PCT;
use crate::explain::cells::{ExplainedCell, ExplainedRun};
use crate::explain::cost::cost_models;
use crate::explain::explanation::Explanation;
use crate::explain::figures::RunFigures;
use crate::explain::sparse::explain_figures;

/// Explains the runs of a table; a cell is all runs of one size.
pub fn explain_table(title: String, runs: &[RunFigures], seed: u64) -> Explanation {
    let mut sizes: BTreeMap<(u64, &str), Vec<ExplainedRun>> = BTreeMap::new();
    for run in runs {
        let (size, word) = match (run.segment_size_bytes, run.message_size_bytes) {
            (Some(size), _) => (size, "segments"),
            (None, size) => (size.unwrap_or(0.0), "messages"),
        };
        let explained = ExplainedRun {
            figures: run.clone(),
            verdicts: vec![explain_figures(run)],
            in_effect: None,
        };
        sizes
            .entry((size as u64, word))
            .or_default()
            .push(explained);
    }
    let cell = |((size, word), runs)| ExplainedCell::new(format!("{word} of {size} B"), runs);
    let count = sizes.len();
    let mut remarks: Vec<String> = runs.iter().filter_map(demand_remark).collect();
    let costs: Vec<_> = cost_models(runs, seed)
        .into_iter()
        .map(|model| (String::new(), model))
        .collect();
    if costs.is_empty() {
        let needed = crate::explain::cost::SIZES_MIN;
        remarks.push(format!(
            "no cost model: it needs {needed} sizes or more of which time or CPU is known; here: {count}"
        ));
    }
    Explanation {
        title,
        cells: sizes.into_iter().map(cell).collect(),
        costs,
        warnings: Vec::new(),
        remarks,
    }
}

/// A remark on netperf's definition, which divides the receiver's CPU time by bytes sent and so
/// makes a run with loss look cheaper.
fn demand_remark(run: &RunFigures) -> Option<String> {
    let printed = run.get("netperf_receive_service_demand_us_per_kib")?;
    let (received, lost) = (
        run.receive_demand_by_received()?,
        run.get("loss_pct").filter(|lost| *lost >= LOSS_PCT)?,
    );
    Some(format!(
        "run {}: {lost:.1} % lost; receive service demand {printed:.3} µs/KiB is by bytes sent; by bytes received it is {received:.3}, {:.1} % above the printed one, which is {:.1} % too low",
        run.run,
        100.0 * (received / printed - 1.0),
        100.0 * (1.0 - printed / received)
    ))
}
