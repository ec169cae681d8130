//! `bitcost ping`: round trips of ICMP echo, without privileges if the host lets the user's group
//! ping, otherwise as root.

use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bitcost_execute::hosts::addresses;
use bitcost_lab::Inside;
use bitcost_model::ping::{Pings, RttFigures};
use bitcost_model::units::parse_duration;
use bitcost_traffic::ping::{Answer, Asked};

use crate::failure::Failure;
use crate::options::whole::whole;
use crate::output;
use crate::signals::stop_on_signals;

/// Which requests.
#[derive(clap::Args)]
pub struct Arguments {
    /// Host to ping: an address, IPv4 or IPv6, or a name; in a node of a running lab also the name
    /// of another one
    #[arg(value_parser = host)]
    host: String,
    /// Number of requests
    #[arg(short, long, default_value_t = 4, value_parser = whole::<u16>(1..=10_000))]
    count: u16,
    /// Time between requests; a number alone is in seconds
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    interval: Duration,
    /// Time to wait for the last answer; a number alone is in seconds
    #[arg(short = 'W', long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    wait: Duration,
    /// Data in each request, in bytes
    #[arg(short, long, default_value_t = 56, value_parser = whole::<u16>(0..=65_000))]
    size: u16,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// An address, or a name, which has more than digits and dots.
fn host(text: &str) -> Result<String, String> {
    let is_name = text.contains(|c: char| !c.is_ascii_digit() && c != '.' && c != ':');
    match is_name || text.parse::<IpAddr>().is_ok() {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "`{text}` is not possible here; allowed: an IPv4 or IPv6 address, or a name"
        )),
    }
}

/// Sends the requests and prints each answer as it comes, and the four figures.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let stop = stop_on_signals()?;
    let asked = Asked {
        to: address(&arguments.host)?,
        count: arguments.count,
        interval: arguments.interval,
        wait: arguments.wait,
        data_bytes: arguments.size.into(),
    };
    let mut printed = Ok(());
    let tell = |Answer { sequence, rtt_us }| {
        if !arguments.json {
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

/// The address of a host, by the lab that this process is in, or by the system's resolver.
fn address(host: &str) -> Result<IpAddr, Failure> {
    if let Ok(address) = host.parse() {
        return Ok(address);
    }
    let inside = Inside::find().ok().flatten();
    if let Some(address) = inside.and_then(|inside| inside.state.topology.address(host)) {
        return Ok(address);
    }
    let found = addresses(host)
        .map_err(|why| Failure::Usage(format!("the host `{host}` has no address here: {why}")))?;
    let first = found.first().copied();
    first.ok_or_else(|| Failure::Usage(format!("the host `{host}` has no address here")))
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
