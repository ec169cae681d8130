//! The stop rule of a study, from its section `[run]`.

use std::time::Duration;

use bitcost_model::study::UntilInterval;
use toml_edit::Value;

use super::lengths::{Lengths, RULE};
use crate::definition::BLOCKS_MOST;
use crate::error::StudyError;
use crate::keys::RUN;
use crate::section::Section;

/// Default limit of blocks of a study that continues until an interval is narrow enough.
const MAX_BLOCKS: u32 = 30;

/// Default width of intervals with `blocks = "auto"`, in per cent of the median.
const WITHIN_PCT: f64 = 10.0;

pub fn until(top: &Section, lengths: &Lengths) -> Result<Option<UntilInterval>, StudyError> {
    let Some(section) = top.section("run")? else {
        return Ok(None);
    };
    let width_pct = RUN.number(&section, "until_interval_pct")?;
    check_alone(&section, lengths.is_auto, width_pct.is_some())?;
    if width_pct.is_none() && !lengths.is_auto {
        return Ok(None);
    }
    let form = RUN.form("budget_s");
    let budget = section.typed("budget_s", &form.allowed(), |value| {
        Duration::try_from_secs_f64(form.number(value)?).ok()
    })?;
    let shown = match top.section("table")?.filter(|_| lengths.is_auto) {
        Some(table) => table.value("metrics")?.and_then(Value::as_array),
        None => None,
    };
    let shown = shown.and_then(|metrics| metrics.get(0)?.as_str());
    let metric = section
        .text("until_metric")?
        .unwrap_or_else(|| shown.unwrap_or("throughput_mbps").to_owned());
    let default = if lengths.is_auto {
        BLOCKS_MOST
    } else {
        MAX_BLOCKS
    };
    let blocks = lengths.blocks;
    let max_blocks = RUN
        .whole(&section, "max_blocks")?
        .unwrap_or(default.max(blocks));
    if max_blocks < blocks {
        let least = if lengths.is_auto {
            "the least with \"auto\""
        } else {
            "`blocks`"
        };
        let message = format!("`max_blocks` is {max_blocks}; allowed: {blocks} ({least}) and more");
        return Err(section.error_at("max_blocks", message));
    }
    Ok(Some(UntilInterval {
        metric,
        width_pct: width_pct.unwrap_or(WITHIN_PCT),
        max_blocks,
        budget: budget.or(lengths.is_auto.then_some(Duration::ZERO)),
    }))
}

/// Refuses keys of a rule that is not there.
fn check_alone(section: &Section, is_auto: bool, has_width: bool) -> Result<(), StudyError> {
    for key in RULE {
        let (has_rule, needs) = match key {
            "budget_s" => (is_auto, "`blocks = \"auto\"`"),
            _ => (is_auto || has_width, "`until_interval_pct`"),
        };
        if !has_rule && section.value(key)?.is_some() {
            let message = format!("`{key}` needs {needs}, which is missing");
            return Err(section.error_at(key, message));
        }
    }
    Ok(())
}
