//! How long a study takes, and the order of its runs.

use std::io::Read;
use std::time::Duration;

use bitcost_model::plan::Lengths;
use bitcost_model::units::parse_duration;
use bitcost_study::Study;

use crate::failure::Failure;

/// How long a study takes, and in which order its runs come.
#[derive(clap::Args)]
pub struct Order {
    /// Number of blocks; each runs every cell once, in random order [default: as the study says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    blocks: Option<u32>,
    /// Measured time of each run, such as 2s or 500ms [default: as the study says]
    #[arg(long, value_name = "TIME", value_parser = parse_window)]
    duration: Option<Duration>,
    /// Total time, such as 10m: make as many blocks as fit into it
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "blocks")]
    budget: Option<Duration>,
    /// Use the durations and counts of the document that the study reproduces
    #[arg(long, visible_alias = "like-the-paper", conflicts_with_all = ["blocks", "duration", "budget"])]
    like_the_document: bool,
    /// Use the short durations of the study, for continuous integration
    #[arg(long, conflicts_with_all = ["blocks", "duration", "budget", "like_the_document"])]
    pub ci: bool,
    /// Seed of the random order; the same seed gives the same order on any machine [default:
    /// random]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

fn parse_window(text: &str) -> Result<Duration, String> {
    let window = parse_duration(text)?;
    if (Duration::from_millis(100)..=Duration::from_secs(3600)).contains(&window) {
        return Ok(window);
    }
    Err(format!(
        "`{text}` is not a possible measured time; allowed: 100ms to 1h"
    ))
}

impl Order {
    /// The changes that the command line makes to the lengths of a study.
    ///
    /// # Errors
    /// Usage, when the study has no such form, or when the plan would have more runs than is
    /// possible.
    pub fn lengths(&self, study: &Study) -> Result<Lengths, Failure> {
        let lengths = self.asked(study)?;
        study.check_lengths(lengths).map_err(Failure::Usage)?;
        Ok(lengths)
    }

    fn asked(&self, study: &Study) -> Result<Lengths, Failure> {
        let named = [
            (
                self.like_the_document,
                study.like_the_document,
                "lengths of a document ([run] like_the_document)",
            ),
            (self.ci, study.ci, "short form ([run] ci)"),
        ];
        if let Some((_, length, what)) = named.into_iter().find(|(asked, _, _)| *asked) {
            let missing = || Failure::Usage(format!("the study {} has no {what}", study.name));
            return length.map(Lengths::from).ok_or_else(missing);
        }
        let most = study.until.as_ref().map(|until| until.max_blocks);
        let duration_ms = self.duration.map(|duration| duration.as_millis() as u32);
        let lengths = Lengths {
            blocks: self.blocks.or(most),
            duration_ms,
            counts_pct: None,
        };
        match self.budget {
            Some(budget) => {
                let blocks = study
                    .blocks_within(lengths, budget)
                    .map_err(Failure::Usage)?;
                Ok(Lengths {
                    blocks: Some(most.map_or(blocks, |most| most.min(blocks))),
                    ..lengths
                })
            }
            None => Ok(lengths),
        }
    }
}

/// A random seed of 32 bits, short enough to type.
///
/// # Errors
/// Environment, when the kernel gives no random numbers.
pub fn new_seed() -> Result<u64, Failure> {
    let mut bytes = [0; 4];
    let random =
        std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    random.map_err(|error| {
        Failure::Environment(format!(
            "cannot read /dev/urandom: {error}; choose a seed with --seed"
        ))
    })?;
    Ok(u64::from(u32::from_le_bytes(bytes)))
}
