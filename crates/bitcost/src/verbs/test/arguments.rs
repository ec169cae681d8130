//! The options of `bitcost test`.

use std::path::PathBuf;

use bitcost_model::workload::{WORKLOADS, Workload, WorkloadInfo};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::form::Form;
use crate::options::hosts::HostOptions;
use crate::options::lab::Backend;
use crate::options::repeats::Repeats;
use crate::options::settings::Settings;

/// Reads the short name of a workload, and offers all names and their help.
fn workload_parser() -> impl TypedValueParser<Value = Workload> {
    let value = |row: WorkloadInfo| PossibleValue::new(row.short_name).help(row.summary);
    PossibleValuesParser::new(WORKLOADS.map(value))
        .try_map(|name| Workload::with_short_name(&name).ok_or("no such workload"))
}

/// Which run.
#[derive(clap::Args)]
pub struct Arguments {
    /// Workload: what the sender and the receiver do
    #[arg(value_parser = workload_parser())]
    pub test: Workload,
    #[command(flatten)]
    pub settings: Settings,
    /// Use IPv4 only; same as --ip-version 4
    #[arg(short = '4', conflicts_with_all = ["ipv6", "ip_version"])]
    pub ipv4: bool,
    /// Use IPv6 only; same as --ip-version 6
    #[arg(short = '6', conflicts_with = "ip_version")]
    pub ipv6: bool,
    /// How --send-mode and --receive-mode are chosen: `honest` uses plain system calls, `auto`
    /// tries every pair of modes for a short time and uses the fastest; a mode that is given is
    /// kept [default: honest]
    #[arg(long, value_parser = ["honest", "auto"])]
    pub mode: Option<String>,
    /// Send from the receiver to the sender; same as --direction reverse. Hosts keep their names:
    /// `receiver: …` in --qdisc and other settings of hosts, --receiver-cpus and
    /// --receiver-address are of the host that --receiver names, which then sends
    #[arg(short = 'R', long, conflicts_with_all = ["both", "direction"])]
    pub reverse: bool,
    /// Send in both directions at once; same as --direction both
    #[arg(long, visible_alias = "bidir", conflicts_with = "direction")]
    pub both: bool,
    #[command(flatten)]
    pub hosts: HostOptions,
    /// MTU of the embedded lab's links, in bytes [default: that of the lab, else 1500]
    #[arg(long, conflicts_with_all = ["sender", "receiver"], value_parser = clap::value_parser!(u32).range(576..=65_535))]
    pub mtu: Option<u32>,
    /// Lab: the name of an embedded one (`bitcost lab presets`), or the path of a lab file (.toml)
    /// or a MiniEdit file (.mn)
    #[arg(long, default_value = "wire", conflicts_with_all = ["sender", "receiver"])]
    pub topology: String,
    #[command(flatten)]
    pub repeats: Repeats,
    #[command(flatten)]
    pub backend: Backend,
    /// Parent of the folder that is created for the log of the test
    #[arg(long, value_name = "FOLDER", default_value = "bitcost-runs")]
    pub out: PathBuf,
    /// Keep no log; `show`, `explain`, `report` and `compare` cannot read the test later
    #[arg(long, conflicts_with = "out")]
    pub no_log: bool,
    #[command(flatten)]
    pub form: Form,
}
