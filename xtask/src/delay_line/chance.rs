//! Whether losses are as many as chance allows: of one seed over sockets, and of the schedule alone over many seeds.

use delay::{Schedule, Settings, Size};

use super::Verdicts;
use super::measure::Losses;

const LOSS: f64 = 0.01;

/// Seeds of the schedule alone.
const SEEDS: u64 = 200;

/// Standard deviations that hold 95 % and 99.9 % of a normal distribution, which the binomial one is near to here.
const Z_95: f64 = 1.96;
const Z_999: f64 = 3.29;

/// Mean and standard deviation of the losses of so many packets (binomial).
fn binomial(packets: u64) -> (f64, f64) {
    let mean = packets as f64 * LOSS;
    (mean, (mean * (1.0 - LOSS)).sqrt())
}

/// Losses of the schedule by itself.
fn lost(packets: u64, seed: u64) -> u64 {
    let mut schedule = Schedule::new(Settings { loss: LOSS, ..Settings::default() }, seed, 0);
    for at_ns in 0..packets {
        schedule.arrive(at_ns, Size { segments: 1, bytes: 46 }, || ());
        while schedule.depart(at_ns).is_some() {}
    }
    schedule.counters().lost.packets
}

/// Many seeds: no bias, the spread of a binomial distribution, and 95 % of them within its interval of 95 %.
pub fn many_seeds(packets: u64, verdicts: &mut Verdicts) {
    println!("a loss of 1 %, {packets} packets, {SEEDS} seeds of the schedule alone");
    let counts: Vec<f64> = (0..SEEDS).map(|seed| lost(packets, seed) as f64).collect();
    let (mean, deviation) = binomial(packets);
    let n = SEEDS as f64;
    let found = counts.iter().sum::<f64>() / n;
    let spread = (counts.iter().map(|count| (count - found).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let inside = counts.iter().filter(|count| (*count - mean).abs() <= Z_95 * deviation).count() as f64;
    let room = Z_999 * deviation / n.sqrt();
    verdicts
        .tell((found - mean).abs() <= room, &format!("the mean is {found:.1}, within {mean:.0} ± {room:.1} (99.9 %)"));
    // The standard deviation of a normal sample has a standard error of about itself ÷ √(2n).
    let room = Z_999 * deviation / (2.0 * n).sqrt();
    verdicts.tell(
        (spread - deviation).abs() <= room,
        &format!("the standard deviation is {spread:.1}, within {deviation:.1} ± {room:.1} (99.9 %)"),
    );
    let least = n * 0.95 - Z_999 * (n * 0.95 * 0.05).sqrt();
    verdicts.tell(
        inside >= least,
        &format!(
            "{inside} of {n} seeds lie within the 95 % interval of ± {:.0}, at least {least:.0} (99.9 %)",
            Z_95 * deviation
        ),
    );
}

/// One seed over sockets: exactly the schedule's losses, and a count that chance allows.
pub fn one_seed(losses: &Losses, seed: u64, verdicts: &mut Verdicts) {
    let expected = lost(losses.arrived, seed);
    verdicts.tell(losses.lost == expected, &format!("the schedule alone loses {expected} of as many with this seed"));
    let (mean, deviation) = binomial(losses.arrived);
    let [usual, most] = [Z_95, Z_999].map(|z| z * deviation);
    verdicts.tell(
        (losses.lost as f64 - mean).abs() <= most,
        &format!("within {mean:.0} ± {most:.0}, which holds 99.9 % of all seeds (95 %: ± {usual:.0})"),
    );
}
