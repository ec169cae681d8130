//! Loading programs, and attaching them to trace points of the kernel.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, OwnedFd};

use super::call::{BpfError, Command, open};

/// `BPF_PROG_TYPE_RAW_TRACEPOINT` (Linux 4.17).
const RAW_TRACEPOINT: u32 = 17;
/// The license that the kernel is told. It allows to look up in maps, to read the clock, and the number of the CPU from
/// Linux 5.8 on.
const LICENSE: &CStr = c"MIT";
/// Space for what the verifier says, in bytes.
const LOG_BYTES: usize = 64 << 10;

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
struct Load<'a> {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    borrowed: PhantomData<(&'a [Instruction], &'a mut [u8])>,
}

// SAFETY: the number and the layout are of BPF_PROG_LOAD in linux/bpf.h. `load` takes the addresses from borrowed values
// with their lengths; the license ends with a 0; the log, which the kernel writes, is borrowed exclusively.
unsafe impl Command for Load<'_> {
    const NUMBER: libc::c_long = 5;
    const NAME: &'static str = "BPF_PROG_LOAD";
}

/// The attributes of `BPF_RAW_TRACEPOINT_OPEN`.
#[repr(C)]
struct OpenTracepoint<'a> {
    name: u64,
    program: u32,
    padding: u32,
    borrowed: PhantomData<&'a CStr>,
}

// SAFETY: the number and the layout are of BPF_RAW_TRACEPOINT_OPEN in linux/bpf.h, and `attach` takes the address from a
// borrowed name that ends with a 0.
unsafe impl Command for OpenTracepoint<'_> {
    const NUMBER: libc::c_long = 17;
    const NAME: &'static str = "BPF_RAW_TRACEPOINT_OPEN";
}

/// A program that the verifier accepted. It keeps the maps that it uses.
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
        let attributes = OpenTracepoint {
            name: tracepoint.as_ptr().expose_provenance() as u64,
            program: self.descriptor.as_raw_fd().cast_unsigned(),
            padding: 0,
            borrowed: PhantomData,
        };
        Ok(Attached {
            _descriptor: open(&attributes)?,
        })
    }
}

/// Loads the instructions; the verifier writes into `log` if that is not empty.
fn load(instructions: &[Instruction], log: &mut [u8]) -> Result<OwnedFd, BpfError> {
    let address = if log.is_empty() {
        0
    } else {
        log.as_mut_ptr().expose_provenance() as u64
    };
    open(&Load {
        kind: RAW_TRACEPOINT,
        instruction_count: instructions.len() as u32,
        instructions: instructions.as_ptr().expose_provenance() as u64,
        license: LICENSE.as_ptr().expose_provenance() as u64,
        log_level: u32::from(!log.is_empty()),
        log_bytes: log.len() as u32,
        log: address,
        borrowed: PhantomData,
    })
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
