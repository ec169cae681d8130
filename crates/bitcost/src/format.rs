//! The forms in which results are printed, chosen on the command line.

use bitcost_analysis::compare::{THRESHOLD_PCT, with_first};
use bitcost_analysis::findings::{Findings, LogPlace};
use bitcost_execute::store::LogFile;
use bitcost_model::conditions::Conditions;
use bitcost_render::export::{ExportError, Form, Input, Maker, RowSupport, Rows, Source};
use bitcost_render::layout::TextOptions;
use bitcost_render::{FORMS, form};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::failure::Failure;
use crate::opened;
use crate::output;
use crate::terminal::columns;

/// Most columns of text: wider text is hard to read.
const TEXT: u16 = 100;

/// Reads the name of a form, and offers all names and their help.
fn form_parser() -> impl TypedValueParser<Value = &'static Form> {
    let value = |form: &Form| PossibleValue::new(form.name).help(form.help);
    PossibleValuesParser::new(FORMS.iter().map(value)).map(|name| named(&name))
}

/// The form with this name in [`FORMS`]; text for any other name.
fn named(name: &str) -> &'static Form {
    form(name).unwrap_or(&FORMS[0])
}

/// Reads what a row is of.
fn rows_parser() -> impl TypedValueParser<Value = Rows> {
    let runs = PossibleValue::new("runs").help("A run");
    let intervals = PossibleValue::new("intervals")
        .help("The time between two samples of an endpoint of a run");
    PossibleValuesParser::new([runs, intervals]).map(|name| match name == "runs" {
        true => Rows::Runs,
        false => Rows::Intervals,
    })
}

#[derive(Clone, Copy, clap::Args)]
pub struct Look {
    /// Print one JSON document; same as --format json. The throughput is
    /// `.cells[0].throughput_mbps.median`, the bottleneck `.bottleneck`
    #[arg(short = 'J', long, conflicts_with = "format")]
    json: bool,
    /// Output format; with any format but `text`, progress is printed to standard error [default:
    /// text]
    #[arg(long, value_name = "FORM", value_parser = form_parser())]
    format: Option<&'static Form>,
    /// Print one row per run, or per interval of 100 ms, instead of the figures
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
        self.form().name == "text" && self.rows.is_none()
    }

    /// Checks the form before there is anything to print.
    pub fn check(&self) -> Result<(), Failure> {
        let form = self.form();
        if self.rows.is_some() && form.rows == RowSupport::Never {
            let able = FORMS.iter().filter(|form| form.rows != RowSupport::Never);
            let names: Vec<&str> = able.map(|form| form.name).collect();
            return Err(Failure::Usage(format!(
                "--rows needs --format {}",
                names.join(", ")
            )));
        }
        let why = match form.name {
            other if self.samples && (other != "json" || self.rows.is_some()) => {
                "--samples needs --json without --rows; `--format csv --rows intervals` prints samples as rows"
            }
            _ => return Ok(()),
        };
        Err(Failure::Usage(why.to_owned()))
    }

    /// Checks the form of a test before it begins.
    pub fn check_test(
        &self,
        is_repeated: bool,
        is_log_missing: bool,
        conditions: &Conditions,
    ) -> Result<(), Failure> {
        let why = match self.form().name {
            "html" if is_log_missing => "--format html is made from the log; leave out --no-log",
            "iperf3" if conditions.workload.is_transactional() => {
                "--format iperf3 is for streams: iperf3 has no transactions; use --format json"
            }
            "iperf3" if is_repeated => {
                "--format iperf3 is for a single run; leave out --until-interval"
            }
            _ => return self.check(),
        };
        Err(Failure::Usage(why.to_owned()))
    }

    /// Prints executions in the requested form.
    pub fn print(&self, executions: &[Findings]) -> Result<(), Failure> {
        self.check()?;
        let form = self.form();
        if self.rows.is_some() || !form.holds_caveats {
            opened::say_caveats(executions);
        }
        let sources = match form.names_sources {
            true => executions.iter().map(source).collect::<Result<_, _>>()?,
            false => Vec::new(),
        };
        let between = match form.names_sources {
            true => with_first(executions, THRESHOLD_PCT),
            false => Vec::new(),
        };
        let exported = (form.export)(&Input {
            executions,
            rows: self.rows,
            between: &between,
            samples: self.samples,
            verbose: self.verbose,
            text: look(TEXT),
            sources: &sources,
            maker: &maker(),
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

/// The log's file, its length and its checksum.
pub fn source(findings: &Findings) -> Result<Source, Failure> {
    let LogPlace { path, bytes } = findings.log.clone().ok_or_else(|| {
        Failure::Usage("the runs of `bitcost test --no-log` have no log".to_owned())
    })?;
    let log = LogFile::open(opened::folder(findings))?;
    let (bytes, sha256) = log.up_to(bytes).fingerprint()?;
    let path = path.display().to_string();
    Ok(Source {
        path,
        bytes,
        sha256,
    })
}

/// This program, as it was called.
pub fn maker() -> Maker {
    Maker {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: output::command_line(),
        at: bitcost_controller::now(),
    }
}

/// The options for text as wide as the terminal, but no wider than `most`.
fn look(most: u16) -> TextOptions {
    let usual = TextOptions::default().width;
    TextOptions {
        width: columns().unwrap_or(usual).min(most),
        columns: columns(),
    }
}
