//! The knob "governor": how a CPU chooses its frequency (kernel doc: admin-guide/pm/cpufreq).

use std::fs;
use std::path::PathBuf;

use bitcost_model::host_settings::{GOVERNOR, HostSetting};
use bitcost_model::near::did_you_mean;

use crate::HostError;
use crate::device::shown;
use crate::knob::{Knob, Scope};
use crate::values::{VALUE, Values, single};

/// The knob. Its subjects are CPUs: `cpu0`.
pub struct Governor {
    /// The folder that has one folder per CPU.
    pub root: &'static str,
}

impl Governor {
    /// A file of a CPU. The name becomes a part of the path, so it must be that of a CPU.
    fn file(&self, cpu: &str, name: &str) -> Result<PathBuf, HostError> {
        self.check_subject(cpu)?;
        Ok(PathBuf::from(self.root)
            .join(cpu)
            .join("cpufreq")
            .join(name))
    }
}

impl Knob for Governor {
    fn name(&self) -> &'static str {
        GOVERNOR.setting
    }

    fn check_subject(&self, cpu: &str) -> Result<(), HostError> {
        let number = cpu
            .strip_prefix("cpu")
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
        match number.and_then(|digits| digits.parse::<u32>().ok()) {
            Some(_) => Ok(()),
            None => Err(HostError::cannot(
                format!("use the CPU {}", shown(cpu)),
                "allowed: names such as cpu0",
            )),
        }
    }

    fn scope(&self, _cpu: &str) -> Scope {
        Scope::Machine
    }

    fn subjects_of(&self, _device: &str, _: &HostSetting) -> Result<Vec<String>, HostError> {
        let cpus = self.subjects();
        if cpus.is_empty() {
            return Err(HostError::cannot(
                "set the governor",
                "this machine has no frequency scaling",
            ));
        }
        Ok(cpus)
    }

    fn subjects(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let has_governor = |name: &str| {
            self.file(name, "scaling_governor")
                .is_ok_and(|path| path.exists())
        };
        let mut cpus: Vec<String> = names.filter(|name| has_governor(name)).collect();
        cpus.sort_by_key(|name| (name.len(), name.clone()));
        cpus
    }

    fn label(&self, cpu: &str, _value: &str) -> String {
        format!("governor.{cpu}")
    }

    fn observe(&self, cpu: &str) -> Result<Values, HostError> {
        let text = fs::read_to_string(self.file(cpu, "scaling_governor")?).map_err(|error| {
            let why = format!("{error}; this machine has no frequency scaling");
            HostError::cannot(format!("read the governor of {cpu}"), why)
        })?;
        Ok(single(text.trim()))
    }

    fn plan(&self, cpu: &str, _now: &Values, request: &HostSetting) -> Result<Values, HostError> {
        let asked = &request.to_string();
        let known =
            fs::read_to_string(self.file(cpu, "scaling_available_governors")?).unwrap_or_default();
        let known: Vec<&str> = known.split_ascii_whitespace().collect();
        if !known.is_empty() && !known.contains(&asked.as_str()) {
            let why = format!(
                "it has: {}{}",
                known.join(", "),
                did_you_mean(asked, known.iter().copied())
            );
            return Err(HostError::cannot(
                format!("set the governor of {cpu} to {asked}"),
                why,
            ));
        }
        Ok(single(asked))
    }

    fn write(&self, cpu: &str, _now: &Values, values: &Values) -> Result<(), HostError> {
        let value = values.get(VALUE).map(String::as_str).unwrap_or_default();
        fs::write(self.file(cpu, "scaling_governor")?, value).map_err(|error| {
            HostError::cannot(format!("set the governor of {cpu} to {value}"), error)
        })
    }
}
