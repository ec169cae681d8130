//! Pacing by the kernel's fq.

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::programs::median;
use crate::vm::inside::guest::{bitcost, in_effect};

/// The largest difference in per cent between the rate of a second and the requested rate: a sender
/// wakes when half of its buffer is free, 46 datagrams of 2500.
const TOLERANCE_PCT: f64 = 2.0;

/// A run of a second with this root qdisc at the sender, whose values in effect must be these.
fn run(words: &str, qdisc: &str, wanted: &[(&str, &str)]) -> Result<Value> {
    let mut all: Vec<&str> = words.split(' ').collect();
    all.extend(["--topology", "pair", "-t", "1s", "--json", "--samples"]);
    all.extend(["--qdisc", qdisc]);
    let run = bitcost(&all)?.json(&[0, 1])?;
    for (name, value) in wanted {
        let actual = in_effect(&run, "sender", name);
        ensure!(
            actual == Some(value),
            "{name} was asked to be {value} and is {actual:?}"
        );
    }
    let queues = &run["records"][0]["sender"]["samples"][0]["queues"];
    let mut kinds = queues.as_array().into_iter().flatten();
    ensure!(
        kinds.any(|queue| queue["kind"] == "fq"),
        "the sender's samples have no fq: {queues}"
    );
    Ok(run)
}

/// Sends datagrams of 1000 bytes for a second at this rate; returns the difference in per cent, if
/// none was lost.
fn paced(rate: &str) -> Result<f64> {
    let words = format!("test udp -l 1000 -b {rate}");
    let run = run(&words, "sender: fq", &[("qdisc.kind", "fq")])?;
    let lost = median(&run, "loss_pct")?;
    ensure!(lost == 0.0, "{lost} % were lost at {rate}");
    ensure!(
        run["records"][0]["sender"]["flows"][0]["pacing"].is_null(),
        "the sender paced itself, by sleeping"
    );
    median(&run, "rate_error_pct")
}

pub(super) fn datagrams() -> Result<String> {
    let error = paced("20M")?;
    ensure!(error.abs() <= TOLERANCE_PCT, "the rate is {error:.3} % off");
    // The packets that fq holds when the window ends take 160 ms here.
    paced("4M")?;
    Ok(format!(
        "20 Mbit/s requested, {error:+.3} %; none lost; the sender did not sleep"
    ))
}

pub(super) fn stream() -> Result<String> {
    let run = run(
        "test tcp -b 20M --pacing kernel",
        "sender: fq limit_packets 500",
        &[("qdisc.kind", "fq"), ("qdisc.limit_packets", "500")],
    )?;
    let info = &run["records"][0]["sender"]["flows"][0]["tcp_info"];
    let paced = info["pacing_rate_bytes_per_second"].as_u64();
    ensure!(
        paced == Some(2_500_000),
        "the socket is paced at {paced:?} bytes/s"
    );
    let mbps = median(&run, "throughput_mbps")?;
    // The kernel counts headers too: a segment is at least 1448 of 1514 bytes.
    ensure!((18.5..=21.0).contains(&mbps), "{mbps:.2} Mbit/s arrived");
    Ok(format!(
        "20 Mbit/s requested, {mbps:.2} Mbit/s of user data arrived"
    ))
}
