//! Imported runs as the events of an execution: a study with the factors that differ, a plan, and
//! every run.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::path::Path;

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

/// The fact that tells which end wrote a document.
pub(crate) const WRITTEN_BY: &str = "written_by";

type Factor = (String, Vec<Label>);

/// The whole log. Runs of the same levels are runs of one cell, each in a separate block, in the
/// order of the files: other programs do not interleave their runs.
pub fn execution(runs: Vec<Run>, head: Head) -> Vec<Event> {
    let found = with_files(joined(runs));
    let factors = factors(&found);
    let mut cells = Cells::default();
    let (mut runs, mut events) = (Vec::new(), Vec::new());
    for (index, found) in (0..).zip(found) {
        let (cell, block) = cells.place(&found, &factors);
        runs.push(PlannedRun { index, block, cell });
        events.extend(events_of(index, found));
    }
    let study_text = study(&head, &factors, &shown(&events));
    let begin = Event::ExecutionBegan {
        format: FORMAT,
        bitcost_version: head.version.to_owned(),
        at: head.at.to_owned(),
        command_line: head.command_line,
        study: head.name.to_owned(),
        study_text,
        lab_text: None,
    };
    let plan = Event::Planned {
        plan: Plan {
            seed: 0,
            blocks: cells.runs.into_iter().max().unwrap_or(0),
            lengths: None,
            is_profiled: false,
            cells: cells.cells,
            runs,
        },
    };
    let end = Event::ExecutionEnded {
        at: head.at.to_owned(),
        enough_blocks: None,
    };
    events.splice(0..0, [begin, plan]);
    events.push(end);
    events
}

/// Two documents of one test, as its cookie says, are its two ends and become one run: the client's,
/// with what only the server knows.
fn joined(runs: Vec<Run>) -> Vec<Run> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut all: Vec<Run> = Vec::new();
    let fact = |run: &Run, name: &str| run.imported.facts.get(name).cloned();
    for mut run in runs {
        let cookie = fact(&run, "cookie").filter(|cookie| cookie.len() >= COOKIE_BYTES);
        let place = cookie.map(|cookie| *places.entry(cookie).or_insert(all.len()));
        match place.and_then(|place| all.get_mut(place)) {
            Some(first) if fact(first, WRITTEN_BY) != fact(&run, WRITTEN_BY) => {
                if fact(&run, WRITTEN_BY).as_deref() == Some("client") {
                    std::mem::swap(first, &mut run);
                }
                first.join(run);
            }
            // The same document twice.
            Some(_) => {}
            _ => all.push(run),
        }
    }
    all
}

/// The bytes of iperf3's cookie; a shorter one is none that tells tests apart.
const COOKIE_BYTES: usize = 36;

/// Where files with different names, or in different folders, apart from their digits, have runs of the same levels, the name
/// is a level: `before.json` and `after.json` are not repeats of one test, `run-1.json` and
/// `run-2.json` are.
fn with_files(mut runs: Vec<Run>) -> Vec<Run> {
    let folder = |run: &Run| Path::new(&run.imported.file).parent().map(Path::to_owned);
    let folders: HashSet<_> = runs.iter().map(folder).collect();
    let label = |run: &Run| {
        let path = Path::new(run.imported.file.trim_end_matches(".gz"));
        let folder = path.parent().filter(|_| folders.len() > 1);
        let folder = folder.and_then(Path::file_name);
        let is_number = |letter: char| letter.is_ascii_digit() || "-_.".contains(letter);
        let names = folder.into_iter().chain(path.file_stem());
        let words: Vec<String> = names
            .map(|name| name.to_string_lossy().trim_matches(is_number).to_owned())
            .filter(|word| !word.is_empty())
            .collect();
        match words.is_empty() {
            true => "numbered".to_owned(),
            false => words.join("/"),
        }
    };
    let labels: Vec<String> = runs.iter().map(label).collect();
    let mut files: HashMap<Vec<(String, Label)>, HashSet<&str>> = HashMap::new();
    for (run, label) in runs.iter().zip(&labels) {
        let levels = run.imported.levels.clone().into_iter();
        let tool = ("tool".to_owned(), Label::Text(run.imported.tool.clone()));
        files
            .entry(levels.chain([tool]).collect())
            .or_default()
            .insert(label);
    }
    if files.values().any(|names| names.len() > 1) {
        for (run, label) in runs.iter_mut().zip(&labels) {
            run.level("file", label);
        }
    }
    runs
}

#[derive(Default)]
struct Cells {
    cells: Vec<Cell>,
    runs: Vec<u32>,
    places: HashMap<Vec<Label>, usize>,
}

impl Cells {
    fn place(&mut self, run: &Run, factors: &[Factor]) -> (usize, u32) {
        let names = factors.iter().map(|(name, _)| name);
        let labels: Vec<Label> = names.clone().map(|name| level(run, name)).collect();
        let cell = *self.places.entry(labels).or_insert_with_key(|labels| {
            self.cells.push(Cell {
                levels: names.cloned().zip(labels.iter().cloned()).collect(),
                conditions: Conditions::default(),
            });
            self.runs.push(0);
            self.cells.len() - 1
        });
        self.runs[cell] += 1;
        (cell, self.runs[cell] - 1)
    }
}

fn events_of(run: u32, of: Run) -> impl Iterator<Item = Event> {
    let at = of.imported.began_at.clone().filter(|at| !at.is_empty());
    let began = at.map(|at| Event::RunBegan { run, at });
    let result = match of.error {
        Some(reason) => Event::RunFailed {
            run,
            kind: FailureKind::Failed,
            reason: format!(
                "{}: {}: {}",
                of.imported.file,
                of.imported.tool,
                harmless(&reason)
            ),
            host_lacks: false,
            until_stopped: None,
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

/// The factors that differ between the runs, with every level; where none differs, those that say
/// what was run, and the program where the files do not.
fn factors(found: &[Run]) -> Vec<Factor> {
    let factor = |name: &str| {
        let levels: BTreeSet<Label> = found.iter().map(|found| level(found, name)).collect();
        (name.to_owned(), Vec::from_iter(levels))
    };
    let said = found.iter().flat_map(|found| found.imported.levels.keys());
    let names: BTreeSet<&str> = said.map(String::as_str).chain(["tool"]).collect();
    let all = names.into_iter().map(factor);
    let varied: Vec<Factor> = all.filter(|(_, levels)| levels.len() > 1).collect();
    if !varied.is_empty() {
        return varied;
    }
    let not_said = Label::Text(NOT_SAID.to_owned());
    let naming = NAMING.into_iter().map(factor);
    let named: Vec<Factor> = naming
        .filter(|(_, levels)| !levels.contains(&not_said))
        .collect();
    match named.is_empty() {
        true => vec![factor("tool")],
        false => named,
    }
}

fn shown(events: &[Event]) -> Vec<String> {
    let has = |name: &&str| {
        events.iter().any(|event| match event {
            Event::RunImported { imported, .. } => imported.figures.contains_key(*name),
            _ => false,
        })
    };
    let names = SHOWN.split_whitespace();
    names.filter(has).map(quoted).collect()
}

/// A study that describes the imported runs, so that every reader of logs can read this one.
fn study(head: &Head, factors: &[Factor], metrics: &[String]) -> String {
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
        let (name, levels) = (quoted(name), levels.join(", "));
        let _ = write!(text, "[[factor]]\nname = {name}\nlevels = [{levels}]\n");
    }
    let _ = write!(text, "[table]\nrows = {}\n", quoted(rows(factors)));
    if let Some(columns) = columns(factors) {
        let _ = writeln!(text, "columns = {}", quoted(columns));
    }
    text + &format!("metrics = [{}]\n", metrics.join(", "))
}

/// The factor of the table's rows: of two factors the one with more levels, otherwise one with
/// numbers, otherwise the first.
fn rows(factors: &[Factor]) -> &str {
    let is_number = |label: &Label| matches!(label, Label::Number(_));
    let first = match factors {
        [(first, some), (_, others)] if some.len() > others.len() => return first,
        [(_, some), (second, others)] if some.len() < others.len() => return second,
        _ => factors
            .iter()
            .find(|(_, levels)| levels.iter().any(is_number)),
    };
    first.or(factors.first()).map_or("tool", |(name, _)| name)
}

/// The factor of the columns: of the other factors the one with the fewest levels.
fn columns(factors: &[Factor]) -> Option<&str> {
    let others = factors.iter().filter(|(name, _)| name != rows(factors));
    others
        .min_by_key(|(_, levels)| levels.len())
        .map(|(name, _)| name.as_str())
}

/// A string of TOML: as in JSON, and without DEL.
fn quoted(words: &str) -> String {
    serde_json::Value::from(words)
        .to_string()
        .replace('\u{7f}', "\\u007f")
}
