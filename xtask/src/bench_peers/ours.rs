//! bitcost's own runs: its agents in the hosts of the same path, driven as by the program.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, anyhow};
use bitcost_controller::{Endpoint, Endpoints, Session};
use bitcost_lab::Lab;
use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::event::Event;
use bitcost_model::plan::Plan;
use bitcost_model::record::{EndpointRecord, FlowRecord};

use super::cases::{Case, Traffic};
use super::field::{Field, RECEIVER, SENDER};
use super::figure::Figure;
use super::load::Load;

static NEVER: AtomicBool = AtomicBool::new(false);

/// One run by agents that are started for it, with a change of the engine's defaults.
pub fn measure(
    case: &Case,
    field: &Field,
    bitcost: &Path,
    seconds: f64,
    change: impl FnOnce(&mut Conditions),
) -> Result<Figure> {
    let mut conditions = Conditions {
        workload: workload(case.traffic),
        message_size_bytes: case.size,
        rate_bps: case.rate_bps,
        idle_baseline_ms: Some(0),
        warmup_ms: 50,
        duration_ms: (seconds * 1000.0) as u32,
        ..Conditions::default()
    };
    change(&mut conditions);
    let sender = way(field, SENDER, field.sender_cpu, bitcost)?;
    let receiver = way(field, RECEIVER, field.receiver_cpu, bitcost)?;
    let mut session = Session::open(Endpoints { sender, receiver }, &NEVER)?;
    let mut outcome = Err("no run".to_owned());
    session.execute(&Plan::of_one(conditions), &BTreeSet::new(), &mut |event| {
        match event {
            Event::RunEnded { sender, .. } => outcome = Ok(sender),
            Event::RunFailed { reason, .. } => outcome = Err(reason),
            _ => {}
        }
        Ok(())
    })?;
    let sender = outcome.map_err(|reason| anyhow!(reason))?;
    Ok(figure(case, &sender))
}

fn figure(case: &Case, sender: &EndpointRecord) -> Figure {
    let per_second = sender.counts.measured.messages as f64 / sender.window_seconds();
    let load = sender
        .samples
        .first()
        .zip(sender.samples.last())
        .and_then(|(first, last)| {
            Load::between(
                &first.cpus,
                &last.cpus,
                last.at_ns.saturating_sub(first.at_ns) as f64 / 1e9,
            )
        });
    let pacing = FlowRecord::sum(&sender.flows)
        .pacing
        .filter(|pacing| pacing.elapsed_ns > 0);
    Figure {
        per_second,
        cpu: load.map(|load| load.busy_cpus * 1e6 / (per_second * case.cpu_units())),
        pacing_cpu_pct: pacing
            .map(|pacing| pacing.cpu_ns as f64 / pacing.elapsed_ns as f64 * 100.0),
        stolen: load.map_or(0.0, |load| load.stolen),
    }
}

fn workload(traffic: Traffic) -> Workload {
    match traffic {
        Traffic::Tcp => Workload::TcpStream,
        Traffic::Udp => Workload::UdpStream,
        Traffic::Rr => Workload::TcpRr,
        Traffic::UdpRr => Workload::UdpRr,
        Traffic::Crr => Workload::TcpCrr,
    }
}

fn way(field: &Field, host: &'static str, cpu: u32, bitcost: &Path) -> Result<Endpoint> {
    let place = field.lab.host(host)?;
    let (device, addresses) = (place.device.clone(), place.addresses.clone());
    let (lab, bitcost): (Arc<Lab>, PathBuf) = (field.lab.clone(), bitcost.to_owned());
    let command = move |_: Option<&str>| {
        let mut command = Command::new(&bitcost);
        command.arg("agent");
        lab.command_in(host, &mut command)
            .map_err(|error| error.to_string())?;
        Ok(command)
    };
    Ok(Endpoint {
        device,
        addresses,
        cpus: vec![cpu],
        ..Endpoint::new(format!("netns:{host}"), command)
    })
}
