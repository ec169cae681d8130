//! `cargo xtask bench-defaults`: the engine's own ways to wait for a stream, on the same path, as ratios to its default.

use anyhow::Result;
use model::conditions::{Conditions, ReceiveSize, Waiting};

use super::cases::{self, Case, Traffic};
use super::field::Field;
use super::{Series, built, ours, table};

/// What to compare and how long.
#[derive(clap::Args)]
pub struct Arguments {
    /// Rounds; in each, every variant runs every case once
    #[arg(long, default_value_t = 7)]
    rounds: u32,
    /// Seconds of each run
    #[arg(long, default_value_t = 0.5)]
    seconds: f64,
    /// Cases whose name begins with this only, such as tcp or udp/64
    #[arg(long, default_value = "tcp")]
    only: String,
    /// Both ends on one CPU
    #[arg(long)]
    one_cpu: bool,
}

/// One variant: its name and what it changes.
type Variant = (&'static str, fn(&mut Conditions));

const VARIANTS: &[Variant] = &[
    ("default", |_| {}),
    ("spin", |c| c.waiting = Waiting::Spin),
    ("one message", |c| c.receive_size_bytes = ReceiveSize::Message),
    ("64K/128K", |c| wait_for(c, 64, 128)),
    ("128K/128K", |c| wait_for(c, 128, 128)),
    ("128K/256K", |c| wait_for(c, 128, 256)),
    ("256K/64K", |c| wait_for(c, 256, 64)),
    ("256K/128K", |c| wait_for(c, 256, 128)),
    ("256K/256K", |c| wait_for(c, 256, 256)),
];

/// Sleeps until `low_water` KiB are there, and takes up to `room` KiB or a message in a call.
fn wait_for(conditions: &mut Conditions, low_water: u32, room: u32) {
    conditions.receive_low_water_bytes = Some(low_water << 10);
    conditions.receive_size_bytes = ReceiveSize::Bytes(conditions.message_size_bytes.max(room << 10));
}

/// Runs the comparison.
///
/// # Errors
/// When the lab cannot be built.
pub fn run(arguments: &Arguments) -> Result<()> {
    let bitcost = built("bitcost")?;
    for case in cases::all(false, Some(&arguments.only)).iter().filter(|case| case.is_stream()) {
        let field = Field::build(case.mtu_bytes, arguments.one_cpu)?;
        let series = compare(case, &field, &bitcost, arguments)?;
        println!("{}", table::row(case, &series));
    }
    Ok(())
}

fn compare(
    case: &Case,
    field: &Field,
    bitcost: &std::path::Path,
    arguments: &Arguments,
) -> Result<Vec<(String, Series)>> {
    let fit: Vec<&Variant> =
        VARIANTS.iter().filter(|(name, _)| case.traffic == Traffic::Tcp || !name.contains("K/")).collect();
    let mut series: Vec<(String, Series)> =
        fit.iter().map(|(name, _)| ((*name).to_owned(), Series::default())).collect();
    for round in 0..arguments.rounds {
        for turn in 0..fit.len() {
            let index = (turn + round as usize) % fit.len();
            match ours::measure_with(case, field, bitcost, arguments.seconds, fit[index].1) {
                Ok(figure) => series[index].1.add(round, figure),
                Err(error) => eprintln!("{} {}, round {}: {error:#}", case.name(), fit[index].0, round + 1),
            }
        }
    }
    Ok(series)
}
