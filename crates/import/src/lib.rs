//! Import of other programs' result files as the events of an execution. Everything that a file
//! does not say stays absent.

mod execution;
mod found;
mod iperf3;
pub mod miniedit;
mod netperf;
mod nttcp;
mod seconds;

pub use execution::{Head, execution};
pub use found::Found;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    #[error("{file}: {found}")]
    Unknown { file: String, found: String },
    #[error("{file}: looks like {format}, but {reason}")]
    Broken {
        file: String,
        format: &'static str,
        reason: String,
    },
}

#[derive(Debug)]
pub struct Format {
    pub name: &'static str,
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
        name: "iperf3 (JSON)",
        is: iperf3::is,
        read: iperf3::read,
    },
    Format {
        name: "netperf",
        is: netperf::is,
        read: netperf::read,
    },
    Format {
        name: "nttcp",
        is: nttcp::is,
        read: nttcp::read,
    },
];

pub fn known() -> String {
    FORMATS
        .iter()
        .map(|format| format.name)
        .collect::<Vec<_>>()
        .join(", ")
}

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
];

const UTF16: &str = "text in UTF-16: make it UTF-8 first (iconv -f UTF-16 -t UTF-8)";

/// The runs of a file. `file` is the name that errors use; the content determines the format.
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
    // UTF-16 has a byte order mark, or a 0 in each of its first letters.
    let is_utf16 = bytes.starts_with(b"\xff\xfe")
        || bytes.starts_with(b"\xfe\xff")
        || bytes.iter().take(8).filter(|byte| **byte == 0).count() == 4;
    if is_utf16 {
        return Err(unknown(UTF16.to_owned()));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        unknown(format!(
            "not text: byte {} is not UTF-8",
            error.valid_up_to()
        ))
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(format) = FORMATS.iter().find(|format| (format.is)(text)) else {
        let first = text.lines().find(|line| !line.trim().is_empty());
        let begin: String = first.unwrap_or("").chars().take(60).collect();
        let is_number = |word: &str| word.parse::<f64>().is_ok();
        return Err(unknown(
            match begin.trim().split([' ', ',']).all(is_number) {
                true => {
                    "only numbers without names, as netperf -P 0 prints them; leave out -P 0".into()
                }
                false => format!("not a supported output; it begins with {begin:?}"),
            },
        ));
    };
    let found = format.read(file, text)?;
    if found.is_empty() {
        return Err(format.broken(file, "it holds no run".into()));
    }
    Ok(found)
}
