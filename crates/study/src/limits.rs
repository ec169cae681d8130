//! How much a study, a lab file or a log may ask for. It is compared before anything is expanded, and
//! the error names the limit and what was found.

use bitcost_model::Invalid;

/// Most bytes of a study's text: that of an import of [`CELLS`] runs.
pub const STUDY_BYTES: usize = 16 << 20;

/// Most bytes of a lab file's text, which are far more than its nodes and links take.
pub const LAB_BYTES: usize = 2 << 20;

/// Most bytes of a line of a log.
pub const LINE_BYTES: u64 = 1 << 24;

/// Most bytes of a line of a log with what may be long: a plan of [`CELLS`] cells and [`RUNS`] runs.
pub const LONG_LINE_BYTES: u64 = 1 << 27;

pub const BLOCKS: u32 = 100_000;

/// Most combinations of levels.
pub const CELLS: u64 = 20_000;

pub const RUNS: u64 = 200_000;

pub const MESH_HOSTS: usize = 10_000;

/// Most pairs that the study of a mesh lists.
pub const MESH_PAIRS: usize = 10_000;

/// Most cells of a mesh that is executed: each pair is one at least.
pub const MESH_CELLS: u64 = 100_000;

/// Refuses a text that is longer than what is read of its kind.
pub fn check_bytes(text: &str, most: usize) -> Result<(), Invalid> {
    match text.len() {
        bytes if bytes <= most => Ok(()),
        bytes => Err(Invalid(format!(
            "the text has {bytes} bytes; allowed: at most {most}"
        ))),
    }
}

/// Refuses a plan that is too large to be made.
pub fn check_runs(cells: usize, blocks: u32) -> Result<(), Invalid> {
    let runs = (cells as u64).saturating_mul(blocks.into());
    if runs <= RUNS && blocks <= BLOCKS {
        return Ok(());
    }
    Err(Invalid(format!(
        "{cells} cells in {blocks} blocks are {runs} runs; allowed: at most {RUNS}, in {BLOCKS} blocks"
    )))
}
