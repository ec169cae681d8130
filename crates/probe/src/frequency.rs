//! The frequency of each CPU: `scaling_cur_freq` (kernel doc: admin-guide/pm/cpufreq). Some kernels
//! measure for up to 20 ms.

use std::fs::File;

use bitcost_model::counters::Frequency;
use bitcost_model::record::Sample;

use crate::read;
use crate::source::{Detail, Source, Target};

struct Frequencies {
    files: Vec<(u32, File)>,
    buffer: Vec<u8>,
}

/// Opens the file of each online CPU; absent if none has one.
pub fn open(_target: &Target) -> Option<Box<dyn Source>> {
    let path = |cpu: &u32| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq");
    let cpus = crate::host::cpus();
    let files: Vec<(u32, File)> = cpus
        .iter()
        .filter_map(|cpu| Some((*cpu, File::open(path(cpu)).ok()?)))
        .collect();
    (!files.is_empty()).then(|| {
        Box::new(Frequencies {
            files,
            buffer: Vec::new(),
        }) as Box<dyn Source>
    })
}

impl Source for Frequencies {
    fn read(&mut self, sample: &mut Sample, _detail: Detail) {
        let Frequencies { files, buffer } = self;
        let found = files.iter().filter_map(|(cpu, file)| {
            let khz = parse(read::whole(file, buffer)?)?;
            Some(Frequency { cpu: *cpu, khz })
        });
        sample.frequencies = found.collect();
    }
}

/// A number of kHz; absent if the driver reports `<unknown>` or 0.
pub fn parse(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|khz| *khz > 0)
}
