//! The agent's messages to its controller: whole messages, from any of its threads.

use std::io::Write;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bitcost_model::protocol::{FromAgent, Lease, encode};

use crate::refusal::Refusal;

const LAST: Duration = Duration::from_secs(1);

/// Bytes that may wait to be written before the next message waits, which may be as long as a
/// message is.
const WAITING_BYTES_MAX: usize = 1 << 20;

const PART: usize = 16 << 10;

#[derive(Clone)]
pub struct Output {
    frames: Sender<Vec<u8>>,
    room: Arc<Room>,
    /// The time for which a message waits for room.
    patience: Duration,
}

pub struct Writer {
    /// Disconnected once the thread has ended.
    done: Receiver<()>,
}

#[derive(Default)]
struct Room {
    waiting: Mutex<Waiting>,
    freed: Condvar,
}

#[derive(Default)]
struct Waiting {
    bytes: usize,
    reader: Reader,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Reader {
    #[default]
    Reads,
    /// It left no room for the length of the lease.
    Silent,
    Gone,
}

impl Output {
    /// A queue that is written to `output` in order, until every clone of it is dropped.
    pub fn new(mut output: impl Write + Send + 'static) -> (Output, Writer) {
        let (frames, to_write) = mpsc::channel::<Vec<u8>>();
        let room = Arc::new(Room::default());
        let (running, done) = mpsc::channel();
        let freed = room.clone();
        std::thread::spawn(move || {
            let _running: Sender<()> = running;
            for frame in to_write {
                for part in frame.chunks(PART) {
                    // Where the controller has ended, the input ends, too, and the agent with it.
                    if output.write_all(part).is_err() {
                        return freed.end(Reader::Gone);
                    }
                    freed.free(part.len());
                }
                let _ = output.flush();
            }
        });
        let output = Output {
            frames,
            room,
            patience: Lease::LENGTH,
        };
        (output, Writer { done })
    }

    /// Sends a message. It waits for room, for as long as a lease: a controller that leaves none for
    /// that time does not read, and [`Output::is_unread`] from then on.
    pub fn send(&self, message: &FromAgent) {
        let frame =
            encode(message).or_else(|error| encode(&Refusal::from(error.to_string()).message()));
        if let Ok(frame) = frame {
            self.queue(frame, self.patience);
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
            self.queue(frame, Duration::ZERO);
        }
    }

    pub fn is_unread(&self) -> bool {
        self.room.waiting().reader == Reader::Silent
    }

    fn queue(&self, frame: Vec<u8>, patience: Duration) {
        if self.room.take(frame.len(), patience) {
            let _ = self.frames.send(frame);
        }
    }
}

impl Room {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes room for a message; false where there is none in time.
    fn take(&self, bytes: usize, patience: Duration) -> bool {
        let is_full = |waiting: &mut Waiting| {
            waiting.reader == Reader::Reads && waiting.bytes >= WAITING_BYTES_MAX
        };
        let waited = self
            .freed
            .wait_timeout_while(self.waiting(), patience, is_full);
        let (mut waiting, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() && !patience.is_zero() {
            waiting.reader = Reader::Silent;
            self.freed.notify_all();
        }
        let has_room = !timeout.timed_out() && waiting.reader == Reader::Reads;
        waiting.bytes += if has_room { bytes } else { 0 };
        has_room
    }

    fn free(&self, bytes: usize) {
        self.waiting().bytes -= bytes;
        self.freed.notify_all();
    }

    fn end(&self, reader: Reader) {
        self.waiting().reader = reader;
        self.freed.notify_all();
    }
}

impl Writer {
    /// Waits until everything is written, for at most a second.
    pub fn finish(self) {
        let _ = self.done.recv_timeout(LAST);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use bitcost_model::protocol::{Decoder, FailureCause};

    use super::*;

    #[test]
    fn messages_that_nobody_reads_are_bounded_in_bytes() {
        let (_reader, writer) = std::io::pipe().expect("a pipe");
        let (output, _writer) = Output::new(writer);
        let long = FromAgent::Failed {
            reason: "x".repeat(100_000),
            cause: FailureCause::Other,
        };
        for _ in 0..1000 {
            output.offer(&long);
        }
        let waiting = output.room.waiting().bytes;
        assert!((WAITING_BYTES_MAX..WAITING_BYTES_MAX + 101_000).contains(&waiting));
    }

    #[test]
    fn a_message_waits_until_there_is_room() {
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let (output, writer) = Output::new(writer);
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
        writer.finish();
    }
}
