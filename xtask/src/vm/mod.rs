//! `cargo xtask vm`: bitcost in a machine with Debian's full kernel, emulated without KVM. It has
//! netem, fq, and modules that the kernel loads on demand.
//!
//! The machine has no disk and no network: its files are an archive with this program as its first
//! process, bitcost, and what both need. Its clock counts instructions, so that a busy host makes
//! it slower and its figures not worse.

mod boot;
mod initramfs;
pub mod inside;
mod kernel;
mod modules;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;

use boot::Machine;
use initramfs::Archive;
use kernel::Kernel;
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
    /// A command to run in it instead of the checks, as an ordinary user, such as `bitcost lab up
    /// lab15`
    #[arg(last = true)]
    command: Vec<String>,
}

/// Programs of this machine that are useful in it, if they are installed.
const PROGRAMS: &[&str] = &["tc", "ip", "ethtool", "sh", "cat", "sleep"];

/// Boots the machine and prints the checks; returns whether everything that could be checked holds.
///
/// # Errors
/// When the machine does not start or does not finish in time.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let cache = cache()?;
    let kernel = match boot::find(boot::EMULATOR)
        .context("qemu-system-x86_64 is not installed (Debian: qemu-system-x86)")
    {
        Ok(_) => {
            let kernels = arguments.kernels.as_ref().unwrap_or(&cache);
            kernel::get(kernels, arguments.deb.as_deref())
        }
        Err(error) => Err(error),
    };
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
    fs::write(&archive, files(&kernel, &program, arguments)?)?;
    let console = cache.join("console.log");
    let machine = Machine {
        kernel: &kernel.image,
        initramfs: &archive,
        console: &console,
        limit: Duration::from_secs(arguments.limit),
    };
    let (began, mut tally) = (Instant::now(), Tally::default());
    boot::run(&machine, |line| {
        let text = tally.hear(line);
        if !text.is_empty() {
            println!("{text}");
        }
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

fn files(kernel: &Kernel, program: &Path, arguments: &Arguments) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    ["/proc", "/sys", "/dev", "/tmp", "/root"]
        .iter()
        .for_each(|folder| archive.folder(Path::new(folder)));
    archive.program(Path::new("/init"), &std::env::current_exe()?)?;
    archive.program(Path::new("/bin/bitcost"), program)?;
    archive.link(Path::new("/sbin/modprobe"), "/init");
    for name in PROGRAMS {
        if let Some(found) = boot::find(name) {
            archive.program(&Path::new("/bin").join(name), &found)?;
        }
    }
    archive.file(
        Path::new("/etc/passwd"),
        0o644,
        b"root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n",
    );
    let mut table = modules::Table::new();
    for (name, module, content) in modules::choose(&kernel.modules)? {
        archive.file(
            &Path::new(inside::MODULES).join(format!("{name}.ko")),
            0o644,
            &content,
        );
        table.insert(name, module);
    }
    archive.file(
        Path::new(inside::MODULE_TABLE),
        0o644,
        &serde_json::to_vec(&table)?,
    );
    let wanted = inside::Wanted {
        only: arguments.only.clone(),
        command: arguments.command.clone(),
    };
    archive.file(
        Path::new(inside::WANTED),
        0o644,
        &serde_json::to_vec(&wanted)?,
    );
    Ok(archive.finish())
}
