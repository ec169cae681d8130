//! The knob "idle": whether CPUs that have nothing to do sleep (kernel doc:
//! admin-guide/pm/cpuidle, "Power Management Quality of Service for CPUs").
//!
//! A process that holds `/dev/cpu_dma_latency` open with the value 0 makes every idle CPU poll. The
//! kernel ends that when the file is closed, however the process ends.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use bitcost_model::host_settings::{HostSetting, IDLE};

use crate::HostError;
use crate::device::shown;
use crate::knob::{Knob, Scope};
use crate::values::{VALUE, Values, single};

/// The only subject: all CPUs of the machine.
const CPUS: &str = "cpus";

/// CPUs that have nothing to do poll.
const POLL: &str = "poll";

/// This process requests nothing.
const NOT_REQUESTED: &str = "not requested";

/// The knob. Its value is what this process requests, and whether that is in effect: other
/// processes may request the same.
pub struct Idle {
    /// The device: an `i32` in the machine's byte order, in µs.
    pub path: &'static str,
    /// The device, while this process holds it open.
    pub held: Mutex<Option<File>>,
}

impl Idle {
    fn held(&self) -> std::sync::MutexGuard<'_, Option<File>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cannot(&self, what: &str, error: &io::Error) -> HostError {
        let why = match error.kind() {
            ErrorKind::NotFound => "; this kernel or container has no such device",
            ErrorKind::PermissionDenied => {
                "; this needs root, or permission to write that file, such as by `setfacl`"
            }
            _ => "",
        };
        HostError::cannot(format!("{what} {}", self.path), format!("{error}{why}"))
    }
}

impl Knob for Idle {
    fn name(&self) -> &'static str {
        IDLE.setting
    }

    fn check_subject(&self, subject: &str) -> Result<(), HostError> {
        if subject == CPUS {
            return Ok(());
        }
        Err(HostError::cannot(
            format!("use {} for the setting idle", shown(subject)),
            format!("allowed: {CPUS}"),
        ))
    }

    fn scope(&self, _subject: &str) -> Scope {
        Scope::Machine
    }

    fn ends_with_process(&self) -> bool {
        true
    }

    fn subjects(&self) -> Vec<String> {
        let exists = std::path::Path::new(self.path).exists();
        exists.then(|| CPUS.to_owned()).into_iter().collect()
    }

    fn subjects_of(&self, _device: &str, _: &HostSetting) -> Result<Vec<String>, HostError> {
        Ok(vec![CPUS.to_owned()])
    }

    fn observe(&self, _subject: &str) -> Result<Values, HostError> {
        let held = self.held();
        let Some(file) = held.as_ref() else {
            return Ok(single(NOT_REQUESTED));
        };
        // The device reports the smallest request of all processes.
        let mut bytes = [0; 4];
        file.read_exact_at(&mut bytes, 0)
            .map_err(|error| self.cannot("read", &error))?;
        Ok(match i32::from_ne_bytes(bytes) {
            0 => single(POLL),
            least => single(format!("{least} us")),
        })
    }

    fn plan(&self, _: &str, _now: &Values, request: &HostSetting) -> Result<Values, HostError> {
        Ok(single(request.to_string()))
    }

    fn write(&self, _subject: &str, _now: &Values, values: &Values) -> Result<(), HostError> {
        let mut held = self.held();
        // Closing the file ends the request.
        *held = None;
        if values.get(VALUE).map(String::as_str) != Some(POLL) {
            return Ok(());
        }
        let file = OpenOptions::new().read(true).write(true).open(self.path);
        let file = file.map_err(|error| self.cannot("open", &error))?;
        file.write_all_at(&0i32.to_ne_bytes(), 0)
            .map_err(|error| self.cannot("write to", &error))?;
        *held = Some(file);
        Ok(())
    }
}
