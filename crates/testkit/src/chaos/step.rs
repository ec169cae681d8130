//! Names the effect of a system call on the settings of a host.

use std::collections::HashMap;
use std::fmt;
use std::fs;

use nix::libc;
use nix::unistd::Pid;

use crate::chaos::trace::Call;
use crate::process::words as words_of;

/// A kind of process of bitcost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    Controller,
    Agent,
    Watchdog,
    /// `bitcost host restore`.
    Restore,
}

impl Who {
    const ALL: [Who; 4] = [Who::Controller, Who::Agent, Who::Watchdog, Who::Restore];

    /// Its command on the command line, and its name.
    fn names(self) -> [&'static str; 2] {
        match self {
            Who::Controller => ["test", "controller"],
            Who::Agent => ["agent", "agent"],
            Who::Watchdog => ["host-watchdog", "watchdog"],
            Who::Restore => ["host", "host restore"],
        }
    }

    pub fn verb(self) -> &'static str {
        self.names()[0]
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.names()[1])
    }
}

/// A step: the action that a process is about to take. A repeated one has a number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Step {
    pub who: Who,
    /// The action, as the rest of a sentence whose subject is the process.
    pub what: String,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.who, self.what)
    }
}

/// Gives calls their names, in the order in which they are made.
#[derive(Debug, Default)]
pub struct Names {
    processes: HashMap<Pid, Option<Who>>,
    /// The last line that each process wrote to the journal.
    written: HashMap<Pid, String>,
    counts: HashMap<Step, u32>,
}

impl Names {
    /// The step of a call; `None` for one that changes neither settings nor the journal.
    pub fn step(&mut self, call: &Call) -> Option<Step> {
        if call.number == libc::SYS_execve {
            self.processes.remove(&call.process);
            return None;
        }
        let what = self.what(call)?;
        // A process that has not executed bitcost yet may do so later.
        let who = match self.processes.get(&call.process) {
            Some(Some(who)) => *who,
            _ => {
                let who = who(call.process);
                self.processes.insert(call.process, who);
                who?
            }
        };
        let mut step = Step { who, what };
        let count = self.counts.entry(step.clone()).or_default();
        *count += 1;
        if *count > 1 {
            step.what += &format!(" #{count}");
        }
        Some(step)
    }

    fn what(&mut self, call: &Call) -> Option<String> {
        let last = |names: &Names| {
            names
                .written
                .get(&call.process)
                .cloned()
                .unwrap_or_default()
        };
        match call.number {
            libc::SYS_write => self.write(call),
            libc::SYS_sendto => netlink(call),
            libc::SYS_fsync | libc::SYS_fdatasync if is_journal(&call.file()) => {
                Some(format!("syncs {}", last(self)))
            }
            libc::SYS_fsync => Some("syncs the folder".to_owned()),
            libc::SYS_ftruncate if is_journal(&call.file()) => {
                Some(format!("shortens after {}", last(self)))
            }
            number if is_removal(number) => Some("removes the journal".to_owned()),
            _ => None,
        }
    }

    fn write(&mut self, call: &Call) -> Option<String> {
        let file = call.file();
        if let Some(name) = file.strip_prefix("/proc/sys/") {
            return Some(format!("sets {}", name.replace('/', ".")));
        }
        if let Some((_, map)) = file.split_once("/queues/") {
            return Some(format!("sets {}", map.replace('/', " ")));
        }
        let text = String::from_utf8_lossy(&call.bytes()).into_owned();
        if is_journal(&file) {
            let words = words(&text)?;
            self.written.insert(call.process, words.clone());
            return Some(format!("writes {words}"));
        }
        if call.is_of_descriptor(1) {
            let is_answer = text.starts_with("\"written\"") || text.starts_with("{\"refused\"");
            let last = self.written.get(&call.process)?;
            return is_answer.then(|| format!("answers {last}"));
        }
        words(&text).map(|words| format!("asks for {words}"))
    }
}

fn is_journal(file: &str) -> bool {
    file.ends_with(".journal")
}

fn is_removal(number: i64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if number == libc::SYS_unlink {
        return true;
    }
    number == libc::SYS_unlinkat
}

fn who(process: Pid) -> Option<Who> {
    let line = words_of(process.as_raw().unsigned_abs(), "cmdline");
    let verb = line.get(1)?;
    Who::ALL.into_iter().find(|who| who.verb() == verb)
}

/// The content of a line of the journal, or of a message from an agent to its watchdog: "intent 3".
fn words(text: &str) -> Option<String> {
    let kind = ["header", "intent", "made", "settled", "folder"]
        .into_iter()
        .find(|kind| {
            text.split(':')
                .take(2)
                .any(|part| part.ends_with(&format!("{{\"{kind}\"")))
        })?;
    if kind == "folder" {
        return Some("a journal".to_owned());
    }
    let (_, after) = text
        .split_once(if kind == "settled" {
            "\"settled\":"
        } else {
            "\"number\":"
        })
        .unwrap_or_default();
    let number: String = after.chars().take_while(char::is_ascii_digit).collect();
    Some(format!("{kind} {number}").trim_end().to_owned())
}

/// The change that a netlink request makes; `None` for one that only reads.
fn netlink(call: &Call) -> Option<String> {
    let bytes = call.bytes();
    let number = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let kind = number(4)?;
    let what = match protocol(call)? {
        ROUTE => match kind {
            16 | 19 => "the link",
            20 => "the address",
            24 => "the route",
            36 => "the qdisc",
            37 => "removal of the qdisc",
            40 => "the class of the qdisc",
            _ => return None,
        },
        GENERIC if kind > CONTROLLER => match bytes.get(16)? {
            12 => "the features",
            18 => "the channels",
            20 => "the coalescing",
            _ => return None,
        },
        _ => return None,
    };
    Some(format!("sets {what}"))
}

/// `NETLINK_ROUTE`, `NETLINK_GENERIC`, and the family that names the others.
const ROUTE: u32 = 0;
const GENERIC: u32 = 16;
const CONTROLLER: u16 = 16;

/// The netlink protocol of the socket of a call; `None` if the socket is of another family.
fn protocol(call: &Call) -> Option<u32> {
    let file = call.file();
    let inode = file.strip_prefix("socket:[")?.strip_suffix(']')?;
    let table = fs::read_to_string(format!("/proc/{}/net/netlink", call.process)).ok()?;
    let row = table
        .lines()
        .find(|line| line.split_ascii_whitespace().last() == Some(inode))?;
    row.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journal_lines_have_words() {
        for (text, wanted) in [
            (r#"{"header":{"format":1"#, Some("header")),
            (
                r#"{"intent":{"number":3,"knob":"sysctl","subject":"#,
                Some("intent 3"),
            ),
            (r#"{"step":{"made":{"number":12,"knob""#, Some("made 12")),
            (r#"{"step":{"settled":4}}"#, Some("settled 4")),
            (r#"{"folder":"/x","agent_pid":1"#, Some("a journal")),
            ("\"renewed\"\n", None),
            ("\"written\"\n", None),
        ] {
            assert_eq!(words(text).as_deref(), wanted, "{text}");
        }
    }
}
