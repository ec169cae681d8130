//! The modules of the machine, and the indexes by which its `modprobe` finds them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::apt::output;
use super::boot;
use super::initramfs::Archive;
use super::kernel::Kernel;

/// The modules that labs, traffic, knobs and the devices of a machine need; one that is built into a
/// kernel has no file.
const WANTED: &[&str] = &[
    "veth",
    "bridge",
    "ifb",
    "macvlan",
    "tun",
    "sch_netem",
    "sch_fq",
    "sch_tbf",
    "sch_htb",
    "sch_ingress",
    "cls_matchall",
    "act_mirred",
    "tcp_bbr",
    "8021q",
    "virtio_pci",
    "virtio_net",
];

/// Adds the wanted modules, what they need, and `modprobe`. Each is there without compression, since
/// not every `modprobe` can undo it.
///
/// # Errors
/// When kmod's programs are not installed, or a file cannot be read.
pub fn add(archive: &Archive, kernel: &Kernel) -> Result<()> {
    let [depmod, modprobe] = ["depmod", "modprobe"].map(|name| {
        boot::find(name).with_context(|| format!("{name} is not installed (Debian: kmod)"))
    });
    let (depmod, modprobe) = (depmod?, modprobe?);
    archive.program("/sbin/modprobe", &modprobe)?;
    let release = kernel.modules.file_name().unwrap_or_default();
    let package = kernel
        .modules
        .ancestors()
        .nth(3)
        .context("no folder of a package")?;
    let index = |root: &Path| output(Command::new(&depmod).arg("-b").arg(root).arg(release));
    index(package)?;
    let mut files = BTreeSet::new();
    for name in WANTED {
        let mut needed = Command::new(&modprobe);
        needed
            .args(["-C", "/dev/null", "--show-depends", name, "-d"])
            .arg(package)
            .arg("-S")
            .arg(release);
        // What is built in has another line, and what this kernel lacks an error.
        let lines = output(&mut needed).unwrap_or_default();
        let of = |line: &str| Some(PathBuf::from(line.strip_prefix("insmod ")?.trim()));
        files.extend(lines.lines().filter_map(of));
    }
    let folder = format!("/lib/modules/{}", release.to_string_lossy());
    for file in &files {
        let (tool, name) = match file.extension().and_then(|ending| ending.to_str()) {
            Some("xz") => ("xz", file.file_stem()),
            Some("zst") => ("zstd", file.file_stem()),
            _ => ("", file.file_name()),
        };
        let place = archive.place(&format!(
            "{folder}/{}",
            name.unwrap_or_default().to_string_lossy()
        ))?;
        if tool.is_empty() {
            fs::copy(file, place).with_context(|| file.display().to_string())?;
        } else {
            let to = File::create(place)?;
            output(Command::new(tool).arg("-dc").arg(file).stdout(to))?;
        }
    }
    for list in [
        "modules.builtin",
        "modules.builtin.modinfo",
        "modules.order",
    ] {
        fs::copy(
            kernel.modules.join(list),
            archive.place(&format!("{folder}/{list}"))?,
        )?;
    }
    index(&archive.place("")?)?;
    Ok(())
}
