//! `[run]`: the number and length of a study's runs, and its stop rule.

use std::time::Duration;

use bitcost_model::plan::Lengths;
use bitcost_model::study::UntilInterval;

use crate::definition::Study;
use crate::limits;
use crate::tables::{LengthTable, RunTable};
use crate::toml::Node;

/// The blocks of a study that does not say how many; an interval of fewer covers too little where
/// every block is looked at (docs/method/statistics.md, Stop rule).
const BLOCKS: u32 = 5;

/// Default limit of blocks of a study that continues until an interval is narrow enough.
const MAX_BLOCKS: u32 = 30;

/// Default width of intervals with `blocks = "auto"`, in per cent of the median.
const WITHIN_PCT: f64 = 10.0;

/// Reads `[run]` into a study. Returns the number of blocks where it is written.
pub fn run(top: &Node, study: &mut Study) -> Option<u32> {
    study.blocks = BLOCKS;
    let node = top.get("run")?;
    let table: RunTable = node.read_right()?;
    let written = table.blocks.as_ref().and_then(|blocks| blocks.0);
    study.blocks = written.unwrap_or(BLOCKS);
    study.until = until(top, &node, &table, study.blocks);
    study.is_profiled = table.profile == Some(true);
    let length = |key: &str, table: Option<LengthTable>| length(&node.at(key), table?);
    study.like_the_document = length("like_the_document", table.like_the_document);
    study.ci = length("ci", table.ci);
    written
}

fn length(node: &Node, table: LengthTable) -> Option<Lengths> {
    if table.duration_s.is_none() && table.counts_pct.is_none() {
        return node.missing("duration_s");
    }
    Some(Lengths {
        blocks: Some(table.blocks.0),
        duration_ms: table.duration_s.map(|window| window.0),
        counts_pct: table.counts_pct.map(|percent| percent.0),
        interval_ms: None,
    })
}

fn until(top: &Node, node: &Node, run: &RunTable, blocks: u32) -> Option<UntilInterval> {
    let is_auto = run.blocks.as_ref().is_some_and(|blocks| blocks.0.is_none());
    let width_pct = run.until_interval_pct.as_ref().map(|width| width.0);
    let has_rule = is_auto || width_pct.is_some();
    let keys = [
        ("budget_s", is_auto, "`blocks = \"auto\"`"),
        ("until_metric", has_rule, "`until_interval_pct`"),
        ("max_blocks", has_rule, "`until_interval_pct`"),
    ];
    for (key, has_rule, needs) in keys {
        if let Some(alone) = node.get(key).filter(|_| !has_rule) {
            return alone.error(format!("`{key}` needs {needs}, which is missing"));
        }
    }
    if !has_rule {
        return None;
    }
    let first_shown = top.get("table").filter(|_| is_auto).and_then(|table| {
        let metrics = table.get("metrics")?.elements();
        metrics.first()?.text()
    });
    let metric = run.until_metric.as_ref().map(|metric| metric.0.as_str());
    let metric = metric.or(first_shown).unwrap_or("throughput_mbps");
    let (most, least) = match is_auto {
        true => (limits::BLOCKS, "the least with \"auto\""),
        false => (MAX_BLOCKS, "`blocks`"),
    };
    let max_blocks = run.max_blocks.as_ref().map(|most| most.0);
    let max_blocks = max_blocks.unwrap_or(most.max(blocks));
    if max_blocks < blocks {
        return node.at("max_blocks").error(format!(
            "`max_blocks` is {max_blocks}; allowed: {blocks} ({least}) and more"
        ));
    }
    let budget = match &run.budget_s {
        Some(seconds) => match Duration::try_from_secs_f64(seconds.0) {
            Ok(budget) => Some(budget),
            Err(_) => return node.at("budget_s").not_allowed("a number over 0"),
        },
        None => is_auto.then_some(Duration::ZERO),
    };
    Some(UntilInterval {
        metric: metric.to_owned(),
        width_pct: width_pct.unwrap_or(WITHIN_PCT),
        max_blocks,
        budget,
    })
}
