//! `bitcost explain`: why runs were not faster.

use std::path::{Path, PathBuf};

use bitcost_analysis::explain::{Explanation, RunFigures, explain_table};
use bitcost_analysis::metrics::Figures;
use bitcost_import::Run;
use bitcost_model::study::Label;
use bitcost_model::units::counted;
use bitcost_render::explained::{explanation_folded, explanation_json, explanation_text};

use crate::failure::Failure;
use crate::opened::{self, Reading};
use crate::terminal::columns;
use crate::verbs::import::read_limited;
use crate::{output, own_json};

#[derive(clap::Args)]
pub struct Arguments {
    /// An execution's folder, or a file that `bitcost import` reads [default: the newest execution
    /// in bitcost-runs]
    path: Option<PathBuf>,
    /// Also print a line for each run
    #[arg(long)]
    runs: bool,
    /// Print one JSON document
    #[arg(short = 'J', long)]
    json: bool,
    #[command(flatten)]
    reading: Reading,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let path = &match &arguments.path {
        Some(path) => path.clone(),
        None => opened::newest_folder()?,
    };
    let is_table = path.is_file()
        && path
            .file_name()
            .is_none_or(|name| name != bitcost_execute::store::LOG_NAME);
    let found = if is_table || !path.exists() {
        of_table(path)?
    } else {
        of_execution(path, arguments.reading)?
    };
    if arguments.json {
        return output::line(&format!("{:#}", explanation_json(&found)));
    }
    let text = explanation_text(&found, arguments.runs);
    output::print(&match columns() {
        Some(width) => explanation_folded(&text, width),
        None => text,
    })
}

fn of_execution(folder: &Path, reading: Reading) -> Result<Explanation, Failure> {
    let found = opened::open(folder, reading)?;
    opened::say_caveats(std::slice::from_ref(&found));
    Ok(found.explanation)
}

fn of_table(path: &Path) -> Result<Explanation, Failure> {
    let shown = path.display();
    let usage = |what: String| Failure::Usage(format!("{shown}: {what}"));
    if let Some(failure) = own_json::refused(path) {
        return Err(failure);
    }
    let bytes = read_limited(path).map_err(|error| usage(format!("cannot be read: {error}")))?;
    let mut runs: Vec<RunFigures> = Vec::new();
    let mut take = |run| runs.push(figures(runs.len() as u64 + 1, &run));
    bitcost_import::each(&shown.to_string(), &bytes, &mut take)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(explain_table(
        format!("{shown}: {} of another program", counted(runs.len(), "run")),
        &runs,
        0,
    ))
}

/// The figures of a run, which is numbered by its line where it has one. A run with a share of lost
/// data is one of datagrams: a stream loses nothing.
fn figures(number: u64, found: &Run) -> RunFigures {
    let size = |factor: &str| match found.imported.levels.get(factor) {
        Some(Label::Number(bytes)) => Some(*bytes as f64),
        _ => None,
    };
    let place = found
        .imported
        .place
        .as_deref()
        .and_then(|place| place.strip_prefix("line "));
    let segment_size_bytes = size("mss_bytes");
    let figures = &found.imported.figures;
    RunFigures {
        run: place.and_then(|line| line.parse().ok()).unwrap_or(number),
        message_size_bytes: size("message_size_bytes"),
        segment_size_bytes,
        is_datagram: segment_size_bytes.is_none() && figures.contains_key("loss_pct"),
        is_paced: false,
        figures: Figures::of(|metric| figures.get(metric.name).copied()),
    }
}
