//! BPF programs at trace points of the kernel, and the arrays that they share with this process (bpf(2); kernel doc: bpf,
//! bpf/instruction-set).
//!
//! A program is a list of instructions, so that neither a compiler nor an object file is needed. The kernel's verifier
//! checks it when it is loaded. All descriptors are owned: when they are closed, the kernel detaches and frees what they
//! stand for.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::outcome::checked;

/// Commands (`enum bpf_cmd`) with their names.
const MAP_CREATE: Command = (0, "BPF_MAP_CREATE");
const MAP_LOOKUP: Command = (1, "BPF_MAP_LOOKUP_ELEM");
const LOAD: Command = (5, "BPF_PROG_LOAD");
const ATTACH: Command = (17, "BPF_RAW_TRACEPOINT_OPEN");

type Command = (libc::c_long, &'static str);

/// `BPF_MAP_TYPE_ARRAY`.
const ARRAY: u32 = 2;
/// `BPF_PROG_TYPE_RAW_TRACEPOINT` (Linux 4.17).
const RAW_TRACEPOINT: u32 = 17;
/// The license that the kernel is told. It allows to look up in maps, to read the clock, and the number of the CPU from
/// Linux 5.8 on.
const LICENSE: &CStr = c"MIT";

/// Makes the call with its part of `union bpf_attr`, whose other bytes are 0; returns what it answers.
///
/// # Safety
/// The layout is that of the command in linux/bpf.h, and every address in it is of memory that the kernel may read or write
/// as the command does, for the length of the call.
unsafe fn call<T>((number, name): Command, attributes: &T) -> io::Result<libc::c_long> {
    let attributes = std::ptr::from_ref(attributes);
    // SAFETY: the kernel reads `size_of` bytes of the attributes; the caller promises the rest.
    let answer = unsafe { libc::syscall(libc::SYS_bpf, number, attributes, size_of::<T>()) };
    checked(answer).map_err(|error| io::Error::new(error.kind(), format!("bpf({name}): {error}")))
}

/// As [`call`], of a command that answers with a new descriptor, which is closed on exec.
///
/// # Safety
/// As for [`call`].
unsafe fn open<T>(command: Command, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the caller promises what the call needs; its answer is a descriptor that the kernel has just made for it.
    unsafe {
        Ok(OwnedFd::from_raw_fd(
            call(command, attributes)? as libc::c_int
        ))
    }
}

fn address<T: ?Sized>(of: *const T) -> u64 {
    of.expose_provenance() as u64
}

/// An element of an array: 16 numbers, two cache lines, so that elements of different CPUs are in different lines.
pub type Words = [u64; 16];

/// An array of elements that programs write and this process reads, which starts with zeros.
#[derive(Debug)]
pub struct Array {
    descriptor: OwnedFd,
}

/// The attributes of `BPF_MAP_LOOKUP_ELEM`.
#[repr(C)]
struct Element {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

impl Array {
    /// Makes an array.
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF` where the host demands it, `EINVAL` for no element, `ENOSYS` where the kernel lacks BPF.
    pub fn new(elements: u32) -> io::Result<Array> {
        let (key_bytes, value_bytes) = (size_of::<u32>() as u32, size_of::<Words>() as u32);
        let flags = 0;
        // SAFETY: kind, sizes, number and flags are the attributes, and none is an address.
        let descriptor = unsafe {
            open(
                MAP_CREATE,
                &[ARRAY, key_bytes, value_bytes, elements, flags],
            )?
        };
        Ok(Array { descriptor })
    }

    /// Reads an element.
    ///
    /// # Errors
    /// `ENOENT` where there is no such element.
    pub fn read(&self, index: u32) -> io::Result<Words> {
        let mut words = Words::default();
        let element = Element {
            map: self.descriptor.as_raw_fd().cast_unsigned(),
            padding: 0,
            key: address(&raw const index),
            value: address(&raw mut words),
            flags: 0,
        };
        // SAFETY: the key and the value have the array's sizes and outlive the call, and the kernel writes only the value.
        unsafe { call(MAP_LOOKUP, &element)? };
        Ok(words)
    }

    /// The number of its descriptor, by which an instruction names it.
    pub fn number(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }
}

/// One instruction: `struct bpf_insn` of linux/bpf.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    number: i32,
}

impl Instruction {
    /// The instruction with this code, destination, source, offset and number.
    pub fn new(code: u8, to: u8, from: u8, offset: i16, number: i32) -> Instruction {
        // Two bit fields of a C compiler: the first has the lower bits on a little-endian machine.
        let registers = match cfg!(target_endian = "little") {
            true => to | from << 4,
            false => to << 4 | from,
        };
        Instruction {
            code,
            registers,
            offset,
            number,
        }
    }
}

/// The attributes of `BPF_PROG_LOAD`, without those of a log.
#[repr(C)]
struct Load {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
}

/// The attributes of `BPF_RAW_TRACEPOINT_OPEN`.
#[repr(C)]
struct Attach {
    name: u64,
    program: u32,
    padding: u32,
}

/// A program that the verifier accepted. It keeps the arrays that it uses.
#[derive(Debug)]
pub struct Program {
    descriptor: OwnedFd,
}

/// A program that runs at a trace point, until this is dropped.
#[derive(Debug)]
pub struct Attached {
    _descriptor: OwnedFd,
}

impl Program {
    /// Loads a program for raw trace points.
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF` and `CAP_PERFMON` in the host's first user namespace, `EACCES` or `EINVAL` for a program
    /// that the verifier refuses, `ENOSYS` where the kernel lacks BPF.
    pub fn load(instructions: &[Instruction]) -> io::Result<Program> {
        let attributes = Load {
            kind: RAW_TRACEPOINT,
            instruction_count: instructions.len() as u32,
            instructions: address(instructions.as_ptr()),
            license: address(LICENSE.as_ptr()),
        };
        // SAFETY: the addresses are of borrowed values with their lengths, and the license ends with a 0.
        let descriptor = unsafe { open(LOAD, &attributes)? };
        Ok(Program { descriptor })
    }

    /// Attaches it to a raw trace point, such as `softirq_entry`.
    ///
    /// # Errors
    /// `ENOENT` where the kernel has no such trace point, `EPERM` without `CAP_PERFMON`.
    pub fn attach(&self, tracepoint: &CStr) -> io::Result<Attached> {
        let attributes = Attach {
            name: address(tracepoint.as_ptr()),
            program: self.descriptor.as_raw_fd().cast_unsigned(),
            padding: 0,
        };
        // SAFETY: the name ends with a 0 and outlives the call.
        let _descriptor = unsafe { open(ATTACH, &attributes)? };
        Ok(Attached { _descriptor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn instructions_have_the_layout_of_the_standard() {
        let Instruction {
            code,
            registers,
            offset,
            number,
        } = Instruction::new(0x7b, 6, 7, -8, 24);
        let whole = (code, registers, offset, number);
        assert_eq!((whole, size_of::<Instruction>()), ((0x7b, 0x76, -8, 24), 8));
    }
}
