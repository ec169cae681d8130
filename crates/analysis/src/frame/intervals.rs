//! One row per stretch between two samples of an endpoint of a run.

use std::collections::{BTreeMap, BTreeSet};

use bitcost_model::record::{EndpointRecord, Role, Sample, TcpInfo};

use serde_json::Value;

use super::table::{Head, Table};
use crate::cells::RunRow;
use crate::findings::Findings;
use crate::metrics::{Edges, cpu, is_of_first_part};

/// One figure of a stretch: its name with the unit last, and its formula.
type Column = (&'static str, fn(&Edges) -> Option<f64>);

/// Every figure that a stretch can have, but for those of single CPUs.
const COLUMNS: &[Column] = &[
    ("throughput_mbps", |step| {
        step.per_second(|counts| counts.bytes)
            .map(|bytes| bytes * 8.0 / 1e6)
    }),
    ("messages_per_second", |step| {
        step.per_second(|counts| counts.messages)
            .filter(|rate| *rate > 0.0)
    }),
    ("calls_per_second", |step| {
        step.per_second(|counts| counts.calls)
    }),
    ("retransmits", |step| step.tcp(|info| info.total_retrans)),
    ("rtt_us", |step| at_end(step, |info| info.rtt_us)),
    ("min_rtt_us", |step| at_end(step, |info| info.min_rtt_us)),
    ("congestion_window_segments", |step| {
        at_end(step, |info| info.snd_cwnd_segments)
    }),
    (CPU_UTIL, |_| None),
    ("thread_run_pct", |step| Some(threads_pct(step)?.0)),
    ("thread_wait_pct", |step| Some(threads_pct(step)?.1)),
];

/// The mean over the CPUs.
const CPU_UTIL: &str = "cpu_util_pct";

fn at_end(step: &Edges, field: fn(&TcpInfo) -> Option<u32>) -> Option<f64> {
    Some(f64::from(field(step.last.tcp_info.as_ref()?)?))
}

fn threads_pct(step: &Edges) -> Option<(f64, f64)> {
    let (run, wait) = step.threads(is_of_first_part)?;
    Some((100.0 * run / step.seconds, 100.0 * wait / step.seconds))
}

/// One stretch of a run at one endpoint.
#[derive(Clone, Debug)]
pub struct Stretch {
    pub end: Role,
    /// Its begin and end, since the window's first sample.
    pub begin_s: f64,
    pub end_s: f64,
    /// Metrics, by their names.
    pub figures: Vec<(&'static str, f64)>,
    /// Busy time of each CPU, in per cent.
    pub cpus: Vec<(u32, f64)>,
}

impl Stretch {
    pub fn figure(&self, name: &str) -> Option<f64> {
        let of = self.figures.iter().find(|(known, _)| *known == name);
        of.map(|(_, value)| *value)
    }
}

fn of_end(end: &EndpointRecord, is_by_second: bool) -> Vec<Stretch> {
    let first = end.samples.first().map_or(0, |sample| sample.at_ns);
    let seconds = |sample: &Sample| sample.at_ns.saturating_sub(first) as f64 / 1e9;
    let stretch = |step: Edges| {
        let spans = cpu::spans_of(end.ticks_per_second, &step).into_iter();
        let cpus = spans.map(|span| (span.cpu, 100.0 * (span.busy_seconds / step.seconds)));
        let cpus: Vec<(u32, f64)> = cpus.collect();
        let busy: f64 = cpus.iter().map(|(_, pct)| pct).sum();
        let busy = (!cpus.is_empty()).then(|| (CPU_UTIL, busy / cpus.len() as f64));
        let figures = COLUMNS.iter();
        let figures = figures.filter_map(|(name, of)| Some((*name, of(&step)?)));
        Stretch {
            end: end.role,
            begin_s: seconds(step.first),
            end_s: seconds(step.last),
            figures: figures.chain(busy).collect(),
            cpus,
        }
    };
    match is_by_second {
        true => {
            let whole = |sample: &Sample| seconds(sample) as u64;
            let parts = end.samples.chunk_by(|a, b| whole(a) == whole(b));
            let mut firsts: Vec<Sample> = parts.map(|part| part[0].clone()).collect();
            firsts.extend(end.samples.last().cloned());
            Edges::steps(&firsts).map(stretch).collect()
        }
        false => Edges::steps(&end.samples).map(stretch).collect(),
    }
}

/// The stretches of each wanted run that has a result, by run; by second, they begin with the first
/// sample of each.
pub fn stretches(
    execution: &Findings,
    is_by_second: bool,
    wanted: impl Fn(&RunRow) -> bool,
) -> BTreeMap<u32, Vec<Stretch>> {
    let mut found = BTreeMap::new();
    execution.each_run(wanted, &mut |row, _, run| {
        let ends = run.ends().map(|end| of_end(end, is_by_second));
        found.insert(row.run, ends.concat());
    });
    found
}

const PLACE: [&str; 4] = ["status", "end", "begin_s", "end_s"];

/// Every stretch of every run that has a result: its run, its levels, its time, and its figures;
/// last the busy time of each CPU as `cpuN_busy_pct`.
pub fn intervals_table(executions: &[Findings], is_by_second: bool) -> Table {
    let head = Head::of(executions, |name| PLACE.contains(&name) || is_figure(name));
    let of = |of: &Findings| stretches(of, is_by_second, |_| true);
    let all: Vec<BTreeMap<u32, Vec<Stretch>>> = executions.iter().map(of).collect();
    let stretches: Vec<&Stretch> = all.iter().flat_map(BTreeMap::values).flatten().collect();
    let (figures, cpus) = present(&stretches);
    let names = head.columns().chain(PLACE.map(str::to_owned));
    let busy = cpus.iter().map(|cpu| format!("cpu{cpu}_busy_pct"));
    let named = figures.iter().map(|name| (*name).to_owned());
    let mut table = Table {
        columns: names.chain(named).chain(busy).collect(),
        rows: Vec::new(),
    };
    for (execution, found) in executions.iter().zip(&all) {
        for (run, stretches) in found {
            let Some(run) = execution.row(*run) else {
                continue;
            };
            let (head, status) = (head.values(execution, run), run.status.name());
            table.rows.extend(stretches.iter().map(|stretch| {
                let mut row = head.clone();
                row.extend([status, stretch.end.name()].map(Value::from));
                row.extend([stretch.begin_s, stretch.end_s].map(Value::from));
                let figure = |name: &&str| Value::from(stretch.figure(name));
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

/// The figures that the stretches have, and the CPUs.
fn present(stretches: &[&Stretch]) -> (Vec<&'static str>, BTreeSet<u32>) {
    let has = |name: &&str| stretches.iter().any(|one| one.figure(name).is_some());
    let names = COLUMNS.iter().map(|(name, _)| *name).filter(has);
    let cpus = stretches.iter().flat_map(|stretch| &stretch.cpus);
    (names.collect(), cpus.map(|(cpu, _)| *cpu).collect())
}
