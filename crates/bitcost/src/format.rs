//! The forms in which results are printed.

use std::io::IsTerminal;

use report::compare::{comparison_json, comparison_markdown, comparison_text, of_study};
use report::frame::{self, Execution, RunRows, Table};
use report::peers::netperf_keyval;
use report::{Plots, Summary, TextOptions};

use crate::failure::Failure;
use crate::opened::{self, Opened};
use crate::peers;
use crate::verbs;

/// In fewer columns a table has no room for a number.
const LEAST_COLUMNS: u16 = 40;

/// In more columns text is hard to read.
const TEXT: u16 = 100;

/// In more columns a plot shows no more.
const PLOT: u16 = 120;

/// A form of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Tables for people
    Text,
    /// Markdown, for pull requests
    Md,
    /// Comma-separated values: one row per run, or per stretch of a run with --rows intervals
    Csv,
    /// A Parquet file of the same rows, for databases and data frames
    Parquet,
    /// JSON
    Json,
    /// One HTML file with tables and pictures, as of `bitcost report`
    Html,
    /// The columns of netperf's omni test as comma-separated values: a row per run
    Netperf,
    /// The same as SELECTOR=value
    NetperfKeyval,
    /// JSON of iperf3's shape, of an execution with one run, or of --run
    Iperf3,
}

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Rows {
    /// A run
    Runs,
    /// The time between two samples of an end of a run
    Intervals,
}

/// Which plots follow the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Plot {
    /// How the runs of each metric spread, and the first metric against size
    Short,
    /// As short, and every metric against size
    All,
    /// How the runs of each metric spread
    Quantiles,
    /// Every metric against size
    Curve,
    /// No plots
    None,
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Look {
    /// Print one JSON document: --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// The form of what is printed
    #[arg(long, value_name = "FORM", value_enum)]
    format: Option<Format>,
    /// One row per run, or per stretch of 100 ms, instead of the tables per cell
    #[arg(long, value_name = "WHAT", value_enum)]
    rows: Option<Rows>,
    /// Plots after the tables of --format text [default: short in a terminal, else none]
    #[arg(long, value_name = "WHAT", value_enum)]
    plot: Option<Plot>,
    /// The run of --format iperf3, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    run: Option<u32>,
}

impl Look {
    /// This form, with rows of this kind where they are chosen.
    pub fn of(format: Format, rows: Option<Rows>) -> Look {
        Look { json: false, format: Some(format), rows, plot: Some(Plot::None), run: None }
    }

    /// Whether it is one HTML file.
    pub fn is_html(&self) -> bool {
        self.format() == Format::Html
    }

    fn format(&self) -> Format {
        self.format.unwrap_or(if self.json { Format::Json } else { Format::Text })
    }

    /// What can be said against the form before there is anything to print.
    ///
    /// # Errors
    /// Usage, where options do not fit each other, this program, or the terminal.
    pub fn check(&self) -> Result<(), Failure> {
        let format = self.format();
        let has_rows = matches!(format, Format::Text | Format::Md | Format::Csv | Format::Parquet | Format::Json);
        if self.rows.is_some() && !has_rows {
            return Err(Failure::Usage("--rows goes with --format text, md, csv, parquet and json".into()));
        }
        if self.plot.is_some_and(|plot| plot != Plot::None) && (format != Format::Text || self.rows.is_some()) {
            return Err(Failure::Usage("--plot goes with --format text, without --rows".into()));
        }
        if self.run.is_some() && format != Format::Iperf3 {
            return Err(Failure::Usage("--run goes with --format iperf3".into()));
        }
        if format == Format::Parquet { parquet_is_possible().map_err(Failure::Usage) } else { Ok(()) }
    }

    /// The executions in the form that was asked for. What a study compares is judged by the threshold, in per cent.
    ///
    /// # Errors
    /// Usage, where the form and the executions do not fit.
    pub fn render(&self, logs: &[Opened], threshold: f64) -> Result<Vec<u8>, Failure> {
        self.check()?;
        if self.is_html() {
            return verbs::report::render(logs, None, threshold).map(String::into_bytes);
        }
        self.render_read(&opened::executions(logs)?, threshold)
    }

    /// As [`Look::render`], of executions that were read before, in any form but HTML.
    ///
    /// # Errors
    /// As [`Look::render`].
    pub fn render_read(&self, executions: &[Execution], threshold: f64) -> Result<Vec<u8>, Failure> {
        let format = self.format();
        let is_flat = matches!(format, Format::Csv | Format::Parquet);
        let rows = self.rows.or(is_flat.then_some(Rows::Runs));
        if rows.is_some() || !matches!(format, Format::Json | Format::Md | Format::Text) {
            opened::say_caveats(executions);
        }
        let text = match (rows, format) {
            (Some(rows), Format::Parquet) => return parquet(&table(rows, executions)),
            (Some(Rows::Runs), Format::Csv) => {
                let rows = RunRows::new(executions);
                frame::csv_of(&rows.columns, rows.iter())
            }
            (Some(rows), format) => flat(&table(rows, executions), format),
            (None, Format::Netperf) => frame::csv(&peers::netperf(executions, "netperf")?),
            (None, Format::NetperfKeyval) => netperf_keyval(&peers::netperf(executions, "netperf-keyval")?),
            (None, Format::Iperf3) => peers::iperf3(executions, self.run)?,
            (None, Format::Json) => json(executions, threshold),
            (None, Format::Md) => each(executions, |execution| {
                let compared = of_study(execution, threshold).map(|found| format!("\n{}", comparison_markdown(&found)));
                report::markdown_summary(&execution.summary) + &compared.unwrap_or_default()
            }),
            (None, _) => each(executions, |execution| {
                let compared =
                    of_study(execution, threshold).map(|found| format!("\n{}", comparison_text(&found, columns())));
                report::text(&execution.summary, look(TEXT))
                    + &compared.unwrap_or_default()
                    + &self.plots(&execution.summary)
            }),
        };
        Ok(text.into_bytes())
    }
}

impl Look {
    /// The plots that follow the tables of an execution.
    fn plots(&self, summary: &Summary) -> String {
        let usual = if std::io::stdout().is_terminal() { Plot::Short } else { Plot::None };
        let which = match self.plot.unwrap_or(usual) {
            Plot::Short => Plots::Short,
            Plot::All => Plots::All,
            Plot::Quantiles => Plots::Quantiles,
            Plot::Curve => Plots::Curve,
            Plot::None => return String::new(),
        };
        report::plots(summary, which, look(PLOT))
    }
}

fn table(rows: Rows, executions: &[Execution]) -> Table {
    match rows {
        Rows::Runs => frame::runs_table(executions),
        Rows::Intervals => frame::intervals_table(executions),
    }
}

fn flat(table: &Table, format: Format) -> String {
    match format {
        Format::Csv => frame::csv(table),
        Format::Json => format!("{:#}\n", table.json()),
        _ => frame::markdown(table),
    }
}

/// Whether this program can write Parquet, and standard output can take it.
fn parquet_is_possible() -> Result<(), String> {
    if !cfg!(feature = "parquet") {
        let how = "build it with `cargo build --release --features parquet`";
        return Err(format!(
            "--format parquet: this program was built without it; {how}, or take --format csv: the same rows"
        ));
    }
    if std::io::stdout().is_terminal() {
        return Err("--format parquet: such a file is no text; send it into a file: > runs.parquet".to_owned());
    }
    Ok(())
}

#[cfg(feature = "parquet")]
fn parquet(table: &Table) -> Result<Vec<u8>, Failure> {
    frame::parquet(table).map_err(|error| Failure::Environment(error.to_string()))
}

/// Not reached: [`parquet_is_possible`] refuses before.
#[cfg(not(feature = "parquet"))]
fn parquet(_: &Table) -> Result<Vec<u8>, Failure> {
    Err(Failure::Usage("--format parquet: this program was built without it".to_owned()))
}

/// One document, or a list where there are several executions.
fn json(executions: &[Execution], threshold: f64) -> String {
    let document = |execution: &Execution| {
        let mut document = report::json(&execution.summary);
        if let Some(comparison) = of_study(execution, threshold) {
            document["comparison"] = comparison_json(&comparison);
        }
        if let Some(runs) = report::imported_json(execution.events) {
            document["imported_runs"] = runs;
        }
        document
    };
    match executions {
        [one] => format!("{:#}\n", document(one)),
        several => format!("{:#}\n", several.iter().map(document).collect::<serde_json::Value>()),
    }
}

/// Each after the other; where there are several, each under its folder's name.
fn each(executions: &[Execution], show: impl Fn(&Execution) -> String) -> String {
    let texts = executions.iter().map(|execution| {
        let head = if executions.len() > 1 { format!("{}\n\n", execution.name) } else { String::new() };
        head + &show(execution)
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The width of the terminal that standard output is; absent where it is none.
pub fn columns() -> Option<u16> {
    let terminal = console::Term::stdout().size_checked();
    terminal.map(|(_, columns)| columns.max(LEAST_COLUMNS))
}

/// As wide as the terminal, but no wider than this; colours in one that can, unless `NO_COLOR` is set.
fn look(most: u16) -> TextOptions {
    let usual = TextOptions::default().width;
    TextOptions { colour: console::colors_enabled(), width: columns().unwrap_or(usual).min(most) }
}
