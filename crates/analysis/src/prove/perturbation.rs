//! A perturbation: how a little of one resource is taken from a run, and how much of it was left.

use bitcost_model::conditions::Conditions;
use bitcost_model::record::Role;
use bitcost_model::study::LabSpec;

use crate::buffer::Buffer;
use crate::explain::{LIMITERS, Limiter, Load, quota_of};

/// The factor of a study of perturbations.
pub const FACTOR: &str = "perturbation";

/// What a perturbation leaves of a resource: small enough that the run stays what it is, large
/// enough for the noise of short runs.
pub const LEFT: f64 = 0.8;

/// Settings of a run by name, each with its value as it is typed.
pub type Settings = Vec<(&'static str, String)>;

/// The run that is perturbed.
#[derive(Clone, Copy, Debug)]
pub struct Before<'a> {
    /// Its conditions.
    pub conditions: &'a Conditions,
    /// What it had of each resource.
    pub load: &'a Load,
    /// The lab; absent between named hosts.
    pub lab: Option<&'a LabSpec>,
}

/// How a change of a resource is said.
#[derive(Clone, Copy, Debug)]
pub enum Told {
    /// `20 % less CPU time for the receiver`.
    Less,
    /// `25 % more delay`, where the resource is its inverse.
    More,
    /// `without wake-ups`, where it has no size.
    Without,
    /// `with a low-water mark of 32 KiB`, where a setting fills packets and more throughput is what shows
    /// that their number limits.
    With,
}

/// One perturbation: a row of [`PERTURBATIONS`](super::PERTURBATIONS).
#[derive(Debug)]
pub struct Perturbation {
    /// Its name: that of its level in the log's study.
    pub name: &'static str,
    /// The resource, in words.
    pub resource: &'static str,
    /// How its change is said.
    pub told: Told,
    /// The limiters that are a lack of this resource, by name.
    pub of: &'static [&'static str],
    /// The endpoint whose CPU quota is a lack of it, too.
    pub of_quota: Option<Role>,
    /// The limiter that it finds; absent where the throughput may follow the resource whatever
    /// limits it.
    pub finds: fn(&Conditions) -> Option<Limiter>,
    /// The settings that take some of the resource away.
    ///
    /// # Errors
    /// Why it cannot be tried on this run, as a part of a sentence.
    pub(crate) settings: fn(&Before) -> Result<Settings, String>,
    /// The share of the resource that a changed run (second) had of that of an unchanged one; absent
    /// where it was not counted.
    pub left: fn(&Before, &Before) -> Option<f64>,
}

impl Perturbation {
    /// Whether a limiter is a lack of this resource.
    pub fn is_of(&self, limiter: &Limiter) -> bool {
        let is_quota = self.of_quota.is_some_and(|role| *limiter == quota_of(role));
        is_quota || self.of.contains(&limiter.name())
    }

    /// The change in words; `left` is as in [`Perturbation::left`].
    pub fn changed(&self, left: Option<f64>) -> String {
        let share = |of: f64| format!("{:.0} %", 100.0 * of);
        match (self.told, left) {
            (Told::Less, Some(left)) => format!("{} less {}", share(1.0 - left), self.resource),
            (Told::More, Some(left)) => {
                format!("{} more {}", share(1.0 / left - 1.0), self.resource)
            }
            (Told::Without, _) => format!("no {}", self.resource),
            (Told::With, _) => self.resource.to_owned(),
            (_, None) => format!("another {}", self.resource),
        }
    }
}

/// The limiter of this name in the table of limiters, at a place.
pub(super) fn limiter(name: &str, place: &str) -> Option<Limiter> {
    let row = LIMITERS.into_iter().find(|row| row.name == name)?;
    Some(row.placed(place))
}

/// The work of an endpoint on each message, in ns.
fn work_ns(conditions: &Conditions, role: Role) -> u32 {
    match role {
        Role::Sender => conditions.buffers.send_work_ns,
        Role::Receiver => conditions.buffers.receive_work_ns,
    }
}

/// What another amount of work for each message leaves of the CPU time of an endpoint.
pub(super) fn cpu_left(before: &Before, after: &Before, role: Role) -> Option<f64> {
    let added = work_ns(after.conditions, role).checked_sub(work_ns(before.conditions, role))?;
    let busy = before.load.busy_ns[role as usize]?;
    Some(busy / (busy + f64::from(added)))
}

/// The work for each message that leaves the wanted share of an endpoint's CPU time.
///
/// # Errors
/// Where the time for a message is not known.
pub(super) fn more_work(before: &Before, role: Role) -> Result<String, String> {
    let busy = before.load.busy_ns[role as usize];
    let busy = busy.ok_or_else(|| format!("the CPU time of the {} is not known", role.name()))?;
    let added = busy * (1.0 / LEFT - 1.0);
    let own = f64::from(work_ns(before.conditions, role));
    Ok(format!("{:.0}", own + added.ceil()))
}

/// A number scaled to what a perturbation leaves, at least 1.
pub(super) fn less(number: f64) -> String {
    format!("{:.0}", (number * LEFT).max(1.0))
}

/// The settings that leave a buffer smaller; where TCP tunes it, its greatest size is what is changed.
///
/// # Errors
/// Where its size is not known, and for transactions, which need little of it.
pub(super) fn smaller_buffer(before: &Before, buffer: &Buffer) -> Result<Settings, String> {
    let conditions = before.conditions;
    if conditions.workload.is_transactional() {
        return Err("transactions need little of it".to_owned());
    }
    let has = (buffer.has_bytes)(before.load).ok_or("its size is not known")?;
    if !buffer.is_tuned(conditions) || conditions.tcp_buffers.is_some() {
        return Ok(vec![(buffer.setting, less(has))]);
    }
    let most = 2.0 * has * LEFT;
    let host = conditions.direction.role_of(buffer.end).name();
    let first = most.min(buffer.start_bytes);
    let tuned = format!("{host}: {}=4096 {first:.0} {most:.0}", buffer.tuned);
    Ok(vec![("sysctl", tuned)])
}

/// The ratio of a value in the changed run to that in the unchanged one.
pub(super) fn ratio(before: &Before, after: &Before, of: fn(&Load) -> Option<f64>) -> Option<f64> {
    Some(of(after.load)? / of(before.load)?).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
}
