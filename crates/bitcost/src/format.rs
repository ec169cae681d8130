//! The forms in which results are printed, chosen on the command line.

use bitcost_analysis::findings::Findings;
use bitcost_model::conditions::Conditions;
use bitcost_render::FORMS;
use bitcost_render::export::{ExportError, Form, Input, Rows};
use bitcost_render::layout::USUAL;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::failure::Failure;
use crate::opened;
use crate::output::{self, columns};

/// Reads the name of a form, and offers all names and their help.
fn form_parser() -> impl TypedValueParser<Value = &'static Form> {
    let value = |form: &Form| PossibleValue::new(form.name).help(form.help);
    PossibleValuesParser::new(FORMS.iter().map(value)).map(|name| named(&name))
}

/// The form with this name in [`FORMS`]; text for any other name.
fn named(name: &str) -> &'static Form {
    let mut forms = FORMS.iter();
    forms.find(|form| form.name == name).unwrap_or(&FORMS[0])
}

/// Reads what a row is of.
fn rows_parser() -> impl TypedValueParser<Value = Rows> {
    let runs = PossibleValue::new("runs").help("A run");
    let seconds = PossibleValue::new("seconds").help("A second of an endpoint of a run");
    let intervals = PossibleValue::new("intervals")
        .help("The time between two samples of an endpoint of a run");
    PossibleValuesParser::new([runs, seconds, intervals]).map(|name| match &*name {
        "runs" => Rows::Runs,
        "seconds" => Rows::Seconds,
        _ => Rows::Intervals,
    })
}

#[derive(Clone, Copy, Default, clap::Args)]
pub struct Look {
    /// Print one JSON document; same as --format json. The throughput is
    /// `.cells[0].throughput_mbps.median`, the bottleneck `.bottleneck`
    #[arg(short = 'J', long, conflicts_with = "format")]
    json: bool,
    /// Output format; with any format but `text`, progress is printed to standard error [default:
    /// text]
    #[arg(long, value_name = "FORM", value_parser = form_parser())]
    format: Option<&'static Form>,
    /// With --format csv, print one row per run, per second, or per interval of 100 ms [default: runs]
    #[arg(long, value_name = "WHAT", value_parser = rows_parser())]
    rows: Option<Rows>,
    /// With --json, also print all samples of every run (about 100 KB per second)
    #[arg(long)]
    samples: bool,
    /// Print all figures of a test, its settings, and the evidence for the bottleneck
    #[arg(short, long)]
    pub verbose: bool,
}

impl Look {
    fn form(&self) -> &'static Form {
        let usual = if self.json { "json" } else { "text" };
        self.format.unwrap_or_else(|| named(usual))
    }

    /// Whether standard output is text for people.
    pub fn is_for_people(&self) -> bool {
        self.form().name == "text"
    }

    /// Checks the form before there is anything to print.
    pub fn check(&self) -> Result<(), Failure> {
        let form = self.form();
        let why = match form.name {
            name if self.rows.is_some() && name != "csv" => "--rows needs --format csv",
            name if self.samples && name != "json" => {
                "--samples needs --json; `--format csv --rows intervals` prints samples as rows"
            }
            _ => return Ok(()),
        };
        Err(Failure::Usage(why.to_owned()))
    }

    /// Checks the form of a test or a study before it begins.
    pub fn check_test(&self, is_repeated: bool, conditions: &Conditions) -> Result<(), Failure> {
        let why = match self.form().name {
            "iperf3" if conditions.workload.is_transactional() => {
                "--format iperf3 is for streams: iperf3 has no transactions; use --format json"
            }
            "iperf3" if is_repeated => {
                "--format iperf3 is for a single run, without --until-interval and --against; use --format csv or json"
            }
            _ => return self.check(),
        };
        Err(Failure::Usage(why.to_owned()))
    }

    /// Prints executions in the requested form.
    pub fn print(&self, executions: &[Findings]) -> Result<(), Failure> {
        self.check()?;
        let form = self.form();
        if !form.holds_caveats {
            opened::say_caveats(executions);
        }
        let exported = (form.export)(&Input {
            executions,
            rows: self.rows.unwrap_or_default(),
            samples: self.samples,
            verbose: self.verbose,
            width: columns().map_or(USUAL, |columns| columns.min(USUAL)),
        })?;
        output::print(&exported)
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Failure {
        match error {
            ExportError::Usage(what) => Failure::Usage(what),
            ExportError::Check(what) => Failure::Check(what),
        }
    }
}
