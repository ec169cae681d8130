//! CPUs and the cores that they belong to.

use bitcost_model::cpu_list::parse_cpu_list;
use bitcost_sys::thread::pin_to;

use crate::read;

/// Two of the allowed CPUs, on different cores if there are two cores, otherwise two threads of one
/// core; absent if only one CPU is allowed.
pub fn separate(allowed: &[u32]) -> Option<(u32, u32)> {
    separate_by(allowed, siblings)
}

fn separate_by(allowed: &[u32], siblings: impl Fn(u32) -> Vec<u32>) -> Option<(u32, u32)> {
    let first = *allowed.first()?;
    let others = || allowed.iter().copied().filter(|cpu| *cpu != first);
    let own_core = siblings(first);
    let second = others()
        .find(|cpu| !own_core.contains(cpu))
        .or_else(|| others().next())?;
    Some((first, second))
}

/// The CPUs that share a core with this one (kernel doc: admin-guide/cputopology); empty where the
/// kernel does not report them.
fn siblings(cpu: u32) -> Vec<u32> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
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
    use super::separate_by;

    #[test]
    fn endpoints_get_different_cores_where_possible() {
        let pairs = |cpu: u32| vec![cpu / 2 * 2, cpu / 2 * 2 + 1];
        assert_eq!(separate_by(&[0, 1, 2, 3], pairs), Some((0, 2)));
        assert_eq!(separate_by(&[0, 1], pairs), Some((0, 1)));
        assert_eq!(separate_by(&[4], pairs), None);
        assert_eq!(separate_by(&[], pairs), None);
    }
}
