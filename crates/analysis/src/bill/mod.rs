//! What the CPU time of a KiB or of a transaction is spent on: the cells that a bill needs, and what
//! their differences say.
//!
//! A bill is a study of one factor. [`varied`] makes it of the conditions of a run, and [`bill`]
//! reads the same parts from its log. docs/method/bill.md has the formula of each part.

mod arithmetic;
mod found;
mod observed;
mod parts;
mod plan;

pub use found::{Bill, Cost, EndBill, Entry, bill};
pub use parts::Run;
pub use plan::varied;
