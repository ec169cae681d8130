//! The agent of one host alone, which reads there one end of connections that another program holds.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bitcost_model::Unavailable;
use bitcost_model::event::EndpointDescription;
use bitcost_model::machine::HostDescription;
use bitcost_model::protocol::{FromAgent, ToAgent};
use bitcost_model::record::{EndpointRecord, Role};

use crate::endpoint::Endpoint;
use crate::error::ControllerError;
use crate::pair::{ANSWER, Pair};
use crate::process::Processes;

/// The sender of a pair without a receiver, whichever end it reads.
const AGENT: Role = Role::Sender;

pub struct Observer<'a>(Pair<'a>);

impl<'a> Observer<'a> {
    /// Starts the agent.
    pub fn open(endpoint: Endpoint, stop: &'a AtomicBool) -> Result<Observer<'a>, ControllerError> {
        let endpoints = [endpoint, Endpoint::pooled(String::new())];
        let mut pair = Pair::new(Box::new(Processes::new()), endpoints, stop);
        pair.start(AGENT).map_err(at_host)?;
        Ok(Observer(pair))
    }

    /// Has it read these connections, its end of which has this role. To be called before the lease ends that it began with.
    pub fn observe(
        &mut self,
        connections: Vec<[SocketAddr; 2]>,
        role: Role,
        time: Duration,
    ) -> Result<(EndpointRecord, EndpointDescription), ControllerError> {
        let question = ToAgent::Observe {
            connections,
            role,
            length_ms: time.as_millis() as u32,
        };
        let place = self.0.endpoint(AGENT).place.clone();
        let mut host = HostDescription::default();
        let what = (time + ANSWER, "what it reads of connections");
        let record = self.0.ask(AGENT, &question, what, |message| match message {
            FromAgent::Host(found) => {
                host = *found;
                None
            }
            FromAgent::Done(record) => Some(*record),
            _ => None,
        });
        let record = record.map_err(at_host)?;
        Ok((record, EndpointDescription { role, place, host }))
    }
}

/// An error that names the host alone.
fn at_host(error: ControllerError) -> ControllerError {
    match error {
        ControllerError::Agent { place, reason, .. } => {
            Unavailable(format!("{place}: {reason}")).into()
        }
        other => other,
    }
}
