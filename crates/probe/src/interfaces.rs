//! Counters of interfaces: `/proc/net/dev` (net/core/net-procfs.c).

use bitcost_model::counters::Interface;

use crate::read::Kept;
use crate::source::{Source, Target, inside, source};

struct Hop {
    node: Option<String>,
    file: Kept,
    /// The only interface to report; absent for all but loopback.
    device: Option<String>,
}

/// Opens the file of this namespace and of every node on the path. It belongs to the namespace in which it was opened.
pub fn open(target: &Target) -> Option<Source> {
    let dev = || Kept::open("/proc/thread-self/net/dev");
    let own = dev().map(|file| Hop {
        node: None,
        file,
        device: Some(target.device.clone()),
    });
    let between = target.between.nodes.iter().map(|node| {
        Some(Hop {
            node: Some(node.name.clone()),
            file: inside(&node.namespace, dev)?,
            device: None,
        })
    });
    let mut hops: Vec<Hop> = std::iter::once(own).chain(between).flatten().collect();
    hops.first()?;
    source(move |sample, _| {
        for Hop { node, file, device } in &mut hops {
            let is_reported = |found: &Interface| match device {
                Some(device) => found.device == *device,
                None => found.device != "lo",
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
