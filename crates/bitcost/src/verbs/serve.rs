//! `bitcost serve --iperf3`: serves stock iperf3 clients until it is stopped.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use bitcost_iperf3::event::Event;
use bitcost_iperf3::protocol::PORT;
use bitcost_iperf3::rules::Limits;
use bitcost_iperf3::server::Server;
use bitcost_model::harmless;
use bitcost_model::units::{counted, parse_duration, parse_rate};

use crate::failure::Failure;
use crate::output::{self, say};
use crate::signals::stop_on_signals;

/// Whom to serve, where, and how much.
#[derive(clap::Args)]
pub struct Arguments {
    /// Serve stock iperf3 clients at ADDR: an address, a port, or both, such as `10.0.0.1`, `:5202`
    /// or `[::]:5201`. Without ADDR only clients on this host are served, at port 5201 of the
    /// loopback; `0.0.0.0` and `[::]` serve everybody who reaches this host, without any
    /// authentication
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "", value_parser = addresses)]
    iperf3: Option<Addresses>,
    /// Longest test, with the time that it omits; a number alone is in seconds
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_duration)]
    max_duration: Duration,
    /// Highest rate of a test in one direction, over all of its flows; clients must then name a
    /// rate with -b
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    max_rate: Option<u64>,
    /// Most tests at the same time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1000))]
    max_clients: u16,
    /// Most flows of all tests together; each has its own thread
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=4096))]
    max_flows: u16,
}

/// Where to listen.
#[derive(Clone, Debug)]
struct Addresses(Vec<SocketAddr>);

/// Serves until it is stopped, and prints a line for each test.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Some(Addresses(addresses)) = &arguments.iperf3 else {
        return Err(Failure::Usage(
            "`serve` needs to know whom it serves: write `bitcost serve --iperf3` for iperf3 clients on this host, or `bitcost serve --iperf3 ADDR` for those that reach ADDR; an endpoint of bitcost's own tests needs no server, ssh starts it: `bitcost test tcp --receiver HOST`".to_owned(),
        ));
    };
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
    let listening: Vec<String> = server.addresses().map(place).collect();
    output::line(&format!(
        "serving iperf3 clients at {}; Ctrl-C ends",
        listening.join(" and ")
    ))?;
    let mut printed = Ok(());
    let mut served = Served::default();
    server.serve(|event| {
        printed = served.tell(&event);
        printed.is_ok()
    });
    printed?;
    output::line(&served.summary())
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
    opened.map_err(|(address, error)| {
        let hint = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                "; another program has it: end that one, or choose another port, as in `--iperf3 :5202`"
            }
            std::io::ErrorKind::AddrNotAvailable => "; this host has no such address",
            std::io::ErrorKind::PermissionDenied => "; ports below 1024 need privilege",
            _ => "",
        };
        Failure::Environment(format!("cannot listen at {}: {error}{hint}", place(address)))
    })
}

fn is_absent(error: &std::io::Error) -> bool {
    // EAFNOSUPPORT has no kind.
    error.kind() == std::io::ErrorKind::AddrNotAvailable || error.raw_os_error() == Some(97)
}

fn place(address: SocketAddr) -> String {
    format!("{} port {}", address.ip(), address.port())
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

/// Lines about refused clients in one second; more are only counted.
const MOST_LINES: u32 = 10;

/// What was served so far.
#[derive(Default)]
struct Served {
    tests: usize,
    bytes: u64,
    refused: usize,
    failed: usize,
    second: Option<Instant>,
    lines: u32,
    unsaid: usize,
}

impl Served {
    /// Prints a test on standard output, and a refusal or failure on standard error.
    fn tell(&mut self, event: &Event) -> Result<(), Failure> {
        match event {
            Event::Test(test) => {
                self.tests += 1;
                self.bytes += test.bytes();
                return output::line(&harmless(&test.line()));
            }
            Event::Refused { peer, rule } => {
                self.refused += 1;
                self.say(*peer, &format!("refused {rule}"));
            }
            Event::Failed { peer, reason } => {
                self.failed += 1;
                self.say(*peer, reason);
            }
        }
        Ok(())
    }

    /// One line of standard error, unless there are too many.
    fn say(&mut self, peer: SocketAddr, what: &str) {
        let is_new = |second: Instant| second.elapsed() >= Duration::from_secs(1);
        if self.second.is_none_or(is_new) {
            if self.unsaid > 0 {
                say(&format!("bitcost: and {}", counted(self.unsaid, "client")));
            }
            (self.second, self.lines, self.unsaid) = (Some(Instant::now()), 0, 0);
        }
        self.lines += 1;
        if self.lines > MOST_LINES {
            self.unsaid += 1;
            return;
        }
        let (host, port) = (peer.ip().to_canonical(), peer.port());
        say(&format!("bitcost: {host} port {port}: {}", harmless(what)));
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
