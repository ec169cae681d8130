//! Two hosts with a forwarder between them.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use anyhow::{Context, Result};
use bitcost_lab::emulator::{Device, Emulator, Limit, Report, Settings};
use bitcost_testkit::gap::{DEVICE, Gap};

use super::plain;

const MTU_BYTES: u32 = 1500;

/// Seed of every forwarder here.
pub const SEED: u64 = 7;

/// Buffers that hold eight times the path's content, as in the lab: minimum, default and maximum in
/// bytes.
const BUFFERS: &str = "10240 87380 20971520";

/// A running forwarder between two hosts.
pub struct Path {
    /// The hosts.
    pub gap: Gap,
    /// The forwarder's counters.
    pub report: Box<dyn Fn() -> Report>,
}

/// 1 Gbit/s towards the receiver with a queue of twice the data in flight, and these delays.
pub fn wan(there_ms: u64, back_ms: u64) -> [Settings; 2] {
    let held = |delay_ms: u64| Settings {
        delay_ns: delay_ms * 1_000_000,
        ..Settings::default()
    };
    let limit = Some(Limit::Bytes(2 * 2_500_000));
    [
        Settings {
            rate_bps: Some(1_000_000_000),
            limit,
            ..held(there_ms)
        },
        held(back_ms),
    ]
}

/// A delay towards the receiver and nothing else.
pub fn delay_only(there_ms: u64) -> [Settings; 2] {
    [
        Settings {
            delay_ns: there_ms * 1_000_000,
            ..Settings::default()
        },
        Settings::default(),
    ]
}

impl Path {
    /// A path with the link emulator.
    pub fn with_emulator(settings: [Settings; 2]) -> Result<Path> {
        let (gap, devices) = hosts()?;
        let emulator = Emulator::open(devices, settings, SEED)?;
        let handle = emulator.handle();
        std::thread::spawn(move || emulator.run());
        Ok(Path {
            gap,
            report: Box::new(move || handle.report()),
        })
    }

    /// A path with the forwarder of one packet per call.
    pub fn with_plain(settings: [Settings; 2]) -> Result<Path> {
        let (gap, devices) = hosts()?;
        let report = plain::start(devices.map(|device| device.index), settings, SEED)?;
        let report = move || {
            report
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone()
        };
        Ok(Path {
            gap,
            report: Box::new(report),
        })
    }

    /// Turns offloads off at the hosts, so that only TCP makes segments, and none are joined again.
    pub fn turn_offloads_off(&self) -> Result<()> {
        for host in &self.gap.hosts {
            host.run(|| -> Result<()> {
                let mut ethtool = bitcost_sys::netlink::Ethtool::open()?;
                let names = ethtool.features(DEVICE)?.into_keys();
                let is_offload =
                    |name: &String| name.ends_with("-segmentation") || name == "rx-gro";
                let off: BTreeMap<String, bool> =
                    names.filter(is_offload).map(|name| (name, false)).collect();
                ethtool.set_features(DEVICE, &off)?;
                Ok(())
            })?;
        }
        Ok(())
    }
}

fn hosts() -> Result<(Gap, [Device; 2])> {
    let gap = Gap::new(MTU_BYTES);
    for host in &gap.hosts {
        host.run(|| {
            let write = |name: &str| std::fs::write(format!("/proc/sys/net/ipv4/{name}"), BUFFERS);
            write("tcp_rmem")
                .and_then(|()| write("tcp_wmem"))
                .context("cannot set the buffers")
        })?;
    }
    let devices = gap.devices.map(|index| Device {
        index,
        mtu_bytes: MTU_BYTES,
    });
    Ok((gap, devices))
}
