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

use bitcost_model::Invalid;

pub use execution::{Head, execution};
pub use run::Run;
use run::{Done, Runs};

const SUPPORTED: &str =
    "supported: JSON of iperf3 and flent; text of iperf3, iperf 2, netperf, nuttcp and nttcp";

/// Programs whose texts are known but not read.
const UNREAD: [&str; 3] = ["sockperf", "ntttcp", "qperf"];

/// The most bytes of a file, and of what a compressed one unpacks to.
pub const MOST: u64 = 64 << 20;

/// The runs of a file, at least one, or why none is read. `file` is the name that errors use; the
/// content determines the format.
pub fn read(file: &str, bytes: &[u8]) -> Result<Vec<Run>, Invalid> {
    let read = || {
        let bytes = unpacked(bytes)?;
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            let valid = error.valid_up_to();
            format!("not text: byte {valid} is not UTF-8; unpack or convert the file first")
        })?;
        let text = text.trim_start_matches('\u{feff}');
        let (file, all) = (file.to_owned(), Vec::new());
        let mut runs = Runs { file, all };
        documents(&mut runs, text)?;
        if runs.all.is_empty() {
            runs = text::read(runs, text)?;
        }
        match runs.all.is_empty() {
            true => Err(unsupported(text)),
            false => Ok(runs.all),
        }
    };
    read().map_err(|why: String| Invalid(format!("{file}: {why}")))
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

/// Adds the runs of JSON, where the text has a key of it and is no log of bitcost.
fn documents(runs: &mut Runs, text: &str) -> Done {
    let is_there = |(key, _): &(&str, char)| text.contains(&format!("\"{key}\""));
    let has_key = json::DOCUMENTS.iter().any(is_there);
    if !text.contains('{') || !has_key || text.contains("\"execution_began\"") {
        return Ok(());
    }
    let text = json::without_nan(text);
    let (documents, broken) = json::documents(&text)?;
    for document in iperf3::without_events(documents) {
        let is_flent = document.get("x_values").is_some();
        let mut run = runs.begin(["iperf3", "flent"][usize::from(is_flent)]);
        match is_flent {
            true => flent::read(&mut run, &document),
            false => iperf3::read(&mut run, &document),
        }
        runs.push(run)?;
    }
    broken.into_iter().for_each(|broken| runs.note(&broken));
    Ok(())
}

fn unsupported(text: &str) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty());
    let begin: String = first.unwrap_or("").chars().take(60).collect();
    let lower = begin.to_ascii_lowercase();
    match UNREAD.iter().find(|program| lower.contains(*program)) {
        _ if begin.is_empty() => "the file is empty".into(),
        Some(program) => format!("the text of {program}, which is not read; {SUPPORTED}"),
        None => format!("not a supported output; it begins with {begin:?}; {SUPPORTED}"),
    }
}
