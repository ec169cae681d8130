//! The options of `bitcost test`.

use std::path::PathBuf;
use std::time::Duration;

use bitcost_execute::store::USUAL_PARENT;
use bitcost_model::units::parse_duration;
use bitcost_model::workload::{WORKLOADS, Workload, WorkloadInfo};
use bitcost_study::topology::USUAL;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::format::Look;
use crate::options::PROFILE;
use crate::options::against::Held;
use crate::options::gates::Gates;
use crate::options::hosts::HostOptions;
use crate::options::judging::Judging;
use crate::options::repeats::Repeats;
use crate::options::run::RunOptions;

/// Reads a name of a workload, and offers the short names and their help.
fn workload_parser() -> impl TypedValueParser<Value = Workload> {
    let value = |row: WorkloadInfo| {
        PossibleValue::new(row.short_name)
            .aliases([row.name, row.netperf_name])
            .help(row.summary)
    };
    PossibleValuesParser::new(WORKLOADS.map(value))
        .try_map(|name| Workload::named(&name).ok_or("no such workload"))
}

/// The interval of the lines that a test prints, which is fixed.
fn a_second(text: &str) -> Result<(), String> {
    match parse_duration(text) {
        Ok(interval) if interval == Duration::from_secs(1) => Ok(()),
        _ => Err(format!(
            "`{text}` is not a valid value; allowed: 1, a line each second; for 100 ms `--format csv --rows intervals`"
        )),
    }
}

/// A name in the parent of executions.
fn folder_name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.+@".contains(c);
    match text.starts_with(char::is_alphanumeric) && text.chars().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "`{text}` is not a name of a folder; allowed: letters, digits, `-`, `_` and `.`, such as `before`"
        )),
    }
}

/// A word that is no option, which `--` would make of one.
fn no_option(text: &str) -> Result<String, String> {
    match text.starts_with('-') {
        true => Err(format!(
            "`{text}` is not a host; options are written before `--`"
        )),
        false => Ok(text.to_owned()),
    }
}

#[derive(clap::Args)]
pub struct Arguments {
    /// Workload: what the sender and the receiver do
    #[arg(ignore_case = true, value_parser = workload_parser())]
    pub test: Workload,
    /// Host of the receiver; same as --receiver [default in a node of a running lab: the first
    /// other host]
    #[arg(value_name = "HOST", value_parser = no_option, conflicts_with = "receiver")]
    pub host: Option<String>,
    #[command(flatten)]
    pub run: RunOptions,
    /// Time between two lines of the run: a second, for command lines of iperf3
    #[arg(short, long, value_name = "TIME", hide = true, value_parser = a_second)]
    pub interval: Option<()>,
    /// Begin the line of each second with the time of day
    #[arg(long, conflicts_with = "against")]
    pub timestamps: bool,
    /// Program at HOST: `bitcost`, or `iperf3`, a server that is running there (`iperf3 -s`);
    /// HOST:PORT selects its port [default: bitcost]
    #[arg(long, value_name = "PROGRAM", value_parser = ["bitcost", "iperf3"], conflicts_with_all = ["topology", "mtu"])]
    pub peer: Option<String>,
    /// MTU in bytes of the links of the lab that is built for the test, or of the interfaces of named
    /// hosts (--device-mtu) [default: theirs]
    #[arg(long, value_parser = clap::value_parser!(u32).range(576..=65_535))]
    pub mtu: Option<u32>,
    /// Lab: the name of an embedded one (`bitcost lab presets`), or the path of a lab file (.toml)
    /// or a MiniEdit file (.mn) [default: wire; in a node of a running lab that lab]
    #[arg(long, conflicts_with_all = ["sender", "receiver", "host"])]
    pub topology: Option<String>,
    /// Prove the verdict: after the test, short runs with a little less of one suspected resource,
    /// interleaved with unchanged ones
    #[arg(long)]
    pub prove: bool,
    #[command(flatten)]
    pub against: Held,
    #[command(flatten)]
    pub judging: Judging,
    #[command(flatten)]
    pub gates: Gates,
    /// Maximum time of the experiments of --prove, of the runs of --against, or of all trials of
    /// `improve` [default: 30s, of --against and `improve` 60s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    #[command(flatten)]
    pub repeats: Repeats,
    #[arg(long, help = PROFILE)]
    pub profile: bool,
    /// Parent of the folder that is created for the log of the test
    #[arg(long, value_name = "FOLDER", default_value = USUAL_PARENT)]
    pub out: PathBuf,
    /// Name of the folder of the test, for `compare` and others [default: the time, and the workload]
    #[arg(long, value_parser = folder_name)]
    pub name: Option<String>,
    /// Do not keep a log; `show`, `explain`, `report` and `compare` then cannot read the test
    #[arg(long, conflicts_with_all = ["out", "name"])]
    pub no_log: bool,
    /// Show a panel meanwhile: both ends, queues, what limits so far
    #[arg(long)]
    pub live: bool,
    #[command(flatten)]
    pub look: Look,
    // The last, so that others are not below its heading.
    #[command(flatten)]
    pub hosts: HostOptions,
}

impl Arguments {
    /// Whether a stock iperf3 server plays the other endpoint.
    pub fn is_with_iperf3(&self) -> bool {
        self.peer.as_deref() == Some("iperf3")
    }

    /// The lab that is built for the test.
    pub fn topology(&self) -> &str {
        self.topology.as_deref().unwrap_or(USUAL)
    }
}
