//! `bitcost serve`: serves bitcosts with its link, or with --iperf3 stock iperf3 clients, until it is
//! stopped.

mod listening;
mod log;
mod own;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bitcost_iperf3::limits::Limits;
use bitcost_iperf3::protocol::PORT;
use bitcost_iperf3::server::Server;
use bitcost_model::confinement::Rules;
use bitcost_model::units::{parse_duration, parse_rate};
use bitcost_service::confine::{NOBODY, confine};
use bitcost_sys::process::effective_uid;
use bitcost_sys::seccomp::Also;

use self::listening::At;
use self::log::Log;
use crate::failure::Failure;
use crate::signals::stop_on_signals;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: own::Place,
    /// Serve stock iperf3 clients at ADDR: an address, a port, or both, such as `10.0.0.1`, `:5202`
    /// or `[::]:5201`. Without ADDR only clients on this host are served, at port 5201 of the
    /// loopback; `0.0.0.0` and `[::]` serve everybody who reaches this host, without any
    /// authentication
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "", value_parser = at, conflicts_with_all = ["address", "new_link", "state", "interface", "allow_settings"])]
    iperf3: Option<At>,
    /// Maximum duration of a run with its warm-up, or of an iperf3 test with the time that it omits;
    /// a number alone is in seconds [default: 10min, or 1h with --iperf3]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    max_duration: Option<Duration>,
    /// Maximum rate of a test, summed over its flows; with --iperf3 in one direction. Clients must
    /// then request a rate with -b
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    max_rate: Option<u64>,
    /// Maximum number of flows in a run, or with --iperf3 of all tests together [default: 128, or 256
    /// with --iperf3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    max_flows: Option<u16>,
    /// Maximum number of concurrent tests of iperf3 clients
    #[arg(long, value_name = "N", requires = "iperf3", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1000))]
    max_clients: u16,
}

/// The longest iperf3 test, and the most flows of all of them, unless others are named.
const IPERF3_DURATION: Duration = Duration::from_secs(3600);
const IPERF3_FLOWS: u16 = 256;

/// Reads `ADDR`; nothing, or a port alone, is on the loopback.
fn at(text: &str) -> Result<At, String> {
    match text {
        "" => Ok(At {
            host: None,
            port: PORT,
        }),
        _ => At::parse(text, PORT),
    }
}

/// Serves until it is stopped, and prints a line for each test.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let stop = stop_on_signals()?;
    // Where the limit cannot be raised, fewer connections are taken.
    let _ = bitcost_sys::process::raise_open_files();
    if let Some(at) = arguments.iperf3 {
        return serve_iperf3(at, arguments, &stop);
    }
    let default = Rules::default();
    let seconds = |time: Duration| time.as_secs_f64().ceil() as u32;
    let rules = Rules {
        max_rate_bps: arguments.max_rate,
        max_duration_s: (arguments.max_duration).map_or(default.max_duration_s, seconds),
        max_flows: arguments.max_flows.map_or(default.max_flows, u32::from),
        ..default
    };
    own::run(&arguments.place, rules, &stop)
}

fn serve_iperf3(at: At, arguments: &Arguments, stop: &Arc<AtomicBool>) -> Result<(), Failure> {
    let limits = Limits {
        duration: arguments.max_duration.unwrap_or(IPERF3_DURATION),
        bitrate: arguments.max_rate,
        clients: arguments.max_clients.into(),
        flows: arguments.max_flows.unwrap_or(IPERF3_FLOWS).into(),
    };
    let loopback = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let open = |addresses: &[SocketAddr]| Server::open(addresses, limits.clone(), stop.clone());
    let server = at.open(loopback, open)?;
    if effective_uid() == 0 {
        // In a user namespace without that user the process stays root, and its sockets too.
        let _ = server.give_to(NOBODY);
    }
    // All that follows needs nothing but what is open.
    let confined = confine(Also::Traffic)?;
    server.check_port().map_err(own::lacks_port)?;
    let mut log = Log::start()?;
    let place = |at: SocketAddr| format!("{} port {}", at.ip(), at.port());
    let places: Vec<String> = server.addresses().map(place).collect();
    log.result(&format!(
        "serving iperf3 clients at {}; Ctrl-C ends",
        places.join(" and ")
    ));
    log.message(&format!(
        "the process that reads what clients send: {confined}"
    ));
    server.serve(|peer, event| log.tell(peer, event));
    log.finish();
    Ok(())
}
