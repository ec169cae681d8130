//! `--against`: a study compared with a variant of itself, interleaved within blocks.

use bitcost_model::Invalid;
use bitcost_study::Study;

use crate::failure::Failure;

#[derive(clap::Args)]
pub struct Held {
    /// Run every cell also with another setting, such as congestion_control=bbr or tso=off,
    /// interleaved, and compare both
    #[arg(long, value_name = "KEY=VALUE")]
    against: Option<String>,
}

impl Held {
    /// Adds the variant to the study as a factor.
    pub fn apply(&self, study: Study) -> Result<Study, Failure> {
        let Some(text) = &self.against else {
            return Ok(study);
        };
        let varied = match text.split_once('=') {
            Some((key, value)) => study.against(key.trim(), value.trim()),
            None => Err(Invalid(
                "allowed: a setting with its value, such as tso=off; two versions of bitcost are compared by an execution of each: `bitcost compare OLD NEW`".to_owned(),
            )),
        };
        varied.map_err(|why| Failure::Usage(format!("--against {text}: {}", why.0)))
    }
}
