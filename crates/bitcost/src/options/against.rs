//! `--against`: a study or a test compared with a variant of itself, interleaved within blocks.

use bitcost_model::conditions::Conditions;
use bitcost_model::settings::Setting;
use bitcost_model::shell::split_words;
use bitcost_study::Study;
use clap::{Args, Command, FromArgMatches};

use super::run::RunOptions;
use crate::failure::Failure;
use crate::foreign;
use crate::mistakes::Mistake;

#[derive(clap::Args)]
pub struct Held {
    /// Run everything also with these options of `bitcost test`, such as '--congestion bbr' or
    /// '--sysctl net.ipv4.tcp_sack=0', interleaved, and compare both
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    against: Option<String>,
}

impl Held {
    pub fn is_given(&self) -> bool {
        self.against.is_some()
    }

    /// The largest MTU that the variant gives an interface.
    pub fn device_mtu(&self) -> Option<u32> {
        let mut varied = Conditions::default();
        for (setting, typed) in settings(self.against.as_ref()?).ok()? {
            setting.set_text(&mut varied, &typed).ok()?;
        }
        varied.asked_mtus().max()
    }

    /// Adds the variant to the study as a factor.
    pub fn apply(&self, study: Study) -> Result<Study, Failure> {
        let Some(text) = &self.against else {
            return Ok(study);
        };
        let varied = settings(text).and_then(|settings| {
            let varied = study.against(text.trim(), &settings);
            varied.map_err(|why| why.0)
        });
        varied.map_err(|why| Failure::Usage(format!("--against '{text}': {why}")))
    }
}

/// The settings that these options give.
fn settings(text: &str) -> Result<Vec<(&'static Setting, String)>, String> {
    const ALLOWED: &str = "allowed: options of `bitcost test` for the run, such as '--congestion bbr'; hosts and lab are the same on both sides";
    let words = split_words(text).ok_or("a quote is not closed")?;
    if let Some(word) = words.first().filter(|word| !word.starts_with('-')) {
        return Err(format!("`{word}` is no option; {ALLOWED}"));
    }
    let test = RunOptions::augment_args(Command::new("test").disable_help_flag(true));
    // The links of a lab are the same on both sides; what differs is the MTU of the interfaces.
    let test = test.mut_arg("mtu_bytes", |option| option.alias("mtu"));
    let program = foreign::with_synonyms(Command::new("bitcost").subcommand(test));
    let words: Vec<String> = ["test".to_owned()].into_iter().chain(words).collect();
    let all = ["bitcost"]
        .into_iter()
        .chain(words.iter().map(String::as_str));
    let matched = program.clone().try_get_matches_from(all).map_err(|error| {
        let (words, error) = (&words[..], &error);
        let why = Mistake { words, error }.sentence(&program);
        format!("{why}; {ALLOWED}")
    })?;
    let (_, test) = matched.subcommand().ok_or(ALLOWED)?;
    let options = RunOptions::from_arg_matches(test).map_err(|error| error.to_string())?;
    match options.all() {
        none if none.is_empty() => Err(ALLOWED.to_owned()),
        settings => Ok(settings),
    }
}
