//! Imported runs as the events of an execution: a study with the factors that differ, a plan, and
//! every run.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use bitcost_model::conditions::Conditions;
use bitcost_model::event::{Event, FORMAT, FailureKind};
use bitcost_model::harmless;
use bitcost_model::imported::NOT_SAID;
use bitcost_model::plan::{Plan, PlannedRun};
use bitcost_model::study::{Cell, Label};
use serde::Serialize;

use crate::run::Run;

const SHOWN: &str = "throughput_mbps loss_pct send_throughput_mbps \
    netperf_send_service_demand_us_per_kib netperf_receive_service_demand_us_per_kib \
    sender_process_cpu_pct receiver_process_cpu_pct jitter_us transactions_per_second \
    latency_mean_us latency_p50_us latency_p90_us latency_p99_us latency_max_us retransmits \
    background_throughput_mbps background_latency_mean_us background_latency_p99_us";

pub struct Head<'a> {
    pub name: &'a str,
    pub version: &'a str,
    /// Local time with offset (RFC 3339).
    pub at: &'a str,
    pub command_line: Vec<String>,
}

type Factor = (String, Vec<Label>);

/// The log of some runs. Runs of the same levels are runs of one cell, each in a separate block, in
/// the order of the files: other programs do not interleave their runs.
pub fn execution(runs: Vec<Run>, head: Head) -> Vec<Event> {
    let mut runs = joined(runs);
    for run in &mut runs {
        run.level("tool", run.imported.tool.clone());
    }
    name_files(&mut runs);
    let factors = factors(&runs);
    let began = Event::ExecutionBegan {
        format: FORMAT,
        bitcost_version: head.version.to_owned(),
        at: head.at.to_owned(),
        study_text: study(&head, &factors, &runs),
        command_line: head.command_line,
        study: head.name.to_owned(),
        lab_text: None,
    };
    let plan = plan(&runs, &factors);
    let mut events = vec![began, Event::Planned { plan }];
    events.extend(
        (0..)
            .zip(runs)
            .flat_map(|(index, run)| events_of(index, run)),
    );
    events.push(Event::ExecutionEnded {
        at: head.at.to_owned(),
        enough_blocks: None,
    });
    events
}

/// Two documents of one test, as its cookie says, are its two ends and become one run: the client's,
/// with what only the server knows. A document twice is none.
fn joined(runs: Vec<Run>) -> Vec<Run> {
    let mut joined: Vec<Run> = Vec::new();
    // The place of each test, by each of its ends.
    let mut ends: HashMap<(String, bool), usize> = HashMap::new();
    for mut run in runs {
        let Some(cookie) = run.cookie.take() else {
            joined.push(run);
            continue;
        };
        let [own, other] = [run.is_server, !run.is_server].map(|end| (cookie.clone(), end));
        if ends.contains_key(&own) {
            continue;
        }
        let place = ends.get(&other).copied();
        ends.insert(own, place.unwrap_or(joined.len()));
        match place.map(|place| &mut joined[place]) {
            None => joined.push(run),
            Some(client) if run.is_server => client.join(run),
            Some(server) => {
                let server = std::mem::replace(server, run);
                joined[place.unwrap_or_default()].join(server);
            }
        }
    }
    joined
}

/// Where files with different names, or in different folders, apart from their digits, have runs of
/// the same levels, the name is a level: `before.json` and `after.json` are not repeats of one test,
/// `run-1.json` and `run-2.json` are.
fn name_files(runs: &mut [Run]) {
    let is_number = |letter: char| letter.is_ascii_digit() || "-_.".contains(letter);
    let label = |run: &Run| {
        let path = Path::new(run.imported.file.trim_end_matches(".gz"));
        let names = [path.parent().and_then(Path::file_name), path.file_stem()];
        let names = names.map(|name| name.unwrap_or_default().to_string_lossy());
        let names = names.each_ref().map(|name| name.trim_matches(is_number));
        names.join("/").trim_matches('/').to_owned()
    };
    let labels: Vec<String> = runs.iter().map(label).collect();
    let mut files = HashMap::new();
    let has_files = runs
        .iter()
        .zip(&labels)
        .any(|(run, label)| *files.entry(&run.imported.levels).or_insert(label) != label);
    for (run, label) in runs.iter_mut().zip(labels).filter(|_| has_files) {
        run.level("file", Some(label).filter(|label| !label.is_empty()));
    }
}

/// A cell for each combination of levels, and the runs of each.
fn plan(runs: &[Run], factors: &[Factor]) -> Plan {
    let (mut cells, mut blocks, mut planned) = (Vec::new(), Vec::new(), Vec::new());
    let mut places = HashMap::new();
    for (index, run) in (0..).zip(runs) {
        let names = factors.iter().map(|(name, _)| name);
        let levels: Vec<_> = names.map(|name| (name.clone(), level(run, name))).collect();
        let cell = *places.entry(levels.clone()).or_insert(cells.len());
        if cell == cells.len() {
            let conditions = Conditions::default();
            cells.push(Cell { levels, conditions });
            blocks.push(0);
        }
        let block = blocks[cell];
        planned.push(PlannedRun { index, block, cell });
        blocks[cell] += 1;
    }
    Plan {
        seed: 0,
        blocks: blocks.into_iter().max().unwrap_or(0),
        lengths: None,
        is_profiled: false,
        cells,
        runs: planned,
    }
}

fn events_of(run: u32, of: Run) -> impl Iterator<Item = Event> {
    let at = of.imported.began_at.clone();
    let began = at.map(|at| Event::RunBegan { run, at });
    let (file, tool) = (&of.imported.file, &of.imported.tool);
    let result = match of.error {
        Some(reason) => Event::RunFailed {
            run,
            kind: FailureKind::Failed,
            reason: format!("{file}: {tool}: {}", harmless(&reason)),
        },
        None => Event::RunImported {
            run,
            imported: Box::new(of.imported),
        },
    };
    began.into_iter().chain([result])
}

/// The level of a run; a run whose file does not name it gets the label *not said*. A word that is
/// a whole number becomes that number.
fn level(run: &Run, factor: &str) -> Label {
    let word = match run.imported.levels.get(factor) {
        Some(Label::Text(word)) => word,
        Some(number) => return number.clone(),
        None => NOT_SAID,
    };
    match word.parse::<i64>() {
        Ok(number) if number.to_string() == word => Label::Number(number),
        _ => Label::Text(word.to_owned()),
    }
}

/// The settings that name a cell where no setting differs between the runs.
const NAMING: &str = "tool brand test protocol message_size_bytes flows";

/// The factors that differ between the runs, with every level; where none differs, those that
/// say what was run, as far as every file says it.
fn factors(found: &[Run]) -> Vec<Factor> {
    let factor = |name: &str| {
        let levels: BTreeSet<Label> = found.iter().map(|run| level(run, name)).collect();
        (name.to_owned(), Vec::from_iter(levels))
    };
    let names = found.iter().flat_map(|run| run.imported.levels.keys());
    let names: BTreeSet<&String> = names.collect();
    let all = names.into_iter().map(|name| factor(name));
    let mut factors: Vec<Factor> = all.filter(|(_, levels)| levels.len() > 1).collect();
    if factors.is_empty() {
        let of_all = |name: &&str| {
            found
                .iter()
                .all(|run| run.imported.levels.contains_key(*name))
        };
        let naming = NAMING.split(' ').filter(of_all);
        factors.extend(naming.map(factor));
    }
    factors
}

/// A study that describes the imported runs, so that every reader of logs can read this one.
fn study(head: &Head, factors: &[Factor], runs: &[Run]) -> String {
    let title = quoted(format!("Imported: {}", head.name));
    let question = "What do these files of other programs say?";
    let mut text = format!("title = {title}\nquestion = \"{question}\"\n");
    for (name, levels) in factors {
        let label = |label: &Label| format!("{{ label = {} }}", quoted(label));
        let levels = levels.iter().map(label).collect::<Vec<_>>().join(", ");
        let name = quoted(name);
        text += &format!("[[factor]]\nname = {name}\nlevels = [{levels}]\n");
    }
    // The rows are the factor with the most levels, the columns the one with the fewest of the others.
    let mut factors: Vec<&Factor> = factors.iter().collect();
    factors.sort_by_key(|(_, levels)| Reverse(levels.len()));
    text += &format!("[table]\nrows = {}\n", quoted(&factors[0].0));
    if let [_, .., (columns, _)] = &factors[..] {
        text += &format!("columns = {}\n", quoted(columns));
    }
    let is_figure = |name: &&str| {
        let results = runs.iter().filter(|run| run.error.is_none());
        results.into_iter().any(|run| run.get(name).is_some())
    };
    let shown = SHOWN.split_whitespace().filter(is_figure).map(quoted);
    text + &format!("metrics = [{}]\n", shown.collect::<Vec<_>>().join(", "))
}

/// A number or a string of TOML: as in JSON, and without DEL.
fn quoted(label: impl Serialize) -> String {
    let json = serde_json::to_string(&label).unwrap_or_default();
    json.replace('\u{7f}', "\\u007f")
}
