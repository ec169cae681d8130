//! `bitcost ping`: round trips of ICMP echo, without privileges if the host lets the user's group
//! ping, otherwise as root.

use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bitcost_execute::hosts::addresses;
use bitcost_lab::Inside;
use bitcost_model::ping::{Pings, RttFigures};
use bitcost_model::units::parse_duration;
use bitcost_traffic::ping::{Answer, Asked, Source};

use crate::failure::Failure;
use crate::options::whole::whole;
use crate::output;
use crate::signals::stop_on_signals;

/// The number of requests where neither it nor a deadline is given, and the largest.
const COUNT: u16 = 4;
const COUNT_MAX: u16 = 10_000;

/// Which requests.
#[derive(clap::Args)]
pub struct Arguments {
    /// Host to ping: an address, IPv4 or IPv6, or a name; in a node of a running lab also the name
    /// of another one
    #[arg(value_parser = host)]
    host: String,
    /// Number of requests [default: 4; with --deadline, as many as there is time for]
    #[arg(short, long, value_parser = whole::<u16>(1..=COUNT_MAX.into()))]
    count: Option<u16>,
    /// Time between requests; a number alone is in seconds
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    interval: Duration,
    /// Time to wait for the last answer; a number alone is in seconds
    #[arg(short = 'W', long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    wait: Duration,
    /// Time after which ping exits, regardless of how many replies have arrived; a number alone is
    /// in seconds
    #[arg(short = 'w', long, value_name = "TIME", value_parser = parse_duration)]
    deadline: Option<Duration>,
    /// Data in each request, in bytes
    #[arg(short, long, default_value_t = 56, value_parser = whole::<u16>(0..=65_000))]
    size: u16,
    /// Print only the summary, without a line for each reply
    #[arg(short, long)]
    quiet: bool,
    /// Accepted for compatibility with ping; names are never printed
    #[arg(short, long)]
    numeric: bool,
    /// Use an IPv4 address of the host
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    ipv4: bool,
    /// Use an IPv6 address of the host
    #[arg(short = '6', long)]
    ipv6: bool,
    /// Source address or network interface of the requests [default: that of the route]
    #[arg(short = 'I', long, value_name = "ADDR|DEVICE", value_parser = source)]
    interface: Option<Source>,
    /// Print one JSON document instead of text
    #[arg(short = 'J', long)]
    json: bool,
}

/// An address, or the name of a network interface.
fn source(text: &str) -> Result<Source, String> {
    Ok(match text.parse() {
        Ok(address) => Source::Address(address),
        Err(_) => Source::Device(text.to_owned()),
    })
}

/// An address, or a name, which has more than digits and dots.
fn host(text: &str) -> Result<String, String> {
    let is_name = text.contains(|c: char| !c.is_ascii_digit() && c != '.' && c != ':');
    match is_name || text.parse::<IpAddr>().is_ok() {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "`{text}` is not a valid value; allowed: an IPv4 or IPv6 address, or a name"
        )),
    }
}

/// Sends the requests and prints each answer as it comes, and the four figures.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let stop = stop_on_signals()?;
    let asked = Asked {
        to: arguments.address()?,
        from: arguments.interface.clone(),
        count: arguments.count(),
        interval: arguments.interval,
        wait: arguments.wait,
        deadline: arguments.deadline,
        data_bytes: arguments.size.into(),
    };
    let mut printed = Ok(());
    let tell = |Answer { sequence, rtt_us }| {
        if !arguments.json && !arguments.quiet {
            let (bytes, to, ms) = (asked.data_bytes, asked.to, rtt_us / 1000.0);
            printed = output::line(&format!(
                "{bytes} bytes from {to}: seq={sequence} time={ms:.3} ms"
            ));
        }
        printed
            .as_ref()
            .map(drop)
            .map_err(|_| std::io::Error::other("standard output cannot be written"))
    };
    let pings = bitcost_traffic::ping::ping(&asked, || !stop.load(Ordering::Relaxed), tell);
    printed?;
    let pings = pings.map_err(|error| cannot(asked.to, &error))?;
    if arguments.json {
        let mut document = serde_json::json!(pings);
        document["figures"] = serde_json::json!(pings.figures());
        output::line(&document.to_string())?;
    } else {
        output::print(&text(&pings))?;
    }
    match pings.rtts_us.is_empty() {
        true => Err(Failure::Check(format!(
            "none of {} echo requests to {} was answered",
            pings.sent, pings.to
        ))),
        false => Ok(()),
    }
}

impl Arguments {
    /// The number of requests, which a deadline alone does not limit.
    fn count(&self) -> u16 {
        let default = if self.deadline.is_some() {
            COUNT_MAX
        } else {
            COUNT
        };
        self.count.unwrap_or(default)
    }

    /// The first address of the host that is of a kind that may be used.
    fn address(&self) -> Result<IpAddr, Failure> {
        let kind = match (self.ipv4, self.ipv6) {
            (true, _) => "IPv4 address",
            (_, true) => "IPv6 address",
            _ => "address",
        };
        let is_used = |address: &IpAddr| match (self.ipv4, self.ipv6) {
            (true, _) => address.is_ipv4(),
            (_, true) => address.is_ipv6(),
            _ => true,
        };
        let host = &self.host;
        let none = || Failure::Usage(format!("the host `{host}` has no {kind}"));
        all_addresses(host)?
            .into_iter()
            .find(is_used)
            .ok_or_else(none)
    }
}

/// The addresses of a host, by the lab that this process is in, or by the system's resolver.
fn all_addresses(host: &str) -> Result<Vec<IpAddr>, Failure> {
    if let Ok(address) = host.parse() {
        return Ok(vec![address]);
    }
    let inside = Inside::find().ok().flatten();
    if let Some(address) = inside.and_then(|inside| inside.state.topology.address(host)) {
        return Ok(vec![address]);
    }
    addresses(host)
        .map_err(|why| Failure::Usage(format!("the host name `{host}` cannot be resolved: {why}")))
}

fn cannot(to: IpAddr, error: &std::io::Error) -> Failure {
    let remedy = match error.kind() {
        std::io::ErrorKind::PermissionDenied => {
            "; run it as root, or let your group ping: sudo sysctl -w net.ipv4.ping_group_range='0 2147483647'"
        }
        _ => "",
    };
    Failure::Environment(format!("cannot ping {to}: {error}{remedy}"))
}

fn text(pings: &Pings) -> String {
    let head = format!(
        "{} sent, {} received, {}% lost\n",
        pings.sent,
        pings.rtts_us.len(),
        pings.lost_pct().round()
    );
    let figures = pings.figures().map(
        |RttFigures {
             min_us,
             avg_us,
             max_us,
             mdev_us,
         }| {
            let [min, avg, max, mdev] =
                [min_us, avg_us, max_us, mdev_us].map(|us| format!("{:.3}", us / 1000.0));
            format!("rtt min/avg/max/mdev = {min}/{avg}/{max}/{mdev} ms\n")
        },
    );
    head + &figures.unwrap_or_default()
}
