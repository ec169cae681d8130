//! Recordings of runs with their truth: lines of plain JSON with names of their own, so that no change of the log's format
//! touches them.
//!
//! A line has the counters that rules can read. Each counter has its reading at every sample: the first
//! one, then the differences from the sample before; differences of 0 at the end are left out. A counter
//! that is 0 throughout is left out, one that the host does not report is null.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use bitcost_analysis::explain::{
    CostModel, RunFigures, Signals, Verdict, explain_run, packet_cost,
};
use bitcost_analysis::metrics::RunView;
use bitcost_model::conditions::Conditions;
use bitcost_model::counters::{
    ForeignLoad, Interface, LinkEmulator, Queue, SocketMemory, Softnet, Throttling,
};
use bitcost_model::host_settings::OFFLOADS;
use bitcost_model::record::{
    CpuTicks, EndpointRecord, InEffect, Role, Sample, Sequence, Switches, TcpInfo, ThreadKind,
    ThreadTime,
};
use bitcost_model::workload::WORKLOADS;
use serde::Deserialize;

use super::numbers::{of_run, of_sample};

/// The readings of counters, by their names.
type Columns = BTreeMap<String, Option<Vec<i64>>>;

/// The cost models of scenarios, by the number of the file that holds their runs and by their names.
pub type Models = BTreeMap<(usize, String), Vec<CostModel>>;

/// A run with its truth, as it is written.
#[derive(Deserialize)]
pub struct Line {
    scenario: String,
    /// The limiters that it has by construction.
    right: Vec<String>,
    repeat: u32,
    /// The message size of a run that is made for the cost model.
    sweep: Option<u32>,
    traffic: Traffic,
    sender: End,
    receiver: End,
}

/// What was requested of the traffic.
#[derive(Deserialize)]
struct Traffic {
    workload: String,
    message_size_bytes: u32,
    flows: u32,
    rate_bps: Option<u64>,
    receiver_delay_us: u32,
    send_buffer_bytes: Option<u32>,
    receive_buffer_bytes: Option<u32>,
    congestion_control: Option<String>,
    offloads_off: bool,
    duration_ms: u32,
}

#[derive(Deserialize)]
struct End {
    /// Settings as they were read back.
    settings: BTreeMap<String, String>,
    pinned_cpus: Vec<u32>,
    parts: Parts,
    run: Columns,
    samples: usize,
    counters: Columns,
}

/// What a sample has readings of.
#[derive(Deserialize)]
struct Parts {
    cpus: Vec<u32>,
    threads: Vec<String>,
    tcp: bool,
    connections: usize,
    sockets: usize,
    /// Node, device, kind and parent of each queueing discipline; no node: the endpoint's own host.
    queues: Vec<[Option<String>; 4]>,
    /// Node and device of each interface.
    interfaces: Vec<[Option<String>; 2]>,
    emulators: Vec<String>,
    softnet: Vec<u32>,
    throttling: bool,
    sequence: bool,
    foreign: bool,
}

const THREADS: [(&str, ThreadKind); 3] = [
    ("traffic", ThreadKind::Traffic),
    ("receive", ThreadKind::Napi),
    ("monitor", ThreadKind::Monitor),
];

pub struct Trial {
    /// Its scenario; the name begins with the limiter.
    pub scenario: String,
    /// The limiters that it has by construction, by their names in JSON.
    pub right: Vec<String>,
    pub repeat: u32,
    /// The message size of a run that is made for the cost model.
    pub sweep: Option<u32>,
    /// The number of the file that it was read from.
    pub source: usize,
    conditions: Conditions,
    sender: EndpointRecord,
    receiver: EndpointRecord,
}

impl Line {
    /// The trial of a line; `source` is the number of its file.
    pub fn trial(self, source: usize) -> Result<Trial> {
        Ok(Trial {
            scenario: self.scenario,
            right: self.right,
            repeat: self.repeat,
            sweep: self.sweep,
            source,
            conditions: self.traffic.conditions()?,
            sender: self.sender.record(Role::Sender)?,
            receiver: self.receiver.record(Role::Receiver)?,
        })
    }
}

impl Trial {
    fn view(&self) -> RunView<'_> {
        RunView {
            sender: &self.sender,
            receiver: &self.receiver,
            conditions: &self.conditions,
            shared_cpus: true,
            napi_threaded: true,
            capacity_mbps: None,
        }
    }

    pub fn figures(&self) -> RunFigures {
        RunFigures::of(u64::from(self.repeat) + 1, &self.view())
    }

    /// What bitcost says of it, by the cost models of its own file or of the last one before it that has some.
    pub fn verdict(&self, models: &Models) -> Verdict {
        let own = models
            .iter()
            .filter(|((_, name), _)| *name == self.scenario);
        let known = own.clone().rfind(|((source, _), _)| *source <= self.source);
        let models = known.or_else(|| own.clone().next());
        let models = models.map_or(&[][..], |(_, models)| models.as_slice());
        explain_run(&self.view(), packet_cost(models, &self.figures()))
    }

    pub fn signals(&self) -> Signals {
        Signals::of(&self.view())
    }
}

impl Traffic {
    fn conditions(self) -> Result<Conditions> {
        let mut workloads = WORKLOADS.iter();
        let workload = workloads.find(|row| row.name == self.workload);
        let workload = workload.with_context(|| format!("no workload {}", self.workload))?;
        Ok(Conditions {
            message_size_bytes: self.message_size_bytes,
            flows: self.flows,
            rate_bps: self.rate_bps,
            receiver_delay_us: self.receiver_delay_us,
            send_buffer_bytes: self.send_buffer_bytes,
            receive_buffer_bytes: self.receive_buffer_bytes,
            congestion_control: self.congestion_control,
            duration_ms: self.duration_ms,
            host_settings: match self.offloads_off {
                true => OFFLOADS.read("off")?,
                false => Vec::new(),
            },
            ..Conditions::of(workload.workload)
        })
    }
}

impl End {
    fn record(&self, role: Role) -> Result<EndpointRecord> {
        let settings = self.settings.iter().map(|(name, actual)| InEffect {
            name: name.clone(),
            requested: None,
            actual: Some(actual.clone()),
        });
        let mut record = EndpointRecord {
            role,
            in_effect: settings.collect(),
            pinned_cpus: self.pinned_cpus.clone(),
            tcp_info: self.parts.tcp.then(TcpInfo::default),
            sequence: self.parts.sequence.then(Sequence::default),
            foreign: self.parts.foreign.then(ForeignLoad::default),
            samples: vec![self.parts.sample()?; self.samples],
            ..EndpointRecord::default()
        };
        for (index, sample) in record.samples.iter_mut().enumerate() {
            of_sample(sample, &mut |name, number| {
                number.set(reading(&self.counters, &name, index));
            });
        }
        of_run(&mut record, &mut |name, number| {
            number.set(reading(&self.run, &name, 0));
        });
        Ok(record)
    }
}

fn reading(columns: &Columns, name: &str, sample: usize) -> Option<i64> {
    let Some(column) = columns.get(name) else {
        return Some(0);
    };
    let differences = column.as_ref()?.iter().take(sample + 1);
    Some(differences.fold(0, |sum, difference| sum.wrapping_add(*difference)))
}

impl Parts {
    /// A sample with these readings, all 0.
    fn sample(&self) -> Result<Sample> {
        let thread = |name: &String| {
            let mut rows = THREADS.iter();
            let row = rows.find(|(own, _)| own == name);
            let (_, kind) = row.with_context(|| format!("no thread {name}"))?;
            Ok(ThreadTime {
                kind: *kind,
                part: 0,
                run_ns: 0,
                wait_ns: 0,
                slices: 0,
                switches: (*kind != ThreadKind::Napi).then(Switches::default),
            })
        };
        let of = |text: &Option<String>| text.clone().unwrap_or_default();
        let cpu = |cpu: &u32| CpuTicks {
            cpu: *cpu,
            ..CpuTicks::default()
        };
        let queue = |[node, device, kind, parent]: &[Option<String>; 4]| Queue {
            node: node.clone(),
            device: of(device),
            kind: of(kind),
            parent: parent.clone(),
            ..Queue::default()
        };
        let interface = |[node, device]: &[Option<String>; 2]| Interface {
            node: node.clone(),
            device: of(device),
            ..Interface::default()
        };
        let emulator = |device: &String| LinkEmulator {
            device: device.clone(),
            ..LinkEmulator::default()
        };
        let softnet = |cpu: &u32| Softnet {
            cpu: *cpu,
            ..Softnet::default()
        };
        Ok(Sample {
            cpus: self.cpus.iter().map(cpu).collect(),
            threads: self.threads.iter().map(thread).collect::<Result<_>>()?,
            tcp_info: self.tcp.then(TcpInfo::default),
            connections: vec![TcpInfo::default(); self.connections],
            sockets: vec![SocketMemory::default(); self.sockets],
            queues: self.queues.iter().map(queue).collect(),
            interfaces: self.interfaces.iter().map(interface).collect(),
            emulators: self.emulators.iter().map(emulator).collect(),
            softnet: self.softnet.iter().map(softnet).collect(),
            throttling: self.throttling.then(Throttling::default),
            ..Sample::default()
        })
    }
}
