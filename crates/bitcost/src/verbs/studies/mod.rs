//! `bitcost studies`: the embedded studies, listed or printed, a new study file, and the JSON
//! Schemas of what bitcost reads and writes.

use bitcost_analysis::metrics::METRICS;
use bitcost_render::layout::folded_text;

use crate::failure::Failure;
use crate::output::{self, columns};
use crate::studies::{EMBEDDED, find};

const TEMPLATE: &str = include_str!("study.toml");

/// Columns of text where standard output is not a terminal.
const COLUMNS: u16 = 80;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    /// Study whose file is printed, to be copied and changed [default: list all]
    name: Option<String>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Print a commented study file that runs as it is, to be changed
    New,
    /// Print a JSON Schema, by which an editor completes study files and programs check results
    Schema {
        /// What it describes
        #[arg(value_enum)]
        of: Described,
    },
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Described {
    /// A study file
    Study,
    /// The document that `test`, `run` and `show` print with --json
    Result,
    /// A line of a log, `events.jsonl`
    Log,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match (&arguments.action, &arguments.name) {
        (Some(Action::New), _) => output::print(TEMPLATE),
        (Some(Action::Schema { of }), _) => output::print(&format!("{:#}\n", schema(*of))),
        (None, Some(name)) => output::print(&find(name, None)?.text),
        (None, None) => list(),
    }
}

fn list() -> Result<(), Failure> {
    for (name, _) in EMBEDDED {
        let study = find(name, None)?;
        let text = format!("{name}\n    {}\n    {}\n", study.title, study.question);
        output::print(&folded_text(&text, columns().unwrap_or(COLUMNS), 4))?;
    }
    Ok(())
}

fn schema(of: Described) -> serde_json::Value {
    match of {
        Described::Study => {
            let metrics: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
            bitcost_study::study_schema(&metrics)
        }
        Described::Result => bitcost_render::document::schema(),
        Described::Log => bitcost_model::event::schema(),
    }
}
