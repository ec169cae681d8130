//! The services, and what their processes hold.

use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::serving::{Serving, link};
use anyhow::{Context, Result};

/// A service that runs on the loopback; ended when this is dropped.
pub struct Server {
    serving: Serving,
    program: PathBuf,
    state: PathBuf,
    /// Where it listens.
    pub address: SocketAddr,
}

/// What a process holds.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Resident memory in KiB.
    pub resident_kib: u64,
    /// Open descriptors.
    pub descriptors: u64,
    /// Threads.
    pub threads: u64,
    /// Child processes.
    pub children: u64,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Held {
            resident_kib,
            descriptors,
            threads,
            children,
        } = self;
        write!(f, "{resident_kib}, {descriptors}, {threads}, {children}")
    }
}

impl Server {
    /// `bitcost serve` on the loopback, with its keys in a folder.
    pub fn of_bitcosts(program: &Path, place: &Path) -> Result<Server> {
        let state = place.join("service");
        let mut serve = Command::new(program);
        serve
            .args(["serve", "127.0.0.1:0", "--state"])
            .arg(&state)
            .args(["--metrics", "127.0.0.1:0"]);
        Server::start(serve, program, state, "bitcost://")
    }

    /// `bitcost serve --iperf3` on the loopback.
    pub fn of_iperf3(program: &Path) -> Result<Server> {
        let mut serve = Command::new(program);
        serve.args(["serve", "--iperf3", "127.0.0.1:0"]);
        Server::start(serve, program, PathBuf::new(), "port ")
    }

    fn start(mut serve: Command, program: &Path, state: PathBuf, last: &str) -> Result<Server> {
        serve.stderr(Stdio::null());
        let serving = Serving::start(serve, last)?;
        Ok(Server {
            address: SocketAddr::from(([127, 0, 0, 1], serving.port()?)),
            serving,
            program: program.to_owned(),
            state,
        })
    }

    /// Its first link, which the first client spends.
    pub fn link(&self) -> Result<&str> {
        self.serving.link()
    }

    /// A link for one more client.
    pub fn new_link(&self) -> Result<String> {
        let output = Command::new(&self.program)
            .args(["serve", "keys", "add", "--state"])
            .arg(&self.state)
            .output()?;
        Ok(link(&String::from_utf8_lossy(&output.stdout))?.to_owned())
    }

    /// What its process holds now.
    pub fn held(&self) -> Result<Held> {
        let process = PathBuf::from(format!("/proc/{}", self.serving.id()));
        let status = fs::read_to_string(process.join("status")).context("the service has ended")?;
        let figure = |name: &str| {
            let mut words = status
                .lines()
                .find_map(|line| line.strip_prefix(name))?
                .split_whitespace();
            words.next()?.parse().ok()
        };
        let parent = format!("PPid:\t{}\n", self.serving.id());
        let is_child = |entry: &fs::DirEntry| {
            let status = fs::read_to_string(entry.path().join("status"));
            status.is_ok_and(|status| status.contains(&parent))
        };
        let children = fs::read_dir("/proc")?.flatten().filter(is_child).count();
        Ok(Held {
            resident_kib: figure("VmRSS:").context("VmRSS")?,
            descriptors: fs::read_dir(process.join("fd"))?.count() as u64,
            threads: figure("Threads:").context("Threads")?,
            children: children as u64,
        })
    }
}
