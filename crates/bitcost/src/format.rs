//! The forms in which results are printed, chosen on the command line.

use std::fmt;
use std::io::IsTerminal;

use bitcost_analysis::execution::Execution;
use bitcost_render::export::{ExportError, Exported, Form, Input, RowSupport};
use bitcost_render::forms::{FORMS, form};
use bitcost_render::layout::TextOptions;
use bitcost_render::plots::Plots;
use bitcost_render::provenance::{Maker, Source};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::failure::Failure;
use crate::opened::{self, Opened};
use crate::options::whole::whole;
use crate::output;
use crate::terminal::columns;

/// Most columns of text: wider text is hard to read.
const TEXT: u16 = 100;

/// Most columns of a plot: a wider one shows no more.
const PLOT: u16 = 120;

/// A form of output, by its row in [`FORMS`].
#[derive(Clone, Copy)]
pub struct Format(&'static Form);

impl Format {
    /// The form with this name in [`FORMS`]; text for any other name.
    pub fn named(name: &str) -> Format {
        Format(form(name).unwrap_or(&FORMS[0]))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.0.name
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reads the name of a form, and offers all names and their help.
pub fn format_parser() -> impl TypedValueParser<Value = Format> {
    let value = |form: &Form| PossibleValue::new(form.name).help(form.help);
    PossibleValuesParser::new(FORMS.iter().map(value)).map(|name| Format::named(&name))
}

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Rows {
    /// A run
    Runs,
    /// The time between two samples of an endpoint of a run
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
    /// Output format
    #[arg(long, value_name = "FORM", value_parser = format_parser())]
    format: Option<Format>,
    /// Print one row per run, or per interval of 100 ms, instead of the tables per cell
    #[arg(long, value_name = "WHAT", value_enum)]
    rows: Option<Rows>,
    /// Plots after the tables of --format text [default: short in a terminal, else none]
    #[arg(long, value_name = "WHAT", value_enum)]
    plot: Option<Plot>,
    /// Run that --format iperf3 prints, counted from 1 [default: the only run]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=u32::MAX))]
    run: Option<u32>,
}

impl Look {
    /// The look of this form, with rows of this kind if a kind is chosen.
    pub fn of(format: Format, rows: Option<Rows>) -> Look {
        Look {
            json: false,
            format: Some(format),
            rows,
            plot: Some(Plot::None),
            run: None,
        }
    }

    fn form(&self) -> &'static Form {
        let usual = if self.json { "json" } else { "text" };
        self.format.unwrap_or_else(|| Format::named(usual)).0
    }

    /// Whether the tables are text for people, all of them.
    pub fn is_for_people(&self) -> bool {
        self.form().name == "text" && self.rows.is_none()
    }

    /// Checks the form before there is anything to print.
    ///
    /// # Errors
    /// Usage, when options do not fit each other, this program, or the terminal.
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
        let has_plots = self.plot.is_some_and(|plot| plot != Plot::None);
        if has_plots && (form.name != "text" || self.rows.is_some()) {
            return Err(Failure::Usage(
                "--plot needs --format text, without --rows".into(),
            ));
        }
        if self.run.is_some() && form.name != "iperf3" {
            return Err(Failure::Usage("--run needs --format iperf3".into()));
        }
        match (form.refusal)(std::io::stdout().is_terminal()) {
            Some(why) => Err(Failure::Usage(why)),
            None => Ok(()),
        }
    }

    /// Renders the logs in the requested form. A comparison that the study makes is judged by the
    /// threshold, in per cent.
    ///
    /// # Errors
    /// Usage, when the form and the executions do not fit.
    pub fn render(&self, logs: &[Opened], threshold: f64) -> Result<Vec<u8>, Failure> {
        Ok(self
            .render_read(logs, &opened::executions(logs)?, threshold)?
            .bytes)
    }

    /// As [`Look::render`], for executions that were already read from these logs.
    ///
    /// # Errors
    /// As [`Look::render`].
    pub fn render_read(
        &self,
        logs: &[Opened],
        executions: &[Execution],
        threshold_pct: f64,
    ) -> Result<Exported, Failure> {
        self.check()?;
        let form = self.form();
        if self.rows.is_some() || !form.holds_caveats {
            opened::say_caveats(executions);
        }
        let sources = match form.names_sources {
            true => logs.iter().map(source).collect::<Result<_, _>>()?,
            false => Vec::new(),
        };
        let exported = (form.export)(&Input {
            executions,
            rows: self.rows.map(Rows::into),
            threshold_pct,
            run: self.run,
            text: look(TEXT),
            plots: self.plots().map(|which| (which, look(PLOT))),
            columns: columns(),
            sources: &sources,
            maker: &maker(),
        })?;
        exported
            .remarks
            .iter()
            .for_each(|remark| output::say(remark));
        Ok(exported)
    }

    /// The plots that follow the tables.
    fn plots(&self) -> Option<Plots> {
        let usual = if std::io::stdout().is_terminal() {
            Plot::Short
        } else {
            Plot::None
        };
        match self.plot.unwrap_or(usual) {
            Plot::Short => Some(Plots::Short),
            Plot::All => Some(Plots::All),
            Plot::Quantiles => Some(Plots::Quantiles),
            Plot::Curve => Some(Plots::Curve),
            Plot::None => None,
        }
    }
}

impl From<Rows> for bitcost_render::export::Rows {
    fn from(rows: Rows) -> Self {
        match rows {
            Rows::Runs => Self::Runs,
            Rows::Intervals => Self::Intervals,
        }
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Failure {
        match error {
            ExportError::Usage(what) => Failure::Usage(what),
            ExportError::Check(what) => Failure::Check(what),
            ExportError::Environment(what) => Failure::Environment(what),
        }
    }
}

/// The log's file, its length and its checksum.
///
/// # Errors
/// Usage, when the log is no file or cannot be read.
pub fn source(opened: &Opened) -> Result<Source, Failure> {
    let log = opened.file()?;
    let (bytes, sha256) = log.fingerprint()?;
    let path = log.path().display().to_string();
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
        command_line: std::env::args_os()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        at: bitcost_controller::now(),
    }
}

/// The options for text as wide as the terminal, but no wider than `most`, and with colours if the
/// terminal can show them, unless `NO_COLOR` is set.
fn look(most: u16) -> TextOptions {
    let usual = TextOptions::default().width;
    TextOptions {
        colour: console::colors_enabled(),
        width: columns().unwrap_or(usual).min(most),
    }
}
