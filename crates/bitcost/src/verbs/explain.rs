//! `bitcost explain`: why runs, or connections that other programs hold, were not faster.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bitcost_agent::{Held, Sought, enter_network_of, observe};
use bitcost_controller::Observer;
use bitcost_execute::Connection;
use bitcost_execute::hosts::Host;
use bitcost_execute::store::USUAL_PARENT;
use bitcost_model::event::NamedHosts;
use bitcost_model::units::parse_duration;
use bitcost_render::block::text;
use bitcost_render::explained::{evidence_blocks, explanation_blocks};

use crate::failure::Failure;
use crate::format::Look;
use crate::opened;
use crate::output::{self, columns};
use crate::signals::stop_on_signals;

#[derive(clap::Args)]
pub struct Arguments {
    /// The execution's folder [default: the newest execution in bitcost-runs]
    #[arg(conflicts_with = "sought")]
    folder: Option<PathBuf>,
    /// Also print a line for each run
    #[arg(long, conflicts_with = "sought")]
    runs: bool,
    #[command(flatten)]
    connections: Connections,
}

/// Connections that other programs hold.
#[derive(clap::Args)]
struct Connections {
    /// Instead of an execution, explain the connections that this process holds, in its network namespace
    #[arg(long, value_name = "PID", group = "sought", value_parser = process)]
    pid: Option<u32>,
    /// Explain this connection, such as 10.0.0.1:40000-10.0.0.2:443, or those with this end here or there, such as 10.0.0.2,
    /// 10.0.0.2:443 or :443
    #[arg(long, value_name = "LOCAL-PEER", group = "sought")]
    connection: Option<Sought>,
    /// Look for the connection in the network namespace of this process, such as one of a container
    #[arg(long, value_name = "PID", requires = "connection", value_parser = process)]
    netns: Option<u32>,
    /// Also read the other end, on this host, in the same seconds: `local`, or an ssh destination, such as user@host
    #[arg(long, value_name = "HOST", requires = "sought", value_parser = Host::parse)]
    at: Option<Host>,
    /// Start its agent there with `sudo -n`, so that it sees other users' programs
    #[arg(long, requires = "at")]
    sudo: bool,
    /// How long connections are read
    #[arg(short = 't', long, value_name = "TIME", default_value = "5s", value_parser = parse_duration, requires = "sought")]
    time: Duration,
    /// Also print the command that tests the same path with the same direction, calls, buffers and congestion control
    #[arg(long, requires = "sought")]
    clone: bool,
    /// Parent of the folder that is created for the execution
    #[arg(long, value_name = "FOLDER", default_value = USUAL_PARENT, requires = "sought")]
    out: PathBuf,
}

/// The number of a process.
pub fn process(text: &str) -> Result<u32, String> {
    let why = "is not a process number; `ip netns pids NAME` prints those of a named namespace";
    text.parse().map_err(|_| format!("`{text}` {why}"))
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let of = &arguments.connections;
    if let Some(sought) = of.pid.map(Sought::Process).or(of.connection.clone()) {
        return connections(of, &sought);
    }
    let folder = match &arguments.folder {
        Some(folder) => folder.clone(),
        None => opened::newest_folders::<1>()?[0].clone(),
    };
    let found = opened::open(&folder)?;
    opened::say_caveats(std::slice::from_ref(&found));
    let blocks = explanation_blocks(&found.explanation, arguments.runs);
    output::print(&text(&blocks, columns().unwrap_or(u16::MAX)))
}

/// Reads connections at one end or at both, and explains them.
fn connections(of: &Connections, sought: &Sought) -> Result<(), Failure> {
    let stop = stop_on_signals()?;
    let spec = NamedHosts {
        sudo: of.sudo,
        ..NamedHosts::default()
    };
    // Before the network namespace is entered, from which the host may be out of reach.
    let open = |host: &Host| Observer::open(host.endpoint(&spec), &stop);
    let other = of.at.as_ref().map(open).transpose()?;
    if let Some(process) = of.netns.or(of.pid) {
        enter_network_of(process)?;
    }
    let held = Held::find(sought, None)?;
    let is_over = || stop.load(Ordering::Relaxed);
    let (observed, other) = std::thread::scope(|scope| {
        let own = scope.spawn(|| observe(&held, of.time, &is_over));
        let ends = held.connections().map(|[own, peer]| [peer, own]);
        let (ends, role) = (ends.collect(), held.role.other());
        let other = other.map(|mut other| other.observe(ends, role, of.time));
        (own.join(), other)
    });
    let observed = observed.unwrap_or_else(|_| Err("the readings failed".into()));
    let (record, host) = observed?;
    let connection = Connection { record, host };
    if let Some(Err(why)) = &other {
        output::say(&format!("the other end was not read: {why}"));
    }
    let command = connection.clone_command().filter(|_| of.clone);
    let other = other.and_then(Result::ok);
    let found = connection.execution(other, Some(&of.out), output::command_line())?;
    Look::default().print(std::slice::from_ref(&found))?;
    let verdicts = found.explanation.cells.iter();
    let verdicts = verdicts.filter_map(|cell| cell.verdict());
    let evidence: Vec<_> = verdicts.flat_map(|of| evidence_blocks(&of)).collect();
    output::print(&text(&evidence, columns().unwrap_or(u16::MAX)))?;
    if let Some(command) = command {
        output::print(&format!("the same traffic: {command}\n"))?;
    }
    opened::say_log(Some(opened::folder(&found)));
    match is_over() {
        true => Err(Failure::Interrupted),
        false => Ok(()),
    }
}
