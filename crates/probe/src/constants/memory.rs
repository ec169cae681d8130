//! The size of the last-level cache, and the memory that may be taken.

use std::path::Path;

use crate::{read, throttling};

/// Bytes of the largest cache of a CPU (kernel doc: ABI/stable/sysfs-devices-system-cpu); absent
/// where the kernel does not report it. In a virtual machine it is what the hypervisor reports.
pub fn last_level_cache(cpu: u32) -> Option<u64> {
    let size = |index: u32| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}/size");
        size(&read::text(&path)?)
    };
    (0..8).filter_map(size).max()
}

/// `32768K` in bytes.
fn size(text: &str) -> Option<u64> {
    text.strip_suffix('K')?
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

/// Bytes that can be taken without harm: of the machine's available memory, and below the limits of
/// this process's control groups. Absent where the kernel does not report the former.
pub fn available() -> Option<u64> {
    let machine = bitcost_sys::files::available_memory_bytes()?;
    let groups = read::text("/proc/self/cgroup").unwrap_or_default();
    let mounts = read::text("/proc/self/mounts").unwrap_or_default();
    let files = throttling::paths(&groups, &mounts);
    let left = files.iter().filter_map(|file| below_limit(file.parent()?));
    Some(left.fold(machine, u64::min))
}

/// Bytes until the memory limit of a control group of version 2; absent where it has none.
fn below_limit(group: &Path) -> Option<u64> {
    let number = |name: &str| -> Option<u64> {
        let text = std::fs::read_to_string(group.join(name)).ok()?;
        text.trim().parse().ok()
    };
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_caches_are_read() {
        assert_eq!(size("32768K"), Some(32 << 20));
        assert_eq!(size("32M"), None);
    }

    #[test]
    fn a_group_without_limit_does_not_count() {
        let folder = std::env::temp_dir().join(format!("bitcost-groups-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let write =
            |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("written");
        write("memory.current", "1000\n");
        write("memory.max", "max\n");
        let without = below_limit(&folder);
        write("memory.max", "5000\n");
        let with = below_limit(&folder);
        std::fs::remove_dir_all(&folder).expect("removed");
        assert_eq!((without, with), (None, Some(4000)));
    }
}
