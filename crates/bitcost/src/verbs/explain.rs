//! `bitcost explain`: why runs were not faster.

use std::path::{Path, PathBuf};

use bitcost_analysis::explain::{Explanation, RunFigures, explain_table};
use bitcost_import::ForeignRun;
use bitcost_model::units::counted;
use bitcost_render::explained::{explanation_folded, explanation_json, explanation_text};

use crate::failure::Failure;
use crate::opened::{self, Reading};
use crate::terminal::columns;
use crate::{output, own_json};

/// What to explain.
#[derive(clap::Args)]
pub struct Arguments {
    /// An execution's folder, or a table of runs (CSV) as netperf prints it [default: the newest
    /// execution in bitcost-runs]
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

/// Explains and prints.
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
    let text =
        std::fs::read_to_string(path).map_err(|error| usage(format!("cannot be read: {error}")))?;
    let table = bitcost_import::read_table(&text)
        .map_err(|error| own_json::refused(path).unwrap_or_else(|| usage(error.to_string())))?;
    if table.is_empty() {
        return Err(usage(
            "it has no rows, so there is nothing to explain".into(),
        ));
    }
    let runs: Vec<RunFigures> = table.iter().map(figures).collect();
    Ok(explain_table(
        format!("{shown}: {} of another program", counted(runs.len(), "run")),
        &runs,
        0,
    ))
}

/// The figures of a run. A run with a share of lost data is one of datagrams: a stream loses
/// nothing.
fn figures(run: &ForeignRun) -> RunFigures {
    RunFigures {
        run: run.line,
        message_size_bytes: run.message_size_bytes.map(f64::from),
        segment_size_bytes: run.segment_size_bytes.map(f64::from),
        is_datagram: run.segment_size_bytes.is_none() && run.figures.contains_key("loss_pct"),
        is_paced: false,
        figures: run.figures.clone(),
    }
}
