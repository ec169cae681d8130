//! The pacing rate of messages at a rate of user data.

use bitcost_analysis::theory::Pacing;
use serde_json::{Value, json};

use super::quantity::{named_values, rate, short_rate};

/// The answer for people.
pub fn pacing_text(pacing: &Pacing) -> String {
    let (message, wire) = (pacing.conditions().message_size_bytes, pacing.wire_bytes());
    let (user, paced) = (pacing.rate_bps() / 8, pacing.pacing_bytes_per_second());
    let rows = [
        (
            "user data",
            format!("{} = {user} byte/s", short_rate(pacing.rate_bps() as f64)),
        ),
        (
            "messages",
            format!(
                "{user} ÷ {message} = {:.1} per second",
                pacing.messages_per_second()
            ),
        ),
        (
            "message with headers",
            format!("{message} + {} = {wire} B", wire - message),
        ),
        (
            "pacing rate",
            format!("{user} × {wire} ÷ {message} = {paced} byte/s"),
        ),
        (
            "the same in bit/s",
            format!(
                "{:.0} bit/s, {}",
                pacing.pacing_bps(),
                rate(pacing.pacing_bps())
            ),
        ),
    ];
    format!(
        "{}, messages of {message} bytes, MTU {}\n\n{}\n\
         Headers are those that fq counts: Ethernet, IP and transport, without check sequence, preamble and gap.\n\
         byte/s is what SO_MAX_PACING_RATE and netperf's -q take; tc's maxrate takes the bit/s.\n",
        pacing.conditions().workload.name(),
        pacing.mtu_bytes(),
        named_values(&rows)
    )
}

/// The answer for programs.
pub fn pacing_json(pacing: &Pacing) -> Value {
    json!({
        "workload": pacing.conditions().workload.name(),
        "rate_bps": pacing.rate_bps(),
        "mtu_bytes": pacing.mtu_bytes(),
        "message_size_bytes": pacing.conditions().message_size_bytes,
        "message_with_headers_bytes": pacing.wire_bytes(),
        "messages_per_second": pacing.messages_per_second(),
        "pacing_bytes_per_second": pacing.pacing_bytes_per_second(),
        "pacing_bps": pacing.pacing_bps(),
    })
}
