//! The files that every machine has.

use std::path::Path;

use anyhow::Result;

use super::boot;
use super::initramfs::Archive;
use super::inside::{self, Wanted};
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
    archive.file(Path::new("/etc/passwd"), 0o644, USERS.as_bytes());
    let mut table = modules::Table::new();
    for (name, module, content) in modules::choose(&kernel.modules)? {
        let path = Path::new(inside::MODULES).join(format!("{name}.ko"));
        archive.file(&path, 0o644, &content);
        table.insert(name, module);
    }
    let table = serde_json::to_vec(&table)?;
    archive.file(Path::new(inside::MODULE_TABLE), 0o644, &table);
    let wanted = serde_json::to_vec(wanted)?;
    archive.file(Path::new(inside::WANTED), 0o644, &wanted);
    Ok(archive)
}
