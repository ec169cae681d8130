//! Made-up executions whose figures are known: a study, and one outcome per run.
#![allow(dead_code, reason = "each test file uses its part")]

pub use std::collections::BTreeMap;

use bitcost_analysis::compare::{self, Verdict, with_first};
pub use bitcost_analysis::compare::{Comparison, of_study};
pub use bitcost_analysis::findings::Findings;
pub use bitcost_analysis::metrics::{Metric, RunView, metric};
pub use bitcost_analysis::summary::Summary;
use bitcost_import::Head;
pub use bitcost_import::Run;
pub use bitcost_model::conditions::Conditions;
pub use bitcost_model::event::{EndpointDescription, Event, FORMAT, FailureKind};
pub use bitcost_model::machine::HostDescription;
pub use bitcost_model::plan::{Lengths, Plan, PlannedRun};
pub use bitcost_model::record::{
    Counts, CpuTicks, EndpointRecord, InEffect, OffloadsInEffect, PhaseCounts, Role, Sample,
    Sequence, TcpInfo, ThreadKind, ThreadTime,
};
pub use bitcost_model::study::{Cell, Label};
pub use bitcost_render::block::text as printed;
use bitcost_render::comparison::comparison;
use bitcost_render::export::{Maker, Source};
use bitcost_render::html::page;
pub use bitcost_render::layout::{NARROW, USUAL};
use bitcost_render::report::of_summary;
use bitcost_study::{Compared, Study};
pub use serde_json::{Value as Json, json};

/// Checks how many changes have each of these verdicts.
#[track_caller]
pub fn assert_counts(found: &Comparison, counts: &[(Verdict, usize)]) {
    for (verdict, count) in counts {
        let text = || comparison_text(found, u16::MAX);
        assert_eq!(found.count(*verdict), *count, "{verdict:?}: {}", text());
    }
}

pub const STUDY: &str = r#"
title = "Two sizes, two transports"
question = "How much does packaging cost?"
[lab]
topology = "pair"
mtu_bytes = 8896
[workload]
duration_s = 2
receive_size_bytes = 131072
[[factor]]
name = "message_size_bytes"
levels = [1024, 8192]
[[factor]]
name = "transport"
levels = [
  { label = "UDP", workload = "udp_stream", receive_buffer_bytes = 4194304 },
  { label = "TCP", workload = "tcp_stream", mss = "message", offloads = "on" },
]
[run]
blocks = 3
[table]
rows = "message_size_bytes"
columns = "transport"
metrics = ["throughput_mbps", "send_service_demand_us_per_kib", "receive_service_demand_us_per_kib"]
improvement = { factor = "message_size_bytes", old = 1024, new = 8192 }
[expect]
source = "A paper"
[[expect.cell]]
message_size_bytes = 1024
transport = "UDP"
throughput_mbps = 4805
send_service_demand_us_per_kib = 1.69
[[expect.cell]]
message_size_bytes = 8192
transport = "UDP"
throughput_mbps = 18314
send_service_demand_us_per_kib = 0.43
"#;

/// What one run did. The window is 2 s, so that 250 000 bytes are 1 Mbit/s.
#[derive(Clone, Debug)]
pub struct Did {
    pub sent_mbps: f64,
    pub received_mbps: f64,
    pub sender_cpu_ms: u64,
    pub receiver_cpu_ms: u64,
}

pub enum Made {
    Ended(Box<EndpointRecord>, Box<EndpointRecord>),
    Failed(FailureKind, &'static str),
    Missing,
}

/// A record of an endpoint whose traffic thread used half of its CPU time and whose NAPI thread
/// used the other half.
pub fn record(role: Role, cell: &Cell, bytes: u64, cpu_ms: u64) -> EndpointRecord {
    let thread = |kind, ms: u64| ThreadTime {
        kind,
        part: 0,
        run_ns: 1_000_000 + ms * 1_000_000,
        wait_ns: 0,
        slices: 1,
        switches: None,
        states: None,
    };
    let sample = |at_ns, ms: u64, idle_ms: u64| Sample {
        at_ns,
        cpus: vec![CpuTicks {
            cpu: 0,
            user: 10 + ms / 10,
            idle: 10 + idle_ms / 10,
            ..CpuTicks::default()
        }],
        threads: vec![
            thread(ThreadKind::Traffic, ms / 2),
            thread(ThreadKind::Napi, ms / 2),
        ],
        ..Sample::default()
    };
    let messages = bytes / u64::from(cell.conditions.message_size_bytes);
    let measured = Counts {
        calls: messages,
        messages,
        bytes,
        ..Counts::default()
    };
    EndpointRecord {
        role,
        offloads: OffloadsInEffect {
            device: "veth".into(),
            ..OffloadsInEffect::default()
        },
        window_start_ns: 1_000_000_000,
        window_end_ns: 3_000_000_000,
        counts: PhaseCounts {
            outside: Counts::default(),
            measured,
        },
        tcp_info: cell.conditions.segment_bytes().map(|size| TcpInfo {
            snd_mss_bytes: Some(size),
            ..TcpInfo::default()
        }),
        ticks_per_second: 100,
        samples: vec![
            sample(1_000_000_000, 0, 0),
            sample(3_000_000_000, cpu_ms, 2000 - cpu_ms),
        ],
        ..EndpointRecord::default()
    }
}

pub fn ended(cell: &Cell, did: &Did) -> Made {
    let bytes = |mbps: f64| (mbps * 250_000.0) as u64;
    let sender = record(Role::Sender, cell, bytes(did.sent_mbps), did.sender_cpu_ms);
    let mut receiver = record(
        Role::Receiver,
        cell,
        bytes(did.received_mbps),
        did.receiver_cpu_ms,
    );
    if cell.conditions.workload.is_datagram() {
        let (sent, received) = (
            sender.counts.measured.messages,
            receiver.counts.measured.messages,
        );
        receiver.sequence = Some(Sequence {
            measured_sent: sent,
            measured_lost: sent - received,
            ..Sequence::default()
        });
    }
    Made::Ended(Box::new(sender), Box::new(receiver))
}

/// The log of an execution, each run made by `make`.
pub fn log(study: &str, blocks: u32, make: impl Fn(&Cell, &PlannedRun) -> Made) -> Vec<Event> {
    let at = "2026-11-21T10:00:00+01:00".to_owned();
    let read = Study::parse("test.toml", study).expect("the test's study");
    let plan = read.plan(
        7,
        Lengths {
            blocks: Some(blocks),
            ..Lengths::default()
        },
    );
    let end = |role, place: &str| EndpointDescription {
        role,
        place: place.into(),
        host: HostDescription::default(),
    };
    let mut events = vec![
        Event::ExecutionBegan {
            format: FORMAT,
            bitcost_version: "0.1.0".into(),
            at: at.clone(),
            command_line: vec!["bitcost".into(), "run".into(), "test".into()],
            study: "test".into(),
            study_text: study.into(),
            lab_text: None,
        },
        Event::Planned { plan: plan.clone() },
        Event::Prepared {
            lab: Some(Box::new(read.lab)),
            endpoints: vec![
                end(Role::Sender, "netns:h1"),
                end(Role::Receiver, "netns:h2"),
            ],
            shared_cpus: true,
            notes: Vec::new(),
            hosts: None,
            rtt: None,
        },
    ];
    for planned in &plan.runs {
        let run = planned.index;
        let end = match make(&plan.cells[planned.cell], planned) {
            Made::Missing => continue,
            Made::Ended(sender, receiver) => Event::RunEnded {
                run,
                interrupted: None,
                start_uncertainty_us: 10.0,
                sender,
                receiver,
            },
            Made::Failed(kind, reason) => Event::RunFailed {
                run,
                kind,
                reason: reason.into(),
            },
        };
        let at = at.clone();
        events.extend([Event::RunBegan { run, at }, end]);
    }
    events
}

pub fn is(cell: &Cell, factor: &str, label: &str) -> bool {
    cell.level(factor)
        .is_some_and(|level| level.to_string() == label)
}

/// 1024 bytes: 1000 Mbit/s at 1 s of CPU per endpoint; 8192 bytes: twice as fast at the same CPU
/// time. Blocks differ by 1 %.
pub fn plain(cell: &Cell, planned: &PlannedRun) -> Did {
    let mbps = if is(cell, "message_size_bytes", "1024") {
        1024.0
    } else {
        2048.0
    };
    let mbps = mbps * (1.0 + f64::from(planned.block) / 100.0);
    Did {
        sent_mbps: mbps,
        received_mbps: mbps,
        sender_cpu_ms: 1000,
        receiver_cpu_ms: 500,
    }
}

pub fn summary(events: &[Event]) -> Summary {
    findings(events).summary
}

/// The log of imported runs, with a command line.
pub fn imported(found: Vec<Run>, name: &str, words: &[&str]) -> Vec<Event> {
    let head = Head {
        name,
        version: "0.1.0",
        at: "2026-11-21T10:00:00Z",
        command_line: words.iter().map(|word| (*word).to_owned()).collect(),
    };
    bitcost_import::execution(found, head)
}

/// What is found in an execution named `known`.
pub fn findings(events: &[Event]) -> Findings {
    let mut found = Findings::of_events("known".into(), events.to_vec()).expect("a whole log");
    found.comparison = of_study(&found, 3.0);
    found
}

/// The page of these executions, of which everything else is said in these words.
pub fn page_of(executions: &[Findings], words: &str) -> String {
    let source = Source {
        path: words.into(),
        bytes: 7,
        sha256: "00ff".into(),
    };
    let maker = Maker {
        version: "0.1.0".into(),
        command_line: vec![words.into()],
        at: "now".into(),
    };
    let sources = vec![source; executions.len()];
    page(executions, &sources, &with_first(executions, 3.0), &maker)
}

/// The page of an execution with this summary.
pub fn html(events: &[Event], summary: Summary) -> String {
    let execution = Findings {
        summary,
        ..findings(events)
    };
    page_of(&[execution], "x")
}

/// A run of iperf3 with these levels and figures.
pub fn run_of_iperf3(levels: &[(String, Label)], figures: &[(&str, f64)]) -> Run {
    let mut found = Run::default();
    found.imported.levels.extend(levels.iter().cloned());
    (found.imported.tool, found.imported.file) = ("iperf3".into(), "x.json".into());
    let figures = figures.iter();
    let figures = figures.map(|(name, value)| ((*name).to_owned(), *value));
    found.imported.figures = figures.collect();
    found
}

pub fn text(events: &[Event]) -> String {
    text_of(&summary(events), USUAL)
}

pub fn text_of(summary: &Summary, width: u16) -> String {
    printed(&of_summary(summary, width), width)
}

/// A comparison as text of at most this many columns.
pub fn comparison_text(found: &Comparison, width: u16) -> String {
    printed(&comparison(found, true), width)
}

pub fn json(events: &[Event]) -> serde_json::Value {
    bitcost_render::document::json(&findings(events))
}

/// The findings of an execution of this name.
pub fn execution(name: &str, events: &[Event]) -> Findings {
    Findings {
        name: name.into(),
        ..findings(events)
    }
}

/// What changed of these metrics from one execution to another, each with its name.
pub fn compared(
    old: (&str, &[Event]),
    new: (&str, &[Event]),
    metrics: &[&'static Metric],
) -> Comparison {
    let [old, new] = [old, new].map(|(name, events)| [execution(name, events)]);
    compare::across(&old, &new, metrics, 3.0)
}

/// An execution whose runs all did what is plain.
pub fn whole(study: &str, blocks: u32) -> Vec<Event> {
    log(study, blocks, |cell, run| ended(cell, &plain(cell, run)))
}

/// The same, both records of each run changed.
pub fn altered(
    study: &str,
    blocks: u32,
    change: impl Fn(&Cell, &PlannedRun, &mut EndpointRecord, &mut EndpointRecord),
) -> Vec<Event> {
    log(study, blocks, |cell, planned| {
        let mut made = ended(cell, &plain(cell, planned));
        if let Made::Ended(sender, receiver) = &mut made {
            change(cell, planned, sender, receiver);
        }
        made
    })
}

/// These events, the sender's host changed.
pub fn on_host(mut events: Vec<Event>, change: impl Fn(&mut HostDescription)) -> Vec<Event> {
    for event in &mut events {
        if let Event::Prepared { endpoints, .. } = event {
            change(&mut endpoints[0].host);
        }
    }
    events
}

/// A setting that nobody requested.
pub fn in_effect(name: &str, actual: &str) -> InEffect {
    InEffect {
        name: name.into(),
        requested: None,
        actual: Some(actual.into()),
    }
}

pub fn word(factor: &str, level: &str) -> (String, Label) {
    (factor.to_owned(), Label::Text(level.to_owned()))
}

pub fn size(bytes: i64) -> (String, Label) {
    ("message_size_bytes".to_owned(), Label::Number(bytes))
}

pub fn metrics<const N: usize>(names: [&str; N]) -> [&'static Metric; N] {
    names.map(|name| metric(name).expect("a metric"))
}

pub fn throughput() -> [&'static Metric; 1] {
    metrics(["throughput_mbps"])
}

/// What the throughput of the cells with the new level of a factor is to that of those with the old one.
pub fn inside(events: &[Event], old: (String, Label), new: (String, Label)) -> Comparison {
    let compared = Compared {
        factor: old.0,
        old: old.1,
        new: new.1,
    };
    compare::within(&execution("x", events), &compared, &throughput(), 3.0)
}

/// A run of these records, between hosts or on one.
pub fn view<'a>(
    sender: &'a EndpointRecord,
    receiver: &'a EndpointRecord,
    conditions: &'a Conditions,
    shared_cpus: bool,
) -> RunView<'a> {
    RunView {
        interrupted: None,
        sender,
        receiver,
        conditions,
        shared_cpus,
        napi_threaded: shared_cpus,
        shaped_bps: None,
    }
}

/// The first run that has ended: its number and its records.
pub fn first_run(events: &[Event]) -> (usize, &EndpointRecord, &EndpointRecord) {
    let ended = events.iter().find_map(|event| match event {
        Event::RunEnded {
            run,
            sender,
            receiver,
            ..
        } => Some((*run as usize, &**sender, &**receiver)),
        _ => None,
    });
    ended.expect("a run has ended")
}

/// JSON as text, its numbers to nine digits.
pub fn pretty(value: &Json) -> String {
    fn rounded(value: &mut Json) {
        match value {
            Json::Array(list) => list.iter_mut().for_each(rounded),
            Json::Object(map) => map.values_mut().for_each(rounded),
            Json::Number(number) if number.is_f64() => {
                let digits = format!("{:.8e}", number.as_f64().expect("a number"));
                *value = json!(digits.parse::<f64>().expect("a number"));
            }
            _ => {}
        }
    }
    let mut value = value.clone();
    rounded(&mut value);
    format!("{value:#}")
}
