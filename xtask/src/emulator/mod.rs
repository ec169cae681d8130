//! `cargo xtask emulator`: whether the link emulator keeps its promises on this machine, compared
//! with a forwarder of one packet per call.

mod chance;
mod measure;
mod path;
mod plain;
mod saturation;
mod verdicts;

use anyhow::Result;
use bitcost_lab::emulator::Settings;

use measure::{Flow, Idle};
use path::Path;
use verdicts::Verdicts;

/// The bounds that the link emulator must keep.
const LEAST_MBPS: f64 = 935.0;
const RTT_MS: std::ops::RangeInclusive<f64> = 20.0..=20.5;
const MOST_CPU_PCT: f64 = 20.0;
const LEAST_RATIO: f64 = 1.5;

/// Rounds of both forwarders in turn, an odd number.
const ROUNDS: usize = 3;
const SATURATION_RUNS: usize = 7;

/// What to measure and how long.
#[derive(clap::Args)]
pub struct Arguments {
    /// Seconds of each flow, after 3 s of slow start
    #[arg(long, default_value_t = 5)]
    seconds: u32,
    /// Datagrams of the measurement of losses
    #[arg(long, default_value_t = 1_000_000)]
    packets: u64,
    /// Exit 1 when a promise is not kept
    #[arg(long)]
    check: bool,
    /// One part only: idle, rate, packets, saturation, losses
    #[arg(long)]
    only: Option<String>,
}

/// Measures and prints; returns true if every promise is kept, or if `--check` is not given.
///
/// # Errors
/// When namespaces cannot be made or iperf3 is missing.
pub fn run(arguments: &Arguments) -> Result<bool> {
    bitcost_testkit::enter_private_network().map_err(anyhow::Error::msg)?;
    let wanted = |part: &str| arguments.only.as_deref().is_none_or(|only| only == part);
    let mut verdicts = Verdicts::default();
    if wanted("idle") {
        idle(&mut verdicts)?;
    }
    if wanted("rate") {
        rate(arguments, &mut verdicts)?;
    }
    if wanted("packets") {
        packets(arguments)?;
    }
    if wanted("saturation") {
        saturation(&path::delay_only(20), &mut verdicts)?;
    }
    if wanted("losses") {
        losses(arguments, &mut verdicts)?;
    }
    Ok(!arguments.check || !verdicts.is_broken)
}

fn idle(verdicts: &mut Verdicts) -> Result<()> {
    println!("20 ms and 1 Gbit/s, idle: 200 requests of 64 bytes, 5 ms apart");
    for (name, settings) in [
        ("20 + 0 ms", path::wan(20, 0)),
        ("10 + 10 ms", path::wan(10, 10)),
    ] {
        let path = Path::with_emulator(settings)?;
        let Idle {
            least_ms,
            mean_ms,
            most_ms,
        } = measure::idle(&path)?;
        println!("  {name}: {least_ms:.3} / {mean_ms:.3} / {most_ms:.3} ms (least, mean, most)");
        verdicts.report(
            RTT_MS.contains(&mean_ms),
            "the mean round trip is 20.0 to 20.5 ms",
        );
    }
    Ok(())
}

fn rate(arguments: &Arguments, verdicts: &mut Verdicts) -> Result<()> {
    println!("20 ms and 1 Gbit/s, offloads on: iperf3, cubic");
    let path = Path::with_emulator(path::wan(20, 0))?;
    let flow = measure::flow(&path, arguments.seconds)?;
    print_flow(&flow);
    verdicts.report(
        flow.mbps >= LEAST_MBPS,
        &format!("at least {LEAST_MBPS} Mbit/s"),
    );
    verdicts.report(
        flow.cpu_pct <= MOST_CPU_PCT,
        &format!("at most {MOST_CPU_PCT} % of a CPU"),
    );
    Ok(())
}

fn print_flow(flow: &Flow) {
    let Flow {
        mbps,
        retransmits,
        packets_per_s,
        cpu_pct,
        lateness_us,
        overflowed,
        missed,
        ..
    } = flow;
    let [p50, p99, most] = lateness_us;
    println!(
        "  {mbps:.0} Mbit/s, {packets_per_s:.0} packets/s, {cpu_pct:.1} % of a CPU, {retransmits} segments retransmitted, {overflowed} packets over the limit, {missed} missed; late by {p50:.0}, {p99:.0}, {most:.0} µs (median, 99 %, most)"
    );
}

fn packets(arguments: &Arguments) -> Result<()> {
    println!("20 ms without a rate, offloads off at both hosts: packets/s of iperf3, cubic");
    let (mut ratios, mut by_cpu, settings) = (Vec::new(), Vec::new(), path::delay_only(20));
    for _ in 0..ROUNDS {
        let path = Path::with_plain(settings.clone())?;
        path.turn_offloads_off()?;
        let plain = measure::flow(&path, arguments.seconds)?;
        let path = Path::with_emulator(settings.clone())?;
        path.turn_offloads_off()?;
        let line = measure::flow(&path, arguments.seconds)?;
        print!("  one packet a call:");
        print_flow(&plain);
        print!("  the line:         ");
        print_flow(&line);
        ratios.push(line.packets_per_s / plain.packets_per_s);
        by_cpu.push(line.packets_per_cpu_s() / plain.packets_per_cpu_s());
    }
    let (ratio, by_cpu) = (median(&mut ratios), median(&mut by_cpu));
    println!(
        "  ratios {ratios:.2?}, median {ratio:.2}; by the forwarder's CPU time, median {by_cpu:.2}"
    );
    println!(
        "  where no forwarder has a CPU to itself, the hosts' own work on the same CPUs bounds the packets/s"
    );
    Ok(())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn saturation(settings: &[Settings; 2], verdicts: &mut Verdicts) -> Result<()> {
    println!(
        "20 ms without a rate, frames of 1514 bytes as fast as one CPU makes them: packets/s handed on"
    );
    let mut ratios = Vec::new();
    for _ in 0..SATURATION_RUNS {
        let plain = saturation::measure(&Path::with_plain(settings.clone())?)?;
        let line = saturation::measure(&Path::with_emulator(settings.clone())?)?;
        println!("  one packet a call: {plain}; the line: {line}");
        ratios.push(line.packets_per_s / plain.packets_per_s);
    }
    let median = median(&mut ratios);
    println!("  ratios {ratios:.2?}");
    verdicts.report(
        median >= LEAST_RATIO,
        &format!("at least {LEAST_RATIO} times as many, median {median:.2}"),
    );
    Ok(())
}

fn losses(arguments: &Arguments, verdicts: &mut Verdicts) -> Result<()> {
    chance::many_seeds(arguments.packets, verdicts);
    for time in ["once", "again with the same seed"] {
        println!(
            "a loss of 1 %, {} datagrams over sockets, {time}",
            arguments.packets
        );
        let losses = measure::losses(arguments.packets)?;
        let failed = losses.failed;
        verdicts.report(failed == 0, &format!("the line itself dropped {failed}"));
        chance::one_seed(&losses, path::SEED, verdicts);
    }
    Ok(())
}
