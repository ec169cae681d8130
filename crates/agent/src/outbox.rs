//! The agent's way out: whole messages, from any of its threads.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use wire::{FromAgent, encode};

/// Where messages to the controller go.
#[derive(Clone)]
pub struct Outbox {
    output: Arc<Mutex<dyn Write + Send>>,
}

impl Outbox {
    pub fn new(output: impl Write + Send + 'static) -> Outbox {
        Outbox { output: Arc::new(Mutex::new(output)) }
    }

    /// Sends a message. A controller that is gone is noticed at the input, which ends too.
    pub fn send(&self, message: &FromAgent) {
        let frame = encode(message).or_else(|error| encode(&FromAgent::Failed { reason: error.to_string() }));
        if let Ok(frame) = frame {
            let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = output.write_all(&frame).and_then(|()| output.flush());
        }
    }
}
