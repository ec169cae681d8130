//! The verbs: one file each, and one row in [`Verb`] and [`run()`].

mod agent;
mod compare;
pub mod completions;
mod explain;
mod help;
pub mod host;
mod import;
mod lab;
mod limits;
mod man;
mod plan;
pub mod report;
mod run;
mod serve;
mod show;
mod studies;
mod test;
mod watch;

use clap::{Command, Subcommand};

use crate::failure::Failure;

/// Every verb, in the order of the help.
#[derive(Subcommand)]
pub enum Verb {
    /// Make one run and print throughput, CPU cost and what limits it
    Test(Box<test::Arguments>),
    /// Run a study in the embedded lab or between hosts
    Run(run::Arguments),
    /// Check a study and print its runs, their order and their time
    Plan(plan::Arguments),
    /// List the embedded studies, print one, or print a new study file
    Studies(studies::Arguments),
    /// Print the results of an execution from its log
    Show(show::Arguments),
    /// Write executions as one HTML file
    Report(report::Arguments),
    /// Explain what limited each cell, with the evidence
    Explain(explain::Arguments),
    /// Watch connections of other programs, and what limits each
    Watch(watch::Arguments),
    /// Compare two executions
    Compare(compare::Arguments),
    /// Find what makes a run faster or cheaper
    ///
    /// The bottleneck is proved, what may relax it is tried in short runs, interleaved with
    /// unchanged ones, what gains is kept, and the next bottleneck follows. `--for cost` looks for
    /// the least CPU time of both endpoints at the rate of the unchanged run, or at --rate. Nothing
    /// is left set.
    Improve(Box<test::Arguments>),
    /// Import results of netperf, iperf3 and others as an execution
    Import(import::Arguments),
    /// Build emulated networks that other programs can use
    #[command(subcommand)]
    Lab(lab::Action),
    /// Serve tests for bitcost clients, or for stock iperf3 clients
    Serve(serve::Arguments),
    /// Show or restore the settings of this host
    #[command(subcommand)]
    Host(host::Action),
    /// Compute the goodput of a link, or a bandwidth-delay product
    #[command(subcommand)]
    Limits(limits::Question),
    /// Print the help of a command
    #[command(hide = true)]
    Help {
        /// The command, such as `lab up` [default: bitcost itself]
        words: Vec<String>,
    },
    /// Act as the sender or receiver for a controller on standard input and output
    #[command(hide = true)]
    Agent(agent::Arguments),
    /// Print a manual page, or write all manual pages
    #[command(hide = true)]
    Man(man::Arguments),
    /// Print a shell completion script
    #[command(hide = true)]
    Completions(completions::Arguments),
}

/// Does what the verb says; `command` is the whole command line, for the manual.
pub fn run(verb: Verb, command: Command) -> Result<(), Failure> {
    match verb {
        Verb::Run(arguments) => run::run(arguments),
        Verb::Plan(arguments) => plan::run(&arguments),
        Verb::Studies(arguments) => studies::run(&arguments),
        Verb::Show(arguments) => show::run(&arguments),
        Verb::Compare(arguments) => compare::run(&arguments),
        Verb::Import(arguments) => import::run(&arguments),
        Verb::Report(arguments) => report::run(&arguments),
        Verb::Test(arguments) => test::run(&arguments),
        Verb::Improve(arguments) => test::improve::run(*arguments),
        Verb::Serve(arguments) => serve::run(&arguments),
        Verb::Agent(arguments) => agent::run(&arguments),
        Verb::Host(action) => host::run(&action),
        Verb::Explain(arguments) => explain::run(&arguments),
        Verb::Watch(arguments) => watch::run(&arguments),
        Verb::Limits(question) => limits::run(&question),
        Verb::Man(arguments) => man::run(&arguments, command),
        Verb::Completions(arguments) => completions::run(&arguments),
        Verb::Lab(action) => lab::run(&action),
        Verb::Help { words } => help::run(&words, command),
    }
}
