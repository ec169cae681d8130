//! Studies, settings and labs as people write them, and what becomes of them.

// A test may be a long table.
#![allow(clippy::too_many_lines)]

mod against;
mod checks;
mod one_host;
mod study;
mod topology;
