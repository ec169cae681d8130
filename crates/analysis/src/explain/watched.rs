//! Connections, or sockets of datagrams, that are watched: figures of each, and what limits it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use bitcost_model::conditions::Conditions;
use bitcost_model::counters::SocketMemory;
use bitcost_model::record::{EndpointRecord, Program, Role, Sample};
use bitcost_model::units::KIB;
use bitcost_model::workload::Workload;
use serde::{Serialize, Serializer};

use crate::explain::limiter::Verdict;
use crate::explain::series::Series;
use crate::explain::signals::Signals;
use crate::log::PlaceFacts;
use crate::metrics::Edges;

/// Figures with their names, in the order of the list.
type Figures = Vec<(&'static str, Option<f64>)>;

#[derive(Serialize)]
pub struct Listed {
    pub connections: Vec<Watched>,
    /// Those that are not listed.
    pub others: usize,
    /// Counters of datagrams of the network namespace each second, by the kernel's names; absent where connections are watched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<BTreeMap<String, f64>>,
}

/// A connection of which one end was read, or a socket of datagrams.
#[derive(Clone, Debug, Serialize)]
pub struct Watched {
    #[serde(flatten)]
    pub program: Program,
    /// Absent of datagrams, of which the kernel does not count those of a socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    #[serde(flatten, serialize_with = "named")]
    pub figures: Figures,
    #[serde(flatten)]
    pub verdict: Verdict,
}

fn named<S: Serializer>(figures: &Figures, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(figures.iter().copied())
}

/// What these records say, each of one connection, those with the largest first figure first.
pub fn watched(
    records: Vec<EndpointRecord>,
    others: usize,
    datagrams: Option<Vec<Sample>>,
) -> Listed {
    let process = |of: &EndpointRecord| of.program.as_ref()?.pid;
    let mut kib_each_second: BTreeMap<Option<u32>, f64> = BTreeMap::new();
    for of in &records {
        let edges = Edges::of(&of.samples);
        let kib = edges.map(|edges| of.counts.measured.bytes as f64 / KIB / edges.seconds);
        *kib_each_second.entry(process(of)).or_default() += kib.unwrap_or(0.0);
    }
    let all = records.into_iter().filter_map(|of| {
        let kib = kib_each_second[&process(&of)];
        Watched::of(of, kib)
    });
    let mut connections: Vec<Watched> = all.collect();
    connections.sort_by_key(|of| Reverse(of.figures[0].1.map(|value| (1e6 * value) as u64)));
    Listed {
        connections,
        others,
        datagrams: datagrams.as_deref().map(each_second),
    }
}

/// How much the counters of datagrams grew each second, of IPv4 and IPv6 together: what came, what was sent, and errors that are.
fn each_second(samples: &[Sample]) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    for edges in Edges::of(samples).iter() {
        for name in edges.last.protocols.keys() {
            let grown = edges.grown(&[name]).unwrap_or(0.0);
            let short = name.trim_start_matches(|letter| letter != '.');
            *all.entry(short[1..].to_owned()).or_default() += grown / edges.seconds;
        }
    }
    all.retain(|name, each| *each > 0.0 || name.ends_with("Datagrams"));
    all
}

impl Watched {
    /// `process_kib` is what all connections of its process move each second.
    fn of(record: EndpointRecord, process_kib: f64) -> Option<Watched> {
        let (role, program) = (record.role, *record.program.clone()?);
        let is_udp = record.tcp_info.is_none();
        let edges = Edges::of(&record.samples)?;
        let run_ns = edges.of_threads(|of| Some(of.run_ns));
        let run_ns = run_ns.map(|ns| ns / edges.seconds);
        let run_ns = run_ns.filter(|_| program.pid.is_some());
        let other = record.not_read();
        let ends = match role {
            Role::Sender => [&record, &other],
            Role::Receiver => [&other, &record],
        };
        let conditions = Conditions::of(match is_udp {
            true => Workload::UdpStream,
            false => Workload::TcpStream,
        });
        let signals = Signals::of(&PlaceFacts::default().view(ends, &conditions, None));
        // CPU time is that of the threads that work for it; of a connection for each KiB that those of their process moved.
        let for_kib = run_ns.filter(|_| process_kib > 0.0);
        let figures = match is_udp {
            true => of_socket(&record, run_ns),
            false => vec![
                ("throughput_mbps", signals.goodput_bps.map(|bps| bps / 1e6)),
                ("cpu_us_per_kib", for_kib.map(|ns| ns / 1e3 / process_kib)),
                (
                    "retransmitted_pct",
                    signals.tcp.retransmitted.map(|share| 100.0 * share),
                ),
                ("rtt_ms", signals.tcp.rtt_ms),
            ],
        };
        Some(Watched {
            program,
            role: (!is_udp).then_some(role),
            figures,
            verdict: signals.verdict(None),
        })
    }
}

/// Figures of a socket of datagrams: drops, what waits to be read and in which buffer, what waits to be sent, a CPU's share.
fn of_socket(record: &EndpointRecord, run_ns: Option<f64>) -> Figures {
    let series = Series::of(record, record.samples.len());
    let drops = series.per_second(|of| Some(of.sockets.first()?.drops.into()));
    let kib = |bytes: fn(&SocketMemory) -> u32| {
        series.mean(|of| Some(f64::from(bytes(of.sockets.first()?)) / KIB))
    };
    vec![
        ("drops_per_second", drops),
        ("unread_kib", kib(|of| of.receive_queue_bytes)),
        ("receive_buffer_kib", kib(|of| of.receive_buffer_bytes)),
        ("unsent_kib", kib(|of| of.send_allocated_bytes)),
        ("cpu_pct", run_ns.map(|ns| ns / 1e7)),
    ]
}
