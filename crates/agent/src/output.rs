//! The agent's messages to its controller: whole messages, from any of its threads.

use std::io::Write;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::time::Duration;

use bitcost_model::protocol::{FromAgent, encode};

use crate::refusal::Refusal;

/// The time that writing the last messages may take.
const LAST: Duration = Duration::from_secs(1);

/// Messages that may wait to be written. More are dropped: a controller that leaves this number
/// unread no longer reads.
const WAITING_MAX: usize = 1024;

/// Queues messages to the controller. Sending never blocks, even where the connection is dead.
#[derive(Clone)]
pub struct Output {
    frames: SyncSender<Vec<u8>>,
}

/// The thread that writes the queued messages.
pub struct Writer {
    /// Disconnected once the thread has ended.
    done: Receiver<()>,
}

impl Output {
    /// A queue that is written to `output` in order, until every clone of it is dropped.
    pub fn new(mut output: impl Write + Send + 'static) -> (Output, Writer) {
        let (frames, to_write) = mpsc::sync_channel::<Vec<u8>>(WAITING_MAX);
        let (running, done) = mpsc::channel();
        std::thread::spawn(move || {
            let _running: Sender<()> = running;
            for frame in to_write {
                // Where the controller has ended, the input ends, too, and the agent with it.
                if output
                    .write_all(&frame)
                    .and_then(|()| output.flush())
                    .is_err()
                {
                    return;
                }
            }
        });
        (Output { frames }, Writer { done })
    }

    /// Sends a message.
    pub fn send(&self, message: &FromAgent) {
        let frame =
            encode(message).or_else(|error| encode(&Refusal::from(error.to_string()).message()));
        if let Ok(frame) = frame {
            let _ = self.frames.try_send(frame);
        }
    }

    /// Sends a message that the controller does not need. It is dropped where it is too long for a
    /// frame.
    pub fn offer(&self, message: &FromAgent) {
        if let Ok(frame) = encode(message) {
            let _ = self.frames.try_send(frame);
        }
    }
}

impl Writer {
    /// Waits until everything is written, for at most a second.
    pub fn finish(self) {
        let _ = self.done.recv_timeout(LAST);
    }
}
