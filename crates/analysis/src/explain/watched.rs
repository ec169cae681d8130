//! Connections that are watched: figures of each, and what limits it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use bitcost_model::conditions::Conditions;
use bitcost_model::record::{EndpointRecord, Program, Role};
use bitcost_model::units::KIB;
use bitcost_model::workload::Workload;
use serde::Serialize;

use crate::explain::decide::RunSignals;
use crate::explain::limiter::Verdict;
use crate::metrics::{Edges, RunView};

/// A connection of which one end was read.
#[derive(Clone, Debug, Serialize)]
pub struct Watched {
    #[serde(flatten)]
    pub program: Program,
    pub role: Role,
    pub throughput_mbps: Option<f64>,
    /// CPU time of the threads that work for it, for each KiB that connections of their process moved.
    pub cpu_us_per_kib: Option<f64>,
    pub retransmitted_pct: Option<f64>,
    pub rtt_ms: Option<f64>,
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// What these records say, each of one connection, the fastest first.
pub fn watched(records: Vec<EndpointRecord>) -> Vec<Watched> {
    let process = |of: &EndpointRecord| of.program.as_ref()?.pid;
    let mut bytes: BTreeMap<Option<u32>, u64> = BTreeMap::new();
    for of in &records {
        *bytes.entry(process(of)).or_default() += of.counts.measured.bytes;
    }
    let all = records.into_iter().filter_map(|of| {
        let kib = bytes[&process(&of)] as f64 / KIB;
        Watched::of(of, kib)
    });
    let mut all: Vec<Watched> = all.collect();
    all.sort_by_key(|of| Reverse(of.throughput_mbps.map(|mbps| (1e6 * mbps) as u64)));
    all
}

impl Watched {
    fn of(record: EndpointRecord, process_kib: f64) -> Option<Watched> {
        let (role, program) = (record.role, *record.program.clone()?);
        let run_ns = Edges::of(&record.samples)?.of_threads(|of| Some(of.run_ns));
        let run_ns = run_ns.filter(|_| program.pid.is_some() && process_kib > 0.0);
        let other = record.not_read();
        let ends = [&record, &other];
        let signals = RunSignals::of(&RunView {
            sender: ends[role as usize],
            receiver: ends[role.other() as usize],
            conditions: &Conditions::of(Workload::TcpStream),
            shared_cpus: false,
            napi_threaded: false,
            shaped_bps: None,
            interrupted: None,
        });
        let facts = &signals.signals;
        Some(Watched {
            program,
            role,
            throughput_mbps: facts.goodput_bps.map(|bps| bps / 1e6),
            cpu_us_per_kib: run_ns.map(|ns| ns / 1e3 / process_kib),
            retransmitted_pct: facts.tcp.retransmitted.map(|share| 100.0 * share),
            rtt_ms: facts.tcp.rtt_ms,
            verdict: signals.verdict(None),
        })
    }
}
