//! `bitcost compare`: the changes from one execution to another, or between cells of one.

use std::path::Path;
use std::slice::from_ref;

use bitcost_analysis::compare;
use bitcost_analysis::compare::{Comparison, Side};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::summary::Summary;
use bitcost_model::near::did_you_mean;
use bitcost_model::study::Label;
use bitcost_render::block::markdown;
use bitcost_render::comparison::comparison as blocks;
use bitcost_render::document::value;

use crate::failure::Failure;
use crate::opened::{self, Reading};
use crate::options::form::{Form, Printed};
use crate::options::judging::Judging;
use crate::options::repeats::compared_options;
use crate::output;

#[derive(clap::Args)]
pub struct Arguments {
    /// Folders of two executions; or one folder and two of its cells, each as factor=level:
    /// `FOLDER offloads=on offloads=off` [default: the two newest executions]
    #[arg(num_args = 2..=3, value_names = ["OLD", "NEW"])]
    sides: Vec<String>,
    /// Executions of the old side, all of the same plan, whose blocks are taken together; requires
    /// --new
    #[arg(long, value_name = "FOLDER", num_args = 1.., requires = "new", conflicts_with = "sides")]
    old: Vec<String>,
    /// Executions of the new side
    #[arg(long, value_name = "FOLDER", num_args = 1.., requires = "old")]
    new: Vec<String>,
    #[command(flatten)]
    judging: Judging,
    /// Metrics to compare, by name, separated by commas [default: those of the study's table]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    metric: Vec<String>,
    #[command(flatten)]
    printed: Printed,
    /// Print every figure, and not only those that changed
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    reading: Reading,
}

/// Prints the comparison; with `--fail-on worse` a worse or lost metric is a failure.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let comparison = match &arguments.sides[..] {
        [_, sides @ ..]
            if sides.len() == 2 && sides.iter().any(|side| Path::new(side).exists()) =>
        {
            Err(Failure::Usage(
                "executions are compared in pairs: bitcost compare OLD NEW".to_owned(),
            ))
        }
        [folder, old, new] => cells(arguments, folder, [old, new]),
        [old, new] => executions(arguments, from_ref(old), from_ref(new)),
        _ if arguments.old.is_empty() => {
            let newest = opened::newest_folders::<2>()?;
            let [new, old] = newest.map(|folder| folder.display().to_string());
            executions(arguments, &[old], &[new])
        }
        _ => executions(arguments, &arguments.old, &arguments.new),
    }?;
    print(arguments, &comparison)
}

fn print(arguments: &Arguments, comparison: &Comparison) -> Result<(), Failure> {
    let form = arguments.printed.form();
    if form == Form::Text && comparison.cells.is_empty() {
        return Err(nothing_in_common(comparison));
    }
    match form {
        Form::Json => output::print(&format!("{:#}\n", value(comparison))),
        Form::Md => output::print(&markdown(&blocks(comparison, arguments.all))),
        Form::Text => output::blocks(&blocks(comparison, arguments.all)),
    }?;
    check(arguments, comparison)
}

/// Two sets of cells of one execution.
fn cells(arguments: &Arguments, folder: &str, words: [&str; 2]) -> Result<Comparison, Failure> {
    let execution = opened::open(Path::new(folder), arguments.reading)?;
    opened::say_caveats(std::slice::from_ref(&execution));
    let [old, new] = words.map(|words| side(&execution, words));
    let (old, new) = (old?, new?);
    if old.is_same_as(&new) {
        let [old, new] = words;
        return Err(Failure::Usage(format!(
            "`{old}` and `{new}` are the same cells; name another level on one side: a side has the other's levels of factors that it does not name"
        )));
    }
    let metrics = compared_options(&arguments.metric, &[&execution.summary])?;
    Ok(compare::within(
        &execution,
        &old,
        &new,
        &metrics,
        arguments.judging.threshold,
    ))
}

/// Two sides of one execution or several.
fn executions(
    arguments: &Arguments,
    old: &[String],
    new: &[String],
) -> Result<Comparison, Failure> {
    let open = |folder: &String| opened::open(Path::new(folder), arguments.reading);
    let mut all = old.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    for folder in new {
        let one_side = |failure| one_side(&all[0], [&old[0], folder]).unwrap_or(failure);
        let opened = open(folder).map_err(one_side)?;
        all.push(opened);
    }
    opened::name_apart(&mut all);
    opened::say_caveats(&all);
    if let Some(twice) = opened::named_twice(&all) {
        return Err(Failure::Usage(format!(
            "{} is named twice; name different executions, or cells of one: bitcost compare FOLDER factor=level factor=level",
            twice.name
        )));
    }
    let summaries: Vec<&Summary> = all.iter().map(|one| &one.summary).collect();
    let metrics = compared_options(&arguments.metric, &summaries)?;
    let (old, new) = all.split_at(old.len());
    Ok(compare::across(
        old,
        new,
        &metrics,
        arguments.judging.threshold,
    ))
}

/// The error for a second argument that is a cell of the first folder and not a folder.
fn one_side(execution: &Findings, [folder, words]: [&str; 2]) -> Option<Failure> {
    if Path::new(words).exists() {
        return None;
    }
    side(execution, words).ok()?;
    Some(Failure::Usage(format!(
        "`{words}` is a cell of {folder}, and cells are compared in pairs: bitcost compare {folder} {words} OTHER; levels: {}",
        levels(execution).join(", ")
    )))
}

/// Every level as `factor=level`.
fn levels(execution: &Findings) -> Vec<String> {
    let factors = execution.summary.study.factors.iter();
    factors
        .flat_map(|factor| {
            factor
                .levels
                .iter()
                .map(move |level| format!("{}={}", factor.name, level.label))
        })
        .collect()
}

fn check(arguments: &Arguments, comparison: &Comparison) -> Result<(), Failure> {
    if comparison.cells.is_empty() {
        return Err(nothing_in_common(comparison));
    }
    arguments.judging.check(comparison)
}

/// The error for a comparison without a cell.
fn nothing_in_common(Comparison { old, new, .. }: &Comparison) -> Failure {
    Failure::Usage(format!(
        "{old} and {new} have no cell in common: two cells match if they have the same level of every factor that both executions have; `bitcost show` prints the cells of each"
    ))
}

/// Reads `factor=level,factor=level`, or a level alone if only one factor has it. A level may have
/// commas too: the longest level that the text goes on with is meant.
fn side(execution: &Findings, text: &str) -> Result<Side, Failure> {
    let factors = &execution.summary.study.factors;
    let all = factors.iter().flat_map(|factor| {
        let of_factor = factor.levels.iter();
        of_factor.map(move |level| (&factor.name, &level.label, level.label.to_string()))
    });
    let all: Vec<(&String, &Label, String)> = all.collect();
    let (mut side, mut rest) = (Vec::<(String, Label)>::new(), text.trim());
    loop {
        let goes_on = |word: &str| {
            let after = rest.strip_prefix(word)?.trim_start();
            (after.is_empty() || after.starts_with(',')).then_some(word.len())
        };
        let length = |(factor, _, label): &(&String, &Label, String)| {
            goes_on(&format!("{factor}={label}")).or_else(|| goes_on(label))
        };
        let longest = all.iter().filter_map(length).max();
        let Some(longest) = longest else {
            let word = rest.split(',').next().unwrap_or_default().trim();
            let names = levels(execution);
            let hint = did_you_mean(word, names.iter().map(String::as_str));
            return Err(Failure::Usage(format!(
                "unknown level `{word}`{hint}; allowed: {}",
                names.join(", ")
            )));
        };
        let mut found = all.iter().filter(|level| length(level) == Some(longest));
        let word = &rest[..longest];
        let (factor, label) = match (found.next(), found.next()) {
            (Some((factor, label, _)), None) => (*factor, *label),
            _ => {
                return Err(Failure::Usage(format!(
                    "`{word}` is a level of several factors; write FACTOR={word}"
                )));
            }
        };
        if side.iter().any(|(known, _)| known == factor) {
            return Err(Failure::Usage(format!(
                "`{text}` names two levels of `{factor}`, and no cell has both; name one"
            )));
        }
        side.push((factor.clone(), label.clone()));
        rest = rest[longest..].trim_start_matches([',', ' ']);
        if rest.is_empty() {
            return Ok(Side(side));
        }
    }
}
