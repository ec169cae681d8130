//! Facts about the place of a run that the formulas need, and the view of a run that they take.

use bitcost_model::conditions::Conditions;
use bitcost_model::event::EndpointDescription;
use bitcost_model::record::{EndpointRecord, Role};

use crate::metrics::RunView;

#[derive(Clone, Copy, Debug, Default)]
pub struct PlaceFacts {
    shared_cpus: bool,
    napi_threaded: bool,
}

impl PlaceFacts {
    pub fn new(shared_cpus: bool, ends: &[EndpointDescription]) -> PlaceFacts {
        let receiver = ends.iter().find(|end| end.role == Role::Receiver);
        let napi_threaded = receiver.and_then(|end| end.host.device.napi_threaded) == Some(true);
        PlaceFacts {
            shared_cpus,
            napi_threaded,
        }
    }

    /// A run of a cell as its formulas see it.
    pub fn view<'a>(
        self,
        ends: [&'a EndpointRecord; 2],
        conditions: &'a Conditions,
        interrupted: Option<&'a str>,
    ) -> RunView<'a> {
        RunView {
            sender: ends[0],
            receiver: ends[1],
            conditions,
            shared_cpus: self.shared_cpus,
            napi_threaded: self.napi_threaded,
            interrupted,
        }
    }
}

/// The records of a run: those of the first run that is used, or of the first one where none is.
#[derive(Clone, Debug)]
pub struct FirstRun {
    /// Its place in the order, from 0.
    pub run: u32,
    pub(crate) is_left_out: bool,
    place: PlaceFacts,
    conditions: Conditions,
    ends: [EndpointRecord; 2],
    interrupted: Option<String>,
}

impl FirstRun {
    pub(super) fn of(run: u32, is_left_out: bool, place: PlaceFacts, view: &RunView) -> FirstRun {
        FirstRun {
            run,
            is_left_out,
            place,
            conditions: view.conditions.clone(),
            ends: [view.sender.clone(), view.receiver.clone()],
            interrupted: view.interrupted.map(str::to_owned),
        }
    }

    pub fn view(&self) -> RunView<'_> {
        let (place, interrupted) = (self.place, self.interrupted.as_deref());
        place.view(self.ends.each_ref(), &self.conditions, interrupted)
    }
}
