//! The intervals of iperf3's client, one per stretch.

use bitcost_analysis::metrics::RunView;
use bitcost_model::record::Sample;
use serde_json::{Value, json};

use super::direction::{FIRST_SOCKET, Way, ways};

/// An entry per stretch between two of the client's samples.
pub(super) fn intervals(run: &RunView) -> Vec<Value> {
    let ways = ways(run);
    let Some(first) = ways.first() else {
        return Vec::new();
    };
    let begin = first
        .client
        .samples
        .first()
        .map_or(0, |sample| sample.at_ns);
    let pairs = first
        .client
        .samples
        .windows(2)
        .filter(|pair| pair[1].at_ns > pair[0].at_ns);
    pairs
        .map(|pair| interval(&ways, begin, &pair[0], &pair[1]))
        .collect()
}

fn interval(ways: &[Way], begin_ns: u64, before: &Sample, after: &Sample) -> Value {
    let mut document = json!({ "streams": [] });
    let mut streams = Vec::new();
    for (way, (name, socket)) in ways.iter().zip([
        ("sum", FIRST_SOCKET),
        ("sum_bidir_reverse", FIRST_SOCKET + 1),
    ]) {
        let Some(sum) = of_way(way, begin_ns, before, after) else {
            continue;
        };
        let mut stream = sum.clone();
        stream["socket"] = json!(socket);
        if way.client_sends {
            add_state(&mut stream, way, after);
        }
        streams.push(stream);
        document[name] = sum;
    }
    document["streams"] = json!(streams);
    document
}

fn of_way(way: &Way, begin_ns: u64, before: &Sample, after: &Sample) -> Option<Value> {
    let since = |sample: &Sample| sample.at_ns.saturating_sub(begin_ns) as f64 / 1e9;
    let (begin, end) = (since(before), since(after));
    let bytes = way
        .counts(after)?
        .bytes
        .checked_sub(way.counts(before)?.bytes)?;
    let mut entry = json!({
        "start": begin,
        "end": end,
        "seconds": end - begin,
        "bytes": bytes,
        "bits_per_second": bytes as f64 * 8.0 / (end - begin),
        "omitted": false,
        "sender": way.client_sends,
    });
    let again = |sample: &Sample| way.info(sample, None)?.total_retrans;
    if let (true, Some(now), Some(then)) = (way.client_sends, again(after), again(before)) {
        entry["retransmits"] = json!(now.wrapping_sub(then));
    }
    Some(entry)
}

/// Adds the state of a connection that only the sender knows; several connections together have no
/// such state.
fn add_state(stream: &mut Value, way: &Way, after: &Sample) {
    let Some(info) = way
        .info(after, None)
        .filter(|_| way.part.sender.flows.len() < 2)
    else {
        return;
    };
    if let Some(rtt) = info.rtt_us {
        stream["rtt"] = json!(rtt);
    }
    if let (Some(segments), Some(mss)) = (info.snd_cwnd_segments, way.mss()) {
        stream["snd_cwnd"] = json!(u64::from(segments) * u64::from(mss));
    }
}
