//! Where and how a traffic thread runs: its CPUs and its scheduling class, set and read back.

use model::place::Scheduling;
use model::record::InForce;
use sys::thread::{Policy, allowed_cpus, pin_to, policy, set_policy};
use wire::Part;

/// What is asked for one thread.
pub struct Wish {
    /// Empty: any.
    cpus: Vec<u32>,
    scheduling: Option<Scheduling>,
}

/// What a thread has.
#[derive(Clone, Debug)]
pub struct Seat {
    /// The CPUs that it was confined to, in order; empty: it was not.
    pub cpus: Vec<u32>,
    /// Its scheduling class; absent where it is none that can be asked for.
    scheduling: Option<Scheduling>,
}

impl Wish {
    /// What a part asks for its thread number `index` of `count`: the CPUs are dealt out in turn, so that
    /// each thread has one or more of them, and none is left over. Where it asks for none, those of the host.
    pub fn of(part: &Part, host_cpus: &[u32], index: usize, count: usize) -> Wish {
        let places = &part.conditions.places;
        let asked = &places.end(part.role).cpus;
        let cpus = match asked.len() {
            0 => host_cpus.to_vec(),
            length if length < count => vec![asked[index % length]],
            _ => asked.iter().skip(index).step_by(count).copied().collect(),
        };
        Wish { cpus, scheduling: places.scheduling }
    }

    /// Gives the calling thread what is asked for, and reads it back.
    ///
    /// # Errors
    /// A sentence with what there is instead.
    pub fn take_seat(&self) -> Result<Seat, String> {
        let cpus = if self.cpus.is_empty() { Vec::new() } else { pin(&self.cpus)? };
        if let Some(asked) = self.scheduling {
            let class = match asked {
                Scheduling::Other => Policy::Other,
                Scheduling::Batch => Policy::Batch,
            };
            set_policy(class).map_err(|error| format!("scheduling class `{}`: {error}", asked.name()))?;
        }
        let scheduling = policy().map(|class| match class {
            Policy::Other => Scheduling::Other,
            Policy::Batch => Scheduling::Batch,
        });
        Ok(Seat { cpus, scheduling })
    }
}

fn pin(cpus: &[u32]) -> Result<Vec<u32>, String> {
    let possible = allowed_cpus().map_err(|error| format!("which CPUs may be used: {error}"))?;
    if let Some(missing) = cpus.iter().find(|cpu| !possible.contains(cpu)) {
        let list: Vec<String> = possible.iter().map(u32::to_string).collect();
        return Err(format!("CPU {missing} does not exist here or may not be used; allowed: {}", list.join(", ")));
    }
    let mut asked = cpus.to_vec();
    asked.sort_unstable();
    let pinned = pin_to(&asked).map_err(|error| format!("run on CPUs {asked:?}: {error}"))?;
    if pinned == asked {
        Ok(pinned)
    } else {
        Err(format!("asked to run on CPUs {asked:?}, the kernel allows {pinned:?}"))
    }
}

/// The CPUs of all threads together, in order.
pub fn pinned<'a>(seats: impl IntoIterator<Item = &'a Seat>) -> Vec<u32> {
    let mut cpus: Vec<u32> = seats.into_iter().flat_map(|seat| seat.cpus.iter().copied()).collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// The seats of a part as asked and as read back.
pub fn in_force(part: &Part, seats: &[&Seat]) -> Vec<InForce> {
    let places = &part.conditions.places;
    let list = |mut cpus: Vec<u32>| {
        cpus.sort_unstable();
        let words: Vec<String> = cpus.iter().map(u32::to_string).collect();
        Some(words.join(",")).filter(|list| !list.is_empty())
    };
    let class = |class: Scheduling| class.name().to_owned();
    let mut classes = seats.iter().map(|seat| seat.scheduling);
    let first = classes.next().flatten();
    let all = first.filter(|first| classes.all(|class| class == Some(*first)));
    vec![
        InForce {
            name: format!("{}_cpus", part.role.name()),
            asked: list(places.end(part.role).cpus.clone()),
            actual: list(pinned(seats.iter().copied())),
        },
        InForce { name: "scheduling".to_owned(), asked: places.scheduling.map(class), actual: all.map(class) },
    ]
}
