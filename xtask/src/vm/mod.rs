//! `cargo xtask vm` and `vm-pair`: bitcost in machines with Debian's full kernels, emulated without KVM. They have netem, fq, and
//! modules that the kernel loads on demand.
//!
//! A machine has no disk: its files are an archive with this program as its first process, bitcost, and what both need.
//!
//! `vm` has one machine without a network, whose clock counts instructions, so that a busy host makes it slower and its
//! figures not worse. `vm-pair` has two with different kernels: `near` makes the checks and reaches `far` with ssh over
//! `eth0`, a socket between both emulators. The data go over `eth1`, which has several queues and segmentation offload, of
//! the driver virtio_net. The clock of `far` is an hour ahead.

mod files;
pub mod inside;
mod kernel;
mod machine;
mod network;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bitcost_model::Unavailable;
use clap::Args;
use tempfile::TempDir;

use crate::programs::{given_or_built, require};
use files::Image;
use inside::{Ask, END, FAILED, HOLDS, Role, Wanted};
use kernel::Kernel;
use machine::{Machine, Running};
use network::Network;

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
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

/// The same for two machines.
#[derive(Args)]
pub struct PairArguments {
    #[command(flatten)]
    machines: Arguments,
    /// Few checks, under 3 minutes
    #[arg(long)]
    short: bool,
}

/// After which time machines are killed.
const LIMIT: Duration = Duration::from_secs(1800);
/// The releases of Debian whose kernels near and far have: Linux 6.1, which one machine alone has, too, and 6.12.
const RELEASES: [&str; 2] = ["bookworm", "trixie"];

/// The kernels of the machines, and what joins them.
type Prepared = (Vec<Kernel>, Option<Network>);

/// Boots one machine and prints the checks; returns whether all of them hold.
pub fn run(arguments: &Arguments) -> Result<bool> {
    made(arguments, false, &[Role::Alone], |kernels| {
        Ok((vec![kernel::newest(kernels, RELEASES[0])?], None))
    })
}

/// Boots both machines and prints the checks; returns whether all of them hold.
pub fn run_pair(arguments: &PairArguments) -> Result<bool> {
    let (machines, roles) = (&arguments.machines, [Role::Near, Role::Far]);
    made(machines, arguments.short, &roles, |kernels| {
        network::possible()?;
        require(
            files::FOR_SSH,
            "openssh-client openssh-server procps iproute2 ethtool",
        )?;
        let kernel = |release| {
            kernel::newest(kernels, release).with_context(|| format!("the kernel of {release}"))
        };
        let [near, far] = RELEASES.map(kernel);
        // The emulators and the devices between them live in this process's own network.
        Ok((vec![near?, far?], Some(Network::new()?)))
    })
}

/// Has the machines make their checks; an error where they cannot be had.
fn made(
    arguments: &Arguments,
    short: bool,
    roles: &[Role],
    prepare: impl Fn(&Path) -> Result<Prepared>,
) -> Result<bool> {
    let program = given_or_built(arguments.program.as_deref())?;
    let cache = cache()?;
    let kernels = arguments.kernels.as_deref().unwrap_or(&cache);
    let prepared = machine::possible().and_then(|()| prepare(kernels));
    let why =
        |error: anyhow::Error| Unavailable(format!("no emulated machine can be had: {error:#}"));
    let (kernels, network) = prepared.map_err(why)?;
    let keys = network.as_ref().map(|_| files::keys()).transpose()?;
    let keys = keys.as_ref().map(TempDir::path);
    let wanted = Wanted {
        only: arguments.only.clone(),
        short,
    };
    let mut images = Vec::new();
    for (role, kernel) in roles.iter().zip(kernels) {
        let image = Image::new(&cache, *role, kernel, keys);
        image.write(&program, &wanted)?;
        images.push(image);
    }
    let (began, mut tally) = (Instant::now(), Tally::default());
    let start = |image| -> Result<Running> {
        let machine = Machine {
            image,
            network: network.as_ref(),
            limit: LIMIT.saturating_sub(began.elapsed()),
        };
        machine.start()
    };
    let mut near = start(&images[0])?;
    let mut far = images.get(1).map(start).transpose()?;
    near.until_off(|line| {
        let ask = Ask::ALL.into_iter().find(|ask| ask.line() == line);
        match (ask, network.as_ref(), &mut far) {
            (Some(Ask::CutLink), Some(network), _) => network.set(false)?,
            (Some(Ask::JoinLink), Some(network), _) => network.set(true)?,
            (Some(Ask::BootOther), _, Some(far)) => {
                far.until_off(|_| Ok(()))?;
                *far = start(&images[1])?;
            }
            _ => tally.hear(line),
        }
        Ok(())
    })?;
    if let Some(far) = far.as_mut().filter(|_| tally.is_whole()) {
        far.until_off(|_| Ok(()))?;
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("{} ok, {} failed; {seconds:.0} s", tally.ok, tally.failed);
    if !tally.is_whole() {
        let consoles: Vec<String> = images.iter().map(Image::end_of_console).collect();
        bail!(
            "a machine went down before the end; the consoles:\n{}",
            consoles.join("\n--- far\n")
        );
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
