//! The BPF programs that time soft interrupts, and the numbers that they leave.
//!
//! Three programs share an array with an element for each kind of soft interrupt on each CPU. Two
//! of them run one after the other at its start, and the third at its end. From the first start to
//! the second passes what one program takes: as much as passes between the second start and the end
//! of a soft interrupt that does nothing. It is subtracted from each time.

use std::io;

use bitcost_sys::bpf::{Array, Attached, Instruction, Program};

/// The elements of a CPU: more than the kernel has kinds of soft interrupts (10,
/// linux/interrupt.h).
const KINDS: u32 = 16;
/// One of so many of a kind on a CPU is timed: a prime, so that what recurs in small numbers is not seen at one place alone.
const ONE_OF: i32 = 7;

#[derive(Clone, Copy)]
enum Word {
    /// The first reading of the clock at the start, in ns; 0: this one is not timed.
    First,
    /// The start, later than it was by what the programs take, in ns; 0: this one is not timed.
    Start,
    Timed,
    /// The sum of their times, in ns.
    Sum,
    /// The sum of the squares of their times, in ns².
    Squares,
    /// All that began.
    Begun,
}

#[derive(Debug)]
pub(super) struct Programs {
    times: Array,
    _attached: [Attached; 3],
}

impl Programs {
    /// Attaches the programs, for CPUs up to this number.
    pub fn attach(cpu_max: u32) -> io::Result<Programs> {
        let times = Array::new(cpu_max.saturating_add(1).saturating_mul(KINDS))?;
        let attach =
            |body: &[Step], at| Program::load(&on_element(times.number(), body))?.attach(at);
        // Those at one trace point run in the order in which they are attached.
        let attached = [
            attach(&end_of_one(), c"softirq_exit")?,
            attach(&first(), c"softirq_entry")?,
            attach(START, c"softirq_entry")?,
        ];
        Ok(Programs {
            times,
            _attached: attached,
        })
    }

    /// How many were timed on a CPU, the sum of their times in ns, and that of the squares in ns².
    pub fn read(&self, cpu: u32, kind: u32) -> io::Result<[u64; 3]> {
        let words = self.times.read(cpu * KINDS + kind)?;
        Ok([Word::Timed, Word::Sum, Word::Squares].map(|word| words[word as usize]))
    }
}

// Registers: a call of the kernel answers in `R0`, takes arguments in `R1` to `R5` and loses them; the
// stack ends at `FRAME`.
const R0: u8 = 0;
const R1: u8 = 1;
const R2: u8 = 2;
const R6: u8 = 6;
const R7: u8 = 7;
const FRAME: u8 = 10;

// Operations on all 64 bits of a register with a number; `OF_REGISTER` makes it another register.
const ADD: u8 = 0x07;
const SUBTRACT: u8 = 0x17;
const MULTIPLY: u8 = 0x27;
const MODULO: u8 = 0x97;
const MOVE: u8 = 0xb7;
const OF_REGISTER: u8 = 0x08;

// Reading and writing 8 bytes of memory, and writing 4.
const LOAD: u8 = 0x79;
const STORE: u8 = 0x7b;
const STORE_4: u8 = 0x63;

const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const LOAD_MAP: u8 = 0x18;

// Jumps to the end of the program.
const END_IF_ZERO: u8 = 0x15;
const END_UNLESS_ZERO: u8 = 0x55;

// Functions of the kernel (linux/bpf.h, `__BPF_FUNC_MAPPER`).
const MAP_LOOKUP: i32 = 1;
const MONOTONIC: i32 = 5;
const CPU: i32 = 8;

/// Code, destination, source, offset and number of an instruction.
type Step = (u8, u8, u8, i16, i32);

/// `to = to OPERATION number`.
const fn number(operation: u8, to: u8, number: i32) -> Step {
    (operation, to, 0, 0, number)
}

/// `to = to OPERATION from`.
const fn register(operation: u8, to: u8, from: u8) -> Step {
    (operation | OF_REGISTER, to, from, 0, 0)
}

const fn call(function: i32) -> Step {
    (CALL, 0, 0, 0, function)
}

/// Reads a number of the element.
const fn load(to: u8, word: Word) -> Step {
    (LOAD, to, R6, 8 * word as i16, 0)
}

/// Writes a number of the element.
const fn store(word: Word, from: u8) -> Step {
    (STORE, R6, from, 8 * word as i16, 0)
}

const fn end(condition: u8, of: u8) -> Step {
    (condition, of, 0, 0, 0)
}

/// Adds a register to a number of the element; `R1` is lost.
const fn add(word: Word, what: u8) -> [Step; 3] {
    [load(R1, word), register(ADD, R1, what), store(word, R1)]
}

/// A program that works on one element of the map with this number, whose address is in `R6`.
fn on_element(map: i32, body: &[Step]) -> Vec<Instruction> {
    const KEY: i16 = -4;
    let find = [
        // The first argument of both trace points is the number of the kind.
        (LOAD, R6, R1, 0, 0),
        call(CPU),
        number(MULTIPLY, R0, KINDS.cast_signed()),
        register(ADD, R0, R6),
        (STORE_4, FRAME, R0, KEY, 0),
        register(MOVE, R2, FRAME),
        number(ADD, R2, KEY as i32),
        // Its address has 64 bits, which take two instructions; source 1 says that it is a map.
        (LOAD_MAP, R1, 1, 0, map),
        (0, 0, 0, 0, 0),
        call(MAP_LOOKUP),
        end(END_IF_ZERO, R0),
        register(MOVE, R6, R0),
    ];
    let ending = [number(MOVE, R0, 0), (EXIT, 0, 0, 0, 0)];
    let count = find.len() + body.len();
    let steps = find.iter().chain(body).chain(&ending);
    let made = (1..).zip(steps).map(|(next, step)| {
        let (code, to, from, offset, number) = *step;
        let offset = match code {
            END_IF_ZERO | END_UNLESS_ZERO => (count - next) as i16,
            _ => offset,
        };
        Instruction::new(code, to, from, offset, number)
    });
    made.collect()
}

/// Chooses the soft interrupts that are timed, and notes the first reading.
fn first() -> Vec<Step> {
    let mut steps = vec![number(MOVE, R7, 1)];
    steps.extend(add(Word::Begun, R7));
    steps.extend([
        number(MODULO, R1, ONE_OF),
        end(END_UNLESS_ZERO, R1),
        call(MONOTONIC),
        store(Word::First, R0),
    ]);
    steps
}

/// Notes the start: the second reading, and as much again as has passed since the first.
const START: &[Step] = &[
    load(R7, Word::First),
    end(END_IF_ZERO, R7),
    call(MONOTONIC),
    register(ADD, R0, R0),
    register(SUBTRACT, R0, R7),
    store(Word::Start, R0),
    number(MOVE, R0, 0),
    store(Word::First, R0),
];

/// Adds the time of the soft interrupt, if its start was noted.
fn end_of_one() -> Vec<Step> {
    let mut steps = vec![
        load(R7, Word::Start),
        end(END_IF_ZERO, R7),
        call(MONOTONIC),
        register(SUBTRACT, R0, R7),
        number(MOVE, R7, 0),
        store(Word::Start, R7),
        number(MOVE, R7, 1),
    ];
    steps.extend(add(Word::Timed, R7));
    steps.extend(add(Word::Sum, R0));
    steps.push(register(MULTIPLY, R0, R0));
    steps.extend(add(Word::Squares, R0));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_the_codes_of_the_standard_and_conditions_jump_to_the_end() {
        let made = on_element(5, &[end(END_UNLESS_ZERO, R7), call(MONOTONIC)]);
        let of =
            |(code, to, from, offset, number)| Instruction::new(code, to, from, offset, number);
        let expected = [
            (0x79, 6, 1, 0, 0),
            (0x85, 0, 0, 0, 8),
            (0x27, 0, 0, 0, 16),
            (0x0f, 0, 6, 0, 0),
            (0x63, 10, 0, -4, 0),
            (0xbf, 2, 10, 0, 0),
            (0x07, 2, 0, 0, -4),
            (0x18, 1, 1, 0, 5),
            (0, 0, 0, 0, 0),
            (0x85, 0, 0, 0, 1),
            (0x15, 0, 0, 3, 0),
            (0xbf, 6, 0, 0, 0),
            (0x55, 7, 0, 1, 0),
            (0x85, 0, 0, 0, 5),
            (0xb7, 0, 0, 0, 0),
            (0x95, 0, 0, 0, 0),
        ];
        assert_eq!(made, expected.map(of));
        let others = [
            (register(SUBTRACT, R0, R7), (0x1f, 0, 7, 0, 0)),
            (register(MULTIPLY, R0, R0), (0x2f, 0, 0, 0, 0)),
            (number(MODULO, R1, 7), (0x97, 1, 0, 0, 7)),
            (load(R7, Word::Timed), (0x79, 7, 6, 16, 0)),
            (store(Word::Start, R0), (0x7b, 6, 0, 8, 0)),
        ];
        for (step, expected) in others {
            assert_eq!(step, expected);
        }
    }
}
