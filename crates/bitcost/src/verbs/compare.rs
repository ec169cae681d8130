//! `bitcost compare`: what changed from one execution to another, or between cells of one.

use std::path::{Path, PathBuf};

use metrics::{METRICS, Metric};
use model::near::did_you_mean;
use model::study::Label;
use report::Summary;
use report::compare::{self, Comparison, Side};
use report::frame::Execution;

use super::judging::Judging;
use crate::failure::Failure;
use crate::opened::Opened;
use crate::output;

/// What is compared, and how.
#[derive(clap::Args)]
pub struct Arguments {
    /// The execution's folder; or, with one FOLDER before them, cells of it as factor=level, such as `offloads=off`
    #[arg(required = true, num_args = 2..=3, value_names = ["OLD", "NEW"])]
    sides: Vec<String>,
    #[command(flatten)]
    judging: Judging,
    /// The metrics, by name [default: those of the study's table]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    metric: Vec<String>,
    /// The form of what is printed
    #[arg(long, value_name = "FORM", value_parser = ["text", "md", "json"], default_value = "text")]
    format: String,
}

/// Prints the comparison; with `--fail-on worse` a worse metric is a failure.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let threshold = arguments.judging.threshold;
    let comparison = match &arguments.sides[..] {
        [folder, old, new] => {
            let opened = Opened::open(Path::new(folder))?;
            let execution = opened.execution()?;
            let sides = (side(&execution, old)?, side(&execution, new)?);
            compare::within(&execution, &sides.0, &sides.1, &metrics(arguments, &[&execution.summary])?, threshold)
        }
        [old, new] => {
            let opened = [old, new].map(|folder| Opened::open(&PathBuf::from(folder)));
            let [old, new] = opened;
            let (old, new) = (old?, new?);
            let (old, new) = (old.execution()?, new.execution()?);
            compare::across(&old, &new, &metrics(arguments, &[&old.summary, &new.summary])?, threshold)
        }
        _ => return Err(Failure::Usage("two folders are compared, or two cells of one folder".into())),
    };
    output::print(&match arguments.format.as_str() {
        "json" => format!("{:#}\n", compare::comparison_json(&comparison)),
        "md" => compare::comparison_markdown(&comparison),
        _ => compare::comparison_text(&comparison),
    })?;
    check(arguments, &comparison)
}

fn check(arguments: &Arguments, comparison: &Comparison) -> Result<(), Failure> {
    if comparison.cells.is_empty() {
        let (old, new) = &comparison.names;
        return Err(Failure::Usage(format!("{old} and {new} have no cell in common: cells match by all their levels")));
    }
    arguments.judging.check(comparison)
}

fn metrics(arguments: &Arguments, summaries: &[&Summary]) -> Result<Vec<&'static Metric>, Failure> {
    if arguments.metric.is_empty() {
        return Ok(compare::compared_metrics(summaries));
    }
    let find = |name: &String| {
        metrics::metric(name).ok_or_else(|| {
            let hint = did_you_mean(name, METRICS.iter().map(|metric| metric.name));
            Failure::Usage(format!("--metric: `{name}` is not a metric{hint}; METHOD.md lists them under Metrics"))
        })
    };
    arguments.metric.iter().map(find).collect()
}

/// `factor=level,factor=level`, or a level alone where one factor only has it.
fn side(execution: &Execution, text: &str) -> Result<Side, Failure> {
    let factors = &execution.summary.study.factors;
    let one = |word: &str| -> Result<(String, Label), Failure> {
        let (wanted, level) = word.split_once('=').map_or((None, word), |(factor, level)| (Some(factor), level));
        let all = factors.iter().flat_map(|factor| factor.levels.iter().map(move |l| (&factor.name, &l.label)));
        let fits = |(factor, label): &(&String, &Label)| {
            wanted.is_none_or(|wanted| *factor == wanted) && label.to_string() == level
        };
        let mut found = all.clone().filter(fits);
        match (found.next(), found.next()) {
            (Some((factor, label)), None) => Ok((factor.clone(), label.clone())),
            (Some(_), Some(_)) => {
                Err(Failure::Usage(format!("`{word}` is a level of several factors; write FACTOR={level}")))
            }
            (None, _) => {
                let names: Vec<String> = all.map(|(factor, label)| format!("{factor}={label}")).collect();
                let hint = did_you_mean(word, names.iter().map(String::as_str));
                Err(Failure::Usage(format!("unknown level `{word}`{hint}; allowed: {}", names.join(", "))))
            }
        }
    };
    text.split(',').map(|word| one(word.trim())).collect::<Result<_, _>>().map(Side)
}
