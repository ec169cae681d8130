//! Every form of output, from logs and imports that are known.

// A test may be a long table.
#![allow(clippy::too_many_lines)]

mod answer;
mod checks;
mod common;
mod compare;
mod compare_cells;
mod explained;
mod first_screen;
mod frame;
mod json;
mod page;
mod peers;
mod pictures;
mod profile;
mod screens;
mod text;
