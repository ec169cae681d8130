//! What a verdict advises, made: the situation with it.

use serde_json::Value;

use super::draw::Situation;
use super::factor::{Factor, Kind};
use crate::programs::remedied;

/// Words of a remedy that no option makes, each with the factor that it changes, and by what that is multiplied.
const SCALED: [(&str, Kind, f64); 4] = [
    ("rate of that link", Kind::Rate, 2.0),
    ("limit of that queue", Kind::Queue, 4.0),
    ("raise the CPU quota", Kind::Quota, 2.0),
    ("stop or move the other programs", Kind::Stress, 2.0),
];

/// The most remedies that are tried, the first of the list.
const MOST: usize = 4;

/// A remedy in words, and the situation with it, of each that can be made here.
pub fn made(situation: &Situation, remedies: &[Value]) -> Vec<(String, Situation)> {
    let mut made = Vec::new();
    let own = situation.factors.iter().flat_map(|factor| factor.words());
    let own: Vec<String> = own.chain(situation.options.iter().cloned()).collect();
    for remedy in remedies.iter().take(MOST) {
        let words = remedy["words"].as_str().unwrap_or_default();
        for (part, kind, times) in SCALED {
            let value = situation.value(kind).filter(|_| words.contains(part));
            made.extend(value.map(|value| {
                let value = kind.scaled(value, times);
                (part.to_owned(), situation.with(Factor { kind, value }))
            }));
        }
        made.extend(remedied(&own, remedy).map(|options| {
            let mut changed = situation.clone();
            // What the link has is no option.
            changed.factors.retain(|factor| factor.words().is_empty());
            let plain = options.iter().map(|word| word.trim_matches('\''));
            changed.options = plain.map(str::to_owned).collect();
            (words.to_owned(), changed)
        }));
    }
    made
}
