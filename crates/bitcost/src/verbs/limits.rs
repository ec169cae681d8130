//! `bitcost limits`: theoretical limits: goodput of a link, bandwidth-delay products.

use std::time::Duration;

use bitcost_analysis::theory::{Bdp, Goodput};
use bitcost_model::Invalid;
use bitcost_model::framing::{Counted, Framing, Transport};
use bitcost_model::place::IpVersion;
use bitcost_model::units::{parse_bytes, parse_duration, parse_rate};
use bitcost_render::block::text;
use bitcost_render::layout::NARROW;
use bitcost_render::limits::{bdp_blocks, goodput_blocks};

use crate::failure::Failure;
use crate::output;

#[derive(clap::Subcommand)]
pub enum Question {
    /// Compute the maximum rate of user data over a link, with the header arithmetic and the curve
    /// over message sizes
    Goodput(GoodputArguments),
    /// Compute the bandwidth-delay product
    Bdp(BdpArguments),
}

#[derive(clap::Args)]
pub struct Path {
    /// Rate of the link in bit/s, such as 2.5G
    #[arg(long, value_parser = parse_rate)]
    rate: u64,
    /// Maximum size of an IP packet, in bytes
    #[arg(long, value_name = "BYTES", default_value = "1500", value_parser = bytes)]
    mtu: u32,
}

#[derive(clap::Args)]
pub struct GoodputArguments {
    #[command(flatten)]
    path: Path,
    /// Count an IEEE 802.1Q tag in each frame
    #[arg(long)]
    vlan: bool,
    /// IPv6
    #[arg(long)]
    ipv6: bool,
    /// Use TCP without timestamps
    #[arg(long, conflicts_with = "udp")]
    no_timestamps: bool,
    /// Use UDP instead of TCP
    #[arg(long)]
    udp: bool,
    /// Calculate for an emulated link of a lab, which counts the Ethernet header but no preamble,
    /// frame check sequence and gap
    #[arg(long)]
    emulated: bool,
    /// Also print the figures for messages of this size, in bytes
    #[arg(short = 'l', long, value_name = "BYTES", value_parser = bytes)]
    message_size: Option<u32>,
}

#[derive(clap::Args)]
pub struct BdpArguments {
    #[command(flatten)]
    path: Path,
    /// Round-trip time with its unit, such as 20ms
    #[arg(long, value_name = "TIME", value_parser = with_unit)]
    rtt: Duration,
}

/// A round-trip time, whose bare number may be of seconds or of milliseconds.
fn with_unit(text: &str) -> Result<Duration, Invalid> {
    match text.trim().parse::<f64>() {
        Ok(_) => Err(Invalid(format!(
            "`{text}` has no unit; write `{text}ms` or `{text}s`"
        ))),
        Err(_) => parse_duration(text),
    }
}

fn bytes(text: &str) -> Result<u32, Invalid> {
    u32::try_from(parse_bytes(text)?)
        .map_err(|_| Invalid(format!("`{text}` is too large; allowed: up to 4 GiB")))
}

pub fn run(question: &Question) -> Result<(), Failure> {
    let blocks = match question {
        Question::Goodput(arguments) => {
            let goodput = goodput(arguments);
            goodput.check()?;
            goodput_blocks(&goodput)
        }
        Question::Bdp(BdpArguments { path, rtt }) => {
            let bdp = Bdp {
                rate_bps: path.rate,
                rtt: *rtt,
                mtu_bytes: path.mtu,
            };
            bdp.check()?;
            bdp_blocks(&bdp)
        }
    };
    output::print(&text(&blocks, NARROW))
}

fn goodput(arguments: &GoodputArguments) -> Goodput {
    let framing = Framing {
        ip: match arguments.ipv6 {
            true => IpVersion::V6,
            false => IpVersion::V4,
        },
        transport: match arguments.udp {
            true => Transport::Udp,
            false => Transport::Tcp,
        },
        timestamps: !arguments.no_timestamps,
        vlan: arguments.vlan,
        mtu_bytes: arguments.path.mtu,
        counted: match arguments.emulated {
            true => Counted::Queue,
            false => Counted::Wire,
        },
    };
    Goodput {
        framing,
        rate_bps: arguments.path.rate,
        message_size_bytes: arguments.message_size,
    }
}
