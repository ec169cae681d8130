//! Link emulators of the lab: the lab daemon repeatedly writes their counters into a file.
//!
//! The first and the last line of the file are the same number; if they differ, it was being
//! written. In between is a line for each direction: the device, then the counters in the order of
//! `counters`, the rate (0 without one), then pairs `bound:packets`.

use std::fs::File;
use std::os::unix::fs::FileExt;

use bitcost_model::counters::{Amount, LinkEmulator, Queue};
use bitcost_model::record::Sample;

use crate::source::{Detail, Source, Target};

/// Longest file, in bytes.
const FILE_MAX_BYTES: usize = 1 << 20;

/// Attempts to read a complete file.
const TRIES: usize = 5;

struct Emulators {
    file: File,
    text: Vec<u8>,
}

/// Opens the file of the lab, if it has one.
pub fn open(target: &Target) -> Option<Box<dyn Source>> {
    let file = File::open(target.between.emulators.as_ref()?).ok()?;
    Some(Box::new(Emulators {
        file,
        text: vec![0; FILE_MAX_BYTES],
    }))
}

impl Source for Emulators {
    fn read(&mut self, sample: &mut Sample, _detail: Detail) {
        let found = (0..TRIES).find_map(|_| {
            let length = self.file.read_at(&mut self.text, 0).ok()?;
            parse(std::str::from_utf8(self.text.get(..length)?).ok()?)
        });
        sample.emulators = found.unwrap_or_default();
        sample.queues.extend(sample.emulators.iter().map(queue));
    }
}

/// An emulator as a queue, so that its drops are found among those of queues.
fn queue(line: &LinkEmulator) -> Queue {
    let LinkEmulator {
        device,
        departed,
        lost,
        overflowed,
        arrived,
        ..
    } = line;
    let small = |count: u64| u32::try_from(count & u64::from(u32::MAX)).unwrap_or_default();
    let gone = departed.packets + lost.packets + overflowed.packets;
    Queue {
        node: device.split_once('-').map(|(node, _)| node.to_owned()),
        device: device.clone(),
        kind: LinkEmulator::KIND.to_owned(),
        handle: "0:".to_owned(),
        bytes: departed.bytes,
        packets: departed.segments,
        drops: small(lost.packets + overflowed.packets),
        backlog_packets: small(arrived.packets.saturating_sub(gone)),
        ..Queue::default()
    }
}

fn parse(text: &str) -> Option<Vec<LinkEmulator>> {
    let (first, rest) = text.split_once('\n')?;
    let (middle, last) = rest
        .trim_end()
        .rsplit_once('\n')
        .unwrap_or(("", rest.trim_end()));
    if first != last {
        return None;
    }
    middle.lines().map(line).collect()
}

fn line(text: &str) -> Option<LinkEmulator> {
    let mut words = text.split(' ');
    let mut line = LinkEmulator {
        device: words.next()?.to_owned(),
        ..LinkEmulator::default()
    };
    for counter in counters(&mut line) {
        *counter = words.next()?.parse().ok()?;
    }
    line.rate_bps = words.next()?.parse().ok().filter(|rate| *rate > 0);
    let pair = |word: &str| {
        let (bound, packets) = word.split_once(':')?;
        Some((bound.parse().ok()?, packets.parse().ok()?))
    };
    line.late = words.map(pair).collect::<Option<_>>()?;
    Some(line)
}

/// The counters in the order of the file.
fn counters(line: &mut LinkEmulator) -> impl Iterator<Item = &mut u64> {
    let LinkEmulator {
        arrived,
        departed,
        lost,
        overflowed,
        duplicated,
        refused,
        missed_packets,
        cpu_ns,
        ..
    } = line;
    let amounts = [arrived, departed, lost, overflowed, duplicated, refused].into_iter();
    let each = amounts.flat_map(
        |Amount {
             packets,
             segments,
             bytes,
         }| [packets, segments, bytes],
    );
    each.chain([missed_packets, cpu_ns])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "7\ns1-eth2 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 1000:4 1125:1\n7\n";

    #[test]
    fn complete_file_is_read() {
        let lines = parse(TEXT).unwrap();
        let amount = |packets, segments, bytes| Amount {
            packets,
            segments,
            bytes,
        };
        assert_eq!(lines.len(), 1);
        assert_eq!(
            (lines[0].device.as_str(), lines[0].arrived),
            ("s1-eth2", amount(1, 2, 3))
        );
        assert_eq!(
            (lines[0].overflowed, lines[0].refused),
            (amount(10, 11, 12), amount(16, 17, 18))
        );
        assert_eq!((lines[0].missed_packets, lines[0].cpu_ns), (19, 20));
        assert_eq!(lines[0].rate_bps, Some(21));
        assert_eq!(lines[0].late, [(1000, 4), (1125, 1)]);
        let queue = queue(&lines[0]);
        assert_eq!(
            (queue.node.as_deref(), queue.drops, queue.packets),
            (Some("s1"), 17, 5)
        );
        assert_eq!(parse("3\n3\n"), Some(Vec::new()));
    }

    #[test]
    fn incomplete_file_is_absent() {
        assert_eq!(parse(&TEXT.replacen('7', "8", 1)), None);
        assert_eq!(parse(&TEXT[..20]), None);
        assert_eq!(parse(""), None);
    }
}
