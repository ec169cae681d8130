//! The agent's messages to its controller: whole messages, from any of its threads.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender, TrySendError};
use std::time::{Duration, Instant};

use bitcost_model::protocol::{FromAgent, Lease, encode};

use crate::refusal::Refusal;

/// Messages that may wait to be written.
const WAITING_MAX: usize = 16;

/// The interval at which a message that waits looks for room.
const LOOK: Duration = Duration::from_millis(2);

#[derive(Clone)]
pub struct Output {
    frames: SyncSender<Vec<u8>>,
    /// Whether the controller left no room for the length of the lease.
    is_unread: Arc<AtomicBool>,
    /// The time for which a message waits for room.
    patience: Duration,
}

impl Output {
    /// A queue that is written to `output` in order, until every clone of it is dropped. The receiver is disconnected once
    /// everything is written.
    pub fn new(mut output: impl Write + Send + 'static) -> (Output, Receiver<()>) {
        let (frames, to_write) = mpsc::sync_channel::<Vec<u8>>(WAITING_MAX);
        let (running, done) = mpsc::channel();
        std::thread::spawn(move || {
            let _running: Sender<()> = running;
            for frame in to_write {
                // Where the controller has ended, the input ends, too, and the agent with it.
                if output.write_all(&frame).is_err() {
                    return;
                }
                let _ = output.flush();
            }
        });
        let output = Output {
            frames,
            is_unread: Arc::default(),
            patience: Lease::LENGTH,
        };
        (output, done)
    }

    /// Sends a message. It waits for room, for as long as a lease: a controller that leaves none for
    /// that time does not read, and [`Output::is_unread`] from then on.
    pub fn send(&self, message: &FromAgent) {
        let frame =
            encode(message).or_else(|error| encode(&Refusal::from(error.to_string()).message()));
        let Ok(mut frame) = frame else { return };
        let deadline = Instant::now() + self.patience;
        while let Err(TrySendError::Full(unsent)) = self.frames.try_send(frame) {
            if self.is_unread() || Instant::now() >= deadline {
                self.is_unread.store(true, Ordering::Relaxed);
                return;
            }
            frame = unsent;
            std::thread::sleep(LOOK);
        }
    }

    /// The same queue, for messages that wait for room for this long. Those of the thread that renews the watchdog must not.
    pub fn waiting_for(&self, patience: Duration) -> Output {
        Output {
            patience,
            ..self.clone()
        }
    }

    /// Sends a message that the controller does not need. It is dropped where it is too long for a
    /// frame, or there is no room.
    pub fn offer(&self, message: &FromAgent) {
        if let Ok(frame) = encode(message) {
            let _ = self.frames.try_send(frame);
        }
    }

    pub fn is_unread(&self) -> bool {
        self.is_unread.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use bitcost_model::protocol::{Decoder, FailureCause};

    use super::*;

    #[test]
    fn a_message_waits_until_there_is_room() {
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let (output, written) = Output::new(writer);
        let long = FromAgent::Failed {
            reason: "x".repeat(100_000),
            cause: FailureCause::Other,
        };
        let sending = std::thread::spawn(move || {
            for _ in 0..100 {
                output.send(&long);
            }
            output.is_unread()
        });
        let (mut decoder, mut bytes, mut count) = (Decoder::default(), vec![0; 1 << 16], 0);
        let hello = encode(&FromAgent::Alive).expect("short");
        decoder.push(&hello);
        while let Ok(length @ 1..) = reader.read(&mut bytes) {
            decoder.push(&bytes[..length]);
            while let Some(FromAgent::Failed { .. } | FromAgent::Alive) =
                decoder.take().expect("a message")
            {
                count += 1;
            }
        }
        assert_eq!((count, sending.join().expect("it ends")), (101, false));
        let _ = written.recv_timeout(crate::LAST);
    }
}
