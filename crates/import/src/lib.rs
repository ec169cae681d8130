//! Import of other programs' result files as the events of an execution. Everything that a file
//! does not say stays absent.

mod columns;
mod execution;
mod found;
mod iperf3;
mod lenient;
pub mod miniedit;
mod netperf;
mod nttcp;
mod seconds;
mod table;

pub use execution::{Head, execution};
pub use found::Found;
pub use table::{ForeignRun, TableError, read_table};

/// The reason why a file gave no runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The content matches no known format.
    #[error("{file}: {found}")]
    Unknown {
        /// The file.
        file: String,
        /// A description of the content.
        found: String,
    },
    /// The content starts like a known format.
    #[error("{file}: looks like {format}, but {reason}")]
    Broken {
        /// The file.
        file: String,
        /// The format that it resembles.
        format: &'static str,
        /// The error, and how much could be read.
        reason: String,
    },
}

/// One file format.
#[derive(Debug)]
pub struct Format {
    /// The program that writes it.
    pub name: &'static str,
    /// Whether a text looks like this format.
    is: fn(&str) -> bool,
    read: fn(&str, &str) -> Result<Vec<Found>, String>,
}

impl Format {
    /// The runs of a text that is read as this format, whatever it looks like. `file` is the name
    /// that errors use.
    ///
    /// # Errors
    /// The error, and how much could be read.
    pub fn read(&self, file: &str, text: &str) -> Result<Vec<Found>, ImportError> {
        let mut all = (self.read)(file, text).map_err(|reason| self.broken(file, reason))?;
        for found in &mut all {
            found.drop_infinite();
        }
        Ok(all)
    }

    fn broken(&self, file: &str, reason: String) -> ImportError {
        ImportError::Broken {
            file: file.to_owned(),
            format: self.name,
            reason,
        }
    }
}

/// Every file format; those with more distinctive features come first.
pub const FORMATS: &[Format] = &[
    Format {
        name: "iperf3 --json-stream",
        is: iperf3::is_stream,
        read: iperf3::read_stream,
    },
    Format {
        name: "iperf3 -J",
        is: iperf3::is,
        read: iperf3::read,
    },
    Format {
        name: "netperf -k",
        is: netperf::keyval::is,
        read: netperf::keyval::read,
    },
    Format {
        name: "netperf -o",
        is: netperf::csv::is,
        read: netperf::csv::read,
    },
    Format {
        name: "netperf",
        is: netperf::human::is,
        read: netperf::human::read,
    },
    Format {
        name: "nttcp",
        is: nttcp::is,
        read: nttcp::read,
    },
];

/// The names of all file formats that can be read.
pub fn known() -> String {
    FORMATS
        .iter()
        .map(|format| format.name)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The most bytes that a file may have.
pub const MOST: u64 = 256 << 20;

/// The first bytes of files that cannot be read here, with a description of the file and a remedy.
const OTHERS: &[(&[u8], &str)] = &[
    (b"\xfd7zXZ\0", "xz-compressed: unpack it first (xz -dk)"),
    (
        b"\x28\xb5\x2f\xfd",
        "zstd-compressed: unpack it first (zstd -dk)",
    ),
    (b"BZh", "bzip2-compressed: unpack it first (bzip2 -dk)"),
    (b"\x1f\x8b", "gzip-compressed: unpack it first (gzip -dk)"),
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (
        b"\xff\xfe",
        "text in UTF-16: make it UTF-8 first (iconv -f UTF-16 -t UTF-8)",
    ),
    (
        b"\xfe\xff",
        "text in UTF-16: make it UTF-8 first (iconv -f UTF-16 -t UTF-8)",
    ),
];

/// Whether the bytes are UTF-16 without a byte order mark: every other byte is 0.
fn is_utf16(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(32)];
    let zeros = |first: usize| head.iter().skip(first).step_by(2).all(|byte| *byte == 0);
    let letters = |first: usize| head.iter().skip(first).step_by(2).all(|byte| *byte != 0);
    head.len() >= 8 && (zeros(1) && letters(0) || zeros(0) && letters(1))
}

/// The runs of a file. `file` is the name that errors use; the content determines the format.
///
/// # Errors
/// When the content matches no known format, or cannot be read as the format that it resembles.
pub fn read(file: &str, bytes: &[u8]) -> Result<Vec<Found>, ImportError> {
    let unknown = |found: String| ImportError::Unknown {
        file: file.to_owned(),
        found,
    };
    if bytes.is_empty() {
        return Err(unknown("the file is empty".into()));
    }
    if bytes.len() as u64 > MOST {
        return Err(unknown(format!(
            "larger than {} MiB, the maximum",
            MOST >> 20
        )));
    }
    if let Some((_, what)) = OTHERS.iter().find(|(begin, _)| bytes.starts_with(begin)) {
        return Err(unknown((*what).to_owned()));
    }
    if is_utf16(bytes) {
        return Err(unknown(OTHERS[OTHERS.len() - 1].1.to_owned()));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        unknown(format!(
            "not text: byte {} of {} is not UTF-8",
            error.valid_up_to(),
            bytes.len()
        ))
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let format = FORMATS
        .iter()
        .find(|format| (format.is)(text))
        .ok_or_else(|| {
            if netperf::is_bare(text) {
                return unknown(
                    "only numbers, as netperf prints them with -P 0, without names; leave out -P 0"
                        .to_owned(),
                );
            }
            let first: String = text
                .lines()
                .find(|line| !line.trim().is_empty())
                .unwrap_or("")
                .chars()
                .take(60)
                .collect();
            unknown(format!("not a supported output; it begins with {first:?}"))
        })?;
    let found = format.read(file, text)?;
    if found.is_empty() {
        return Err(format.broken(file, "it holds no run".into()));
    }
    Ok(found)
}
