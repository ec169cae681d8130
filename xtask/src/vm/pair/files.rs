//! The files of both machines: those of every machine, ssh with new keys, and the programs that
//! bitcost is compared with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::machines::Image;
use crate::vm::apt::{Packages, output};
use crate::vm::boot;
use crate::vm::files;
use crate::vm::initramfs::Archive;
use crate::vm::inside::{Role, Wanted};
use crate::vm::kernel::Kernel;

/// Programs that both machines have.
pub struct Programs {
    /// The bitcost to try.
    pub bitcost: PathBuf,
    /// One of another version.
    pub other: Option<PathBuf>,
    /// The folder with netperf and netserver.
    pub netperf: Option<PathBuf>,
}

/// Programs of this machine without which nothing can be checked.
const NEEDED: &[&str] = &[
    "ssh", "sshd", "tc", "ip", "ethtool", "sysctl", "sh", "cat", "sleep", "date", "uname", "head",
    "mktemp", "rm", "chmod",
];
/// Those that only a part of the checks needs.
const USEFUL: &[&str] = &["iperf3"];

/// Settings of sshd.
const SSHD: &str = "HostKey /root/.ssh/key\nAuthorizedKeysFile /root/.ssh/key.pub\nPidFile none\n\
    StrictModes no\nUsePAM no\nUseDNS no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
    SetEnv PATH=/bin:/sbin\n";

/// Settings of ssh: `far` is reached over `eth0`, `far-data` over `eth1`.
const SSH: &str = "Host far\n HostName 10.9.0.2\nHost far-data\n HostName 10.0.0.2\nHost *\n User root\n \
    IdentityFile /root/.ssh/key\n StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n";

/// Whether all that both machines need is installed here.
///
/// # Errors
/// When not; what is missing.
pub fn possible() -> Result<()> {
    for name in NEEDED.iter().chain(&["ssh-keygen"]) {
        boot::find(name).with_context(|| format!("{name} is not installed"))?;
    }
    Ok(())
}

/// The folder with netperf's programs: Debian has them in its component non-free.
pub fn netperf(cache: &Path) -> Option<PathBuf> {
    let fetched = || Packages::of(cache, "bookworm", "main non-free")?.unpacked(cache, "netperf");
    match boot::find("netperf") {
        Some(path) => path.parent().map(Path::to_owned),
        None => Some(fetched().ok()?.join("usr/bin")),
    }
}

/// Writes the archives for near and far into `cache`.
///
/// # Errors
/// When a program is missing.
pub fn images(
    cache: &Path,
    kernels: &[Kernel; 2],
    programs: &Programs,
    wanted: &Wanted,
) -> Result<[Image; 2]> {
    let keys = tempfile::tempdir()?;
    let key = keys.path().join("key");
    output(
        Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(&key),
    )?;
    let image = |role: Role| -> Result<Image> {
        let kernel = &kernels[role as usize];
        let place = |what: &str| cache.join(format!("{}-{what}", role.name()));
        let image = Image {
            kernel: kernel.image.clone(),
            initramfs: place("initramfs"),
            console: place("console.log"),
        };
        archive(kernel, programs, wanted, &key)?.write(&image.initramfs)?;
        Ok(image)
    };
    Ok([image(Role::Near)?, image(Role::Far)?])
}

fn archive(kernel: &Kernel, programs: &Programs, wanted: &Wanted, key: &Path) -> Result<Archive> {
    let archive = files::base(kernel, &programs.bitcost, wanted)?;
    for name in NEEDED {
        let found = boot::find(name).with_context(|| format!("{name} is not installed"))?;
        archive.program(&format!("/bin/{name}"), &found)?;
    }
    for name in USEFUL {
        if let Some(found) = boot::find(name) {
            archive.program(&format!("/bin/{name}"), &found)?;
        }
    }
    for name in ["netperf", "netserver"] {
        if let Some(folder) = &programs.netperf {
            archive.program(&format!("/bin/{name}"), &folder.join(name))?;
        }
    }
    if let Some(other) = &programs.other {
        archive.program("/bin/bitcost-other", other)?;
    }
    archive.folder("/run/sshd")?;
    archive.folder("/var/lib")?;
    let read = |ending| fs::read(key.with_extension(ending));
    archive.file("/root/.ssh/key", 0o600, &read("")?)?;
    archive.file("/root/.ssh/key.pub", 0o644, &read("pub")?)?;
    archive.file("/root/.ssh/config", 0o600, SSH.as_bytes())?;
    archive.file("/etc/ssh/sshd_config", 0o644, SSHD.as_bytes())?;
    Ok(archive)
}
