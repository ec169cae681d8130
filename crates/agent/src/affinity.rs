//! CPU affinity of traffic threads, set and read back.

use std::collections::BTreeSet;

use bitcost_model::cpu_list::show_cpu_list;
use bitcost_model::protocol::Part;
use bitcost_model::record::InEffect;
use bitcost_probe::cores;
use bitcost_sys::thread::pin_to;

/// The CPUs that a part asks for its thread number `index` of `count`; empty: any. They are assigned in
/// turn, so that each thread has at least one and none is left over. A part that names none uses those
/// of the host.
pub fn request(part: &Part, host_cpus: &[u32], index: usize, count: usize) -> Vec<u32> {
    let asked = &part.conditions.places.end(part.role).cpus;
    match asked.len() {
        0 => host_cpus.to_vec(),
        length if length < count => vec![asked[index % length]],
        _ => asked.iter().skip(index).step_by(count).copied().collect(),
    }
}

/// Pins the calling thread to these CPUs, unless there are none; returns those in effect, in order.
pub fn apply(cpus: &[u32]) -> Result<Vec<u32>, String> {
    if cpus.is_empty() {
        return Ok(Vec::new());
    }
    let sets = cores::of_this_host();
    sets.check(cpus).map_err(|error| error.to_string())?;
    let mut asked = cpus.to_vec();
    asked.sort_unstable();
    let list = show_cpu_list(&asked);
    let pinned = pin_to(&asked).map_err(|error| format!("run on CPUs {list}: {error}"))?;
    match pinned == asked {
        true => Ok(pinned),
        false => Err(format!(
            "requested CPUs {list}, but the kernel allows {}",
            show_cpu_list(&pinned)
        )),
    }
}

/// All of these CPUs, each once, in order.
pub fn all<'a>(lists: impl IntoIterator<Item = &'a Vec<u32>>) -> Vec<u32> {
    let cpus: BTreeSet<u32> = lists.into_iter().flatten().copied().collect();
    cpus.into_iter().collect()
}

/// CPUs as records list them; absent: none.
pub fn list(cpus: &[u32]) -> Option<String> {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    Some(show_cpu_list(&cpus)).filter(|list| !list.is_empty())
}

pub fn in_effect(part: &Part, pinned: &[u32]) -> InEffect {
    let asked = &part.conditions.places.end(part.role).cpus;
    InEffect::new(
        format!("{}_cpus", part.role.name()),
        list(asked),
        list(pinned),
    )
}
