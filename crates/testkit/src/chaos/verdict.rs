//! Judges whether everything is as before, and which process restored it.

use std::time::{Duration, Instant};

use crate::chaos::world::{SIDES, Side, World};
use crate::process::{within, words};

#[derive(Debug)]
pub enum Verdict {
    /// Everything is as before, this long after the death, without `bitcost host restore`.
    Unaided(Duration),
    /// No process was left that could restore; runs were refused until `bitcost host restore`, and
    /// then everything was as before.
    ByRestore,
    Wrong(String),
    /// The step was not reached.
    NotReached,
}

/// How long a process that was not reached may take to exit.
const GONE: Duration = Duration::from_secs(30);

/// Judges a death at the time `since`. `but_for` is a process that exists on purpose.
pub fn judge(
    world: &World,
    since: Instant,
    nobody_is_left: bool,
    but_for: Option<u32>,
) -> Result<Verdict, String> {
    let left = members_after(world, since + world.limit, but_for);
    if !left.is_empty() {
        return Ok(Verdict::Wrong(format!(
            "after {:?} these are left: {}",
            world.limit,
            left.join("; ")
        )));
    }
    let mut differences = Vec::new();
    for side in SIDES {
        let lines = world.differences(side)?.into_iter();
        differences.extend(lines.map(|line| format!("{side} {line}")));
    }
    let has_journal = SIDES.iter().any(|side| !world.journals(*side).is_empty());
    if differences.is_empty() && !has_journal {
        return Ok(Verdict::Unaided(since.elapsed()));
    }
    if !nobody_is_left {
        let journal = ["", "; a journal is left"][usize::from(has_journal)];
        return Ok(Verdict::Wrong(format!(
            "not as before: {}{journal}: {}",
            differences.join("; "),
            world.said()
        )));
    }
    for side in SIDES {
        if let Some(wrong) = restore(world, side)? {
            return Ok(Verdict::Wrong(wrong));
        }
    }
    Ok(Verdict::ByRestore)
}

/// Checks that a run is refused while settings are changed, and that `bitcost host restore`
/// restores them.
fn restore(world: &World, side: Side) -> Result<Option<String>, String> {
    if !world.differences(side)?.is_empty() {
        let words = crate::split("test tcp -t 100ms --receiver local");
        let refused = world.bitcost(side, &words)?;
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        if refused.status.code() != Some(3) || !said.contains("bitcost host restore") {
            return Ok(Some(format!(
                "{side} is left changed, and a run was not refused: {said}"
            )));
        }
    }
    let restored = world.bitcost(side, &["host", "restore"])?;
    let differences = world.differences(side)?;
    let is_as_before =
        differences.is_empty() && world.journals(side).is_empty() && restored.status.success();
    let said = String::from_utf8_lossy(&restored.stdout).into_owned();
    Ok((!is_as_before).then(|| {
        format!(
            "{side} after host restore: {}; it said: {said}",
            differences.join("; ")
        )
    }))
}

/// Waits until no process is left, at most until the deadline. Returns those that are left.
fn members_after(world: &World, deadline: Instant, but_for: Option<u32>) -> Vec<String> {
    let left = || {
        let mut members = world.family.members();
        members.retain(|pid| Some(*pid) != but_for);
        members
    };
    let limit = deadline.saturating_duration_since(Instant::now());
    match within(limit, || left().is_empty().then_some(())) {
        Some(()) => Vec::new(),
        None => {
            let left = left().into_iter();
            left.map(|pid| words(pid, "cmdline").join(" ")).collect()
        }
    }
}

/// Waits until every process has ended.
pub fn wait_until_gone(world: &World) -> Result<(), String> {
    match members_after(world, Instant::now() + GONE, None)[..] {
        [] => Ok(()),
        ref left => Err(format!("these do not end: {}", left.join("; "))),
    }
}
