//! The facts of a log that resuming needs, read in one pass.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use bitcost_analysis::log::{Reader, nothing_measured};
use bitcost_model::event::Event;
use bitcost_model::plan::Plan;
use bitcost_study::Study;

use crate::error::ExecuteError;
use crate::store::{End, LogFile};

pub struct Logged {
    pub folder: PathBuf,
    /// The facts of the file that was read.
    pub facts: Metadata,
    pub study: Study,
    /// Its plan, which equals the plan that the study gives.
    pub plan: Plan,
    /// Its event `prepared`; absent if the execution stopped before it.
    pub prepared: Option<Event>,
    pub has_constants: bool,
    /// The runs that have their result. A run in which nothing was measured is made again.
    pub done: BTreeSet<u32>,
    pub end: End,
    pub reader: Reader,
}

#[derive(Default)]
struct Found {
    /// Its name, its text, and that of its lab file.
    study: Option<(String, String, Option<String>)>,
    plan: Option<Plan>,
    prepared: Option<Event>,
    has_constants: bool,
    done: BTreeSet<u32>,
}

impl Found {
    fn take(&mut self, event: Event) {
        match event {
            Event::ExecutionBegan {
                study,
                study_text,
                lab_text,
                ..
            } => self.study = Some((study, study_text, lab_text)),
            Event::Planned { plan } => self.plan = Some(plan),
            Event::Prepared { .. } if self.prepared.is_none() => self.prepared = Some(event),
            Event::Constants { .. } => self.has_constants = true,
            Event::RunEnded {
                run,
                interrupted: None,
                sender,
                receiver,
                ..
            } if !nothing_measured(&sender, &receiver) => {
                self.done.insert(run);
            }
            _ => {}
        }
    }
}

impl Logged {
    /// Reads the log of an execution that is to be resumed.
    pub fn read(folder: &Path) -> Result<Logged, ExecuteError> {
        let log = LogFile::open(folder)?;
        let (mut found, mut reader) = (Found::default(), Reader::default());
        let end = log.read(&mut |place, event| {
            reader.take(place, &event);
            found.take(event);
        })?;
        let shown = log.folder().display().to_string();
        let usage =
            |why: String| ExecuteError::Usage(format!("{shown}: {why}; start a new execution"));
        let Found {
            study: Some((name, text, lab_text)),
            plan: Some(plan),
            prepared,
            has_constants,
            done,
        } = found
        else {
            return Err(ExecuteError::Usage(format!(
                "the log in {shown} ends before its plan: nothing was run; start a new execution"
            )));
        };
        let checked = reader.clone().finish();
        checked.map_err(|error| usage(error.to_string()))?;
        let study = Study::parse_with(&format!("{name}.toml"), &text, lab_text.as_deref())
            .map_err(|error| ExecuteError::Usage(error.to_string()))?;
        if let Some(what) = study.plan_difference(&plan) {
            return Err(usage(format!(
                "the plan in the log is not the one that its study and seed give: {what}"
            )));
        }
        if prepared.is_none() && !done.is_empty() {
            return Err(usage(
                "the log holds results and does not describe their hosts (no `prepared` event)"
                    .into(),
            ));
        }
        Ok(Logged {
            folder: log.folder().to_owned(),
            facts: log.facts().clone(),
            study,
            plan,
            prepared,
            has_constants,
            done,
            end,
            reader,
        })
    }
}
