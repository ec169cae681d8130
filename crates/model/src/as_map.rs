//! Pairs in the order in which they are shown, which documents have as a map.

use serde::{Serialize, Serializer};

pub fn as_map<K: Serialize, V: Serialize, S: Serializer>(
    pairs: &[(K, V)],
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}
