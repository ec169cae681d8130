//! A folder in which bitcost is run, with its output, its log, and checks that nothing was left
//! behind.

use std::collections::BTreeMap;
pub use std::fs;
use std::fs::File;
use std::io::BufRead;
pub use std::io::{Read, Write};
pub use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
pub use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
pub use std::path::{Path, PathBuf};
pub use std::process::{Child, Command, Output, Stdio};
pub use std::thread;
pub use std::time::{Duration, Instant};

use bitcost_execute::ExecuteError;
use bitcost_execute::store::{End, LOG_NAME, LogFile};
pub use bitcost_model::conditions::Conditions;
pub use bitcost_model::event::Event;
use bitcost_model::plan::Plan;
pub use bitcost_model::protocol::{FromAgent, ToAgent};
pub use bitcost_model::record::EndpointRecord;
pub use bitcost_sys::netlink::Rtnl;
pub use bitcost_sys::process::effective_uid;
use bitcost_testkit::process::Family;
pub use bitcost_testkit::process::{eventually, within};
pub use bitcost_testkit::{assert_says, split};
use rustix::process::kill_process_group;
pub use rustix::process::{Pid, Signal, kill_process};
pub use serde_json::Value;

/// The whole log of an execution.
pub struct Log {
    pub events: Vec<Event>,
    pub end: End,
}

fn read_log(folder: &Path) -> Result<Log, ExecuteError> {
    let mut events = Vec::new();
    let end = LogFile::open(folder)?.read(&mut |_, event| events.push(event))?;
    Ok(Log { events, end })
}

/// A time longer than anything in these tests takes on a busy machine: after it a test fails
/// instead of waiting forever.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How often an execution is resumed if some of its runs measured nothing.
const TRIES: usize = 5;

/// Two cells, three blocks, short runs.
pub const SMALL: &str = r#"title = "Two message sizes"
question = "Does it work?"
[lab]
mtu_bytes = 1500
[workload]
warmup_s = 0.05
duration_s = 0.3
[[factor]]
name = "message_size_bytes"
levels = [512, 1024]
[run]
blocks = 3
"#;

/// [`SMALL`] over UDP.
pub fn small_udp() -> String {
    SMALL.replace("[workload]\n", "[workload]\nworkload = \"udp_stream\"\n")
}

/// An empty folder in which bitcost is run.
pub struct Bench {
    pub folder: tempfile::TempDir,
    pub family: Family,
    user: Option<u32>,
    variables: Vec<(&'static str, String)>,
}

impl Bench {
    /// For commands of the user who runs the tests.
    pub fn new() -> Bench {
        Bench {
            folder: tempfile::tempdir().unwrap(),
            family: Family::new(),
            user: None,
            variables: Vec::new(),
        }
    }

    /// Gives commands a variable of the environment, in whose value `FOLDER` stands for the folder.
    pub fn with(mut self, name: &'static str, value: &str) -> Bench {
        let value = value.replace("FOLDER", self.path().to_str().unwrap());
        self.variables.push((name, value));
        self
    }

    /// Has commands find the programs of the folder first.
    pub fn with_own_programs(self) -> Bench {
        let path = std::env::var("PATH").unwrap_or_default();
        self.with("PATH", &format!("FOLDER:{path}"))
    }

    /// For commands of another user, to whom the folder belongs.
    pub fn of_user(uid: u32) -> Bench {
        let bench = Bench {
            user: Some(uid),
            ..Bench::new()
        };
        std::os::unix::fs::chown(bench.path(), Some(uid), Some(uid)).unwrap();
        bench
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    /// The command bitcost in the folder, in a new process group, as a shell with job control
    /// starts it.
    pub fn command(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(words)
            .current_dir(self.path())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .process_group(0);
        if let Some(uid) = self.user {
            command.uid(uid).gid(uid);
        }
        self.family.adopt(&mut command);
        command
    }

    /// Starts a command; its output goes to files outside of the folder.
    pub fn start_program(&self, program: &Path, words: &[&str]) -> Running {
        let printed = tempfile::tempdir().unwrap();
        let file = |name: &str| File::create(printed.path().join(name)).unwrap();
        let mut command = self.command(program, words);
        let child = command
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .spawn()
            .unwrap();
        Running { child, printed }
    }

    pub fn start(&self, words: &[&str]) -> Running {
        self.start_program(&program(), words)
    }

    /// Runs bitcost to its end.
    pub fn bitcost(&self, words: &[&str]) -> Done {
        self.start(words).finish(PATIENCE)
    }

    /// The names of the entries of the folder.
    pub fn contents(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    /// The only execution in the folder.
    pub fn execution(&self) -> PathBuf {
        let executions = fs::read_dir(self.path().join("bitcost-runs")).unwrap();
        let mut paths: Vec<PathBuf> = executions.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(paths.len(), 1, "{paths:?}");
        paths.remove(0)
    }

    /// Its name, as a word of a command line.
    pub fn execution_name(&self) -> String {
        self.execution().to_str().unwrap().to_owned()
    }

    /// Writes the small study and starts it with these words.
    pub fn start_small(&self, text: &str, words: &[&str]) -> Running {
        self.write("small.toml", text);
        self.start(&[&["run", "small.toml", "--seed", "1"], words].concat())
    }

    /// The log of the only execution.
    pub fn log(&self) -> Log {
        read_log(&self.execution()).unwrap()
    }

    /// Waits until the log of this command has the start of this run, and a little longer, so that
    /// the run is under way.
    pub fn wait_for_run(&self, running: &Running, run: u32) {
        let is_it =
            |event: &Event| matches!(event, Event::RunBegan { run: begun, .. } if *begun == run);
        self.wait_for(running, |events| events.iter().any(is_it));
    }

    /// Waits in the same way for the first run after the execution was resumed.
    pub fn wait_for_resumed_run(&self, running: &Running) {
        let resumes = |event: &Event| matches!(event, Event::Resumed { .. });
        let begins = |event: &Event| matches!(event, Event::RunBegan { .. });
        self.wait_for(running, |events| {
            let mut since = events.iter().skip_while(|event| !resumes(event));
            since.any(begins)
        });
    }

    fn wait_for(&self, running: &Running, begins: impl Fn(&[Event]) -> bool) {
        let events = || {
            let mut folders = fs::read_dir(self.path().join("bitcost-runs")).ok()?;
            let folder = folders.next()?.ok()?.path();
            Some(read_log(&folder).ok()?.events)
        };
        let has_begun = within(PATIENCE, || {
            // To read the whole log takes a CPU for long.
            std::thread::sleep(Duration::from_millis(20));
            let is_over = !running.is_running();
            let has_begun = events().is_some_and(|events| begins(&events));
            (has_begun || is_over).then_some(has_begun)
        });
        assert_eq!(
            has_begun,
            Some(true),
            "the run begins; {} events: {}",
            events().map_or(0, |events| events.len()),
            running.stderr()
        );
        std::thread::sleep(Duration::from_millis(150));
    }

    /// Resumes the only execution until its end; returns the result. On a busy machine a run may
    /// measure nothing, and is repeated.
    pub fn resume(&self) -> Value {
        let folder = self.execution();
        let resume = || self.bitcost(&["run", "--json", "--resume", folder.to_str().unwrap()]);
        let mut done = resume();
        for _ in 1..TRIES {
            if done.code == Some(1) {
                done = resume();
            }
        }
        done.assert_code(0);
        done.json()
    }

    /// Asserts that no process that was started here is running.
    pub fn assert_nothing_left(&self) {
        eventually(PATIENCE, "every process is gone", || {
            self.family.members().is_empty().then_some(())
        });
    }
}

pub fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_bitcost"))
}

/// A command that runs; it is killed when dropped.
pub struct Running {
    child: Child,
    printed: tempfile::TempDir,
}

impl Running {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Whether the command is still running.
    pub fn is_running(&self) -> bool {
        let stat =
            fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        stat.rsplit(')')
            .next()
            .is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
    }

    /// Sends a signal to the command alone.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Sends a signal to the command's process group, as a terminal does for Ctrl-C.
    pub fn signal_group(&self, signal: Signal) {
        kill_process_group(self.pid(), signal).unwrap();
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.printed.path().join(name)).unwrap()
    }

    /// Its output on standard output so far.
    pub fn stdout(&self) -> String {
        self.file("stdout")
    }

    /// Its output on standard error so far.
    pub fn stderr(&self) -> String {
        self.file("stderr")
    }

    pub fn finish(mut self, limit: Duration) -> Done {
        let deadline = Instant::now() + limit;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                Instant::now() < deadline,
                "does not end within {limit:?}: {}",
                self.file("stderr")
            );
            std::thread::sleep(Duration::from_millis(5));
        };
        Done {
            code: status.code(),
            stdout: self.file("stdout"),
            stderr: self.file("stderr"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only for a process that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A text as one line, whatever it was folded at.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Ignores the trial if one of these programs is not installed.
pub fn need(programs: &[&str]) {
    let path = std::env::var("PATH").unwrap_or_default();
    let is_installed = |name: &str| path.split(':').any(|at| Path::new(at).join(name).exists());
    if let Some(missing) = programs.iter().find(|name| !is_installed(name)) {
        bitcost_testkit::ignore(&format!("{missing} is not installed"));
    }
}

/// What a program prints until it has said these words, which it must.
pub fn read_until(output: &mut impl BufRead, words: &str) -> String {
    let mut printed = String::new();
    while !printed.contains(words) {
        assert_ne!(output.read_line(&mut printed).unwrap(), 0, "{printed}");
    }
    printed
}

#[derive(Debug)]
pub struct Done {
    /// The exit code; absent if a signal ended the command.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    /// Asserts that the command ended with this exit code.
    pub fn assert_code(&self, code: i32) {
        assert_eq!(self.code, Some(code), "{}\n{}", self.stderr, self.stdout);
    }

    /// The same command, which must have ended with this exit code.
    #[track_caller]
    pub fn with_code(self, code: i32) -> Done {
        self.assert_code(code);
        self
    }

    /// The median of a metric in the first cell of the result.
    pub fn figure(&self, name: &str) -> f64 {
        let document = self.json();
        let median = document["cells"][0][name]["median"].as_f64();
        median.unwrap_or_else(|| panic!("no {name}: {document:#}"))
    }

    /// Asserts that its standard error has this text.
    #[track_caller]
    pub fn assert_says(&self, text: &str) {
        assert!(self.stderr.contains(text), "{}", self.stderr);
    }

    /// Asserts that its standard output has this text.
    #[track_caller]
    pub fn assert_prints(&self, text: &str) {
        assert!(self.stdout.contains(text), "{}", self.stdout);
    }

    /// The records of the sender and of the receiver in the document of `--json --samples`.
    pub fn records(&self) -> [EndpointRecord; 2] {
        let document = self.json();
        let end = |name: &str| document["records"][0][name].clone();
        ["sender", "receiver"].map(|name| serde_json::from_value(end(name)).unwrap())
    }

    /// Standard output as one JSON document.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", self.stdout))
    }
}

/// Sends a signal to a process that is not a child of this one.
pub fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

pub fn plan(log: &Log) -> &Plan {
    let mut plans = log.events.iter().filter_map(|event| match event {
        Event::Planned { plan } => Some(plan),
        _ => None,
    });
    plans.next().unwrap()
}

/// A run that has a result.
pub struct Ended {
    pub cell: usize,
    pub conditions: Conditions,
    /// The records of the sender and of the receiver.
    pub ends: [Box<EndpointRecord>; 2],
}

/// The runs that have a result, in the order in which they ended.
pub fn ended(log: &Log) -> Vec<Ended> {
    let ended = |event: &Event| match event {
        Event::RunEnded {
            run,
            sender,
            receiver,
            ..
        } => {
            let cell = plan(log).runs[*run as usize].cell;
            Some(Ended {
                cell,
                conditions: plan(log).cells[cell].conditions.clone(),
                ends: [sender.clone(), receiver.clone()],
            })
        }
        _ => None,
    };
    log.events.iter().filter_map(ended).collect()
}

/// A setting as an endpoint reports it: as requested, and in effect; empty where there is none.
pub fn in_effect(end: &EndpointRecord, name: &str) -> Option<[String; 2]> {
    let row = end.in_effect.iter().find(|row| row.name == name)?;
    let values = [row.requested.clone(), row.actual.clone()];
    Some(values.map(Option::unwrap_or_default))
}

/// The runs that have failed, with their reasons.
pub fn failed(log: &Log) -> BTreeMap<u32, String> {
    let failed = |event: &Event| match event {
        Event::RunFailed { run, reason, .. } => Some((*run, reason.clone())),
        _ => None,
    };
    log.events.iter().filter_map(failed).collect()
}

/// How many runs each cell of a result has.
pub fn runs_per_cell(document: &Value) -> Vec<u64> {
    let cells = document["cells"].as_array().unwrap().iter();
    cells.map(|cell| cell["runs"].as_u64().unwrap()).collect()
}

pub fn log_file(execution: &Path) -> PathBuf {
    execution.join(LOG_NAME)
}

/// A line without its checksum.
pub fn unsealed(mut event: Value) -> String {
    event.as_object_mut().unwrap().remove("checksum");
    event.to_string()
}
