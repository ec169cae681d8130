//! The lab as the rest of the program sees it: up, its hosts, programs in them, down.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sys::process::{NamespaceEntry, enter_before_exec};

use model::shaping::QueueLimit;
use model::topology::Topology;
use serde::Serialize;

use crate::protocol::{Answer, Host, Order, Ready, Request, read_line};
use crate::{Door, LabError};

/// The hidden verb with which the program must call [`crate::holder::main`].
pub const HOLDER_VERB: &str = "lab-holder";

const ANSWER_LIMIT: Duration = Duration::from_secs(5);
const EXIT_LIMIT: Duration = Duration::from_secs(2);
const EXIT_POLL: Duration = Duration::from_millis(1);

/// A lab that stands. Dropping it takes it down.
#[derive(Debug)]
pub struct Lab {
    holder: Holder,
    ready: Ready,
}

impl Lab {
    /// Builds a lab, held by `program` (in production `/proc/self/exe`) run as `lab-holder`.
    ///
    /// The calling *thread* must live as long as the lab: the kernel kills the holder with the
    /// thread that started it. Takes milliseconds; gives up after 5 s.
    pub fn up(program: &Path, topology: &Topology) -> Result<Self, LabError> {
        Self::build(program, topology, false)
    }

    /// As [`Lab::up`], and open to programs that others start through [`Lab::door`]; `program` is run as `lab-programs` too.
    pub fn up_for_visitors(program: &Path, topology: &Topology) -> Result<Self, LabError> {
        Self::build(program, topology, true)
    }

    fn build(program: &Path, topology: &Topology, has_visitors: bool) -> Result<Self, LabError> {
        topology.check()?;
        let holder = Holder::start(program)?;
        let request = Request { controller_pid: std::process::id(), topology: topology.clone(), has_visitors };
        match holder.ask(&request)? {
            Answer::Ready(ready) => Ok(Self { holder, ready }),
            Answer::Failed(error) => Err(error),
            Answer::Done => Err(LabError::holder("it answered what was not asked; use one version of bitcost")),
        }
    }

    /// Gives every queue that delays this limit, or its own again where it is `None`, and lets the chances of delay lines begin
    /// anew.
    pub fn limit_queues(&self, limit: Option<QueueLimit>) -> Result<(), LabError> {
        match self.holder.ask(&Order::LimitQueues(limit))? {
            Answer::Failed(error) => Err(error),
            Answer::Done | Answer::Ready(_) => Ok(()),
        }
    }

    /// The file into which the counters of the delay lines are written; `None` where there are none.
    pub fn lines_file(&self) -> Option<PathBuf> {
        Some(PathBuf::from(format!("/proc/{}/fd/{}", self.holder_pid(), self.ready.lines_fd?)))
    }

    /// The hosts, in the order of the topology.
    pub fn hosts(&self) -> &[Host] {
        &self.ready.hosts
    }

    /// Every node but these, with a file that refers to its network namespace while the lab stands.
    pub fn nodes_but(&self, hosts: &[&str]) -> Vec<(String, PathBuf)> {
        let path = |fd: i32| PathBuf::from(format!("/proc/{}/fd/{fd}", self.holder_pid()));
        let others = self.ready.nodes.iter().filter(|(name, _)| !hosts.contains(&name.as_str()));
        others.map(|(name, fd)| (name.clone(), path(*fd))).collect()
    }

    /// What the kernel does not have of the links, a sentence each.
    pub fn notes(&self) -> &[String] {
        &self.ready.notes
    }

    /// The host of this name.
    pub fn host(&self, name: &str) -> Result<&Host, LabError> {
        let known = || self.hosts().iter().map(|host| host.name.clone()).collect();
        let host = self.hosts().iter().find(|host| host.name == name);
        host.ok_or_else(|| LabError::NoSuchHost { asked: name.to_owned(), known: known() })
    }

    /// The way in for programs of others; `None` where the lab is not for them.
    pub fn door(&self) -> Option<Door> {
        let Ready { user_namespace, nodes, programs_pid, .. } = &self.ready;
        let (user_namespace, programs_pid) = (*user_namespace, (*programs_pid)?);
        let nodes = nodes.iter().cloned().collect();
        Some(Door { holder_pid: self.holder_pid(), programs_pid, user_namespace, nodes })
    }

    /// Whether the lab still stands; it does not where its holder was killed.
    pub fn stands(&mut self) -> bool {
        matches!(self.holder.child.try_wait(), Ok(None))
    }

    /// The process id of the holder.
    pub fn holder_pid(&self) -> u32 {
        self.holder.child.id()
    }

    /// Makes `command` start its program in a host, as root of the lab, in a process group of its
    /// own, and die with the thread that spawns it.
    pub fn command_in(&self, host: &str, command: &mut Command) -> Result<(), LabError> {
        let net = self.open(&format!("fd/{}", self.host(host)?.netns_fd))?;
        let user = if self.ready.user_namespace { Some(self.open("ns/user")?) } else { None };
        enter_before_exec(command, NamespaceEntry { user, net });
        Ok(())
    }

    fn open(&self, of_holder: &str) -> Result<OwnedFd, LabError> {
        let path = format!("/proc/{}/{of_holder}", self.holder_pid());
        match File::open(&path) {
            Ok(file) => Ok(file.into()),
            Err(error) => {
                Err(LabError::holder(format!("cannot open {path}: {error}; the lab is gone, build it again")))
            }
        }
    }
}

/// The holder as a child process; dropping it ends it.
#[derive(Debug)]
struct Holder {
    child: Child,
    pipes: Mutex<Pipes>,
}

#[derive(Debug)]
struct Pipes {
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
}

impl Holder {
    fn start(program: &Path) -> Result<Self, LabError> {
        let spawned = Command::new(program)
            .arg(HOLDER_VERB)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut child = spawned
            .map_err(|error| LabError::holder(format!("cannot start {} {HOLDER_VERB}: {error}", program.display())))?;
        let pipes = Mutex::new(Pipes { input: child.stdin.take(), output: child.stdout.take() });
        Ok(Self { child, pipes })
    }

    fn ask(&self, request: &impl Serialize) -> Result<Answer, LabError> {
        let limit_s = ANSWER_LIMIT.as_secs();
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::TimedOut => LabError::holder(format!("no answer within {limit_s} s; try again")),
            std::io::ErrorKind::UnexpectedEof => LabError::holder("it ended without an answer; see its messages above"),
            _ => LabError::holder(format!("cannot speak with its process: {error}")),
        };
        let mut line = serde_json::to_vec(request).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        let gone = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        pipes.input.as_mut().ok_or_else(|| failed(gone()))?.write_all(&line).map_err(failed)?;
        let output = pipes.output.as_mut().ok_or_else(|| failed(gone()))?;
        let answer = read_line(output, ANSWER_LIMIT).map_err(failed)?;
        serde_json::from_str(&answer).map_err(|error| failed(error.into()))
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.pipes.lock().unwrap_or_else(PoisonError::into_inner).input.take());
        let deadline = Instant::now() + EXIT_LIMIT;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(EXIT_POLL);
        }
        // Both fail only for a process that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
