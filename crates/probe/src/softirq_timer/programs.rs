//! The BPF programs that time soft interrupts, and the numbers that they leave.
//!
//! Three programs share an array with an element for each kind of soft interrupt on each CPU. Two
//! of them run one after the other at its start, and the third at its end. From the first start to
//! the second passes what one program takes: as much as passes between the second start and the end
//! of a soft interrupt that does nothing. It is subtracted from each time.

use bitcost_sys::bpf::{
    Array, Assembler, BpfError, Condition, Helper, Operation, Program, Register, Shape, Words,
};

/// The elements of a CPU: more than the kernel has kinds of soft interrupts (10,
/// linux/interrupt.h).
const KINDS: u32 = 16;
/// Times of 2^24 ns, 16.8 ms, and more are left out: their start is of an earlier slot.
const LONGEST_BITS: i32 = 24;

#[derive(Clone, Copy)]
enum Word {
    /// The first reading of the clock at the start, in ns.
    First,
    /// The start, later than it was by what the programs take, in ns; 0: none is to be timed.
    Start,
    Timed,
    /// The sum of their times, in ns.
    Sum,
    /// The sum of the squares of their times, in ns².
    Squares,
}

#[derive(Debug)]
pub(super) struct Programs {
    times: Array,
    /// Runs first at the start.
    pub first: Program,
    /// Runs after it.
    pub start: Program,
    /// Runs at the end.
    pub end: Program,
}

pub(super) struct Timed {
    pub timed: u64,
    pub sum_ns: u64,
    pub squares_ns2: u64,
}

impl Programs {
    /// Loads the programs, for CPUs up to this number.
    pub fn load(cpu_max: u32) -> Result<Programs, BpfError> {
        let times = Array::new(cpu_max.saturating_add(1).saturating_mul(KINDS))?;
        Ok(Programs {
            first: Program::load(first(&times))?,
            start: Program::load(start(&times))?,
            end: Program::load(end(&times))?,
            times,
        })
    }

    pub fn read(&self, cpu: u32, kind: u32) -> Result<Timed, BpfError> {
        let words: Words = self.times.read(cpu * KINDS + kind)?;
        let word = |word: Word| words[word as usize];
        Ok(Timed {
            timed: word(Word::Timed),
            sum_ns: word(Word::Sum),
            squares_ns2: word(Word::Squares),
        })
    }
}

/// A program that works on one element, whose address is in `R6`.
struct OnElement<'a>(Assembler<'a>);

impl<'a> OnElement<'a> {
    /// Finds the element: the first argument of both trace points is the number of the kind.
    fn new(times: &'a Array) -> OnElement<'a> {
        use Register::{Frame, R0, R1, R2, R6};
        const KEY: i16 = -4;
        let program = Assembler::new()
            .load(Shape::Long, R6, R1, 0)
            .call(Helper::Cpu)
            .with_number(Operation::Multiply, R0, KINDS.cast_signed())
            .with_register(Operation::Add, R0, R6)
            .store(Shape::Word, Frame, KEY, R0)
            .with_register(Operation::Move, R2, Frame)
            .with_number(Operation::Add, R2, KEY.into())
            .map(R1, times)
            .call(Helper::MapLookup)
            .end_if(R0, Condition::Zero)
            .with_register(Operation::Move, R6, R0);
        OnElement(program)
    }

    fn then(self, more: impl FnOnce(Assembler<'a>) -> Assembler<'a>) -> Self {
        OnElement(more(self.0))
    }

    fn load(self, to: Register, word: Word) -> Self {
        self.then(|program| program.load(Shape::Long, to, Register::R6, offset(word)))
    }

    fn store(self, word: Word, from: Register) -> Self {
        self.then(|program| program.store(Shape::Long, Register::R6, offset(word), from))
    }

    /// Adds a register to a number of the element; `R1` is lost.
    fn add(self, word: Word, what: Register) -> Self {
        self.load(Register::R1, word)
            .then(|program| program.with_register(Operation::Add, Register::R1, what))
            .store(word, Register::R1)
    }
}

/// The place of a number in its element, in bytes.
fn offset(word: Word) -> i16 {
    8 * word as i16
}

fn first(times: &Array) -> Assembler<'_> {
    OnElement::new(times)
        .then(|program| program.call(Helper::Monotonic))
        .store(Word::First, Register::R0)
        .0
}

/// Notes the start: the second reading, and as much again as has passed since the first.
fn start(times: &Array) -> Assembler<'_> {
    use Register::{R0, R7};
    OnElement::new(times)
        .load(R7, Word::First)
        .then(|program| {
            program
                .end_if(R7, Condition::Zero)
                .call(Helper::Monotonic)
                .with_register(Operation::Add, R0, R0)
                .with_register(Operation::Subtract, R0, R7)
        })
        .store(Word::Start, R0)
        .0
}

/// Adds the time of the soft interrupt, if its start was noted.
fn end(times: &Array) -> Assembler<'_> {
    use Register::{R0, R1, R7};
    OnElement::new(times)
        .load(R7, Word::Start)
        .then(|program| {
            program
                .end_if(R7, Condition::Zero)
                .call(Helper::Monotonic)
                .with_register(Operation::Subtract, R0, R7)
                .with_number(Operation::Move, R7, 0)
        })
        .store(Word::Start, R7)
        .then(|program| {
            program
                .with_register(Operation::Move, R1, R0)
                .with_number(Operation::ShiftRight, R1, LONGEST_BITS)
                .end_if(R1, Condition::NotZero)
                .with_number(Operation::Move, R7, 1)
        })
        .add(Word::Timed, R7)
        .add(Word::Sum, R0)
        .then(|program| program.with_register(Operation::Multiply, R0, R0))
        .add(Word::Squares, R0)
        .0
}
