//! Samples of what each CPU does, with the kernel's stack, in a ring of memory shared with the kernel
//! (perf_event_open(2)).

mod records;

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::outcome::checked;

pub use self::records::{Record, Records};

/// What makes a sample be taken: `type` and `config` of `struct perf_event_attr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// `PERF_COUNT_HW_CPU_CYCLES`.
    Cycles,
    /// `PERF_COUNT_SW_CPU_CLOCK`.
    CpuClock,
}

impl Trigger {
    fn type_and_config(self) -> (u32, u64) {
        match self {
            Trigger::Cycles => (0, 0),
            Trigger::CpuClock => (1, 0),
        }
    }
}

/// `struct perf_event_attr` up to its fifth version (Linux 4.8).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    frequency_hz: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_bytes: u32,
    breakpoint: u32,
    config1: u64,
    config2: u64,
    branches: u64,
    user_registers: u64,
    user_stack_bytes: u32,
    clock: i32,
    interrupt_registers: u64,
    aux_watermark: u32,
    stack_most: u16,
    reserved: u16,
}

const _: () = assert!(size_of::<Attributes>() == 112);

/// `PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN`: the layout that [`Records`] reads.
const SAMPLE_TYPE: u64 = 1 << 1 | 1 << 5;

/// Flags of `struct perf_event_attr`, from its lowest bit on.
const DISABLED: u64 = 1 << 0;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const IS_FREQUENCY: u64 = 1 << 10;
/// The kernel wakes nobody until this number of bytes is there.
const WATERMARK: u64 = 1 << 14;
/// A stack is that of the kernel alone.
const EXCLUDE_CALLCHAIN_USER: u64 = 1 << 22;

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
const RECORDS_AT: usize = 1040;

/// Samples of one CPU.
#[derive(Debug)]
pub struct CpuSamples {
    event: OwnedFd,
    memory: NonNull<u8>,
    bytes: usize,
    taken: Vec<u8>,
}

// SAFETY: the memory belongs to this value alone, and only methods that borrow it mutably read its records.
unsafe impl Send for CpuSamples {}

impl CpuSamples {
    /// Opens the sampling of a CPU, with at most this many frames of a stack. It does not sample yet.
    ///
    /// # Errors
    /// The error of the system call: `EACCES` or `EPERM` without the right to sample whole CPUs, `ENOENT` or
    /// `EOPNOTSUPP` where there is no such event, `EINVAL` for a frequency above `kernel.perf_event_max_sample_rate`,
    /// `ENODEV` where the CPU is offline, `ENOSYS`.
    pub fn open(cpu: u32, trigger: Trigger, frequency_hz: u32, frames: u16) -> io::Result<Self> {
        let (kind, config) = trigger.type_and_config();
        let attributes = Attributes {
            kind,
            size: size_of::<Attributes>() as u32,
            config,
            frequency_hz: frequency_hz.into(),
            sample_type: SAMPLE_TYPE,
            flags: DISABLED
                | EXCLUDE_HYPERVISOR
                | IS_FREQUENCY
                | WATERMARK
                | EXCLUDE_CALLCHAIN_USER,
            wakeup_bytes: RING_BYTES as u32,
            stack_most: frames,
            ..Attributes::default()
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
        let bytes = rustix::param::page_size() + RING_BYTES;
        let memory = crate::files::map_shared(&event, bytes)?;
        Ok(CpuSamples {
            event,
            memory,
            bytes,
            taken: Vec::new(),
        })
    }

    /// Starts to sample.
    pub fn enable(&self) -> io::Result<()> {
        self.order(ENABLE)
    }

    /// Ends it. What was sampled can still be read.
    pub fn disable(&self) -> io::Result<()> {
        self.order(DISABLE)
    }

    fn order(&self, order: u32) -> io::Result<()> {
        // SAFETY: these requests take a number and touch no memory of ours.
        checked(unsafe { libc::ioctl(self.event.as_raw_fd(), order as _, 0) })?;
        Ok(())
    }

    /// Whether more than half of the room for records is used.
    pub fn is_filling(&self) -> bool {
        let [head, tail] = [HEAD_AT, TAIL_AT].map(|at| self.position(at).load(Ordering::Relaxed));
        head.wrapping_sub(tail) > RING_BYTES as u64 / 2
    }

    /// What was recorded since this was last asked. Its place in the ring is then the kernel's again.
    pub fn take(&mut self) -> Records<'_> {
        let tail = self.position(TAIL_AT).load(Ordering::Relaxed);
        let head = self.position(HEAD_AT).load(Ordering::Acquire);
        let length = usize::try_from(head.wrapping_sub(tail)).unwrap_or(usize::MAX);
        let length = length.min(RING_BYTES);
        let from = (tail % RING_BYTES as u64) as usize;
        let until_end = length.min(RING_BYTES - from);
        self.taken.clear();
        for (from, length) in [(from, until_end), (0, length - until_end)] {
            // SAFETY: the range lies in the ring, whose bytes from tail to head the kernel does not write until the tail
            // is moved.
            let part = unsafe {
                let first = self.memory.add(self.records_at() + from);
                std::slice::from_raw_parts(first.as_ptr(), length)
            };
            self.taken.extend_from_slice(part);
        }
        self.position(TAIL_AT).store(head, Ordering::Release);
        Records::of(&self.taken)
    }

    /// A field of 64 bits of the first page.
    fn position(&self, at: usize) -> &AtomicU64 {
        // SAFETY: the field lies in the first page, is aligned to 8 bytes, and lives as long as `self`; both sides change
        // it atomically only.
        unsafe { AtomicU64::from_ptr(self.memory.add(at).cast().as_ptr()) }
    }

    /// Where the records begin: after the first page, which older kernels do not say.
    fn records_at(&self) -> usize {
        let page = self.bytes - RING_BYTES;
        match self.position(RECORDS_AT).load(Ordering::Relaxed) as usize {
            said if said <= page && said > 0 => said,
            _ => page,
        }
    }
}

impl Drop for CpuSamples {
    fn drop(&mut self) {
        // SAFETY: this is the memory that `map_shared` got, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}
