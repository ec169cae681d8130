//! The form in which a test prints its result.

use bitcost_model::conditions::Conditions;

use crate::failure::Failure;
use crate::format::{Format, Look, Rows, format_parser};

/// The form of the result.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Form {
    /// Print one JSON document; same as --format json. Throughput is
    /// `.cells[0].throughput_mbps.median`, there, in `show --json` and in the log
    #[arg(short = 'J', long, conflicts_with = "format")]
    json: bool,
    /// Output format; in each but `text` the lines of seconds go to standard error [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    format: Option<Format>,
    /// Print one row per run, or per interval of 100 ms, instead of the figures
    #[arg(long, value_name = "ROWS", value_enum)]
    pub rows: Option<Rows>,
    /// Print with --json also the raw records of every run, with all samples: some 100 KB a second
    #[arg(long)]
    pub samples: bool,
    /// Print all figures of the run, its settings, and the evidence for the bottleneck, before the
    /// answer
    #[arg(short, visible_short_alias = 'V', long)]
    pub verbose: bool,
}

impl Form {
    /// The format that was asked for.
    pub fn format(self) -> Format {
        let usual = if self.json { "json" } else { "text" };
        self.format.unwrap_or_else(|| Format::named(usual))
    }

    /// The same form as options for executions.
    pub fn look(self) -> Look {
        Look::of(self.format(), self.rows)
    }

    /// Whether standard output is text for people.
    pub fn is_text(self) -> bool {
        self.format().name() == "text" && self.rows.is_none()
    }

    /// Checks the form before there is anything to print.
    ///
    /// # Errors
    /// Usage, when the form does not fit the test.
    pub fn check(
        self,
        is_repeated: bool,
        is_log_missing: bool,
        asked: &Conditions,
    ) -> Result<(), Failure> {
        let why = match self.format().name() {
            other if self.samples && (other != "json" || self.rows.is_some()) => {
                "--samples needs --json without --rows; `--format csv --rows intervals` prints samples as rows"
            }
            "html" if is_log_missing => "--format html is made from the log; leave out --no-log",
            "iperf3" if asked.workload.is_transactional() => {
                "--format iperf3 is for streams: iperf3 has no transactions; use --format netperf or json"
            }
            "iperf3" if is_repeated => {
                "--format iperf3 is for a single run; leave out --until-interval and --repeat"
            }
            _ => return self.look().check(),
        };
        Err(Failure::Usage(why.to_owned()))
    }
}
