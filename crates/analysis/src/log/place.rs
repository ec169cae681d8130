//! Facts about the place of a run that the formulas need, and the view of a run that they take.

use bitcost_model::conditions::Conditions;
use bitcost_model::event::EndpointDescription;
use bitcost_model::record::{EndpointRecord, Role};
use bitcost_model::study::LabSpec;
use bitcost_model::topology::End;

use crate::metrics::RunView;

#[derive(Clone, Copy, Debug, Default)]
pub struct PlaceFacts {
    shared_cpus: bool,
    /// Of the host called sender, and of the one called receiver.
    napi_threaded: [bool; 2],
    /// The rates of the lab's path, there and back, and its MTU.
    rates_bps: [Option<u64>; 2],
    mtu_bytes: u32,
}

impl PlaceFacts {
    pub fn new(
        shared_cpus: bool,
        ends: &[EndpointDescription],
        lab: Option<&LabSpec>,
    ) -> PlaceFacts {
        let path = lab.and_then(LabSpec::path);
        let least = |ends: &[&End]| ends.iter().filter_map(|end| end.egress.rate_bps).min();
        let is_threaded = |host: Role| {
            let end = ends.iter().find(|end| end.role == host);
            end.and_then(|end| end.host.device.napi_threaded) == Some(true)
        };
        PlaceFacts {
            shared_cpus,
            napi_threaded: Role::ALL.map(is_threaded),
            rates_bps: path.as_ref().map_or([None; 2], |path| {
                [&path.there, &path.back].map(|ends| least(ends))
            }),
            mtu_bytes: path.map_or(0, |path| path.mtu_bytes),
        }
    }

    /// The most user data that full packets carry at the rate of the path.
    fn shaped_bps(&self, conditions: &Conditions) -> Option<f64> {
        // The figures of both ways are those of the first.
        let host = conditions.direction.role_of(Role::Sender);
        let rate_bps = self.rates_bps[host as usize]?;
        let framing = conditions.framing(self.mtu_bytes);
        framing.check().ok()?;
        Some(rate_bps as f64 * framing.efficiency())
    }

    /// A run of a cell as its formulas see it.
    pub fn view<'a>(
        self,
        ends: [&'a EndpointRecord; 2],
        conditions: &'a Conditions,
        interrupted: Option<&'a str>,
    ) -> RunView<'a> {
        let taker = conditions.direction.role_of(Role::Receiver);
        RunView {
            sender: ends[0],
            receiver: ends[1],
            conditions,
            shared_cpus: self.shared_cpus,
            napi_threaded: self.napi_threaded[taker as usize],
            shaped_bps: self.shaped_bps(conditions),
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
