//! The host's constants: what a clock read, a system call, a timer interrupt, a copy and a wake-up
//! cost here. They are measured in about a second, while nothing else of bitcost runs on the machine.

mod copy;
mod distance;
mod loops;
mod memory;
mod spread;
mod timer;
mod wake;

use std::time::Duration;

use bitcost_model::constants::{CONSTANTS, Constant, HostConstants, MeasuredConstant};
use bitcost_sys::thread::{allowed_cpus, pin_to};

use self::spread::Found;
use crate::cores;

/// The time for which each loop on one thread is measured.
const LOOP: Duration = Duration::from_millis(40);

/// The time for which each kind of wake-up is measured.
const WAKE_UPS: Duration = Duration::from_millis(150);

/// Measures every constant on the CPUs that are named, or on two that this thread may use, on
/// different cores where there are two. It takes about a second and twice the last-level cache in
/// memory. No other program should run meanwhile.
pub fn measure(cpus: &[u32]) -> HostConstants {
    let cpus = match cpus {
        [] => chosen(),
        named => named.iter().copied().take(2).collect(),
    };
    let (first, second) = (cpus.first().copied(), cpus.get(1).copied());
    // A separate thread keeps the affinity of the caller as it is.
    let alone = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, || on_one_thread(first));
        let joined = thread.map(std::thread::ScopedJoinHandle::join);
        joined.map_or_else(
            |error| Err(error.to_string()),
            |joined| joined.map_err(|_| "its thread ended".to_owned()),
        )
    });
    let mut found = alone.unwrap_or_else(|why| {
        let on_one = [
            Constant::ClockRead,
            Constant::SystemCall,
            Constant::TimerInterrupt,
            Constant::CopyInCache,
            Constant::CopyBeyondCache,
        ];
        on_one.map(|constant| (constant, Err(why.clone()))).to_vec()
    });
    found.extend(wake::measure(first, second, WAKE_UPS));
    found.push((
        Constant::CoreToCore,
        distance::round_trip(first, second, LOOP),
    ));
    let constants = CONSTANTS.iter().filter_map(|row| {
        let (constant, figure) = found
            .iter()
            .find(|(constant, _)| *constant == row.constant)?;
        Some(MeasuredConstant {
            constant: *constant,
            figure: figure.as_ref().ok().copied(),
            absent: figure.as_ref().err().cloned(),
        })
    });
    HostConstants {
        constants: constants.collect(),
        cpus,
    }
}

/// One or two of the CPUs that this thread may use.
fn chosen() -> Vec<u32> {
    let allowed = allowed_cpus().unwrap_or_default();
    match cores::separate(&allowed) {
        Some((first, second)) => vec![first, second],
        None => allowed,
    }
}

/// The constants that need one thread only. Where it cannot be pinned, it runs where it may.
fn on_one_thread(cpu: Option<u32>) -> Vec<Found> {
    if let Some(cpu) = cpu {
        let _ = pin_to(&[cpu]);
    }
    vec![
        (Constant::ClockRead, loops::clock_read(LOOP)),
        (Constant::SystemCall, loops::system_call(LOOP)),
        (Constant::TimerInterrupt, timer::interrupt(LOOP)),
        (Constant::CopyInCache, copy::in_cache(LOOP)),
        (Constant::CopyBeyondCache, copy::beyond_cache()),
    ]
}

#[cfg(test)]
mod tests {
    use super::spread::ONE_CPU;
    use super::*;

    #[test]
    fn every_constant_has_a_figure_or_a_reason() {
        let measured = measure(&[]);
        assert_eq!(measured.check(), Ok(()));
        let names: Vec<&str> = measured
            .constants
            .iter()
            .map(|one| one.constant.row().name)
            .collect();
        let all: Vec<&str> = CONSTANTS.iter().map(|row| row.name).collect();
        assert_eq!(names, all);
        assert!(measured.figure(Constant::SystemCall).is_some());
    }

    #[test]
    fn what_needs_another_cpu_is_absent_with_its_reason_on_one() {
        let allowed = allowed_cpus().expect("allowed");
        let measured = measure(&allowed[..1]);
        for constant in [
            Constant::WakeOtherIdle,
            Constant::RunOtherBusy,
            Constant::CoreToCore,
        ] {
            let found = measured
                .constants
                .iter()
                .find(|one| one.constant == constant);
            let found = found.expect("listed");
            assert_eq!(found.figure, None);
            assert_eq!(found.absent.as_deref(), Some(ONE_CPU));
        }
        assert!(measured.figure(Constant::WakeSameIdle).is_some());
    }

    #[test]
    fn a_cpu_that_cannot_be_used_is_a_reason() {
        let measured = measure(&[4000, 4001]);
        let one = measured
            .constants
            .iter()
            .find(|one| one.constant == Constant::WakeOtherIdle)
            .expect("listed");
        let absent = one.absent.as_deref().unwrap_or_default();
        assert!(absent.contains("pin a thread to CPU 400"), "{absent}");
    }
}
