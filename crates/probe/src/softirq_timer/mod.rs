//! The time of soft interrupts, by BPF programs at the kernel's trace points `softirq_entry` and
//! `softirq_exit` (kernel doc: trace/tracepoints, bpf), and their number, by `/proc/softirqs`.
//!
//! They are attached for as long as the timer is there, and time one of 7 soft interrupts of a kind on a CPU.

mod programs;

use std::io;

use bitcost_model::Unavailable;
use bitcost_model::counters::SoftirqTime;

use self::programs::Programs;
use crate::cores;

/// Times the soft interrupts of some CPUs, until it is dropped.
#[derive(Debug)]
pub struct SoftirqTimer {
    cpus: Vec<u32>,
    programs: Programs,
}

impl SoftirqTimer {
    pub fn start(cpus: &[u32]) -> Result<SoftirqTimer, Unavailable> {
        let say = |error: io::Error| Unavailable(error.to_string());
        let online = cores::of_this_host().online;
        if let Some(cpu) = cpus.iter().find(|cpu| !online.contains(cpu)) {
            return Err(Unavailable(format!("CPU {cpu} is not online")));
        }
        let most = cpus
            .iter()
            .max()
            .ok_or_else(|| Unavailable("no CPU is named".to_owned()))?;
        Ok(SoftirqTimer {
            cpus: cpus.to_vec(),
            programs: Programs::attach(*most).map_err(say)?,
        })
    }

    /// The soft interrupts of each kind on each of the CPUs, given the text of `/proc/softirqs`.
    pub fn read(&self, text: &str) -> Vec<SoftirqTime> {
        let mut lines = text.lines();
        let heads = lines.next().unwrap_or_default().split_ascii_whitespace();
        let cpus = heads.filter_map(|word| word.strip_prefix("CPU")?.parse::<u32>().ok());
        let cpus: Vec<u32> = cpus.collect();
        let mut found = Vec::new();
        for (kind, line) in (0..).zip(lines) {
            let (name, counts) = line.split_once(':').unwrap_or_default();
            let counts = counts.split_ascii_whitespace().map(str::parse::<u64>);
            let counted = cpus.iter().zip(counts);
            let own = counted.filter(|(cpu, _)| self.cpus.contains(cpu));
            found.extend(own.filter_map(|(cpu, count)| {
                let count = count.ok().filter(|count| *count > 0)?;
                let [timed, sum_ns, squares_ns2] = self.programs.read(*cpu, kind).ok()?;
                Some(SoftirqTime {
                    cpu: *cpu,
                    kind: name.trim().to_owned(),
                    count,
                    timed,
                    sum_ns,
                    squares_ns2,
                })
            }));
        }
        found
    }
}
