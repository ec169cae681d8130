//! The agent's way out: whole messages, from any of its threads.

use std::io::Write;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::time::Duration;

use wire::{FromAgent, encode};

/// How long the last messages may take to be written.
const LAST: Duration = Duration::from_secs(1);

/// Messages that may wait to be written. More are dropped: a controller that leaves so many unread has given the agent up.
const WAITING_MAX: usize = 1024;

/// Where messages to the controller go. Nobody waits here, whatever becomes of the connection.
#[derive(Clone)]
pub struct Outbox {
    frames: SyncSender<Vec<u8>>,
}

/// The thread that writes them.
pub struct Writer {
    /// Ends with the thread.
    done: Receiver<()>,
}

impl Outbox {
    /// Messages written to `output` in their order, until every clone is dropped.
    pub fn new(mut output: impl Write + Send + 'static) -> (Outbox, Writer) {
        let (frames, to_write) = mpsc::sync_channel::<Vec<u8>>(WAITING_MAX);
        let (end, done) = mpsc::channel();
        std::thread::spawn(move || {
            let _end: Sender<()> = end;
            for frame in to_write {
                // A controller that is gone is noticed at the input, which ends too.
                if output.write_all(&frame).and_then(|()| output.flush()).is_err() {
                    return;
                }
            }
        });
        (Outbox { frames }, Writer { done })
    }

    /// Sends a message.
    pub fn send(&self, message: &FromAgent) {
        let frame = encode(message).or_else(|error| encode(&FromAgent::Failed { reason: error.to_string() }));
        if let Ok(frame) = frame {
            let _ = self.frames.try_send(frame);
        }
    }

    /// Sends a message that the controller can do without; not where it is too long for a frame.
    pub fn offer(&self, message: &FromAgent) {
        if let Ok(frame) = encode(message) {
            let _ = self.frames.try_send(frame);
        }
    }
}

impl Writer {
    /// Waits until everything is written, or for a second where the connection takes nothing.
    pub fn finish(self) {
        let _ = self.done.recv_timeout(LAST);
    }
}
