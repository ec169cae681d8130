//! The bandwidth-delay product of a path, and buffers in multiples of it.

use bitcost_analysis::theory::Bdp;
use serde_json::{Value, json};

use super::quantity::{named_values, short_rate, table};

/// Multiples of the bandwidth-delay product that are shown.
const MULTIPLES: [u64; 5] = [1, 2, 4, 8, 16];

/// Bytes in one MB and in one MiB.
const MB: f64 = 1e6;
const MIB: f64 = 1_048_576.0;

/// The answer for people.
pub fn bdp_text(bdp: &Bdp) -> String {
    let (rate, ms) = (short_rate(bdp.rate_bps as f64), bdp.rtt.as_secs_f64() * 1e3);
    let bytes = bdp.bytes();
    let (mb, mib) = (bytes as f64 / MB, bytes as f64 / MIB);
    let rows = [
        (
            "bandwidth-delay product",
            format!("{rate} × {ms} ms ÷ 8 = {bytes} B"),
        ),
        ("in MB (10^6 B)", format!("{bytes} ÷ 1000000 = {mb:.3} MB")),
        (
            "in MiB (2^20 B)",
            format!("{bytes} ÷ 1048576 = {mib:.3} MiB"),
        ),
        (
            "in full segments",
            format!("{} (MTU {})", bdp.segments(), bdp.mtu_bytes),
        ),
        (
            "in super-packets of 64 KiB",
            bdp.super_packets().to_string(),
        ),
    ];
    let buffer = |(multiple, bytes): (u64, u64)| {
        vec![
            format!("{multiple} × BDP"),
            bytes.to_string(),
            format!("{:.3}", bytes as f64 / MB),
            format!("{:.3}", bytes as f64 / MIB),
        ]
    };
    let rows_of_buffers: Vec<Vec<String>> = buffers(bdp).map(buffer).collect();
    format!(
        "a path of {rate} and {ms} ms\n\n{}\n{}\n{}",
        named_values(&rows),
        table(&["buffer", "bytes", "MB", "MiB"], &rows_of_buffers),
        warning(bdp)
    )
}

/// Each multiple with its bytes.
fn buffers(bdp: &Bdp) -> impl Iterator<Item = (u64, u64)> {
    let bytes = bdp.bytes();
    MULTIPLES
        .into_iter()
        .map(move |n| (n, bytes.saturating_mul(n)))
}

/// The error of reading MB as MiB in the product.
fn warning(bdp: &Bdp) -> String {
    let mb = bdp.bytes() as f64 / MB;
    format!(
        "{mb:.3} MB is not {mb:.3} MiB: {mb:.3} × 1048576 would be {:.0} B, 4.9 % too much.\n\
         A receive window is the receive buffer × the share of user data in the memory that packets take, which the\n\
         receiver measures (Linux 6.6 and later; half at first, and tcp_adv_win_scale has no effect) or half of it\n\
         (before, by tcp_adv_win_scale): to keep the path full, the buffer must hold 2 × BDP. A queue that is limited in packets holds super-packets or segments,\n\
         depending on the offloads: a limit that is enough for {} of one kind is not enough for {} of the other.\n",
        mb * MIB,
        bdp.super_packets(),
        bdp.segments()
    )
}

/// The answer for programs.
pub fn bdp_json(bdp: &Bdp) -> Value {
    let buffer = |(multiple, bytes)| json!({ "multiple": multiple, "bytes": bytes });
    json!({
        "rate_bps": bdp.rate_bps,
        "rtt_us": bdp.rtt.as_nanos() as f64 / 1e3,
        "mtu_bytes": bdp.mtu_bytes,
        "bdp_bytes": bdp.bytes(),
        "bdp_segments": bdp.segments(),
        "bdp_super_packets": bdp.super_packets(),
        "buffers": buffers(bdp).map(buffer).collect::<Vec<_>>(),
    })
}
