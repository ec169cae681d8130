//! bitcost's own runs, in the ways in which it takes part, one row each: its agents in the hosts of the same path, driven as by the program.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::Result;
use bitcost_analysis::log::{PlaceFacts, measured};
use bitcost_controller::{Endpoints, Session};
use bitcost_model::conditions::{Conditions, Waiting, Workload};
use bitcost_model::record::{EndpointRecord, FlowRecord, Sample};
use bitcost_model::search::{Changes, Goal};
use bitcost_study::mode_search::{self, ModeSearch, apply};

use super::cases::Case;
use super::field::{Field, RECEIVER, SENDER, Setup};
use super::figure::{Figure, lost, packet_bytes};
use super::load::Load;
use crate::runs::{endpoint, once, session};

/// bitcost with the engine's defaults.
pub const DEFAULT: &str = "bitcost";
/// What `--mode auto` finds.
pub const FAST: &str = "bitcost, auto";
/// What `--mode auto --for cost` finds.
pub const CHEAP: &str = "bitcost, auto for cost";
/// Both endpoints of a transaction repeat their calls instead of sleeping.
pub const SPINNING: &str = "bitcost, spinning";
/// Every transaction's time is recorded.
pub const TIMED: &str = "bitcost, timed";

/// The message sizes of the search's cases of TCP.
const FAST_TCP: [u32; 3] = [1024, 8192, 131_072];
/// The same of UDP.
const FAST_UDP: [u32; 2] = [64, 1472];

/// A way in which bitcost takes part.
pub struct Flavour {
    pub name: &'static str,
    pub about: &'static str,
    /// Whether it takes part.
    pub fits: fn(&Case, Setup) -> bool,
    /// Its changes of the engine's defaults.
    pub change: fn(&mut Conditions),
}

pub const FLAVOURS: &[Flavour] = &[
    Flavour {
        name: DEFAULT,
        about: "the engine's defaults; TCP: a receive call takes a message",
        fits: |_, _| true,
        change: |_| {},
    },
    Flavour {
        name: FAST,
        about: "--mode auto: a search of at most 3 s before each run",
        fits: |case, setup| (is_fast_tcp(case) || is_fast_udp(case)) && setup == Setup::default(),
        change: |conditions| conditions.mode_auto = true,
    },
    Flavour {
        name: CHEAP,
        about: "--mode auto --for cost, of TCP",
        fits: |case, setup| is_fast_tcp(case) && setup == Setup::default(),
        change: |conditions| {
            conditions.mode_auto = true;
            conditions.search_for = Goal::Cost;
        },
    },
    Flavour {
        name: SPINNING,
        about: "both ends call again and again instead of sleeping",
        fits: |case, setup| is_rr(case) && !setup.one_cpu,
        change: |conditions| conditions.waiting = Waiting::Spin,
    },
    Flavour {
        name: TIMED,
        about: "every transaction's time goes into a histogram",
        fits: |case, _| is_rr(case),
        change: |conditions| conditions.latency = true,
    },
];

/// Whether fast options are searched for this case of TCP.
pub fn is_fast_tcp(case: &Case) -> bool {
    case.is_of(Workload::TcpStream, &FAST_TCP)
}

fn is_fast_udp(case: &Case) -> bool {
    case.is_of(Workload::UdpStream, &FAST_UDP)
}

fn is_rr(case: &Case) -> bool {
    matches!(case.traffic, Workload::TcpRr | Workload::UdpRr)
}

/// One run by agents that are started for it, with a change of the engine's defaults; a search, where that
/// asks for one, comes before it.
pub fn measure(
    case: &Case,
    field: &Field,
    bitcost: &Path,
    seconds: f64,
    flavour: &Flavour,
) -> Result<Figure> {
    let mut conditions = Conditions {
        workload: case.traffic,
        message_size_bytes: case.size,
        rate_bps: case.rate_bps,
        idle_baseline_ms: Some(0),
        warmup_ms: 50,
        duration_ms: (seconds * 1000.0) as u32,
        ..Conditions::default()
    };
    (flavour.change)(&mut conditions);
    let endpoint = |host, cpu| {
        let bitcost = bitcost.to_owned();
        endpoint(&field.lab, host, cpu, move || {
            let mut command = Command::new(&bitcost);
            command.arg("agent");
            command
        })
    };
    let mut session = session(Endpoints {
        sender: endpoint(SENDER, field.sender_cpu)?,
        receiver: endpoint(RECEIVER, field.receiver_cpu)?,
    })?;
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

/// What `--mode auto` takes here.
fn search(session: &mut Session, conditions: &Conditions, mtu_bytes: u32) -> Result<Changes> {
    let search = ModeSearch {
        conditions,
        goal: conditions.search_for,
        is_kept: &|_| false,
        possible: &|conditions| conditions.check(mtu_bytes).is_ok(),
    };
    let found = search.search(0, |trial| {
        let start = Instant::now();
        let ends = once(session, trial.clone())?;
        let outcome = ends.and_then(|[sender, receiver]| {
            let facts = PlaceFacts::new(true, &[]);
            measured(facts, [&*sender, &*receiver], trial)
        });
        Ok::<_, anyhow::Error>(Some((outcome, start.elapsed())))
    })?;
    Ok(found.map(|found| found.taken).unwrap_or_default())
}

fn figure(case: &Case, [sender, receiver]: &[Box<EndpointRecord>; 2]) -> Figure {
    let rate = |end: &EndpointRecord| end.counts.measured.messages as f64 / end.window_seconds();
    let is_udp = case.traffic == Workload::UdpStream;
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
        packet_bytes: sent.and_then(|(first, last)| packet_bytes(first, last)),
        window_limited: limited,
        stolen: load.map_or(0.0, |load| load.stolen),
        options: None,
    }
}
