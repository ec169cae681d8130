//! How many tests and flows there are at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::protocol::code;
use crate::refusal::Refusal;
use crate::rules::Limits;

/// The tests that take place.
#[derive(Default)]
pub struct Admission {
    clients: AtomicUsize,
    flows: AtomicUsize,
}

/// A test that was admitted, until this is dropped.
pub struct Admitted {
    admission: Arc<Admission>,
    flows: usize,
}

impl Admission {
    /// Admits a client that has not yet said how many flows it has; nothing is counted.
    ///
    /// # Errors
    /// The limit that is reached.
    pub fn check_clients(&self, limits: &Limits) -> Result<(), Refusal> {
        if self.clients.load(Relaxed) < limits.clients {
            return Ok(());
        }
        let most = limits.clients;
        let rule = format!("another test; --max-clients is {most}, and that many are served");
        Err(Refusal::by("max-clients", code::BUSY, rule))
    }

    /// Admits a test. Called by one thread only, so that nothing is between check and count.
    ///
    /// # Errors
    /// The limit that is reached.
    pub fn admit(self: &Arc<Self>, flows: usize, limits: &Limits) -> Result<Admitted, Refusal> {
        self.check_clients(limits)?;
        let present = self.flows.load(Relaxed);
        if present + flows > limits.flows {
            let most = limits.flows;
            let rule = format!("{flows} flows in addition to {present}; --max-flows is {most}");
            return Err(Refusal::by("max-flows", code::STREAMS, rule));
        }
        self.clients.fetch_add(1, Relaxed);
        self.flows.fetch_add(flows, Relaxed);
        let admission = self.clone();
        Ok(Admitted { admission, flows })
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.admission.clients.fetch_sub(1, Relaxed);
        self.admission.flows.fetch_sub(self.flows, Relaxed);
    }
}
