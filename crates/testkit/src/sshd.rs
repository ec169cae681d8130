//! Real sshds for tests, with separate keys, accounts and configuration in one temporary folder.
//!
//! They need root. `/run` and the files of accounts are replaced in a separate mount namespace, so
//! that nothing of the machine is changed.

use std::fs::{self, File, Permissions};
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bitcost_sys::namespace::{Kind, unshare};
use bitcost_sys::process::effective_uid;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};

use crate::process::eventually;

/// sshd executes itself for each connection, and so needs its whole path.
const SSHD: &str = "/usr/sbin/sshd";

/// How long an sshd may take until it listens.
const LISTENS: Duration = Duration::from_secs(20);

/// The account that is not root.
pub const GUEST: &str = "bitcost-guest";
pub const GUEST_ID: u32 = 60_001;

/// Why no sshd can run here; `None` if it can.
pub fn obstacle() -> Option<String> {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let ids: u64 = map
        .split_ascii_whitespace()
        .nth(2)
        .and_then(|count| count.parse().ok())
        .unwrap_or(0);
    if effective_uid() != 0 || ids <= GUEST_ID.into() {
        return Some("sshd needs root".to_owned());
    }
    let missing = [SSHD, "/usr/bin/ssh", "/usr/bin/ssh-keygen"]
        .into_iter()
        .find(|path| !Path::new(path).exists());
    missing.map(|path| format!("{path} is missing; it is in openssh-server and openssh-client"))
}

/// Servers, and the files that they and their clients share. Dropping it ends the servers.
pub struct Servers {
    folder: tempfile::TempDir,
    servers: Vec<Child>,
}

pub struct Server<'a> {
    pub name: &'a str,
    /// The address on which it listens.
    pub address: IpAddr,
    /// The environment variable of programs that it starts: `NAME=value`.
    pub environment: &'a [String],
}

impl Servers {
    /// Moves the calling process, which has one thread, into a new mount namespace, and makes keys.
    pub fn new() -> io::Result<Servers> {
        let folder = tempfile::tempdir()?;
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        let servers = Servers {
            folder,
            servers: Vec::new(),
        };
        unshare(&[Kind::Mount])?;
        mount_change(
            "/",
            MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
        )?;
        servers.accounts()?;
        mount(
            "bitcost-test",
            "/run",
            "tmpfs",
            MountFlags::empty(),
            None::<&std::ffi::CStr>,
        )?;
        fs::create_dir("/run/sshd")?;
        servers.make_key("key")?;
        fs::copy(servers.path("key.pub"), servers.path("authorized_keys"))?;
        let settings = format!(
            "Host *\n User root\n IdentityFile {0}/key\n IdentitiesOnly yes\n UserKnownHostsFile {0}/known_hosts\n \
             GlobalKnownHostsFile /dev/null\n StrictHostKeyChecking yes\n UpdateHostKeys no\n",
            servers.folder.path().display()
        );
        fs::write(servers.path("config.end"), settings)?;
        Ok(servers)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn config(&self) -> PathBuf {
        self.path("config")
    }

    /// Adds a host to the client's configuration, with more lines of it.
    pub fn add_host(&self, name: &str, address: &str, lines: &str) -> io::Result<()> {
        let hosts = fs::read_to_string(self.path("config.hosts")).unwrap_or_default();
        let hosts = format!("{hosts}Host {name}\n HostName {address}\n{lines}");
        fs::write(
            self.config(),
            format!("{hosts}{}", fs::read_to_string(self.path("config.end"))?),
        )?;
        fs::write(self.path("config.hosts"), hosts)
    }

    /// Starts a server in the place where `enter` puts its command, and adds its key to those that
    /// the client knows.
    ///
    /// # Panics
    /// When it does not listen soon.
    pub fn start(
        &mut self,
        server: &Server,
        enter: impl FnOnce(&mut Command) -> Result<(), String>,
    ) -> Result<(), String> {
        let name = server.name;
        let failed = |error: io::Error| format!("sshd of {name}: {error}");
        let host_key = format!("host_{name}");
        self.make_key(&host_key).map_err(failed)?;
        let key = fs::read_to_string(self.path(&format!("{host_key}.pub"))).map_err(failed)?;
        let known = fs::read_to_string(self.path("known_hosts")).unwrap_or_default();
        fs::write(
            self.path("known_hosts"),
            format!("{known}{} {key}", server.address),
        )
        .map_err(failed)?;
        self.add_host(name, &server.address.to_string(), "")
            .map_err(failed)?;
        let settings = format!(
            "ListenAddress {}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\n\
             PermitRootLogin prohibit-password\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             UseDNS no\n{}\n",
            server.address,
            self.path(&host_key).display(),
            self.path("authorized_keys").display(),
            if server.environment.is_empty() {
                String::new()
            } else {
                format!("SetEnv {}", server.environment.join(" "))
            }
        );
        let (settings_file, log) = (
            self.path(&format!("{name}.sshd")),
            self.path(&format!("{name}.log")),
        );
        fs::write(&settings_file, settings).map_err(failed)?;
        let mut command = Command::new(SSHD);
        command
            .args(["-D", "-e", "-f"])
            .arg(settings_file)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command.stderr(File::create(&log).map_err(failed)?);
        enter(&mut command)?;
        self.servers.push(command.spawn().map_err(failed)?);
        let said = || fs::read_to_string(&log).unwrap_or_default();
        eventually(LISTENS, "sshd listens", || {
            said().contains("Server listening").then_some(())
        });
        Ok(())
    }

    /// Accounts whose root may log in, and one more.
    fn accounts(&self) -> io::Result<()> {
        let guest_home = self.path("guest");
        fs::create_dir(&guest_home)?;
        std::os::unix::fs::chown(&guest_home, Some(GUEST_ID), Some(GUEST_ID))?;
        let guest = format!(
            "{GUEST}:x:{GUEST_ID}:{GUEST_ID}::{}:/bin/sh\n",
            guest_home.display()
        );
        let users = fs::read_to_string("/etc/passwd")?;
        fs::write(self.path("passwd"), users + &guest)?;
        let others = fs::read_to_string("/etc/shadow")?;
        let others: String = others
            .lines()
            .filter(|line| !line.starts_with("root:"))
            .map(|line| format!("{line}\n"))
            .collect();
        // No password; a `!` would lock the account for sshd without PAM.
        fs::write(
            self.path("shadow"),
            format!("root:*:20000:0:99999:7:::\n{others}{GUEST}:*:20000:0:99999:7:::\n"),
        )?;
        for name in ["passwd", "shadow"] {
            mount_bind(self.path(name), format!("/etc/{name}"))?;
        }
        Ok(())
    }

    fn make_key(&self, name: &str) -> io::Result<()> {
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(self.path(name))
            .output()?;
        match made.status.success() {
            true => Ok(()),
            false => Err(io::Error::other(format!(
                "ssh-keygen: {}",
                String::from_utf8_lossy(&made.stderr)
            ))),
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for server in &mut self.servers {
            // Both fail only for a process that has exited.
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}
