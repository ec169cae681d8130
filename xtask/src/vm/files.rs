//! The files of a machine: a folder, as an archive that the kernel unpacks into memory
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::inside::{Role, WANTED, Wanted};
use super::kernel::Kernel;
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

/// The modules that labs, traffic, knobs and the devices of a machine need; one that is built into a
/// kernel has no file.
const MODULES: &str = "veth bridge ifb macvlan tun sch_netem sch_fq sch_tbf sch_htb sch_ingress cls_matchall act_mirred tcp_bbr 8021q \
    virtio_pci virtio_net";

/// Lines of the console that are shown if the machine did not power off.
const CONSOLE_LINES: usize = 30;

/// What a machine boots.
pub struct Image {
    pub role: Role,
    pub kernel: Kernel,
    pub initramfs: PathBuf,
    /// The file for the kernel's output.
    pub console: PathBuf,
    keys: Option<PathBuf>,
}

/// A folder with new keys of ssh.
pub fn keys() -> Result<TempDir> {
    let keys = tempfile::tempdir()?;
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]);
    output(keygen.arg(keys.path().join("key")))?;
    Ok(keys)
}

impl Image {
    /// An image whose files are below `cache`.
    pub fn new(cache: &Path, role: Role, kernel: Kernel, keys: Option<&Path>) -> Image {
        let place = |what: &str| cache.join(format!("{}-{what}", role.name()));
        Image {
            role,
            kernel,
            initramfs: place("initramfs"),
            console: place("console.log"),
            keys: keys.map(Path::to_owned),
        }
    }

    /// Writes the archive: this program as the first process, bitcost, modules of the kernel, and the work to do; all of it
    /// is root's, in the order of the names.
    pub fn write(&self, bitcost: &Path, wanted: &Wanted) -> Result<()> {
        let files = Files(tempfile::tempdir()?);
        for folder in ["proc", "sys", "dev", "tmp", "root", "run/sshd", "var/lib"] {
            fs::create_dir_all(files.place(folder)?)?;
        }
        files.program("init", &std::env::current_exe()?)?;
        files.program("bin/bitcost", bitcost)?;
        let needed = if self.keys.is_some() { FOR_SSH } else { "" };
        for name in USEFUL.split(' ').chain(needed.split_whitespace()) {
            if let Some(found) = find(name) {
                files.program(&format!("bin/{name}"), &found)?;
            }
        }
        files.modules(&self.kernel)?;
        files.file("etc/passwd", 0o644, USERS)?;
        files.file(WANTED, 0o644, serde_json::to_vec(wanted)?)?;
        if let Some(keys) = &self.keys {
            files.file("root/.ssh/key", 0o600, fs::read(keys.join("key"))?)?;
            files.file("root/.ssh/key.pub", 0o644, fs::read(keys.join("key.pub"))?)?;
            files.file("root/.ssh/config", 0o600, SSH)?;
            files.file("etc/ssh/sshd_config", 0o644, SSHD)?;
        }
        let script = "find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 -F \"$0\"";
        let mut shell = Command::new("sh");
        shell
            .args(["-ec", script])
            .arg(std::path::absolute(&self.initramfs)?);
        output(shell.current_dir(files.0.path())).map(drop)
    }

    pub fn end_of_console(&self) -> String {
        let bytes = fs::read(&self.console).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(CONSOLE_LINES)..].join("\n")
    }
}

/// The files of a machine, below a folder of this one.
struct Files(TempDir);

impl Files {
    /// Where a path of the machine is here; its folder is made.
    fn place(&self, path: &str) -> Result<PathBuf> {
        let place = self.0.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(place.parent().unwrap_or(&place))?;
        Ok(place)
    }

    /// Adds a file with these permissions.
    fn file(&self, path: &str, permissions: u32, content: impl AsRef<[u8]>) -> Result<()> {
        let place = self.place(path)?;
        fs::write(&place, content)?;
        let permissions = PermissionsExt::from_mode(permissions);
        Ok(fs::set_permissions(place, permissions)?)
    }

    /// Adds a program of this machine with the libraries that its loader needs.
    fn program(&self, path: &str, from: &Path) -> Result<()> {
        let copy = |path: &str, from: &Path| {
            fs::copy(from, self.place(path)?).with_context(|| from.display().to_string())
        };
        copy(path, from)?;
        // None if it is linked statically.
        let libraries = Command::new("ldd").arg(from).output().context("ldd")?;
        let libraries = String::from_utf8_lossy(&libraries.stdout).into_owned();
        let words = libraries.split_ascii_whitespace();
        for word in words.filter(|word| word.starts_with('/')) {
            copy(word, Path::new(word))?;
        }
        Ok(())
    }

    /// Adds the wanted modules, what they need, the indexes by which `modprobe` finds them, and `modprobe`. Each is there
    /// without compression, since not every `modprobe` can undo it.
    fn modules(&self, kernel: &Kernel) -> Result<()> {
        let [depmod, modprobe] = ["depmod", "modprobe"].map(|name| {
            find(name).with_context(|| format!("{name} is not installed (Debian: kmod)"))
        });
        let (depmod, modprobe) = (depmod?, modprobe?);
        self.program("sbin/modprobe", &modprobe)?;
        let release = kernel.modules.file_name().unwrap_or_default();
        let package = kernel.modules.ancestors().nth(3);
        let package = package.context("no folder of a package")?;
        let index = |root: &Path| output(Command::new(&depmod).arg("-b").arg(root).arg(release));
        index(package)?;
        let mut files = BTreeSet::new();
        for name in MODULES.split(' ') {
            let mut needed = Command::new(&modprobe);
            needed.args(["-C", "/dev/null", "--show-depends", name, "-d"]);
            needed.arg(package).arg("-S").arg(release);
            // What is built in has another line, and what this kernel lacks an error.
            let lines = output(&mut needed).unwrap_or_default();
            let of = |line: &str| Some(PathBuf::from(line.strip_prefix("insmod ")?.trim()));
            files.extend(lines.lines().filter_map(of));
        }
        let folder = PathBuf::from("lib/modules").join(release);
        let place = |name: &Path| self.place(&folder.join(name).to_string_lossy());
        for file in &files {
            let (tool, name) = match file.extension().and_then(|ending| ending.to_str()) {
                Some("xz") => ("xz", file.file_stem()),
                Some("zst") => ("zstd", file.file_stem()),
                _ => ("cat", file.file_name()),
            };
            let to = File::create(place(Path::new(name.unwrap_or_default()))?)?;
            let options: &[&str] = if tool == "cat" { &[] } else { &["-dc"] };
            let mut unpack = Command::new(tool);
            output(unpack.args(options).arg(file).stdout(to))?;
        }
        for list in [
            "modules.builtin",
            "modules.builtin.modinfo",
            "modules.order",
        ] {
            fs::copy(kernel.modules.join(list), place(Path::new(list))?)?;
        }
        index(self.0.path()).map(drop)
    }
}
