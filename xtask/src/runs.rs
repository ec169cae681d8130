//! Runs by agents in the hosts of a lab.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use bitcost_controller::{Endpoint, Endpoints, Session};
use bitcost_lab::Lab;
use bitcost_model::Unavailable;
use bitcost_model::conditions::Conditions;
use bitcost_model::event::Event;
use bitcost_model::plan::Plan;
use bitcost_model::record::EndpointRecord;

static NEVER: AtomicBool = AtomicBool::new(false);

/// An endpoint in a host, pinned to a CPU, whose agent this command starts.
pub fn endpoint(
    lab: &Arc<Lab>,
    host: &'static str,
    cpu: u32,
    agent: impl Fn() -> Command + 'static,
) -> Result<Endpoint> {
    let place = lab.host(host)?;
    let (device, addresses, lab) = (place.device.clone(), place.addresses.clone(), lab.clone());
    let command = move |_: Option<&str>| {
        let mut command = agent();
        lab.command_in(host, &mut command)?;
        Ok(command)
    };
    Ok(Endpoint {
        device,
        addresses,
        cpus: vec![cpu],
        ..Endpoint::new(format!("netns:{host}"), command)
    })
}

/// A session of the agents of both endpoints.
pub fn session(endpoints: Endpoints) -> Result<Session<'static>> {
    Ok(Session::open(endpoints, &NEVER)?)
}

/// One run: the records of sender and receiver, or why there are none.
pub fn once(
    session: &mut Session<'_>,
    conditions: Conditions,
) -> Result<Result<[Box<EndpointRecord>; 2], Unavailable>> {
    let mut outcome = Err(Unavailable("no run".to_owned()));
    session.execute(&Plan::of_one(conditions), &BTreeSet::new(), &mut |event| {
        match event {
            Event::RunEnded {
                sender, receiver, ..
            } => outcome = Ok([sender, receiver]),
            Event::RunFailed { reason, .. } => outcome = Err(Unavailable(reason)),
            _ => {}
        }
        Ok(())
    })?;
    Ok(outcome)
}
