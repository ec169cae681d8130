//! Runs while they are made: figures of their ends, and what limits them so far.

use std::collections::BTreeMap;

use bitcost_model::event::Event;
use bitcost_model::plan::Plan;
use bitcost_model::record::{EndpointRecord, Program, Role, Sample};

use crate::explain::hops::Hop;
use crate::explain::signals::Signals;
use crate::explain::watched::Watched;
use crate::log::PlaceFacts;
use crate::metrics::{figure_of, parts};

/// The readings of an end that are looked back on, two each second, as agents send them.
const READINGS: usize = 21;

/// The most rows of runs that are over.
const OVER: usize = 1000;

/// The rate and the CPU time of the sender, and of the receiver.
const METRICS: [[&str; 2]; 2] = [
    ["send_throughput_mbps", "sender_thread_cpu_us_per_kib"],
    ["throughput_mbps", "receiver_thread_cpu_us_per_kib"],
];

/// Rows of ends, and the queues that they pass.
type Rows = (Vec<Watched>, Vec<Hop>);

#[derive(Default)]
pub struct SoFar {
    place: PlaceFacts,
    plan: Option<Plan>,
    /// The last readings of both ends of each run that is made.
    made: BTreeMap<u32, [Vec<Sample>; 2]>,
    /// The runs that are over, the newest first.
    over: Vec<Watched>,
}

impl SoFar {
    pub fn take(&mut self, event: Event) {
        match event {
            Event::Planned { plan } => self.plan = Some(plan),
            #[rustfmt::skip]
            Event::Prepared { shared_cpus, endpoints, lab, .. } => {
                self.place = PlaceFacts::new(shared_cpus, &endpoints, lab.as_deref());
            }
            Event::Progress { run, role, sample } => {
                let readings = &mut self.made.entry(run).or_default()[role as usize];
                readings.push(*sample);
                readings.drain(..readings.len().saturating_sub(READINGS));
            }
            #[rustfmt::skip]
            Event::RunEnded { run, sender, receiver, .. } => {
                self.made.remove(&run);
                let rows = self.rows(run, [&sender, &receiver]);
                self.over.splice(0..0, rows.unwrap_or_default().0);
                self.over.truncate(OVER);
            }
            Event::RunFailed { run, .. }
            | Event::RunProfiled { run, .. }
            | Event::RunNotProfiled { run, .. } => drop(self.made.remove(&run)),
            _ => {}
        }
    }

    /// Both ends of each part of runs, first of those that are made.
    pub fn listed(&self) -> Rows {
        let (mut rows, mut hops) = Rows::default();
        for (run, readings) in &self.made {
            let ends = [Role::Sender, Role::Receiver].map(|role| {
                let record = EndpointRecord::of_readings(role, readings[role as usize].clone());
                record.unwrap_or_default()
            });
            let found = self.rows(*run, ends.each_ref()).unwrap_or_default();
            rows.extend(found.0);
            hops = found.1;
        }
        rows.extend_from_slice(&self.over);
        (rows, hops)
    }

    fn rows(&self, run: u32, ends: [&EndpointRecord; 2]) -> Option<Rows> {
        let plan = self.plan.as_ref()?;
        let cell = plan.cell_of(run)?;
        let number = (plan.runs.len() > 1).then(|| format!("run {} ", run + 1));
        let number = number.unwrap_or_default();
        let whole = self.place.view(ends, &cell.conditions, None);
        let (mut rows, mut hops) = Rows::default();
        for (place, part) in parts(&whole).iter().enumerate() {
            // Of the first part there are all readings.
            let view = if place == 0 { whole } else { part.view() };
            let signals = Signals::of(&view);
            hops.extend_from_slice(&signals.hops);
            let (direction, traffic) = (part.conditions.direction, part.conditions.workload.name());
            for role in [Role::Sender, Role::Receiver] {
                let [host, peer] = [role, role.other()].map(|of| direction.role_of(of).name());
                let name = format!("{number}{host}");
                let peer = format!("{peer} · {} · {traffic}", cell.name());
                let tcp = Some(&signals.tcp).filter(|_| role == Role::Sender);
                let again = tcp.and_then(|tcp| tcp.retransmitted);
                let metrics = METRICS[role as usize].map(|name| (name, figure_of(&view, name)));
                rows.push(Watched {
                    program: Program {
                        connections: vec![[name.clone(), peer]],
                        name: Some(name),
                        ..Program::default()
                    },
                    role: Some(role),
                    figures: [
                        metrics.as_slice(),
                        &[("retransmitted_pct", again.map(|share| 100.0 * share))],
                        &[("rtt_ms", tcp.and_then(|tcp| tcp.rtt_ms))],
                    ]
                    .concat(),
                    verdict: signals.verdict(None),
                });
            }
        }
        Some((rows, hops))
    }
}
