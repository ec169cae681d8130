//! `--against`: a study compared with a variant of itself, interleaved within blocks.

use std::path::Path;

use bitcost_study::{Against, Study};

use crate::failure::Failure;
use bitcost_model::Invalid;

/// What a study is compared with.
#[derive(clap::Args)]
pub struct Held {
    /// Run every cell also with another setting, such as congestion_control=bbr or tso=off, or with
    /// another bitcost, interleaved, and compare both
    #[arg(long, value_name = "KEY=VALUE|PROGRAM")]
    against: Option<String>,
}

impl Held {
    /// Adds the variant to the study as a factor.
    ///
    /// # Errors
    /// Usage, when there is no such setting or program, or when the study varies it itself.
    pub fn apply(&self, study: Study) -> Result<Study, Failure> {
        let Some(text) = &self.against else {
            return Ok(study);
        };
        let usage = |why: Invalid| Failure::Usage(format!("--against {text}: {why}"));
        study.against(&read(text).map_err(usage)?).map_err(usage)
    }
}

/// Reads a setting, which has a `=` and no `/` before it; any other text is a path.
fn read(text: &str) -> Result<Against, Invalid> {
    match text.split_once('=').filter(|(key, _)| !key.contains('/')) {
        Some((key, value)) => Ok(Against::Setting {
            key: key.trim().to_owned(),
            value: value.trim().to_owned(),
        }),
        None if text.contains('/') || Path::new(text).exists() => {
            let whole = std::fs::canonicalize(text)
                .map_err(|error| Invalid(format!("cannot read the program: {error}")))?;
            let path = whole
                .to_str()
                .ok_or_else(|| Invalid("the program's path is not UTF-8".to_owned()))?
                .to_owned();
            Ok(Against::Program {
                shown: text.to_owned(),
                path,
            })
        }
        None => Err(Invalid(format!(
            "there is no such program; allowed: a setting with its value, such as tso=off, or the path of another bitcost, such as ./{text}"
        ))),
    }
}
