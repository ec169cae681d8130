//! How long a study takes, and the order of its runs.

use std::time::Duration;

use bitcost_model::Invalid;
use bitcost_model::plan::Lengths;
use bitcost_model::units::parse_duration;
use bitcost_study::Study;

use super::repeats::percent;
use crate::failure::Failure;

/// How long a study takes, and in which order its runs come.
#[derive(clap::Args)]
pub struct Order {
    /// Number of blocks, each of which runs every cell once, in random order; `auto` adds blocks
    /// until the intervals of the study's ratios, or else of its cells' medians, are as narrow as
    /// --within [default: as the study says]
    #[arg(long, value_name = "N|auto", value_parser = parse_blocks)]
    blocks: Option<Blocks>,
    /// With --blocks auto: width of the 95 % confidence intervals, as a percentage of the median
    /// [default: 10%]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    within: Option<f64>,
    /// Measured time of each run, such as 2s or 500ms [default: as the study says]
    #[arg(long, value_name = "TIME", value_parser = parse_window)]
    duration: Option<Duration>,
    /// Maximum total time, such as 10m; as many blocks as fit are run [default with auto: four
    /// times the time of the study's own blocks]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    budget: Option<Duration>,
    /// Use the durations and counts of the document that the study reproduces
    #[arg(long, conflicts_with_all = ["blocks", "within", "duration", "budget"])]
    like_the_document: bool,
    /// Use the short durations of the study, for continuous integration
    #[arg(long, conflicts_with_all = ["blocks", "within", "duration", "budget", "like_the_document"])]
    pub ci: bool,
    /// Seed of the random order; the same seed gives the same order on any machine [default:
    /// random]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blocks {
    Number(u32),
    Auto,
}

fn parse_blocks(text: &str) -> Result<Blocks, Invalid> {
    if text == "auto" {
        return Ok(Blocks::Auto);
    }
    let number = text.parse().ok().filter(|n| (1..=100_000).contains(n));
    let unknown = || {
        Invalid(format!(
            "`{text}` is not a number of blocks; allowed: 1 to 100000, or auto"
        ))
    };
    number.map(Blocks::Number).ok_or_else(unknown)
}

fn parse_window(text: &str) -> Result<Duration, Invalid> {
    let window = parse_duration(text)?;
    if (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(&window) {
        return Ok(window);
    }
    Err(Invalid(format!(
        "`{text}` is not a valid measured time; allowed: 100ms to 1h"
    )))
}

impl Order {
    /// The study with the changes of the command line to its stop rule, and those to its lengths.
    ///
    /// # Errors
    /// Usage, when the study has no such form, or when the plan would have more runs than is
    /// possible.
    pub fn apply(&self, study: Study) -> Result<(Study, Lengths), Failure> {
        let named = self.named(&study)?;
        let study = self.with_rule(study, named)?;
        let lengths = match named {
            Some(lengths) => lengths,
            None => self.lengths(&study)?,
        };
        study.check_lengths(lengths)?;
        Ok((study, lengths))
    }

    /// The lengths that the study has under a name, if these are requested.
    fn named(&self, study: &Study) -> Result<Option<Lengths>, Failure> {
        let named = [
            (
                self.like_the_document,
                study.like_the_document,
                "lengths of a document ([run] like_the_document)",
            ),
            (self.ci, study.ci, "short form ([run] ci)"),
        ];
        let asked = named.into_iter().find(|(asked, _, _)| *asked);
        let Some((_, length, what)) = asked else {
            return Ok(None);
        };
        let missing = || Failure::Usage(format!("the study {} has no {what}", study.name));
        length.ok_or_else(missing).map(Some)
    }

    /// The study with `--blocks auto`, or without its own `blocks = "auto"` where a number of
    /// blocks is requested.
    fn with_rule(&self, study: Study, named: Option<Lengths>) -> Result<Study, Failure> {
        let fixed = match self.blocks {
            Some(Blocks::Number(blocks)) => Some(blocks),
            _ => named.and_then(|lengths| lengths.blocks),
        };
        let is_auto = self.blocks == Some(Blocks::Auto) || study.is_auto();
        let given = [
            ("--within", self.within.is_some()),
            ("--budget", self.budget.is_some() && fixed.is_some()),
        ];
        let alone = given.iter().find(|(_, is_given)| *is_given);
        if let Some((option, _)) = alone.filter(|_| !is_auto || fixed.is_some()) {
            let message = format!("{option} needs --blocks auto");
            return Err(Failure::Usage(match fixed {
                Some(blocks) => format!("{message}, not --blocks {blocks}"),
                None => message,
            }));
        }
        Ok(match fixed {
            Some(blocks) if study.is_auto() => study.with_blocks(blocks)?,
            None if self.blocks == Some(Blocks::Auto) || (is_auto && self.changes_rule()) => {
                let own = study.until.as_ref().and_then(|rule| rule.budget);
                let default = || study.default_budget(self.own_lengths());
                let budget = self.budget.or(own).unwrap_or_else(default);
                study.until_answered(self.within, budget)?
            }
            _ => study,
        })
    }

    fn changes_rule(&self) -> bool {
        self.within.is_some() || self.budget.is_some()
    }

    fn own_lengths(&self) -> Lengths {
        Lengths {
            duration_ms: self.duration.map(|duration| duration.as_millis() as u32),
            ..Lengths::default()
        }
    }

    fn lengths(&self, study: &Study) -> Result<Lengths, Invalid> {
        let most = study.until.as_ref().map(|until| until.max_blocks);
        let lengths = self.own_lengths();
        let of_rule = study.until.as_ref().and_then(|until| until.budget);
        let blocks = match (self.blocks, of_rule.or(self.budget)) {
            (Some(Blocks::Number(blocks)), _) => Some(blocks),
            (_, Some(budget)) => {
                let fit = study.blocks_within(lengths, budget)?;
                Some(most.map_or(fit, |most| most.min(fit)))
            }
            (_, None) => most,
        };
        Ok(Lengths { blocks, ..lengths })
    }
}

/// A random seed of 32 bits, short enough to type.
///
/// # Errors
/// Environment, when the kernel gives no random numbers.
pub fn new_seed() -> Result<u64, Failure> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).map_err(|error| {
        Failure::Environment(format!(
            "the kernel gives no random numbers: {error}; choose a seed with --seed"
        ))
    })?;
    Ok(u64::from(u32::from_le_bytes(bytes)))
}
