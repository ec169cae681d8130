//! Counters of interfaces: `/proc/net/dev` (net/core/net-procfs.c).

use std::fs::File;

use bitcost_model::counters::Interface;
use bitcost_model::record::Sample;

use crate::read;
use crate::source::{Detail, Source, Target, inside};

struct Interfaces {
    hops: Vec<Hop>,
    buffer: Vec<u8>,
}

/// One network namespace.
struct Hop {
    node: Option<String>,
    file: File,
    /// The only interface to report; absent for all but loopback.
    device: Option<String>,
}

/// Opens the file of this namespace and of every node on the path.
pub fn open(target: &Target) -> Option<Box<dyn Source>> {
    let own = dev().map(|file| Hop {
        node: None,
        file,
        device: Some(target.device.clone()),
    });
    let between = target.between.nodes.iter().map(|node| {
        let file = inside(&node.namespace, dev)?;
        Some(Hop {
            node: Some(node.name.clone()),
            file,
            device: None,
        })
    });
    let hops: Vec<Hop> = std::iter::once(own).chain(between).flatten().collect();
    (!hops.is_empty()).then(|| {
        Box::new(Interfaces {
            hops,
            buffer: Vec::new(),
        }) as Box<dyn Source>
    })
}

/// The file belongs to the namespace in which it was opened.
fn dev() -> Option<File> {
    File::open("/proc/thread-self/net/dev").ok()
}

impl Source for Interfaces {
    fn read(&mut self, sample: &mut Sample, _detail: Detail) {
        for hop in &self.hops {
            let Some(text) = read::whole(&hop.file, &mut self.buffer) else {
                continue;
            };
            let is_told = |found: &Interface| match &hop.device {
                Some(device) => found.device == *device,
                None => found.device != "lo",
            };
            let told = parse(text).into_iter().filter(is_told);
            sample.interfaces.extend(told.map(|found| Interface {
                node: hop.node.clone(),
                ..found
            }));
        }
    }
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
