//! Imported runs as the events of an execution: a study with the factors that differ, a plan, and
//! every run.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use bitcost_model::conditions::Conditions;
use bitcost_model::event::{Event, FORMAT, FailureKind};
use bitcost_model::harmless;
use bitcost_model::imported::NOT_SAID;
use bitcost_model::plan::{Plan, PlannedRun};
use bitcost_model::study::{Cell, Label};

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

/// The bytes of iperf3's cookie; a shorter one is none that tells tests apart.
const COOKIE_BYTES: usize = 36;

/// The log of some runs. Runs of the same levels are runs of one cell, each in a separate block, in
/// the order of the files: other programs do not interleave their runs.
pub fn execution(runs: Vec<Run>, head: Head) -> Vec<Event> {
    let mut runs = joined(runs);
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
    // The place of each test, and whether it has both ends.
    let mut tests: HashMap<String, (usize, bool)> = HashMap::new();
    for mut run in runs {
        let cookie = run.cookie.take();
        let cookie = cookie.filter(|cookie| cookie.len() >= COOKIE_BYTES);
        match cookie.as_ref().and_then(|cookie| tests.get_mut(cookie)) {
            None => {
                tests.extend(cookie.map(|cookie| (cookie, (joined.len(), false))));
                joined.push(run);
            }
            Some((place, is_both)) if !*is_both && joined[*place].is_server != run.is_server => {
                *is_both = true;
                let first = &mut joined[*place];
                if first.is_server {
                    std::mem::swap(first, &mut run);
                }
                first.join(run);
            }
            Some(_) => {}
        }
    }
    joined
}

/// Where files with different names, or in different folders, apart from their digits, have runs of
/// the same levels, the name is a level: `before.json` and `after.json` are not repeats of one test,
/// `run-1.json` and `run-2.json` are.
fn name_files(runs: &mut [Run]) {
    let path = |run: &Run| PathBuf::from(run.imported.file.trim_end_matches(".gz"));
    let folders: HashSet<PathBuf> = runs
        .iter()
        .map(|run| path(run).with_file_name(""))
        .collect();
    let is_number = |letter: char| letter.is_ascii_digit() || "-_.".contains(letter);
    let label = |run: &Run| {
        let path = path(run);
        let folder = path.parent().and_then(Path::file_name);
        let folder = folder.filter(|_| folders.len() > 1);
        let names = [folder, path.file_stem()].map(|name| {
            let name = name.unwrap_or_default().to_string_lossy();
            name.trim_matches(is_number).to_owned()
        });
        match names.join("/").trim_matches('/') {
            "" => "numbered".to_owned(),
            names => harmless(names),
        }
    };
    let labels: Vec<String> = runs.iter().map(label).collect();
    let mut files: HashMap<_, &String> = HashMap::new();
    let has_files = runs.iter().zip(&labels).any(|(run, label)| {
        let levels = (&run.imported.levels, &run.imported.tool);
        *files.entry(levels).or_insert(label) != label
    });
    for (run, label) in runs.iter_mut().zip(labels).filter(|_| has_files) {
        run.level("file", label);
    }
}

/// A cell for each combination of levels, and the runs of each.
fn plan(runs: &[Run], factors: &[Factor]) -> Plan {
    let mut cells: Vec<Cell> = Vec::new();
    let mut places: HashMap<Vec<Label>, (usize, u32)> = HashMap::new();
    let place = |(index, run)| {
        let labels = factors.iter().map(|(name, _)| level(run, name));
        let (cell, count) = places.entry(labels.collect()).or_insert_with_key(|labels| {
            let names = factors.iter().map(|(name, _)| name.clone());
            let levels = names.zip(labels.iter().cloned()).collect();
            let conditions = Conditions::default();
            cells.push(Cell { levels, conditions });
            (cells.len() - 1, 0)
        });
        *count += 1;
        let (cell, block) = (*cell, *count - 1);
        PlannedRun { index, block, cell }
    };
    let runs: Vec<PlannedRun> = (0..).zip(runs).map(place).collect();
    Plan {
        seed: 0,
        blocks: runs.iter().map(|run| run.block + 1).max().unwrap_or(0),
        lengths: None,
        is_profiled: false,
        cells,
        runs,
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
            host_lacks: false,
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
        _ if factor == "tool" => &run.imported.tool,
        Some(Label::Text(word)) => word,
        Some(number) => return number.clone(),
        None => NOT_SAID,
    };
    match word.parse::<i64>() {
        Ok(number) if number.to_string() == word => Label::Number(number),
        _ => Label::Text(word.to_owned()),
    }
}

/// The settings that name a cell where no setting differs between the runs, the first that every
/// file says.
const NAMING: [&str; 5] = ["brand", "test", "protocol", "message_size_bytes", "flows"];

/// The factors that differ between the runs, with every level; where none differs, those that
/// say what was run, and the program where the files do not.
fn factors(found: &[Run]) -> Vec<Factor> {
    let factor = |name: &str| {
        let levels: BTreeSet<Label> = found.iter().map(|run| level(run, name)).collect();
        (name.to_owned(), Vec::from_iter(levels))
    };
    let said = found.iter().flat_map(|run| run.imported.levels.keys());
    let names: BTreeSet<&str> = said.map(String::as_str).chain(["tool"]).collect();
    let all = names.into_iter().map(factor);
    let mut factors: Vec<Factor> = all.filter(|(_, levels)| levels.len() > 1).collect();
    if factors.is_empty() {
        let not_said = Label::Text(NOT_SAID.to_owned());
        factors.extend(NAMING.into_iter().map(factor));
        factors.retain(|(_, levels)| !levels.contains(&not_said));
    }
    if factors.is_empty() {
        factors.push(factor("tool"));
    }
    factors
}

/// A study that describes the imported runs, so that every reader of logs can read this one.
fn study(head: &Head, factors: &[Factor], runs: &[Run]) -> String {
    let title = quoted(&format!("Imported: {}", head.name));
    let question = "What do these files of other programs say?";
    let mut text = format!("title = {title}\nquestion = \"{question}\"\n");
    for (name, levels) in factors {
        let label = |label: &Label| match label {
            Label::Number(number) => format!("{{ label = {number} }}"),
            Label::Text(text) => format!("{{ label = {} }}", quoted(text)),
        };
        let levels = levels.iter().map(label).collect::<Vec<_>>().join(", ");
        let name = quoted(name);
        let _ = write!(text, "[[factor]]\nname = {name}\nlevels = [{levels}]\n");
    }
    // The rows are the factor with the most levels, of several one with numbers, the columns the one
    // with the fewest of the others.
    let is_number = |label: &Label| matches!(label, Label::Number(_));
    let rank = |(_, levels): &&Factor| (levels.len(), levels.iter().any(is_number));
    let rows = factors.iter().rev().max_by_key(rank);
    let is_rows = |factor: &&Factor| rows.is_some_and(|rows| rows.0 == factor.0);
    let others = factors.iter().filter(|factor| !is_rows(factor));
    let columns = others.min_by_key(|(_, levels)| levels.len());
    text += "[table]\n";
    for (key, factor) in [("rows", rows), ("columns", columns)] {
        if let Some((name, _)) = factor {
            let _ = writeln!(text, "{key} = {}", quoted(name));
        }
    }
    let is_figure = |name: &&str| {
        let results = runs.iter().filter(|run| run.error.is_none());
        results.into_iter().any(|run| run.get(name).is_some())
    };
    let shown = SHOWN.split_whitespace().filter(is_figure).map(quoted);
    text + &format!("metrics = [{}]\n", shown.collect::<Vec<_>>().join(", "))
}

/// A string of TOML: as in JSON, and without DEL.
fn quoted(words: &str) -> String {
    let json = serde_json::Value::from(words).to_string();
    json.replace('\u{7f}', "\\u007f")
}
