//! `bitcost serve`: serves enrolled bitcosts, and with --iperf3 stock iperf3 clients, until it is
//! stopped, and tells monitoring what they were served.

mod agents;
mod clients;
mod keys;
mod listening;
mod log;
mod monitoring;
mod privileges;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bitcost_iperf3::event::{Event, Test};
use bitcost_iperf3::protocol::PORT;
use bitcost_iperf3::rules::Limits;
use bitcost_iperf3::server::Server;
use bitcost_model::harmless;
use bitcost_model::units::{counted, parse_duration, parse_rate};
use bitcost_service::confine::confine;
use bitcost_service::monitor::counts::{Counts, Peer, Tested};
use bitcost_service::monitor::http;
use bitcost_service::monitor::text::text;
use bitcost_sys::privileges::NOBODY;
use bitcost_sys::process::effective_uid;
use bitcost_sys::seccomp::Also;

use self::clients::ClientLines;
use self::listening::{cannot_listen, place};
use self::log::Log;
use crate::failure::Failure;
use crate::signals::stop_on_signals;

/// Whom to serve, where, and how much.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    agents: agents::Place,
    /// Serve stock iperf3 clients at ADDR: an address, a port, or both, such as `10.0.0.1`, `:5202`
    /// or `[::]:5201`. Without ADDR only clients on this host are served, at port 5201 of the
    /// loopback; `0.0.0.0` and `[::]` serve everybody who reaches this host, without any
    /// authentication
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "", value_parser = addresses, conflicts_with_all = ["address", "link_host", "state", "max_no_cost"])]
    iperf3: Option<Addresses>,
    /// Maximum duration of a test, including the time that it omits; a number alone is in seconds
    #[arg(long, value_name = "TIME", requires = "iperf3", default_value = "1h", value_parser = parse_duration)]
    max_duration: Duration,
    /// Maximum rate of a test in one direction, summed over its flows; clients must then request a
    /// rate with -b
    #[arg(long, value_name = "RATE", requires = "iperf3", value_parser = parse_rate)]
    max_rate: Option<u64>,
    /// Maximum number of concurrent tests
    #[arg(long, value_name = "N", requires = "iperf3", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1000))]
    max_clients: u16,
    /// Maximum number of flows of all tests together; each flow has its own thread
    #[arg(long, value_name = "N", requires = "iperf3", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=4096))]
    max_flows: u16,
    #[command(flatten)]
    metrics: monitoring::Metrics,
    /// Print the privileges of the process that reads what clients send, as the kernel reports
    /// them, and exit; the exit code is 3 if it is not confined as it should be
    #[arg(long)]
    check: bool,
}

/// The name of this service in the figures for monitoring.
const SERVICE: &str = "iperf3";

/// What to do instead of serving.
#[derive(clap::Subcommand)]
enum Action {
    /// List the keys of clients, create an enrolment link, or revoke a key
    Keys(keys::Arguments),
}

#[derive(Clone, Debug)]
struct Addresses(Vec<SocketAddr>);

/// Serves until it is stopped, and prints a line for each test.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(Action::Keys(keys)) = &arguments.action {
        return keys::run(keys);
    }
    let Some(Addresses(addresses)) = &arguments.iperf3 else {
        return match arguments.check {
            true => agents::check(),
            false => agents::run(&arguments.agents, &arguments.metrics),
        };
    };
    let confine = || confine(Also::Traffic);
    if arguments.check {
        return privileges::check(&confine()?);
    }
    let stop = stop_on_signals()?;
    // Where the limit cannot be raised, fewer connections are taken.
    let _ = bitcost_sys::process::raise_open_files();
    let limits = Limits {
        duration: arguments.max_duration,
        bitrate: arguments.max_rate,
        clients: arguments.max_clients.into(),
        flows: arguments.max_flows.into(),
    };
    let server = open(addresses, &limits, &stop)?;
    let metrics = arguments.metrics.open()?;
    if effective_uid() == 0 {
        // In a user namespace without that user the process stays root, and its sockets too.
        let _ = server.give_to(NOBODY);
    }
    // All that follows needs nothing but what is open.
    let confined = confine()?;
    let counts = Arc::new(Counts::default());
    counts.begin(SERVICE);
    let log = Log::start(&counts)?;
    let of_counts = counts.clone();
    // This process is confined itself.
    let answer = Arc::new(move |stream| http::answer(stream, &text(&of_counts)));
    let responder = metrics.start(answer, &stop)?;
    let listening: Vec<String> = server.addresses().map(place).collect();
    log.result(&format!(
        "serving iperf3 clients at {}; Ctrl-C ends",
        listening.join(" and ")
    ));
    log.message(&privileges::line(&confined));
    let mut served = Served::default();
    server.serve(|event| {
        count(&counts, &event);
        served.tell(&event, &log);
    });
    stop.store(true, Ordering::Relaxed);
    if let Some(responder) = responder {
        let _ = responder.join();
    }
    log.result(&served.summary());
    log.finish();
    Ok(())
}

/// Counts what happened to a client for monitoring.
fn count(counts: &Counts, event: &Event) {
    match event {
        Event::Test(test) => {
            let peer = Peer::Address(test.peer.ip());
            counts.tested(SERVICE, peer, tested(test));
        }
        Event::Refused { refusal, .. } => {
            counts.refused(SERVICE, refusal.limit.unwrap_or("other"));
        }
        Event::Failed { .. } => counts.failed(SERVICE),
    }
}

fn tested(test: &Test) -> Tested {
    let results = |receives: bool| {
        let streams = test.streams.iter();
        streams
            .filter(move |stream| stream.receives == receives)
            .map(|stream| &stream.result)
    };
    let retransmitted = results(false).map(|result| result.retransmits);
    let is_udp = test.params.is_udp;
    let has_received = results(true).next().is_some();
    Tested {
        test: if is_udp { "udp" } else { "tcp" },
        is_complete: test.ended.is_none(),
        seconds: Some(test.seconds),
        received_bytes: results(true).map(|result| result.bytes).sum(),
        sent_bytes: results(false).map(|result| result.bytes).sum(),
        retransmitted: retransmitted
            .reduce(|a, b| Some(a? + b?))
            .flatten()
            .filter(|_| !is_udp),
        lost: (is_udp && has_received).then(|| {
            let lost = results(true).map(|result| {
                let [omitted, _] = result.omitted.unwrap_or_default();
                result.errors.saturating_sub(omitted)
            });
            lost.sum()
        }),
        cpu_seconds: Some(
            test.cpu_pct[0] / 100.0 * (test.seconds + test.params.omit_seconds as f64),
        ),
    }
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
    opened.map_err(|(address, error)| cannot_listen(address, &error))
}

fn is_absent(error: &std::io::Error) -> bool {
    // EAFNOSUPPORT has no kind.
    error.kind() == std::io::ErrorKind::AddrNotAvailable || error.raw_os_error() == Some(97)
}

/// Reads `ADDR`; nothing is the loopback.
fn addresses(text: &str) -> Result<Addresses, String> {
    let port_of = |text: &str| text.parse::<u16>().ok();
    let loopback = |port| {
        let hosts: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        Addresses(hosts.map(|host| SocketAddr::new(host, port)).to_vec())
    };
    if text.is_empty() {
        return Ok(loopback(PORT));
    }
    let port = port_of(text.strip_prefix(':').unwrap_or(text));
    let host = text.trim_start_matches('[').trim_end_matches(']');
    match (port, host.parse::<IpAddr>(), text.parse::<SocketAddr>()) {
        (Some(port), ..) => Ok(loopback(port)),
        (None, Ok(host), _) => Ok(Addresses(vec![SocketAddr::new(host, PORT)])),
        (None, Err(_), Ok(address)) => Ok(Addresses(vec![address])),
        (None, Err(_), Err(_)) => Err(format!(
            "`{text}` is neither an address nor a port; allowed: `10.0.0.1`, `10.0.0.1:5202`, `[::]:5201`, `:5202`"
        )),
    }
}

/// What was served so far.
#[derive(Default)]
struct Served {
    tests: usize,
    bytes: u64,
    refused: usize,
    failed: usize,
    lines: ClientLines,
}

impl Served {
    /// Prints a test on standard output, and a refusal or failure on standard error.
    fn tell(&mut self, event: &Event, log: &Log) {
        match event {
            Event::Test(test) => {
                self.tests += 1;
                self.bytes += test.bytes();
                log.result(&harmless(&test.line()));
            }
            Event::Refused { peer, refusal } => {
                self.refused += 1;
                let line = format!("refused {}", refusal.rule);
                self.lines.say(log, *peer, &line);
            }
            Event::Failed { peer, reason } => {
                self.failed += 1;
                self.lines.say(log, *peer, reason);
            }
        }
    }

    fn summary(&self) -> String {
        let mut summary = format!(
            "served {} with {} bytes",
            counted(self.tests, "test"),
            self.bytes
        );
        for (count, what) in [(self.refused, "refused"), (self.failed, "failed")] {
            if count > 0 {
                summary += &format!("; {} {what}", counted(count, "connection"));
            }
        }
        summary
    }
}
