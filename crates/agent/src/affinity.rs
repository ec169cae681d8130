//! CPU affinity of traffic threads, set and read back.

use bitcost_model::cpu_list::show_cpu_list;
use bitcost_model::protocol::Part;
use bitcost_model::record::InEffect;
use bitcost_sys::thread::{allowed_cpus, pin_to};

use crate::refusal::Refusal;

/// The CPUs that one thread is asked to use; empty: any.
pub struct Request(Vec<u32>);

#[derive(Clone, Debug)]
pub struct Affinity {
    /// The CPUs that it is pinned to, in order; empty: it is not pinned.
    pub cpus: Vec<u32>,
}

impl Request {
    /// The request of a part for its thread number `index` of `count`. The CPUs are assigned in
    /// turn, so that each thread has at least one and none is left over. A part that names none
    /// uses those of the host.
    pub fn of(part: &Part, host_cpus: &[u32], index: usize, count: usize) -> Request {
        let asked = &part.conditions.places.end(part.role).cpus;
        Request(match asked.len() {
            0 => host_cpus.to_vec(),
            length if length < count => vec![asked[index % length]],
            _ => asked.iter().skip(index).step_by(count).copied().collect(),
        })
    }

    pub fn apply(&self) -> Result<Affinity, Refusal> {
        let cpus = match self.0.is_empty() {
            true => Vec::new(),
            false => pin(&self.0)?,
        };
        Ok(Affinity { cpus })
    }
}

fn pin(cpus: &[u32]) -> Result<Vec<u32>, String> {
    let possible = allowed_cpus().map_err(|error| format!("which CPUs may be used: {error}"))?;
    if let Some(missing) = cpus.iter().find(|cpu| !possible.contains(cpu)) {
        let list: Vec<String> = possible.iter().map(u32::to_string).collect();
        return Err(format!(
            "CPU {missing} does not exist here or may not be used; allowed: {}",
            list.join(", ")
        ));
    }
    let mut asked = cpus.to_vec();
    asked.sort_unstable();
    let pinned = pin_to(&asked).map_err(|error| format!("run on CPUs {asked:?}: {error}"))?;
    if pinned == asked {
        Ok(pinned)
    } else {
        Err(format!(
            "requested CPUs {asked:?}, but the kernel allows {pinned:?}"
        ))
    }
}

pub fn pinned<'a>(affinities: impl IntoIterator<Item = &'a Affinity>) -> Vec<u32> {
    let mut cpus: Vec<u32> = affinities
        .into_iter()
        .flat_map(|affinity| affinity.cpus.iter().copied())
        .collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// CPUs as records list them; absent: none.
pub fn list(cpus: &[u32]) -> Option<String> {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    Some(show_cpu_list(&cpus)).filter(|list| !list.is_empty())
}

pub fn in_effect(part: &Part, affinities: &[&Affinity]) -> Vec<InEffect> {
    vec![InEffect {
        name: format!("{}_cpus", part.role.name()),
        requested: list(&part.conditions.places.end(part.role).cpus),
        actual: list(&pinned(affinities.iter().copied())),
    }]
}
