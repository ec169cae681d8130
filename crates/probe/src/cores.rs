//! The CPUs of a machine: which are online, isolated, on each NUMA node and of each core, and which this process may use
//! (kernel doc: admin-guide/cputopology, ABI/stable/sysfs-devices-node).

use bitcost_model::cpu_list::parse_cpu_list;
use bitcost_model::machine::CpuSets;
use bitcost_sys::thread::{allowed_cpus, pin_to};

use crate::read;

/// Folder of the CPUs, below a root that is empty for this machine.
const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

/// Those of this machine, and those that this process may use.
pub fn of_this_host() -> CpuSets {
    sets("", allowed_cpus().unwrap_or_default())
}

/// Those of the machine whose `/proc` and `/sys` are below this root.
pub fn sets(root: &str, allowed: Vec<u32>) -> CpuSets {
    let list = |path: &str| parse_cpu_list(&read::text(&format!("{root}{path}"))?);
    let of_cpus = |name: &str| list(&format!("{CPUS}/{name}"));
    let online = of_cpus("online").unwrap_or_else(|| {
        let stat = read::text(&format!("{root}/proc/stat")).unwrap_or_default();
        let names = stat.lines().filter_map(|line| line.strip_prefix("cpu"));
        let number = |name: &str| name.split(' ').next()?.parse().ok();
        names.filter_map(number).collect()
    });
    let mut offline = of_cpus("present").unwrap_or_default();
    offline.retain(|cpu| !online.contains(cpu));
    let folders = std::fs::read_dir(format!("{root}{NODES}"));
    let names = folders.into_iter().flatten().flatten();
    let names = names.filter_map(|folder| folder.file_name().into_string().ok());
    let node = |name: String| {
        let cpus = list(&format!("{NODES}/{name}/cpulist"))?;
        Some((name.strip_prefix("node")?.parse().ok()?, cpus))
    };
    CpuSets {
        online,
        offline,
        isolated: of_cpus("isolated").unwrap_or_default(),
        nodes: names.filter_map(node).collect(),
        allowed,
    }
}

/// Two of the allowed CPUs: on different cores of one NUMA node, on different cores, or threads of one core, the first of
/// these that there is; absent if only one CPU is allowed.
pub fn separate(allowed: &[u32]) -> Option<(u32, u32)> {
    let sets = sets("", Vec::new());
    separate_by(allowed, siblings, |cpu| sets.node_of(cpu))
}

fn separate_by(
    allowed: &[u32],
    siblings: impl Fn(u32) -> Vec<u32>,
    node_of: impl Fn(u32) -> Option<u32>,
) -> Option<(u32, u32)> {
    let first = *allowed.first()?;
    let others = || allowed.iter().copied().filter(|cpu| *cpu != first);
    let (own_core, own_node) = (siblings(first), node_of(first));
    let near = others().filter(|cpu| node_of(*cpu) == own_node);
    let second = near
        .chain(others())
        .find(|cpu| !own_core.contains(cpu))
        .or_else(|| others().next())?;
    Some((first, second))
}

/// The CPUs that share a core with this one; empty where the kernel does not report them.
fn siblings(cpu: u32) -> Vec<u32> {
    let path = format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list");
    read::text(&path)
        .and_then(|text| parse_cpu_list(&text))
        .unwrap_or_default()
}

/// Binds the thread to this CPU; absent where it may not run there.
pub(crate) fn pinned(cpu: u32) -> Option<()> {
    (pin_to(&[cpu]).ok()? == [cpu]).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_get_different_cores_of_one_node_where_possible() {
        let pairs = |cpu: u32| vec![cpu / 2 * 2, cpu / 2 * 2 + 1];
        let two = |allowed: &[u32]| separate_by(allowed, pairs, |_| None);
        assert_eq!(two(&[0, 1, 2, 3]), Some((0, 2)));
        assert_eq!(two(&[0, 1]), Some((0, 1)));
        assert_eq!(two(&[4]), None);
        assert_eq!(two(&[]), None);
        // Every second CPU is on the other node, and the upper half are the cores' second threads.
        let halves = |cpu: u32| vec![cpu % 32, cpu % 32 + 32];
        let even = |allowed: &[u32]| separate_by(allowed, halves, |cpu| Some(cpu % 2));
        assert_eq!(even(&[0, 1, 2, 3]), Some((0, 2)));
        assert_eq!(even(&[5, 8, 37, 40]), Some((5, 8)));
    }
}
