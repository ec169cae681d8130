//! The first run of a single cell, with its records.

use bitcost_model::conditions::Conditions;
use bitcost_model::record::EndpointRecord;

use super::place::PlaceFacts;
use crate::metrics::RunView;

/// The records of a run: those of the first run that is used, or of the first one where none is.
#[derive(Clone, Debug)]
pub struct FirstRun {
    /// Its place in the order, from 0.
    pub run: u32,
    pub(crate) is_left_out: bool,
    pub(crate) place: PlaceFacts,
    pub(crate) conditions: Conditions,
    pub(crate) ends: [EndpointRecord; 2],
    pub(crate) capacity_mbps: Option<f64>,
}

impl FirstRun {
    pub fn view(&self) -> RunView<'_> {
        let [sender, receiver] = &self.ends;
        self.place
            .view([sender, receiver], &self.conditions, self.capacity_mbps)
    }
}
