//! Host constants: what a wake-up and copying a KiB cost on a machine, measured before the runs of an
//! execution.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Unavailable;
use crate::record::Role;

/// The constants of a host, each the median of its samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostConstants {
    /// Waking a thread on another CPU; absent where there is no other CPU, or it cannot be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_up: Option<WakeUp>,
    /// Copying a KiB from one cached buffer to another, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_kib_ns: Option<f64>,
}

/// The cost of waking a thread on another CPU: the lesser of those on an idle and on a busy CPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WakeUp {
    /// CPU time of the call that wakes, in ns.
    pub call_ns: f64,
    /// From the start of the call until the woken thread runs, in ns.
    pub run_ns: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineConstants {
    pub roles: Vec<Role>,
    /// Its constants; absent where they could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostConstants>,
    /// The reason why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
}

impl HostConstants {
    /// Checks what another host reports.
    pub fn check(&self) -> Result<(), Unavailable> {
        let of_wake_up = self.wake_up.map(|wake| [wake.call_ns, wake.run_ns]);
        let mut times = of_wake_up.into_iter().flatten().chain(self.copy_kib_ns);
        match times.all(|ns| (0.0..1e12).contains(&ns)) {
            true => Ok(()),
            false => Err(Unavailable(
                "the host reports a constant that is not a time from 0 to 1000 s".to_owned(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_of_another_host_are_checked() {
        let of = |call_ns, copy_kib_ns| HostConstants {
            wake_up: Some(WakeUp {
                call_ns,
                run_ns: 3000.0,
            }),
            copy_kib_ns,
        };
        assert_eq!(of(1000.0, Some(50.0)).check(), Ok(()));
        assert_eq!(HostConstants::default().check(), Ok(()));
        for wrong in [of(-1.0, None), of(f64::NAN, None), of(1.0, Some(1e13))] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
