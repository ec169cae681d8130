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
