//! Imported runs as the events of an execution: a study with the factors that differ, a plan, and
//! every run.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
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

/// The fact that tells which end wrote a document.
pub(crate) const WRITTEN_BY: &str = "written_by";

type Factor = (String, Vec<Label>);

/// What is kept of each run before the log begins.
struct Outline {
    levels: BTreeMap<String, Label>,
    tool: String,
    /// The names of its file's folder and of its file, without digits around them.
    names: [String; 2],
    is_client: bool,
    /// Both ends of the test have written a document.
    is_both: bool,
}

fn is_client(run: &Run) -> bool {
    let end = run.imported.facts.get(WRITTEN_BY);
    end.is_some_and(|end| end == "client")
}

/// A log of imported runs. It is shown every run first, and then makes the events of each, so that
/// one of them is held at a time. Runs of the same levels are runs of one cell, each in a separate
/// block, in the order of the files: other programs do not interleave their runs.
#[derive(Default)]
pub struct Execution {
    outlines: Vec<Outline>,
    folders: BTreeSet<PathBuf>,
    metrics: BTreeSet<String>,
    /// The index in the log of the test with a cookie.
    tests: HashMap<String, u32>,
    /// The index of each run that is shown; absent for a document that was there before.
    indexes: VecDeque<Option<u32>>,
    /// Ends of tests whose other end is to come, by index.
    waiting: HashMap<u32, Run>,
}

impl Execution {
    pub fn show(&mut self, run: &Run) {
        let of = &run.imported;
        let path = Path::new(of.file.trim_end_matches(".gz"));
        let folder = path.parent().unwrap_or(Path::new(""));
        self.folders.insert(folder.to_owned());
        let metrics = of.figures.keys().filter(|_| run.error.is_none());
        self.metrics.extend(metrics.cloned());
        let is_number = |letter: char| letter.is_ascii_digit() || "-_.".contains(letter);
        let names = [folder.file_name(), path.file_stem()].map(|name| {
            let name = name.unwrap_or_default().to_string_lossy();
            name.trim_matches(is_number).to_owned()
        });
        let outline = Outline {
            levels: of.levels.clone(),
            tool: of.tool.clone(),
            names,
            is_client: is_client(run),
            is_both: false,
        };
        let cookie = of.facts.get("cookie");
        let cookie = cookie.filter(|cookie| cookie.len() >= COOKIE_BYTES);
        let index = self.joined(cookie, outline);
        self.indexes.push_back(index);
    }

    /// The index of a run. Two documents of one test, as its cookie says, are its two ends and become
    /// one run: the client's, with what only the server knows. A document twice is none.
    fn joined(&mut self, cookie: Option<&String>, mut outline: Outline) -> Option<u32> {
        let next = self.outlines.len() as u32;
        let index = cookie.map_or(next, |cookie| {
            *self.tests.entry(cookie.clone()).or_insert(next)
        });
        let Some(known) = self.outlines.get_mut(index as usize) else {
            self.outlines.push(outline);
            return Some(index);
        };
        if known.is_both || known.is_client == outline.is_client {
            return None;
        }
        if outline.is_client {
            std::mem::swap(known, &mut outline);
        }
        known.is_both = true;
        Some(index)
    }

    /// Where files with different names, or in different folders, apart from their digits, have runs
    /// of the same levels, the name is a level: `before.json` and `after.json` are not repeats of one
    /// test, `run-1.json` and `run-2.json` are.
    fn name_files(&mut self) {
        let skipped = usize::from(self.folders.len() < 2);
        let label = |of: &Outline| match of.names[skipped..].join("/").trim_matches('/') {
            "" => "numbered".to_owned(),
            names => names.to_owned(),
        };
        let mut files: HashMap<_, HashSet<String>> = HashMap::new();
        for of in &self.outlines {
            let names = files.entry((&of.levels, &of.tool)).or_default();
            names.insert(label(of));
        }
        let has_files = files.values().any(|names| names.len() > 1);
        for of in self.outlines.iter_mut().filter(|_| has_files) {
            let label = Label::Text(harmless(&label(of)));
            of.levels.insert("file".to_owned(), label);
        }
    }

    /// The beginning of the log, after every run was shown.
    pub fn begin(&mut self, head: Head) -> [Event; 2] {
        self.name_files();
        let factors = factors(&self.outlines);
        let mut cells: Vec<Cell> = Vec::new();
        let mut places: HashMap<Vec<Label>, (usize, u32)> = HashMap::new();
        let place = |(index, outline)| {
            let names = factors.iter().map(|(name, _)| name);
            let labels: Vec<Label> = names.clone().map(|name| level(outline, name)).collect();
            let (cell, count) = places.entry(labels).or_insert_with_key(|labels| {
                let levels = names.cloned().zip(labels.iter().cloned()).collect();
                let conditions = Conditions::default();
                cells.push(Cell { levels, conditions });
                (cells.len() - 1, 0)
            });
            *count += 1;
            PlannedRun {
                index,
                block: *count - 1,
                cell: *cell,
            }
        };
        let runs: Vec<PlannedRun> = (0..).zip(&self.outlines).map(place).collect();
        let began = Event::ExecutionBegan {
            format: FORMAT,
            bitcost_version: head.version.to_owned(),
            at: head.at.to_owned(),
            study_text: study(&head, &factors, &self.metrics),
            command_line: head.command_line,
            study: head.name.to_owned(),
            lab_text: None,
        };
        let plan = Plan {
            seed: 0,
            blocks: runs.iter().map(|run| run.block + 1).max().unwrap_or(0),
            lengths: None,
            is_profiled: false,
            cells,
            runs,
        };
        [began, Event::Planned { plan }]
    }

    /// The events of the next of the runs, in the order in which they were shown.
    pub fn events(&mut self, mut run: Run) -> Vec<Event> {
        let Some(index) = self.indexes.pop_front().flatten() else {
            return Vec::new();
        };
        let of = &self.outlines[index as usize];
        if of.is_both {
            let Some(mut first) = self.waiting.remove(&index) else {
                self.waiting.insert(index, run);
                return Vec::new();
            };
            if is_client(&run) {
                std::mem::swap(&mut first, &mut run);
            }
            first.join(run);
            run = first;
        }
        if let Some(label) = of.levels.get("file") {
            run.imported.levels.insert("file".to_owned(), label.clone());
        }
        events_of(index, run).collect()
    }

    pub fn end(at: &str) -> Event {
        Event::ExecutionEnded {
            at: at.to_owned(),
            enough_blocks: None,
        }
    }
}

/// The whole log of some runs.
pub fn execution(runs: Vec<Run>, head: Head) -> Vec<Event> {
    let mut execution = Execution::default();
    runs.iter().for_each(|run| execution.show(run));
    let end = Execution::end(head.at);
    let mut events = Vec::from(execution.begin(head));
    events.extend(runs.into_iter().flat_map(|run| execution.events(run)));
    events.push(end);
    events
}

/// The bytes of iperf3's cookie; a shorter one is none that tells tests apart.
const COOKIE_BYTES: usize = 36;

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
fn level(run: &Outline, factor: &str) -> Label {
    let word = match run.levels.get(factor) {
        _ if factor == "tool" => &run.tool,
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
fn factors(found: &[Outline]) -> Vec<Factor> {
    let factor = |name: &str| {
        let levels: BTreeSet<Label> = found.iter().map(|found| level(found, name)).collect();
        (name.to_owned(), Vec::from_iter(levels))
    };
    let said = found.iter().flat_map(|found| found.levels.keys());
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
fn study(head: &Head, factors: &[Factor], metrics: &BTreeSet<String>) -> String {
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
    let rows = rows(factors);
    let _ = write!(text, "[table]\nrows = {}\n", quoted(rows));
    // Of the other factors the one with the fewest levels.
    let others = factors.iter().filter(|(name, _)| name != rows);
    if let Some((columns, _)) = others.min_by_key(|(_, levels)| levels.len()) {
        let _ = writeln!(text, "columns = {}", quoted(columns));
    }
    let shown = SHOWN.split_whitespace();
    let shown = shown.filter(|name| metrics.contains(*name)).map(quoted);
    let shown: Vec<String> = shown.collect();
    text + &format!("metrics = [{}]\n", shown.join(", "))
}

/// The factor of the table's rows: of two factors the one with more levels, otherwise one with
/// numbers, otherwise the first.
fn rows(factors: &[Factor]) -> &str {
    let is_number = |label: &Label| matches!(label, Label::Number(_));
    let mut numbers = factors.iter();
    let numbers = numbers.find(|(_, levels)| levels.iter().any(is_number));
    match factors {
        [(first, some), (_, others)] if some.len() > others.len() => first,
        [(_, some), (second, others)] if some.len() < others.len() => second,
        _ => numbers.map_or(&factors[0].0, |(name, _)| name),
    }
}

/// A string of TOML: as in JSON, and without DEL.
fn quoted(words: &str) -> String {
    let json = serde_json::Value::from(words).to_string();
    json.replace('\u{7f}', "\\u007f")
}
