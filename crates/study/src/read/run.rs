//! `[run]`: the number and length of a study's runs, and its stop rule.

use bitcost_model::plan::Lengths;
use bitcost_model::study::UntilInterval;

use crate::definition::Study;
use crate::tables::{LengthTable, RunTable};
use crate::toml::Node;

/// The blocks of a study that does not say how many; an interval of fewer covers too little where
/// every block is looked at (docs/method/statistics.md, Stop rule).
const BLOCKS: u32 = 5;

/// Default limit of blocks of a study that continues until an interval is narrow enough.
const MAX_BLOCKS: u32 = 30;

/// Reads `[run]` into a study. Returns the number of blocks where it is written.
pub fn run(top: &Node, study: &mut Study) -> Option<u32> {
    study.blocks = BLOCKS;
    let node = top.get("run")?;
    let table: RunTable = node.read_right()?;
    let written = table.blocks.as_ref().map(|blocks| blocks.0);
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
    })
}

fn until(top: &Node, node: &Node, run: &RunTable, blocks: u32) -> Option<UntilInterval> {
    let Some(width_pct) = &run.until_interval_pct else {
        let alone = ["until_metric", "max_blocks"].into_iter();
        let mut alone = alone.filter_map(|key| Some((key, node.get(key)?)));
        let (key, value) = alone.next()?;
        return value.error(format!(
            "`{key}` needs `until_interval_pct`, which is missing"
        ));
    };
    let first_shown = top.get("table").and_then(|table| {
        let metrics = table.get("metrics")?.elements();
        metrics.first()?.text()
    });
    let metric = run.until_metric.as_ref().map(|metric| metric.0.as_str());
    let metric = metric.or(first_shown).unwrap_or("throughput_mbps");
    let max_blocks = run.max_blocks.as_ref().map(|most| most.0);
    let max_blocks = max_blocks.unwrap_or(MAX_BLOCKS.max(blocks));
    if max_blocks < blocks {
        return node.at("max_blocks").error(format!(
            "`max_blocks` is {max_blocks}; allowed: {blocks} (`blocks`) and more"
        ));
    }
    Some(UntilInterval {
        metric: metric.to_owned(),
        width_pct: width_pct.0,
        max_blocks,
    })
}
