//! netem and bitcost's link emulator, one after the other, with the same settings: their results
//! must agree.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::netem::{RTT_SLACK_MS, least_rtt_ms, two_hosts};
use crate::vm::inside::guest::{StandingLab, bitcost, lab_file};
use crate::vm::inside::port::Found;

/// Names of both, as on the command line.
const BACKENDS: [&str; 2] = ["netem", "builtin"];

/// The results of both, netem first.
fn both<T>(measure: impl Fn(&str) -> Result<T>) -> Result<[T; 2]> {
    let [netem, line] = BACKENDS;
    let of = |name: &str| measure(name).with_context(|| name.to_owned());
    Ok([of(netem)?, of(line)?])
}

/// A run between two hosts with this text for one direction of the link.
fn run(backend: &str, egress: &str, words: &[&str]) -> Result<Value> {
    let lab = lab_file(&two_hosts(egress))?;
    let mut all = vec!["test"];
    all.extend(words);
    all.extend([
        "--topology",
        &lab,
        "--delay-backend",
        backend,
        "--json",
        "--samples",
    ]);
    bitcost(&all)?.json()
}

/// The numbers of datagrams of the measured window that were sent, lost, and received twice.
fn fates(run: &Value) -> Result<[u64; 3]> {
    let sequence = &run["records"][0]["receiver"]["sequence"];
    let number = |value: &Value| {
        value
            .as_u64()
            .with_context(|| format!("no number in {sequence}"))
    };
    let copies = number(&sequence["measured"]["duplicated"])?;
    Ok([
        number(&sequence["measured_sent"])?,
        number(&sequence["measured_lost"])?,
        copies,
    ])
}

pub(super) fn round_trips() -> Result<Found> {
    let file = format!(
        "{}[egress.h2-eth0]\ndelay = \"15ms\"\n",
        two_hosts("delay = \"30ms\"")
    );
    let rtts = both(|backend| {
        let lab = StandingLab::up(&file, &["--delay-backend", backend])?;
        let rtt = least_rtt_ms(&lab, 10)?;
        ensure!(
            (45.0..45.0 + RTT_SLACK_MS).contains(&rtt),
            "45 ms requested, {rtt:.3} ms measured"
        );
        Ok(rtt)
    })?;
    Ok(Found::Holds(format!(
        "45 ms requested, {:.3} ms by netem, {:.3} ms by its own emulator",
        rtts[0], rtts[1]
    )))
}

pub(super) fn drops() -> Result<Found> {
    const SENT: u64 = 200;
    const ROOM: u64 = 50;
    const OTHERS: u64 = 2;
    // All are sent long before the first one leaves.
    let egress = format!("delay = \"200ms\"\nqueue_limit = \"{ROOM} packets\"");
    let seen = both(|backend| {
        let run = run(
            backend,
            &egress,
            &["udp", "-l", "100", "-k", &SENT.to_string()],
        )?;
        let [sent, lost, _] = fates(&run)?;
        // A host sends packets for itself now and then, which take room in the queue.
        let is_full = (ROOM - OTHERS..=ROOM).contains(&(sent - lost));
        ensure!(
            sent == SENT && is_full,
            "of {sent} {lost} were lost, where {ROOM} have room"
        );
        Ok(lost)
    })?;
    Ok(Found::Holds(format!(
        "{SENT} sent, room for {ROOM}: {} dropped by netem, {} by its own emulator",
        seen[0], seen[1]
    )))
}

pub(super) fn rate() -> Result<Found> {
    // The link carries frames of 1042 bytes for one second, and its queue is full when the window
    // starts. Twice the rate is sent.
    let (egress, expected) = (
        "rate = \"2M\"\ndelay = \"20ms\"\nqueue_limit = \"20 packets\"",
        2e6 / 8.0 / 1042.0,
    );
    let seen = both(|backend| {
        let run = run(
            backend,
            egress,
            &["udp", "-l", "1000", "-b", "4M", "-t", "1s"],
        )?;
        let [sent, lost, _] = fates(&run)?;
        Ok(sent - lost)
    })?;
    let text = format!(
        "{expected:.0} datagrams expected, {} through netem, {} through the line",
        seen[0], seen[1]
    );
    ensure!(
        seen.iter()
            .all(|count| (*count as f64 - expected).abs() <= 0.02 * expected),
        "{text}"
    );
    Ok(Found::Holds(text))
}

pub(super) fn stream() -> Result<Found> {
    let egress = "rate = \"5M\"\ndelay = \"20ms\"";
    // The data that one socket sends ahead fits into the queue: data beyond that would arrive in
    // another second than it was sent in.
    let words = ["tcp", "-t", "2s", "-O", "1s", "--send-buffer", "32768"];
    let seen = both(|backend| {
        let run = run(backend, egress, &words)?;
        run["cells"][0]["throughput_mbps"]["median"]
            .as_f64()
            .context("no throughput")
    })?;
    // Segments of 1448 bytes in frames of 1514.
    let expected = 5.0 * 1448.0 / 1514.0;
    let text = format!(
        "{expected:.2} Mbit/s expected, {:.2} through netem, {:.2} through the line",
        seen[0], seen[1]
    );
    ensure!(
        seen.iter()
            .all(|mbps| (mbps - expected).abs() <= 0.03 * expected),
        "{text}"
    );
    Ok(Found::Holds(text))
}

pub(super) fn chances() -> Result<Found> {
    const SENT: u64 = 2000;
    const LOSS: f64 = 0.05;
    const COPY: f64 = 0.10;
    let egress = "delay = \"20ms\"\nloss = \"5%\"\nduplicate = \"10%\"";
    // 99.99 % of all series are within this; the two random draws are separate, and a copied packet
    // of which one is lost comes once.
    let spread = |share: f64| 3.9 * (SENT as f64 * share * (1.0 - share)).sqrt();
    let lost_share = LOSS * (1.0 - COPY);
    let copied_share = COPY * (1.0 - LOSS);
    let seen = both(|backend| {
        let run = run(
            backend,
            egress,
            &["udp", "-l", "100", "-b", "2M", "-k", &SENT.to_string()],
        )?;
        let [sent, lost, copies] = fates(&run)?;
        ensure!(sent == SENT, "{sent} were sent");
        for (what, count, share) in [
            ("lost", lost, lost_share),
            ("came twice", copies, copied_share),
        ] {
            let (mean, spread) = (SENT as f64 * share, spread(share));
            ensure!(
                (count as f64 - mean).abs() <= spread,
                "{count} {what}, expected {mean:.0} ± {spread:.0}"
            );
        }
        Ok((lost, copies))
    })?;
    let [(lost, copied), (line_lost, line_copied)] = seen;
    Ok(Found::Holds(format!(
        "of {SENT} {lost} lost and {copied} twice by netem, {line_lost} and {line_copied} by its own emulator"
    )))
}
