//! What the log of an execution tells to `run --resume`, in one reading.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use model::event::Event;
use model::plan::Plan;
use model::study::Study;
use report::{Reader, nothing_measured};
use store::{Damaged, End, LogFile};

use crate::failure::Failure;

/// An execution that goes on.
pub struct Logged {
    /// Its folder.
    pub folder: PathBuf,
    /// Its study.
    pub study: Study,
    /// Its plan, which is the one that the study gives.
    pub plan: Plan,
    /// Where its runs happen; absent where it stopped before.
    pub prepared: Option<Event>,
    /// Whether the path was measured.
    pub is_calibrated: bool,
    /// The runs that have their result. One in which nothing was measured is tried again.
    pub done: BTreeSet<u32>,
    /// How the log ends.
    pub end: End,
}

/// What is collected while the log is read.
#[derive(Default)]
struct Found {
    study: Option<(String, String)>,
    plan: Option<Plan>,
    prepared: Option<Event>,
    is_calibrated: bool,
    done: BTreeSet<u32>,
}

impl Found {
    fn take(&mut self, event: Event) {
        match event {
            Event::ExecutionBegan { study, study_text, .. } => self.study = Some((study, study_text)),
            Event::Planned { plan } => self.plan = Some(plan),
            Event::Prepared { .. } if self.prepared.is_none() => self.prepared = Some(event),
            Event::Calibrated { .. } => self.is_calibrated = true,
            Event::RunEnded { run, sender, receiver, .. } if !nothing_measured(&sender, &receiver) => {
                self.done.insert(run);
            }
            _ => {}
        }
    }
}

impl Logged {
    /// Reads the log of an execution that is to go on.
    ///
    /// # Errors
    /// Usage: where there is no log, or it is damaged, ends before its plan, contradicts itself, or has another plan than its
    /// study gives.
    pub fn read(folder: &Path) -> Result<Logged, Failure> {
        let mut log = LogFile::open(folder, Damaged::Refuse)?;
        let (mut found, mut reader) = (Found::default(), Reader::default());
        let end = log.read(&mut |place, event| {
            reader.take(place, &event);
            found.take(event);
        })?;
        let shown = log.folder().display().to_string();
        let usage = |why: String| Failure::Usage(format!("{shown}: {why}; start anew"));
        let Found { study: Some((name, text)), plan: Some(plan), prepared, is_calibrated, done } = found else {
            return Err(Failure::Usage(format!(
                "the log in {shown} ends before its plan: nothing was run; start anew"
            )));
        };
        reader.check().map_err(|error| usage(error.to_string()))?;
        let study = Study::parse(&format!("{name}.toml"), &text).map_err(|error| Failure::Usage(error.to_string()))?;
        if let Some(what) = plan.difference(&study) {
            return Err(usage(format!("the plan in the log is not the one that its study and seed give: {what}")));
        }
        if prepared.is_none() && !done.is_empty() {
            return Err(usage("the log holds results and does not describe their hosts (no `prepared` event)".into()));
        }
        Ok(Logged { folder: log.folder().to_owned(), study, plan, prepared, is_calibrated, done, end })
    }
}
