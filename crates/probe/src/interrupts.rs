//! Interrupts that each CPU took: `/proc/interrupts` and `/proc/softirqs` (kernel doc:
//! filesystems/proc, 1.2).

use std::fs::File;

use bitcost_model::counters::CpuInterrupts;
use bitcost_model::record::Sample;

use crate::read;
use crate::soft_counts::{heads, soft_counts};
use crate::source::{Detail, Source, Target};

struct Interrupts {
    hard: File,
    soft: Option<File>,
    device: String,
    buffer: Vec<u8>,
}

/// Opens the files.
pub fn open(target: &Target) -> Option<Box<dyn Source>> {
    let hard = File::open("/proc/interrupts").ok()?;
    let soft = File::open("/proc/softirqs").ok();
    Some(Box::new(Interrupts {
        hard,
        soft,
        device: target.device.clone(),
        buffer: Vec::new(),
    }))
}

impl Source for Interrupts {
    fn read(&mut self, sample: &mut Sample, _detail: Detail) {
        let Interrupts {
            hard,
            soft,
            device,
            buffer,
        } = self;
        let mut cpus = read::whole(hard, buffer)
            .map(|text| parse(text, device))
            .unwrap_or_default();
        if let Some(text) = soft.as_ref().and_then(|soft| read::whole(soft, buffer)) {
            add_soft(&mut cpus, text);
        }
        sample.interrupts = cpus;
    }
}

/// The CPUs of the head line with the sum of each one's column; also of the lines named after
/// `device`.
pub fn parse(text: &str, device: &str) -> Vec<CpuInterrupts> {
    let mut lines = text.lines();
    let mut cpus: Vec<CpuInterrupts> = heads(lines.next())
        .into_iter()
        .map(|cpu| CpuInterrupts {
            cpu,
            ..CpuInterrupts::default()
        })
        .collect();
    for line in lines {
        let Some((_, rest)) = line.split_once(':') else {
            continue;
        };
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        // Lines of errors have one number, for all CPUs together.
        if words.len() < cpus.len()
            || words[..cpus.len()]
                .iter()
                .any(|word| word.parse::<u64>().is_err())
        {
            continue;
        }
        let is_device = words[cpus.len()..].iter().any(|word| is_of(word, device));
        for (cpu, word) in cpus.iter_mut().zip(&words) {
            let count = word.parse::<u64>().unwrap_or_default();
            cpu.all = cpu.all.saturating_add(count);
            if is_device {
                cpu.device = Some(cpu.device.unwrap_or(0).saturating_add(count));
            }
        }
    }
    cpus
}

/// Drivers name their lines `eth0`, `eth0-rx-0`, `i40e-eth0-TxRx-3`, `mlx5_comp0@pci…`; only those
/// with the interface's name are reported.
fn is_of(word: &str, device: &str) -> bool {
    let is_part = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.');
    !device.is_empty() && word.split(is_part).any(|part| part == device)
}

/// Adds the soft interrupts of the network.
pub fn add_soft(cpus: &mut [CpuInterrupts], text: &str) {
    for soft in soft_counts(text) {
        let Some(cpu) = cpus.iter_mut().find(|cpu| cpu.cpu == soft.cpu) else {
            continue;
        };
        match soft.name {
            "NET_TX" => cpu.net_tx = Some(soft.count),
            "NET_RX" => cpu.net_rx = Some(soft.count),
            _ => {}
        }
    }
}
