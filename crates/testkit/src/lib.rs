//! For tests only: runs each test in its own process, and if needed in a new network namespace.
//!
//! Each module of a test program with `harness = false` lists its tests with [`trials!`], and
//! `main` gives the lists to [`main_of_modules`]. The process of a trial is the test program,
//! started again: it has one thread when it makes namespaces, and nothing of one trial reaches
//! another.

// The test harness reads what a test prints.
#![allow(clippy::disallowed_macros)]

pub mod chaos;
pub mod gap;
pub mod process;
pub mod sshd;
mod turns;

use std::io::Read as _;
use std::num::NonZero;
use std::process::{Command, Stdio};
use std::sync::Arc;

use bitcost_sys::namespace::{Kind, unshare, unshare_user_as_root};
use bitcost_sys::netlink::{Rtnl, VethPair};
use bitcost_sys::process::effective_uid;
use libtest_mimic::{Arguments, Completion, Trial};

use crate::turns::Turns;

/// The trial that the restarted test program must run.
const TRIAL_VARIABLE: &str = "BITCOST_TESTKIT_TRIAL";
/// The name of the trial that only makes the namespaces.
const PROBE: &str = "(can namespaces be made?)";
/// Exit status of a trial that cannot run on this machine, as for automake's test drivers.
const IGNORED: i32 = 77;

/// The words of a command line; quotes keep those of one argument together.
pub fn split(line: &str) -> Vec<&str> {
    let (mut words, mut rest) = (Vec::new(), line);
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'').expect("a closing quote"),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word);
        rest = after.trim_start();
    }
    words
}

/// Checks that a text contains all of these words.
#[track_caller]
pub fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "no `{word}` in: {text}");
    }
}

/// The function of a trial; it fails by panicking.
pub type Run = Box<dyn Fn()>;

/// The place where a trial runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunIn {
    /// In a new network namespace with only a loopback that is up, as root of it.
    PrivateNetwork,
    /// In the namespaces where the test program was started, but only if namespaces can be made.
    Host,
    /// As [`RunIn::Host`], with no other trial of the program at the same time: for tests that
    /// assert CPU time or rates.
    QuietHost,
}

/// A test of a module, as [`trials!`] makes it.
#[derive(Clone, Copy)]
pub struct ListedTrial {
    /// Crate, modules and function.
    pub path: &'static str,
    /// The place where it runs.
    pub run_in: RunIn,
    /// Its function; it fails by panicking.
    pub run: fn(),
}

/// Makes `TRIALS`, the list of a module's tests: `trials! { Host: one, another; PrivateNetwork:
/// third; }` names functions of the module under their [`RunIn`].
#[macro_export]
macro_rules! trials {
    ($($run_in:ident: $($run:ident),+;)+) => {
        /// The tests of this module.
        pub const TRIALS: &[$crate::ListedTrial] = &[$($($crate::ListedTrial {
            path: concat!(module_path!(), "::", stringify!($run)),
            run_in: $crate::RunIn::$run_in,
            run: $run,
        }),+),+];
    };
}

/// Runs the trials of all modules of a test program, those of a quiet host last and one after the
/// other. Does not return.
///
/// A trial that fails is started once more after the others, with none of them at the same time,
/// because a machine that is busy with something else can starve a short run; it fails if the
/// second attempt fails, and what the first one printed is shown if the second one passes.
///
/// If namespaces cannot be made, the trials are reported as ignored, with the reason.
pub fn main_of_modules(modules: &[&[ListedTrial]]) -> ! {
    // A trial waits for most of its time: for a window, a deadline, a process.
    let threads = 3 * std::thread::available_parallelism().map_or(1, NonZero::get);
    run_listed(modules, threads)
}

/// As [`main_of_modules`], for trials that need the machine each for itself: one after the other.
pub fn main(modules: &[&[ListedTrial]]) -> ! {
    run_listed(modules, 1)
}

fn run_listed(modules: &[&[ListedTrial]], threads: usize) -> ! {
    let mut listed: Vec<ListedTrial> = modules.concat();
    listed.sort_by_key(|trial| trial.run_in == RunIn::QuietHost);
    let trials = listed.into_iter().map(|trial| {
        let name = trial
            .path
            .split_once("::")
            .map_or(trial.path, |(_, name)| name);
        (name, trial.run_in, Box::new(trial.run) as Run)
    });
    run_all(trials.collect(), threads)
}

/// As [`main`], for trials that carry values, each in a private network; as many at a time as there are CPUs.
pub fn main_of(trials: Vec<(&'static str, Run)>) -> ! {
    let cpus = std::thread::available_parallelism().map_or(1, NonZero::get);
    let placed = trials.into_iter();
    let placed = placed.map(|(name, run)| (name, RunIn::PrivateNetwork, run));
    run_all(placed.collect(), cpus)
}

fn run_all(trials: Vec<(&'static str, RunIn, Run)>, threads: usize) -> ! {
    if let Ok(wanted) = std::env::var(TRIAL_VARIABLE) {
        run_here(&wanted, &trials);
        std::process::exit(0);
    }
    let mut arguments = Arguments::from_args();
    let threads = *arguments.test_threads.get_or_insert(threads);
    if threads > 1 {
        // As many more: a trial that waits to run alone keeps none of the others from running.
        arguments.test_threads = Some(2 * threads);
    }
    let obstacle = can_make_namespaces().err();
    let turns = Arc::new(Turns::new(threads));
    let trials = trials.into_iter().map(|(name, run_in, _)| {
        let (obstacle, turns) = (obstacle.clone(), turns.clone());
        Trial::ignorable_test(name, move || {
            if let Some(reason) = obstacle {
                return Ok(Completion::ignored_with(reason));
            }
            let first = if run_in == RunIn::QuietHost {
                turns.alone(|| run_again(name))
            } else {
                turns.with_others(|| run_again(name))
            };
            let printed = match first {
                Ok(completion) => return Ok(completion),
                Err(printed) => printed,
            };
            let second = turns.alone(|| run_again(name))?;
            eprintln!("{name}: passed alone, after it had failed with: {printed}");
            Ok(second)
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit()
}

/// Whether this process may make network namespaces; the reason when not.
///
/// It works in a program whose `main` calls [`main`], outside of the trials.
pub fn can_make_namespaces() -> Result<(), String> {
    run_again(PROBE).map(|_| ())
}

/// Ends a trial that this machine cannot make: it is reported as ignored, with the reason.
///
/// Nothing is dropped, so the trial must first remove everything that must not remain.
pub fn ignore(reason: &str) -> ! {
    eprintln!("{reason}");
    std::process::exit(IGNORED);
}

/// Moves this process, which must have one thread, into a new network namespace whose loopback is
/// up.
///
/// An ordinary user becomes root of a new user namespace first.
pub fn enter_private_network() -> Result<(), String> {
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("cannot {what}: {error}");
    if effective_uid() != 0 || unshare(&[Kind::Net]).is_err() {
        unshare_user_as_root().map_err(|e| failed("make a user namespace", &e))?;
        unshare(&[Kind::Net]).map_err(|e| failed("make a network namespace", &e))?;
    }
    let mut rtnl = Rtnl::open().map_err(|e| e.to_string())?;
    let loopback = rtnl.link("lo").map_err(|e| e.to_string())?;
    rtnl.set_up(loopback.index, true).map_err(|e| e.to_string())
}

/// Makes the devices `a0` and `b0`, which are not up, in this network; the trial is ignored where the kernel cannot.
pub fn veth(mtu_bytes: u32) -> Rtnl {
    let mut rtnl = Rtnl::open().expect("rtnetlink");
    let pair = VethPair {
        name: "a0",
        peer_name: "b0",
        peer_netns: None,
        mtu_bytes,
    };
    match rtnl.create_veth(&pair) {
        Err(error) if error.is_unsupported() => ignore("no veth in this kernel"),
        outcome => outcome.expect("a pair"),
    }
    rtnl
}

fn run_here(wanted: &str, trials: &[(&'static str, RunIn, Run)]) {
    let trial = trials.iter().find(|(name, _, _)| *name == wanted);
    let run_in = trial.map_or(RunIn::PrivateNetwork, |(_, run_in, _)| *run_in);
    if run_in == RunIn::PrivateNetwork
        && let Err(reason) = enter_private_network()
    {
        eprintln!("{reason}");
        std::process::exit(1);
    }
    match trial {
        Some((_, _, run)) => run(),
        None => assert_eq!(wanted, PROBE, "no trial of this name"),
    }
}

/// Starts this program again for one trial; the error is what it printed.
fn run_again(trial: &str) -> Result<Completion, String> {
    if std::env::var_os(TRIAL_VARIABLE).is_some() {
        return Err("this process is a trial already, or its main is not testkit's".to_owned());
    }
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut child = Command::new(program)
        .env(TRIAL_VARIABLE, trial)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start the test program again: {e}"))?;
    let mut printed = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr
            .read_to_string(&mut printed)
            .map_err(|e| e.to_string())?;
    }
    let status = child.wait().map_err(|e| e.to_string())?;
    match status.code() {
        Some(0) => Ok(Completion::Completed),
        Some(IGNORED) => Ok(Completion::ignored_with(printed.trim())),
        _ => Err(format!("{} ({status})", printed.trim())),
    }
}
