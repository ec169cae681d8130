//! CPU affinity and scheduling class of traffic threads, set and read back.

use bitcost_model::place::Scheduling;
use bitcost_model::protocol::Part;
use bitcost_model::record::InEffect;
use bitcost_sys::thread::{Policy, allowed_cpus, pin_to, policy, set_policy};

use crate::refusal::Refusal;

/// The request for one thread.
pub struct Request {
    /// The CPUs that it may use; empty: any.
    cpus: Vec<u32>,
    scheduling: Option<Scheduling>,
}

/// The state in effect for a thread.
#[derive(Clone, Debug)]
pub struct Affinity {
    /// The CPUs that it is pinned to, in order; empty: it is not pinned.
    pub cpus: Vec<u32>,
    /// Its scheduling class; absent where it is not one that can be requested.
    scheduling: Option<Scheduling>,
}

impl Request {
    /// The request of a part for its thread number `index` of `count`. The CPUs are assigned in
    /// turn, so that each thread has at least one and none is left over. A part that names none
    /// uses those of the host.
    pub fn of(part: &Part, host_cpus: &[u32], index: usize, count: usize) -> Request {
        let places = &part.conditions.places;
        let asked = &places.end(part.role).cpus;
        let cpus = match asked.len() {
            0 => host_cpus.to_vec(),
            length if length < count => vec![asked[index % length]],
            _ => asked.iter().skip(index).step_by(count).copied().collect(),
        };
        Request {
            cpus,
            scheduling: places.scheduling,
        }
    }

    /// Applies the request to the calling thread, and reads it back.
    ///
    /// # Errors
    /// The request, and the values that the kernel allows.
    pub fn apply(&self) -> Result<Affinity, Refusal> {
        let cpus = if self.cpus.is_empty() {
            Vec::new()
        } else {
            pin(&self.cpus)?
        };
        if let Some(asked) = self.scheduling {
            let class = match asked {
                Scheduling::Other => Policy::Other,
                Scheduling::Batch => Policy::Batch,
            };
            set_policy(class)
                .map_err(|error| format!("scheduling class `{}`: {error}", asked.name()))?;
        }
        let scheduling = policy().map(|class| match class {
            Policy::Other => Scheduling::Other,
            Policy::Batch => Scheduling::Batch,
        });
        Ok(Affinity { cpus, scheduling })
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

/// The CPUs of all threads together, in order.
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
    let words: Vec<String> = cpus.iter().map(u32::to_string).collect();
    Some(words.join(",")).filter(|list| !list.is_empty())
}

/// The affinities of a part as requested and as read back.
pub fn in_effect(part: &Part, affinities: &[&Affinity]) -> Vec<InEffect> {
    let places = &part.conditions.places;
    let class = |class: Scheduling| class.name().to_owned();
    let mut classes = affinities.iter().map(|affinity| affinity.scheduling);
    let first = classes.next().flatten();
    let all = first.filter(|first| classes.all(|class| class == Some(*first)));
    vec![
        InEffect {
            name: format!("{}_cpus", part.role.name()),
            requested: list(&places.end(part.role).cpus),
            actual: list(&pinned(affinities.iter().copied())),
        },
        InEffect {
            name: "scheduling".to_owned(),
            requested: places.scheduling.map(class),
            actual: all.map(class),
        },
    ]
}
