//! BPF programs at trace points of the kernel, and the arrays that they share with this process (bpf(2); kernel doc: bpf,
//! bpf/instruction-set).
//!
//! A program is a list of instructions, so that neither a compiler nor an object file is needed. The kernel's verifier
//! checks it when it is loaded. All descriptors are owned: when they are closed, the kernel detaches and frees what they
//! stand for.

use std::ffi::CStr;
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::outcome::checked;

/// Commands (`enum bpf_cmd`) with their names.
const MAP_CREATE: Command = (0, "BPF_MAP_CREATE");
const MAP_LOOKUP: Command = (1, "BPF_MAP_LOOKUP_ELEM");
const MAP_UPDATE: Command = (2, "BPF_MAP_UPDATE_ELEM");
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
/// Space for what the verifier says, in bytes.
const LOG_BYTES: usize = 64 << 10;

/// A call of bpf(2) that the kernel refused.
#[derive(Debug)]
pub struct BpfError {
    call: &'static str,
    /// The error of the system call.
    pub error: io::Error,
    /// What the verifier said of a program; empty where it said nothing.
    pub log: String,
}

impl fmt::Display for BpfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bpf({}): {}", self.call, self.error)?;
        match self.log.trim() {
            "" => Ok(()),
            log => write!(f, "; the verifier said: {log}"),
        }
    }
}

impl std::error::Error for BpfError {}

/// Makes the call with its part of `union bpf_attr`, whose other bytes are 0; returns what it answers.
///
/// # Safety
/// The layout is that of the command in linux/bpf.h, and every address in it is of memory that the kernel may read or write
/// as the command does, for the length of the call.
unsafe fn call<T>((number, name): Command, attributes: &T) -> Result<libc::c_long, BpfError> {
    let attributes = std::ptr::from_ref(attributes);
    // SAFETY: the kernel reads `size_of` bytes of the attributes; the caller promises the rest.
    let answer = unsafe { libc::syscall(libc::SYS_bpf, number, attributes, size_of::<T>()) };
    checked(answer).map_err(|error| BpfError {
        call: name,
        error,
        log: String::new(),
    })
}

/// As [`call`], of a command that answers with a new descriptor, which is closed on exec.
///
/// # Safety
/// As for [`call`].
unsafe fn open<T>(command: Command, attributes: &T) -> Result<OwnedFd, BpfError> {
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

/// An array of elements that programs and this process share, which starts with zeros.
#[derive(Debug)]
pub struct Array {
    descriptor: OwnedFd,
}

/// The attributes of `BPF_MAP_LOOKUP_ELEM` and `BPF_MAP_UPDATE_ELEM`.
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
    pub fn new(elements: u32) -> Result<Array, BpfError> {
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
    pub fn read(&self, index: u32) -> Result<Words, BpfError> {
        let mut words = Words::default();
        let element = self.element(&index, &raw mut words);
        // SAFETY: the key and the value have the array's sizes and outlive the call, and the kernel writes only the value.
        unsafe { call(MAP_LOOKUP, &element)? };
        Ok(words)
    }

    /// Writes an element.
    ///
    /// # Errors
    /// `E2BIG` where there is no such element.
    pub fn write(&self, index: u32, words: Words) -> Result<(), BpfError> {
        let element = self.element(&index, &raw const words);
        // SAFETY: the key and the value have the array's sizes and outlive the call; the kernel only reads them.
        unsafe { call(MAP_UPDATE, &element).map(drop) }
    }

    fn element(&self, index: &u32, words: *const Words) -> Element {
        Element {
            map: self.descriptor.as_raw_fd().cast_unsigned(),
            padding: 0,
            key: address(index),
            value: address(words),
            flags: 0,
        }
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

/// The attributes of `BPF_PROG_LOAD`.
#[repr(C)]
struct Load {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
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
    /// `EPERM` without `CAP_BPF` and `CAP_PERFMON` in the host's first user namespace, `EACCES` or `EINVAL` with the
    /// verifier's log for a program that it refuses, `ENOSYS` where the kernel lacks BPF.
    pub fn load(instructions: &[Instruction]) -> Result<Program, BpfError> {
        let refused = match load(instructions, &mut []) {
            Ok(descriptor) => return Ok(Program { descriptor }),
            Err(refused) => refused,
        };
        let mut log = vec![0; LOG_BYTES];
        if refused.error.raw_os_error() != Some(libc::EPERM)
            && let Ok(descriptor) = load(instructions, &mut log)
        {
            return Ok(Program { descriptor });
        }
        let text = CStr::from_bytes_until_nul(&log).unwrap_or_default();
        Err(BpfError {
            log: text.to_string_lossy().into_owned(),
            ..refused
        })
    }

    /// Attaches it to a raw trace point, such as `softirq_entry`.
    ///
    /// # Errors
    /// `ENOENT` where the kernel has no such trace point, `EPERM` without `CAP_PERFMON`.
    pub fn attach(&self, tracepoint: &CStr) -> Result<Attached, BpfError> {
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

/// Loads the instructions; the verifier writes into `log` if that is not empty.
fn load(instructions: &[Instruction], log: &mut [u8]) -> Result<OwnedFd, BpfError> {
    let is_logged = !log.is_empty();
    let attributes = Load {
        kind: RAW_TRACEPOINT,
        instruction_count: instructions.len() as u32,
        instructions: address(instructions.as_ptr()),
        license: address(LICENSE.as_ptr()),
        log_level: u32::from(is_logged),
        log_bytes: log.len() as u32,
        log: if is_logged {
            address(log.as_mut_ptr())
        } else {
            0
        },
    };
    // SAFETY: the addresses are of borrowed values with their lengths, the license ends with a 0, and the log, which the
    // kernel writes, is borrowed exclusively.
    unsafe { open(LOAD, &attributes) }
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
