//! Kills at random times, and processes that are stopped.

use std::process::Child;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use rand_chacha::ChaCha8Rng;
use rand_core::Rng;

use crate::chaos::step::Who;
use crate::chaos::verdict::{Verdict, judge, wait_until_gone};
use crate::chaos::world::{CHANGES, Side, World};

/// When the far host's settings are changed, from the start of the controller.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    begin: Duration,
    end: Duration,
}

/// The processes that can be killed.
const VICTIMS: [(Who, Side); 5] = [
    (Who::Controller, Side::Near),
    (Who::Agent, Side::Near),
    (Who::Agent, Side::Far),
    (Who::Watchdog, Side::Near),
    (Who::Watchdog, Side::Far),
];
/// The longest time between the deaths of one trial, in µs.
const GAP_US: u32 = 3000;
/// Deaths near applying or restoring are at most this long before or after it.
const NEAR: Duration = Duration::from_millis(30);
/// Attempts to kill before everything has ended.
const TRIES: usize = 20;

/// Makes a run without any death and observes when the settings are changed.
pub fn span(world: &World) -> Result<Span, String> {
    let began = Instant::now();
    let mut child = world.start()?;
    world.wait_for(Side::Far, "header", 1)?;
    let begin = began.elapsed();
    let status = child
        .wait()
        .map_err(|error| format!("wait for a run: {error}"))?;
    let end = began.elapsed();
    wait_until_gone(world)?;
    world.check_usable()?;
    if status.success() {
        Ok(Span { begin, end })
    } else {
        Err(format!("a run alone failed: {}", world.said()))
    }
}

/// Kills at a random time: one process, several, or all at once like a loss of power. Returns
/// which, and when.
pub fn death(
    world: &World,
    span: Span,
    random: &mut ChaCha8Rng,
) -> Result<(String, Verdict), String> {
    for _ in 0..TRIES {
        let child = world.start()?;
        let began = Instant::now();
        std::thread::sleep(moment(span, random));
        let at = began.elapsed();
        let is_power_cut = random.next_u32().is_multiple_of(4);
        let killed = if is_power_cut {
            cut_power(world)
        } else {
            kill_some(world, random)
        };
        let since = Instant::now();
        reap(child);
        if killed.is_empty() {
            wait_until_gone(world)?;
            continue;
        }
        let both =
            |side| killed.contains(&(Who::Agent, side)) && killed.contains(&(Who::Watchdog, side));
        let nobody_is_left = is_power_cut || both(Side::Near) || both(Side::Far);
        let verdict = judge(world, since, nobody_is_left, None)?;
        let names: Vec<String> = killed
            .iter()
            .map(|(who, side)| format!("{who} {side}"))
            .collect();
        let how = if is_power_cut {
            "all at once"
        } else {
            "in this order"
        };
        let name = format!(
            "{} killed {how} after {} ms",
            names.join(", "),
            at.as_millis()
        );
        return Ok((name, verdict));
    }
    Err("no process existed at any of the chosen times".to_owned())
}

/// A third at any time, a third near applying, a third near restoring.
fn moment(span: Span, random: &mut ChaCha8Rng) -> Duration {
    let (from, to) = match random.next_u32() % 3 {
        0 => (Duration::ZERO, span.end),
        1 => (span.begin.saturating_sub(NEAR / 2), span.begin + NEAR),
        _ => (span.end.saturating_sub(NEAR), span.end + NEAR / 2),
    };
    let range_us = (to - from).as_micros().max(1) as u32;
    from + Duration::from_micros(u64::from(random.next_u32() % range_us))
}

fn kill_some(world: &World, random: &mut ChaCha8Rng) -> Vec<(Who, Side)> {
    let mut candidates = VICTIMS.to_vec();
    let mut killed = Vec::new();
    for turn in 0..1 + random.next_u32() % 3 {
        if turn > 0 {
            std::thread::sleep(Duration::from_micros(u64::from(random.next_u32() % GAP_US)));
        }
        let (who, side) = candidates.swap_remove(random.next_u32() as usize % candidates.len());
        if world.signal(who, side, Signal::SIGKILL) > 0 {
            killed.push((who, side));
        }
    }
    killed
}

/// Kills everything at once: no process can react to the death of another.
fn cut_power(world: &World) -> Vec<(Who, Side)> {
    world.signal_all(Signal::SIGSTOP);
    let there = VICTIMS
        .into_iter()
        .filter(|(who, side)| !world.find(*who, *side).is_empty())
        .collect();
    world.signal_all(Signal::SIGKILL);
    there
}

/// Stops a process (SIGSTOP) with everything in effect: the hosts are restored without it.
pub fn stopped(world: &World, who: Who) -> Result<Verdict, String> {
    let child = world.start()?;
    world.wait_for(Side::Far, "made", CHANGES)?;
    let side = if who == Who::Controller {
        Side::Near
    } else {
        Side::Far
    };
    if world.signal(who, side, Signal::SIGSTOP) == 0 {
        return Ok(Verdict::NotReached);
    }
    let since = Instant::now();
    let but_for = Some(child.id()).filter(|_| who == Who::Controller);
    reap(child);
    let verdict = judge(world, since, false, but_for)?;
    world.signal_all(Signal::SIGKILL);
    wait_until_gone(world)?;
    Ok(verdict)
}

/// Reaps a child when it ends.
fn reap(mut child: Child) {
    std::thread::spawn(move || child.wait());
}
