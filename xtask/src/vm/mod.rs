//! `cargo xtask vm`: bitcost in machines with Debian's full kernels, emulated without KVM. They have netem, fq, and
//! modules that the kernel loads on demand.
//!
//! A machine has no disk: its files are an archive with this program as its first process, bitcost, and what both need.
//!
//! `vm` has one machine without a network, whose clock counts instructions, so that a busy host makes it slower and its
//! figures not worse. With `--pair` there are two with different kernels: `near` makes the checks and reaches `far` with ssh over
//! `eth0`, a socket between both emulators. The data go over `eth1`, which has several queues and segmentation offload, of
//! the driver virtio_net or of `--card`. The clock of `far` is an hour ahead.

mod files;
pub mod inside;
mod kernel;
mod machine;
mod network;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Error, Result, bail};
use bitcost_model::Unavailable;
use clap::Args;

use crate::programs::{given_or_built, require};
use inside::{BOOT_OTHER, CUT_LINK, END, FAILED, HOLDS, JOIN_LINK, Role};
use machine::{EMULATOR, Machine};
use network::Hardware;

/// Which machines, and what to do in them.
#[derive(Args)]
pub struct Arguments {
    /// The bitcost to try; else it is built as users build it
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// The folder for downloaded packages; otherwise one next to this program
    #[arg(long, value_name = "FOLDER")]
    kernels: Option<PathBuf>,
    /// Checks whose name contains this
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    only: String,
    /// Two machines with different kernels, and bitcost between them: over ssh and over the service, with settings of
    /// virtio_net and failures
    #[arg(long)]
    pair: bool,
    /// Few checks, under 3 minutes
    #[arg(long, requires = "pair")]
    short: bool,
    #[command(flatten)]
    hardware: Hardware,
}

/// The folders of the machines' kernels, and what joins two of them; an error where no machine can be had here.
fn prepared(kernels: &Path, roles: &[Role], hardware: &Hardware) -> Result<Vec<PathBuf>> {
    require(EMULATOR, "qemu-system-x86")?;
    require("cpio depmod modprobe xz", "cpio kmod xz-utils")?;
    if roles.len() > 1 {
        require(
            files::FOR_SSH,
            "openssh-client openssh-server procps iproute2 ethtool",
        )?;
    }
    let kernel = |role: &Role| {
        let release = role.release();
        kernel::newest(kernels, release, hardware.kernel())
            .with_context(|| format!("the kernel of {release}"))
    };
    let kernels = roles.iter().map(kernel).collect::<Result<_>>()?;
    if roles.len() > 1 {
        // From here on the emulators and the devices between them live in this process's own network.
        network::make(hardware)?;
    }
    Ok(kernels)
}

/// Boots the machines and prints their checks; returns whether all of them hold.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let roles = match arguments.pair {
        true => &[Role::Near, Role::Far][..],
        false => &[Role::Alone],
    };
    let program = given_or_built(arguments.program.as_deref())?;
    let place = cache()?;
    let hardware = &arguments.hardware;
    let kernels = arguments.kernels.as_deref().unwrap_or(&place);
    let kernels = prepared(kernels, roles, hardware);
    let why = |error: Error| Unavailable(format!("no emulated machine can be had: {error:#}"));
    let (only, short) = (&arguments.only, u8::from(arguments.short));
    let (driver, is_table) = (hardware.driver(), u8::from(hardware.card.is_some()));
    let machine = |(kernel, role): (PathBuf, &Role)| Machine {
        role: *role,
        kernel,
        place: place.clone(),
        hardware: hardware.clone(),
        words: format!("short={short} table={is_table} driver={driver} only=\"{only}\""),
    };
    let kernels = kernels.map_err(why)?.into_iter();
    let machines: Vec<Machine> = kernels.zip(roles).map(machine).collect();
    let keys = tempfile::tempdir()?;
    let keys = (roles.len() > 1).then_some(keys.path());
    keys.map_or(Ok(()), files::make_keys)?;
    for machine in &machines {
        files::write(&machine.file("initramfs"), &program, &machine.kernel, keys)?;
    }
    let (began, mut tally) = (Instant::now(), Tally::default());
    let mut near = machines[0].start()?;
    let mut far = machines.get(1).map(Machine::start).transpose()?;
    let ended = near.until_off(|line| {
        match (line, &mut far) {
            (CUT_LINK, _) => network::set("down")?,
            (JOIN_LINK, _) => network::set("up")?,
            (BOOT_OTHER, Some(far)) => {
                far.until_off(|_| Ok(()))?;
                *far = machines[1].start()?;
            }
            _ => tally.hear(line),
        }
        Ok(())
    });
    let ended = match far.as_mut().filter(|_| tally.is_whole()) {
        Some(far) => ended.and(far.until_off(|_| Ok(()))),
        None => ended,
    };
    let seconds = began.elapsed().as_secs_f64();
    println!("{} ok, {} failed; {seconds:.0} s", tally.ok, tally.failed);
    if ended.is_err() || !tally.is_whole() {
        let consoles: Vec<String> = machines.iter().map(Machine::end_of_console).collect();
        let consoles = consoles.join("\n--- far\n");
        ended.with_context(|| format!("the consoles:\n{consoles}"))?;
        bail!("a machine went down before the end; the consoles:\n{consoles}");
    }
    Ok(tally.failed == 0)
}

/// The reports so far.
#[derive(Default)]
struct Tally {
    ok: usize,
    failed: usize,
    announced: Option<usize>,
}

impl Tally {
    /// Counts a line, and prints it but for the last.
    fn hear(&mut self, line: &str) {
        self.ok += usize::from(line.starts_with(HOLDS));
        self.failed += usize::from(line.starts_with(FAILED));
        match line.strip_prefix(END) {
            Some(count) => self.announced = count.parse().ok(),
            None => println!("{line}"),
        }
    }

    /// Whether the machine finished and each check was reported.
    fn is_whole(&self) -> bool {
        self.announced == Some(self.ok + self.failed)
    }
}

/// A folder for results, next to this program.
fn cache() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.parent().and_then(Path::parent);
    let cache = target
        .context("this program stands in no folder of cargo's")?
        .join("vm");
    fs::create_dir_all(&cache)?;
    Ok(cache)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_report_without_a_failure_is_good() {
        let mut tally = Tally::default();
        tally.hear(&format!("{HOLDS}fq (1.5 s): paced"));
        assert!(!tally.is_whole(), "cut off");
        tally.hear(&format!("{END}1"));
        assert!(tally.is_whole());
        tally.hear("[ 1.2] a kernel's line");
        assert_eq!((tally.ok, tally.failed), (1, 0));
        tally.hear(&format!("{FAILED}fq (1.5 s): late"));
        assert!(tally.failed == 1 && !tally.is_whole());
    }
}
