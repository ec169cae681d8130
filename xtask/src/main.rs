//! Work on bitcost itself that is no part of the program: benchmarks against its peers, checks of
//! its accounts, kills at every step, and packages.

mod beds;
mod bench_peers;
mod cases;
mod chaos_verb;
mod confusion;
mod dist;
mod grid;
mod lines;
mod programs;
mod reference;
mod source;
mod vm;

use std::process::ExitCode;

use bitcost_model::Unavailable;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Work on bitcost itself")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Compare bitcost with netperf, iperf3, nuttcp, iperf2 and a minimal C loop, interleaved on
    /// one path
    BenchPeers(bench_peers::Arguments),
    /// Kill bitcost at every step of applying and restoring settings, and see whether its hosts are
    /// as before
    Chaos(chaos_verb::Arguments),
    /// Start a real Slurm of nodes in network namespaces, and measure all pairs of them with planted faults; needs root,
    /// slurmctld, slurmd, slurm-client and munge
    SlurmBed(beds::slurm::Arguments),
    /// Start a real Kubernetes of nodes in network namespaces, and measure meshes over its pods; needs root, the binaries of
    /// Kubernetes, etcd, containerd, runc and its network plug-ins
    KubernetesBed(beds::kubernetes::Arguments),
    /// Judge bitcost on public cases of slow transfers: its verdict, and what its remedy brings of what the cure brings; needs
    /// root, the folder of cases with what its README names, and a machine that does nothing else
    Cases(cases::Arguments),
    /// Measure every combination of what `--mode auto` varies, on three paths, or judge its searches by the best of them, on a
    /// machine that does nothing else
    Grid(grid::Arguments),
    /// Make the packages: tar.gz, .deb, wheel, container image, crates
    Dist(dist::Arguments),
    /// Boot Debian's cloud kernel under QEMU and check there what this kernel may lack: netem, fq,
    /// labs of an ordinary user; exit code 3 where no machine can be emulated
    Vm(vm::Arguments),
    /// Write the pages of docs/reference from the code, or check that they are current
    Reference(reference::Arguments),
    /// Count the lines of Rust of each room, those of the product apart from tests, and the words of the documents
    Lines(lines::Arguments),
    /// Runs whose limiter is known, by construction or by experiment, against what bitcost says of them
    Confusion(confusion::Arguments),
}

fn main() -> ExitCode {
    // The lab daemon changes its namespaces, which needs a process with a single thread.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|verb| verb == bitcost_lab::DAEMON_VERB)
    {
        return bitcost_lab::daemon::main();
    }
    if let Some(role) = vm::inside::role() {
        return role();
    }
    let result = match Cli::parse().verb {
        Verb::BenchPeers(arguments) => bench_peers::run(&arguments),
        Verb::Cases(arguments) => cases::run(&arguments),
        Verb::Chaos(arguments) => chaos_verb::run(&arguments),
        Verb::Dist(arguments) => dist::run(&arguments),
        Verb::Grid(arguments) => grid::run(&arguments),
        Verb::Vm(arguments) => vm::run(&arguments),
        Verb::SlurmBed(arguments) => beds::slurm::run(&arguments),
        Verb::KubernetesBed(arguments) => beds::kubernetes::run(&arguments),
        Verb::Reference(arguments) => reference::run(&arguments),
        Verb::Lines(arguments) => lines::run(&arguments),
        Verb::Confusion(arguments) => confusion::run(&arguments),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(if error.is::<Unavailable>() { 3 } else { 1 })
        }
    }
}
