//! How many tests and flows there are at the same time.

use std::sync::Arc;

use crate::protocol::code;
use crate::refusal::Refusal;
use crate::rules::Limits;

/// The tests that take place: a token for each of them, and for each of their flows.
#[derive(Default)]
pub struct Admission {
    clients: Arc<()>,
    flows: Arc<()>,
}

pub struct Admitted {
    _client: Arc<()>,
    _flows: Vec<Arc<()>>,
}

impl Admission {
    /// Admits a client that has not yet said how many flows it has; nothing is counted.
    pub fn check_clients(&self, limits: &Limits) -> Result<(), Refusal> {
        let most = limits.clients;
        if Arc::strong_count(&self.clients) <= most {
            return Ok(());
        }
        let rule = format!("another test; --max-clients is {most}, and that many are served");
        Err(Refusal::by("max-clients", code::BUSY, rule))
    }

    /// Admits a test. Called by one thread only, so that nothing is between check and count.
    pub fn admit(&self, flows: usize, limits: &Limits) -> Result<Admitted, Refusal> {
        self.check_clients(limits)?;
        let (present, most) = (Arc::strong_count(&self.flows) - 1, limits.flows);
        if present + flows > most {
            let rule = format!("{flows} flows in addition to {present}; --max-flows is {most}");
            return Err(Refusal::by("max-flows", code::STREAMS, rule));
        }
        Ok(Admitted {
            _client: self.clients.clone(),
            _flows: vec![self.flows.clone(); flows],
        })
    }
}
