//! Blocks until the intervals of a study's main figure are narrow enough, and how many blocks a budget holds.

use std::time::Duration;

use bitcost_model::Invalid;
use bitcost_model::plan::Lengths;
use bitcost_model::units::show_duration;
use toml_edit::{DocumentMut, table, value};

use crate::definition::Study;
use crate::limits;

impl Study {
    /// The study that adds blocks until its intervals have this width (`[run] until_interval_pct`).
    pub fn until_interval(&self, width_pct: f64) -> Result<Study, Invalid> {
        let mut document: DocumentMut = self
            .text
            .parse()
            .map_err(|error| Invalid(format!("{error}")))?;
        let run = document.entry("run").or_insert_with(table);
        let refused = || Invalid("`run` is not a table".to_owned());
        let run = run.as_table_like_mut().ok_or_else(refused)?;
        run.insert("until_interval_pct", value(width_pct));
        let file = format!("{}.toml", self.name);
        Ok(Study::parse_with(
            &file,
            &document.to_string(),
            self.lab_text.as_deref(),
        )?)
    }

    /// Whether all its runs end after a count, which no duration shortens.
    pub fn is_counted(&self) -> bool {
        let mut cells = self.cells().into_iter();
        cells.all(|cell| cell.conditions.is_bounded())
    }

    /// The most blocks that fit a budget, at least as many as the study needs.
    pub fn blocks_within(&self, lengths: Lengths, budget: Duration) -> Result<u32, Invalid> {
        let blocks = Some(1);
        let one = self.plan(0, Lengths { blocks, ..lengths }).total_time();
        let fit = budget.as_nanos() / one.as_nanos().max(1);
        let least = self.until.as_ref().map_or(1, |_| self.blocks);
        if fit < u128::from(least) {
            let them = match least {
                1 => "one block takes".to_owned(),
                _ => format!("the stop rule makes {least} blocks or more, which take"),
            };
            let shorter = match self.is_counted() {
                true => "lower its counts",
                false => "shorten the runs with --duration",
            };
            return Err(Invalid(format!(
                "a budget of {} is too short: {them} {}; allow more, or {shorter}",
                show_duration(budget),
                show_duration(one.saturating_mul(least))
            )));
        }
        Ok(fit.min(limits::BLOCKS.into()) as u32)
    }
}
