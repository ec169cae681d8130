//! `bitcost agent`: plays one end of each run for a controller on standard input and output.

use std::path::PathBuf;

use agent::{Between, Keeping, Node};

use crate::failure::Failure;
use crate::{identity, output};

/// Where it plays.
#[derive(clap::Args)]
pub struct Arguments {
    /// The host is one of a lab, gone with its processes: keep no journal of its settings
    #[arg(long)]
    pub in_lab: bool,
    /// A node between the ends whose counters are read, too, and a file that refers to its network namespace
    #[arg(long, value_name = "NAME=PATH", value_parser = node)]
    pub between: Vec<Node>,
    /// The file into which the counters of the lab's delay lines are written, which are read, too
    #[arg(long, value_name = "PATH")]
    pub lines: Option<PathBuf>,
    /// Print which program this is, and nothing else
    #[arg(long, hide = true)]
    pub identify: bool,
}

fn node(text: &str) -> Result<Node, String> {
    let (name, path) = text.split_once('=').ok_or("a name and a path, such as w1=/proc/17/fd/5")?;
    Ok(Node { name: name.to_owned(), namespace: path.into() })
}

/// Serves until standard input ends.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.identify {
        return output::line(&identity::line().map_err(Failure::Environment)?);
    }
    let keeping = if arguments.in_lab { Keeping::lab() } else { Keeping::journal_in(host::journal::folder()) };
    let between = Between { nodes: arguments.between.clone(), lines: arguments.lines.clone() };
    ::agent::serve(std::io::stdin(), std::io::stdout(), &keeping, &between)
        .map_err(|error| Failure::Environment(error.to_string()))
}
