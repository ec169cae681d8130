//! `bitcost watch`: the connections of a host that move data, or its UDP sockets, and what limits each.

use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use bitcost_agent::{End, Held, Sought, Watcher, enter_network_of, observe};
use bitcost_analysis::explain::{Watched, watched};
use bitcost_execute::Connection;
use bitcost_model::record::Role;
use bitcost_model::units::parse_duration;
use bitcost_render::block::{Block, text};
use bitcost_render::explained::{TCP, UDP, explanation_blocks, watched_blocks, watched_words};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::explain::process;
use crate::failure::Failure;
use crate::output::{self, columns};
use crate::panel;
use crate::signals::set_on;

/// For how long a connection in depth is read.
const READ: Duration = Duration::from_secs(5);

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
    #[arg(long, value_name = "PID", conflicts_with_all = ["netns", "port", "peer"], value_parser = process)]
    pid: Option<u32>,
    /// Only connections with this port, here or there
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Only connections with this host, an address or a name
    #[arg(long, value_name = "HOST", value_parser = addresses)]
    peer: Option<Arc<[IpAddr]>>,
    /// Look into the network namespace of this process, such as one of a container
    #[arg(long, value_name = "PID", value_parser = process)]
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
    let list = |of: &Watcher, others| watched(of.busiest(), others, of.datagrams());
    if panel::is_possible() && !arguments.once && !arguments.json {
        let columns = if arguments.udp { UDP } else { TCP };
        let stop = Arc::new(AtomicBool::new(false));
        // A second one must not leave the terminal as it is.
        set_on(&[SIGINT, SIGTERM, SIGHUP], &stop)?;
        return panel::show(columns, Some(explained), &stop, &mut || {
            let rest = watcher.read()?;
            let all = list(&watcher, rest);
            let words = vec![Block::words(watched_words(&all))];
            Ok((all.connections, words))
        });
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
            let listed = list(&watcher, rest);
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

/// Reads a connection as `explain` does.
fn explained(of: &Watched) -> Result<Vec<Block>, String> {
    let ends = of.program.connections.iter().map(|ends| ends.join("-"));
    let sought: Sought = ends.collect::<String>().parse()?;
    // Of a socket that drops, what it receives.
    let drops = of.figures[0].1.filter(|drops| *drops > 0.0);
    let held = Held::find(&sought, of.role.or(drops.map(|_| Role::Receiver)));
    let read = held.and_then(|held| observe(&held, READ, &|| false));
    let (record, host) = read.map_err(|refusal| refusal.reason)?;
    let found = Connection { record, host }.execution(None, None, Vec::new());
    let found = found.map_err(|error| error.to_string())?;
    let blocks = explanation_blocks(&found.explanation, false).into_iter();
    Ok(blocks.skip(2).collect())
}
