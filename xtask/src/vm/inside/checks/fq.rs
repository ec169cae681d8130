//! Pacing by the kernel's fq.

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::vm::inside::guest::bitcost;
use crate::vm::inside::port::Found;

/// The largest difference in per cent between the rate of a second and the requested rate: a sender
/// wakes when half of its buffer is free, 46 datagrams of 2500.
const TOLERANCE_PCT: f64 = 2.0;

/// The value in effect of the setting with this name at the sender.
fn in_effect<'a>(run: &'a Value, name: &str) -> Option<&'a str> {
    let all = run["records"][0]["sender"]["in_effect"].as_array()?;
    all.iter().find(|row| row["name"] == name)?["actual"].as_str()
}

fn check(run: &Value, wanted: &[(&str, &str)]) -> Result<()> {
    for (name, value) in wanted {
        let actual = in_effect(run, name);
        ensure!(
            actual == Some(value),
            "{name} was asked to be {value} and is {actual:?}"
        );
    }
    let queues = run["records"][0]["sender"]["samples"][0]["queues"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    ensure!(
        queues.iter().any(|queue| queue["kind"] == "fq"),
        "the sender's samples have no fq: {queues:?}"
    );
    Ok(())
}

/// Sends datagrams of 1000 bytes for a second at this rate; returns the difference in per cent, if
/// none was lost.
fn paced(rate: &str) -> Result<f64> {
    let words = [
        "--topology",
        "pair",
        "-l",
        "1000",
        "-b",
        rate,
        "-t",
        "1s",
        "--qdisc",
        "sender: fq",
        "--json",
        "--samples",
    ];
    let run = bitcost(&[&["test", "udp"][..], &words].concat())?.json()?;
    check(&run, &[("qdisc.kind", "fq")])?;
    let lost = run["cells"][0]["loss_pct"]["median"]
        .as_f64()
        .unwrap_or(f64::NAN);
    ensure!(lost == 0.0, "{lost} % were lost at {rate}");
    ensure!(
        run["records"][0]["sender"]["flows"][0]["pacing"].is_null(),
        "the sender paced itself, by sleeping"
    );
    Ok(run["cells"][0]["rate_error_pct"]["median"]
        .as_f64()
        .unwrap_or(f64::NAN))
}

pub(super) fn datagrams() -> Result<Found> {
    let error = paced("20M")?;
    ensure!(error.abs() <= TOLERANCE_PCT, "the rate is {error:.3} % off");
    // The packets that fq holds when the window ends take 160 ms here.
    paced("4M")?;
    Ok(Found::Holds(format!(
        "20 Mbit/s requested, {error:+.3} %; none lost; the sender did not sleep"
    )))
}

pub(super) fn stream() -> Result<Found> {
    let words = "--topology pair -b 20M -t 1s --pacing kernel --json --samples --qdisc";
    let words: Vec<&str> = words
        .split(' ')
        .chain(["sender: fq limit_packets 500"])
        .collect();
    let run = bitcost(&[&["test", "tcp"][..], &words].concat())?.json()?;
    check(
        &run,
        &[("qdisc.kind", "fq"), ("qdisc.limit_packets", "500")],
    )?;
    let paced = run["records"][0]["sender"]["flows"][0]["tcp_info"]["pacing_rate_bytes_per_second"]
        .as_u64();
    ensure!(
        paced == Some(2_500_000),
        "the socket is paced at {paced:?} bytes/s"
    );
    let mbps = run["cells"][0]["throughput_mbps"]["median"]
        .as_f64()
        .unwrap_or(f64::NAN);
    // The kernel counts headers too: a segment is at least 1448 of 1514 bytes.
    ensure!((18.5..=21.0).contains(&mbps), "{mbps:.2} Mbit/s arrived");
    Ok(Found::Holds(format!(
        "20 Mbit/s requested, {mbps:.2} Mbit/s of user data arrived"
    )))
}
