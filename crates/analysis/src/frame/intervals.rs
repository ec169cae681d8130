//! One row per stretch between two samples of an endpoint of a run.

use std::collections::{BTreeMap, BTreeSet};

use bitcost_model::event::{Event, Events};
use bitcost_model::imported::ImportedInterval;
use bitcost_model::record::{EndpointRecord, Role, Sample, TcpInfo, ThreadKind};

use super::table::{Head, Table, Value};
use crate::findings::Findings;
use crate::metrics::cpu;

/// The time between two samples of an endpoint.
struct Between<'a> {
    before: &'a Sample,
    after: &'a Sample,
    seconds: f64,
    tick_s: f64,
}

/// One figure of a stretch: its name with the unit last, and its formula.
type Column = (&'static str, fn(&Between) -> Option<f64>);

/// Every figure that our own stretches can have. Figures from a file of another program have the
/// same names.
const COLUMNS: &[Column] = &[
    ("throughput_mbps", |step| {
        Some(step.grown(|sample| Some(sample.counts.bytes))? * 8.0 / 1e6)
    }),
    ("messages_per_second", |step| {
        step.grown(|sample| Some(sample.counts.messages))
            .filter(|rate| *rate > 0.0)
    }),
    ("calls_per_second", |step| {
        step.grown(|sample| Some(sample.counts.calls))
    }),
    ("retransmits", |step| {
        let of = |sample: &Sample| sample.tcp_info.as_ref()?.total_retrans;
        Some(f64::from(of(step.after)?.wrapping_sub(of(step.before)?)))
    }),
    ("rtt_us", |step| step.info(|info| info.rtt_us)),
    ("min_rtt_us", |step| step.info(|info| info.min_rtt_us)),
    ("congestion_window_segments", |step| {
        step.info(|info| info.snd_cwnd_segments)
    }),
    ("cpu_util_pct", |step| {
        let busy = step.cpus();
        (!busy.is_empty()).then(|| busy.iter().map(|(_, pct)| pct).sum::<f64>() / busy.len() as f64)
    }),
    ("thread_run_pct", |step| {
        step.threads(|thread| thread.run_ns)
    }),
    ("thread_wait_pct", |step| {
        step.threads(|thread| thread.wait_ns)
    }),
];

impl<'a> Between<'a> {
    fn all(end: &'a EndpointRecord) -> impl Iterator<Item = Between<'a>> {
        let tick_s = if end.ticks_per_second == 0 {
            f64::NAN
        } else {
            1.0 / end.ticks_per_second as f64
        };
        end.samples.windows(2).filter_map(move |pair| {
            let [before, after] = pair else { return None };
            let ns = after.at_ns.checked_sub(before.at_ns).filter(|ns| *ns > 0)?;
            Some(Between {
                before,
                after,
                seconds: ns as f64 / 1e9,
                tick_s,
            })
        })
    }

    fn grown(&self, count: fn(&Sample) -> Option<u64>) -> Option<f64> {
        let (before, after) = (count(self.before)?, count(self.after)?);
        Some(after.checked_sub(before)? as f64 / self.seconds)
    }

    fn info(&self, field: fn(&TcpInfo) -> Option<u32>) -> Option<f64> {
        Some(f64::from(field(self.after.tcp_info.as_ref()?)?))
    }

    fn threads(&self, time: fn(&bitcost_model::record::ThreadTime) -> u64) -> Option<f64> {
        let sum = |sample: &Sample| {
            let traffic = sample
                .threads
                .iter()
                .filter(|thread| thread.kind == ThreadKind::Traffic && thread.part == 0);
            traffic.map(time).reduce(|a, b| a + b)
        };
        Some(100.0 * sum(self.after)?.checked_sub(sum(self.before)?)? as f64 / 1e9 / self.seconds)
    }

    /// Busy time of each CPU in per cent: wall clock less idle and iowait.
    fn cpus(&self) -> Vec<(u32, f64)> {
        if !self.tick_s.is_finite() {
            return Vec::new();
        }
        let (before, after) = (&self.before.cpus, &self.after.cpus);
        let spans = cpu::spans(before, after, self.seconds, self.tick_s).into_iter();
        spans
            .map(|span| (span.cpu, 100.0 * (span.busy_seconds / self.seconds)))
            .collect()
    }
}

/// One stretch of a run at one endpoint.
#[derive(Clone, Debug)]
pub struct Stretch {
    pub end: Role,
    /// Its start, in seconds since the window's first sample.
    pub begin_s: f64,
    /// Its end, in seconds since the window's first sample.
    pub end_s: f64,
    pub figures: BTreeMap<String, f64>,
    /// Busy time of each CPU, in per cent.
    pub cpus: Vec<(u32, f64)>,
}

fn of_end(end: &EndpointRecord) -> Vec<Stretch> {
    let first = end.samples.first().map_or(0, |sample| sample.at_ns);
    let seconds = |sample: &Sample| sample.at_ns.saturating_sub(first) as f64 / 1e9;
    let stretch = |step: Between| Stretch {
        end: end.role,
        begin_s: seconds(step.before),
        end_s: seconds(step.after),
        figures: COLUMNS
            .iter()
            .filter_map(|(name, of)| Some(((*name).to_owned(), of(&step)?)))
            .collect(),
        cpus: step.cpus(),
    };
    Between::all(end).map(stretch).collect()
}

fn of_import(interval: &ImportedInterval) -> Stretch {
    Stretch {
        end: interval.end,
        begin_s: interval.begin_s,
        end_s: interval.end_s,
        figures: interval.figures.clone(),
        cpus: Vec::new(),
    }
}

/// The stretches of each run that has a result, by run; if a run was tried more than once, those of
/// its last try. `wanted` chooses runs.
pub fn stretches(events: &Events, wanted: impl Fn(u32) -> bool) -> BTreeMap<u32, Vec<Stretch>> {
    let mut found = BTreeMap::new();
    events.each(&wanted, &mut |_, event| match event {
        Event::RunEnded {
            run,
            sender,
            receiver,
            ..
        } => {
            found.insert(*run, [of_end(sender), of_end(receiver)].concat());
        }
        Event::RunImported { run, imported } => {
            found.insert(*run, imported.intervals.iter().map(of_import).collect());
        }
        Event::RunBegan { run, .. } => {
            found.remove(run);
        }
        _ => {}
    });
    found
}

const PLACE: [&str; 4] = ["status", "end", "begin_s", "end_s"];

/// Every stretch of every run that has a result: its run, its levels, its time, and its figures;
/// last the busy time of each CPU as `cpuN_busy_pct`.
pub fn intervals_table(executions: &[Findings]) -> Table {
    let head = Head::of(executions, |name| PLACE.contains(&name) || is_figure(name));
    let all: Vec<BTreeMap<u32, Vec<Stretch>>> = executions
        .iter()
        .map(|of| stretches(&of.events, |_| true))
        .collect();
    let (figures, cpus) = present(all.iter().flat_map(BTreeMap::values).flatten());
    let names = head.columns().chain(PLACE.map(str::to_owned));
    let busy = cpus.iter().map(|cpu| format!("cpu{cpu}_busy_pct"));
    let mut table = Table::new(names.chain(figures.iter().cloned()).chain(busy));
    for (execution, found) in executions.iter().zip(&all) {
        for (run, stretches) in found {
            let Some(run) = execution.row(*run) else {
                continue;
            };
            let (head, status) = (head.values(execution, run), run.status.name());
            table.rows.extend(stretches.iter().map(|stretch| {
                let mut row = head.clone();
                row.extend([status, stretch.end.name()].map(Value::from));
                row.extend([stretch.begin_s, stretch.end_s].map(Value::Number));
                let figure = |name| Value::from(stretch.figures.get(name).copied());
                row.extend(figures.iter().map(figure));
                let busy = |cpu: &u32| {
                    let mut cpus = stretch.cpus.iter();
                    Value::from(cpus.find(|of| of.0 == *cpu).map(|of| of.1))
                };
                row.extend(cpus.iter().map(busy));
                row
            }));
        }
    }
    table
}

fn is_figure(name: &str) -> bool {
    COLUMNS.iter().any(|(known, _)| *known == name)
        || (name.starts_with("cpu") && name.ends_with("_busy_pct"))
}

/// The figures that the stretches have, our own first, and the CPUs.
fn present<'a>(stretches: impl Iterator<Item = &'a Stretch>) -> (Vec<String>, Vec<u32>) {
    let (mut names, mut cpus) = (BTreeSet::new(), BTreeSet::new());
    for stretch in stretches {
        names.extend(stretch.figures.keys().cloned());
        cpus.extend(stretch.cpus.iter().map(|(cpu, _)| *cpu));
    }
    let known = COLUMNS.iter().map(|(name, _)| (*name).to_owned());
    let mut own: Vec<String> = known.filter(|name| names.remove(name)).collect();
    own.extend(names);
    (own, cpus.into_iter().collect())
}
