//! Checks that the number of losses is one that chance allows: of one seed over sockets, and of the
//! schedule alone over many seeds.

use std::collections::BTreeSet;

use bitcost_lab::emulator::{Schedule, Settings, Size};

use super::measure::{COMPARED, Losses};
use super::verdicts::Verdicts;

const LOSS: f64 = 0.01;

/// Number of seeds for the schedule alone.
const SEEDS: u64 = 200;

/// Standard deviations that contain 95 % and 99.9 % of a normal distribution, which approximates
/// the binomial one here.
const Z_95: f64 = 1.96;
const Z_999: f64 = 3.29;

/// Mean and standard deviation of the losses of this number of packets (binomial).
fn binomial(packets: u64) -> (f64, f64) {
    let mean = packets as f64 * LOSS;
    (mean, (mean * (1.0 - LOSS)).sqrt())
}

/// Numbers of the packets that the schedule alone loses.
fn fates(packets: u64, seed: u64) -> Vec<u32> {
    let mut schedule = Schedule::new(
        Settings {
            loss: LOSS,
            ..Settings::default()
        },
        seed,
        0,
    );
    let mut lost = Vec::new();
    for number in 0..packets as u32 {
        let before = schedule.counters().lost.packets;
        schedule.arrive(
            u64::from(number),
            Size {
                segments: 1,
                bytes: 46,
            },
            || (),
        );
        while schedule.depart(u64::from(number)).is_some() {}
        if schedule.counters().lost.packets > before {
            lost.push(number);
        }
    }
    lost
}

/// Many seeds: no bias, the spread of a binomial distribution, and 95 % of them within its interval
/// of 95 %.
pub fn many_seeds(packets: u64, verdicts: &mut Verdicts) {
    println!("a loss of 1 %, {packets} packets, {SEEDS} seeds of the schedule alone");
    let counts: Vec<f64> = (0..SEEDS)
        .map(|seed| fates(packets, seed).len() as f64)
        .collect();
    let (mean, deviation) = binomial(packets);
    let n = SEEDS as f64;
    let found = counts.iter().sum::<f64>() / n;
    let spread = (counts
        .iter()
        .map(|count| (count - found).powi(2))
        .sum::<f64>()
        / (n - 1.0))
        .sqrt();
    let inside = counts
        .iter()
        .filter(|count| (*count - mean).abs() <= Z_95 * deviation)
        .count() as f64;
    let room = Z_999 * deviation / n.sqrt();
    verdicts.report(
        (found - mean).abs() <= room,
        &format!("the mean is {found:.1}, within {mean:.0} ± {room:.1} (99.9 %)"),
    );
    // The standard deviation of a normal sample has a standard error of about itself ÷ √(2n).
    let room = Z_999 * deviation / (2.0 * n).sqrt();
    verdicts.report(
        (spread - deviation).abs() <= room,
        &format!(
            "the standard deviation is {spread:.1}, within {deviation:.1} ± {room:.1} (99.9 %)"
        ),
    );
    let least = n * 0.95 - Z_999 * (n * 0.95 * 0.05).sqrt();
    verdicts.report(
        inside >= least,
        &format!(
            "{inside} of {n} seeds lie within the 95 % interval of ± {:.0}, at least {least:.0} (99.9 %)",
            Z_95 * deviation
        ),
    );
}

/// One seed over sockets: exactly the schedule's losses, and a number that chance allows.
pub fn one_seed(losses: &Losses, seed: u64, verdicts: &mut Verdicts) {
    let Losses {
        arrived,
        lost,
        missing,
        dropped_by_receiver,
        ..
    } = losses;
    println!("  {lost} of {arrived} lost; {dropped_by_receiver} dropped by the receiver's socket");
    let expected = fates(*arrived, seed);
    let (mean, deviation) = binomial(*arrived);
    let [usual, most] = [Z_95, Z_999].map(|z| z * deviation);
    verdicts.report(
        (*lost as f64 - mean).abs() <= most,
        &format!(
            "within {mean:.0} ± {most:.0}, which holds 99.9 % of all seeds (95 %: ± {usual:.0})"
        ),
    );
    verdicts.report(
        *lost == expected.len() as u64,
        &format!("the schedule alone loses {} with this seed", expected.len()),
    );
    // The first packet is the one that asks for the address.
    let datagrams = expected.iter().filter_map(|number| number.checked_sub(1));
    let expected: BTreeSet<u32> = datagrams.filter(|number| *number < COMPARED).collect();
    let found: BTreeSet<u32> = missing.iter().copied().collect();
    let others = found.difference(&expected).count() as u64;
    verdicts.report(
        expected.is_subset(&found) && others <= *dropped_by_receiver,
        &format!(
            "of the first {COMPARED} datagrams the {} are missing that the schedule loses, and {others} others",
            expected.len()
        ),
    );
}
