//! Received frames in a ring of memory shared with the kernel: no system call and no copy to read one
//! (Documentation/networking/packet_mmap.rst, `TPACKET_V2`).
//!
//! A ring can hold far more than a socket's receive buffer may, so its reader may be late. All slots have the length of
//! the longest packet, so two rings on one device share the lengths: many short slots and a few long ones.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::tpacket2_hdr;

use super::raw::{EVERY_PROTOCOL, OFFLOAD_HEADER_BYTES, PACKET_MAX_BYTES, bind, open};
use crate::files::Mapping;
use crate::socket::{self, IntOption};

const VERSION: IntOption = IntOption(libc::SOL_PACKET, libc::PACKET_VERSION);
const RX_RING: IntOption = IntOption(libc::SOL_PACKET, libc::PACKET_RX_RING);
const STATISTICS: IntOption = IntOption(libc::SOL_PACKET, libc::PACKET_STATISTICS);
const ATTACH_FILTER: IntOption = IntOption(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);

/// Space before a frame in its slot: the kernel's header, an address, and alignment (`tpacket_rcv`).
const SLOT_HEADER_BYTES: usize = 96;
const BLOCK_BYTES: usize = 1 << 20;
const PAGE_BYTES: usize = 4096;
/// A frame's status bits (linux/if_packet.h).
const TP_STATUS_KERNEL: u32 = 0;
const TP_STATUS_USER: u32 = 1;

/// The lengths of the frames that a ring takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// Up to this many bytes.
    UpTo(u32),
    /// More than this many bytes.
    Above(u32),
}

/// A ring of received packets, read in the order of their arrival.
#[derive(Debug)]
pub struct Ring {
    socket: OwnedFd,
    memory: Mapping,
    slot_bytes: usize,
    slots: usize,
    next: usize,
    dropped: u64,
}

impl Ring {
    /// Opens a ring of about `memory_bytes` for the frames that a device of the calling thread's network namespace receives
    /// from now on.
    ///
    /// # Errors
    /// The error of the system call: `EPERM` without `CAP_NET_RAW` over the namespace, `ENOMEM`.
    pub fn open(device_index: u32, lengths: Lengths, memory_bytes: usize) -> io::Result<Ring> {
        let socket = open()?;
        let slot_bytes = slot_bytes(lengths);
        let blocks = memory_bytes.div_ceil(BLOCK_BYTES).max(1);
        let slots = BLOCK_BYTES / slot_bytes * blocks;
        // SAFETY: these options hold no pointers.
        unsafe {
            socket::set(&socket, VERSION, &libc::tpacket_versions::TPACKET_V2)?;
            let request = libc::tpacket_req {
                tp_block_size: BLOCK_BYTES as u32,
                tp_block_nr: blocks as u32,
                tp_frame_size: slot_bytes as u32,
                tp_frame_nr: slots as u32,
            };
            socket::set(&socket, RX_RING, &request)?;
        }
        filter(&socket, lengths)?;
        let memory = Mapping::of(&socket, blocks * BLOCK_BYTES)?;
        let ring = Ring {
            socket,
            memory,
            slot_bytes,
            slots,
            next: 0,
            dropped: 0,
        };
        bind(&ring.socket, device_index, EVERY_PROTOCOL)?;
        Ok(ring)
    }

    /// The memory that a packet takes in a ring for these lengths, whatever its length.
    pub fn slot_bytes(lengths: Lengths) -> u64 {
        (BLOCK_BYTES / (BLOCK_BYTES / slot_bytes(lengths))) as u64
    }

    /// When the next packet arrived, in ns of `CLOCK_REALTIME`; absent where there is none.
    pub fn next_at_ns(&mut self) -> Option<u64> {
        let header = self.whole()?;
        Some(u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec))
    }

    /// Passes the next packet to `read`, then returns its slot to the kernel. Absent where there is none.
    pub fn take<T>(&mut self, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let header = self.whole()?;
        let begin = usize::from(header.tp_mac) - OFFLOAD_HEADER_BYTES;
        let bytes = OFFLOAD_HEADER_BYTES + header.tp_snaplen as usize;
        // SAFETY: `whole` saw that the range lies in the slot, which is user space's until `give_back`.
        let packet = unsafe { std::slice::from_raw_parts(self.slot().add(begin).as_ptr(), bytes) };
        let taken = read(packet);
        self.give_back();
        Some(taken)
    }

    /// Packets dropped so far because the ring was full.
    ///
    /// # Errors
    /// The error of the system call; `ENETDOWN` where the device is down or gone.
    pub fn dropped(&mut self) -> io::Result<u64> {
        match socket::get_int(&self.socket, socket::SO_ERROR)? {
            0 => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
        // SAFETY: the structure is integers only, so zero is valid.
        let mut statistics: libc::tpacket_stats = unsafe { socket::zeroed() };
        // SAFETY: so is whatever the kernel writes. Reading sets its counters to 0.
        unsafe { socket::get(&self.socket, STATISTICS, &mut statistics)? };
        self.dropped += u64::from(statistics.tp_drops);
        Ok(self.dropped)
    }

    fn slot(&self) -> NonNull<u8> {
        let per_block = BLOCK_BYTES / self.slot_bytes;
        let at = self.next / per_block * BLOCK_BYTES + self.next % per_block * self.slot_bytes;
        // SAFETY: `next` is less than `slots`, which all lie within the memory.
        unsafe { self.memory.start.add(at) }
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: a slot begins with its status, is aligned to 16 bytes, and lives as long as `self`; both sides change
        // the status atomically only.
        unsafe { AtomicU32::from_ptr(self.slot().cast().as_ptr()) }
    }

    /// The header of the next slot, where the kernel has filled it.
    fn ready(&self) -> Option<tpacket2_hdr> {
        if self.status().load(Ordering::Acquire) & TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: a filled slot begins with this header, whose every byte pattern is valid, and is user space's.
        Some(unsafe { self.slot().cast::<tpacket2_hdr>().read_volatile() })
    }

    /// The header of the next packet. One that is longer than a slot is skipped and counts as dropped.
    fn whole(&mut self) -> Option<tpacket2_hdr> {
        loop {
            let header = self.ready()?;
            let (begin, captured) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
            let is_inside = begin >= OFFLOAD_HEADER_BYTES && begin + captured <= self.slot_bytes;
            if is_inside && header.tp_snaplen == header.tp_len {
                return Some(header);
            }
            self.dropped += 1;
            self.give_back();
        }
    }

    fn give_back(&mut self) {
        self.status().store(TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.slots;
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The size of a slot for the longest of these frames: a power of two up to half a page, whole pages above, so that no short
/// slot crosses a page.
fn slot_bytes(lengths: Lengths) -> usize {
    let frame = match lengths {
        Lengths::UpTo(most) => most as usize,
        Lengths::Above(_) => PACKET_MAX_BYTES - OFFLOAD_HEADER_BYTES,
    };
    let needed = SLOT_HEADER_BYTES + frame;
    if needed > PAGE_BYTES {
        needed.next_multiple_of(PAGE_BYTES)
    } else {
        needed.next_power_of_two()
    }
}

/// Makes the kernel deliver only frames of these lengths (socket(7), `SO_ATTACH_FILTER`).
fn filter(socket: &OwnedFd, lengths: Lengths) -> io::Result<()> {
    let (bound, longer, others) = match lengths {
        Lengths::UpTo(most) => (most, 0, u32::MAX),
        Lengths::Above(most) => (most, u32::MAX, 0),
    };
    let step = |code: u32, jump: (u8, u8), value: u32| libc::sock_filter {
        code: code as u16,
        jt: jump.0,
        jf: jump.1,
        k: value,
    };
    let mut steps = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_LEN, (0, 0), 0),
        step(libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K, (0, 1), bound),
        step(libc::BPF_RET | libc::BPF_K, (0, 0), longer),
        step(libc::BPF_RET | libc::BPF_K, (0, 0), others),
    ];
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: the program points to `steps`, which outlives the call.
    unsafe { socket::set(socket, ATTACH_FILTER, &program) }
}
