//! `bitcost serve`: serves bitcosts with its link, or with --iperf3 stock iperf3 clients, until it is
//! stopped.

mod listening;
mod log;
mod own;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bitcost_iperf3::event::Event;
use bitcost_iperf3::limits::Limits;
use bitcost_iperf3::protocol::PORT;
use bitcost_iperf3::server::Server;
use bitcost_model::units::{counted, parse_duration, parse_rate};
use bitcost_service::confine::confine;
use bitcost_service::policy::Rules;
use bitcost_sys::privileges::NOBODY;
use bitcost_sys::process::effective_uid;
use bitcost_sys::seccomp::Also;

use self::listening::{address, cannot_listen, is_absent, place};
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
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "", value_parser = addresses, conflicts_with_all = ["address", "new_link", "state", "interface", "allow_settings"])]
    iperf3: Option<Addresses>,
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

#[derive(Clone, Debug)]
struct Addresses(Vec<SocketAddr>);

/// Serves until it is stopped, and prints a line for each test.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Some(Addresses(addresses)) = &arguments.iperf3 else {
        let default = Rules::default();
        let seconds = |time: Duration| u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
        let rules = Rules {
            max_rate_bps: arguments.max_rate,
            max_duration_s: (arguments.max_duration).map_or(default.max_duration_s, seconds),
            max_flows: arguments.max_flows.map_or(default.max_flows, u32::from),
            ..default
        };
        return own::run(&arguments.place, rules);
    };
    let stop = stop_on_signals()?;
    // Where the limit cannot be raised, fewer connections are taken.
    let _ = bitcost_sys::process::raise_open_files();
    let limits = Limits {
        duration: arguments.max_duration.unwrap_or(IPERF3_DURATION),
        bitrate: arguments.max_rate,
        clients: arguments.max_clients.into(),
        flows: arguments.max_flows.unwrap_or(IPERF3_FLOWS).into(),
    };
    let server = open(addresses, &limits, &stop)?;
    if effective_uid() == 0 {
        // In a user namespace without that user the process stays root, and its sockets too.
        let _ = server.give_to(NOBODY);
    }
    // All that follows needs nothing but what is open.
    let confined = confine(Also::Traffic)?;
    let mut log = Log::start()?;
    let listening: Vec<String> = server.addresses().map(place).collect();
    log.result(&format!(
        "serving iperf3 clients at {}; Ctrl-C ends",
        listening.join(" and ")
    ));
    log.message(&format!(
        "the process that reads what clients send: {confined}"
    ));
    let (mut tests, mut bytes) = (0, 0);
    server.serve(|event| match event {
        Event::Test(test) => {
            tests += 1;
            bytes += test.bytes();
            log.served(test.peer, &test.line());
        }
        Event::Refused { peer, refusal } => log.refused(peer, refusal.rule),
        Event::Failed { peer, reason } => log.failed(peer, &reason),
    });
    log.finish(&format!("{} with {bytes} bytes", counted(tests, "test")));
    Ok(())
}

/// Binds; of the two loopbacks one is enough, because hosts may be without IPv6.
fn open(
    addresses: &[SocketAddr],
    limits: &Limits,
    stop: &Arc<AtomicBool>,
) -> Result<Server, Failure> {
    let open = |addresses| Server::open(addresses, limits.clone(), stop.clone());
    let opened = match open(addresses) {
        Err((_, error)) if is_absent(&error) && addresses.len() > 1 => open(&addresses[..1]),
        opened => opened,
    };
    opened.map_err(|(address, error)| cannot_listen("TCP or UDP", address, &error))
}

/// Reads `ADDR`; nothing, or a port alone, is on the loopback.
fn addresses(text: &str) -> Result<Addresses, String> {
    let (host, port) = match text {
        "" => (None, PORT),
        _ => address(text, PORT)?,
    };
    let loopback: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let hosts = host.map_or(loopback.to_vec(), |host| vec![host]);
    let ends = hosts.into_iter().map(|host| SocketAddr::new(host, port));
    Ok(Addresses(ends.collect()))
}
