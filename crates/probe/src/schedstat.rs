//! A thread's time as the scheduler counts it: `/proc/PID/task/TID/schedstat` (kernel doc:
//! scheduler/sched-stats).
//!
//! The kernel brings a running thread's figure up to date at each tick and switch, so a reading
//! from another CPU may be up to one tick old.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bitcost_model::record::{ThreadKind, ThreadTime};

/// One thread's `schedstat`, kept open. A reading allocates nothing.
#[derive(Debug)]
pub struct ThreadProbe {
    kind: ThreadKind,
    file: Option<File>,
}

impl ThreadProbe {
    /// Opens the `schedstat` at `path`: `/proc/thread-self/schedstat` of the calling thread,
    /// `/proc/self/task/TID/schedstat` of one of this program's, `/proc/PID/schedstat` of a kernel
    /// thread. If that fails, every reading is absent.
    pub fn open(kind: ThreadKind, path: &Path) -> ThreadProbe {
        ThreadProbe {
            kind,
            file: File::open(path).ok(),
        }
    }

    /// The thread's time so far; absent if it cannot be read, or once the thread is gone.
    pub fn read(&self) -> Option<ThreadTime> {
        let mut buffer = [0; 96];
        let length = self.file.as_ref()?.read_at(&mut buffer, 0).ok()?;
        parse(self.kind, std::str::from_utf8(&buffer[..length]).ok()?)
    }
}

/// The three numbers of a `schedstat` file: run time and wait time in ns, slices.
///
/// Absent if they are not three numbers, or all 0, as a kernel without scheduler statistics prints.
pub fn parse(kind: ThreadKind, text: &str) -> Option<ThreadTime> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
    let mut next = || numbers.next()?.ok();
    let time = ThreadTime {
        kind,
        part: 0,
        run_ns: next()?,
        wait_ns: next()?,
        slices: next()?,
        switches: None,
    };
    (time.run_ns > 0 || time.wait_ns > 0 || time.slices > 0).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_without_scheduler_statistics_has_no_time() {
        assert_eq!(parse(ThreadKind::Traffic, "0 0 0\n"), None);
        assert_eq!(parse(ThreadKind::Traffic, "1 2\n"), None);
        assert_eq!(parse(ThreadKind::Traffic, ""), None);
    }
}
