//! Import of other programs' result files as the events of an execution. Everything that a file
//! does not say stays absent.

mod execution;
mod flent;
mod iperf3;
mod json;
pub mod miniedit;
mod netperf;
mod run;
mod text;

use std::borrow::Cow;
use std::io::Read as _;

pub use execution::{Head, execution};
pub use run::Run;
use run::{Done, Runs};

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

/// A file format: its name, and how the runs of a text are read, which are none where the text has
/// another one.
#[derive(Debug)]
pub struct Format(pub &'static str, fn(&mut Runs, &str) -> Done);

impl Format {
    /// The runs of a text; none where it has another format. `file` is the name that errors use.
    pub fn read(&self, file: &str, text: &str) -> Result<Vec<Run>, ImportError> {
        let mut runs = Runs::of(file);
        let read = self.1(&mut runs, text);
        read.map_err(|reason| ImportError::Broken {
            file: file.to_owned(),
            format: self.0,
            reason,
        })?;
        Ok(runs.all.into_iter().map(Run::without_impossible).collect())
    }
}

/// Every file format; those with more distinctive features come first.
pub const FORMATS: &[Format] = &[
    Format("flent", flent::read),
    Format("iperf3 (JSON)", iperf3::read),
    Format("netperf", netperf::read),
    Format("iperf3, iperf 2, nuttcp and nttcp (text)", text::read),
];

pub fn known() -> String {
    FORMATS
        .iter()
        .map(|format| format.0)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The most bytes of a file, and of what a compressed one unpacks to.
pub const MOST: u64 = 64 << 20;

/// The first bytes of files that cannot be read here, with a description of the file and a remedy.
const OTHERS: &[(&[u8], &str)] = &[
    (b"\xfd7zXZ\0", "xz-compressed: unpack it first (xz -dk)"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed: unpack it (zstd -dk)"),
    (b"BZh", "bzip2-compressed: unpack it first (bzip2 -dk)"),
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"\xff\xfe", "text in UTF-16: make it UTF-8 first (iconv)"),
    (b"{\0", "text in UTF-16: make it UTF-8 first (iconv)"),
];

/// Programs whose texts are known but not read.
const UNREAD: [&str; 3] = ["sockperf", "ntttcp", "qperf"];

/// The runs of a file, at least one. `file` is the name that errors use; the content determines the
/// format.
pub fn read(file: &str, bytes: &[u8]) -> Result<Vec<Run>, ImportError> {
    let unknown = |found: String| ImportError::Unknown {
        file: file.to_owned(),
        found,
    };
    let bytes = unpacked(bytes).map_err(unknown)?;
    let text = text_of(&bytes).map_err(unknown)?;
    for format in FORMATS {
        let runs = format.read(file, text)?;
        if !runs.is_empty() {
            return Ok(runs);
        }
    }
    Err(unknown(unsupported(text)))
}

fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let mut content = Cow::Borrowed(bytes);
    if bytes.starts_with(b"\x1f\x8b") {
        let mut unpacked = Vec::new();
        let packed = flate2::read::MultiGzDecoder::new(bytes);
        let read = packed.take(MOST + 1).read_to_end(&mut unpacked);
        content = Cow::Owned(unpacked);
        read.map_err(|error| format!("gzip-compressed, and cannot be unpacked: {error}"))?;
    }
    match content.len() as u64 > MOST {
        true => Err(format!("larger than {} MiB, the maximum", MOST >> 20)),
        false => Ok(content),
    }
}

fn text_of(bytes: &[u8]) -> Result<&str, String> {
    if bytes.is_empty() {
        return Err("the file is empty".into());
    }
    if let Some((_, what)) = OTHERS.iter().find(|(begin, _)| bytes.starts_with(begin)) {
        return Err((*what).to_owned());
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let valid = error.valid_up_to();
        format!("not text: byte {valid} is not UTF-8")
    })?;
    Ok(text.trim_start_matches('\u{feff}'))
}

fn unsupported(text: &str) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty());
    let begin: String = first.unwrap_or("").chars().take(60).collect();
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    if begin.trim().split([' ', ',']).all(is_number) {
        return "only numbers without names, as netperf -P 0 prints them; leave out -P 0".into();
    }
    let lower = begin.to_ascii_lowercase();
    match UNREAD.iter().find(|program| lower.contains(*program)) {
        Some(program) => format!("the text of {program}, which is not read"),
        None => format!("not a supported output; it begins with {begin:?}"),
    }
}
