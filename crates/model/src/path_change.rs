//! A change of what a lab's links do to packets, for one run and in proportion to what the lab requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shaping::{PPM, Shaping};

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Shaped {
        Rate = "rate",
        Delay = "delay",
        Loss = "loss",
    }
}

/// The most that something may change to, in per cent of what the lab requests.
const MOST_PCT: u32 = 1000;

/// A change of every link of a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathChange {
    pub what: Shaped,
    /// Its new value, in per cent of what the lab requests.
    pub pct: u32,
}

impl PathChange {
    /// The accepted texts, for help and errors.
    pub const ALLOWED: &str = "`rate`, `delay` or `loss` with a share of the lab's own from 1% to 1000%, such as `rate 80%`";

    /// Reads `rate 80%`.
    pub fn parse(text: &str) -> Option<PathChange> {
        let (word, share) = text.trim().split_once(' ')?;
        let what = Shaped::named(word)?;
        let pct = share.trim().strip_suffix('%')?.parse().ok()?;
        (1..=MOST_PCT)
            .contains(&pct)
            .then_some(PathChange { what, pct })
    }

    #[must_use]
    pub fn of(self, shaping: &Shaping) -> Shaping {
        let scaled = |value: u64| value.saturating_mul(self.pct.into()) / 100;
        let mut changed = shaping.clone();
        match self.what {
            Shaped::Rate => changed.rate_bps = shaping.rate_bps.map(|rate| scaled(rate).max(1)),
            Shaped::Delay => changed.delay_us = scaled(shaping.delay_us),
            Shaped::Loss => {
                let loss = scaled(shaping.loss_ppm.into()).min(PPM.into());
                changed.loss_ppm = loss as u32;
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_in_proportion_to_what_the_lab_requests() {
        let shaping = Shaping {
            rate_bps: Some(1_000_000),
            delay_us: 10_000,
            loss_ppm: 600_000,
            ..Shaping::default()
        };
        let changed = |text| PathChange::parse(text).unwrap().of(&shaping);
        assert_eq!(changed("rate 80%").rate_bps, Some(800_000));
        assert_eq!(changed("delay 125%").delay_us, 12_500);
        assert_eq!(changed("loss 200%").loss_ppm, PPM);
        let free = PathChange::parse("loss 200%")
            .unwrap()
            .of(&Shaping::default());
        assert!(free.is_nothing());
        for text in ["rate", "rate 0%", "rate 80", "speed 80%", "delay 1001%"] {
            assert_eq!(PathChange::parse(text), None, "{text}");
        }
    }
}
