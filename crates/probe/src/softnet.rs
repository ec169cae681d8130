//! Soft interrupts for received packets, by CPU: `/proc/net/softnet_stat` (net/core/net-procfs.c).
//!
//! Lines of hexadecimal columns without names; later kernels append some.

use std::fs::File;

use bitcost_model::counters::Softnet;
use bitcost_model::record::Sample;

use crate::read;
use crate::source::{Detail, Source, Target};

/// Column of the times that another CPU handed packets over (Linux 2.6.35).
const RECEIVED_RPS: usize = 9;
/// Column of the flow limit's drops (Linux 3.11).
const FLOW_LIMIT: usize = 10;
/// Column of the CPU's number (Linux 5.10).
const CPU: usize = 12;

struct SoftnetStat {
    file: File,
    buffer: Vec<u8>,
}

/// Opens the file.
pub fn open(_target: &Target) -> Option<Box<dyn Source>> {
    let file = File::open("/proc/net/softnet_stat").ok()?;
    Some(Box::new(SoftnetStat {
        file,
        buffer: Vec::new(),
    }))
}

impl Source for SoftnetStat {
    fn read(&mut self, sample: &mut Sample, _detail: Detail) {
        sample.softnet = read::whole(&self.file, &mut self.buffer)
            .map(parse)
            .unwrap_or_default();
    }
}

/// A line for each online CPU; lines that cannot be parsed are left out.
pub fn parse(text: &str) -> Vec<Softnet> {
    text.lines()
        .enumerate()
        .filter_map(|(number, line)| parse_line(number, line))
        .collect()
}

fn parse_line(number: usize, line: &str) -> Option<Softnet> {
    let columns = line
        .split_ascii_whitespace()
        .map(|word| u32::from_str_radix(word, 16));
    let columns = columns.collect::<Result<Vec<u32>, _>>().ok()?;
    let [processed, dropped, time_squeeze, ..] = columns[..] else {
        return None;
    };
    Some(Softnet {
        cpu: columns.get(CPU).copied().unwrap_or(number as u32),
        processed,
        dropped,
        time_squeeze,
        received_rps: columns.get(RECEIVED_RPS).copied(),
        flow_limit: columns.get(FLOW_LIMIT).copied(),
    })
}
