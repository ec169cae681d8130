//! The verbs: one file each, and one row in [`Verb`] and [`run()`].

mod against;
mod agent;
mod compare;
mod completions;
mod explain;
pub mod host;
mod import;
mod import_lab;
mod judging;
mod lab;
mod limits;
mod logged;
mod man;
mod ping;
mod plan;
mod repeats;
pub mod report;
mod resuming;
mod run;
mod show;
mod studies;
mod test;
mod test_output;
pub mod where_to;

use clap::Subcommand;

use crate::failure::Failure;

/// Every verb.
#[derive(Subcommand)]
pub enum Verb {
    /// Run a study in the embedded lab or between hosts, and print its table
    Run(run::Arguments),
    /// Print every run of a study in its order, and how long it will all take; touch nothing
    Plan(plan::Arguments),
    /// List the embedded studies, or print one
    Studies(studies::Arguments),
    /// Print the table of an execution again, from its log alone
    Show(show::Arguments),
    /// Say what changed from one execution to another, or between cells of one, with intervals and verdicts
    Compare(compare::Arguments),
    /// Read files of netperf, iperf3, nuttcp, nttcp and flent into an execution's folder
    Import(import::Arguments),
    /// Write executions as one HTML file with tables and pictures that needs no network
    Report(report::Arguments),
    /// Make one run, in the embedded lab or between hosts, and print what it cost
    Test(Box<test::Arguments>),
    /// Play one end of each run for a controller on standard input and output
    Agent(agent::Arguments),
    /// Show this host's settings, or put back what a run that was cut off left changed
    #[command(subcommand)]
    Host(host::Action),
    /// Say why runs were not faster: the limiter with its evidence, what a message costs, runs in two modes
    Explain(explain::Arguments),
    /// Say what theory allows: goodput of a link, pacing rates, bandwidth-delay products
    #[command(subcommand)]
    Limits(limits::Question),
    /// Print the manual, or write all of its pages
    Man(man::Arguments),
    /// Print what a shell must know to complete bitcost's words
    Completions(completions::Arguments),
    /// Build labs that stand until they are taken down, and run programs in them
    #[command(subcommand)]
    Lab(lab::Action),
    /// Measure round trips, as ping does
    Ping(ping::Arguments),
}

/// Does what the verb says.
///
/// # Errors
/// See [`Failure`].
pub fn run(verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Run(arguments) => run::run(arguments),
        Verb::Plan(arguments) => plan::run(&arguments),
        Verb::Studies(arguments) => studies::run(&arguments),
        Verb::Show(arguments) => show::run(&arguments),
        Verb::Compare(arguments) => compare::run(&arguments),
        Verb::Import(arguments) => import::run(&arguments),
        Verb::Report(arguments) => report::run(&arguments),
        Verb::Test(arguments) => test::run(&arguments),
        Verb::Agent(arguments) => agent::run(&arguments),
        Verb::Host(action) => host::run(&action),
        Verb::Explain(arguments) => explain::run(&arguments),
        Verb::Limits(question) => limits::run(&question),
        Verb::Man(arguments) => man::run(&arguments),
        Verb::Completions(arguments) => completions::run(&arguments),
        Verb::Lab(action) => lab::run(&action),
        Verb::Ping(arguments) => ping::run(&arguments),
    }
}
