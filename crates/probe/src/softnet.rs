//! Soft interrupts for received packets, by CPU: `/proc/net/softnet_stat` (net/core/net-procfs.c).
//!
//! Lines of hexadecimal columns without names; later kernels append some.

use bitcost_model::counters::Softnet;
use bitcost_model::cpu_list::CPUS_MOST;

use crate::read::Kept;
use crate::source::{Source, Target, source};

/// Column of the packets that found the backlog full.
const DROPPED: usize = 1;
/// Column of the CPU's number (Linux 5.10).
const CPU: usize = 12;

pub fn open(_target: &Target) -> Option<Source> {
    let mut file = Kept::open("/proc/net/softnet_stat")?;
    source(move |sample, _| sample.softnet = file.text().map(parse).unwrap_or_default())
}

/// A line for each online CPU, of which the first [`CPUS_MOST`] are read; lines that cannot be parsed are left out.
pub fn parse(text: &str) -> Vec<Softnet> {
    text.lines()
        .enumerate()
        .filter_map(|(number, line)| parse_line(number, line))
        .take(CPUS_MOST)
        .collect()
}

fn parse_line(number: usize, line: &str) -> Option<Softnet> {
    let columns = line
        .split_ascii_whitespace()
        .map(|word| u32::from_str_radix(word, 16));
    let columns = columns.collect::<Result<Vec<u32>, _>>().ok()?;
    Some(Softnet {
        cpu: columns.get(CPU).copied().unwrap_or(number as u32),
        dropped: *columns.get(DROPPED)?,
    })
}
