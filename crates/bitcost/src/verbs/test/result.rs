//! The output of `bitcost test`, all of it from the log.

use bitcost_analysis::cells::{RunRow, Status};
use bitcost_analysis::compare::THRESHOLD_PCT;
use bitcost_analysis::execution::Execution;
use bitcost_analysis::explain::{ExplainedCell, explanation};
use bitcost_analysis::log::not_in_effect;
use bitcost_model::record::Role;
use bitcost_model::study::UntilInterval;
use bitcost_render::explained::cell_text;
use bitcost_render::markdown_table::{escape, markdown_table};
use bitcost_render::mode_search::mode_search_json;
use bitcost_render::repeats::Repeats;
use bitcost_render::single::single_text;
use bitcost_render::test_answer::test_answer;
use bitcost_render::test_json::TestRuns;
use bitcost_study::mode_search::ModeSearch;
use serde_json::Value;

use super::form::Form;
use crate::failure::Failure;
use crate::opened::Opened;
use crate::output;

/// Indent of further lines of the result, where the terminal is narrow: that of its labels.
const HANGING: usize = 13;

/// A test that has ended.
pub struct Outcome<'a> {
    /// Its log.
    pub opened: &'a Opened,
    /// The rule that ended the repeats; absent for one run.
    pub until: Option<&'a UntilInterval>,
    /// The search for the fastest modes; absent if there was none.
    pub search: Option<&'a ModeSearch>,
    /// The lab; absent between named hosts.
    pub lab: Option<&'a str>,
}

/// The runs that are printed.
#[derive(Default)]
struct Runs {
    /// All figures of the first run.
    text: String,
    /// The first run in a few lines.
    answer: String,
    /// All runs as they are in JSON.
    json: TestRuns,
    /// All runs together.
    repeats: Repeats,
    limiter: Option<ExplainedCell>,
    /// Settings that are not in effect, each once.
    missed: Vec<String>,
}

impl Outcome<'_> {
    /// Prints the result.
    ///
    /// # Errors
    /// Check, when a run has no result, or a setting that was asked for is not in effect.
    pub fn print(&self, form: Form) -> Result<(), Failure> {
        let execution = self.opened.execution()?;
        let shown = match has(&execution, Status::Used) {
            true => Status::Used,
            false => Status::LeftOut,
        };
        if !has(&execution, shown) {
            return check(&execution);
        }
        let runs = Runs::read(&execution, shown, &self.place(&execution), form.samples);
        match (form.format().name(), form.rows) {
            ("text", None) => output::folded(&self.text(&runs, form.verbose), HANGING)?,
            ("json", None) => output::line(&format!("{:#}", self.json(&runs, &execution)))?,
            ("md", None) => output::print(&markdown(&runs))?,
            _ => {
                let exported = form.look().render_read(
                    std::slice::from_ref(self.opened),
                    std::slice::from_ref(&execution),
                    THRESHOLD_PCT,
                )?;
                output::form(&exported.bytes)?;
            }
        }
        if !runs.missed.is_empty() {
            let missed = runs.missed.join("; ");
            return Err(Failure::Check(format!("not in effect: {missed}")));
        }
        check(&execution)
    }

    fn text(&self, runs: &Runs, is_verbose: bool) -> String {
        let evidence = || runs.limiter.as_ref().map(cell_text).unwrap_or_default();
        match self.until {
            rule if rule.is_some() || runs.repeats.are_several() => {
                runs.repeats.text(rule) + &evidence()
            }
            _ if is_verbose => format!("{}{}\n{}", runs.text, evidence(), runs.answer),
            _ => runs.answer.clone(),
        }
    }

    /// `h1 to h2 in lab wire`.
    fn place(&self, execution: &Execution) -> String {
        let of = |role| {
            let mut ends = execution.summary.ends.iter();
            let end = ends.find(|end| end.role == role);
            end.map_or(role.name(), |end| {
                end.place.strip_prefix("netns:").unwrap_or(&end.place)
            })
        };
        let (sender, receiver) = (of(Role::Sender), of(Role::Receiver));
        match self.lab {
            Some(lab) => format!("{sender} to {receiver} in lab {lab}"),
            None => format!("{sender} to {receiver}"),
        }
    }

    fn json(&self, runs: &Runs, execution: &Execution) -> Value {
        let mut document = runs.json.document(execution, runs.limiter.as_ref());
        if let Ok(log) = self.opened.file() {
            let path = log.path().canonicalize();
            let path = path.unwrap_or_else(|_| log.path().to_owned());
            document["log"] = path.display().to_string().into();
        }
        if let Some(search) = self.search {
            document["mode_search"] = mode_search_json(search);
        }
        document
    }
}

impl Runs {
    /// Reads the runs of this status, whose endpoints are at `place`, and keeps their samples for
    /// JSON where they are wanted.
    fn read(execution: &Execution, status: Status, place: &str, with_samples: bool) -> Runs {
        let mut runs = Runs {
            limiter: explanation(execution).cells.into_iter().next(),
            ..Runs::default()
        };
        execution.each_run(|row| row.status == status, &mut |row, _, view| {
            if runs.text.is_empty() {
                runs.text = single_text(view);
                runs.answer = test_answer(view, place, runs.limiter.as_ref());
            }
            runs.repeats.add(view);
            runs.json.add(row.run, view, with_samples);
            for sentence in not_in_effect(view) {
                if !runs.missed.contains(&sentence) {
                    runs.missed.push(sentence);
                }
            }
        });
        if let Some(limiter) = &mut runs.limiter {
            limiter.name = "limiter".to_owned();
        }
        runs
    }
}

fn markdown(runs: &Runs) -> String {
    let mut text = markdown_table(&runs.repeats.table());
    let limiter = runs.limiter.as_ref().map(cell_text).unwrap_or_default();
    for line in limiter.lines() {
        text += &format!("\n{}\n", escape(line.trim()));
    }
    text
}

fn has(execution: &Execution, status: Status) -> bool {
    let mut runs = execution.summary.runs.iter();
    runs.any(|row| row.status == status)
}

/// Fails if a run is not used, with the reason of the first such run.
fn check(execution: &Execution) -> Result<(), Failure> {
    let is_unused =
        |row: &&RunRow| matches!(row.status, Status::LeftOut | Status::Failed | Status::Lost);
    let unused: Vec<&RunRow> = execution.summary.runs.iter().filter(is_unused).collect();
    let reason = unused.first().and_then(|row| row.reason.clone());
    let reason = reason.unwrap_or_else(|| "it has no result".to_owned());
    let message = match unused.len() {
        0 => return Ok(()),
        1 => reason,
        count => format!("{count} runs were left out; the first: {reason}"),
    };
    Err(match unused.iter().all(|row| row.host_lacks) {
        true => Failure::Environment(message),
        false => Failure::Check(message),
    })
}
