//! Blocks until the intervals of a study's main figure are narrow enough: the changes of a study's `[run]` for it, and how
//! many blocks a budget holds.

use std::time::Duration;

use bitcost_model::Invalid;
use bitcost_model::plan::Lengths;
use bitcost_model::units::show_duration;
use toml_edit::{DocumentMut, TableLike, table, value};

use crate::definition::Study;
use crate::limits;

/// The default budget, in multiples of the time that a study's own blocks take: four times the
/// blocks halve an interval.
const BUDGET_TIMES: u32 = 4;

impl Study {
    /// Whether its question decides how many blocks there are (`blocks = "auto"`).
    pub fn is_auto(&self) -> bool {
        self.until
            .as_ref()
            .is_some_and(|rule| rule.budget.is_some())
    }

    pub fn default_budget(&self, lengths: Lengths) -> Duration {
        let blocks = lengths.blocks.unwrap_or(self.blocks);
        self.block_time(lengths)
            .saturating_mul(blocks)
            .saturating_mul(BUDGET_TIMES)
    }

    fn block_time(&self, lengths: Lengths) -> Duration {
        let blocks = Some(1);
        self.plan(0, Lengths { blocks, ..lengths }).total_time()
    }

    pub(crate) fn set_budget(&mut self) {
        let budget = self.until.as_ref().and_then(|rule| rule.budget);
        if budget.is_none_or(|budget| !budget.is_zero()) {
            return;
        }
        let default = self.default_budget(Lengths::default());
        if let Some(rule) = &mut self.until {
            rule.budget = Some(default);
        }
    }

    /// The study with `blocks = "auto"`, and with this width of intervals, if it is given.
    ///
    /// # Errors
    /// A sentence, when its other keys do not allow that.
    pub fn until_answered(
        &self,
        within_pct: Option<f64>,
        budget: Duration,
    ) -> Result<Study, Invalid> {
        self.with_run(|run| {
            run.insert("blocks", value("auto"));
            run.insert("budget_s", value(budget.as_secs_f64()));
            if let Some(within) = within_pct {
                run.insert("until_interval_pct", value(within));
            }
        })
    }

    /// The study with this number of blocks, without a rule that adds to them.
    ///
    /// # Errors
    /// A sentence, when its other keys do not allow that.
    pub fn with_blocks(&self, blocks: u32) -> Result<Study, Invalid> {
        self.with_run(|run| {
            run.insert("blocks", value(i64::from(blocks)));
            for key in [
                "until_interval_pct",
                "until_metric",
                "max_blocks",
                "budget_s",
            ] {
                run.remove(key);
            }
        })
    }

    fn with_run(&self, change: impl FnOnce(&mut dyn TableLike)) -> Result<Study, Invalid> {
        let mut document: DocumentMut = self
            .text
            .parse()
            .map_err(|error| Invalid(format!("{error}")))?;
        let run = document.entry("run").or_insert_with(table);
        let refused = || Invalid("`run` is not a table".to_owned());
        change(run.as_table_like_mut().ok_or_else(refused)?);
        let file = format!("{}.toml", self.name);
        Ok(Study::parse(&file, &document.to_string())?)
    }

    /// The most blocks that fit a budget, at least as many as the study needs.
    ///
    /// # Errors
    /// A sentence when these do not fit.
    pub fn blocks_within(&self, lengths: Lengths, budget: Duration) -> Result<u32, Invalid> {
        let one = self.block_time(lengths);
        let fit = budget.as_nanos() / one.as_nanos().max(1);
        let least = if self.is_auto() { self.blocks } else { 1 };
        if fit < u128::from(least) {
            let them = match least {
                1 => "one block takes".to_owned(),
                _ => format!("the {least} blocks that --blocks auto makes at least take"),
            };
            return Err(Invalid(format!(
                "a budget of {} is too short: {them} {}; allow more, or shorten the runs with --duration",
                show_duration(budget),
                show_duration(one.saturating_mul(least))
            )));
        }
        Ok(fit.min(limits::BLOCKS.into()) as u32)
    }
}
