//! Records of samples as the kernel writes them (perf_event_open(2), "MMAP layout"). A record that does not
//! keep to its layout ends the reading.

/// `PERF_RECORD_…`.
const LOST: u32 = 2;
const THROTTLE: u32 = 5;
const UNTHROTTLE: u32 = 6;
const SAMPLE: u32 = 9;
const LOST_SAMPLES: u32 = 13;

/// `PERF_CONTEXT_…`: numbers in a stack that are no addresses, but say whose the addresses after them are.
const CONTEXTS_FROM: u64 = -4095_i64 as u64;
const KERNEL: u64 = -128_i64 as u64;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// What a CPU did.
    Sample {
        /// The process, as the PID namespace of who opened it numbers it; 0 for an idle CPU.
        process: u32,
        /// The thread, likewise.
        thread: u32,
        /// The addresses of the kernel's stack, the innermost first; none where the CPU was in a program.
        kernel: Vec<u64>,
    },
    /// This many records found no room.
    Lost(u64),
    /// From this time on, in ns, no samples were taken, because they took too long.
    Throttled(u64),
    /// From this time on they were taken again.
    Unthrottled(u64),
    /// The bytes from here on are not what the kernel writes.
    Garbled,
}

/// The records of some bytes, in order. Records of other kinds are skipped.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    rest: &'a [u8],
}

impl<'a> Records<'a> {
    /// The records of these bytes.
    pub fn of(bytes: &'a [u8]) -> Records<'a> {
        Records { rest: bytes }
    }

    /// The kind and the body of the next record.
    fn split(&mut self) -> Option<(u32, &'a [u8])> {
        let kind = u32::from_ne_bytes(*self.rest.first_chunk()?);
        let size = u16::from_ne_bytes(*self.rest.get(6..8)?.first_chunk()?);
        let body = self.rest.get(8..usize::from(size))?;
        self.rest = &self.rest[usize::from(size)..];
        Some((kind, body))
    }
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        while !self.rest.is_empty() {
            let read = self.split().map(|(kind, body)| (kind, numbers(body)));
            let record = match read {
                Some((SAMPLE, body)) => sample(body),
                Some((LOST, mut body)) => body.nth(1).map(Record::Lost),
                Some((LOST_SAMPLES, mut body)) => body.next().map(Record::Lost),
                Some((THROTTLE, mut body)) => body.next().map(Record::Throttled),
                Some((UNTHROTTLE, mut body)) => body.next().map(Record::Unthrottled),
                Some(_) => continue,
                None => None,
            };
            if record.is_none() {
                self.rest = &[];
            }
            return Some(record.unwrap_or(Record::Garbled));
        }
        None
    }
}

/// The whole numbers of 64 bits in these bytes.
fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().map(|number| u64::from_ne_bytes(*number))
}

/// Process and thread in the first number, the length of the stack, and the stack.
fn sample(mut body: impl Iterator<Item = u64>) -> Option<Record> {
    let [a, b, c, d, e, f, g, h] = body.next()?.to_ne_bytes();
    let length = usize::try_from(body.next()?).ok()?;
    let mut kernel = Vec::new();
    let (mut context, mut taken) = (0, 0);
    for address in body.take(length) {
        taken += 1;
        match address {
            CONTEXTS_FROM.. => context = address,
            address if context == KERNEL => kernel.push(address),
            _ => {}
        }
    }
    (taken == length).then_some(Record::Sample {
        process: u32::from_ne_bytes([a, b, c, d]),
        thread: u32::from_ne_bytes([e, f, g, h]),
        kernel,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: u64 = -512_i64 as u64;

    fn record(kind: u32, body: &[u64]) -> Vec<u8> {
        let size = 8 + 8 * body.len() as u16;
        let head = [&kind.to_ne_bytes()[..], &[2, 0], &size.to_ne_bytes()].concat();
        let body = body.iter().flat_map(|number| number.to_ne_bytes());
        head.into_iter().chain(body).collect()
    }

    fn ids(process: u32, thread: u32) -> u64 {
        let ids = [process.to_ne_bytes(), thread.to_ne_bytes()].concat();
        u64::from_ne_bytes(*ids.first_chunk().expect("eight bytes"))
    }

    fn read(bytes: &[u8]) -> Vec<Record> {
        Records::of(bytes).collect()
    }

    #[test]
    fn a_stack_is_that_of_the_kernel_alone() {
        let bytes = [
            record(SAMPLE, &[ids(7, 8), 6, KERNEL, 11, 12, USER, 21, 22]),
            record(1, &[1, 2, 3]),
            record(SAMPLE, &[ids(0, 0), 3, KERNEL, 11, 12]),
            record(LOST, &[99, 5]),
            record(LOST_SAMPLES, &[6]),
            record(THROTTLE, &[1000, 1, 1]),
            record(UNTHROTTLE, &[3000, 1, 1]),
            record(SAMPLE, &[ids(7, 9), 2, USER, 21]),
            record(SAMPLE, &[ids(7, 9), 0]),
        ];
        let sample = |process, thread, kernel: &[u64]| Record::Sample {
            process,
            thread,
            kernel: kernel.to_vec(),
        };
        assert_eq!(
            read(&bytes.concat()),
            [
                sample(7, 8, &[11, 12]),
                sample(0, 0, &[11, 12]),
                Record::Lost(5),
                Record::Lost(6),
                Record::Throttled(1000),
                Record::Unthrottled(3000),
                sample(7, 9, &[]),
                sample(7, 9, &[]),
            ]
        );
    }

    #[test]
    fn what_does_not_keep_to_the_layout_ends_the_reading() {
        let good = record(LOST, &[99, 5]);
        let longer = record(SAMPLE, &[1, u64::MAX, KERNEL]);
        let short = record(SAMPLE, &[1]);
        let empty = [0; 8].to_vec();
        for bad in [longer, short, empty, good[..7].to_vec(), vec![9]] {
            let bytes = [good.clone(), bad].concat();
            assert_eq!(read(&bytes), [Record::Lost(5), Record::Garbled]);
        }
    }

    /// Every record takes at least its head, so a reading ends, whatever the bytes are.
    #[test]
    fn any_bytes_are_read_to_an_end() {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as u32
        };
        for _ in 0..2000 {
            let mut bytes = record(SAMPLE, &[ids(7, 8), 5, KERNEL, 11, USER, 21, 22]).repeat(4);
            for _ in 0..next() % 8 {
                let at = next() as usize % bytes.len();
                bytes[at] = next() as u8;
            }
            bytes.truncate(next() as usize % (bytes.len() + 1));
            let records = read(&bytes);
            assert!(records.len() <= bytes.len() / 8 + 1);
            let is_last = |at: usize| at + 1 == records.len();
            let garbled = records.iter().position(|record| *record == Record::Garbled);
            assert!(garbled.is_none_or(is_last));
        }
    }
}
