//! The knobs "threaded_napi" and "rps_cpus": which thread and which CPUs handle what a device
//! receives. Values are the texts of the kernel's files (kernel doc: networking/napi,
//! networking/scaling).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use bitcost_model::host_settings::{self, HostSetting};
use bitcost_sys::namespace::PrivateSysfs;
use rustix::io::Errno;

use crate::HostError;
use crate::device::{check_name, link};
use crate::knob::Knob;
use crate::snapshot::sysfs_of;
use crate::values::{VALUE, Values};

/// A knob of files of sysfs.
pub struct ReceivePath {
    name: &'static str,
    /// Whether each receive queue has one of these files (`rps_cpus`), or the device (`threaded`).
    is_of_queues: bool,
}

pub const THREADED_NAPI: ReceivePath = ReceivePath {
    name: host_settings::THREADED_NAPI.setting,
    is_of_queues: false,
};

/// The knob "rps_cpus". Its values are those of the receive queues: `rx-0`.
pub const RPS_CPUS: ReceivePath = ReceivePath {
    name: host_settings::RPS_CPUS.setting,
    is_of_queues: true,
};

impl ReceivePath {
    fn refused(&self, device: &str, why: impl ToString) -> HostError {
        let what = format!("read or set {} of {device}", self.name);
        HostError::cannot(what, why.to_string())
    }

    /// A sysfs that shows the device, and the file of each value.
    fn files(&self, device: &str) -> Result<(PrivateSysfs, BTreeMap<String, PathBuf>), HostError> {
        check_name(device)?;
        let why =
            "sysfs is not mounted for this network namespace; mount it (mount -t sysfs sysfs /sys)";
        let sysfs = sysfs_of(&link(device)?).ok_or_else(|| self.refused(device, why))?;
        let folder = Path::new("class/net").join(device);
        if !self.is_of_queues {
            let file = (VALUE.to_owned(), folder.join("threaded"));
            return Ok((sysfs, BTreeMap::from([file])));
        }
        let queues = folder.join("queues");
        let names = sysfs.names(&queues).unwrap_or_default().into_iter();
        let receiving = names.filter(|name| name.starts_with("rx-"));
        let files = receiving.map(|name| (name.clone(), queues.join(name).join("rps_cpus")));
        Ok((sysfs, files.collect()))
    }
}

impl Knob for ReceivePath {
    fn name(&self) -> &'static str {
        self.name
    }

    fn observe(&self, device: &str) -> Result<Values, HostError> {
        let (sysfs, files) = self.files(device)?;
        let read = |(name, file): (String, PathBuf)| Some((name, sysfs.read(&file).ok()?));
        Ok(files.into_iter().filter_map(read).collect())
    }

    fn plan(&self, device: &str, now: &Values, request: &HostSetting) -> Result<Values, HostError> {
        let asked = match request {
            HostSetting::ThreadedNapi(on) => u32::from(*on).to_string(),
            HostSetting::RpsCpus(cpus) => mask(cpus),
            _ => return Err(self.not_its(request)),
        };
        if now.is_empty() {
            return Err(self.refused(device, "this kernel does not support it"));
        }
        let names = now.keys().cloned();
        Ok(names.map(|name| (name, asked.clone())).collect())
    }

    fn write(&self, device: &str, _now: &Values, values: &Values) -> Result<(), HostError> {
        let (sysfs, files) = self.files(device)?;
        for (name, value) in values {
            let file = files.get(name);
            let file = file.ok_or_else(|| self.refused(device, format!("it has no {name}")))?;
            let written = sysfs.write(file, value);
            written.map_err(|error| match error.kind() {
                io::ErrorKind::Unsupported => {
                    self.refused(device, "it has no NAPI; a veth has it while GRO is on")
                }
                // The mask has more CPUs than the kernel knows.
                _ if error.raw_os_error() == Some(Errno::OVERFLOW.raw_os_error()) => {
                    let online = sysfs.read(Path::new("devices/system/cpu/online"));
                    let online = online.unwrap_or_default();
                    self.refused(device, format!("allowed: CPUs that exist, {online}"))
                }
                _ => self.refused(device, error),
            })?;
        }
        Ok(())
    }

    /// The kernel prints a mask with commas, and with as many digits as it has CPUs.
    fn agrees(&self, _name: &str, asked: &str, actual: &str) -> bool {
        let digits = |mask: &str| mask.replace(',', "").trim_start_matches('0').to_owned();
        digits(asked) == digits(actual)
    }
}

/// The mask of CPUs, in words of 32 bits, that of the highest CPUs first.
fn mask(cpus: &[u32]) -> String {
    let words = cpus.iter().max().map_or(1, |most| most / 32 + 1);
    let word = |word: u32| {
        let own = cpus.iter().filter(|cpu| *cpu / 32 == word);
        let bits = own.fold(0_u32, |bits, cpu| bits | 1 << (cpu % 32));
        format!("{bits:08x}")
    };
    let words: Vec<String> = (0..words).rev().map(word).collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_the_highest_cpus_first() {
        assert_eq!(mask(&[0, 1, 33]), "00000002,00000003");
        assert_eq!(mask(&[]), "00000000");
    }
}
