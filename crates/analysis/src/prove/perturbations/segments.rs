//! Packets per second: the same data in smaller TCP segments.

use crate::prove::perturbation::{Perturbation, Told, less, limiter, ratio};

/// The row.
pub static ROW: Perturbation = Perturbation {
    name: "segments",
    resource: "user data in a segment",
    told: Told::Less,
    is_of: |limiter| {
        // Where the kernel's receive threads are full, their work is for each packet; a window is a number of segments.
        let of_packets = [
            "packets_per_second",
            "receiver_cpu",
            "congestion_window_clamp",
        ];
        of_packets.contains(&limiter.name())
    },
    finds: |_| limiter("packets_per_second", ""),
    settings: |before| {
        let conditions = before.conditions;
        if !conditions.workload.is_byte_stream() {
            return Err("only a TCP stream can be cut into other segments".to_owned());
        }
        let size = before.load.segment_bytes.ok_or("their size is not known")?;
        Ok(vec![("mss", less(size))])
    },
    left: |before, after| ratio(before, after, |load| load.segment_bytes),
};
