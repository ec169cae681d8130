//! A case that stands: its namespaces, the service in one of them, and tests from another. All of it is gone when it is dropped.
//! One stands on a machine at a time, since their namespaces have the same names.

use std::fs::{self, File, Permissions, TryLockError};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bitcost_model::shell::shell_word;
use bitcost_testkit::process::within;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tempfile::TempDir;

use super::case::Own;
use crate::programs::{link_in, output, stop_flag};

/// The prefix of the namespaces.
const PREFIX: &str = "xtcase";

/// In place of ssh: a host is the namespace of its name.
const SSH: &str = r#"#!/bin/sh
while [ "$2" != -- ]; do shift; done
exec ip netns exec "$1" sh -c "$3"
"#;

/// The file that the one that has cases stand holds.
const LOCK: &str = "/run/xtcase.lock";

/// What the cases of a call share.
pub struct Field {
    program: PathBuf,
    /// Where scripts keep the programs that they compile.
    tools: TempDir,
    stop: Arc<AtomicBool>,
    _lock: File,
}

impl Field {
    /// Takes this machine for cases that are judged with this bitcost.
    pub fn take(program: PathBuf) -> Result<Field> {
        let lock = File::create(LOCK).context(LOCK)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("another `cargo xtask cases` runs on this machine")
            }
            Err(TryLockError::Error(error)) => return Err(error).context(LOCK),
        }
        let tools = tempfile::tempdir()?;
        fs::create_dir(tools.path().join("ssh"))?;
        let ssh = tools.path().join("ssh/ssh");
        fs::write(&ssh, SSH)?;
        fs::set_permissions(ssh, Permissions::from_mode(0o755))?;
        // The program that the other end has, too.
        symlink(program.canonicalize()?, tools.path().join("ssh/bitcost"))?;
        Ok(Field {
            program,
            tools,
            stop: stop_flag()?,
            _lock: lock,
        })
    }

    /// An error where a signal ends this program.
    pub fn go_on(&self) -> Result<()> {
        ensure!(!self.stop.load(Ordering::Relaxed), "stopped");
        Ok(())
    }
}

pub struct Stand<'a> {
    own: &'a Own,
    field: &'a Field,
    place: TempDir,
    service: Option<Group>,
}

/// A process and its children, which end when it is dropped.
struct Group(Child);

impl Group {
    fn start(command: &mut Command) -> Result<Group> {
        let command = command.process_group(0).stdin(Stdio::null());
        Ok(Group(command.stderr(Stdio::null()).spawn()?))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Both fail only for what has ended.
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

impl<'a> Stand<'a> {
    /// The case alone, without the service.
    pub fn bare(own: &'a Own, field: &'a Field) -> Result<Stand<'a>> {
        field.go_on()?;
        let stand = Stand {
            own,
            field,
            place: tempfile::tempdir()?,
            service: None,
        };
        stand.script("down")?;
        stand.script("up")?;
        Ok(stand)
    }

    pub fn up(own: &'a Own, field: &'a Field) -> Result<Stand<'a>> {
        let mut stand = Stand::bare(own, field)?;
        let address = own.test.split(' ').nth(1).unwrap_or_default();
        let words = format!("serve {address} --state service --allow-settings sysctl,offloads");
        let mut serve = stand.bitcost("b", &own.server, &words);
        let printed = serve.stdout(File::create(stand.place.path().join("service.txt"))?);
        stand.service = Some(Group::start(printed)?);
        Ok(stand)
    }

    /// Runs a script of the case.
    pub fn script(&self, name: &str) -> Result<()> {
        output(&mut self.shell(&format!("cd '{{folder}}'; ./{name}.sh {{P}}"))).map(drop)
    }

    /// A line of shell in a folder that goes with the case, where programs keep what they keep.
    fn shell(&self, line: &str) -> Command {
        let folder = self.own.folder.display().to_string();
        let line = line.replace("{P}", PREFIX).replace("{folder}", &folder);
        let mut command = Command::new("timeout");
        command.args(["--foreground", "-k5", "300", "bash", "-c", &line]);
        for variable in ["HOME", "BITCOST_STATE_DIR"] {
            command.env(variable, self.place.path());
        }
        command.env("TMPDIR", self.field.tools.path());
        command.current_dir(&self.place);
        command
    }

    /// bitcost in a namespace, after a line of shell in the same process.
    fn bitcost(&self, namespace: &str, first: &str, words: &str) -> Command {
        let namespace = format!("ip netns exec {PREFIX}{namespace}");
        self.shell(&format!(
            "{first}\nexec {namespace} {} {words}",
            shell_word(&self.field.program.display().to_string())
        ))
    }

    /// The link that the service prints.
    fn link(&self) -> Option<String> {
        link_in(&fs::read_to_string(self.place.path().join("service.txt")).ok()?)
    }

    /// Runs a command of a remedy as root at its host, or at both.
    pub fn apply(&self, remedy: &Value) -> Result<()> {
        let namespaces: &[&str] = match remedy["host"].as_str() {
            Some("sender") => &["a"],
            Some("receiver") => &["b"],
            _ => &["a", "b"],
        };
        let command = remedy["command"].as_str().unwrap_or_default();
        namespaces.iter().try_for_each(|namespace| {
            let shell = format!(
                "ip netns exec {PREFIX}{namespace} sh -c {}",
                shell_word(command)
            );
            output(&mut self.shell(&shell)).map(drop)
        })
    }

    /// Runs the programs of the case for some seconds, and bitcost with these words in a namespace some seconds after they began.
    pub fn explain(&self, run: u32, before: u64, (namespace, words): (&str, &str)) -> Result<()> {
        let traffic = format!("cd '{{folder}}'; exec ./traffic.sh {{P}} {run}");
        let programs = Group::start(self.shell(&traffic).stdout(Stdio::null()))?;
        thread::sleep(Duration::from_secs(before));
        let first = format!("PATH={}/ssh:$PATH", self.field.tools.path().display());
        let explained = output(&mut self.bitcost(namespace, &first, words)).map(drop);
        drop(programs);
        self.field.go_on()?;
        explained
    }

    /// The words for the end in the other namespace.
    pub fn at_other(&self, namespace: &str) -> String {
        let other = if namespace == "a" { "b" } else { "a" };
        format!(" --at {PREFIX}{other}")
    }

    /// The document of the only log in a folder.
    pub fn shown(&self, folder: &str) -> Result<String> {
        output(&mut self.bitcost("a", "", &format!("show {folder}/* --json")))
    }

    /// The document of a test with these words and its seconds, by the service's link instead of its address, beside what
    /// competes.
    pub fn test(&self, words: &str) -> Result<(Value, f64)> {
        self.field.go_on()?;
        let link = within(Duration::from_secs(10), || self.link());
        let link = link.context("the service prints no link")?;
        let words: Vec<&str> = words.splitn(3, ' ').collect();
        let words = format!("test {} '{link}' {} --json --out logs", words[0], words[2]);
        // An empty line ends at once.
        let beside = Group::start(self.shell(&self.own.beside).stdout(Stdio::null()))?;
        thread::sleep(Duration::from_secs(1));
        let began = Instant::now();
        let output = self.bitcost("a", &self.own.client, &words).output()?;
        let seconds = began.elapsed().as_secs_f64();
        drop(beside);
        self.field.go_on()?;
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or_default();
        let document = serde_json::from_slice(&output.stdout);
        Ok((document.with_context(|| last.to_owned())?, seconds))
    }
}

impl Drop for Stand<'_> {
    fn drop(&mut self) {
        drop(self.service.take());
        if let Err(error) = self.script("down") {
            eprintln!("{error:#}");
        }
    }
}
