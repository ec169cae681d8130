//! `bitcost schema`: the JSON Schemas of what bitcost writes, made from its types.

use crate::failure::Failure;
use crate::output;

/// Which schema.
#[derive(clap::Args)]
pub struct Arguments {
    /// What to describe
    #[arg(value_enum)]
    of: Described,
}

/// What a schema describes.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Described {
    /// A line of a log, `events.jsonl`
    Log,
    /// The document that `test`, `run` and `show` print with --json
    Result,
}

/// Prints the schema.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let schema = match arguments.of {
        Described::Log => bitcost_model::event::schema(),
        Described::Result => bitcost_render::document::schema(),
    };
    output::print(&format!("{schema:#}\n"))
}
