//! Host constants: the costs of the elementary operations of a machine, which are measured before
//! the runs of an execution.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Unavailable;
use crate::record::Role;

/// A constant with its words.
#[derive(Clone, Copy, Debug)]
pub struct ConstantRow {
    /// The constant.
    pub constant: Constant,
    /// Its key in documents.
    pub name: &'static str,
    /// Its title, the subject of a sentence with the verb *takes*.
    pub title: &'static str,
    /// Its unit.
    pub unit: &'static str,
}

/// A row is: the constant, its key in documents, its title and its unit.
macro_rules! constants {
    ($($(#[$about:meta])* $constant:ident $name:literal $title:literal $unit:literal;)*) => {
        /// An elementary operation whose cost is measured.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum Constant {
            $($(#[$about])* $constant,)*
        }

        /// Every constant, in the order in which they are listed.
        pub const CONSTANTS: &[ConstantRow] = &[$(ConstantRow {
            constant: Constant::$constant,
            name: $name,
            title: $title,
            unit: $unit,
        }),*];
    };
}

constants! {
    /// Reading the monotonic clock.
    ClockRead "clock_read" "a clock read" "ns";
    /// A system call that does nothing.
    SystemCall "system_call" "a system call" "ns";
    /// The time that a timer interrupt takes from the thread that it interrupts.
    TimerInterrupt "timer_interrupt" "a timer interrupt" "ns";
    /// Copying a KiB from cache to cache.
    CopyInCache "copy_in_cache" "copying in cache" "ns/KiB";
    /// Copying a KiB from memory to memory, both outside of the last-level cache.
    CopyBeyondCache "copy_beyond_cache" "copying beyond the last-level cache" "ns/KiB";
    /// The call that wakes a thread on the caller's CPU, which has no other thread to run.
    WakeSameIdle "wake_same_idle" "waking a thread on the same CPU" "ns";
    /// The same on a CPU that another thread keeps busy.
    WakeSameBusy "wake_same_busy" "waking a thread on the same CPU, which is busy" "ns";
    /// The call that wakes a thread on another CPU, which is idle.
    WakeOtherIdle "wake_other_idle" "waking a thread on another CPU, which is idle" "ns";
    /// The same on a CPU that another thread keeps busy.
    WakeOtherBusy "wake_other_busy" "waking a thread on another CPU, which is busy" "ns";
    /// From the start of the call of [`Constant::WakeSameIdle`] until the woken thread runs.
    RunSameIdle "run_same_idle" "the start of a thread woken on the same CPU" "ns";
    /// From the start of the call of [`Constant::WakeSameBusy`] until the woken thread runs.
    RunSameBusy "run_same_busy" "the start of a thread woken on the same CPU, which is busy" "ns";
    /// From the start of the call of [`Constant::WakeOtherIdle`] until the woken thread runs.
    RunOtherIdle "run_other_idle" "the start of a thread woken on another CPU, which is idle" "ns";
    /// From the start of the call of [`Constant::WakeOtherBusy`] until the woken thread runs.
    RunOtherBusy "run_other_busy" "the start of a thread woken on another CPU, which is busy" "ns";
    /// The time in which a cache line goes from one CPU to another and back.
    CoreToCore "core_to_core" "a cache line's round trip between two CPUs" "ns";
}

impl Constant {
    /// Its row.
    pub fn row(self) -> &'static ConstantRow {
        &CONSTANTS[self as usize]
    }
}

/// A measured constant: the middle of its samples and their spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConstantFigure {
    /// Median of the samples.
    pub median_ns: f64,
    /// Their 5th percentile.
    pub p5_ns: f64,
    /// Their 95th percentile.
    pub p95_ns: f64,
    /// Number of samples.
    pub samples: u32,
}

impl ConstantFigure {
    /// A time in words: `178 ns`, `4.10 µs`, `22.6 µs`.
    pub fn words(ns: f64) -> String {
        match ns {
            ..1000.0 => format!("{ns:.0} ns"),
            ..10_000.0 => format!("{:.2} µs", ns / 1000.0),
            _ => format!("{:.1} µs", ns / 1000.0),
        }
    }
}

/// One constant of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredConstant {
    /// Which one.
    pub constant: Constant,
    /// Its figure; absent where it could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<ConstantFigure>,
    /// The reason why there is no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
}

/// The constants of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostConstants {
    /// The CPU on which everything was measured, then the one on which threads were woken; absent
    /// where there was no such CPU.
    pub cpus: Vec<u32>,
    /// Each constant once, in the order of [`CONSTANTS`].
    pub constants: Vec<MeasuredConstant>,
}

/// The constants of one machine, with the endpoints on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineConstants {
    /// The endpoints on the machine.
    pub roles: Vec<Role>,
    /// Its constants; absent where they could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostConstants>,
    /// The reason why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
}

/// The longest reason that a host may give for a missing constant, in bytes.
const REASON_BYTES_MAX: usize = 1000;

impl HostConstants {
    /// The figure of a constant; absent where it could not be measured.
    pub fn figure(&self, constant: Constant) -> Option<ConstantFigure> {
        let found = self.constants.iter().find(|one| one.constant == constant);
        found.and_then(|one| one.figure)
    }

    /// Checks what another host reports.
    ///
    /// # Errors
    /// A sentence, where it cannot be the result of a measurement.
    pub fn check(&self) -> Result<(), Unavailable> {
        let cannot = |why: &str| {
            Err(Unavailable(format!(
                "the host reports impossible constants: {why}"
            )))
        };
        if self.constants.len() > CONSTANTS.len() || self.cpus.len() > 2 {
            return cannot("there are too many");
        }
        for MeasuredConstant {
            constant,
            figure,
            absent,
        } in &self.constants
        {
            let name = constant.row().name;
            let is_possible = figure.is_none_or(|figure| {
                let ordered = [0.0, figure.p5_ns, figure.median_ns, figure.p95_ns, 1e12];
                ordered.is_sorted() && figure.samples > 0
            });
            if !is_possible {
                return cannot(&format!("{name} is out of range"));
            }
            if figure.is_some() == absent.is_some()
                || absent
                    .as_ref()
                    .is_some_and(|why| why.len() > REASON_BYTES_MAX)
            {
                return cannot(&format!("{name} has no figure and no reason"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(figure: Option<ConstantFigure>, absent: Option<&str>) -> HostConstants {
        HostConstants {
            cpus: vec![0, 1],
            constants: vec![MeasuredConstant {
                constant: Constant::SystemCall,
                figure,
                absent: absent.map(str::to_owned),
            }],
        }
    }

    const FIGURE: ConstantFigure = ConstantFigure {
        median_ns: 100.0,
        p5_ns: 90.0,
        p95_ns: 130.0,
        samples: 200,
    };

    #[test]
    fn each_constant_has_one_row_with_its_key() {
        for row in CONSTANTS {
            let named = CONSTANTS.iter().filter(|other| other.name == row.name);
            assert_eq!(named.count(), 1, "{}", row.name);
            let key = serde_json::to_value(row.constant).expect("serializable");
            assert_eq!(key, row.name);
            assert_eq!(row.constant.row().name, row.name);
        }
    }

    #[test]
    fn constants_of_another_host_are_checked() {
        assert_eq!(of(Some(FIGURE), None).check(), Ok(()));
        assert_eq!(of(None, Some("one CPU")).check(), Ok(()));
        let wrong = [
            of(None, None),
            of(Some(FIGURE), Some("both")),
            of(
                Some(ConstantFigure {
                    p5_ns: 110.0,
                    ..FIGURE
                }),
                None,
            ),
            of(
                Some(ConstantFigure {
                    p5_ns: -1.0,
                    ..FIGURE
                }),
                None,
            ),
            of(None, Some(&"x".repeat(2000))),
        ];
        for wrong in wrong {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
