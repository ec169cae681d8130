//! netem and bitcost's link emulator, one after the other, with the same settings: their results
//! must agree.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::programs::median;
use crate::vm::inside::guest::{StandingLab, bitcost, lab_file, two_hosts};

/// The results of netem and of the emulator, by their names in lab files.
fn both<T>(measure: impl Fn(&str) -> Result<T>) -> Result<[T; 2]> {
    let of = |name: &str| measure(name).with_context(|| name.to_owned());
    Ok([of("netem")?, of("builtin")?])
}

fn with_backend(backend: &str, lab: &str) -> String {
    format!("delay_backend = \"{backend}\"\n{lab}")
}

/// A run between two hosts with this text for one direction of the link.
fn run(backend: &str, egress: &str, words: &str) -> Result<Value> {
    let lab = lab_file(&with_backend(backend, &two_hosts(egress)))?;
    let mut all = vec!["test"];
    all.extend(words.split(' '));
    all.extend(["--topology", &lab, "--json", "--samples"]);
    bitcost(&all)?.json(&[0, 1])
}

/// The numbers of datagrams of the measured window that were sent, lost, and received twice.
fn fates(backend: &str, egress: &str, words: &str) -> Result<[u64; 3]> {
    let run = run(backend, egress, words)?;
    let sequence = &run["records"][0]["receiver"]["sequence"];
    let number = |place: &str| {
        let number = sequence.pointer(place).and_then(Value::as_u64);
        number.with_context(|| format!("no number in {sequence}"))
    };
    Ok([
        number("/measured_sent")?,
        number("/measured_lost")?,
        number("/measured/duplicated")?,
    ])
}

/// What both found, if each is within a share of what is expected.
fn near(seen: [f64; 2], expected: f64, share: f64, unit: &str) -> Result<String> {
    let [netem, emulator] = seen;
    let text = format!(
        "{expected:.2} {unit} expected, {netem:.2} by netem, {emulator:.2} by its own emulator"
    );
    let is_near = |value: f64| (value - expected).abs() <= share * expected;
    ensure!(seen.into_iter().all(is_near), "{text}");
    Ok(text)
}

pub(super) fn round_trips() -> Result<String> {
    let there = two_hosts("delay = \"30ms\"");
    let file = format!("{there}[egress.h2-eth0]\ndelay = \"15ms\"\n");
    let rtts = both(|backend| {
        StandingLab::up(&with_backend(backend, &file), &[])?.round_trip_ms(10, 45.0)
    })?;
    near(rtts, 45.0, 1.0, "ms")
}

pub(super) fn drops() -> Result<String> {
    const ROOM: u64 = 50;
    // A host sends packets for itself now and then, which take room in the queue.
    const OTHERS: u64 = 2;
    // All are sent long before the first one leaves.
    let egress = format!("delay = \"200ms\"\nqueue_limit = \"{ROOM} packets\"");
    let dropped = both(|backend| {
        let [sent, lost, _] = fates(backend, &egress, "udp -l 100 -k 200")?;
        let is_full = (ROOM - OTHERS..=ROOM).contains(&(sent - lost));
        ensure!(
            sent == 200 && is_full,
            "of {sent} {lost} were lost, where {ROOM} have room"
        );
        Ok(lost as f64)
    })?;
    near(dropped, 150.0, 1.0, "of 200 datagrams dropped")
}

pub(super) fn rate() -> Result<String> {
    // The link carries frames of 1042 bytes for one second, and its queue is full when the window
    // starts. Twice the rate is sent.
    let egress = "rate = \"2M\"\ndelay = \"20ms\"\nqueue_limit = \"20 packets\"";
    let passed = both(|backend| {
        let [sent, lost, _] = fates(backend, egress, "udp -l 1000 -b 4M -t 1s")?;
        Ok((sent - lost) as f64)
    })?;
    near(passed, 2e6 / 8.0 / 1042.0, 0.02, "datagrams")
}

pub(super) fn stream() -> Result<String> {
    // The data that one socket sends ahead fits into the queue: data beyond that would arrive in
    // another second than it was sent in.
    let words = "tcp -t 2s -O 1s --send-buffer 32768";
    let mbps = both(|backend| {
        let run = run(backend, "rate = \"5M\"\ndelay = \"20ms\"", words)?;
        median(&run, "throughput_mbps")
    })?;
    // Segments of 1448 bytes in frames of 1514.
    near(mbps, 5.0 * 1448.0 / 1514.0, 0.03, "Mbit/s")
}

pub(super) fn chances() -> Result<String> {
    const SENT: u64 = 2000;
    const LOSS: f64 = 0.05;
    const COPY: f64 = 0.10;
    let egress = "delay = \"20ms\"\nloss = \"5%\"\nduplicate = \"10%\"";
    let [netem, emulator] = both(|backend| {
        let [sent, lost, copies] = fates(backend, egress, "udp -l 100 -b 2M -k 2000")?;
        ensure!(sent == SENT, "{sent} were sent");
        // The two random draws are separate, and a copied packet of which one is lost comes once.
        for (what, count, share) in [
            ("lost", lost, LOSS * (1.0 - COPY)),
            ("came twice", copies, COPY * (1.0 - LOSS)),
        ] {
            let mean = SENT as f64 * share;
            // 99.99 % of all series are within this.
            let spread = 3.9 * (mean * (1.0 - share)).sqrt();
            ensure!(
                (count as f64 - mean).abs() <= spread,
                "{count} {what}, expected {mean:.0} ± {spread:.0}"
            );
        }
        Ok(format!("{lost} lost and {copies} twice"))
    })?;
    Ok(format!(
        "of {SENT} {netem} by netem, {emulator} by its own emulator"
    ))
}
