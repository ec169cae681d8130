//! Tables of runs as CSV, read strictly: netperf's omni output, or columns made from it.

use std::collections::BTreeMap;

use bitcost_model::near::did_you_mean;
use bitcost_model::study::Label;

use crate::Found;
use crate::columns::{METRICS, is_size, is_throughput, plain};
use crate::netperf::csv;

/// One line of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignRun {
    /// The number of its line in the file, from 1.
    pub line: u64,
    /// Bytes that one send call handed over.
    pub message_size_bytes: Option<u32>,
    /// User data per TCP segment, in bytes.
    pub segment_size_bytes: Option<u32>,
    /// Figures by the names of bitcost's metrics.
    pub figures: BTreeMap<&'static str, f64>,
}

/// The reason why a text is not a table of runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// A line does not have the values that the first line names.
    #[error("line {line}: the number of values differs from that of the names in the header")]
    NoRow {
        /// The line, from 1.
        line: u64,
    },
    /// A value does not have the form that its column requires.
    #[error("line {line}, column `{column}`: `{text}` is not {wanted}")]
    NoNumber {
        /// The line, from 1.
        line: u64,
        /// The column's name, in lower case and with `_` between words.
        column: String,
        /// The value as written.
        text: String,
        /// The required form.
        wanted: &'static str,
    },
    /// A required column is missing.
    #[error("no column with {wanted} in its first line{hint}; allowed: {allowed}")]
    NoColumn {
        /// The required column.
        wanted: &'static str,
        /// A name that is near, if there is one.
        hint: String,
        /// The accepted names.
        allowed: String,
    },
}

/// Names of columns with a size.
const SIZES: &[&str] = &["local_send_size", "message_size_bytes", "transport_mss"];

/// Names of columns with a throughput.
const THROUGHPUTS: &[&str] = &[
    "throughput",
    "throughput_mbps",
    "remote_recv_throughput",
    "local_send_throughput",
    "remote_recv_throughput_mbps",
];

impl ForeignRun {
    /// The size that its cost depends on, in bytes: that of a segment where the table has one,
    /// otherwise that of a message.
    pub fn size_bytes(&self) -> Option<u32> {
        self.segment_size_bytes.or(self.message_size_bytes)
    }

    fn of(line: u64, found: &Found) -> ForeignRun {
        let size = |factor: &str| match found.levels.get(factor) {
            Some(Label::Number(bytes)) => u32::try_from(*bytes).ok(),
            _ => None,
        };
        ForeignRun {
            line,
            message_size_bytes: size("message_size_bytes"),
            segment_size_bytes: size("mss_bytes"),
            figures: METRICS
                .iter()
                .filter_map(|name| Some((*name, *found.run.figures.get(*name)?)))
                .collect(),
        }
    }
}

/// Reads a table with columns of a size and of a throughput. Unknown and unmeasured values are
/// absent.
///
/// # Errors
/// The line, the column and the error.
pub fn read_table(text: &str) -> Result<Vec<ForeignRun>, TableError> {
    let rows = csv::rows(text).map_err(|error| {
        let csv::NoNumber {
            line,
            column,
            text,
            wanted,
        } = error;
        TableError::NoNumber {
            line,
            column,
            text,
            wanted,
        }
    })?;
    let names = || {
        rows.runs
            .iter()
            .flat_map(|run| run.row.iter().map(|(name, _)| name.as_str()))
    };
    let first: Vec<String> = match rows.runs.is_empty() {
        false => names().map(str::to_owned).collect(),
        true => text
            .lines()
            .next()
            .and_then(csv::fields)
            .unwrap_or_default()
            .iter()
            .map(|name| plain(name))
            .collect(),
    };
    must_have(&first, "the size of messages or segments", is_size, SIZES)?;
    must_have(&first, "a throughput", is_throughput, THROUGHPUTS)?;
    if let Some(line) = rows.strange.first() {
        return Err(TableError::NoRow { line: *line });
    }
    Ok(rows
        .runs
        .iter()
        .map(|run| ForeignRun::of(run.line, &csv::one("", run)))
        .collect())
}

fn must_have(
    names: &[String],
    wanted: &'static str,
    is: fn(&str) -> bool,
    allowed: &[&str],
) -> Result<(), TableError> {
    if names.iter().any(|name| is(name)) {
        return Ok(());
    }
    let near = |name: &String| did_you_mean(name, allowed.iter().copied());
    let hint = names
        .iter()
        .map(near)
        .find(|hint| !hint.is_empty())
        .unwrap_or_default();
    Err(TableError::NoColumn {
        wanted,
        hint,
        allowed: allowed.join(", "),
    })
}
