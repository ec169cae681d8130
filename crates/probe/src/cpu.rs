//! Each CPU's times from `/proc/stat` (kernel doc: filesystems/proc, 1.7).

use bitcost_model::cpu_list::CPUS_MOST;
use bitcost_model::record::CpuTicks;

use crate::read::Kept;
use crate::source::{Source, Target, source};

/// `/proc/stat`; if it cannot be opened, every reading is empty.
#[derive(Debug)]
pub struct CpuProbe(Option<Kept>);

impl CpuProbe {
    pub fn open() -> CpuProbe {
        CpuProbe(Kept::open("/proc/stat"))
    }

    /// Each online CPU in the order of the file; empty if it cannot be read.
    pub fn read(&mut self) -> Vec<CpuTicks> {
        // The CPU lines come first; `intr` follows them and is long.
        let is_complete = |text: &[u8]| text.windows(5).any(|window| window == b"\nintr");
        let text = self
            .0
            .as_mut()
            .and_then(|file| file.text_until(is_complete));
        text.map(parse).unwrap_or_default()
    }
}

pub(crate) fn open(_target: &Target) -> Option<Source> {
    let mut probe = CpuProbe::open();
    source(move |sample, _| sample.cpus = probe.read())
}

/// Ticks per second of `/proc/stat` (`USER_HZ`).
pub fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

/// The per-CPU lines of `/proc/stat`, of the first [`CPUS_MOST`]; lines that cannot be parsed are left out.
///
/// The kernel counts guest and guest_nice in user and nice as well, so the last two fields are not
/// added.
pub fn parse(text: &str) -> Vec<CpuTicks> {
    text.lines()
        .take_while(|line| line.starts_with("cpu"))
        .filter_map(parse_line)
        .take(CPUS_MOST)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_lines_are_left_out() {
        assert!(parse("").is_empty());
        assert!(parse("cpu0 1 2 3\nintr 1\n").is_empty());
        assert!(parse("cpufreq 1 2 3 4 5 6 7 8\n").is_empty());
    }
}
