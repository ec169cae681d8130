//! For tests only: running each test alone in a network namespace of its own.
//!
//! A test file with `harness = false` is a table of trials and `fn main() { testkit::main(..) }`.
//! Each trial runs in a process of its own: the test program, started again, so that it has one
//! thread when it makes its namespaces, and so that nothing of one trial reaches another.

// What a test prints is read by its harness.
#![allow(clippy::disallowed_macros)]

pub mod damage;
pub mod gap;
pub mod process;
pub mod sshd;

use std::io::Read as _;
use std::process::{Command, Stdio};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use sys::namespace::{Kind, unshare, unshare_user_as_root};
use sys::process::effective_uid;

/// Names the trial that the started-again test program is to run.
const TRIAL_VARIABLE: &str = "BITCOST_TESTKIT_TRIAL";
/// The trial's name that only makes the namespaces.
const PROBE: &str = "(can namespaces be made?)";
/// Exit status of a trial that this machine cannot make, as automake's test drivers have it.
const IGNORED: i32 = 77;

/// What a trial does; it fails by panicking.
pub type Run = Box<dyn Fn()>;

/// Where a trial runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a new network namespace with only a loopback that is up, as root of it.
    PrivateNetwork,
    /// Where the test program was started, though only when namespaces can be made.
    Host,
}

/// Runs the trials, each in a private network; the `main` of a test file. Does not return.
///
/// Where namespaces cannot be made the trials are reported as ignored, with the reason.
pub fn main(trials: Vec<(&'static str, fn())>) -> ! {
    let placed = trials.into_iter();
    main_in(placed.map(|(name, run)| (name, Place::PrivateNetwork, run)).collect())
}

/// As [`main`], for trials that carry values.
pub fn main_of(trials: Vec<(&'static str, Run)>) -> ! {
    let placed = trials.into_iter();
    run_all(placed.map(|(name, run)| (name, Place::PrivateNetwork, run)).collect())
}

/// As [`main`], with a place for each trial.
pub fn main_in(trials: Vec<(&'static str, Place, fn())>) -> ! {
    let boxed = trials.into_iter();
    run_all(boxed.map(|(name, place, run)| (name, place, Box::new(run) as Run)).collect())
}

fn run_all(trials: Vec<(&'static str, Place, Run)>) -> ! {
    if let Ok(wanted) = std::env::var(TRIAL_VARIABLE) {
        run_here(&wanted, &trials);
        std::process::exit(0);
    }
    let mut arguments = Arguments::from_args();
    // A child's wish to die with its parent means the thread that made it: stay on one.
    arguments.test_threads = Some(1);
    let obstacle = can_make_namespaces().err();
    let trials = trials.into_iter().map(|(name, _, _)| {
        let obstacle = obstacle.clone();
        Trial::ignorable_test(name, move || match obstacle {
            Some(reason) => Ok(Completion::ignored_with(reason)),
            None => run_again(name).map_err(Failed::from),
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit()
}

/// Whether this process may make network namespaces; the reason when not.
///
/// It works in a program whose `main` calls [`main`] or [`main_in`], outside of the trials.
pub fn can_make_namespaces() -> Result<(), String> {
    run_again(PROBE).map(|_| ())
}

/// Ends a trial that this machine cannot make: it is reported as ignored, with the reason.
///
/// Nothing is dropped: what must not stay behind is removed before.
pub fn ignore(reason: &str) -> ! {
    eprintln!("{reason}");
    std::process::exit(IGNORED);
}

/// Moves this process, which must have one thread, into a new network namespace with loopback up.
///
/// An ordinary user becomes root of a new user namespace first.
pub fn enter_private_network() -> Result<(), String> {
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("cannot {what}: {error}");
    if effective_uid() != 0 || unshare(&[Kind::Net]).is_err() {
        unshare_user_as_root().map_err(|e| failed("make a user namespace", &e))?;
        unshare(&[Kind::Net]).map_err(|e| failed("make a network namespace", &e))?;
    }
    let mut rtnl = netlink::Rtnl::open().map_err(|e| e.to_string())?;
    let loopback = rtnl.link("lo").map_err(|e| e.to_string())?;
    rtnl.set_up(loopback.index, true).map_err(|e| e.to_string())
}

fn run_here(wanted: &str, trials: &[(&'static str, Place, Run)]) {
    let trial = trials.iter().find(|(name, _, _)| *name == wanted);
    let place = trial.map_or(Place::PrivateNetwork, |(_, place, _)| *place);
    if place == Place::PrivateNetwork
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
        stderr.read_to_string(&mut printed).map_err(|e| e.to_string())?;
    }
    let status = child.wait().map_err(|e| e.to_string())?;
    match status.code() {
        Some(0) => Ok(Completion::Completed),
        Some(IGNORED) => Ok(Completion::ignored_with(printed.trim())),
        _ => Err(format!("{} ({status})", printed.trim())),
    }
}
