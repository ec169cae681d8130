//! BPF programs at trace points of the kernel, and the maps that they share with this process (bpf(2); kernel doc: bpf,
//! bpf/instruction-set).
//!
//! A program is a list of instructions, so that neither a compiler nor an object file is needed. The kernel's verifier
//! checks it when it is loaded. All descriptors are owned: when they are closed, the kernel detaches and frees what they
//! stand for.

mod call;
mod map;
mod program;

pub use call::BpfError;
pub use map::{Array, Words};
pub use program::{Attached, Instruction, Program};
