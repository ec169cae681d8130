//! Files of other programs in, events of an execution out. What a file does not say stays absent.

mod columns;
mod execution;
mod flent;
mod iperf3;
mod lenient;
mod netperf;
mod nuttcp;
mod seconds;
mod table;

use std::collections::BTreeMap;

use model::harmless;
use model::imported::ImportedRun;
use model::study::Label;

pub use execution::{Head, execution};
pub use table::{ForeignRun, TableError, read_table};

/// Why a file gave no runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// Nothing that is known looks like it.
    #[error("{file}: {found}")]
    Unknown {
        /// The file.
        file: String,
        /// What it is.
        found: String,
    },
    /// It begins like a known one.
    #[error("{file}: looks like {format}, but {reason}")]
    Broken {
        /// The file.
        file: String,
        /// What it looks like.
        format: &'static str,
        /// What is wrong, and how much could be read.
        reason: String,
    },
}

/// One run as a file tells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// What was set, by the names of factors.
    pub levels: BTreeMap<String, Label>,
    /// The run.
    pub run: ImportedRun,
    /// What the program says went wrong; the run is then a failed one.
    pub error: Option<String>,
}

impl Found {
    fn of(tool: &str, file: &str) -> Found {
        Found {
            run: ImportedRun { tool: tool.to_owned(), file: file.to_owned(), ..ImportedRun::default() },
            ..Found::default()
        }
    }

    fn level(&mut self, factor: &str, label: Label) {
        let label = match label {
            Label::Text(words) => Label::Text(harmless(&words)),
            number => number,
        };
        self.levels.insert(harmless(factor), label);
    }

    /// A number such as `1e999` says nothing, and JSON has no word for it: what it is of stays absent.
    fn drop_infinite(&mut self) {
        self.run.figures.retain(|_, value| value.is_finite());
        self.run.intervals.retain(|interval| interval.begin_s.is_finite() && interval.end_s.is_finite());
        for interval in &mut self.run.intervals {
            interval.figures.retain(|_, value| value.is_finite());
        }
    }

    fn figure(&mut self, metric: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.run.figures.insert(metric.to_owned(), value);
        }
    }

    fn fact(&mut self, name: &str, words: impl ToString) {
        self.run.facts.insert(harmless(name), harmless(&words.to_string()));
    }
}

/// One kind of file.
#[derive(Debug)]
pub struct Format {
    /// Whose output it is.
    pub name: &'static str,
    /// Whether a text looks like it.
    is: fn(&str) -> bool,
    read: fn(&str, &str) -> Result<Vec<Found>, String>,
}

impl Format {
    /// The runs of a text that is taken to be of this kind, whatever it looks like. `file` is how it is named.
    ///
    /// # Errors
    /// What is wrong with it, and how much could be read.
    pub fn read(&self, file: &str, text: &str) -> Result<Vec<Found>, String> {
        let mut all = (self.read)(file, text)?;
        for found in &mut all {
            found.drop_infinite();
        }
        Ok(all)
    }
}

/// Every kind of file, those first that are told by more.
pub const FORMATS: &[Format] = &[
    Format { name: "iperf3 --json-stream", is: iperf3::is_stream, read: iperf3::read_stream },
    Format { name: "iperf3 -J", is: iperf3::is, read: iperf3::read },
    Format { name: "flent", is: flent::is, read: flent::read },
    Format { name: "netperf -k", is: netperf::keyval::is, read: netperf::keyval::read },
    Format { name: "netperf -o", is: netperf::csv::is, read: netperf::csv::read },
    Format { name: "netperf", is: netperf::human::is, read: netperf::human::read },
    Format { name: "nttcp", is: nuttcp::nttcp::is, read: nuttcp::nttcp::read },
    Format { name: "nuttcp", is: nuttcp::is, read: nuttcp::read },
];

/// The names of all kinds of files that can be read.
pub fn known() -> String {
    FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

/// The most bytes that a file may have, packed or unpacked.
pub const MOST: u64 = 256 << 20;

/// How files begin that are text in no form that is read here: what it is, and what to do.
const OTHERS: &[(&[u8], &str)] = &[
    (b"\xfd7zXZ\0", "packed by xz: unpack it first (xz -dk)"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd: unpack it first (zstd -dk)"),
    (b"BZh", "packed by bzip2: unpack it first (bzip2 -dk)"),
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"\xff\xfe", "text in UTF-16: make it UTF-8 first (iconv -f UTF-16 -t UTF-8)"),
    (b"\xfe\xff", "text in UTF-16: make it UTF-8 first (iconv -f UTF-16 -t UTF-8)"),
];

/// UTF-16 without a mark: every other byte is 0.
fn is_utf16(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(32)];
    let zeros = |first: usize| head.iter().skip(first).step_by(2).all(|byte| *byte == 0);
    let letters = |first: usize| head.iter().skip(first).step_by(2).all(|byte| *byte != 0);
    head.len() >= 8 && (zeros(1) && letters(0) || zeros(0) && letters(1))
}

/// The runs of a file. `file` is how it is named; the content says what it is.
///
/// # Errors
/// When it is none of the known kinds, or cannot be read as the one that it looks like.
pub fn read(file: &str, bytes: &[u8]) -> Result<Vec<Found>, ImportError> {
    let unknown = |found: String| ImportError::Unknown { file: file.to_owned(), found };
    if bytes.is_empty() {
        return Err(unknown("the file is empty".into()));
    }
    if bytes.len() as u64 > MOST {
        return Err(unknown(format!("over {} MiB, which is the most that is read", MOST >> 20)));
    }
    if let Some((_, what)) = OTHERS.iter().find(|(begin, _)| bytes.starts_with(begin)) {
        return Err(unknown((*what).to_owned()));
    }
    if is_utf16(bytes) {
        return Err(unknown(OTHERS[OTHERS.len() - 1].1.to_owned()));
    }
    let unpacked = if bytes.starts_with(&[0x1f, 0x8b]) { Some(unpack(bytes).map_err(unknown)?) } else { None };
    let bytes = unpacked.as_deref().unwrap_or(bytes);
    let text = std::str::from_utf8(bytes)
        .map_err(|error| unknown(format!("not text: byte {} of {} is not UTF-8", error.valid_up_to(), bytes.len())))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let format = FORMATS.iter().find(|format| (format.is)(text)).ok_or_else(|| {
        if netperf::is_bare(text) {
            return unknown(
                "numbers alone, as netperf prints them with -P 0, without a word of what they are".to_owned(),
            );
        }
        let first: String = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("").chars().take(60).collect();
        unknown(format!("not a known output; it begins with {first:?}"))
    })?;
    let broken = |reason: String| ImportError::Broken { file: file.to_owned(), format: format.name, reason };
    let found = format.read(file, text).map_err(broken)?;
    if found.is_empty() {
        return Err(broken("it holds no run".into()));
    }
    Ok(found)
}

fn unpack(bytes: &[u8]) -> Result<Vec<u8>, String> {
    use std::io::Read;
    let mut unpacked = Vec::new();
    let mut limited = flate2::read::MultiGzDecoder::new(bytes).take(MOST + 1);
    let read = limited.read_to_end(&mut unpacked);
    read.map_err(|error| format!("packed by gzip, and cut or damaged after {} bytes: {error}", unpacked.len()))?;
    if unpacked.len() as u64 > MOST {
        return Err(format!("packed by gzip, and over {} MiB when unpacked", MOST >> 20));
    }
    Ok(unpacked)
}
