//! bitcost's own runs: its agents in the hosts of the same path, driven as by the program.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::Result;
use bitcost_analysis::log::{PlaceFacts, measured};
use bitcost_controller::{Endpoint, Endpoints, Session};
use bitcost_lab::Lab;
use bitcost_model::Unavailable;
use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::event::Event;
use bitcost_model::plan::Plan;
use bitcost_model::record::{EndpointRecord, FlowRecord, Sample};
use bitcost_model::search::Changes;
use bitcost_study::mode_search::{self, ModeSearch, apply};

use super::cases::{Case, Traffic};
use super::field::{Field, RECEIVER, SENDER};
use super::figure::{Figure, lost, packet_bytes};
use super::load::Load;

static NEVER: AtomicBool = AtomicBool::new(false);

/// One run by agents that are started for it, with a change of the engine's defaults; a search, where that
/// asks for one, comes before it.
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
    let mut options = None;
    if conditions.mode_auto {
        let taken = search(&mut session, &conditions, case.mtu_bytes)?;
        apply(&taken, &mut conditions)?;
        conditions.mode_auto = false;
        options = Some(mode_search::options(&taken));
    }
    let ends = once(&mut session, conditions)??;
    Ok(Figure {
        options,
        ..figure(case, &ends)
    })
}

/// One run: the records of sender and receiver, or why there are none.
fn once(
    session: &mut Session,
    conditions: Conditions,
) -> Result<Result<[Box<EndpointRecord>; 2], Unavailable>> {
    let mut outcome = Err(Unavailable("no run".to_owned()));
    session.execute(&Plan::of_one(conditions), &BTreeSet::new(), &mut |event| {
        match event {
            Event::RunEnded {
                sender, receiver, ..
            } => outcome = Ok([sender, receiver]),
            Event::RunFailed { reason, .. } => outcome = Err(Unavailable(reason)),
            _ => {}
        }
        Ok(())
    })?;
    Ok(outcome)
}

/// What `--mode auto` takes here.
fn search(session: &mut Session, conditions: &Conditions, mtu_bytes: u32) -> Result<Changes> {
    let possible = |conditions: &Conditions| Ok(conditions.check(mtu_bytes)?);
    let search = ModeSearch::new(conditions, &|_| false, &possible);
    let mut search = search.of_goal(conditions.search_for);
    let began = Instant::now();
    while let Some(trial) = search.next(began.elapsed()) {
        let start = Instant::now();
        let ends = once(session, trial.clone())?;
        let outcome = ends.and_then(|[sender, receiver]| {
            let facts = PlaceFacts::new(true, &[]);
            measured(facts, [&*sender, &*receiver], &trial)
        });
        search.take(outcome, start.elapsed());
    }
    let found = search.found(0, began.elapsed());
    Ok(found?.taken)
}

fn figure(case: &Case, [sender, receiver]: &[Box<EndpointRecord>; 2]) -> Figure {
    let rate = |end: &EndpointRecord| end.counts.measured.messages as f64 / end.window_seconds();
    let is_udp = case.traffic == Traffic::Udp;
    let per_second = rate(if is_udp { receiver } else { sender });
    let edges = sender.samples.first().zip(sender.samples.last());
    let load = edges.and_then(|(first, last)| {
        let seconds = last.at_ns.saturating_sub(first.at_ns) as f64 / 1e9;
        Load::between(&first.cpus, &last.cpus, seconds)
    });
    let own = |sample: &Sample| {
        let interface = sample.interfaces.iter().find(|one| one.node.is_none())?;
        Some((interface.tx_bytes, interface.tx_packets))
    };
    let sent = edges.and_then(|(first, last)| Some((own(first)?, own(last)?)));
    let limited = edges.and_then(|(first, last)| {
        let [first, last] = [first, last].map(|sample| sample.tcp_info.as_ref());
        let (first, last) = first.zip(last)?;
        let busy = last.busy_time_us?.checked_sub(first.busy_time_us?)?;
        let limited = last.rwnd_limited_us?.checked_sub(first.rwnd_limited_us?)?;
        (busy > 0).then(|| limited as f64 / busy as f64)
    });
    let pacing = FlowRecord::sum(&sender.flows)
        .pacing
        .filter(|pacing| pacing.elapsed_ns > 0);
    Figure {
        per_second,
        lost: is_udp.then(|| lost(rate(sender), per_second)),
        cpu: load.map(|load| load.busy_cpus * 1e6 / (per_second * case.cpu_units())),
        pacing_cpu_pct: pacing
            .map(|pacing| pacing.cpu_ns as f64 / pacing.elapsed_ns as f64 * 100.0),
        packet_bytes: sent.and_then(|(first, last)| {
            packet_bytes(
                last.0.saturating_sub(first.0),
                last.1.saturating_sub(first.1),
            )
        }),
        window_limited: limited,
        stolen: load.map_or(0.0, |load| load.stolen),
        options: None,
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
        lab.command_in(host, &mut command)?;
        Ok(command)
    };
    Ok(Endpoint {
        device,
        addresses,
        cpus: vec![cpu],
        ..Endpoint::new(format!("netns:{host}"), command)
    })
}
