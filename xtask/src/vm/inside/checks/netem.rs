//! netem, configured by bitcost's own netlink messages and read by tc.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use bitcost_execute::echo::ECHO_VERB;
use bitcost_model::ping::Pings;

use crate::vm::inside::guest::{StandingLab, bitcost};
use crate::vm::inside::port::Port;

/// Milliseconds by which the shortest round trip of an idle path may exceed the requested one.
pub const RTT_SLACK_MS: f64 = 1.0;

/// Modules that a first lab needs; none is loaded before it.
const NEEDED: [&str; 4] = ["veth", "bridge", "sch_netem", "sch_tbf"];

fn loaded_modules() -> Result<Vec<String>> {
    let text = fs::read_to_string("/proc/modules")?;
    let names = text.lines().filter_map(|line| line.split(' ').next());
    Ok(names.map(str::to_owned).collect())
}

/// The text of a lab file whose first link has this text for one direction.
pub fn two_hosts(egress: &str) -> String {
    format!(
        "hosts = [\"h1\", \"h2\"]\n[[link]]\nends = [\"h1\", \"h2\"]\n[egress.h1-eth0]\n{egress}\n"
    )
}

/// The least round trip of `count` requests, in milliseconds.
pub fn least_rtt_ms(lab: &StandingLab, count: u32) -> Result<f64> {
    let count = count.to_string();
    let words = ["bitcost", ECHO_VERB, "10.0.0.2", &count, "20", "1000"];
    let pings: Pings = serde_json::from_str(&lab.exec("h1", &words)?)?;
    let figures = pings.figures().context("no round trip")?;
    Ok(figures.min_us / 1000.0)
}

pub(super) fn loaded(_: &mut Port) -> Result<String> {
    let before = loaded_modules()?;
    let is_needed = |name: &&String| NEEDED.contains(&name.as_str());
    let there = before.iter().find(is_needed);
    ensure!(there.is_none(), "{there:?} was loaded before");
    let preset = bitcost(&["lab", "presets", "lab15"])?;
    let lab = StandingLab::up(&preset.out, &[])?;
    // The very first request waits until the address is resolved, over the same delay.
    let rtt = least_rtt_ms(&lab, 6)?;
    let after = loaded_modules()?;
    let shown = lab.exec("s1", &["tc", "qdisc", "show", "dev", "s1-eth2"])?;
    let said = lab.down();
    ensure!(
        said.contains("made by the kernel's netem"),
        "lab up does not say that netem is used: {said}"
    );
    let loaded = after.iter().filter(is_needed).count();
    ensure!(loaded == NEEDED.len(), "after the lab came up: {after:?}");
    ensure!(
        shown.contains("netem") && shown.contains("limit 1000 delay 20ms"),
        "tc shows: {shown}"
    );
    ensure!(
        (20.0..20.0 + RTT_SLACK_MS).contains(&rtt),
        "20 ms were asked for, the least round trip is {rtt:.3} ms"
    );
    Ok(format!(
        "{}; 20 ms requested, {rtt:.3} ms measured",
        NEEDED.join(", ")
    ))
}

pub(super) fn settings(_: &mut Port) -> Result<String> {
    let egress = "rate = \"100M\"\ndelay = \"30ms\"\njitter = \"2ms\"\nloss = \"1.5%\"\nreorder = \"25%\"\nduplicate = \"0.5%\"\nqueue_limit = \"777 packets\"";
    let wanted = [
        "limit 777",
        "delay 30ms  2ms",
        "loss 1.5%",
        "duplicate 0.5%",
        "reorder 25%",
        "gap 1",
        "rate 100Mbit",
    ];
    let lab = StandingLab::up(&two_hosts(egress), &["--delay-backend", "netem"])?;
    let shown = lab.exec("h1", &["tc", "qdisc", "show", "dev", "h1-eth0"])?;
    match wanted.iter().find(|part| !shown.contains(**part)) {
        Some(part) => bail!("\"{part}\" is not in what tc shows: {shown}"),
        None => Ok(shown.trim().to_owned()),
    }
}
