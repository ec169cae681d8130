//! The messages to the controller.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use bitcost_model::protocol::{FromAgent, encode};

#[derive(Clone)]
pub struct Output(Arc<Mutex<Box<dyn Write + Send>>>);

impl Output {
    pub fn new(output: impl Write + Send + 'static) -> Output {
        Output(Arc::new(Mutex::new(Box::new(output))))
    }

    /// Sends a message. A controller that is gone has closed the input as well.
    pub fn send(&self, message: &FromAgent) {
        let Ok(frame) = encode(message) else { return };
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = output.write_all(&frame).and_then(|()| output.flush());
    }
}
