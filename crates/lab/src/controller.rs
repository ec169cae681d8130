//! The lab as the rest of the program uses it: starting it, its hosts, programs in them, taking it
//! down.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bitcost_sys::namespace::{Kind, is_in};
use bitcost_sys::process::{OWN_PROGRAM, end, enter_before_exec, read_line};

use bitcost_model::shaping::Shaping;
use bitcost_model::topology::Topology;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::LabError;
use crate::entry::open;
use crate::protocol::{Host, Ready, Request, Set};
use crate::state::State;

/// The hidden command on which the program must call [`crate::daemon::main`].
pub const DAEMON_VERB: &str = "lab-daemon";

const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// What a node or a link of a large lab adds to that.
const ANSWER_LIMIT_EACH: Duration = Duration::from_millis(20);
const EXIT_LIMIT: Duration = Duration::from_secs(2);

/// A running lab. Dropping it takes it down, unless another process holds it.
#[derive(Debug)]
pub struct Lab {
    /// The daemon; `None` where it is that of another process.
    daemon: Option<Daemon>,
    ready: Ready,
}

impl Lab {
    /// Builds a lab, held by this program run as `lab-daemon`.
    ///
    /// The calling *thread* must live as long as the lab: the kernel kills the daemon with the
    /// thread that started it. Takes milliseconds; gives up after 5 s, and 20 ms for
    /// each node and link.
    pub fn up(topology: &Topology) -> Result<Self, LabError> {
        Self::build(topology, &[], false, Stdio::inherit())
    }

    /// As [`Lab::up`], and open to programs that other processes start
    /// ([`crate::state::State::enter`]); this program is run as `lab-processes` too. The links of the
    /// devices in `emulate` can be delayed later where the kernel has no netem. The process that holds
    /// it prints to `messages` as long as the lab is there.
    pub fn up_enterable(
        topology: &Topology,
        emulate: &[String],
        messages: Stdio,
    ) -> Result<Self, LabError> {
        Self::build(topology, emulate, true, messages)
    }

    fn build(
        topology: &Topology,
        emulate: &[String],
        is_enterable: bool,
        messages: Stdio,
    ) -> Result<Self, LabError> {
        topology.check()?;
        let daemon = Daemon::start(messages)?;
        let request = Request {
            controller_pid: std::process::id(),
            topology: topology.clone(),
            emulate: emulate.to_vec(),
            is_enterable,
        };
        let parts = (topology.nodes.len() + topology.links.len()) as u32;
        let ready = daemon.ask(&request, ANSWER_LIMIT + ANSWER_LIMIT_EACH * parts)?;
        Ok(Self {
            daemon: Some(daemon),
            ready,
        })
    }

    /// The lab that another process holds, as that process built it.
    pub(crate) fn of_another(ready: Ready) -> Lab {
        Lab {
            daemon: None,
            ready,
        }
    }

    /// Changes what these devices do to packets that leave by them, at the time `at` (RFC 3339),
    /// and reads it back. The random numbers of link emulators restart. Returns a sentence for each
    /// thing to know.
    ///
    /// # Errors
    /// When one of them cannot be changed; all are then as they were.
    pub fn set(&self, at: &str, wanted: &[(String, Shaping)]) -> Result<Vec<String>, LabError> {
        let held = self.daemon.as_ref();
        let daemon = held.ok_or_else(|| LabError::daemon("another process holds this lab"))?;
        let order = Set {
            at: at.to_owned(),
            wanted: wanted.to_vec(),
        };
        daemon.ask(&order, ANSWER_LIMIT)
    }

    /// The file with the counters of the link emulators; `None` when there are none.
    pub fn emulator_counters(&self) -> Option<PathBuf> {
        Some(self.ready.file(self.ready.emulators_fd?))
    }

    pub fn hosts(&self) -> &[Host] {
        &self.ready.hosts
    }

    /// Every node but these, with a file that refers to its network namespace while the lab is
    /// running.
    pub fn nodes_but(&self, hosts: &[&str]) -> Vec<(String, PathBuf)> {
        let nodes = self.ready.nodes.iter();
        let others = nodes.filter(|(name, _)| !hosts.contains(&name.as_str()));
        others
            .map(|(name, fd)| (name.clone(), self.ready.file(*fd)))
            .collect()
    }

    /// The features of the links that the kernel does not support, one sentence each.
    pub fn notes(&self) -> &[String] {
        &self.ready.notes
    }

    pub fn host(&self, name: &str) -> Result<&Host, LabError> {
        let host = self.hosts().iter().find(|host| host.name == name);
        let known = self.hosts().iter().map(|host| host.name.as_str());
        host.ok_or_else(|| LabError::no_host(name, known))
    }

    /// The present state of a lab that [`Lab::up_enterable`] started.
    pub fn state(&self) -> Result<State, LabError> {
        let file = self.ready.state_file();
        let missing = || LabError::daemon("it passed no file of its state");
        State::read(&file.ok_or_else(missing)?)
    }

    /// Whether the lab is still running; it is not when its daemon was killed.
    pub fn is_running(&mut self) -> bool {
        match &mut self.daemon {
            Some(daemon) => matches!(daemon.child.try_wait(), Ok(None)),
            None => fs::exists(format!("/proc/{}", self.ready.daemon_pid)).unwrap_or(false),
        }
    }

    /// The process id of the daemon in `/proc`.
    pub fn daemon_pid(&self) -> u32 {
        self.ready.daemon_pid
    }

    /// Makes `command` start its program in a host, as root of the lab, in a new process group, and
    /// die with the thread that spawns it.
    pub fn command_in(&self, host: &str, command: &mut Command) -> Result<(), LabError> {
        let pid = self.daemon_pid();
        let net = open(pid, &format!("fd/{}", self.host(host)?.netns_fd))?;
        let path = format!("/proc/{pid}/ns/user");
        // Programs in the lab's nodes are in its user namespace already.
        let is_inside = || {
            is_in(Path::new(&path), Kind::User)
                .map_err(|error| LabError::daemon(format!("cannot open {path}: {error}")))
        };
        let user = match self.ready.user_namespace && !is_inside()? {
            true => Some(open(pid, "ns/user")?),
            false => None,
        };
        enter_before_exec(command, user, net);
        Ok(())
    }
}

/// The daemon as a child process; dropping it ends it.
#[derive(Debug)]
struct Daemon {
    child: Child,
    pipes: Mutex<Pipes>,
}

#[derive(Debug)]
struct Pipes {
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    /// Answers still to come, also to earlier requests.
    owed: usize,
}

impl Daemon {
    fn start(messages: Stdio) -> Result<Self, LabError> {
        let spawned = Command::new(OWN_PROGRAM)
            .arg(DAEMON_VERB)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(messages)
            .process_group(0)
            .spawn();
        let mut child = spawned.map_err(|error| {
            LabError::daemon(format!("cannot start {OWN_PROGRAM} {DAEMON_VERB}: {error}"))
        })?;
        let pipes = Mutex::new(Pipes {
            input: child.stdin.take(),
            output: child.stdout.take(),
            owed: 0,
        });
        Ok(Self { child, pipes })
    }

    fn ask<T: DeserializeOwned>(
        &self,
        request: &impl Serialize,
        limit: Duration,
    ) -> Result<T, LabError> {
        let limit_s = limit.as_secs();
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::TimedOut => {
                LabError::daemon(format!("no answer within {limit_s} s; try again"))
            }
            std::io::ErrorKind::UnexpectedEof => {
                LabError::daemon("it ended without an answer; see its messages above")
            }
            _ => LabError::daemon(format!("cannot communicate with its process: {error}")),
        };
        let mut line = serde_json::to_vec(request).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        let gone = || std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        let pipes = &mut *pipes;
        pipes
            .input
            .as_mut()
            .ok_or_else(|| failed(gone()))?
            .write_all(&line)
            .map_err(failed)?;
        let output = pipes.output.as_mut().ok_or_else(|| failed(gone()))?;
        pipes.owed += 1;
        let mut answers = String::new();
        // Those before the last came too late for their requests.
        while pipes.owed > 0 {
            answers = read_line(output, limit).map_err(failed)?;
            pipes.owed = pipes.owed.saturating_sub(answers.lines().count());
        }
        let answer = answers.lines().next_back().unwrap_or_default();
        serde_json::from_str::<Result<T, LabError>>(answer).map_err(|error| failed(error.into()))?
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(
            self.pipes
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .input
                .take(),
        );
        end(&mut self.child, EXIT_LIMIT);
    }
}
