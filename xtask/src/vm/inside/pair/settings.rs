//! Settings of the interfaces: what other programs read at both hosts while a run has them.

use std::thread;
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use super::hosts::{DATA_DEVICE, SSH_DEVICE, sh};
use super::tested::{OVER_SSH, Run, started, test};
use crate::vm::inside::port::{Found, Port};
use crate::vm::inside::wanted::Role;

/// A setting of a run, and how other programs show it.
struct Setting {
    /// The test.
    words: &'static [&'static str],
    /// The command that shows it.
    shown_by: &'static str,
    /// What it then prints, each.
    shows: &'static [&'static str],
}

impl Setting {
    /// Makes a run with it, in which both hosts must show it.
    fn check(&self) -> Result<Run> {
        let words = [self.words, &["-t", "4"]].concat();
        let run = started(&words, OVER_SSH)?;
        let mut open = vec![Role::Near, Role::Far];
        while !open.is_empty() && run.is_running() {
            let mut left = Vec::new();
            for role in open {
                let text = sh(role, self.shown_by)?;
                if self.shows.iter().any(|part| !text.contains(part)) {
                    left.push(role);
                    eprintln!("at {}: {text}", role.name());
                }
            }
            open = left;
            thread::sleep(Duration::from_millis(100));
        }
        let run = Run::of(&run.ended()?)?;
        if let Some(role) = open.first() {
            bail!(
                "{} does not show {:?} during the run at {}",
                self.shown_by,
                self.shows,
                role.name()
            );
        }
        Ok(run)
    }

    fn found(&self) -> Result<Found> {
        let run = self.check()?;
        Ok(Found::Holds(format!(
            "{}: {}",
            self.shows.join(", "),
            run.text()?
        )))
    }
}

pub(super) fn offloads(_: &mut Port) -> Result<Found> {
    let off = Setting {
        words: &["tcp", "--offloads", "off"],
        shown_by: "ethtool -k eth1",
        shows: &[
            "tcp-segmentation-offload: off",
            "generic-segmentation-offload: off",
            "generic-receive-offload: off",
        ],
    };
    off.found()
}

pub(super) fn dependent(_: &mut Port) -> Result<Found> {
    let checksums = Setting {
        words: &["tcp", "--offloads", "tx-checksum-ip-generic off"],
        shown_by: "ethtool -k eth1",
        shows: &[
            "tx-checksum-ip-generic: off",
            "tx-tcp-segmentation: off [requested on]",
        ],
    };
    let sums = checksums.found()?;
    let gather = Setting {
        words: &["tcp", "--offloads", "tx-scatter-gather off"],
        shown_by: "ethtool -k eth1",
        shows: &[
            "tx-scatter-gather: off",
            "generic-segmentation-offload: off [requested on]",
        ],
    };
    let Found::Holds(sums) = sums else {
        return Ok(sums);
    };
    let Found::Holds(gathered) = gather.found()? else {
        bail!("it was not made");
    };
    Ok(Found::Holds(format!("{sums}; {gathered}")))
}

pub(super) fn fixed(_: &mut Port) -> Result<Found> {
    let shown = sh(Role::Near, &format!("ethtool -k {SSH_DEVICE}"))?;
    ensure!(
        shown.contains("tx-tcp-segmentation: off [fixed]"),
        "a socket offers segmentation: {shown}"
    );
    let over_socket = ["--receiver", "ssh:far", "--receiver-dev", SSH_DEVICE];
    let refused = test(
        &["tcp", "-t", "1", "--offloads", "tx-tcp-segmentation on"],
        &over_socket,
    )?;
    ensure!(
        refused.code != Some(0) && refused.err.contains("tx-tcp-segmentation"),
        "{:?}: {}",
        refused.code,
        refused.err
    );
    Ok(Found::Holds(refused.err.trim().to_owned()))
}

pub(super) fn mtu(_: &mut Port) -> Result<Found> {
    let setting = Setting {
        words: &["tcp", "--device-mtu", "9000"],
        shown_by: "ip link show eth1",
        shows: &["mtu 9000"],
    };
    let run = setting.check()?;
    let mss = run.in_effect("sender", "mss_bytes");
    ensure!(
        mss.as_deref() == Some("8948"),
        "segments have {mss:?} bytes"
    );
    Ok(Found::Holds(format!(
        "segments of 8948 bytes: {}",
        run.text()?
    )))
}

pub(super) fn channels(_: &mut Port) -> Result<Found> {
    let shown = sh(Role::Near, &format!("ethtool -l {DATA_DEVICE}"))?;
    ensure!(shown.matches("Combined:\t2").count() == 1, "{shown}");
    let one = Setting {
        words: &["tcp", "--set", "channels=combined 1"],
        shown_by: "ethtool -l eth1",
        shows: &["Combined:\t1"],
    };
    let text = one.check()?.text()?;
    let many = test(
        &["tcp", "-t", "1", "--set", "channels=combined 9"],
        OVER_SSH,
    )?;
    ensure!(
        many.code != Some(0) && many.err.contains("combined"),
        "9 of 4 queues are not refused: {:?} {}",
        many.code,
        many.err
    );
    Ok(Found::Holds(format!(
        "1 queue in place of 2: {text}; {}",
        many.err.trim()
    )))
}

pub(super) fn coalescing(_: &mut Port) -> Result<Found> {
    let mut said = Vec::new();
    for request in ["rx_usecs 10", "tx_frames 0"] {
        let setting = format!("coalesce={request}");
        let outcome = test(&["tcp", "-t", "1", "--set", &setting], OVER_SSH)?;
        let name = request.split(' ').next().unwrap_or_default();
        ensure!(
            outcome.code != Some(0) && outcome.err.contains(name),
            "this virtio_net cannot set {request}: {:?} {}",
            outcome.code,
            outcome.err
        );
        said.push(outcome.err.trim().to_owned());
    }
    Ok(Found::Holds(format!(
        "refused by name: {}",
        said.join("; ")
    )))
}

pub(super) fn sysctl(_: &mut Port) -> Result<Found> {
    let setting = Setting {
        words: &["tcp", "--sysctl", "net.ipv4.tcp_slow_start_after_idle=0"],
        shown_by: "sysctl net.ipv4.tcp_slow_start_after_idle",
        shows: &["= 0"],
    };
    setting.found()
}

/// The rate that is requested of fq, in Mbit/s, and the most that may arrive: a slow machine sends
/// less, and the first burst is not delayed.
const PACED_MBPS: f64 = 4.0;
const MOST_MBPS: f64 = 4.4;

pub(super) fn fq(_: &mut Port) -> Result<Found> {
    let setting = Setting {
        words: &["udp", "--qdisc", "fq", "-b", "4M", "--pacing", "kernel"],
        shown_by: "tc qdisc show dev eth1",
        shows: &["qdisc fq "],
    };
    let mbps = setting.check()?.metric("throughput_mbps")?;
    ensure!(
        mbps > 0.0 && mbps <= MOST_MBPS,
        "{PACED_MBPS} Mbit/s were requested, {mbps:.2} arrived"
    );
    Ok(Found::Holds(format!(
        "{PACED_MBPS} Mbit/s requested, {mbps:.2} arrived"
    )))
}

pub(super) fn netem(_: &mut Port) -> Result<Found> {
    let setting = Setting {
        words: &["tcp", "-l", "16K", "--qdisc", "netem delay 40ms limit 5000"],
        shown_by: "tc qdisc show dev eth1",
        shows: &["qdisc netem", "delay 40ms"],
    };
    let rtt_us = setting.check()?.metric("rtt_us")?;
    // Both hosts delay.
    ensure!(rtt_us >= 80_000.0, "40 ms each way, {rtt_us:.0} us around");
    Ok(Found::Holds(format!(
        "40 ms each way, {:.1} ms around",
        rtt_us / 1000.0
    )))
}
