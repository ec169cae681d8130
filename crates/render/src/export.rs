//! The interface of every form of output: its name, what it can hold, and how executions are
//! written in it.

use bitcost_analysis::findings::Findings;

pub struct Form {
    pub name: &'static str,
    pub help: &'static str,
    /// Whether caveats of a log are written in it; if not, they go to standard error.
    pub holds_caveats: bool,
    /// Writes the executions, or says why they do not fit the form.
    pub export: fn(&Input) -> Result<String, ExportError>,
}

/// What a row of comma-separated values is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows {
    #[default]
    Runs,
    /// A second of an endpoint of a run.
    Seconds,
    /// The time between two samples of an endpoint of a run.
    Intervals,
}

/// What a page names as the log of an execution: its path, and the size and checksum of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub path: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// SHA-256 of it, in hexadecimal.
    pub sha256: String,
}

/// What a page says of how it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maker {
    pub version: String,
    pub command_line: Vec<String>,
    /// Local time with offset (RFC 3339).
    pub at: String,
}

/// The data that is written, and how it is written.
pub struct Input<'a> {
    pub executions: &'a [Findings],
    pub rows: Rows,
    /// Whether the raw records of every run are written, too.
    pub samples: bool,
    /// Whether all figures of a single run and the evidence for its bottleneck are written.
    pub verbose: bool,
    /// Most columns of a text.
    pub width: u16,
}

/// Why executions cannot be written in a form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    #[error("{0}")]
    Usage(String),
    /// The request selects no figures that may be used.
    #[error("{0}")]
    Check(String),
}

/// The text of each execution, under its name where there are several.
pub(crate) fn each(input: &Input, show: impl Fn(&Findings) -> String) -> String {
    let texts = input.executions.iter().map(|execution| {
        let head = match input.executions {
            [_] => String::new(),
            _ => format!("{}\n\n", execution.name),
        };
        head + &show(execution)
    });
    texts.collect::<Vec<_>>().join("\n")
}
