//! The result: ratios to each rival with their intervals, and the targets that were missed.

use std::fmt::Write;

use stats::{Interval, median, ratio_interval};

use super::Series;
use super::cases::{Case, Traffic};
use super::field::CONGESTION_CONTROL;
use super::peers::Rival;

const SEED: u64 = 1;

/// What was compared, where, and how.
pub fn head(rivals: &[Rival], rounds: u32, seconds: f64, one_cpu: bool) -> String {
    let host = probe::host::describe();
    let place = if one_cpu { "both ends on one CPU" } else { "each end on a CPU of its own" };
    let mut text = format!(
        "Linux {}, {}, {} CPUs\nbare veth pair, {CONGESTION_CONTROL}, {place}; {rounds} rounds of {seconds} s, interleaved\n",
        host.kernel,
        host.cpu_model.unwrap_or_default(),
        host.cpus.len()
    );
    for rival in rivals {
        let _ = writeln!(text, "{}: {}", rival.name, rival.version());
    }
    text += "rate: messages or transactions per second at the sender; CPU: µs per KiB, whole machine (wall clock less idle)\n";
    text += "ratio: ours ÷ theirs, of medians, with its 95 % bootstrap interval over rounds";
    text
}

/// One case: each generator's median, and ours to it.
pub fn row(case: &Case, series: &[(String, Series)]) -> String {
    let mut text = format!(
        "\n{:<12} {:>12} {:>10}  {:<22} {:<22}\n",
        case.name(),
        "rate 1/s",
        "CPU",
        "rate, ours ÷ theirs",
        "CPU, ours ÷ theirs"
    );
    let Some((_, ours)) = series.first() else { return text };
    for (name, theirs) in series {
        let is_ours = std::ptr::eq(theirs, ours);
        let ratio = |ours: &[(u32, f64)], theirs: &[(u32, f64)]| {
            if is_ours { String::new() } else { ratio_interval(ours, theirs, SEED).map(shown).unwrap_or_default() }
        };
        let _ = writeln!(
            text,
            "  {name:<10} {:>12} {:>10}  {:<22} {:<22}",
            middle(&theirs.rates).map_or("-".into(), |rate| format!("{rate:.0}")),
            middle(&theirs.cpu).map_or("-".into(), |cpu| format!("{cpu:.3}")),
            ratio(&ours.rates, &theirs.rates),
            ratio(&ours.cpu, &theirs.cpu),
        );
    }
    text.trim_end().to_owned()
}

fn middle(values: &[(u32, f64)]) -> Option<f64> {
    median(&values.iter().map(|(_, value)| *value).collect::<Vec<f64>>())
}

fn shown(ratio: Interval) -> String {
    match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => format!("{:.2} [{low:.2}, {high:.2}]", ratio.value),
        _ => format!("{:.2}", ratio.value),
    }
}

/// The least ratio of rates that ours should have to a rival in one case.
fn target(case: &Case, rival: &str) -> Option<f64> {
    match (rival, case.traffic) {
        ("C loop", _) => Some(0.99),
        ("netperf", _) => Some(1.0),
        (_, Traffic::Tcp | Traffic::Udp) => Some(0.97),
        _ => None,
    }
}

/// The targets that this case misses, by the ratio itself.
pub fn missed(case: &Case, series: &[(String, Series)]) -> Vec<String> {
    let Some((_, ours)) = series.first() else { return Vec::new() };
    let check = |(name, theirs): &(String, Series)| {
        let wanted = target(case, name)?;
        let ratio = ratio_interval(&ours.rates, &theirs.rates, SEED)?;
        let short = ratio.value < wanted;
        short.then(|| format!("{}: rate {} of {name}'s, wanted at least {wanted:.2}", case.name(), shown(ratio)))
    };
    series.iter().skip(1).filter_map(check).collect()
}
