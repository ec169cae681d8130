//! Each CPU's times from `/proc/stat` (kernel doc: filesystems/proc, 1.7).

use std::fs::File;

use bitcost_model::record::{CpuTicks, Sample};

use crate::read;
use crate::source::{Detail, Source, Target};

/// `/proc/stat`, kept open.
#[derive(Debug)]
pub struct CpuProbe {
    file: Option<File>,
    buffer: Vec<u8>,
}

impl CpuProbe {
    /// Opens `/proc/stat`; if that fails, every reading is empty.
    pub fn open() -> CpuProbe {
        CpuProbe {
            file: File::open("/proc/stat").ok(),
            buffer: Vec::new(),
        }
    }

    /// Each online CPU in the order of the file; empty if it cannot be read.
    pub fn read(&mut self) -> Vec<CpuTicks> {
        let Some(file) = &self.file else {
            return Vec::new();
        };
        let Some(length) = read::from_begin(file, &mut self.buffer, cpu_lines_are_complete) else {
            return Vec::new();
        };
        std::str::from_utf8(&self.buffer[..length])
            .map(parse)
            .unwrap_or_default()
    }
}

/// Opens the probe of a run.
pub(crate) fn open(_target: &Target) -> Option<Box<dyn Source>> {
    Some(Box::new(CpuProbe::open()))
}

impl Source for CpuProbe {
    fn read(&mut self, sample: &mut Sample, _detail: Detail) {
        sample.cpus = CpuProbe::read(self);
    }
}

/// Ticks per second of `/proc/stat` (`USER_HZ`).
pub fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

/// The per-CPU lines of `/proc/stat`; lines that cannot be parsed are left out.
///
/// The kernel counts guest and guest_nice in user and nice as well, so the last two fields are not
/// added.
pub fn parse(text: &str) -> Vec<CpuTicks> {
    text.lines()
        .take_while(|line| line.starts_with("cpu"))
        .filter_map(parse_line)
        .collect()
}

fn parse_line(line: &str) -> Option<CpuTicks> {
    let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
    if line.starts_with("cpu ") {
        return None;
    }
    let cpu = words.next()?.parse().ok()?;
    let mut fields = [0u64; 8];
    for field in &mut fields {
        *field = words.next()?.parse().ok()?;
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = fields;
    Some(CpuTicks {
        cpu,
        user: user.saturating_add(nice),
        system,
        irq,
        softirq,
        steal,
        idle,
        iowait,
    })
}

/// The CPU lines come first; `intr` follows them and is long.
fn cpu_lines_are_complete(text: &[u8]) -> bool {
    text.windows(5).any(|window| window == b"\nintr")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.18, two CPUs.
    const LINUX_6_18: &str = "\
cpu  5348 7 2290 274580 421 3 223 12 0 0
cpu0 2215 3 1045 138055 26 1 91 10 0 0
cpu1 3133 4 1244 136525 394 2 131 1 0 0
intr 504889 0 0 0
ctxt 1303263
cpu9 1 1 1 1 1 1 1 1 1 1
";

    /// Linux 2.6.32 has no guest_nice; CPU 1 is offline, and CPU 2 runs a virtual machine.
    const LINUX_2_6_32: &str = "\
cpu  300 0 100 1000 10 1 2 0 250
cpu0 10 0 50 600 5 0 1 0 0
cpu2 290 0 50 400 5 1 1 0 250
intr 10
";

    #[test]
    fn each_cpu_has_its_times() {
        let cpus = parse(LINUX_6_18);
        assert_eq!(cpus.len(), 2);
        let first = CpuTicks {
            cpu: 0,
            user: 2218,
            system: 1045,
            irq: 1,
            softirq: 91,
            steal: 10,
            idle: 138_055,
            iowait: 26,
        };
        assert_eq!(cpus[0], first);
        assert_eq!(cpus[1].cpu, 1);
    }

    #[test]
    fn guest_time_is_not_counted_twice() {
        let cpus = parse(LINUX_2_6_32);
        assert_eq!(cpus.iter().map(|cpu| cpu.cpu).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(cpus[1].user, 290);
        assert_eq!(cpus[1].busy(), 290 + 50 + 1 + 1);
    }

    #[test]
    fn unknown_lines_are_left_out() {
        assert!(parse("").is_empty());
        assert!(parse("cpu0 1 2 3\nintr 1\n").is_empty());
        assert!(parse("cpufreq 1 2 3 4 5 6 7 8\n").is_empty());
    }

    #[test]
    fn cpus_of_this_machine_are_read_repeatedly() {
        let mut probe = CpuProbe::open();
        let (before, after) = (probe.read(), probe.read());
        assert!(!before.is_empty());
        assert_eq!(before.len(), after.len());
        assert!(
            before
                .iter()
                .zip(&after)
                .all(|(before, after)| before.all() <= after.all())
        );
        assert!(ticks_per_second() >= 100);
    }
}
