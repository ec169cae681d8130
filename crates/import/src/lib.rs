//! Import of other programs' result files as the events of an execution. Everything that a file
//! does not say stays absent.

mod execution;
mod flent;
mod iperf3;
mod json;
pub mod miniedit;
mod run;
mod text;

use std::borrow::Cow;
use std::io::Read as _;

pub use execution::{Head, execution};
pub use run::Run;
use run::Runs;

/// Why no run of a file is read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {reason}")]
pub struct ImportError {
    file: String,
    reason: String,
    /// True where the file has none of the formats.
    pub is_unknown: bool,
}

/// Adds the runs of a text; none where it has another format.
type Read = fn(Runs, &str) -> Result<Runs, String>;

/// The formats, which are looked for in this order.
const FORMATS: [(&str, Read); 2] = [
    ("JSON of iperf3 or flent", documents),
    (
        "text of iperf3, iperf 2, netperf, nuttcp or nttcp",
        text::read,
    ),
];

pub fn known() -> String {
    FORMATS.map(|(name, _)| name).join(", ")
}

/// Keys that a document of iperf3, a stream of its events, or a document of flent has.
const KEYS: [&[&str]; 3] = [
    &["\"start\"", "\"end\""],
    &["\"event\"", "\"data\""],
    &["\"x_values\"", "\"results\"", "\"metadata\""],
];

fn documents(mut runs: Runs, text: &str) -> Result<Runs, String> {
    let has = |keys: &&[&str]| keys.iter().all(|key| text.contains(key));
    let is_own = text.contains("\"execution_began\"");
    if is_own || !text.contains('{') || !KEYS.iter().any(has) {
        return Ok(runs);
    }
    let text = json::without_nan(text);
    let (documents, broken) = json::documents(&text)?;
    for (number, document) in (1..).zip(iperf3::without_events(documents)) {
        let is_flent = document.get("x_values").is_some();
        let tool = ["iperf3", "flent"][usize::from(is_flent)];
        let mut run = runs.begin(tool, format!("document {number}"));
        match is_flent {
            true => flent::read(&mut run, &document),
            false => iperf3::read(&mut run, &document),
        }
        runs.push(run)?;
    }
    broken.into_iter().for_each(|broken| runs.note(&broken));
    if let [only] = &mut runs.all[..] {
        only.imported.place = None;
    }
    Ok(runs)
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
    let failed = |is_unknown| {
        move |reason| ImportError {
            file: file.to_owned(),
            reason,
            is_unknown,
        }
    };
    let bytes = unpacked(bytes).map_err(failed(true))?;
    let text = text_of(&bytes).map_err(failed(true))?;
    for (format, read) in FORMATS {
        let runs = Runs::of(file);
        let looks = |reason| format!("looks like {format}, but {reason}");
        let runs = read(runs, text).map_err(looks).map_err(failed(false))?;
        if !runs.all.is_empty() {
            return Ok(runs.all);
        }
    }
    Err(failed(true)(unsupported(text)))
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
