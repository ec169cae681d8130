//! Executions made of events: verdicts by what packets cost, and warnings about the result.

use crate::common::*;
use bitcost_analysis::explain::{ExplainedCell, Explanation};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::summary::Summary;
use bitcost_model::counters::{Amount, CoreToCore, LinkEmulator, Queue};
use bitcost_model::event::{EndpointDescription, Event, FORMAT};
use bitcost_model::machine::HostDescription;
use bitcost_model::plan::{Plan, PlannedRun};
use bitcost_model::study::{Cell, Label};

/// Samples of a window; ticks per second.
const SAMPLES: u64 = 13;

/// What an endpoint did in each tenth of a second.
#[derive(Clone, Copy)]
pub struct Pace {
    pub bytes: u64,
    pub run_ns: u64,
    pub busy_ticks: u64,
}

fn paced(role: Role, pace: Pace, size: u64) -> EndpointRecord {
    let carried = |steps: u64| counts(steps * pace.bytes / size, steps * pace.bytes);
    let at = |step: u64| {
        let cpu = CpuTicks {
            system: step * pace.busy_ticks,
            idle: step * (10 - pace.busy_ticks),
            ..CpuTicks::default()
        };
        let threads = vec![thread(ThreadKind::Traffic, step * pace.run_ns, 0)];
        Sample {
            counts: carried(step),
            ..sample(step * 100_000_000, vec![cpu], threads)
        }
    };
    let measured = carried(SAMPLES - 1);
    let mut record = record(role, measured, (0..SAMPLES).map(at).collect());
    record.offloads.device = "eth0".into();
    record.offloads.active.insert("rx-gro".into(), true);
    record.sequence = (role == Role::Receiver).then(|| Sequence {
        measured_sent: measured.messages,
        ..Sequence::default()
    });
    record
}

fn cell(size: u32, change: impl FnOnce(&mut Conditions)) -> Cell {
    let mut conditions = Conditions {
        message_size_bytes: size,
        ..Conditions::of(Workload::UdpStream)
    };
    change(&mut conditions);
    Cell {
        levels: vec![("message_size_bytes".into(), Label::Number(size.into()))],
        conditions,
    }
}

/// An execution of these cells in blocks; `pace` gives what a run of a cell did.
fn execution(cells: Vec<Cell>, blocks: u32, pace: impl Fn(u32, &Cell) -> Pace) -> Explanation {
    explain_execution(&events(cells, blocks, pace))
}

/// The explanation of the events of an execution.
fn explain_execution(events: &[Event]) -> Explanation {
    found([&[began()][..], events].concat()).explanation
}

fn found(events: Vec<Event>) -> Findings {
    Findings::of_events("test".into(), events).expect("a log")
}

fn began() -> Event {
    let study = "title = \"T\"\nquestion = \"Q\"\n[lab]\n[workload]\nworkload = \"udp_stream\"\n[[factor]]\nname = \"message_size_bytes\"\nlevels = [64, 1024]\n";
    Event::ExecutionBegan {
        format: FORMAT,
        bitcost_version: "0.1.0".into(),
        at: "2026-11-23T12:00:00+00:00".into(),
        command_line: Vec::new(),
        study: "test".into(),
        study_text: study.into(),
        lab_text: None,
    }
}

fn events(cells: Vec<Cell>, blocks: u32, pace: impl Fn(u32, &Cell) -> Pace) -> Vec<Event> {
    events_of(&in_blocks(cells, blocks), pace)
}

/// A plan in which each block has a run of each cell.
pub fn in_blocks(cells: Vec<Cell>, blocks: u32) -> Plan {
    let count = cells.len() as u32;
    let runs = (0..blocks * count).map(|index| PlannedRun {
        index,
        block: index / count,
        cell: (index % count) as usize,
    });
    Plan {
        seed: 1,
        blocks,
        lengths: None,
        is_profiled: false,
        runs: runs.collect(),
        cells,
    }
}

/// The events of the runs of a plan.
pub fn events_of(plan: &Plan, pace: impl Fn(u32, &Cell) -> Pace) -> Vec<Event> {
    let ends = ENDS.map(|role| EndpointDescription {
        role,
        place: "local".into(),
        host: HostDescription::default(),
    });
    let mut events = vec![
        Event::Planned { plan: plan.clone() },
        Event::Prepared {
            lab: None,
            endpoints: ends.to_vec(),
            shared_cpus: false,
            notes: Vec::new(),
            hosts: None,
            rtt: None,
        },
    ];
    for run in &plan.runs {
        let cell = &plan.cells[run.cell];
        let size = u64::from(cell.conditions.message_size_bytes);
        let pace = pace(run.index, cell);
        let idle = Pace {
            run_ns: pace.run_ns / 3,
            busy_ticks: 3,
            ..pace
        };
        events.push(Event::RunEnded {
            interrupted: None,
            run: run.index,
            start_uncertainty_us: 10.0,
            sender: Box::new(paced(Role::Sender, pace, size)),
            receiver: Box::new(paced(Role::Receiver, idle, size)),
        });
    }
    events
}

/// A sender whose CPU is full: 1000 ns for each message and 0.2 ns for each byte.
fn full(run: u32, cell: &Cell) -> Pace {
    let size = f64::from(cell.conditions.message_size_bytes);
    let messages = 1e8 / (1000.0 + 0.2 * size) * (1.0 + 0.01 * f64::from(run % 3));
    Pace {
        bytes: messages as u64 * size as u64,
        run_ns: 99_000_000,
        busy_ticks: 10,
    }
}

#[test]
fn a_size_that_is_bound_by_its_packets_is_called_so() {
    let cells = vec![cell(64, |_| {}), cell(1024, |_| {}), cell(16_384, |_| {})];
    let found = execution(cells, 6, full);
    let name = |cell: &ExplainedCell| cell.verdict().expect("runs").limiter().name();
    let limiters: Vec<&str> = found.cells.iter().map(name).collect();
    assert_eq!(
        limiters,
        ["packets_per_second", "packets_per_second", "sender_cpu"]
    );
    let first = &found.cells[0].runs[0];
    assert_eq!(first.run, 0);
    assert_eq!(first.verdict.limiter().name(), "packets_per_second");
    let large = found.cells[2].verdict().expect("runs");
    assert!(large.chosen.evidence[0].margin() >= 0.0, "{large:?}");
}

fn amount(count: u64) -> Amount {
    Amount {
        packets: count,
        segments: count,
        bytes: 1000 * count,
    }
}

/// The verdict on datagrams of which a tenth is lost, where the sender reports these link emulators, and
/// these queues at the device of each, at a sample.
fn lossy(at: impl Fn(u64) -> (Vec<Queue>, LinkEmulator)) -> String {
    let mut events = events(vec![cell(1000, |_| {})], 5, full);
    for event in &mut events {
        let Event::RunEnded {
            sender, receiver, ..
        } = event
        else {
            continue;
        };
        for (index, sample) in (0..).zip(&mut sender.samples) {
            let (queues, line) = at(100 * index);
            sample.queues = queues;
            sample.queues.push(Queue {
                node: line.device.split_once('-').map(|(node, _)| node.to_owned()),
                device: line.device.clone(),
                kind: LinkEmulator::KIND.to_owned(),
                drops: (line.overflowed.packets + line.lost.packets) as u32,
                ..Queue::default()
            });
            sample.emulators = vec![line];
        }
        let sequence = receiver.sequence.as_mut().expect("datagrams");
        sequence.measured_lost = 1200;
        sequence.measured_sent = 12_000;
    }
    let found = explain_execution(&events);
    let verdict = found.cells[0].verdict().expect("runs");
    verdict.limiter().to_string()
}

fn overflowing(device: &str, count: u64) -> LinkEmulator {
    LinkEmulator {
        device: device.to_owned(),
        overflowed: amount(count),
        ..LinkEmulator::default()
    }
}

#[test]
fn a_link_emulator_that_was_full_is_a_queue_and_what_it_lost_by_chance_is_not() {
    let full = |count| (Vec::new(), overflowing("s1-eth2", count));
    assert_eq!(lossy(full), "queue overflow at s1-eth2");
    let losing = |count| {
        let mut line = overflowing("s1-eth2", 0);
        line.lost = amount(count);
        (Vec::new(), line)
    };
    assert_eq!(lossy(losing), "path loss");
    let netem = |count| {
        let loss_ppm = Some(1_000_000);
        let queue = queue(None, "h1-eth0", count);
        (vec![Queue { loss_ppm, ..queue }], overflowing("s1-eth2", 0))
    };
    assert_eq!(lossy(netem), "path loss");
}

fn queue(node: Option<&str>, device: &str, drops: u64) -> Queue {
    Queue {
        node: node.map(str::to_owned),
        device: device.to_owned(),
        kind: "pfifo".to_owned(),
        drops: drops as u32,
        ..Queue::default()
    }
}

#[test]
fn a_queue_before_a_link_emulator_has_its_own_drops() {
    for (node, device, named) in [
        (None, "h1-eth0", "sender h1-eth0"),
        (Some("s1"), "s1-eth2", "s1-eth2"),
    ] {
        let own = |count| (vec![queue(node, device, count)], overflowing(device, 0));
        assert_eq!(lossy(own), format!("queue overflow at {named}"));
        let emulator = |count| (vec![queue(node, device, 0)], overflowing(device, count));
        assert_eq!(lossy(emulator), format!("queue overflow at {device}"));
    }
}

/// The summary of an execution of two cells in which a cache line's round trip between the endpoints'
/// CPUs took this long in each run, in ns.
fn summary_with_round_trips(trips: &[u32]) -> Summary {
    let cells = vec![cell(64, |_| {}), cell(1024, |_| {})];
    let pace = Pace {
        bytes: 1_024_000,
        run_ns: 90_000_000,
        busy_ticks: 9,
    };
    let mut events = events(cells, trips.len() as u32 / 2, |_, _| pace);
    for event in &mut events {
        if let Event::RunEnded { run, sender, .. } = event {
            sender.core_to_core = Some(CoreToCore {
                cpus: [0, 1],
                round_trip_ns: vec![trips[*run as usize]; 3],
            });
        }
    }
    found([&[began()][..], &events].concat()).summary
}

#[test]
fn figures_are_of_all_runs_wherever_the_cpus_were() {
    let summary = summary_with_round_trips(&[370, 370, 88, 88, 85, 85, 365, 365]);
    assert!(summary.cells.iter().all(|cell| cell.runs == 4));
    let differed =
        "the machine differed between runs: the endpoints' CPUs were 85 to 370 ns from each other";
    assert_eq!(summary.caveats, [differed]);
    // Each cell has one distance.
    let apart = summary_with_round_trips(&[88, 370, 85, 365, 90, 368]);
    assert_eq!(apart.caveats, [""; 0]);
}
