//! One run of a scenario, kept with its records so that it can be judged again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, anyhow};
use drive::Session;
use explain::{CostModel, RunFigures, Verdict, explain_run, per_byte_share};
use metrics::RunView;
use model::conditions::{Conditions, Workload};
use model::event::Event;
use model::plan::Plan;
use model::record::{EndRecord, Sample, ThreadKind};
use model::settings::SETTINGS;
use serde::{Deserialize, Serialize};

use super::place::Place;
use super::scenarios::{Scenario, Stripped};

static NEVER: AtomicBool = AtomicBool::new(false);

/// The cost models of scenarios, by their names.
pub type Models = BTreeMap<String, Vec<CostModel>>;

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
    pub fn verdicts(&self, models: &Models) -> Vec<Verdict> {
        let models = models.get(&self.scenario).map_or(&[][..], Vec::as_slice);
        explain_run(&self.view(), per_byte_share(models, &self.figures()))
    }

    /// Takes out of the records what their scenario lacks.
    pub fn strip(&mut self, what: Stripped) {
        for sample in self.sender.samples.iter_mut().chain(&mut self.receiver.samples) {
            match what {
                Stripped::Nothing => {}
                Stripped::Connections => {
                    (sample.tcp_info, sample.connections, sample.sockets) = (None, Vec::new(), Vec::new());
                }
                Stripped::Threads => sample.threads.clear(),
            }
        }
    }

    /// CPUs that were at work for something else than both agents, with all their threads, the interfaces,
    /// and the delay lines that are counted.
    pub fn foreign_cpus(&self) -> Option<f64> {
        let ends = [&self.sender, &self.receiver];
        let own = |end: &EndRecord| {
            let (first, last) = (end.samples.first()?, end.samples.last()?);
            let napi = |sample: &Sample| -> u64 {
                sample.threads.iter().filter(|t| t.kind == ThreadKind::Napi).map(|thread| thread.run_ns).sum()
            };
            let lines = |sample: &Sample| -> u64 { sample.lines.iter().map(|line| line.cpu_ns).sum() };
            let all = |sample: &Sample| Some(sample.process_ns? + napi(sample) + lines(sample));
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
    // No verdict looks at hosts at rest.
    conditions.idle_baseline_ms = Some(0);
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
    let plan = Plan::of_one(conditions.clone());
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
