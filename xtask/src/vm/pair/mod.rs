//! `cargo xtask vm-pair`: bitcost between two machines with different kernels, emulated without KVM,
//! whose interfaces have the driver virtio_net.
//!
//! `near` makes the checks and reaches `far` with ssh over `eth0`, a socket between both emulators.
//! The data go over `eth1`, which has several queues and segmentation offload. The clock of `far` is
//! an hour ahead.

mod files;
mod instructions;
mod machines;
mod network;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;

use super::apt::Packages;
use super::boot;
use super::inside::Wanted;
use super::kernel::{self, Kernel};
use super::report::Tally;

use files::Programs;
use machines::Pair;
use network::Network;

/// Which programs, and what to do with them.
#[derive(Args)]
pub struct Arguments {
    /// The bitcost to try; else it is built as users build it
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// A bitcost of another version, for the check that has two versions
    #[arg(long, value_name = "PATH")]
    other: Option<PathBuf>,
    /// The folder for downloaded packages; otherwise one next to this program
    #[arg(long, value_name = "FOLDER")]
    kernels: Option<PathBuf>,
    /// After how many seconds the machines are killed
    #[arg(long, default_value_t = 1800)]
    limit: u64,
    /// Checks whose name contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Few checks, under 3 minutes
    #[arg(long)]
    short: bool,
    /// Instead of the checks, count the instructions per KiB of the study not-all-mbits on both
    /// kernels, each three times
    #[arg(long)]
    instructions: bool,
    /// Fail where the emulator or the packages cannot be had, instead of skipping all
    #[arg(long)]
    require: bool,
}

/// The releases of Debian whose kernels near and far have: Linux 6.1 and 6.12.
const RELEASES: [&str; 2] = ["bookworm", "trixie"];

impl Arguments {
    fn limit(&self) -> Duration {
        Duration::from_secs(self.limit)
    }
}

/// All that is needed from elsewhere.
struct Parts {
    kernels: [Kernel; 2],
    programs: Programs,
}

/// Boots both machines and prints the checks; returns whether everything that could be checked
/// holds.
///
/// # Errors
/// When a machine does not start or does not finish in time.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let cache = super::cache()?;
    // The emulators and the devices between them live in this process's own network.
    let parts = parts(arguments, &cache).and_then(|parts| Ok((parts, Network::new()?)));
    let (parts, network) = match parts {
        Ok(parts) => parts,
        Err(error) if arguments.require => return Err(error),
        Err(error) => {
            println!("SKIPPED: no checks between two machines, for they cannot be had: {error:#}");
            return Ok(true);
        }
    };
    if arguments.instructions {
        return instructions::count(
            &cache,
            &parts.kernels,
            &parts.programs.bitcost,
            arguments.limit(),
        );
    }
    let wanted = Wanted {
        only: arguments.only.clone(),
        command: Vec::new(),
        short: arguments.short,
        root: false,
    };
    let images = files::images(&cache, &parts.kernels, &parts.programs, &wanted)?;
    let (began, mut tally) = (Instant::now(), Tally::default());
    let mut pair = Pair::start(&images, &network, arguments.limit())?;
    pair.until_off(&mut tally)?;
    println!("{}; {:.0} s", tally.text(), began.elapsed().as_secs_f64());
    if !tally.is_whole() {
        bail!(
            "a machine went down before the end; the consoles:\n{}",
            images
                .each_ref()
                .map(|image| boot::tail(&image.console))
                .join("\n--- far\n")
        );
    }
    Ok(tally.is_good())
}

fn parts(arguments: &Arguments, cache: &Path) -> Result<Parts> {
    boot::emulator()?;
    network::possible()?;
    files::possible()?;
    let kernels = arguments.kernels.as_deref().unwrap_or(cache);
    let kernel = |release| kernel::newest(kernels, &Packages::of(kernels, release, "main")?);
    let [near, far] = RELEASES.map(kernel);
    let bitcost = match &arguments.program {
        Some(program) => program.clone(),
        None => crate::bench_peers::built("bitcost")?,
    };
    Ok(Parts {
        kernels: [
            near.with_context(|| format!("the kernel of {}", RELEASES[0]))?,
            far.with_context(|| format!("the kernel of {}", RELEASES[1]))?,
        ],
        programs: Programs {
            bitcost,
            other: arguments.other.clone(),
            netperf: (!arguments.short)
                .then(|| files::netperf(kernels))
                .flatten(),
        },
    })
}
