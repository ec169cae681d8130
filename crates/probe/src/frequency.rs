//! The frequency of each CPU: `scaling_cur_freq` (kernel doc: admin-guide/pm/cpufreq). Some kernels
//! measure for up to 20 ms.

use bitcost_model::counters::Frequency;

use crate::read::Kept;
use crate::source::{Source, Target, source};

/// Opens the file of each online CPU; absent if none has one.
pub fn open(_target: &Target) -> Option<Source> {
    let path = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
    let cpus = crate::host::cpus().into_iter();
    let files = cpus.filter_map(|cpu| Some((cpu, Kept::open(path(cpu))?)));
    let mut files: Vec<(u32, Kept)> = files.collect();
    files.first()?;
    source(move |sample, _| {
        let found = files.iter_mut().filter_map(|(cpu, file)| {
            let khz = parse(file.text()?)?;
            Some(Frequency { cpu: *cpu, khz })
        });
        sample.frequencies = found.collect();
    })
}

/// A number of kHz; absent if the driver reports `<unknown>` or 0.
pub fn parse(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|khz| *khz > 0)
}
