//! Results of other programs: the text of a file in, runs out. What a file does not say is absent.

mod table;

pub use table::{ForeignRun, TableError, read_table};
