//! Whether everything is as before, and by whose doing.

use std::fs;
use std::time::{Duration, Instant};

use crate::step::Who;
use crate::world::{Place, World};

/// What came of a death.
#[derive(Debug)]
pub enum Verdict {
    /// Everything is as before, so long after the death, and nobody had to help.
    ByItself(Duration),
    /// Nobody was left who could; runs were refused until `bitcost host restore`, and then everything was as before.
    ByRestore,
    /// What is not as it should be.
    Wrong(String),
    /// The step did not come.
    NotReached,
}

/// A death and what came of it.
#[derive(Debug)]
pub struct Outcome {
    /// Who was killed.
    pub killed: Vec<Who>,
    /// What came of it.
    pub verdict: Verdict,
}

impl Outcome {
    /// Of a step that did not come.
    pub fn not_reached() -> Outcome {
        Outcome { killed: Vec::new(), verdict: Verdict::NotReached }
    }
}

const HOSTS: [Place; 2] = [Place::Near, Place::Far];
/// How long a process that was to be followed may take to be gone.
const GONE: Duration = Duration::from_secs(30);

/// Judges a death that came at `since`. `but_for` is a process that is still there by intention.
pub fn judge(world: &World, since: Instant, nobody_is_left: bool, but_for: Option<u32>) -> Result<Verdict, String> {
    let left = members_after(world, since + world.limit, but_for);
    if !left.is_empty() {
        return Ok(Verdict::Wrong(format!("after {:?} these are left: {}", world.limit, left.join("; "))));
    }
    let mut differences = Vec::new();
    for place in HOSTS {
        differences.extend(world.differences(place)?.into_iter().map(|line| format!("{place} {line}")));
    }
    let has_journal = HOSTS.iter().any(|place| !world.journals(*place).is_empty());
    if differences.is_empty() && !has_journal {
        return Ok(Verdict::ByItself(since.elapsed()));
    }
    if !nobody_is_left {
        let journal = if has_journal { "; a journal is left" } else { "" };
        return Ok(Verdict::Wrong(format!("not as before: {}{journal}: {}", differences.join("; "), world.said())));
    }
    for place in HOSTS {
        if let Some(wrong) = restore(world, place)? {
            return Ok(Verdict::Wrong(wrong));
        }
    }
    Ok(Verdict::ByRestore)
}

/// A run is refused while settings are left changed, and `bitcost host restore` brings them back.
fn restore(world: &World, place: Place) -> Result<Option<String>, String> {
    if !world.differences(place)?.is_empty() {
        let refused = world.bitcost(place, &["test", "tcp", "-t", "100ms", "--receiver", "local"])?;
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        if refused.status.code() != Some(3) || !said.contains("bitcost host restore") {
            return Ok(Some(format!("{place} is left changed, and a run was not refused: {said}")));
        }
    }
    let restored = world.bitcost(place, &["host", "restore"])?;
    let differences = world.differences(place)?;
    let is_as_before = differences.is_empty() && world.journals(place).is_empty() && restored.status.success();
    let said = String::from_utf8_lossy(&restored.stdout).into_owned();
    Ok((!is_as_before).then(|| format!("{place} after host restore: {}; it said: {said}", differences.join("; "))))
}

/// What is left of the processes when none is, or at the deadline.
fn members_after(world: &World, deadline: Instant, but_for: Option<u32>) -> Vec<String> {
    loop {
        let left: Vec<u32> = world.family.members().into_iter().filter(|pid| Some(*pid) != but_for).collect();
        if left.is_empty() || Instant::now() > deadline {
            return left.into_iter().map(command_line).collect();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn command_line(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ").trim().to_owned()
}

/// Waits until every process has ended.
pub fn wait_until_gone(world: &World, since: Instant, but_for: Option<u32>) -> Result<(), String> {
    let left = members_after(world, since + GONE, but_for);
    if left.is_empty() { Ok(()) } else { Err(format!("these do not end: {}", left.join("; "))) }
}
