//! netem, configured by bitcost's own netlink messages and read by tc.

use std::fs;

use anyhow::{Result, bail, ensure};

use crate::vm::inside::guest::{StandingLab, bitcost, lab_file, two_hosts};

/// Modules that a first lab needs; none is loaded before it.
const NEEDED: [&str; 4] = ["veth", "bridge", "sch_netem", "sch_tbf"];

/// Those of them that are loaded.
fn loaded_modules() -> Result<Vec<String>> {
    let text = fs::read_to_string("/proc/modules")?;
    let names = text.lines().filter_map(|line| line.split(' ').next());
    let needed = names.filter(|name| NEEDED.contains(name));
    Ok(needed.map(str::to_owned).collect())
}

pub(super) fn loaded() -> Result<String> {
    let before = loaded_modules()?;
    ensure!(before.is_empty(), "{before:?} was loaded before");
    let preset = bitcost(&["lab", "presets", "lab15"])?;
    let lab = StandingLab::up(&preset.out, &[])?;
    let rtt = lab.round_trip_ms(6, 20.0)?;
    let after = loaded_modules()?;
    lab.tc("s1", "s1-eth2", &["netem", "limit 1000 delay 20ms"])?;
    let said = lab.down();
    ensure!(
        said.contains("made by the kernel's netem"),
        "lab up does not say that netem is used: {said}"
    );
    ensure!(
        after.len() == NEEDED.len(),
        "after the lab came up: {after:?}"
    );
    Ok(format!(
        "{}; 20 ms requested, {rtt:.3} ms measured",
        NEEDED.join(", ")
    ))
}

pub(super) fn settings() -> Result<String> {
    let egress = "rate = \"100M\"\ndelay = \"30ms\"\njitter = \"2ms\"\nloss = \"1.5%\"\nreorder = \"25%\"\nduplicate = \"0.5%\"\nqueue_limit = \"777 packets\"";
    let parts = "limit 777|delay 30ms  2ms|loss 1.5%|duplicate 0.5%|reorder 25%|gap 1|rate 100Mbit";
    let file = format!("delay_backend = \"netem\"\n{}", two_hosts(egress));
    let lab = StandingLab::up(&file, &[])?;
    lab.tc("h1", "h1-eth0", &parts.split('|').collect::<Vec<_>>())
}

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
        "-",
        20.0,
    ),
    (
        "delay=5ms|queue_limit=777 packets",
        "netem|limit 777|delay 5ms|loss 0.1%|rate 1Gbit",
        "-",
        5.0,
    ),
    ("loss=0", "netem|delay 5ms|rate 1Gbit", "loss", 5.0),
    ("clear", "", "netem|delay|loss|rate", 0.0),
];

/// Sets, changes and removes netem in a running lab without a delay; compares what is printed, what tc reads and what round
/// trips last with it.
pub(super) fn changed() -> Result<String> {
    let preset = bitcost(&["lab", "presets", "lab15"])?;
    let lab = StandingLab::up(&preset.out, &["--bare", "--name", LAB])?;
    let set = |step: &str| {
        let words = ["lab", "set", LAB, DEVICE].into_iter();
        bitcost(&words.chain(step.split('|')).collect::<Vec<_>>())
    };
    let mut seen = Vec::new();
    for (step, present, absent, rtt_ms) in STEPS {
        let outcome = set(step)?;
        ensure!(
            outcome.code == Some(0) && outcome.out.starts_with(&format!("{DEVICE}: ")),
            "{step}: it does not print the device as it now is: {outcome:?}"
        );
        let shown = lab.tc(NODE, DEVICE, &present.split('|').collect::<Vec<_>>())?;
        if let Some(left) = absent
            .split('|')
            .find(|part| *part != "-" && shown.contains(part))
        {
            bail!("{step}: \"{left}\" is still in what tc shows: {shown}");
        }
        seen.push(format!("{step}: {:.3} ms", lab.round_trip_ms(10, rtt_ms)?));
    }
    // A value that netem cannot have is refused, and changes nothing.
    let before = lab.tc(NODE, DEVICE, &[])?;
    set("delay=20ms|loss=101%")?.refused(Some(2), "loss")?;
    let after = lab.tc(NODE, DEVICE, &[])?;
    ensure!(
        before == after,
        "a refused setting changed {before} to {after}"
    );
    let said = lab.down();
    ensure!(
        said.contains("made by the kernel's netem") || !said.contains("made by"),
        "lab up says that it is not netem that is used: {said}"
    );
    // netem counts what it loses at random as it counts what its queue has no room for.
    let lossy = lab_file(&two_hosts("delay = \"5ms\"\nloss = \"20%\""))?;
    let test = bitcost(&["test", "udp", "--topology", &lossy, "-b", "5M", "-t", "2s"])?;
    ensure!(test.out.contains("path loss"), "20 % lost: {test:?}");
    Ok(seen.join("; "))
}
