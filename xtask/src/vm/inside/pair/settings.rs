//! Settings of the interfaces: what other programs read at both hosts while a run has them.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::hosts::sh;
use super::tested::{OVER_SSH, carried, started, test};
use crate::programs::median;
use crate::vm::inside::guest::in_effect;
use crate::vm::inside::port::Role;

/// Makes a run with these words, in which both hosts must show all of this by a command.
fn shown(words: &[&str], command: &str, shows: &[&str]) -> Result<Value> {
    let run = started(&[words, &["-t", "4"]].concat())?;
    let mut open = vec![Role::Near, Role::Far];
    while !open.is_empty() && run.is_running() {
        open.retain(|role| {
            let text = sh(*role, command).unwrap_or_else(|error| error.to_string());
            eprintln!("at {}: {text}", role.name());
            shows.iter().any(|part| !text.contains(part))
        });
        thread::sleep(Duration::from_millis(100));
    }
    let run = run.ended()?.json(&[0])?;
    ensure!(
        open.is_empty(),
        "{command} does not show {shows:?} during the run at {open:?}"
    );
    Ok(run)
}

/// The same, with what was carried.
fn held(words: &[&str], command: &str, shows: &[&str]) -> Result<String> {
    let run = shown(words, command, shows)?;
    Ok(format!("{}: {}", shows.join(", "), carried(&run)?))
}

/// What bitcost says when it refuses a run with a setting, which names this.
fn refused(words: &[&str], hosts: &[&str], name: &str) -> Result<String> {
    test(&[&["tcp", "-t", "1"], words].concat(), hosts)?.refused(None, name)
}

const FEATURES: &str = "ethtool -k eth1";

pub(super) fn offloads() -> Result<String> {
    let shows = [
        "tcp-segmentation-offload: off",
        "generic-segmentation-offload: off",
        "generic-receive-offload: off",
    ];
    held(&["tcp", "--offloads", "off"], FEATURES, &shows)
}

pub(super) fn dependent() -> Result<String> {
    let mut said = Vec::new();
    for [feature, along] in [
        ["tx-checksum-ip-generic", "tx-tcp-segmentation"],
        ["tx-scatter-gather", "generic-segmentation-offload"],
    ] {
        let words = ["tcp", "--offloads", &format!("{feature} off")];
        let shows = [
            format!("{feature}: off"),
            format!("{along}: off [requested on]"),
        ];
        said.push(held(&words, FEATURES, &[&shows[0], &shows[1]])?);
    }
    Ok(said.join("; "))
}

pub(super) fn fixed() -> Result<String> {
    let shown = sh(Role::Near, "ethtool -k eth0")?;
    ensure!(
        shown.contains("tx-tcp-segmentation: off [fixed]"),
        "a socket offers segmentation: {shown}"
    );
    let words = ["--offloads", "tx-tcp-segmentation on"];
    let over_socket = ["--receiver", "ssh:far", "--receiver-dev", "eth0"];
    refused(&words, &over_socket, "tx-tcp-segmentation")
}

pub(super) fn mtu() -> Result<String> {
    let words = ["tcp", "--device-mtu", "9000"];
    let run = shown(&words, "ip link show eth1", &["mtu 9000"])?;
    let mss = in_effect(&run, "sender", "mss_bytes");
    ensure!(mss == Some("8948"), "segments have {mss:?} bytes");
    Ok(format!("segments of 8948 bytes: {}", carried(&run)?))
}

pub(super) fn channels() -> Result<String> {
    let before = sh(Role::Near, "ethtool -l eth1")?;
    ensure!(before.matches("Combined:\t2").count() == 1, "{before}");
    let words = ["tcp", "--set", "channels=combined 1"];
    let one = held(&words, "ethtool -l eth1", &["Combined:\t1"])?;
    let nine = refused(&["--set", "channels=combined 9"], OVER_SSH, "combined")?;
    Ok(format!("{one}; {nine}"))
}

pub(super) fn coalescing() -> Result<String> {
    let usecs = refused(&["--set", "coalesce=rx_usecs 10"], OVER_SSH, "rx_usecs")?;
    let frames = refused(&["--set", "coalesce=tx_frames 0"], OVER_SSH, "tx_frames")?;
    Ok(format!("refused by name: {usecs}; {frames}"))
}

pub(super) fn sysctl() -> Result<String> {
    let name = "net.ipv4.tcp_slow_start_after_idle";
    let words = ["tcp", "--sysctl", &format!("{name}=0")];
    held(&words, &format!("sysctl {name}"), &["= 0"])
}

/// The most that may arrive of 4 Mbit/s: a slow machine sends less, and the first burst is not delayed.
const MOST_MBPS: f64 = 4.4;

pub(super) fn fq() -> Result<String> {
    let words = ["udp", "--qdisc", "fq", "-b", "4M", "--pacing", "kernel"];
    let run = shown(&words, "tc qdisc show dev eth1", &["qdisc fq "])?;
    let mbps = median(&run, "throughput_mbps")?;
    let text = format!("4 Mbit/s requested, {mbps:.2} arrived");
    ensure!(mbps > 0.0 && mbps <= MOST_MBPS, "{text}");
    Ok(text)
}

pub(super) fn netem() -> Result<String> {
    let words = ["tcp", "-l", "16K", "--qdisc", "netem delay 40ms limit 5000"];
    let shows = ["qdisc netem", "delay 40ms"];
    let run = shown(&words, "tc qdisc show dev eth1", &shows)?;
    let rtt_us = median(&run, "rtt_us")?;
    let text = format!("40 ms each way, {:.1} ms around", rtt_us / 1000.0);
    // Both hosts delay.
    ensure!(rtt_us >= 80_000.0, "{text}");
    Ok(text)
}
