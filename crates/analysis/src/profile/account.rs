//! One run's profile in, the CPU time of each end by layer out: the second account of it, next to
//! that of [`crate::metrics::attribute`].

use std::collections::BTreeMap;

use bitcost_model::Unavailable;
use bitcost_model::profile::{Layer, ProfiledTask};
use bitcost_model::record::Role;

use super::owner::{Owner, Place, RECEIVES, end_of_cpu};
use super::weights::{Host, weighed};
use crate::metrics::cpu::idle_cpus;
use crate::metrics::{Method, RunView, attribute, units_per_second};

/// The lost samples above which the profile of a run is left out.
const MOST_LOST_PCT: f64 = 5.0;

/// The CPU time of a run by layer, of each end that was profiled and that counted something.
pub type RunProfile = BTreeMap<Role, EndProfile>;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndProfile {
    /// The CPU time of a KiB or a transaction in each layer, in ns.
    pub layers: BTreeMap<Layer, f64>,
    /// The same end's CPU time by the run's own account, in ns for a KiB or a transaction.
    pub accounted: Option<f64>,
}

impl EndProfile {
    /// The CPU time of a KiB or a transaction in all, in ns.
    pub fn sum(&self) -> f64 {
        self.layers.values().sum()
    }
}

/// CPU seconds per second by owner of the task, owner of the work, and layer.
#[derive(Default)]
struct Account(BTreeMap<(Owner, Owner, Layer), f64>);

/// The CPU time of a run by layer, from the profiles of its ends, of each of which `place` tells the place.
pub fn run_profile(
    run: &RunView,
    place: impl Fn(Role) -> Place,
) -> Result<RunProfile, Unavailable> {
    let host = |role| {
        let record = run.end(role);
        Some(Host {
            profile: record.profile.as_deref()?,
            record,
            place: place(role),
        })
    };
    let hosts: Vec<Host> = Role::ALL.into_iter().filter_map(host).collect();
    let samples: u64 = hosts.iter().map(|host| host.profile.samples).sum();
    let lost: u64 = hosts.iter().map(|host| host.profile.lost).sum();
    let lost_pct = 100.0 * lost as f64 / (samples + lost).max(1) as f64;
    if samples == 0 {
        return Err(Unavailable("it has no sample".to_owned()));
    }
    if lost_pct > MOST_LOST_PCT {
        return Err(Unavailable(format!(
            "{lost_pct:.0} % of its samples were lost, more than {MOST_LOST_PCT:.0} %"
        )));
    }
    let mut account = Account::default();
    hosts.iter().for_each(|host| account.add(host, run));
    let plays = |host: &Host, role| host.place.only.is_none_or(|only| only == role);
    let is_profiled = |role: &Role| hosts.iter().any(|host| plays(host, *role));
    let ends = Role::ALL.into_iter().filter(is_profiled);
    Ok(ends
        .filter_map(|role| Some((role, account.end(role, run)?)))
        .collect())
}

impl Account {
    fn add(&mut self, host: &Host, run: &RunView) {
        let mut receiving = BTreeMap::<(Owner, Layer), f64>::new();
        let mut received = BTreeMap::<(Owner, Owner), f64>::new();
        for one in weighed(host, run) {
            let (sampled, cpus) = (one.sampled, one.cpus);
            let carrier = host.place.of_task(&sampled.task);
            let own = one.layer.unwrap_or(Layer::OtherKernel);
            let Some(owner) = host.place.owner(&sampled.task, &sampled.stack) else {
                *receiving.entry((carrier, own)).or_default() += cpus;
                continue;
            };
            if sampled.stack.contains(RECEIVES) {
                *received.entry((carrier, owner)).or_default() += cpus;
            }
            let home = end_of_cpu(sampled.cpu, run).filter(|_| owner == Owner::Other);
            let home = home.map_or(carrier, Owner::End);
            let layer = match sampled.task {
                ProfiledTask::Idle if owner == Owner::Other => own,
                _ => layer_of(owner, own),
            };
            *self.0.entry((home, owner, layer)).or_default() += cpus;
        }
        for ((carrier, own), cpus) in receiving {
            for (owner, part) in parts(&received, carrier) {
                let key = (carrier, owner, layer_of(owner, own));
                *self.0.entry(key).or_default() += cpus * part;
            }
        }
    }

    /// The share of what other programs took of an end's own CPUs that is above what these were busy
    /// before the block, which the run's account subtracts.
    fn others_above_idle(&self, role: Role, run: &RunView) -> f64 {
        let end = run.end(role);
        let before = idle_cpus(end, |cpu| end.pinned_cpus.contains(cpu)).unwrap_or_default();
        let there = self.0.iter();
        let there = there.filter(|(key, _)| (key.0, key.1) == (Owner::End(role), Owner::Other));
        let there: f64 = there.map(|(_, cpus)| cpus).sum();
        (1.0 - before / there).max(0.0)
    }

    /// An end's layers; absent where the run counted nothing there.
    fn end(&self, role: Role, run: &RunView) -> Option<EndProfile> {
        let per_second = units_per_second(run, role)?;
        let attribution = attribute(run).ok();
        let method = attribution.as_ref().map(|found| found.method);
        let others = match method {
            Some(Method::OwnCpus) => self.others_above_idle(role, run),
            _ => 1.0,
        };
        let accounted = attribution.as_ref().and_then(|found| found.end(role));
        let mut end = EndProfile {
            accounted: accounted.map(|found| found.cpus * 1e9 / per_second),
            ..EndProfile::default()
        };
        for ((carrier, owner, layer), cpus) in &self.0 {
            if *owner != Owner::End(role) && !is_charged(*carrier, *owner, role, method) {
                continue;
            }
            let part = if *owner == Owner::Other { others } else { 1.0 };
            let ns = cpus * part * 1e9 / per_second;
            *end.layers.entry(*layer).or_default() += ns;
        }
        Some(end)
    }
}

fn layer_of(owner: Owner, own: Layer) -> Layer {
    match owner {
        Owner::End(_) => own,
        Owner::Wire => Layer::Wire,
        Owner::Other => Layer::OtherPrograms,
        Owner::Idle => Layer::Idle,
    }
}

/// Whether the run's account charges an end also for this work of others: whole hosts and an end's own
/// CPUs are charged with other programs, threads with the wire's soft interrupts on their back.
fn is_charged(carrier: Owner, owner: Owner, end: Role, method: Option<Method>) -> bool {
    match (method, owner) {
        (Some(Method::Hosts | Method::HostsAboveIdle), Owner::Other) => true,
        (Some(Method::OwnCpus | Method::SoftirqTicks), Owner::Other)
        | (Some(Method::NapiThread), Owner::Wire) => carrier == Owner::End(end),
        (Some(Method::SoftirqTicks), Owner::Wire) => carrier == Owner::End(end.other()),
        _ => false,
    }
}

/// For whom a soft interrupt received on this back: in the proportion of those whose chains say it
/// there, or anywhere, or else for others.
fn parts(received: &BTreeMap<(Owner, Owner), f64>, carrier: Owner) -> Vec<(Owner, f64)> {
    let is_known = received.keys().any(|(back, _)| *back == carrier);
    let clear = received.iter();
    let clear = clear.filter(|((back, _), _)| *back == carrier || !is_known);
    let sum: f64 = clear.clone().map(|(_, cpus)| cpus).sum();
    match sum > 0.0 {
        true => clear.map(|((_, to), cpus)| (*to, cpus / sum)).collect(),
        false => vec![(Owner::Other, 1.0)],
    }
}
