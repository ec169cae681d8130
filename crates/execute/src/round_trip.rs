//! The round-trip time of the embedded lab: it is measured before the first run, and compared with the
//! delays that the lab asks for.

use std::io;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use bitcost_lab::{Lab, LabError};
use bitcost_model::ping::{Pings, RttCheck};
use bitcost_model::study::LabSpec;
use bitcost_sys::process::OWN_PROGRAM;
use bitcost_sys::thread::minimize_timer_slack;

use crate::error::ExecuteError;
use crate::requests::Requests;

/// Requests to connect before the first run: their number, and the interval between them in milliseconds.
const PINGS: (u16, u64) = (10, 20);

/// How long to wait for an answer beyond the delays of the path, in milliseconds.
const PING_WAIT_MS: u64 = 1000;

/// Pings the receiver from the sender.
///
/// One request goes first and is not counted: it waits until the receiver's hardware address is
/// resolved, and would delay those after it.
pub(crate) fn ping(lab: &Lab, spec: &LabSpec) -> Result<Pings, ExecuteError> {
    let failed = |why: &str| {
        let (to, from) = (&spec.receiver, &spec.sender);
        ExecuteError::Environment(format!("cannot ping {to} from {from}: {why}"))
    };
    ping_once(lab, spec, (1, 0))?.map_err(|error| failed(&error.to_string()))?;
    let output = ping_once(lab, spec, PINGS)?.map_err(|error| failed(&error.to_string()))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| failed(String::from_utf8_lossy(&output.stderr).trim()))
}

fn ping_once(
    lab: &Lab,
    spec: &LabSpec,
    (count, interval_ms): (u16, u64),
) -> Result<io::Result<Output>, LabError> {
    let rtt_ms = spec.path().map_or(0, |path| path.rtt_us().div_ceil(1000));
    let requests = Requests {
        to: lab.host(&spec.receiver)?.address,
        count,
        interval_ms,
        wait_ms: PING_WAIT_MS + 2 * rtt_ms,
    };
    let mut command = Command::new(OWN_PROGRAM);
    command.args(requests.words());
    lab.command_in(&spec.sender, &mut command)?;
    Ok(command.output())
}

/// How long the receiver is pinged again while even the shortest round trip is too long: other
/// programs on the CPUs make round trips longer, never shorter.
const PATIENCE: Duration = Duration::from_secs(3);

/// Wake-ups of an idle CPU in a round trip through the link emulator: each way, the packet's arrival
/// and its due time wake the emulator; at the end the answer wakes the sender.
const WAKE_UPS: u64 = 5;

pub(crate) fn check_rtt(
    spec: &LabSpec,
    notes: &mut Vec<String>,
    mut ping: impl FnMut() -> Result<Pings, ExecuteError>,
) -> Result<Option<RttCheck>, ExecuteError> {
    let Some(path) = spec.path() else {
        return Ok(None);
    };
    let mut pings = ping()?;
    let check = |pings: &Pings| RttCheck::new(path.rtt_us(), path.jitter_us(), pings.clone());
    let begun = Instant::now();
    while check(&pings).is_too_long() && begun.elapsed() < PATIENCE {
        pings = ping()?;
    }
    let mut check = check(&pings);
    if check.is_too_long() {
        let late_us = WAKE_UPS * wake_up_us();
        check.tolerance_us += late_us;
        notes.push(format!(
            "a round trip of the lab has {WAKE_UPS} wake-ups of a CPU, which take {late_us} µs on this machine now: it may be that much longer than requested"
        ));
    }
    match check.problem() {
        None => Ok(Some(check)),
        Some(_) if pings.rtts_us.is_empty() => Err(ExecuteError::Check(format!(
            "{} does not answer in the lab {}, so no run was started; look at its losses and routes",
            spec.receiver, spec.topology
        ))),
        // Its user may have set delays by other programs.
        Some(problem) if spec.running.is_some() => {
            notes.push(format!(
                "the running lab has other delays than those that were set by bitcost: {problem}"
            ));
            Ok(Some(check))
        }
        Some(problem) => Err(ExecuteError::Check(format!(
            "the lab {} does not have the requested delays, so no run was started: {problem}",
            spec.topology
        ))),
    }
}

/// How long after its due time a sleeping thread runs on this machine now, in microseconds: the
/// median of some sleeps.
fn wake_up_us() -> u64 {
    const SLEEP: Duration = Duration::from_millis(2);
    const SLEEPS: usize = 25;
    let sleeps = || {
        // Without it each sleep ends up to 50 µs later, which is no wake-up.
        let _ = minimize_timer_slack();
        let mut late: Vec<Duration> = (0..SLEEPS).map(|_| lateness(SLEEP)).collect();
        late.sort_unstable();
        late[SLEEPS / 2]
    };
    let late = std::thread::scope(|scope| scope.spawn(sleeps).join());
    late.map_or(0, |late| late.as_micros() as u64)
}

fn lateness(sleep: Duration) -> Duration {
    let begun = Instant::now();
    std::thread::sleep(sleep);
    begun.elapsed().saturating_sub(sleep)
}
