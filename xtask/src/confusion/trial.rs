//! One run of a scenario, kept with its records so that it can be judged again.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use bitcost_analysis::explain::{CostModel, RunFigures, Verdict, explain_run, packet_cost};
use bitcost_analysis::metrics::RunView;
use bitcost_model::conditions::Conditions;
use bitcost_model::record::{EndpointRecord, Sample, ThreadKind};
use bitcost_study::settings::SETTINGS;

use super::able::Able;
use super::scenarios::{self, Scenario};
use super::testbed::Testbed;
use crate::runs::{once, session};

/// The cost models of scenarios, by the number of the file that holds their runs and by their names.
pub type Models = BTreeMap<(usize, String), Vec<CostModel>>;

/// A run with the scenario that it belongs to.
#[derive(Debug)]
pub struct Trial {
    pub scenario: String,
    /// The limiters that it has by construction, by their names in JSON.
    pub right: Vec<String>,
    /// The number of the repeat.
    pub repeat: u32,
    /// The message size of a run that is made for the cost model.
    pub sweep: Option<u32>,
    /// The number of the file that it was read from.
    pub source: usize,
    /// What was requested of it.
    pub conditions: Conditions,
    pub sender: EndpointRecord,
    pub receiver: EndpointRecord,
}

impl Trial {
    fn view(&self) -> RunView<'_> {
        let Trial {
            sender,
            receiver,
            conditions,
            ..
        } = self;
        RunView {
            sender,
            receiver,
            conditions,
            shared_cpus: true,
            napi_threaded: true,
            capacity_mbps: None,
        }
    }

    pub fn figures(&self) -> RunFigures {
        RunFigures::of(u64::from(self.repeat) + 1, &self.view())
    }

    /// The limiters that bitcost names for it.
    pub fn verdicts(&self, models: &Models) -> Vec<Verdict> {
        let of_scenario = || {
            models
                .iter()
                .filter(|((_, name), _)| *name == self.scenario)
        };
        let models = of_scenario()
            .rfind(|((source, _), _)| *source <= self.source)
            .or_else(|| of_scenario().next())
            .map_or(&[][..], |(_, models)| models.as_slice());
        explain_run(&self.view(), packet_cost(models, &self.figures()))
    }

    /// Removes from the records the part that their scenario lacks.
    pub fn strip(&mut self, what: &str) {
        for sample in self
            .sender
            .samples
            .iter_mut()
            .chain(&mut self.receiver.samples)
        {
            match what {
                "connections" => {
                    (sample.tcp_info, sample.connections, sample.sockets) =
                        (None, Vec::new(), Vec::new());
                }
                "threads" => sample.threads.clear(),
                _ => {}
            }
        }
    }

    /// CPUs that anything else used than both agents with all their threads, the interfaces, and
    /// the link emulators that are counted.
    pub fn foreign_cpus(&self) -> Option<f64> {
        let ends = [&self.sender, &self.receiver];
        let own = |end: &EndpointRecord| {
            let (first, last) = (end.samples.first()?, end.samples.last()?);
            let napi = |sample: &Sample| -> u64 {
                sample
                    .threads
                    .iter()
                    .filter(|t| t.kind == ThreadKind::Napi)
                    .map(|thread| thread.run_ns)
                    .sum()
            };
            let lines = |sample: &Sample| -> u64 {
                sample
                    .emulators
                    .iter()
                    .map(|emulator| emulator.cpu_ns)
                    .sum()
            };
            let all = |sample: &Sample| Some(sample.process_ns? + napi(sample) + lines(sample));
            Some(
                (all(last)?.saturating_sub(all(first)?)) as f64 / (last.at_ns - first.at_ns) as f64,
            )
        };
        let own: f64 = ends.into_iter().map(own).sum::<Option<f64>>()?;
        let busy = bitcost_analysis::metrics::metric("sender_cpu_util_pct")
            .and_then(|metric| (metric.compute)(&self.view()))?;
        let cpus = self.sender.samples.first()?.cpus.len() as f64;
        Some(busy / 100.0 * cpus - own)
    }

    /// The rate that it delivered in bit/s, messages that the sender handed over per second, and the
    /// CPUs that each endpoint's process used.
    pub fn able(&self) -> Option<(f64, f64, [f64; 2])> {
        let grown = |end: &EndpointRecord, count: &dyn Fn(&Sample) -> Option<u64>| {
            let (first, last) = (end.samples.first()?, end.samples.last()?);
            let seconds = (last.at_ns - first.at_ns) as f64 / 1e9;
            Some(count(last)?.checked_sub(count(first)?)? as f64 / seconds)
        };
        let process = |sample: &Sample| sample.process_ns;
        Some((
            8.0 * grown(&self.receiver, &|sample| Some(sample.counts.bytes))?,
            grown(&self.sender, &|sample| Some(sample.counts.messages))?,
            [
                grown(&self.sender, &process)? / 1e9,
                grown(&self.receiver, &process)? / 1e9,
            ],
        ))
    }

    /// The share of the intervals in which the sender's own queue held packets back.
    pub fn share_held_back(&self) -> Option<f64> {
        let held = |sample: &Sample| {
            let own = sample.queues.iter();
            let mut own = own.filter(|queue| queue.node.is_none() && queue.parent.is_none());
            own.next().map(|queue| queue.overlimits)
        };
        let counts: Vec<u32> = self.sender.samples.iter().filter_map(held).collect();
        let empty = counts.windows(2).filter(|pair| pair[1] != pair[0]).count();
        (counts.len() > 1).then(|| empty as f64 / (counts.len() - 1) as f64)
    }

    /// The signals of its whole time.
    pub fn signals(&self) -> bitcost_analysis::explain::Signals {
        let view = self.view();
        let all: Vec<usize> = (0..bitcost_analysis::explain::intervals(&view)).collect();
        bitcost_analysis::explain::Signals::of(&view, &all)
    }
}

/// Measures what this machine can do by four runs.
pub fn able(bitcost: &Path) -> Result<Able> {
    let run = |name| {
        let scenario = scenarios::named(name).context(name)?;
        let trial = run(scenario, 0, &Able::default(), bitcost)?;
        trial.able().context("its records lack counters")
    };
    let (_, messages, _) = run("able: UDP of 1400 B")?;
    Ok(Able {
        small_tcp_bps: run("able: TCP of 128 B")?.0,
        tiny_tcp_bps: run("able: TCP of 64 B")?.0,
        udp_bps: 8.0 * 1400.0 * messages,
        tcp_cpus: run("able: TCP")?.2,
    })
}

/// Makes a run of a scenario on a machine that can do this much.
pub fn run(scenario: &Scenario, repeat: u32, able: &Able, bitcost: &Path) -> Result<Trial> {
    let conditions = conditions(scenario, able)?;
    trial(scenario, repeat, None, conditions, (able, bitcost))
}

/// Makes a run of a scenario with messages of another size.
pub fn sweep(scenario: &Scenario, size: u32, able: &Able, bitcost: &Path) -> Result<Trial> {
    let conditions = Conditions {
        message_size_bytes: size,
        duration_ms: 500,
        ..conditions(scenario, able)?
    };
    trial(scenario, 0, Some(size), conditions, (able, bitcost))
}

fn conditions(scenario: &Scenario, able: &Able) -> Result<Conditions> {
    let mut conditions = Conditions::of(scenario.workload);
    conditions.duration_ms = 1200;
    // No verdict uses the idle baseline.
    conditions.idle_baseline_ms = Some(0);
    for (name, text) in &scenario.settings {
        let text = able.filled(text);
        let setting = SETTINGS.iter().find(|setting| setting.name == *name);
        let setting = setting.ok_or_else(|| anyhow!("{}: no setting {name}", scenario.name))?;
        bitcost_study::settings::set_text(setting, &mut conditions, &text)
            .map_err(|why| anyhow!("{}: {name}: {why}", scenario.name))?;
    }
    conditions
        .check(scenario.mtu_bytes)
        .map_err(|why| anyhow!("{}: {why}", scenario.name))?;
    Ok(conditions)
}

fn trial(
    scenario: &Scenario,
    repeat: u32,
    sweep: Option<u32>,
    conditions: Conditions,
    (able, bitcost): (&Able, &Path),
) -> Result<Trial> {
    let testbed = Testbed::build(scenario, able, bitcost)?;
    let mut session = session(testbed.ends()?)?;
    let [sender, receiver] = once(&mut session, conditions.clone())??;
    Ok(Trial {
        scenario: scenario.name.to_owned(),
        right: scenario.right.iter().map(|&name| name.to_owned()).collect(),
        repeat,
        sweep,
        source: 0,
        conditions,
        sender: *sender,
        receiver: *receiver,
    })
}
