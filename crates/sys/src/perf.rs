//! Samples of what each CPU does, with the kernel's stack, in a ring of memory shared with the kernel
//! (perf_event_open(2)).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::files::Mapping;
use crate::outcome::checked;

/// Samples by the CPU's cycles: `PERF_TYPE_HARDWARE`, whose event 0 they are.
pub const CPU_CYCLES: u32 = 0;
/// Samples by the kernel's timer: `PERF_TYPE_SOFTWARE`, whose event 0 it is.
pub const CPU_CLOCK: u32 = 1;

/// `struct perf_event_attr` in its first version.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    frequency_hz: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_bytes: u32,
    breakpoint: [u32; 3],
}

/// `PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN`: the layout that [`sample`] reads.
const SAMPLE_TYPE: u64 = 1 << 1 | 1 << 5;

/// Flags of `struct perf_event_attr`, from its lowest bit on: it is disabled, without the hypervisor, its period is a
/// frequency, the kernel wakes nobody until a number of bytes is there, and a stack is that of the kernel alone.
const FLAGS: u64 = 1 << 0 | 1 << 6 | 1 << 10 | 1 << 14 | 1 << 22;

/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// `PERF_EVENT_IOC_ENABLE` and `PERF_EVENT_IOC_DISABLE`.
const ENABLE: u32 = 0x2400;
const DISABLE: u32 = 0x2401;

/// Bytes of the ring's records: together with the page before them as many as
/// `kernel.perf_event_mlock_kb` allows to everybody for each CPU.
const RING_BYTES: usize = 512 << 10;

/// `struct perf_event_mmap_page`: where the records begin and end.
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;

/// `PERF_RECORD_…`.
const LOST: u32 = 2;
const THROTTLE: u32 = 5;
const SAMPLE: u32 = 9;
const LOST_SAMPLES: u32 = 13;

/// `PERF_CONTEXT_…`: numbers in a stack that are no addresses, but say whose the addresses after them are.
const CONTEXTS_FROM: u64 = -4095_i64 as u64;
const KERNEL: u64 = -128_i64 as u64;

/// The ticks of a second on the slowest kernel: after one, a CPU that took too long is sampled again.
const TICKS_PER_SECOND: u32 = 100;

/// Samples of one CPU.
#[derive(Debug)]
pub struct CpuSamples {
    event: OwnedFd,
    memory: Mapping,
    in_tick: u64,
    taken: Vec<u8>,
}

impl CpuSamples {
    /// Opens the sampling of a CPU. It does not sample yet.
    ///
    /// # Errors
    /// The error of the system call: `EACCES` or `EPERM` without the right to sample whole CPUs, `ENOENT` or
    /// `EOPNOTSUPP` where there is no such event, `EINVAL` for a frequency above `kernel.perf_event_max_sample_rate`,
    /// `ENODEV` where the CPU is offline, `ENOSYS`.
    pub fn open(cpu: u32, trigger: u32, frequency_hz: u32) -> io::Result<Self> {
        let attributes = Attributes {
            kind: trigger,
            size: size_of::<Attributes>() as u32,
            config: 0,
            frequency_hz: frequency_hz.into(),
            sample_type: SAMPLE_TYPE,
            read_format: 0,
            flags: FLAGS,
            wakeup_bytes: RING_BYTES as u32,
            breakpoint: [0; 3],
        };
        // SAFETY: the kernel reads `size` bytes of the structure, which outlives the call, and returns a new descriptor.
        let event = unsafe {
            let event = libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                -1 as libc::c_int,
                cpu as libc::c_int,
                -1 as libc::c_int,
                CLOSE_ON_EXEC,
            );
            OwnedFd::from_raw_fd(checked(event)? as libc::c_int)
        };
        Ok(CpuSamples {
            memory: Mapping::of(&event, rustix::param::page_size() + RING_BYTES)?,
            event,
            in_tick: frequency_hz.div_ceil(TICKS_PER_SECOND).into(),
            taken: Vec::new(),
        })
    }

    /// Starts to sample, or ends it. What was sampled can still be read.
    pub fn set(&self, is_on: bool) -> io::Result<()> {
        let order = if is_on { ENABLE } else { DISABLE };
        // SAFETY: these requests take a number and touch no memory of ours.
        checked(unsafe { libc::ioctl(self.event.as_raw_fd(), order as _, 0) })?;
        Ok(())
    }

    /// Passes what was sampled since this was last called to `sample`, and returns how many samples were lost: they found
    /// no room, or took too long. Their place in the ring is then the kernel's again.
    pub fn take(&mut self, sample: impl FnMut(Sample)) -> u64 {
        let tail = self.position(TAIL_AT).load(Ordering::Relaxed);
        let head = self.position(HEAD_AT).load(Ordering::Acquire);
        let length = usize::try_from(head.wrapping_sub(tail)).unwrap_or(usize::MAX);
        let length = length.min(RING_BYTES);
        let from = (tail % RING_BYTES as u64) as usize;
        let until_end = length.min(RING_BYTES - from);
        self.taken.clear();
        for (from, length) in [(from, until_end), (0, length - until_end)] {
            // SAFETY: the range lies in the ring, which follows the first page and whose bytes from tail to head the kernel
            // does not write until the tail is moved.
            let part = unsafe {
                let first = self.memory.start.add(rustix::param::page_size() + from);
                std::slice::from_raw_parts(first.as_ptr(), length)
            };
            self.taken.extend_from_slice(part);
        }
        self.position(TAIL_AT).store(head, Ordering::Release);
        read(&self.taken, self.in_tick, sample)
    }

    /// A field of 64 bits of the first page.
    fn position(&self, at: usize) -> &AtomicU64 {
        // SAFETY: the field lies in the first page, is aligned to 8 bytes, and lives as long as `self`; both sides change
        // it atomically only.
        unsafe { AtomicU64::from_ptr(self.memory.start.add(at).cast().as_ptr()) }
    }
}

/// What a CPU did at one time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sample {
    /// The process, as the PID namespace of who opened it numbers it; 0 for an idle CPU.
    pub process: u32,
    /// The thread, likewise.
    pub thread: u32,
    /// The addresses of the kernel's stack, the innermost first; none where the CPU was in a program.
    pub kernel: Vec<u64>,
}

/// Passes the samples among these records to `take`, in order, and returns how many were lost: `in_tick` each time that they
/// took too long, and at least one where the bytes are not what the kernel writes. Records of other kinds are skipped.
fn read(mut bytes: &[u8], in_tick: u64, mut take: impl FnMut(Sample)) -> u64 {
    let mut lost = 0;
    while !bytes.is_empty() {
        let counted = split(bytes).and_then(|(kind, body, rest)| {
            bytes = rest;
            let mut body = numbers(body);
            Some(match kind {
                SAMPLE => {
                    take(sample(body)?);
                    0
                }
                LOST => body.nth(1)?,
                LOST_SAMPLES => body.next()?,
                THROTTLE => in_tick,
                _ => 0,
            })
        });
        let Some(more) = counted else { return lost + 1 };
        lost += more;
    }
    lost
}

/// The kind and the body of the first record, and the others.
fn split(bytes: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    let kind = u32::from_ne_bytes(*bytes.first_chunk()?);
    let size = u16::from_ne_bytes(*bytes.get(6..8)?.first_chunk()?);
    let body = bytes.get(8..usize::from(size))?;
    Some((kind, body, &bytes[usize::from(size)..]))
}

/// The whole numbers of 64 bits in these bytes.
fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().map(|number| u64::from_ne_bytes(*number))
}

/// Process and thread in the first number, the length of the stack, and the stack.
fn sample(mut body: impl Iterator<Item = u64>) -> Option<Sample> {
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
    (taken == length).then_some(Sample {
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

    fn all(bytes: &[u8]) -> (Vec<Sample>, u64) {
        let mut samples = Vec::new();
        let lost = read(bytes, 10, |sample| samples.push(sample));
        (samples, lost)
    }

    #[test]
    fn a_stack_is_that_of_the_kernel_alone() {
        let bytes = [
            record(SAMPLE, &[ids(7, 8), 6, KERNEL, 11, 12, USER, 21, 22]),
            record(1, &[1, 2, 3]),
            record(SAMPLE, &[ids(0, 0), 3, KERNEL, 11, 12]),
            record(SAMPLE, &[ids(7, 9), 2, USER, 21]),
            record(SAMPLE, &[ids(7, 9), 0]),
        ];
        let sample = |process, thread, kernel: &[u64]| Sample {
            process,
            thread,
            kernel: kernel.to_vec(),
        };
        let samples = vec![
            sample(7, 8, &[11, 12]),
            sample(0, 0, &[11, 12]),
            sample(7, 9, &[]),
            sample(7, 9, &[]),
        ];
        assert_eq!(all(&bytes.concat()), (samples, 0));
    }

    #[test]
    fn samples_without_room_and_those_of_a_throttled_tick_are_lost() {
        for (kind, body, lost) in [
            (LOST, [99, 5, 0], 5),
            (LOST_SAMPLES, [6, 0, 0], 6),
            (THROTTLE, [1000, 1, 1], 10),
            // The end of it.
            (6, [3000, 1, 1], 0),
        ] {
            assert_eq!(all(&record(kind, &body)), (Vec::new(), lost), "{kind}");
        }
    }

    #[test]
    fn what_does_not_keep_to_the_layout_ends_the_reading() {
        let good = record(LOST, &[99, 5]);
        let longer = record(SAMPLE, &[1, u64::MAX, KERNEL]);
        let short = record(SAMPLE, &[1]);
        let empty = [0; 8].to_vec();
        for bad in [longer, short, empty, good[..7].to_vec(), vec![9]] {
            let bytes = [good.clone(), bad, good.clone()].concat();
            assert_eq!(all(&bytes), (Vec::new(), 5 + 1));
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
            assert!(all(&bytes).0.len() <= bytes.len() / 8 + 1);
        }
    }
}
