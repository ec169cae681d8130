//! Counters of interfaces: `/proc/net/dev` (net/core/net-procfs.c).

use bitcost_model::counters::Interface;

use crate::read::Kept;
use crate::source::{Source, Target, hops, source};

/// Opens the file of this namespace and of every node on the path. It belongs to the namespace in which it was opened. The
/// endpoint's interface is reported, and those of nodes but loopback.
pub fn open(target: &Target) -> Option<Source> {
    let own = target.device.clone();
    let mut hops = hops(target, |_| Kept::open("/proc/thread-self/net/dev"))?;
    source(move |sample, _| {
        for (node, file) in &mut hops {
            let is_reported = |found: &Interface| match node {
                None => found.device == own,
                Some(_) => found.device != "lo",
            };
            let found = file.text().map(parse).unwrap_or_default().into_iter();
            let reported = found.filter(is_reported).map(|found| Interface {
                node: node.clone(),
                ..found
            });
            sample.interfaces.extend(reported);
        }
    })
}

/// The interfaces in the file's text; lines that cannot be parsed are left out.
pub fn parse(text: &str) -> Vec<Interface> {
    text.lines().filter_map(line).collect()
}

/// The name may directly precede the first number (before Linux 2.6.31).
fn line(line: &str) -> Option<Interface> {
    let (device, numbers) = line.rsplit_once(':')?;
    let mut numbers = numbers.split_ascii_whitespace().map(str::parse::<u64>);
    let mut fields = [0; 12];
    for field in &mut fields {
        *field = numbers.next()?.ok()?;
    }
    let [
        rx_bytes,
        rx_packets,
        rx_errors,
        rx_dropped,
        ..,
        tx_bytes,
        tx_packets,
        tx_errors,
        tx_dropped,
    ] = fields;
    Some(Interface {
        node: None,
        device: device.trim().to_owned(),
        rx_bytes,
        rx_packets,
        rx_errors,
        rx_dropped,
        tx_bytes,
        tx_packets,
        tx_errors,
        tx_dropped,
    })
}
