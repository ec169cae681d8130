//! What may change how the figures of a run are read.

use bitcost_model::cpu_list::show_cpu_list;
use bitcost_model::harmless;
use bitcost_model::record::{Role, TcpInfo};
use bitcost_model::units::{counted, show_duration};

use super::in_effect::PartsInEffect;
use crate::caveat::{Caveat, by_weight};
use crate::metrics::{
    RunView, Weak, disturbance, emulator_trouble, far_share, in_fragments, marks, outages,
    protocols_grown,
};

/// The weight of a setting that is not in effect: the run is another one than was requested.
const NOT_IN_EFFECT: f64 = 0.5;

/// The weight of a method of counting CPU time that is weak where it says so.
const WEAK: f64 = 0.1;

/// The weight of an event that the figures say already or leave out.
const ASIDE: f64 = 0.01;

/// What may change how the figures of a run are read, a sentence each, the one that can change them
/// most first.
pub fn caveats_of(run: &RunView) -> Vec<String> {
    let parts = PartsInEffect::of(run);
    let weighing = |weight: f64| move |words: String| (weight, words);
    let mut found: Vec<Caveat> = of_iperf3(run).map(weighing(ASIDE)).into_iter().collect();
    found.extend(of_program(run).into_iter().map(weighing(ASIDE)));
    found.extend(interruption(run).map(weighing(1.0)));
    found.extend(outages(run).map(weighing(1.0)));
    found.extend(fragments(run).map(weighing(NOT_IN_EFFECT)));
    let settings = parts.settings.iter();
    let settings = settings.map(|setting| format!("not in effect: {setting}"));
    found.extend(settings.map(weighing(NOT_IN_EFFECT)));
    found.extend(far_from_card(run).map(weighing(WEAK)));
    let load = disturbance(run);
    found.extend(load.map(|load| (load.pct() / 100.0, load.to_string())));
    let emulator = emulator_trouble(run).map(|trouble| trouble.to_string());
    found.extend(emulator.map(weighing(1.0)));
    let marks = marks(run);
    let weak = marks
        .iter()
        .enumerate()
        .filter_map(|(place, (weak, role))| {
            let has = |(other, _): &(Weak, Role)| other == weak;
            let end = match marks.iter().filter(|mark| has(mark)).count() {
                1 => role.name(),
                _ if marks.iter().position(has) == Some(place) => "both ends",
                _ => return None,
            };
            Some(format!("{end}: {}", weak.reason()))
        });
    found.extend(weak.map(weighing(WEAK)));
    let aside = [&*parts.notes, &parts.undelivered].concat();
    found.extend(aside.into_iter().map(weighing(ASIDE)));
    by_weight(found)
}

/// `interrupted after 5.2 s of 14 s: no data moved for 10 s`; absent for a run that took its time.
pub fn interruption(run: &RunView) -> Option<String> {
    let why = harmless(run.interrupted?);
    let after = run.window_seconds(Role::Receiver)?;
    let planned = match run.conditions.is_bounded() {
        true => String::new(),
        false => format!(" of {}", show_duration(run.conditions.window_limit())),
    };
    Some(format!("interrupted after {after:.1} s{planned}: {why}"))
}

/// Ends that are confined to CPUs of another NUMA node than their card.
fn far_from_card<'a>(run: &RunView<'a>) -> impl Iterator<Item = String> + use<'a> {
    run.ends().into_iter().filter_map(|end| {
        let (_, node) = far_share(end).filter(|(share, _)| *share > 0.0)?;
        let (role, cpus) = (end.role.name(), show_cpu_list(&end.pinned_cpus));
        Some(format!(
            "the {role} runs on CPUs {cpus}, not all of them on node {node}, where its card is"
        ))
    })
}

/// Datagrams that do not fit the path, with the incomplete ones that the receiver's kernel gave up.
fn fragments(run: &RunView) -> Option<String> {
    let (words, most) = in_fragments(run)?;
    let failed = protocols_grown(run.receiver, &["Ip.ReasmFails", "Ip6.ReasmFails"]);
    let failed = match failed.unwrap_or(0.0) {
        0.0 => String::new(),
        count => format!("; the receiver gave up incomplete ones {count:.0} times (IpReasmFails)"),
    };
    let remedy = run.conditions.use_at_most(most);
    Some(format!("{words}{failed}; {remedy}"))
}

/// That one end was played by an iperf3 server.
fn of_iperf3(run: &RunView) -> Option<String> {
    let ends = [run.sender, run.receiver];
    let server = ends.iter().find(|end| end.iperf3.is_some())?;
    let name = server.role.name();
    Some(format!(
        "the {name} is an iperf3 server: it reports only its totals"
    ))
}

/// What is not seen of connections that another program holds.
fn of_program(run: &RunView) -> Vec<String> {
    let mut unseen = Vec::new();
    for (end, program) in run.programs() {
        let (role, other) = (end.role.name(), end.role.other());
        if !run.is_read(other) {
            let other = other.name();
            unseen.push(format!(
                "the {other}'s end was not read: what limits there shows only in its windows and acknowledgements"
            ));
        }
        if program.name.is_none() {
            unseen.push(format!(
                "which program holds the connections of the {role} is not seen, nor its CPU time; run bitcost as root, with --at HOST also --sudo"
            ));
        }
        if let (Some(why), Some(seconds)) = (&program.ended, run.window_seconds(end.role)) {
            unseen.push(format!("read for {seconds:.1} s only: {}", harmless(why)));
        }
        if program.others > 0 {
            let others = counted(program.others, "connection");
            unseen.push(format!("{others} that moved less were not read"));
        }
        let missing = end.tcp_info.as_ref().map(missing).unwrap_or_default();
        if !missing.is_empty() {
            let fields = missing.join(", ");
            unseen.push(format!(
                "this kernel does not report {fields}: what shows there alone is not seen"
            ));
        }
    }
    unseen
}

/// The fields of `TCP_INFO` that the rules use and an old kernel does not fill.
fn missing(info: &TcpInfo) -> Vec<&'static str> {
    let fields = [
        ("tcpi_busy_time", info.busy_time_us.is_some()),
        ("tcpi_rwnd_limited", info.rwnd_limited_us.is_some()),
        ("tcpi_sndbuf_limited", info.sndbuf_limited_us.is_some()),
        ("tcpi_snd_wnd", info.snd_wnd_bytes.is_some()),
        ("tcpi_rcv_wnd", info.rcv_wnd_bytes.is_some()),
        ("tcpi_rcv_ooopack", info.rcv_ooopack.is_some()),
    ];
    let missing = fields.into_iter().filter(|(_, is_there)| !is_there);
    missing.map(|(name, _)| name).collect()
}
