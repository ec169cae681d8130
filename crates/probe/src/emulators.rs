//! Link emulators of the lab: the lab daemon repeatedly writes their counters into a file.
//!
//! The first and the last line of the file are the same number; if they differ, it was being
//! written. In between is a line of JSON: a [`LinkEmulator`] for each direction.

use std::fs::File;
use std::os::unix::fs::FileExt;

use bitcost_model::counters::{LinkEmulator, Queue};

use crate::source::{Source, Target, source};

const FILE_MAX_BYTES: usize = 4 << 20;

const TRIES: usize = 5;

pub fn open(target: &Target) -> Option<Source> {
    let file = File::open(target.between.emulators.as_ref()?).ok()?;
    let mut text = vec![0; FILE_MAX_BYTES];
    source(move |sample, _| {
        let found = (0..TRIES).find_map(|_| {
            let length = file.read_at(&mut text, 0).ok()?;
            parse(std::str::from_utf8(text.get(..length)?).ok()?)
        });
        sample.emulators = found.unwrap_or_default();
        sample.queues.extend(sample.emulators.iter().map(queue));
    })
}

/// An emulator as a queue, so that its drops are found among those of queues.
fn queue(line: &LinkEmulator) -> Queue {
    let LinkEmulator {
        device,
        departed,
        lost,
        overflowed,
        arrived,
        duplicated,
        refused,
        ..
    } = line;
    let small = |count: u64| u32::try_from(count & u64::from(u32::MAX)).unwrap_or_default();
    let come = arrived.packets + duplicated.packets;
    let gone = departed.packets + lost.packets + overflowed.packets + refused.packets;
    let node = device.split_once('-').map_or(&**device, |(node, _)| node);
    Queue {
        // A device that is not named after its node is still none of the endpoint's own.
        node: Some(node.to_owned()),
        device: device.clone(),
        kind: LinkEmulator::KIND.to_owned(),
        handle: "0:".to_owned(),
        bytes: departed.bytes,
        packets: departed.segments,
        drops: small(lost.packets + overflowed.packets),
        backlog_packets: small(come.saturating_sub(gone)),
        ..Queue::default()
    }
}

fn parse(text: &str) -> Option<Vec<LinkEmulator>> {
    let mut lines = text.lines();
    let (first, directions, last) = (lines.next()?, lines.next()?, lines.next()?);
    LinkEmulator::of_line(directions).filter(|_| first == last)
}

#[cfg(test)]
mod tests {
    use bitcost_model::counters::Amount;

    use super::*;

    fn direction() -> LinkEmulator {
        let amount = |packets| Amount {
            packets,
            segments: packets + 1,
            bytes: packets + 2,
        };
        LinkEmulator {
            device: "s1-eth2".to_owned(),
            arrived: amount(1),
            departed: amount(4),
            lost: amount(7),
            overflowed: amount(10),
            duplicated: amount(13),
            refused: amount(16),
            missed_packets: 19,
            cpu_ns: 20,
            rate_bps: Some(21),
            late: vec![(1000, 4), (1125, 1)],
        }
    }

    fn text() -> String {
        let directions = LinkEmulator::line_of(&[&direction().part()]);
        format!("7\n{directions}\n7\n")
    }

    #[test]
    fn complete_file_is_read() {
        let lines = parse(&text()).unwrap();
        assert_eq!(lines, [direction()]);
        let queue = queue(&lines[0]);
        assert_eq!(
            (queue.node.as_deref(), queue.drops, queue.packets),
            (Some("s1"), 17, 5)
        );
        assert_eq!(parse("3\n[]\n3\n"), Some(Vec::new()));
    }

    #[test]
    fn copies_and_refused_packets_are_waited_for_and_gone() {
        let packets = |packets| Amount {
            packets,
            ..Amount::default()
        };
        let line = LinkEmulator {
            device: "wan".to_owned(),
            arrived: packets(10),
            duplicated: packets(5),
            departed: packets(8),
            refused: packets(3),
            ..LinkEmulator::default()
        };
        let queue = queue(&line);
        let found = (queue.node.as_deref(), queue.backlog_packets);
        assert_eq!(found, (Some("wan"), 4));
    }

    #[test]
    fn incomplete_file_is_absent() {
        assert_eq!(parse(&text().replacen('7', "8", 1)), None);
        assert_eq!(parse(&text()[..20]), None);
        assert_eq!(parse(""), None);
    }
}
