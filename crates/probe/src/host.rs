//! The facts of a host: kernel, CPUs, memory, and the sysctls that affect measurements.

use std::collections::BTreeMap;

use bitcost_model::machine::{CpuSets, DeviceDescription, HostDescription, SYSCTLS};

use crate::cores;
use crate::read;

/// This host, seen from the calling thread's namespaces, without its device.
pub fn describe() -> HostDescription {
    let name = rustix::system::uname();
    let word = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
    let cpu_info = read::text("/proc/cpuinfo").unwrap_or_default();
    let CpuSets {
        online: cpus,
        isolated: isolated_cpus,
        ..
    } = cores::of_this_host();
    HostDescription {
        kernel: format!("{} {}", word(name.release()), word(name.version())),
        kernel_command_line: read::text("/proc/cmdline"),
        mitigations: mitigations(),
        architecture: word(name.machine()),
        host_name: word(name.nodename()),
        boot_id: boot_id(),
        cpu_model: cpu_model(&cpu_info),
        governor: governor(&cpus),
        cpus,
        isolated_cpus,
        memory_kib: read::text("/proc/meminfo").and_then(|text| memory_kib(&text)),
        device: DeviceDescription::default(),
        sysctls: sysctls(),
        is_root: rustix::process::geteuid().is_root(),
        bitcost_version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Each of [`SYSCTLS`] that this host has, its words separated by one space.
pub fn sysctls() -> BTreeMap<String, String> {
    let read = |name: &&str| Some(((*name).to_owned(), sysctl(name)?));
    SYSCTLS.iter().filter_map(read).collect()
}

/// How the kernel mitigates each vulnerability of the CPUs, by the names of its files.
fn mitigations() -> BTreeMap<String, String> {
    let folder = "/sys/devices/system/cpu/vulnerabilities";
    let files = std::fs::read_dir(folder).into_iter().flatten();
    let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
    names
        .filter_map(|name| Some((read::text(&format!("{folder}/{name}"))?, name)))
        .map(|(text, name)| (name, text))
        .collect()
}

/// One sysctl by dotted name; absent if it does not exist or cannot be read.
pub fn sysctl(name: &str) -> Option<String> {
    let text = read::text(&format!("/proc/sys/{}", name.replace('.', "/")))?;
    Some(text.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
}

/// The identifier of the present boot; absent if the kernel does not report it.
pub fn boot_id() -> Option<String> {
    read::text("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned())
}

/// The governor of all CPUs; if they differ, each that is in use.
fn governor(cpus: &[u32]) -> Option<String> {
    let path = |cpu: &u32| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
    let mut found: Vec<String> = cpus
        .iter()
        .filter_map(|cpu| read::text(&path(cpu)))
        .collect();
    found.sort();
    found.dedup();
    (!found.is_empty()).then(|| found.join(", "))
}

/// The CPU's name in the text of `/proc/cpuinfo`, whose keys differ from architecture to
/// architecture.
///
/// arm64 has no name; its implementer and part numbers are used instead.
pub fn cpu_model(cpu_info: &str) -> Option<String> {
    let value = |key: &str| {
        let mut pairs = cpu_info.lines().filter_map(|line| line.split_once(':'));
        pairs
            .find(|(name, _)| name.trim() == key)
            .map(|(_, value)| value.trim().to_owned())
    };
    let named = ["model name", "cpu model", "cpu", "uarch", "isa"]
        .iter()
        .find_map(|key| value(key));
    named.or_else(|| {
        Some(format!(
            "implementer {} part {}",
            value("CPU implementer")?,
            value("CPU part")?
        ))
    })
}

pub fn memory_kib(mem_info: &str) -> Option<u64> {
    read::number(mem_info, "MemTotal:")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.18 on x86-64.
    const X86: &str = "\
processor	: 0
vendor_id	: GenuineIntel
cpu family	: 6
model		: 167
model name	: Intel(R) Xeon(R) Processor
stepping	: 1

processor	: 1
model name	: Intel(R) Xeon(R) Processor
";

    /// Linux 6.1 on arm64.
    const ARM64: &str = "\
processor	: 0
BogoMIPS	: 243.75
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x3
CPU part	: 0xd0c
";

    /// Linux 4.18 on POWER9.
    const POWER: &str = "\
processor	: 0
cpu		: POWER9, altivec supported
clock		: 3800.000000MHz
";

    #[test]
    fn cpu_has_a_name_on_each_architecture() {
        assert_eq!(
            cpu_model(X86).as_deref(),
            Some("Intel(R) Xeon(R) Processor")
        );
        assert_eq!(
            cpu_model(ARM64).as_deref(),
            Some("implementer 0x41 part 0xd0c")
        );
        assert_eq!(
            cpu_model(POWER).as_deref(),
            Some("POWER9, altivec supported")
        );
        assert_eq!(cpu_model(""), None);
    }

    #[test]
    fn memory_is_read_from_old_and_new_kernels() {
        let new = "MemTotal:        8145320 kB\nMemFree:          100 kB\nMemAvailable:   200 kB\n";
        let old = "        total:    used:    free:\nMem:  1 2 3\nMemTotal:   515232 kB\n";
        assert_eq!(memory_kib(new), Some(8_145_320));
        assert_eq!(memory_kib(old), Some(515_232));
        assert_eq!(memory_kib("MemFree: 1 kB"), None);
    }

    #[test]
    fn each_sysctl_is_listed_once() {
        assert!(SYSCTLS.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
