//! Runs of files as the events of an execution: a study with the factors that differ, a plan, and every run.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;

use model::conditions::Conditions;
use model::event::{Event, FORMAT, FailureKind};
use model::harmless;
use model::imported::{ImportedRun, NOT_SAID};
use model::plan::{Plan, PlannedRun};
use model::study::{Cell, Label};

use crate::Found;

/// The metrics that the table shows where a run has them.
const SHOWN: [&str; 13] = [
    "throughput_mbps",
    "send_throughput_mbps",
    "netperf_send_service_demand_us_per_kib",
    "netperf_receive_service_demand_us_per_kib",
    "loss_pct",
    "jitter_us",
    "transactions_per_second",
    "latency_mean_us",
    "latency_p99_us",
    "retransmits",
    "beside_throughput_mbps",
    "beside_latency_mean_us",
    "beside_latency_p99_us",
];

/// What stands in the log beside the runs.
pub struct Head<'a> {
    /// Name of the execution.
    pub name: &'a str,
    /// Version of bitcost.
    pub version: &'a str,
    /// Local time with offset (RFC 3339).
    pub at: &'a str,
    /// The command line.
    pub command_line: Vec<String>,
}

/// The whole log. Runs of the same levels are runs of one cell, each in a block of its own, in the order of the files: what
/// other programs did was not interleaved.
pub fn execution(found: Vec<Found>, head: Head) -> Vec<Event> {
    let factors = factors(&found);
    let mut cells: Vec<Cell> = Vec::new();
    let mut counts: Vec<u32> = Vec::new();
    let mut places: HashMap<Vec<Label>, usize> = HashMap::new();
    let (mut runs, mut events) = (Vec::new(), Vec::new());
    for (index, found) in (0..).zip(found) {
        let labels: Vec<Label> = factors.iter().map(|(name, _)| level(&found, name)).collect();
        let cell = places.get(&labels).copied().unwrap_or_else(|| {
            let levels = factors.iter().map(|(name, _)| name.clone()).zip(labels.iter().cloned()).collect();
            cells.push(Cell { levels, conditions: Conditions::default() });
            counts.push(0);
            places.insert(labels, cells.len() - 1);
            cells.len() - 1
        });
        runs.push(PlannedRun { index, block: counts[cell], cell });
        counts[cell] += 1;
        let at = found.run.began_at.clone().unwrap_or_default();
        if !at.is_empty() {
            events.push(Event::RunBegan { run: index, at });
        }
        events.push(match found.error {
            Some(reason) => {
                let reason = format!("{}: {}: {}", found.run.file, found.run.tool, harmless(&reason));
                Event::RunFailed { run: index, kind: FailureKind::Failed, reason }
            }
            None => {
                let imported = ImportedRun { levels: found.levels, ..found.run };
                Event::RunImported { run: index, imported: Box::new(imported) }
            }
        });
    }
    let metrics = shown(&events);
    let blocks = counts.into_iter().max().unwrap_or(0);
    let study_text = study(&head, &factors, &metrics);
    let at = head.at.to_owned();
    let begin = Event::ExecutionBegan {
        format: FORMAT,
        bitcost_version: head.version.to_owned(),
        at: at.clone(),
        command_line: head.command_line,
        study: head.name.to_owned(),
        study_text,
    };
    let plan = Event::Planned { plan: Plan { seed: 0, blocks, lengths: None, cells, runs } };
    let end = Event::ExecutionEnded { at, enough_blocks: None };
    [begin, plan].into_iter().chain(events).chain([end]).collect()
}

/// The level that a run has; one whose file does not say it has a name of its own. A word that is a whole number is the number.
fn level(found: &Found, factor: &str) -> Label {
    let label = match factor {
        "tool" => Label::Text(found.run.tool.clone()),
        _ => found.levels.get(factor).cloned().unwrap_or_else(|| Label::Text(NOT_SAID.to_owned())),
    };
    match &label {
        Label::Text(word) => match word.parse::<i64>() {
            Ok(number) if number.to_string() == *word => Label::Number(number),
            _ => label,
        },
        Label::Number(_) => label,
    }
}

/// What differs between the runs, with every level; the program where nothing does.
fn factors(found: &[Found]) -> Vec<(String, Vec<Label>)> {
    let mut names: BTreeSet<&str> = found.iter().flat_map(|found| found.levels.keys().map(String::as_str)).collect();
    names.insert("tool");
    let levels = |name: &str| {
        let levels: HashSet<Label> = found.iter().map(|found| level(found, name)).collect();
        let mut levels: Vec<Label> = levels.into_iter().collect();
        levels.sort();
        levels
    };
    let all: Vec<(String, Vec<Label>)> = names.into_iter().map(|name| (name.to_owned(), levels(name))).collect();
    let varied: Vec<_> = all.iter().filter(|(_, levels)| levels.len() > 1).cloned().collect();
    if !varied.is_empty() {
        return varied;
    }
    all.into_iter().filter(|(name, _)| name == "tool").collect()
}

fn shown(events: &[Event]) -> Vec<&'static str> {
    let has = |name: &&&str| {
        events.iter().any(|event| match event {
            Event::RunImported { imported, .. } => imported.figures.contains_key(**name),
            _ => false,
        })
    };
    SHOWN.iter().filter(has).copied().collect()
}

/// A study that says what was imported, so that everything that reads logs can read this one.
fn study(head: &Head, factors: &[(String, Vec<Label>)], metrics: &[&str]) -> String {
    let mut text = format!(
        "title = {}\nquestion = \"What do these files of other programs say?\"\n",
        quoted(&format!("Imported: {}", head.name))
    );
    for (name, levels) in factors {
        let label = |label: &Label| match label {
            Label::Number(number) => format!("{{ label = {number} }}"),
            Label::Text(text) => format!("{{ label = {} }}", quoted(text)),
        };
        let levels: Vec<String> = levels.iter().map(label).collect();
        let _ = write!(text, "[[factor]]\nname = {}\nlevels = [{}]\n", quoted(name), levels.join(", "));
    }
    let _ = write!(text, "[table]\nrows = {}\n", quoted(rows(factors)));
    if let Some(columns) = columns(factors) {
        let _ = writeln!(text, "columns = {}", quoted(columns));
    }
    let metrics: Vec<String> = metrics.iter().map(|metric| quoted(metric)).collect();
    let _ = writeln!(text, "metrics = [{}]", metrics.join(", "));
    text
}

/// The factor down the table: of two the one with more levels, else one of numbers, else the first.
fn rows(factors: &[(String, Vec<Label>)]) -> &str {
    if let [(first, some), (second, others)] = factors
        && some.len() != others.len()
    {
        return if some.len() > others.len() { first } else { second };
    }
    let is_number = |(_, levels): &&(String, Vec<Label>)| levels.iter().any(|label| matches!(label, Label::Number(_)));
    factors.iter().find(is_number).or(factors.first()).map_or("tool", |(name, _)| name)
}

/// The factor across: of the others the one with the fewest levels.
fn columns(factors: &[(String, Vec<Label>)]) -> Option<&str> {
    let others = factors.iter().filter(|(name, _)| name != rows(factors));
    others.min_by_key(|(_, levels)| levels.len()).map(|(name, _)| name.as_str())
}

/// A string of TOML: as in JSON, and without DEL.
fn quoted(words: &str) -> String {
    serde_json::Value::from(words).to_string().replace('\u{7f}', "\\u007f")
}
