//! A perturbation: how a little of one resource is taken from a run, and how much of it was left.

use bitcost_model::conditions::Conditions;
use bitcost_model::record::Role;
use bitcost_model::study::LabSpec;

use crate::explain::{LIMITERS, Limiter, Load, quota_of};

/// The factor of a study of perturbations.
pub const FACTOR: &str = "perturbation";

/// The level of that factor which changes nothing.
pub const UNCHANGED: &str = "none";

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
    /// Whether a limiter is a lack of this resource.
    pub is_of: fn(&Limiter) -> bool,
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

/// Whether a limiter is the CPU quota of the endpoint with this role.
pub(super) fn is_quota_of(limiter: &Limiter, role: Role) -> bool {
    *limiter == quota_of(role)
}

/// What another amount of work for each message leaves of the CPU time of an endpoint.
pub(super) fn cpu_left(before: &Before, added_ns: u32, role: Role) -> Option<f64> {
    let busy = before.load.busy_ns[role as usize]?;
    Some(busy / (busy + f64::from(added_ns)))
}

/// The work for each message that leaves the wanted share of an endpoint's CPU time.
///
/// # Errors
/// Where the time for a message is not known.
pub(super) fn more_work(before: &Before, role: Role) -> Result<String, String> {
    let buffers = &before.conditions.buffers;
    let own = match role {
        Role::Sender => buffers.send_work_ns,
        Role::Receiver => buffers.receive_work_ns,
    };
    let busy = before.load.busy_ns[role as usize];
    let busy = busy.ok_or_else(|| format!("the CPU time of the {} is not known", role.name()))?;
    let added = busy * (1.0 / LEFT - 1.0);
    Ok(format!("{:.0}", f64::from(own) + added.ceil()))
}

/// A number scaled to what a perturbation leaves, at least 1.
pub(super) fn less(number: f64) -> String {
    format!("{:.0}", (number * LEFT).max(1.0))
}

/// A buffer of a socket.
pub(super) struct Buffer {
    /// The end that has it.
    pub end: Role,
    /// The setting of its size.
    pub setting: &'static str,
    /// The sysctl of its least, first and greatest size with TCP's autotuning.
    pub sysctl: &'static str,
    /// Its first size, in bytes (kernel doc: networking/ip-sysctl).
    pub start_bytes: f64,
}

/// The settings that leave a buffer, which has this many bytes, smaller; where TCP tunes it, its
/// greatest size is what is changed. `is_requested`: the run requests its size.
///
/// # Errors
/// Where its size is not known, and for transactions, which need little of it.
pub(super) fn smaller_buffer(
    before: &Before,
    has_bytes: Option<f64>,
    is_requested: bool,
    buffer: &Buffer,
) -> Result<Settings, String> {
    let conditions = before.conditions;
    if conditions.workload.is_transactional() {
        return Err("transactions need little of it".to_owned());
    }
    let has = has_bytes.ok_or("its size is not known")?;
    let is_tuned =
        !conditions.workload.is_datagram() && !is_requested && conditions.tcp_buffers.is_none();
    if !is_tuned {
        return Ok(vec![(buffer.setting, less(has))]);
    }
    let most = 2.0 * has * LEFT;
    let host = conditions.direction.role_of(buffer.end).name();
    let first = most.min(buffer.start_bytes);
    let tuned = format!("{host}: {}=4096 {first:.0} {most:.0}", buffer.sysctl);
    Ok(vec![("sysctl", tuned)])
}

/// The ratio of a value in the changed run to that in the unchanged one.
pub(super) fn ratio(before: &Before, after: &Before, of: fn(&Load) -> Option<f64>) -> Option<f64> {
    Some(of(after.load)? / of(before.load)?).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
}
