//! The processes and network namespaces that a program under test leaves behind.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bitcost_sys::namespace::{Kind, current, unshare};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};

/// The environment variable with the family of a process.
const FAMILY_VARIABLE: &str = "BITCOST_TESTKIT_FAMILY";

/// A program and all processes that it starts, identified by an environment variable that children
/// inherit.
#[derive(Debug)]
pub struct Family {
    name: String,
}

impl Family {
    /// A family without members.
    #[expect(clippy::new_without_default, reason = "each call makes another family")]
    pub fn new() -> Family {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        Family {
            name: format!(
                "{}-{}",
                std::process::id(),
                COUNT.fetch_add(1, Ordering::Relaxed)
            ),
        }
    }

    /// Makes the process that `command` starts a member.
    pub fn adopt(&self, command: &mut Command) {
        command.env(FAMILY_VARIABLE, &self.name);
    }

    /// The variable that members have in their environment: `NAME=value`.
    pub fn variable(&self) -> String {
        format!("{FAMILY_VARIABLE}={}", self.name)
    }

    pub fn members(&self) -> Vec<u32> {
        let variable = self.variable();
        let is_member = |pid: &u32| words(*pid, "environ").contains(&variable);
        processes().into_iter().filter(is_member).collect()
    }

    /// The members whose first argument is `verb` and that see a network device of this name.
    pub fn members_with(&self, verb: &str, device: &str) -> Vec<u32> {
        let of_device = |text: String| {
            text.lines()
                .any(|line| line.trim_start().starts_with(&format!("{device}:")))
        };
        let is_wanted = |pid: &u32| {
            words(*pid, "cmdline")
                .get(1)
                .is_some_and(|word| word == verb)
                && fs::read_to_string(format!("/proc/{pid}/net/dev")).is_ok_and(of_device)
        };
        self.members().into_iter().filter(is_wanted).collect()
    }

    /// The inode numbers of the network namespaces that members are in or hold, without our own.
    pub fn networks(&self) -> BTreeSet<u64> {
        let ours = fs::metadata("/proc/self/ns/net")
            .map(|meta| meta.ino())
            .unwrap_or_default();
        let paths = self.members().into_iter().flat_map(network_paths);
        paths
            .filter_map(|path| Some(path.metadata().ok()?.ino()))
            .filter(|inode| *inode != ours)
            .collect()
    }
}

fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// The words of a file of a process, which a zero byte ends; none when the process is gone.
pub fn words(pid: u32, file: &str) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    bytes
        .split(|byte| *byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect()
}

/// The files of a process that refer to network namespaces.
fn network_paths(pid: u32) -> Vec<PathBuf> {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let files = fs::read_dir(process.join("fd"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|file| file.path());
    let is_network = |path: &Path| {
        fs::read_link(path).is_ok_and(|target| target.to_string_lossy().starts_with("net:["))
    };
    let mut paths: Vec<PathBuf> = files.filter(|path| is_network(path)).collect();
    paths.push(process.join("ns/net"));
    paths
}

/// Whether any process is in one of these network namespaces or holds it open.
pub fn are_held(networks: &BTreeSet<u64>) -> bool {
    let paths = processes().into_iter().flat_map(network_paths);
    paths
        .filter_map(|path| path.metadata().ok())
        .any(|meta| networks.contains(&meta.ino()))
}

/// What `find` returns within `limit`.
pub fn within<T>(limit: Duration, mut find: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + limit;
    loop {
        let found = find();
        if found.is_some() || Instant::now() > deadline {
            return found;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits until `find` returns something.
///
/// # Panics
/// When it does not within `limit`.
pub fn eventually<T>(limit: Duration, what: &str, find: impl FnMut() -> Option<T>) -> T {
    within(limit, find).unwrap_or_else(|| panic!("not within {limit:?}: {what}"))
}

/// A new terminal: the side of who reads what programs send, and that of the programs.
///
/// # Panics
/// When the machine has none.
pub fn terminal() -> [File; 2] {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let outer = openpt(flags).expect("a terminal");
    grantpt(&outer)
        .and_then(|()| unlockpt(&outer))
        .expect("granted");
    let inner = ioctl_tiocgptpeer(&outer, flags).expect("its other side");
    [outer, inner].map(File::from)
}

/// A new network namespace with no process in it.
pub fn new_network() -> std::io::Result<OwnedFd> {
    let made = std::thread::spawn(|| unshare(&[Kind::Net]).and_then(|()| current(Kind::Net)));
    made.join().unwrap_or(Err(std::io::ErrorKind::Other.into()))
}
