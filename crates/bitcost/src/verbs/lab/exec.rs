//! `bitcost lab exec`: a program in a node of a running lab.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use bitcost_lab::inside;
use bitcost_lab::registry::Description;
use bitcost_sys::process::{die_with_spawner_outside, ignore};
use rustix::process::Signal;

use super::running::named;
use crate::failure::Failure;
use crate::output;

#[derive(clap::Args)]
pub struct Arguments {
    /// Name of the lab [default: the only one that is running]
    #[arg(long)]
    pub lab: Option<String>,
    /// Node, such as h1 or s1
    pub node: String,
    /// Program to run, with its arguments; names of nodes resolve [default: your shell]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

/// Exit codes of a shell for a program that cannot be found, or cannot be started.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;
/// The number that a shell adds to the number of the signal that ended a program.
const SIGNALLED: i32 = 128;
const SHELL: &str = "/bin/sh";

/// Runs the program and ends with its exit code. Nothing here may start a thread before the lab is
/// entered.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let words = words(&arguments.command)?;
    let lab = named(arguments.lab.as_deref(), "name one: --lab")?;
    let own = std::env::current_exe().ok();
    let is_node = lab.state.topology.node(&arguments.node).is_some();
    let entered = lab.state.enter(&arguments.node);
    let notes = entered.map_err(|error| match is_node {
        true => error.into(),
        false => Failure::Usage(error.to_string()),
    })?;
    notes
        .iter()
        .for_each(|note| output::say(&format!("note: {note}")));
    let mut child = match start(&words, &lab, &arguments.node, own.as_deref()) {
        Ok(child) => child,
        Err(error) => {
            let program = words[0].to_string_lossy();
            let is_searched = !program.contains('/');
            let is_missing =
                error.kind() == ErrorKind::NotFound || is_searched && !is_in_path(&program);
            output::say(&match is_missing && is_searched {
                true => format!(
                    "bitcost: program {program} not found: nodes use the programs of this machine; install it, or use `bitcost test`, which needs no other program"
                ),
                false => format!("bitcost: cannot start {program}: {error}"),
            });
            return Err(Failure::Program(if is_missing {
                NOT_FOUND
            } else {
                NOT_STARTED
            }));
        }
    };
    // The terminal sends Ctrl-C to both processes; only the program acts on it.
    [Signal::INT, Signal::QUIT].into_iter().for_each(ignore);
    let status = child
        .wait()
        .map_err(|error| Failure::Environment(format!("cannot wait for the program: {error}")))?;
    match code(status) {
        0 => Ok(()),
        code => Err(Failure::Program(code)),
    }
}

/// Whether a folder of PATH has the program; one that may not be read is passed by, as by a shell.
fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}

fn words(command: &[OsString]) -> Result<Vec<OsString>, Failure> {
    match command.first() {
        None => Ok(vec![
            std::env::var_os("SHELL").unwrap_or_else(|| SHELL.into()),
        ]),
        Some(word) if word.to_string_lossy().starts_with('-') => Err(Failure::Usage(format!(
            "{} is not a program; options of `lab exec` are written before the node: bitcost lab exec [--lab LAB] NODE PROGRAM",
            word.to_string_lossy()
        ))),
        Some(_) => Ok(command.to_vec()),
    }
}

fn start(
    words: &[OsString],
    lab: &Description,
    node: &str,
    own: Option<&Path>,
) -> io::Result<Child> {
    let (program, rest) = words.split_first().ok_or(ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(rest).envs(environment(lab, node, own));
    die_with_spawner_outside(&mut command);
    command.spawn()
}

/// The variables that tell programs where they are, make shells show it in their prompts, and make
/// this program known by its name.
fn environment(lab: &Description, node: &str, own: Option<&Path>) -> Vec<(&'static str, OsString)> {
    let mut variables: Vec<(&str, OsString)> = vec![
        (inside::LAB, (&lab.name).into()),
        (inside::NODE, node.into()),
        ("HOSTNAME", node.into()),
        ("PS1", format!("{node}$ ").into()),
        ("PROMPT_COMMAND", prompt_command(node)),
    ];
    variables.extend(
        lab.state
            .ready
            .state_file()
            .map(|file| (inside::STATE, file.into())),
    );
    if let Some(folder) = own.and_then(Path::parent) {
        let mut path = std::env::var_os("PATH").unwrap_or_default();
        path.push(":");
        path.push(folder);
        variables.push(("PATH", path));
    }
    variables
}

/// What bash does before each prompt: it names the node unless the prompt has the host name, which
/// is that of the node; then what the user's own bash does.
fn prompt_command(node: &str) -> OsString {
    let name = format!("case $PS1 in *'\\h'*|*'\\H'*|*{node}*) ;; *) PS1=\"{node} $PS1\" ;; esac");
    let mut command = OsString::from(name);
    if let Some(own) = std::env::var_os("PROMPT_COMMAND").filter(|own| !own.is_empty()) {
        command.push("\n");
        command.push(own);
    }
    command
}

fn code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .unwrap_or_else(|| SIGNALLED + status.signal().unwrap_or_default());
    u8::try_from(code).unwrap_or(u8::MAX)
}
