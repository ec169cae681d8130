//! How much a study, a lab file or a log may ask for. It is compared before anything is expanded, and
//! the error names the limit and what was found.

use bitcost_model::Invalid;

/// Most bytes of a study's text: that of an import of [`CELLS`] runs.
pub const STUDY_BYTES: usize = 16 << 20;

/// Most bytes of a lab file's text, which are far more than its nodes and links take.
pub const LAB_BYTES: usize = 2 << 20;

/// Most values, keys and tables of a study or a lab file, which take far more memory than their text.
pub const VALUES: usize = 200_000;

/// Most bytes of a line of a log.
pub const LINE_BYTES: u64 = 1 << 24;

/// Most bytes of a line of a log with what may be long: a plan of [`CELLS`] cells and [`RUNS`] runs.
pub const LONG_LINE_BYTES: u64 = 1 << 26;

/// Most values of a line of a log, and of one with what may be long.
pub const LINE_VALUES: usize = 1_000_000;
pub const LONG_LINE_VALUES: usize = 4_500_000;

pub const BLOCKS: u32 = 100_000;

/// Most factors, and most combinations of their levels.
pub const FACTORS: usize = 32;
pub const CELLS: u64 = 20_000;

pub const RUNS: u64 = 200_000;

pub const MESH_HOSTS: usize = 10_000;

/// Most pairs that the study of a mesh lists.
pub const MESH_PAIRS: usize = 10_000;

/// Most cells of a mesh that is executed: each pair is one at least.
pub const MESH_CELLS: u64 = 100_000;

/// Refuses a text of TOML that is longer than what is read of its kind, or has too many values.
pub fn check_text(text: &str, most_bytes: usize) -> Result<(), Invalid> {
    let values = values(text.as_bytes(), b",=[.");
    for (count, most, what) in [
        (text.len(), most_bytes, "bytes"),
        (values, VALUES, "values"),
    ] {
        if count > most {
            return Err(Invalid(format!(
                "the text has {count} {what}; allowed: at most {most}"
            )));
        }
    }
    Ok(())
}

/// Refuses a line of a log that has more values than are read.
pub fn check_line(text: &[u8], most: usize) -> Result<(), Invalid> {
    match values(text, b",[{") {
        values if values <= most => Ok(()),
        values => Err(Invalid(format!(
            "a line has {values} values; allowed: at most {most}"
        ))),
    }
}

/// How many values a text has at most: each but the first has one of these marks before it.
fn values(text: &[u8], marks: &[u8]) -> usize {
    text.iter().filter(|byte| marks.contains(byte)).count()
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
