//! `cargo xtask vm`: bitcost in a machine with Debian's full kernel, emulated without KVM. It has
//! netem, fq, and modules that the kernel loads on demand.
//!
//! The machine has no disk and no network: its files are an archive with this program as its first
//! process, bitcost, and what both need. Its clock counts instructions, so that a busy host makes
//! it slower and its figures not worse.

mod apt;
mod boot;
mod files;
mod initramfs;
pub mod inside;
mod kernel;
mod modules;
pub mod pair;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;

use apt::Packages;
use boot::{Clock, Machine};
use report::Tally;

/// Which machine, and what to do in it.
#[derive(Args)]
pub struct Arguments {
    /// The bitcost to try; else it is built as users build it
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// A kernel's package; else Debian's newest cloud kernel, by apt-get download
    #[arg(long, value_name = "FILE.deb")]
    deb: Option<PathBuf>,
    /// The folder for downloaded kernels; otherwise one next to this program
    #[arg(long, value_name = "FOLDER")]
    kernels: Option<PathBuf>,
    /// After how many seconds the machine is killed
    #[arg(long, default_value_t = 900)]
    limit: u64,
    /// Checks whose name contains this
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Fail where the emulator or the kernel's package cannot be had, instead of skipping all
    #[arg(long)]
    require: bool,
    /// Run the command as root
    #[arg(long)]
    root: bool,
    /// A command to run in it instead of the checks, as an ordinary user, such as `bitcost lab up
    /// lab15`
    #[arg(last = true)]
    command: Vec<String>,
}

/// Boots the machine and prints the checks; returns whether everything that could be checked holds.
///
/// # Errors
/// When the machine does not start or does not finish in time.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let cache = cache()?;
    let kernels = arguments.kernels.as_ref().unwrap_or(&cache);
    let kernel = boot::emulator().and_then(|()| match &arguments.deb {
        Some(deb) => kernel::of_file(kernels, deb),
        None => kernel::newest(kernels, &Packages::here()),
    });
    let kernel = match kernel {
        Ok(kernel) => kernel,
        Err(error) if arguments.require => return Err(error),
        Err(error) => {
            println!(
                "SKIPPED: no checks under a full kernel, for the machine cannot be had: {error:#}"
            );
            return Ok(true);
        }
    };
    let program = match &arguments.program {
        Some(program) => program.clone(),
        None => crate::bench_peers::built("bitcost")?,
    };
    let archive = cache.join("initramfs");
    let wanted = inside::Wanted {
        only: arguments.only.clone(),
        command: arguments.command.clone(),
        root: arguments.root,
        short: false,
    };
    files::base(&kernel, &program, &wanted)?.write(&archive)?;
    let console = cache.join("console.log");
    let machine = Machine {
        kernel: &kernel.image,
        initramfs: &archive,
        console: &console,
        clock: Clock::Instructions,
        cpus: 1,
        devices: Vec::new(),
        words: "",
        limit: Duration::from_secs(arguments.limit),
    };
    let (began, mut tally) = (Instant::now(), Tally::default());
    boot::start(&machine)?.until_off(|line| {
        tally.print(line);
        Ok(())
    })?;
    println!("{}; {:.0} s", tally.text(), began.elapsed().as_secs_f64());
    if !tally.is_whole() {
        bail!(
            "the machine went down before its end; its console:\n{}",
            boot::tail(&console)
        );
    }
    Ok(tally.is_good())
}

/// A folder for results, next to this program.
fn cache() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program
        .parent()
        .and_then(Path::parent)
        .context("this program stands in no folder of cargo's")?;
    let cache = target.join("vm");
    fs::create_dir_all(&cache)?;
    Ok(cache)
}
