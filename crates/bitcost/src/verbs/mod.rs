//! The verbs: one file each, and one row in [`Verb`] and [`run()`].

mod agent;
mod compare;
mod completions;
mod explain;
pub mod host;
mod import;
mod import_lab;
mod lab;
mod limits;
mod man;
mod plan;
pub mod report;
mod run;
mod schema;
mod serve;
mod show;
mod studies;
mod study;
mod test;

use clap::{Command, Subcommand};

use crate::failure::Failure;

/// Every verb.
#[derive(Subcommand)]
pub enum Verb {
    /// Run a study in the embedded lab or between two hosts, and print its results
    Run(run::Arguments),
    /// Print the runs of a study in their order and the time they take, without running anything
    Plan(plan::Arguments),
    /// List the embedded studies, or print one
    Studies(studies::Arguments),
    /// Write a new study file
    #[command(subcommand)]
    Study(study::Action),
    /// Print the results of an execution from its log
    Show(show::Arguments),
    /// Print the JSON Schema of a log or of the document that --json prints
    Schema(schema::Arguments),
    /// Compare two executions, or two cells of one, with confidence intervals and verdicts
    Compare(compare::Arguments),
    /// Import results of other programs, such as netperf and iperf3, as an execution
    Import(import::Arguments),
    /// Write executions as one HTML file with tables and charts that loads nothing from the network
    Report(report::Arguments),
    /// Make one run in the embedded lab or between two hosts, and print throughput and CPU cost
    Test(Box<test::Arguments>),
    /// Find what makes a run faster or cheaper: prove its bottleneck, try what may relax it, keep what
    /// gains, and go on with the next bottleneck
    ///
    /// The options are those of `test`; `--for cost` looks for the least CPU time of both endpoints at
    /// the rate of the unchanged run, or at --rate. Every change is tried in short runs that are interleaved with
    /// unchanged ones, and undone; nothing is left set.
    Improve(Box<test::Arguments>),
    /// Serve tests for enrolled bitcost clients, or for stock iperf3 clients
    Serve(serve::Arguments),
    /// Act as the sender or receiver for a controller on standard input and output
    Agent(agent::Arguments),
    /// Show the settings of this host, restore those that an interrupted run left changed, or
    /// measure its constants
    #[command(subcommand)]
    Host(host::Action),
    /// Explain what limited each cell: the bottleneck with its evidence, and cost per message
    Explain(explain::Arguments),
    /// Compute theoretical limits: goodput of a link, pacing rates, bandwidth-delay products
    #[command(subcommand)]
    Limits(limits::Question),
    /// Print a manual page, or write all manual pages
    Man(man::Arguments),
    /// Print a shell completion script
    Completions(completions::Arguments),
    /// Build emulated networks that other programs can use
    #[command(subcommand)]
    Lab(lab::Action),
}

/// Does what the verb says; `command` is the whole command line, for the manual and completions.
pub fn run(verb: Verb, command: Command) -> Result<(), Failure> {
    match verb {
        Verb::Run(arguments) => run::run(arguments),
        Verb::Plan(arguments) => plan::run(&arguments),
        Verb::Studies(arguments) => studies::run(&arguments),
        Verb::Study(action) => study::run(&action),
        Verb::Show(arguments) => show::run(&arguments),
        Verb::Schema(arguments) => schema::run(&arguments),
        Verb::Compare(arguments) => compare::run(&arguments),
        Verb::Import(arguments) => import::run(&arguments),
        Verb::Report(arguments) => report::run(&arguments),
        Verb::Test(arguments) => test::run(&arguments),
        Verb::Improve(arguments) => test::improve::run(*arguments),
        Verb::Serve(arguments) => serve::run(&arguments),
        Verb::Agent(arguments) => agent::run(&arguments),
        Verb::Host(action) => host::run(&action),
        Verb::Explain(arguments) => explain::run(&arguments),
        Verb::Limits(question) => limits::run(&question),
        Verb::Man(arguments) => man::run(&arguments, command),
        Verb::Completions(arguments) => completions::run(&arguments, command),
        Verb::Lab(action) => lab::run(&action),
    }
}
