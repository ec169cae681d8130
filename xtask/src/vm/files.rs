//! The files that every machine has.

use std::path::Path;

use anyhow::Result;

use super::boot;
use super::initramfs::Archive;
use super::inside::{WANTED, Wanted};
use super::kernel::Kernel;
use super::modules;

/// Programs of this machine that are useful in it, if they are installed.
const PROGRAMS: &[&str] = &["tc", "ip", "ethtool", "sh", "cat", "sleep"];

/// Users of the machine: root, an ordinary one, and sshd's.
const USERS: &str = "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\nsshd:x:100:65534::/run/sshd:/bin/sh\n";

/// This program as the first process, bitcost, modules of the kernel, and the work to do.
///
/// # Errors
/// When one of them cannot be read.
pub fn base(kernel: &Kernel, program: &Path, wanted: &Wanted) -> Result<Archive> {
    let archive = Archive::new()?;
    for folder in ["/proc", "/sys", "/dev", "/tmp", "/root"] {
        archive.folder(folder)?;
    }
    archive.program("/init", &std::env::current_exe()?)?;
    archive.program("/bin/bitcost", program)?;
    for name in PROGRAMS {
        if let Some(found) = boot::find(name) {
            archive.program(&format!("/bin/{name}"), &found)?;
        }
    }
    modules::add(&archive, kernel)?;
    archive.file("/etc/passwd", 0o644, USERS.as_bytes())?;
    archive.file(WANTED, 0o644, &serde_json::to_vec(wanted)?)?;
    Ok(archive)
}
