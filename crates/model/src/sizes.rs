//! Distributions of message sizes: their text form, and the table of sizes that a sender sends in
//! turn.
//!
//! Sizes are drawn before a run and never during it. A table holds each size as often as the
//! distribution says; only the order is drawn, by ChaCha8. So every run of a cell sends the same
//! mix.

use std::fmt;

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::parse_bytes;

/// Entries of a table whose order is drawn.
pub const TABLE: usize = 4096;

/// Most sizes in a list.
const LIST_MAX: usize = 1024;

/// Largest message, in bytes.
const SIZE_MAX: u64 = 1 << 24;

/// The allowed forms, for errors.
pub const ALLOWED: &str = "a list such as \"64,1024,8192\" (in turn) or \"64@3,8192@1\" (by weight), \"uniform:64-1472\", or \"bimodal:64@0.9,8192@0.1\"";

/// A distribution of message sizes. A record keeps it as it was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Sizes {
    text: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// These sizes in turn, repeatedly.
    InTurn(Vec<u32>),
    /// Sizes and their weights.
    Weighted(Vec<(u32, f64)>),
    /// Every size from the first to the second, equally often.
    Uniform(u32, u32),
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<Sizes> for String {
    fn from(sizes: Sizes) -> String {
        sizes.text
    }
}

impl TryFrom<String> for Sizes {
    type Error = String;

    fn try_from(text: String) -> Result<Sizes, String> {
        Sizes::parse(&text)
    }
}

impl Sizes {
    /// Reads a distribution.
    ///
    /// # Errors
    /// A sentence that says what was found and what is allowed.
    pub fn parse(text: &str) -> Result<Sizes, String> {
        let kind = kind(text).ok_or_else(|| {
            format!("`{text}` is not a distribution of message sizes; allowed: {ALLOWED}")
        })?;
        let sizes = Sizes {
            text: text.to_owned(),
            kind,
        };
        match sizes.quotas().iter().find(|(_, count)| *count == 0) {
            Some((size, _)) => Err(format!(
                "the weight of {size} in `{text}` is under 1/{TABLE} of all: it would never be sent; allowed: larger weights"
            )),
            None => Ok(sizes),
        }
    }

    /// The smallest message, in bytes.
    pub fn smallest(&self) -> u32 {
        self.quotas()
            .iter()
            .map(|(size, _)| *size)
            .min()
            .unwrap_or(1)
    }

    /// The largest message, in bytes.
    pub fn largest(&self) -> u32 {
        self.quotas()
            .iter()
            .map(|(size, _)| *size)
            .max()
            .unwrap_or(1)
    }

    /// The mean size over a table, exact, in bytes.
    pub fn mean(&self) -> f64 {
        let quotas = self.quotas();
        let bytes: u64 = quotas
            .iter()
            .map(|(size, count)| u64::from(*size) * *count as u64)
            .sum();
        let messages: usize = quotas.iter().map(|(_, count)| count).sum();
        bytes as f64 / messages as f64
    }

    /// The sizes of messages in their order; the first follows the last. A list without weights
    /// keeps its order, whatever the seed.
    pub fn table(&self, seed: u64) -> Vec<u32> {
        if let Kind::InTurn(sizes) = &self.kind {
            return sizes.clone();
        }
        let mut table: Vec<u32> = Vec::with_capacity(TABLE);
        for (size, count) in self.quotas() {
            table.resize(table.len() + count, size);
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        for end in (1..table.len()).rev() {
            // A table's length divides 2^64 nearly enough: the bias is under 2^-51.
            let chosen = (random.next_u64() % (end as u64 + 1)) as usize;
            table.swap(end, chosen);
        }
        table
    }

    /// Each size and its number of entries in a table.
    fn quotas(&self) -> Vec<(u32, usize)> {
        match &self.kind {
            Kind::InTurn(sizes) => sizes.iter().map(|size| (*size, 1)).collect(),
            Kind::Weighted(sizes) => by_weight(sizes),
            Kind::Uniform(low, high) => spread(*low, *high),
        }
    }
}

/// Shares of a table by the method of largest remainders.
fn by_weight(sizes: &[(u32, f64)]) -> Vec<(u32, usize)> {
    let all: f64 = sizes.iter().map(|(_, weight)| weight).sum();
    let exact = |weight: f64| weight / all * TABLE as f64;
    let mut quotas: Vec<(u32, usize)> = sizes
        .iter()
        .map(|(size, weight)| (*size, exact(*weight) as usize))
        .collect();
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by(|a, b| {
        exact(sizes[*b].1)
            .fract()
            .total_cmp(&exact(sizes[*a].1).fract())
    });
    let missing = TABLE.saturating_sub(quotas.iter().map(|(_, count)| count).sum());
    order
        .iter()
        .take(missing)
        .for_each(|index| quotas[*index].1 += 1);
    quotas
}

/// A range of sizes, each as often as the others where a table has room for all, otherwise evenly
/// spaced sizes.
fn spread(low: u32, high: u32) -> Vec<(u32, usize)> {
    let count = u64::from(high - low) + 1;
    if count > TABLE as u64 {
        let step = (count - 1) as f64 / (TABLE - 1) as f64;
        return (0..TABLE)
            .map(|index| (low + (index as f64 * step).round() as u32, 1))
            .collect();
    }
    let each = TABLE / count as usize;
    (low..=high).map(|size| (size, each)).collect()
}

fn kind(text: &str) -> Option<Kind> {
    if let Some(range) = text.strip_prefix("uniform:") {
        let (low, high) = range.split_once('-')?;
        let (low, high) = (size(low)?, size(high)?);
        return (low <= high).then_some(Kind::Uniform(low, high));
    }
    let bimodal = text.strip_prefix("bimodal:");
    let parts: Vec<&str> = bimodal.unwrap_or(text).split(',').collect();
    if parts.len() > LIST_MAX || (bimodal.is_some() && (parts.len() != 2 || !text.contains('@'))) {
        return None;
    }
    if !text.contains('@') {
        return parts
            .into_iter()
            .map(size)
            .collect::<Option<_>>()
            .map(Kind::InTurn);
    }
    parts
        .into_iter()
        .map(weighted)
        .collect::<Option<_>>()
        .map(Kind::Weighted)
}

fn weighted(text: &str) -> Option<(u32, f64)> {
    let (bytes, weight) = text.split_once('@')?;
    let weight: f64 = weight.trim().parse().ok()?;
    (weight > 0.0 && weight.is_finite()).then_some((size(bytes)?, weight))
}

fn size(text: &str) -> Option<u32> {
    let bytes = parse_bytes(text).ok()?;
    (1..=SIZE_MAX).contains(&bytes).then_some(bytes as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Sizes {
        Sizes::parse(text).expect(text)
    }

    fn count(table: &[u32], size: u32) -> usize {
        table.iter().filter(|entry| **entry == size).count()
    }

    #[test]
    fn a_list_keeps_its_order() {
        assert_eq!(of("64, 1KiB,8192").table(5), [64, 1024, 8192]);
        assert_eq!(
            (
                of("64,1024").smallest(),
                of("64,1024").largest(),
                of("64,1024").mean()
            ),
            (64, 1024, 544.0)
        );
    }

    #[test]
    fn each_size_is_there_as_often_as_its_weight_says() {
        let table = of("bimodal:64@0.9,8192@0.1").table(1);
        assert_eq!(
            (table.len(), count(&table, 64), count(&table, 8192)),
            (TABLE, 3686, 410)
        );
        let table = of("1@1,2@2,3@1").table(1);
        assert_eq!(
            [1, 2, 3].map(|size| count(&table, size)),
            [1024, 2048, 1024]
        );
        let table = of("uniform:64-67").table(1);
        assert_eq!([64, 65, 66, 67].map(|size| count(&table, size)), [1024; 4]);
        let wide = of("uniform:1-1MiB");
        assert_eq!(
            (wide.smallest(), wide.largest(), wide.table(1).len()),
            (1, 1 << 20, TABLE)
        );
    }

    #[test]
    fn the_seed_gives_the_order_and_nothing_else() {
        let sizes = of("uniform:64-1472");
        assert_eq!(sizes.table(7), sizes.table(7));
        assert_ne!(sizes.table(7), sizes.table(8));
        let sorted = |seed| {
            let mut table = sizes.table(seed);
            table.sort_unstable();
            table
        };
        assert_eq!(sorted(7), sorted(8));
        assert!(
            sizes.table(7).windows(2).any(|pair| pair[0] > pair[1]),
            "it is shuffled"
        );
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        for text in [
            "",
            "0",
            "64,0",
            "64,,1",
            "-1",
            "64@0",
            "64@-1,1@1",
            "64@1,1",
            "64@nan,1@1",
            "64@inf,1@1",
            "uniform:9-8",
            "uniform:8",
            "uniform:0-8",
            "bimodal:64",
            "bimodal:64,65",
            "bimodal:1@1,2@1,3@1",
            "gauss:1",
            "1@1,2@1e9",
            "17MiB",
        ] {
            assert!(Sizes::parse(text).is_err(), "{text}");
        }
        let never = Sizes::parse("1@1,2@100000").expect_err("never sent");
        assert!(never.contains("the weight of 1 "), "{never}");
    }

    #[test]
    fn a_record_keeps_what_was_written() {
        let sizes = of("bimodal:64@0.9,8KiB@0.1");
        let json = serde_json::to_string(&sizes).expect("JSON");
        assert_eq!(json, "\"bimodal:64@0.9,8KiB@0.1\"");
        assert_eq!(
            serde_json::from_str::<Sizes>(&json).expect("a distribution"),
            sizes
        );
        assert!(serde_json::from_str::<Sizes>("\"64,0\"").is_err());
    }
}
