//! `bitcost report`: executions as one HTML file that needs no other file.

use std::path::PathBuf;

use bitcost_analysis::compare::{THRESHOLD_PCT, of_study, with_first};
use bitcost_analysis::findings::{Findings, LogPlace};
use bitcost_execute::store::LogFile;
use bitcost_render::export::{Maker, Source};
use bitcost_render::html::page;

use crate::failure::Failure;
use crate::opened;
use crate::options::repeats::percent;
use crate::output;

#[derive(clap::Args)]
pub struct Arguments {
    /// Folder of the execution; the first of several is compared with each other one [default: the
    /// newest execution in bitcost-runs]
    #[arg(value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Output file, of HTML with its pictures; `-` is standard output [default: report.html in the first folder, for several
    /// compare-with-NAMES.html, where NAMES are those of the others]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Smallest change that counts as better or worse where executions are compared, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = THRESHOLD_PCT, value_parser = percent)]
    threshold: f64,
}

/// Writes the file and says where it is.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let ending = arguments.out.as_ref().and_then(|out| out.extension());
    if let Some(ending) = ending.filter(|ending| *ending != "html" && *ending != "htm") {
        return Err(Failure::Usage(format!(
            "--out: a report is a page of HTML, which has its pictures, and not {}; write a file such as report.html, or print it to a PDF from a browser",
            ending.display()
        )));
    }
    let mut found = opened::open_all(&arguments.folders)?;
    if let Some(twice) = opened::named_twice(&found) {
        return Err(Failure::Usage(format!(
            "{} is named twice; name different executions",
            twice.name
        )));
    }
    for one in &mut found {
        one.comparison = of_study(one, arguments.threshold);
    }
    let sources = found.iter().map(source).collect::<Result<Vec<_>, _>>()?;
    let between = with_first(&found, arguments.threshold);
    let maker = Maker {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: output::command_line(),
        at: bitcost_controller::now(),
    };
    let html = page(&found, &sources, &between, &maker);
    let default = || opened::folder(&found[0]).join(usual_name(&found[1..]));
    let path = arguments.out.clone().unwrap_or_else(default);
    if path.as_os_str() == "-" {
        return output::print(&html);
    }
    output::file(&path, html.as_bytes(), "--out FILE")?;
    output::line(&path.display().to_string())
}

/// The name of the file about a log and these others, so that no comparison replaces the report of
/// its first execution.
fn usual_name(others: &[Findings]) -> String {
    if others.is_empty() {
        return "report.html".to_owned();
    }
    let names = others.iter().map(|one| {
        let whole = opened::whole_path(one);
        let name = whole.file_name().unwrap_or(whole.as_os_str());
        name.to_string_lossy().into_owned()
    });
    format!(
        "compare-with-{}.html",
        names.collect::<Vec<_>>().join("-and-")
    )
}

/// The log's file, its length and its checksum.
fn source(findings: &Findings) -> Result<Source, Failure> {
    let log = LogFile::open(opened::folder(findings))?;
    // As long as it was when it was read.
    let log = match &findings.log {
        Some(LogPlace { bytes, .. }) => log.up_to(*bytes),
        None => log,
    };
    let (bytes, sha256) = log.fingerprint()?;
    let path = log.path().display().to_string();
    Ok(Source {
        path,
        bytes,
        sha256,
    })
}
