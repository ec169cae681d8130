//! `bitcost watch`: the connections of a host that move data, or its UDP sockets, and what limits each.

mod panel;

use std::io::{IsTerminal, stdin, stdout};
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitcost_agent::{End, Sought, Watcher, enter_network_of};
use bitcost_analysis::explain::watched;
use bitcost_model::units::parse_duration;
use bitcost_render::block::text;
use bitcost_render::explained::watched_blocks;

use crate::failure::Failure;
use crate::output::{self, columns};

#[derive(clap::Args)]
pub struct Arguments {
    /// List UDP sockets with their drops and buffers, instead of TCP connections that move data
    #[arg(long)]
    udp: bool,
    /// Print one list of what was read in the time of -t, instead of one a second of the last ten
    #[arg(long)]
    once: bool,
    /// How long connections are read for it
    #[arg(short = 't', long, value_name = "TIME", default_value = "5s", value_parser = parse_duration, requires = "once")]
    time: Duration,
    /// Print each list as a JSON document on one line
    #[arg(short = 'J', long)]
    json: bool,
    /// Only connections that this process holds, in its network namespace
    #[arg(long, value_name = "PID", conflicts_with_all = ["netns", "port", "peer"])]
    pid: Option<u32>,
    /// Only connections with this port, here or there
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Only connections with this host, an address or a name
    #[arg(long, value_name = "HOST", value_parser = addresses)]
    peer: Option<Arc<[IpAddr]>>,
    /// Look into the network namespace of this process, such as one of a container
    #[arg(long, value_name = "PID")]
    netns: Option<u32>,
}

fn addresses(host: &str) -> Result<Arc<[IpAddr]>, String> {
    let found = (host, 0).to_socket_addrs();
    let found = found
        .map_err(|why| format!("`{host}` has no address ({why}); write one, such as 192.0.2.1"))?;
    Ok(found.map(|at| at.ip()).collect())
}

fn sought(of: &Arguments) -> Sought {
    let end = |ip| End { ip, port: of.port };
    match (of.pid, &of.peer) {
        (Some(process), _) => Sought::Process(process),
        (None, Some(all)) => Sought::with(all.iter().map(|ip| end(Some(*ip)))),
        (None, None) => Sought::with([end(None)]),
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(process) = arguments.netns.or(arguments.pid) {
        enter_network_of(process)?;
    }
    let mut watcher = Watcher::open(sought(arguments), arguments.udp)?;
    let is_terminal = stdin().is_terminal() && stdout().is_terminal();
    if is_terminal && !arguments.once && !arguments.json {
        return panel::show(watcher);
    }
    let step = match arguments.once {
        true => arguments.time / Watcher::STEPS as u32,
        false => panel::STEP,
    };
    for reading in 0.. {
        let next = Instant::now() + step;
        let rest = watcher.read()?;
        let is_last = arguments.once && reading == Watcher::STEPS;
        if is_last || !arguments.once && reading > 0 {
            let listed = watched(watcher.busiest(), rest, watcher.datagrams());
            output::line(&match arguments.json {
                true => serde_json::json!(listed).to_string(),
                false => text(&watched_blocks(&listed), columns().unwrap_or(u16::MAX)),
            })?;
        }
        if is_last {
            break;
        }
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(())
}
