//! Calibration: what the path of a lab carries before a study's runs, setting by setting, and its idle round trip.
//!
//! Pure: what is sent stands in [`Flood`], and what came is another's to say.

mod flood;

use serde::{Deserialize, Serialize};

use crate::ping::Pings;

pub use flood::{Flood, Ground, LENGTHS, Lengths, floods};

/// What was measured of the lab's path before the first run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Why nothing was measured; absent where something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// Round trips with nothing else under way; absent where none could be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Pings>,
    /// One for each setting of the path that the cells have.
    #[serde(default)]
    pub ceilings: Vec<Ceiling>,
}

/// What the path carried with one setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// The cells that have the setting, by their place in the plan.
    pub cells: Vec<usize>,
    /// What was sent; absent where there is no ceiling to measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flood: Option<Box<Flood>>,
    /// What came; absent where it could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<Received>,
    /// Why nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
    /// What makes it too low.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
}

/// What the receiver took between its first and its last reading of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// Bytes of the flood's own payload.
    pub bytes: u64,
    /// The time between the two readings, in ns of the receiver's clock.
    pub elapsed_ns: u64,
}

impl Ceiling {
    /// User data that the path carried, in Mbit/s, as the cells' own transport counts it.
    pub fn mbps(&self) -> Option<f64> {
        let (flood, Received { bytes, elapsed_ns }) = (self.flood.as_ref()?, self.received?);
        let mbps = bytes as f64 * 8.0 / elapsed_ns as f64 * 1e3 * flood.user_share();
        (bytes > 0 && elapsed_ns > 0).then_some(mbps)
    }
}

impl Calibration {
    /// One that was not made.
    pub fn without(reason: &str) -> Calibration {
        Calibration { left_out: Some(reason.to_owned()), ..Calibration::default() }
    }

    /// The ceiling of a cell.
    pub fn of_cell(&self, cell: usize) -> Option<&Ceiling> {
        self.ceilings.iter().find(|ceiling| ceiling.cells.contains(&cell))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::{Conditions, Workload};

    #[test]
    fn a_ceiling_is_what_came_as_the_cell_counts_it() {
        let flood = Flood { conditions: Conditions::of(Workload::UdpStream), counts_as: Some([1448, 1472]) };
        let received = Some(Received { bytes: 1_472_000, elapsed_ns: 100_000_000 });
        let ceiling = Ceiling { cells: vec![1], flood: Some(Box::new(flood)), received, absent: None, doubt: None };
        assert_eq!(ceiling.mbps().map(|mbps| (mbps * 1000.0).round()), Some(115_840.0));
        let calibration = Calibration { ceilings: vec![ceiling.clone()], ..Calibration::default() };
        assert!(calibration.of_cell(1).is_some() && calibration.of_cell(0).is_none());
        let nothing = Received { bytes: 0, elapsed_ns: 100_000_000 };
        assert_eq!(Ceiling { received: Some(nothing), ..ceiling.clone() }.mbps(), None);
        assert_eq!(Ceiling { received: None, ..ceiling }.mbps(), None);
    }
}
