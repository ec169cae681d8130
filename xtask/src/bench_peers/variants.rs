//! `cargo xtask bench-defaults`: the engine's own ways to wait for a stream, on the same path, as
//! ratios to its default.

use anyhow::Result;
use bitcost_model::conditions::{Conditions, ReceiveSize, Waiting};

use super::cases::{self, Case, Extent, Traffic};
use super::field::{Field, Setup};
use super::results::{Compared, Entry, Series};
use super::{built, ours, table};

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
    ("auto", |c| c.receive_size_bytes = ReceiveSize::Auto),
    ("64K/128K", |c| wait_for(c, 64, 128)),
    ("128K/128K", |c| wait_for(c, 128, 128)),
    ("128K/256K", |c| wait_for(c, 128, 256)),
    ("256K/64K", |c| wait_for(c, 256, 64)),
    ("256K/128K", |c| wait_for(c, 256, 128)),
    ("256K/256K", |c| wait_for(c, 256, 256)),
];

/// Makes the receiver sleep until `low_water` KiB are available, and take up to `room` KiB, or one
/// message, per call.
fn wait_for(conditions: &mut Conditions, low_water: u32, room: u32) {
    conditions.receive_low_water_bytes = Some(low_water << 10);
    conditions.receive_size_bytes =
        ReceiveSize::Bytes(conditions.message_size_bytes.max(room << 10));
}

/// Runs the comparison.
///
/// # Errors
/// When the lab cannot be built.
pub fn run(arguments: &Arguments) -> Result<()> {
    let bitcost = built("bitcost")?;
    let setup = Setup {
        one_cpu: arguments.one_cpu,
        ..Setup::default()
    };
    let flat_out = |case: &Case| case.is_stream() && case.rate_bps.is_none();
    for case in cases::all(Extent::All, Some(&arguments.only))
        .into_iter()
        .filter(flat_out)
    {
        let field = Field::build(case.mtu_bytes, setup)?;
        let entries = compare(&case, &field, &bitcost, arguments);
        println!(
            "{}",
            table::plain(&Compared {
                setup,
                case,
                entries
            })
        );
    }
    Ok(())
}

fn compare(
    case: &Case,
    field: &Field,
    bitcost: &std::path::Path,
    arguments: &Arguments,
) -> Vec<Entry> {
    let fit: Vec<&Variant> = VARIANTS
        .iter()
        .filter(|(name, _)| case.traffic == Traffic::Tcp || !name.contains("K/"))
        .collect();
    let entry = |(name, _): &&Variant| Entry {
        name,
        counterpart: VARIANTS[0].0,
        series: Series::default(),
    };
    let mut entries: Vec<Entry> = fit.iter().map(entry).collect();
    for round in 0..arguments.rounds {
        for turn in 0..fit.len() {
            let index = (turn + round as usize) % fit.len();
            match ours::measure(case, field, bitcost, arguments.seconds, fit[index].1) {
                Ok(figure) => entries[index].series.add(round, figure),
                Err(error) => eprintln!(
                    "{} {}, round {}: {error:#}",
                    case.name(),
                    fit[index].0,
                    round + 1
                ),
            }
        }
    }
    entries
}
