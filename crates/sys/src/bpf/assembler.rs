//! A program of single instructions (kernel doc: bpf/standardization/instruction-set), with those that bitcost needs.

use std::marker::PhantomData;
use std::os::fd::AsRawFd;

use super::map::Array;

/// A register. A call of the kernel answers in `R0`, takes arguments in `R1` to `R5` and loses them; `R6` to `R9` stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// The answer of a call, and of the program.
    R0 = 0,
    /// The first argument.
    R1 = 1,
    /// The second argument.
    R2 = 2,
    /// Kept over calls.
    R6 = 6,
    /// Kept over calls.
    R7 = 7,
    /// The frame: the stack of 512 bytes ends here. It cannot be written.
    Frame = 10,
}

/// A function of the kernel that a program may call (linux/bpf.h, `__BPF_FUNC_MAPPER`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Helper {
    /// `bpf_map_lookup_elem`: the address of an element, or 0.
    MapLookup = 1,
    /// `bpf_ktime_get_ns`: `CLOCK_MONOTONIC`, in ns.
    Monotonic = 5,
    /// `bpf_get_smp_processor_id`: the number of the CPU.
    Cpu = 8,
}

/// An operation on all 64 bits of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Adds.
    Add = 0x00,
    /// Subtracts.
    Subtract = 0x10,
    /// Multiplies.
    Multiply = 0x20,
    /// Shifts to the right, and fills with zeros.
    ShiftRight = 0x70,
    /// Copies.
    Move = 0xb0,
}

/// How many bytes of memory an instruction reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// 4 bytes.
    Word = 0x00,
    /// 8 bytes.
    Long = 0x18,
}

/// When the program ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The register is 0.
    Zero = 0x10,
    /// The register is not 0.
    NotZero = 0x50,
}

const LOAD_IMMEDIATE: u8 = 0x18;
const LOAD: u8 = 0x61;
const STORE: u8 = 0x63;
const ALU64: u8 = 0x07;
const JUMP: u8 = 0x05;
const FROM_REGISTER: u8 = 0x08;
const CALL: u8 = 0x80;
const EXIT: u8 = 0x90;
/// In the place of the source register: the number is the descriptor of a map (`BPF_PSEUDO_MAP_FD`).
const IS_MAP: u8 = 1;

/// `struct bpf_insn` of linux/bpf.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    number: i32,
}

/// A program in the making. It can only go forward: it ends early where a condition holds, or at its last instruction.
#[derive(Debug, Default)]
pub struct Assembler<'a> {
    instructions: Vec<Instruction>,
    ends: Vec<usize>,
    /// The maps whose descriptors are in the instructions: they are open for as long as the program can be loaded.
    maps: PhantomData<&'a Array>,
}

impl<'a> Assembler<'a> {
    /// A program without instructions.
    pub fn new() -> Assembler<'a> {
        Assembler::default()
    }

    fn add(mut self, code: u8, to: u8, from: u8, offset: i16, number: i32) -> Self {
        // Two bit fields of a C compiler: the first has the lower bits on a little-endian machine.
        let registers = match cfg!(target_endian = "little") {
            true => to | from << 4,
            false => to << 4 | from,
        };
        self.instructions.push(Instruction {
            code,
            registers,
            offset,
            number,
        });
        self
    }

    /// `register = register OPERATION number`.
    pub fn with_number(self, operation: Operation, to: Register, number: i32) -> Self {
        self.add(ALU64 | operation as u8, to as u8, 0, 0, number)
    }

    /// `register = register OPERATION other`.
    pub fn with_register(self, operation: Operation, to: Register, from: Register) -> Self {
        let code = ALU64 | FROM_REGISTER | operation as u8;
        self.add(code, to as u8, from as u8, 0, 0)
    }

    /// `register = the map's address`.
    pub fn map(self, to: Register, map: &'a Array) -> Self {
        let number = map.descriptor().as_raw_fd();
        self.add(LOAD_IMMEDIATE, to as u8, IS_MAP, 0, number)
            .add(0, 0, 0, 0, 0)
    }

    /// `register = the memory at base + offset`.
    pub fn load(self, shape: Shape, to: Register, base: Register, offset: i16) -> Self {
        self.add(LOAD | shape as u8, to as u8, base as u8, offset, 0)
    }

    /// `the memory at base + offset = register`.
    pub fn store(self, shape: Shape, base: Register, offset: i16, from: Register) -> Self {
        self.add(STORE | shape as u8, base as u8, from as u8, offset, 0)
    }

    /// `R0 = helper(R1, R2, …)`.
    pub fn call(self, helper: Helper) -> Self {
        self.add(JUMP | CALL, 0, 0, 0, helper as i32)
    }

    /// Ends the program here where the condition holds.
    pub fn end_if(mut self, register: Register, condition: Condition) -> Self {
        self.ends.push(self.instructions.len());
        self.add(JUMP | condition as u8, register as u8, 0, 0, 0)
    }

    /// The whole program, with its end: it answers 0.
    ///
    /// # Panics
    /// Where a jump to the end is longer than 32 767 instructions.
    pub(super) fn finish(self) -> Vec<Instruction> {
        let end = self.instructions.len();
        let ends = self.ends.clone();
        let mut whole = self.with_number(Operation::Move, Register::R0, 0);
        whole = whole.add(JUMP | EXIT, 0, 0, 0, 0);
        for place in ends {
            let distance = i16::try_from(end - place - 1).expect("a jump of at most 32 767");
            whole.instructions[place].offset = distance;
        }
        whole.instructions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of an instruction on a little-endian machine, as the standard lists them.
    fn bytes(instruction: &Instruction) -> [u8; 8] {
        let Instruction {
            code,
            registers,
            offset,
            number,
        } = *instruction;
        let ([a, b], [c, d, e, f]) = (offset.to_le_bytes(), number.to_le_bytes());
        [code, registers, a, b, c, d, e, f]
    }

    fn assembled(program: Assembler) -> Vec<[u8; 8]> {
        program.finish().iter().map(bytes).collect()
    }

    const ANSWER_0: [u8; 8] = [0xb7, 0, 0, 0, 0, 0, 0, 0];
    const END: [u8; 8] = [0x95, 0, 0, 0, 0, 0, 0, 0];

    #[test]
    #[cfg(target_endian = "little")]
    fn instructions_have_the_codes_of_the_standard() {
        use Register::{Frame, R0, R1, R2, R6, R7};
        let program = Assembler::new()
            .with_number(Operation::Add, R2, -4)
            .with_register(Operation::Move, R6, Frame)
            .with_register(Operation::Subtract, R0, R7)
            .with_register(Operation::Multiply, R0, R0)
            .with_number(Operation::ShiftRight, R1, 24)
            .load(Shape::Long, R7, R6, 16)
            .load(Shape::Word, R0, R6, 2)
            .store(Shape::Long, R6, 8, R0)
            .store(Shape::Word, Frame, -4, R0)
            .call(Helper::Monotonic);
        assert_eq!(
            assembled(program),
            [
                [0x07, 0x02, 0, 0, 0xfc, 0xff, 0xff, 0xff],
                [0xbf, 0xa6, 0, 0, 0, 0, 0, 0],
                [0x1f, 0x70, 0, 0, 0, 0, 0, 0],
                [0x2f, 0x00, 0, 0, 0, 0, 0, 0],
                [0x77, 0x01, 0, 0, 24, 0, 0, 0],
                [0x79, 0x67, 16, 0, 0, 0, 0, 0],
                [0x61, 0x60, 2, 0, 0, 0, 0, 0],
                [0x7b, 0x06, 8, 0, 0, 0, 0, 0],
                [0x63, 0x0a, 0xfc, 0xff, 0, 0, 0, 0],
                [0x85, 0, 0, 0, 5, 0, 0, 0],
                ANSWER_0,
                END
            ]
        );
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn conditions_jump_to_the_end() {
        let program = Assembler::new()
            .end_if(Register::R0, Condition::Zero)
            .call(Helper::Cpu)
            .end_if(Register::R7, Condition::NotZero);
        assert_eq!(
            assembled(program),
            [
                [0x15, 0, 2, 0, 0, 0, 0, 0],
                [0x85, 0, 0, 0, 8, 0, 0, 0],
                [0x55, 7, 0, 0, 0, 0, 0, 0],
                ANSWER_0,
                END
            ]
        );
    }
}
