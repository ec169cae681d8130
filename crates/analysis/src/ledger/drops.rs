//! A row of the ledger: what one counter has of one place.

use serde::Serialize;

/// Rounding of a mean below which each packet is one segment.
const ONE: f64 = 1.05;

/// Packets that one counter says were dropped at one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drops {
    /// What dropped them, as it follows "dropped by": `the receiver's socket buffer`.
    pub by: String,
    /// The counter, such as `tx_dropped`.
    pub counter: &'static str,
    /// Packets as the counter has them; a super-packet is one.
    pub packets: u64,
    pub segments: u64,
    /// The mean number of segments of a packet at this place, where the counter has packets of
    /// several.
    #[serde(rename = "segments_per_packet")]
    pub each: Option<f64>,
}

/// A row of a counter of packets with this mean number of segments, of which only this share carries
/// data; absent where it is 0.
pub(super) fn row(
    by: &str,
    counter: &'static str,
    packets: u64,
    each: f64,
    share: f64,
) -> Option<Drops> {
    let each = if each < ONE { 1.0 } else { each };
    (packets > 0).then(|| Drops {
        by: by.to_owned(),
        counter,
        packets,
        segments: (packets as f64 * each * share).round() as u64,
        each: (each > 1.0).then_some(each),
    })
}
