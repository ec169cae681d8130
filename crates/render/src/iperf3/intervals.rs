//! The intervals of iperf3's client, one per stretch.

use bitcost_analysis::metrics::RunView;
use bitcost_model::record::Sample;
use bitcost_model::units::bits_per_second;
use serde_json::{Value, json};

use super::direction::{FIRST_SOCKET, Way, ways, with};

/// An entry per stretch between two of the client's samples.
pub(super) fn intervals(run: &RunView) -> Vec<Value> {
    let ways = ways(run);
    let samples = ways.first().map_or(&[][..], |way| &way.client.samples);
    let begin = samples.first().map_or(0, |sample| sample.at_ns);
    let pairs = samples.windows(2);
    pairs
        .filter(|pair| pair[1].at_ns > pair[0].at_ns)
        .map(|pair| interval(&ways, begin, &pair[0], &pair[1]))
        .collect()
}

fn interval(ways: &[Way], begin_ns: u64, before: &Sample, after: &Sample) -> Value {
    let (mut document, mut streams) = (json!({}), Vec::new());
    let names = ["sum", "sum_bidir_reverse"];
    for ((way, name), socket) in ways.iter().zip(names).zip(FIRST_SOCKET..) {
        let Some(sum) = of_way(way, begin_ns, before, after) else {
            continue;
        };
        let stream = with(sum.clone(), json!({ "socket": socket }));
        streams.push(with(stream, state(way, after)));
        document[name] = sum;
    }
    with(document, json!({ "streams": streams }))
}

fn of_way(way: &Way, begin_ns: u64, before: &Sample, after: &Sample) -> Option<Value> {
    let since = |sample: &Sample| sample.at_ns.saturating_sub(begin_ns) as f64 / 1e9;
    let (begin, end) = (since(before), since(after));
    let (now, then) = (way.counts(after)?, way.counts(before)?);
    let bytes = now.bytes.checked_sub(then.bytes)?;
    let again = |sample: &Sample| way.info(sample, None)?.total_retrans;
    let again = again(after).zip(again(before)).filter(|_| way.client_sends);
    Some(json!({
        "start": begin,
        "end": end,
        "seconds": end - begin,
        "bytes": bytes,
        "bits_per_second": bits_per_second(bytes, end - begin),
        "omitted": false,
        "sender": way.client_sends,
        "retransmits": again.map(|(now, then)| now.wrapping_sub(then)),
    }))
}

/// The state of a connection that only the sender knows; several connections together have no
/// such state.
fn state(way: &Way, after: &Sample) -> Value {
    let is_one = way.client_sends && way.part.sender.flows.len() < 2;
    let info = way.info(after, None).filter(|_| is_one);
    let window = info.as_ref().and_then(|info| info.snd_cwnd_segments);
    let window = window.zip(way.mss());
    json!({
        "rtt": info.and_then(|info| info.rtt_us),
        "snd_cwnd": window.map(|(segments, mss)| u64::from(segments) * u64::from(mss)),
    })
}
