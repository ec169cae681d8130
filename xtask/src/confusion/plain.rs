//! Recordings of runs with their truth, as lines of plain JSON with names of their own, so that no
//! change of the log's format touches them.
//!
//! A line has the counters that rules can read. Each counter has its reading at every sample: the first
//! one, then the differences from the sample before; differences of 0 at the end are left out. A counter
//! that is 0 throughout is left out, one that the host does not report is null.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use bitcost_model::conditions::{Conditions, Offloads};
use bitcost_model::counters::{
    ForeignLoad, Interface, LinkEmulator, Queue, SocketMemory, Softnet, Throttling,
};
use bitcost_model::record::{
    CpuTicks, EndpointRecord, InEffect, Role, Sample, Sequence, Switches, TcpInfo, ThreadKind,
    ThreadTime,
};
use bitcost_model::workload::WORKLOADS;
use serde::{Deserialize, Serialize};

use super::numbers::{of_run, of_sample};
use super::trial::Trial;

/// The readings of counters, by their names.
type Columns = BTreeMap<String, Option<Vec<i64>>>;

/// A run with its truth.
#[derive(Serialize, Deserialize)]
pub struct Line {
    scenario: String,
    /// The limiters that it has by construction.
    right: Vec<String>,
    repeat: u32,
    /// The message size of a run that is made for the cost model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sweep: Option<u32>,
    traffic: Traffic,
    sender: End,
    receiver: End,
}

/// What was requested of the traffic: these conditions, the workload by its name, and whether offloads are off.
macro_rules! traffic {
    ($($field:ident: $kind:ty),+) => {
        #[derive(Serialize, Deserialize)]
        struct Traffic {
            workload: String,
            $($field: $kind,)+
            offloads_off: bool,
        }

        impl Traffic {
            fn of(conditions: &Conditions) -> Traffic {
                Traffic {
                    workload: conditions.workload.info().name.to_owned(),
                    $($field: conditions.$field.clone(),)+
                    offloads_off: conditions.offloads == Offloads::Off,
                }
            }

            fn conditions(self) -> Result<Conditions> {
                let mut workloads = WORKLOADS.iter();
                let workload = workloads.find(|row| row.name == self.workload);
                let workload = workload.with_context(|| format!("no workload {}", self.workload))?;
                let mut conditions = Conditions::of(workload.workload);
                $(conditions.$field = self.$field;)+
                conditions.offloads = if self.offloads_off { Offloads::Off } else { Offloads::AsFound };
                Ok(conditions)
            }
        }
    };
}

traffic!(message_size_bytes: u32, flows: u32, rate_bps: Option<u64>, receiver_delay_us: u32, send_buffer_bytes: Option<u32>,
    receive_buffer_bytes: Option<u32>, congestion_control: Option<String>, duration_ms: u32);

#[derive(Serialize, Deserialize)]
struct End {
    /// Settings as they were read back.
    settings: BTreeMap<String, String>,
    pinned_cpus: Vec<u32>,
    parts: Parts,
    /// Counters of the whole run.
    run: Columns,
    samples: usize,
    counters: Columns,
}

/// What a sample has readings of.
#[derive(Serialize, Deserialize)]
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

/// The settings that rules read.
const SETTINGS: [&str; 9] = [
    "congestion_control",
    "path_mtu_bytes",
    "qdisc.kind",
    "qdisc.rate_bps",
    "moderation_us",
    "receive_cpus",
    "stress",
    "stress_load_percent",
    "tcp_metrics",
];

const THREADS: [(&str, ThreadKind); 3] = [
    ("traffic", ThreadKind::Traffic),
    ("receive", ThreadKind::Napi),
    ("monitor", ThreadKind::Monitor),
];

impl Line {
    /// The line of a trial.
    pub fn of(trial: &Trial) -> Result<Line> {
        Ok(Line {
            scenario: trial.scenario.clone(),
            right: trial.right.clone(),
            repeat: trial.repeat,
            sweep: trial.sweep,
            traffic: Traffic::of(&trial.conditions),
            sender: End::of(&trial.sender)?,
            receiver: End::of(&trial.receiver)?,
        })
    }

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

impl End {
    fn of(record: &EndpointRecord) -> Result<End> {
        let first = record.samples.first().context("no samples")?;
        let settings = record.in_effect.iter().filter_map(|one| {
            let is_read = SETTINGS.contains(&one.name.as_str());
            Some((one.name.clone(), one.actual.clone()?)).filter(|_| is_read)
        });
        let parts = Parts {
            sequence: record.sequence.is_some(),
            foreign: record.foreign.is_some(),
            ..Parts::of(first)
        };
        let mut counters = BTreeMap::new();
        for sample in &record.samples {
            let mut sample = sample.clone();
            of_sample(&mut sample, &mut |name, number| {
                let readings: &mut Vec<Option<i64>> = counters.entry(name).or_default();
                readings.push(number.get());
            });
        }
        let mut run: BTreeMap<String, Vec<Option<i64>>> = BTreeMap::new();
        of_run(&mut record.clone(), &mut |name, number| {
            run.insert(name, vec![number.get()]);
        });
        Ok(End {
            settings: settings.collect(),
            pinned_cpus: record.pinned_cpus.clone(),
            parts,
            run: written(run, 1)?,
            samples: record.samples.len(),
            counters: written(counters, record.samples.len())?,
        })
    }

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

/// Counters as a line has them.
fn written(counters: BTreeMap<String, Vec<Option<i64>>>, samples: usize) -> Result<Columns> {
    let mut columns = Columns::new();
    for (name, readings) in counters {
        if readings.iter().all(Option::is_none) {
            columns.insert(name, None);
            continue;
        }
        let whole: Option<Vec<i64>> = readings.into_iter().collect();
        let whole = whole.filter(|whole| whole.len() == samples);
        let whole = whole.with_context(|| format!("{name} is not in every sample"))?;
        let before = [0].iter().chain(&whole);
        let differences = whole.iter().zip(before);
        let mut differences: Vec<i64> = differences
            .map(|(now, before)| now.wrapping_sub(*before))
            .collect();
        while differences.last() == Some(&0) {
            differences.pop();
        }
        if !differences.is_empty() {
            columns.insert(name, Some(differences));
        }
    }
    Ok(columns)
}

/// A counter's reading in a sample.
fn reading(columns: &Columns, name: &str, sample: usize) -> Option<i64> {
    let Some(column) = columns.get(name) else {
        return Some(0);
    };
    let differences = column.as_ref()?.iter().take(sample + 1);
    Some(differences.fold(0, |sum, difference| sum.wrapping_add(*difference)))
}

impl Parts {
    fn of(sample: &Sample) -> Parts {
        let name = |thread: &ThreadTime| {
            let mut rows = THREADS.iter();
            rows.find(|(_, kind)| *kind == thread.kind).map(|row| row.0)
        };
        let some = |text: &str| Some(text.to_owned());
        let queues = sample.queues.iter().map(|queue| {
            let (node, parent) = (queue.node.clone(), queue.parent.clone());
            [node, some(&queue.device), some(&queue.kind), parent]
        });
        let interfaces = sample.interfaces.iter();
        Parts {
            cpus: sample.cpus.iter().map(|cpu| cpu.cpu).collect(),
            threads: sample
                .threads
                .iter()
                .filter_map(name)
                .map(str::to_owned)
                .collect(),
            tcp: sample.tcp_info.is_some(),
            connections: sample.connections.len(),
            sockets: sample.sockets.len(),
            queues: queues.collect(),
            interfaces: interfaces
                .map(|one| [one.node.clone(), some(&one.device)])
                .collect(),
            emulators: sample
                .emulators
                .iter()
                .map(|one| one.device.clone())
                .collect(),
            softnet: sample.softnet.iter().map(|cpu| cpu.cpu).collect(),
            throttling: sample.throttling.is_some(),
            sequence: false,
            foreign: false,
        }
    }

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
