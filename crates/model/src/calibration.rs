//! Calibration: the capacity of a lab's path before a study's runs, setting by setting, and its
//! idle round trip.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::conditions::Conditions;
use crate::ping::Pings;

/// The measurements of the lab's path that were made before the first run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// The reason why nothing was measured; absent where something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// Round trips of the idle path; absent where none could be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Pings>,
    /// One capacity for each setting of the path that the cells have.
    #[serde(default)]
    pub capacities: Vec<Capacity>,
}

/// The capacity of the path with one setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// The cells that have the setting, by their place in the plan.
    pub cells: Vec<usize>,
    /// The saturation run that was made; absent where there is no capacity to measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturation: Option<Box<Saturation>>,
    /// The data that arrived; absent where it could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<Received>,
    /// The reason why nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
    /// The reason why the measured capacity is too low.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
}

/// A saturation run: the traffic that is sent to find the capacity of a path, and what it stands
/// for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Saturation {
    pub conditions: Conditions,
    /// Where datagrams replace TCP: the user data of a segment, and of the datagram in a packet of
    /// the same size, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts_as: Option<[u32; 2]>,
}

impl Saturation {
    /// The share of the received data that is user data to the cells' transport.
    pub fn user_share(&self) -> f64 {
        self.counts_as
            .map_or(1.0, |[user, payload]| f64::from(user) / f64::from(payload))
    }

    /// The time that it takes with its overhead, in milliseconds.
    pub fn takes_ms(&self) -> u32 {
        self.conditions.warmup_ms
            + self.conditions.duration_ms
            + crate::plan::RUN_OVERHEAD.as_millis() as u32
    }
}

/// The data that the receiver took between its first and its last reading of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Received {
    /// Bytes of the saturation run's payload.
    pub bytes: u64,
    /// The time between the two readings, in ns of the receiver's clock.
    pub elapsed_ns: u64,
}

impl Capacity {
    /// User data that the path carried, in Mbit/s, as the cells' own transport counts it.
    pub fn mbps(&self) -> Option<f64> {
        let (saturation, Received { bytes, elapsed_ns }) =
            (self.saturation.as_ref()?, self.received?);
        let mbps = bytes as f64 * 8.0 / elapsed_ns as f64 * 1e3 * saturation.user_share();
        (bytes > 0 && elapsed_ns > 0).then_some(mbps)
    }
}

impl Calibration {
    /// A calibration that was not made.
    pub fn without(reason: &str) -> Calibration {
        Calibration {
            left_out: Some(reason.to_owned()),
            ..Calibration::default()
        }
    }

    pub fn of_cell(&self, cell: usize) -> Option<&Capacity> {
        self.capacities
            .iter()
            .find(|capacity| capacity.cells.contains(&cell))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::{Conditions, Workload};

    #[test]
    fn capacity_is_counted_as_the_cell_counts_user_data() {
        let saturation_run = Saturation {
            conditions: Conditions::of(Workload::UdpStream),
            counts_as: Some([1448, 1472]),
        };
        let received = Some(Received {
            bytes: 1_472_000,
            elapsed_ns: 100_000_000,
        });
        let capacity = Capacity {
            cells: vec![1],
            saturation: Some(Box::new(saturation_run)),
            received,
            absent: None,
            caveat: None,
        };
        assert_eq!(
            capacity.mbps().map(|mbps| (mbps * 1000.0).round()),
            Some(115_840.0)
        );
        let calibration = Calibration {
            capacities: vec![capacity.clone()],
            ..Calibration::default()
        };
        assert!(calibration.of_cell(1).is_some() && calibration.of_cell(0).is_none());
        let nothing = Received {
            bytes: 0,
            elapsed_ns: 100_000_000,
        };
        assert_eq!(
            Capacity {
                received: Some(nothing),
                ..capacity.clone()
            }
            .mbps(),
            None
        );
        assert_eq!(
            Capacity {
                received: None,
                ..capacity
            }
            .mbps(),
            None
        );
    }
}
