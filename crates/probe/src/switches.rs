//! A thread's context switches: `/proc/PID/task/TID/status` (proc(5)). Exact at the reading.

use std::fs::File;
use std::path::Path;

use bitcost_model::record::Switches;

use crate::read;

/// One thread's `status`, kept open.
#[derive(Debug)]
pub struct SwitchProbe {
    file: Option<File>,
}

impl SwitchProbe {
    /// Opens the `status` at `path`; if that fails, every reading is absent.
    pub fn open(path: &Path) -> SwitchProbe {
        SwitchProbe {
            file: File::open(path).ok(),
        }
    }

    /// The switches so far; absent if they cannot be read, or once the thread is gone. The buffer
    /// is for readings of many threads, one after the other.
    pub fn read(&self, buffer: &mut Vec<u8>) -> Option<Switches> {
        let length = read::from_begin(self.file.as_ref()?, buffer, |text| text.ends_with(b"\n"))?;
        parse(std::str::from_utf8(&buffer[..length]).ok()?)
    }
}

/// The two counters at the end of a `status` file.
pub fn parse(text: &str) -> Option<Switches> {
    let number = |name: &str| {
        let line = text
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    Some(Switches {
        voluntary: number("voluntary_ctxt_switches:")?,
        involuntary: number("nonvoluntary_ctxt_switches:")?,
    })
}
