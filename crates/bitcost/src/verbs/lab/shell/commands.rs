//! The commands of the lab's shell.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use bitcost_execute::requests::Requests;
use bitcost_lab::Topology;
use bitcost_lab::registry::Description;
use bitcost_model::Invalid;
use bitcost_model::near::did_you_mean;
use bitcost_model::shell::split_words;
use bitcost_model::units::counted;
use bitcost_sys::process::OWN_PROGRAM;

use super::super::{running::running, set, show};
use crate::failure::Failure;
use crate::{foreign, output};

pub enum Next {
    Line,
    End,
}

const COMMANDS: &[(&str, &str)] = &[
    (
        "NODE PROGRAM …",
        "runs a program in a node, such as h1 ping -c 3 h2, h1 bitcost test tcp h2",
    ),
    (
        "show",
        "draws the lab as it now is, with its changes; also nodes, links, net and dump",
    ),
    (
        "set DEVICE KEY=VALUE …",
        "changes a link, such as set s1-eth2 delay=20ms",
    ),
    ("pingall", "pings every host from every other one"),
    (
        "iperf [FROM TO]",
        "measures TCP from one host to another, as NODE bitcost test tcp does",
    ),
    ("help", "prints this list"),
    ("exit", "leaves the shell; the lab keeps running"),
];

/// Executes a line that is not empty.
pub fn execute(
    lab: &str,
    line: &str,
    is_terminal: bool,
    interrupted: &AtomicBool,
) -> Result<Next, Failure> {
    let lab = running(lab)?;
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let topology = &lab.state.topology;
    let shell = Shell {
        lab: &lab,
        is_terminal,
    };
    match word {
        "exit" | "quit" => return Ok(Next::End),
        "help" | "?" => output::print(&help())?,
        "show" | "nodes" | "links" | "net" | "dump" => output::print(&show::text(&lab))?,
        "set" => set::apply(&lab, &split(rest)?)?,
        "pingall" => shell.ping_all(interrupted)?,
        "iperf" => shell.iperf(rest)?,
        node if topology.node(node).is_some() => match rest.trim() {
            "" => {
                let why = format!("write a program after {node}, such as: {node} ip address");
                return Err(Failure::Usage(why));
            }
            rest => shell.run(node, ["sh", "-c", rest])?,
        },
        unknown => return Err(Failure::Usage(unknown_command(unknown, topology))),
    }
    Ok(Next::Line)
}

fn unknown_command(word: &str, topology: &Topology) -> String {
    if let Some(here) = foreign::of_prompt(word) {
        return format!("Mininet's `{word}` is {here}");
    }
    let commands = COMMANDS.iter().skip(1);
    let commands = commands.filter_map(|(usage, _)| usage.split(' ').next());
    let nodes = topology.nodes.iter().map(|node| node.name.as_str());
    let known: Vec<&str> = commands.chain(nodes).collect();
    format!(
        "`{word}` is neither a command nor a node{}; help lists the commands, show the nodes",
        did_you_mean(word, known)
    )
}

fn help() -> String {
    let widest = COMMANDS
        .iter()
        .map(|(usage, _)| usage.chars().count())
        .max();
    let width = widest.unwrap_or_default();
    let lines = COMMANDS
        .iter()
        .map(|(usage, about)| format!("{usage:<width$}  {about}\n"));
    lines.collect()
}

struct Shell<'a> {
    lab: &'a Description,
    is_terminal: bool,
}

impl Shell<'_> {
    fn command<'w>(&self, node: &str, words: impl IntoIterator<Item = &'w str>) -> Command {
        let mut command = Command::new(OWN_PROGRAM);
        command
            .args(["lab", "exec", "--lab", &self.lab.name, node, "--"])
            .args(words);
        if !self.is_terminal {
            // The script is not the input of its programs.
            command.stdin(Stdio::null());
        }
        command
    }

    fn run<'w>(&self, node: &str, words: impl IntoIterator<Item = &'w str>) -> Result<(), Failure> {
        let status = self.command(node, words).status().map_err(cannot_start)?;
        match status.code() {
            Some(0) => Ok(()),
            code => Err(Failure::Program(
                code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1),
            )),
        }
    }

    /// A test of TCP between two hosts, the first two where none is named.
    fn iperf(&self, line: &str) -> Result<(), Failure> {
        let topology = &self.lab.state.topology;
        let mut words = split(line)?;
        if words.is_empty() {
            words.extend(topology.hosts().map(|host| host.name.clone()).take(2));
        }
        match &words[..] {
            [from, to @ ..] if !to.is_empty() && topology.node(from).is_some() => {
                let test = [OWN_PROGRAM, "test", "tcp"].into_iter();
                self.run(from, test.chain(to.iter().map(String::as_str)))
            }
            _ => Err(Failure::Usage(
                "write two hosts, such as: iperf h1 h2".to_owned(),
            )),
        }
    }

    fn ping_all(&self, interrupted: &AtomicBool) -> Result<(), Failure> {
        let hosts: Vec<&str> = self
            .lab
            .state
            .topology
            .hosts()
            .map(|host| host.name.as_str())
            .collect();
        let (mut answered, mut all) = (0, 0);
        for from in &hosts {
            running(&self.lab.name)?;
            let mut line = format!("{from} →");
            for to in hosts.iter().filter(|to| *to != from) {
                all += 1;
                let reaches = self.reaches(from, to)?;
                if interrupted.load(Ordering::Relaxed) {
                    return Err(Failure::InterruptedUnlogged);
                }
                answered += usize::from(reaches);
                line += &format!(" {}", if reaches { *to } else { "-" });
            }
            output::line(&line)?;
        }
        output::line(&format!("{answered} of {} answered", counted(all, "ping")))?;
        match answered == all {
            true => Ok(()),
            false => Err(Failure::Check("some hosts do not answer others".to_owned())),
        }
    }

    fn reaches(&self, from: &str, to: &str) -> Result<bool, Failure> {
        let Some(address) = self.lab.state.topology.address(to) else {
            return Ok(false);
        };
        let request = Requests {
            to: address,
            count: 1,
            interval_ms: 0,
            wait_ms: 1000,
        };
        let words = request.words();
        let words = words.iter().map(String::as_str);
        let mut command = self.command(from, [OWN_PROGRAM].into_iter().chain(words));
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        Ok(quiet.status().map_err(cannot_start)?.success())
    }
}

/// The words of a line, quoted as for a shell.
fn split(line: &str) -> Result<Vec<String>, Invalid> {
    split_words(line)
        .ok_or_else(|| Invalid(format!("a quote or backslash at the end is open: {line}")))
}

fn cannot_start(error: std::io::Error) -> Failure {
    Failure::Environment(format!("cannot start bitcost: {error}"))
}
