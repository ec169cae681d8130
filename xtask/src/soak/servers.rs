//! The services, and what their processes hold.

use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};

/// A service that runs; ended when this is dropped.
pub struct Server {
    process: Child,
    program: PathBuf,
    state: PathBuf,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its first link, which the first client spends.
    pub link: String,
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
        Server::start(serve, program, state, 3)
    }

    /// `bitcost serve --iperf3` on the loopback.
    pub fn of_iperf3(program: &Path) -> Result<Server> {
        let mut serve = Command::new(program);
        serve.args(["serve", "--iperf3", "127.0.0.1:0"]);
        Server::start(serve, program, PathBuf::new(), 1)
    }

    fn start(mut serve: Command, program: &Path, state: PathBuf, lines: usize) -> Result<Server> {
        let mut process = serve
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("bitcost serve")?;
        let mut output = BufReader::new(process.stdout.take().context("its output")?);
        let mut said = String::new();
        for _ in 0..lines {
            output.read_line(&mut said)?;
        }
        thread::spawn(move || {
            let mut rest = [0; 4096];
            while output.read(&mut rest).is_ok_and(|length| length > 0) {}
        });
        let port = word_after(&said, "port ").parse().context(said.clone())?;
        Ok(Server {
            process,
            program: program.to_owned(),
            state,
            address: SocketAddr::from(([127, 0, 0, 1], port)),
            link: format!("bitcost://{}", word_after(&said, "bitcost://")),
        })
    }

    /// A link for one more client.
    pub fn new_link(&self) -> Result<String> {
        let output = Command::new(&self.program)
            .args(["serve", "keys", "add", "--state"])
            .arg(&self.state)
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(format!("bitcost://{}", word_after(&said, "bitcost://")))
    }

    /// What its process holds now.
    pub fn held(&self) -> Result<Held> {
        let process = PathBuf::from(format!("/proc/{}", self.process.id()));
        let status = fs::read_to_string(process.join("status")).context("the service has ended")?;
        let figure = |name: &str| {
            let mut words = status
                .lines()
                .find_map(|line| line.strip_prefix(name))?
                .split_whitespace();
            words.next()?.parse().ok()
        };
        let parent = format!("PPid:\t{}\n", self.process.id());
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

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.process), Signal::TERM);
        let _ = self.process.wait();
    }
}

fn word_after<'a>(text: &'a str, before: &str) -> &'a str {
    let rest = text.split_once(before).map_or("", |(_, rest)| rest);
    let is_end = |letter: char| letter.is_whitespace() || ",;'".contains(letter);
    &rest[..rest.find(is_end).unwrap_or(rest.len())]
}
