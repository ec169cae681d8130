//! netem in a lab that is running: set by `bitcost lab set`, read by tc, measured by ping.

use anyhow::{Result, bail, ensure};

use super::netem::{RTT_SLACK_MS, least_rtt_ms};
use crate::vm::inside::guest::{StandingLab, bitcost};
use crate::vm::inside::port::Port;

const LAB: &str = "changed";
/// The device whose shaping changes, and its node.
const DEVICE: &str = "s1-eth2";
const NODE: &str = "s1";

/// What is set, one after the other: the words, the parts of tc's text that must be there and must
/// not be there, and the least round trip in milliseconds.
const STEPS: [(&str, &str, &str, f64); 4] = [
    (
        "delay=20ms|rate=1G|loss=0.1%",
        "netem|delay 20ms|loss 0.1%|rate 1Gbit",
        "",
        20.0,
    ),
    (
        "delay=5ms|queue_limit=777 packets",
        "netem|limit 777|delay 5ms|loss 0.1%|rate 1Gbit",
        "",
        5.0,
    ),
    ("loss=0", "netem|delay 5ms|rate 1Gbit", "loss", 5.0),
    ("clear", "", "netem|delay|loss|rate", 0.0),
];

/// Sets, changes and removes netem in a running lab without a delay.
pub(super) fn changed(_: &mut Port) -> Result<String> {
    let preset = bitcost(&["lab", "presets", "lab15"])?;
    let lab = StandingLab::up(&preset.out, &["--bare", "--name", LAB])?;
    let mut seen = Vec::new();
    for step in STEPS {
        seen.push(made(&lab, step)?);
    }
    refused(&lab)?;
    let said = lab.down();
    ensure!(
        said.contains("made by the kernel's netem") || !said.contains("made by"),
        "lab up says that it is not netem that is used: {said}"
    );
    Ok(seen.join("; "))
}

/// Makes a step and compares what it prints, what tc reads and what ping measures with it.
fn made(
    lab: &StandingLab,
    (step, present, absent, rtt_ms): (&str, &'static str, &'static str, f64),
) -> Result<String> {
    let words = ["lab", "set", LAB, DEVICE].into_iter();
    let words: Vec<&str> = words.chain(step.split('|')).collect();
    let outcome = bitcost(&words)?;
    ensure!(
        outcome.code == Some(0) && outcome.out.starts_with(&format!("{DEVICE}: ")),
        "{step}: {:?}: it does not print the device as it now is: {} {}",
        outcome.code,
        outcome.out,
        outcome.err.trim()
    );
    let shown = tc(lab)?;
    let parts = |text: &'static str| text.split('|').filter(|part| !part.is_empty());
    if let Some(missing) = parts(present).find(|part| !shown.contains(part)) {
        bail!("{step}: \"{missing}\" is not in what tc shows: {shown}");
    }
    if let Some(left) = parts(absent).find(|part| shown.contains(part)) {
        bail!("{step}: \"{left}\" is still in what tc shows: {shown}");
    }
    // The very first request waits until the address is resolved, over the same delay.
    let rtt = least_rtt_ms(lab, 10)?;
    ensure!(
        (rtt_ms..rtt_ms + RTT_SLACK_MS).contains(&rtt),
        "{step}: {rtt_ms} ms were asked for, the least round trip is {rtt:.3} ms"
    );
    Ok(format!("{step}: {rtt:.3} ms"))
}

/// A value that netem cannot have is refused, and changes nothing.
fn refused(lab: &StandingLab) -> Result<()> {
    let before = tc(lab)?;
    let outcome = bitcost(&["lab", "set", LAB, DEVICE, "delay=20ms", "loss=101%"])?;
    ensure!(
        outcome.code == Some(2) && outcome.err.contains("loss"),
        "a loss of 101 % is not refused by its name: {:?}: {}",
        outcome.code,
        outcome.err.trim()
    );
    let after = tc(lab)?;
    ensure!(
        before == after,
        "a refused setting changed {before} to {after}"
    );
    Ok(())
}

fn tc(lab: &StandingLab) -> Result<String> {
    lab.exec(NODE, &["tc", "qdisc", "show", "dev", DEVICE])
}
