//! The files of a machine: a folder, as an archive that the kernel unpacks into memory
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::inside::PROGRAM;
use crate::programs::{find, output};

/// Programs of this machine that are useful in every other, if they are installed.
const USEFUL: &str = "tc ip ethtool sh cat sleep";
/// Those without which two machines cannot check anything.
pub const FOR_SSH: &str =
    "ssh sshd ssh-keygen tc ip ethtool sysctl sh cat sleep date uname head mktemp rm chmod";

/// Users of the machine: root, an ordinary one, and sshd's.
const USERS: &str = "root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\nsshd:x:100:65534::/run/sshd:/bin/sh\n";

const SSHD: &str = "HostKey /root/.ssh/key\nAuthorizedKeysFile /root/.ssh/key.pub\nPidFile none\n\
    StrictModes no\nUsePAM no\nUseDNS no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
    SetEnv PATH=/bin:/sbin\n";
const SSH: &str = "Host far\n HostName 10.9.0.2\nHost *\n User root\n IdentityFile /root/.ssh/key\n \
    StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n";

/// Makes new keys of ssh in a folder.
pub fn make_keys(folder: &Path) -> Result<()> {
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]);
    output(keygen.arg(folder.join("key"))).map(drop)
}

/// Writes the archive: this program as the first process, bitcost, modules of the kernel, and what they need, for one of two
/// machines also ssh with its keys; all of it is root's, in the order of the names.
pub fn write(archive: &Path, bitcost: &Path, kernel: &Path, keys: Option<&Path>) -> Result<()> {
    let place = tempfile::tempdir()?;
    let root = place.path();
    for folder in "proc sys dev tmp etc/ssh root/.ssh run/sshd var/lib sbin bin lib".split(' ') {
        fs::create_dir_all(root.join(folder))?;
    }
    add_program(root, "init", &std::env::current_exe()?)?;
    symlink("/init", root.join(PROGRAM.trim_start_matches('/')))?;
    add_program(root, "bin/bitcost", bitcost)?;
    add_program(
        root,
        "sbin/modprobe",
        &find("modprobe").context("modprobe")?,
    )?;
    let needed = if keys.is_some() { FOR_SSH } else { USEFUL };
    for name in needed.split(' ') {
        if let Some(found) = find(name) {
            add_program(root, &format!("bin/{name}"), &found)?;
        }
    }
    fs::write(root.join("etc/passwd"), USERS)?;
    if let Some(keys) = keys {
        fs::write(root.join("root/.ssh/config"), SSH)?;
        fs::write(root.join("etc/ssh/sshd_config"), SSHD)?;
        for name in ["key", "key.pub"] {
            fs::copy(keys.join(name), root.join("root/.ssh").join(name))?;
        }
    }
    let script = "chmod -R go-w .; cp -r \"$1\"/lib/modules lib/; find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 -F \"$0\"";
    let mut shell = Command::new("sh");
    shell.args(["-ec", script]).current_dir(root);
    output(shell.args([std::path::absolute(archive)?, std::path::absolute(kernel)?])).map(drop)
}

/// Adds a program of this machine with the libraries that its loader needs.
fn add_program(root: &Path, path: &str, from: &Path) -> Result<()> {
    // None if it is linked statically.
    let libraries = Command::new("ldd").arg(from).output().context("ldd")?;
    let libraries = String::from_utf8_lossy(&libraries.stdout).into_owned();
    let libraries = libraries.split_ascii_whitespace();
    let libraries = libraries.filter_map(|word| Some((word.strip_prefix('/')?, Path::new(word))));
    for (path, from) in libraries.chain([(path, from)]) {
        let to: PathBuf = root.join(path);
        fs::create_dir_all(to.parent().unwrap_or(root))?;
        fs::copy(from, to).with_context(|| from.display().to_string())?;
    }
    Ok(())
}
