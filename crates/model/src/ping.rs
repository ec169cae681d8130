//! Round trips of requests to connect, and the four figures that ping prints of such times.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answers to a number of requests to connect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pings {
    pub to: IpAddr,
    pub sent: u32,
    /// The round trip of each that was answered, in microseconds, in the order of the requests.
    pub rtts_us: Vec<f64>,
}

/// The figures of ping(8), in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RttFigures {
    pub min_us: f64,
    pub avg_us: f64,
    pub max_us: f64,
    /// The standard deviation: the root of the mean square less the square of the mean.
    pub mdev_us: f64,
}

impl Pings {
    /// The figures; `None` where no answer came.
    pub fn figures(&self) -> Option<RttFigures> {
        let count = self.rtts_us.len() as f64;
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / count;
        let avg_us = mean(&mut self.rtts_us.iter().copied());
        let variance = mean(&mut self.rtts_us.iter().map(|rtt| (rtt - avg_us).powi(2)));
        let (min_us, max_us) = (self.rtts_us.iter().copied(), self.rtts_us.iter().copied());
        Some(RttFigures {
            min_us: min_us.reduce(f64::min)?,
            avg_us,
            max_us: max_us.reduce(f64::max)?,
            mdev_us: variance.sqrt(),
        })
    }
}

/// The comparison of the measured round trip with the requested one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RttCheck {
    /// The sum of the delays there and back, in microseconds.
    pub requested_us: u64,
    /// The most by which the shortest round trip may differ from it, in microseconds.
    pub tolerance_us: u64,
    pub pings: Pings,
}

/// Part of the requested round trip that the measured one may differ by, and what it may in any case,
/// in microseconds.
const TOLERANCE_PART: u64 = 20;
const TOLERANCE_LEAST_US: u64 = 500;

impl RttCheck {
    /// Compares with `requested_us`, which may vary by `jitter_us` to either side. The tolerance is 5
    /// %, at least 0.5 ms, plus the jitter.
    pub fn new(requested_us: u64, jitter_us: u64, pings: Pings) -> RttCheck {
        let tolerance_us = (requested_us / TOLERANCE_PART).max(TOLERANCE_LEAST_US) + jitter_us;
        RttCheck {
            requested_us,
            tolerance_us,
            pings,
        }
    }

    /// Whether even the shortest round trip took longer than requested.
    pub fn is_too_long(&self) -> bool {
        let longest_us = (self.requested_us + self.tolerance_us) as f64;
        let figures = self.pings.figures();
        figures.is_some_and(|figures| figures.min_us > longest_us)
    }

    /// The fault in a sentence; `None` where the delay is the requested one. The shortest round
    /// trip is compared, because a busy machine makes single ones longer.
    pub fn problem(&self) -> Option<String> {
        let Pings { to, sent, .. } = &self.pings;
        let Some(RttFigures { min_us, .. }) = self.pings.figures() else {
            return Some(format!("none of {sent} connects to {to} was answered"));
        };
        let (requested, tolerance) = (self.requested_us as f64, self.tolerance_us as f64);
        if (min_us - requested).abs() <= tolerance {
            return None;
        }
        Some(format!(
            "the shortest of {} round trips to {to} took {:.3} ms; requested: {:.3} ms ± {:.3} ms",
            self.pings.rtts_us.len(),
            min_us / 1000.0,
            requested / 1000.0,
            tolerance / 1000.0,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pings(rtts_us: &[f64]) -> Pings {
        Pings {
            to: IpAddr::from([10, 0, 0, 2]),
            sent: 4,
            rtts_us: rtts_us.to_vec(),
        }
    }

    #[test]
    fn figures_are_those_of_the_document() {
        // Lab 15, figure 10.
        let figures = pings(&[41_244.0, 20_087.0, 20_108.5, 20_108.5])
            .figures()
            .unwrap();
        assert_eq!((figures.min_us, figures.max_us), (20_087.0, 41_244.0));
        assert!((figures.avg_us - 25_387.0).abs() < 1.0 && (figures.mdev_us - 9155.0).abs() < 1.0);
        assert_eq!(pings(&[]).figures(), None);
    }

    #[test]
    fn a_delay_that_was_not_asked_for_is_a_problem() {
        let check = |requested, jitter, rtts: &[f64]| {
            RttCheck::new(requested, jitter, pings(rtts)).problem()
        };
        assert_eq!(check(20_000, 0, &[55_000.0, 20_160.0]), None);
        assert_eq!(check(20_000, 5000, &[15_500.0]), None);
        assert_eq!(check(0, 0, &[60.0]), None);
        assert!(
            check(20_000, 0, &[40_100.0])
                .unwrap()
                .contains("took 40.100 ms; requested: 20.000 ms ± 1.000 ms")
        );
        assert!(check(20_000, 0, &[100.0]).is_some());
        assert!(check(20_000, 0, &[]).unwrap().contains("none of 4"));
    }
}
