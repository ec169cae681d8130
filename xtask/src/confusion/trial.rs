//! One run of a scenario, kept with its records so that it can be judged again.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, anyhow};
use drive::Session;
use explain::{CostModel, RunFigures, Verdict, explain_run};
use metrics::RunView;
use model::conditions::{Conditions, Workload};
use model::event::Event;
use model::plan::{Plan, PlannedRun};
use model::record::{EndRecord, Sample, ThreadKind};
use model::settings::SETTINGS;
use model::study::Cell;
use serde::{Deserialize, Serialize};

use super::place::Place;
use super::scenarios::Scenario;

static NEVER: AtomicBool = AtomicBool::new(false);

/// A run with what it was to show.
#[derive(Debug, Serialize, Deserialize)]
pub struct Trial {
    /// The scenario's name.
    pub scenario: String,
    /// Which repeat.
    pub repeat: u32,
    /// The size of a run that is there for the cost model.
    pub sweep: Option<u32>,
    conditions: Conditions,
    sender: EndRecord,
    receiver: EndRecord,
}

impl Trial {
    fn view(&self) -> RunView<'_> {
        let Trial { sender, receiver, conditions, .. } = self;
        RunView { sender, receiver, conditions, shared_cpus: true, napi_threaded: true, ceiling_mbps: None }
    }

    /// Its figures.
    pub fn figures(&self) -> RunFigures {
        RunFigures::of(u64::from(self.repeat) + 1, &self.view())
    }

    /// What bitcost says limits it.
    pub fn verdicts(&self, models: &[(String, CostModel)]) -> Vec<Verdict> {
        let model = models.iter().find(|(name, _)| *name == self.scenario).map(|(_, model)| model);
        let per_byte = model.map(|model| model.per_byte_share(self.conditions.mean_message_bytes()));
        explain_run(&self.view(), per_byte)
    }

    /// CPUs that were at work for something else than both agents, with all their threads, and the interfaces.
    pub fn foreign_cpus(&self) -> Option<f64> {
        let ends = [&self.sender, &self.receiver];
        let own = |end: &EndRecord| {
            let (first, last) = (end.samples.first()?, end.samples.last()?);
            let napi = |sample: &Sample| -> u64 {
                sample.threads.iter().filter(|t| t.kind == ThreadKind::Napi).map(|thread| thread.run_ns).sum()
            };
            let all = |sample: &Sample| Some(sample.process_ns? + napi(sample));
            Some((all(last)?.saturating_sub(all(first)?)) as f64 / (last.at_ns - first.at_ns) as f64)
        };
        let own: f64 = ends.into_iter().map(own).sum::<Option<f64>>()?;
        let busy = metrics::metric("sender_cpu_util_pct").and_then(|metric| (metric.compute)(&self.view()))?;
        let cpus = self.sender.samples.first()?.cpus.len() as f64;
        Some(busy / 100.0 * cpus - own)
    }

    /// The signals of all of its time.
    pub fn signals(&self) -> explain::Signals {
        let view = self.view();
        let all: Vec<usize> = (0..explain::intervals(&view)).collect();
        explain::Signals::of(&view, &all, None)
    }
}

/// Makes a run of a scenario.
pub fn run(scenario: &Scenario, repeat: u32, bitcost: &Path) -> Result<Trial> {
    let conditions = conditions(scenario)?;
    trial(scenario, repeat, None, conditions, bitcost)
}

/// Makes a run of a scenario with messages of another size.
pub fn sweep(scenario: &Scenario, size: u32, bitcost: &Path) -> Result<Trial> {
    let conditions = Conditions { message_size_bytes: size, duration_ms: 500, ..conditions(scenario)? };
    trial(scenario, 0, Some(size), conditions, bitcost)
}

fn conditions(scenario: &Scenario) -> Result<Conditions> {
    let workload = Workload::SHORT_NAMES.into_iter().find(|(name, _)| *name == scenario.test);
    let mut conditions = Conditions::of(workload.map_or(Workload::TcpStream, |(_, workload)| workload));
    conditions.duration_ms = 1200;
    for (name, text) in scenario.settings {
        let setting = SETTINGS.iter().find(|setting| setting.name == *name);
        let setting = setting.ok_or_else(|| anyhow!("{}: no setting {name}", scenario.name))?;
        setting.set_text(&mut conditions, text).map_err(|why| anyhow!("{}: {name}: {why}", scenario.name))?;
    }
    conditions.check(scenario.mtu_bytes).map_err(|why| anyhow!("{}: {why}", scenario.name))?;
    Ok(conditions)
}

fn trial(
    scenario: &Scenario,
    repeat: u32,
    sweep: Option<u32>,
    conditions: Conditions,
    bitcost: &Path,
) -> Result<Trial> {
    let place = Place::build(scenario, bitcost)?;
    let mut session = Session::open(place.ends()?, &NEVER)?;
    let cell = Cell { levels: Vec::new(), conditions: conditions.clone() };
    let plan = Plan { seed: 0, blocks: 1, cells: vec![cell], runs: vec![PlannedRun { index: 0, block: 0, cell: 0 }] };
    let mut outcome = Err("no run".to_owned());
    session.execute(&plan, &BTreeSet::new(), &mut |event| {
        match event {
            Event::RunEnded { sender, receiver, .. } => outcome = Ok((*sender, *receiver)),
            Event::RunFailed { reason, .. } => outcome = Err(reason),
            _ => {}
        }
        Ok(())
    })?;
    let (sender, receiver) = outcome.map_err(|reason| anyhow!(reason))?;
    Ok(Trial { scenario: scenario.name.to_owned(), repeat, sweep, conditions, sender, receiver })
}
