//! What `bitcost test` prints: a run, or several of one kind, in the form that was asked for.

use explain::ExplainedCell;
use metrics::RunView;
use model::conditions::Conditions;
use model::event::{EndDescription, Event, FORMAT};
use model::mode_search::ModeSearch;
use model::plan::{Plan, PlannedRun};
use model::record::EndRecord;
use model::study::{Cell, LabSpec, Label, UntilInterval};
use report::compare::THRESHOLD_PCT;
use report::frame;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::format::{Format, Look, Rows};
use crate::opened::Opened;
use crate::output;
use crate::place::Facts;

/// The form of the result.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Form {
    /// Print one JSON document: --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// The form of what is printed; in each but text the lines of seconds go to standard error
    #[arg(long, value_name = "FORM", value_enum)]
    format: Option<Format>,
    /// One row per run, or per stretch of 100 ms, instead of the figures
    #[arg(long, value_name = "WHAT", value_enum)]
    rows: Option<Rows>,
}

impl Form {
    fn format(self) -> Format {
        self.format.unwrap_or(if self.json { Format::Json } else { Format::Text })
    }

    /// Whether standard output is for people.
    pub fn is_text(self) -> bool {
        self.format() == Format::Text && self.rows.is_none()
    }

    /// What can be said against the form before there is anything to print.
    ///
    /// # Errors
    /// Usage, where it does not fit a test.
    pub fn check(self, is_repeated: bool, asked: &Conditions) -> Result<(), Failure> {
        let why = match self.format() {
            Format::Html => "--format html is of executions: make one with `bitcost run`, then `bitcost report FOLDER`",
            Format::Iperf3 if asked.workload.is_transactional() => {
                "--format iperf3 is of streams: iperf3 has no transactions; take --format netperf or json"
            }
            Format::Iperf3 if is_repeated => "--format iperf3 is of a single run; leave out --until-interval",
            format => return Look::of(format, self.rows).check(),
        };
        Err(Failure::Usage(why.to_owned()))
    }
}

/// A run that was made.
pub struct Made {
    /// Local time of its begin (RFC 3339).
    pub at: String,
    /// As in [`Event::RunEnded`].
    pub start_uncertainty_us: f64,
    pub sender: Box<EndRecord>,
    pub receiver: Box<EndRecord>,
}

/// The runs of a kind.
pub fn views<'a>(runs: &'a [Made], conditions: &'a Conditions, facts: Facts) -> Vec<RunView<'a>> {
    runs.iter().map(|made| facts.view(&made.sender, &made.receiver, conditions)).collect()
}

/// What is known when the last run has been made.
pub struct Outcome<'a> {
    /// What was run: `tcp`.
    pub test: &'a str,
    pub conditions: &'a Conditions,
    pub facts: Facts,
    /// One at least.
    pub runs: &'a [Made],
    /// Until when it was made again; absent for one run.
    pub rule: Option<&'a UntilInterval>,
    pub search: Option<&'a ModeSearch>,
    /// Absent between named hosts.
    pub lab: Option<&'a LabSpec>,
    pub ends: &'a [EndDescription],
}

impl Outcome<'_> {
    /// Prints it; a setting that was asked for and is not in force is a failure.
    pub fn print(&self, form: Form) -> Result<(), Failure> {
        let runs = views(self.runs, self.conditions, self.facts);
        match (form.format(), form.rows) {
            (Format::Text, None) => output::print(&self.text(&runs))?,
            (Format::Json, None) => output::line(&format!("{:#}", self.json(&runs)))?,
            (Format::Md, None) => output::print(&self.markdown(&runs))?,
            (format, rows) => output::form(&Look::of(format, rows).render(&[self.opened()], THRESHOLD_PCT)?)?,
        }
        all_in_force(&runs)
    }

    fn text(&self, runs: &[RunView]) -> String {
        let figures = match self.rule {
            Some(rule) => report::repeats_text(runs, rule),
            None => runs.iter().map(report::single_text).collect(),
        };
        figures + &explain::cell_words(&limiter(runs))
    }

    fn json(&self, runs: &[RunView]) -> Value {
        let mut document = match self.rule {
            Some(rule) => report::repeats_json(runs, rule),
            None => runs.first().map(report::single_json).unwrap_or_default(),
        };
        document["limiter"] = explain::cell_json(&limiter(runs));
        if let Some(search) = self.search {
            document["mode_search"] = report::mode_search_json(search);
        }
        if self.lab.is_none() {
            document["ends"] = json!(self.ends);
        }
        document
    }

    fn markdown(&self, runs: &[RunView]) -> String {
        let table = frame::markdown(&report::repeats_table(runs));
        let limiter = explain::cell_words(&limiter(runs));
        let lines = limiter.lines().map(|line| format!("\n{}\n", frame::escape_markdown(line.trim())));
        table + &lines.collect::<String>()
    }

    /// The runs as an execution whose log is nowhere written: everything that reads logs can print them.
    fn opened(&self) -> Opened {
        let levels = vec![("test".to_owned(), Label::Text(self.test.to_owned()))];
        let cell = Cell { levels, conditions: self.conditions.clone() };
        let count = self.runs.len() as u32;
        let runs = (0..count).map(|index| PlannedRun { index, block: index, cell: 0 }).collect();
        let plan = Plan { seed: 0, blocks: count, lengths: None, cells: vec![cell], runs };
        let mut events = vec![self.began(), Event::Planned { plan }, self.prepared()];
        for (run, Made { at, start_uncertainty_us, sender, receiver }) in (0..).zip(self.runs) {
            let (sender, receiver) = (sender.clone(), receiver.clone());
            events.push(Event::RunBegan { run, at: at.clone() });
            events.push(Event::RunEnded { run, start_uncertainty_us: *start_uncertainty_us, sender, receiver });
        }
        Opened::in_memory("test", events)
    }

    fn began(&self) -> Event {
        let test = self.test;
        Event::ExecutionBegan {
            format: FORMAT,
            bitcost_version: env!("CARGO_PKG_VERSION").to_owned(),
            at: self.runs.first().map(|made| made.at.clone()).unwrap_or_default(),
            command_line: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            study: "test".to_owned(),
            study_text: format!(
                "title = \"bitcost test {test}\"\nquestion = \"What does this run give?\"\n\
                 [[factor]]\nname = \"test\"\nlevels = [{{ label = \"{test}\" }}]\n[table]\nrows = \"test\"\n"
            ),
        }
    }

    fn prepared(&self) -> Event {
        let shared_cpus = views(self.runs, self.conditions, self.facts).iter().any(|run| run.shared_cpus);
        Event::Prepared {
            lab: self.lab.cloned().map(Box::new),
            ends: self.ends.to_vec(),
            shared_cpus,
            notes: Vec::new(),
            hosts: None,
            rtt: None,
            programs: Default::default(),
        }
    }
}

/// What limited the runs.
fn limiter(runs: &[RunView]) -> ExplainedCell {
    ExplainedCell::of_views("limiter", runs)
}

fn all_in_force(runs: &[RunView]) -> Result<(), Failure> {
    let mut missed: Vec<String> = Vec::new();
    for sentence in runs.iter().flat_map(report::not_in_force) {
        if !missed.contains(&sentence) {
            missed.push(sentence);
        }
    }
    if missed.is_empty() { Ok(()) } else { Err(Failure::Check(format!("not in force: {}", missed.join("; ")))) }
}
