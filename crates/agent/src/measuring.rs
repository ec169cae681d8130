//! The measurements of the host between runs: one at a time, each in a separate thread, so that
//! the agent keeps listening.

use std::sync::atomic::{AtomicBool, Ordering};

use bitcost_model::protocol::FromAgent;

use crate::output::Output;
use crate::refusal::Refusal;

static IS_MEASURING: AtomicBool = AtomicBool::new(false);

pub fn start(
    what: &str,
    output: Output,
    measure: impl FnOnce() -> FromAgent + Send + 'static,
) -> Result<(), Refusal> {
    if IS_MEASURING.swap(true, Ordering::Relaxed) {
        return Err(Refusal::from(format!(
            "measure {what}: another measurement of this host runs; wait until that is done"
        )));
    }
    let thread = std::thread::Builder::new().spawn(move || {
        let found = measure();
        IS_MEASURING.store(false, Ordering::Relaxed);
        output.send(&found);
    });
    thread.map(drop).map_err(|error| {
        IS_MEASURING.store(false, Ordering::Relaxed);
        format!("start a thread that measures {what}: {error}; raise ulimit -u").into()
    })
}
