//! How long a study takes, and the order of its runs.

use std::time::Duration;

use bitcost_model::Invalid;
use bitcost_model::plan::Lengths;
use bitcost_model::units::parse_duration;
use bitcost_study::Study;
use bitcost_study::limits::BLOCKS;

use super::repeats::percent;
use crate::failure::Failure;

/// How long a study takes, and in which order its runs come.
#[derive(clap::Args)]
pub struct Order {
    /// Number of blocks, each of which runs every cell once, in random order; with --until-interval
    /// their maximum [default: as the study says]
    #[arg(long, value_name = "N", value_parser = parse_blocks, conflicts_with = "budget")]
    blocks: Option<u32>,
    /// Add blocks until the 95 % confidence intervals of the study's ratios, or else of its cells'
    /// medians, are narrower than this share of them, such as 5%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    until_interval: Option<f64>,
    /// Measured time of each run, such as 2s or 500ms [default: as the study says]
    #[arg(long, value_name = "TIME", value_parser = parse_window)]
    duration: Option<Duration>,
    /// Maximum total time, such as 10m; as many blocks as fit are run
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    budget: Option<Duration>,
    /// Use the durations and counts of the document that the study reproduces
    #[arg(long, conflicts_with_all = ["blocks", "until_interval", "duration", "budget"])]
    like_the_document: bool,
    /// Use the short durations of the study, for continuous integration
    #[arg(long, conflicts_with_all = ["blocks", "until_interval", "duration", "budget", "like_the_document"])]
    pub ci: bool,
    /// Seed of the random order; the same seed gives the same order on any machine [default:
    /// random]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

fn parse_blocks(text: &str) -> Result<u32, Invalid> {
    let number = text.parse().ok().filter(|n| (1..=BLOCKS).contains(n));
    number.ok_or_else(|| {
        Invalid(format!(
            "`{text}` is not a number of blocks; allowed: 1 to {BLOCKS} (--until-interval adds blocks until they are enough)"
        ))
    })
}

fn parse_window(text: &str) -> Result<Duration, Invalid> {
    let window = parse_duration(text)?;
    if (Duration::from_millis(100)..=Duration::from_secs(7 * 24 * 3600)).contains(&window) {
        return Ok(window);
    }
    Err(Invalid(format!(
        "`{text}` is not a valid measured time; allowed: 100ms to 168h"
    )))
}

impl Order {
    /// The study with the changes of the command line to its stop rule, and those to its lengths.
    pub fn apply(&self, study: Study) -> Result<(Study, Lengths), Failure> {
        let study = match self.until_interval {
            Some(width_pct) => study.until_interval(width_pct)?,
            None => study,
        };
        if self.duration.is_some() && study.is_counted() {
            let why = "--duration: the runs of this study end after a count; change that";
            return Err(Failure::Usage(why.to_owned()));
        }
        let lengths = match self.named(&study)? {
            Some(lengths) => lengths,
            None => self.lengths(&study)?,
        };
        study.check_lengths(lengths).map_err(|Invalid(why)| {
            Invalid(format!("{why}; ask for fewer blocks with --blocks"))
        })?;
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

    fn lengths(&self, study: &Study) -> Result<Lengths, Invalid> {
        let lengths = Lengths {
            duration_ms: self.duration.map(|duration| duration.as_millis() as u32),
            ..Lengths::default()
        };
        let most = study.until.as_ref().map(|until| until.max_blocks);
        let blocks = match (self.blocks, self.budget) {
            (Some(blocks), _) => Some(blocks),
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
pub fn new_seed() -> Result<u64, Failure> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).map_err(|error| {
        Failure::Environment(format!(
            "the kernel gives no random numbers: {error}; choose a seed with --seed"
        ))
    })?;
    Ok(u64::from(u32::from_le_bytes(bytes)))
}
