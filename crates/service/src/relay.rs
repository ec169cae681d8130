//! Passes bytes between a connection and a local process, both ways, with bounded buffers.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bitcost_sys::process::wait_ready;
use bitcost_sys::socket::is_passing;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;

use crate::stream::Stream;

/// Bytes that may wait for either side; no more is read meanwhile.
pub const WAITING_BYTES_MAX: usize = 1 << 20;

const PART: usize = 64 << 10;

const LOOK: Duration = Duration::from_millis(200);

const FAREWELL: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub struct Queues {
    /// To the process.
    pub inward: Vec<u8>,
    /// To the peer.
    pub outward: Vec<u8>,
}

impl Queues {
    /// Whether the peer may say more: what it says may be answered at once.
    pub fn have_room(&self) -> bool {
        [&self.inward, &self.outward]
            .iter()
            .all(|queue| queue.len() < WAITING_BYTES_MAX)
    }

    pub fn have_room_for_answers(&self) -> bool {
        self.outward.len() < WAITING_BYTES_MAX
    }
}

#[derive(Debug)]
pub enum End {
    Peer,
    /// The process ended its output, or reads no more.
    Process,
    Broken(io::Error),
    /// One of the sides said so, and told the other one why.
    Told,
}

/// What happens to the bytes of both sides: they are passed on, unless they are judged.
pub trait Sides {
    /// Bytes of the peer arrived; none where there is room again for those that came before.
    fn peer_says(&mut self, bytes: &[u8], queues: &mut Queues) -> Result<(), End> {
        queues.inward.extend_from_slice(bytes);
        Ok(())
    }

    fn process_says(&mut self, bytes: &[u8], queues: &mut Queues) {
        queues.outward.extend_from_slice(bytes);
    }

    /// Time has passed.
    fn look(&mut self, _: &mut Queues) -> Result<(), End> {
        Ok(())
    }
}

pub struct Through;

impl Sides for Through {}

/// Passes bytes on until one side ends. What is on its way to the peer is sent first.
pub fn relay(
    stream: &mut impl Stream,
    mut input: impl Read + AsFd,
    mut output: impl Write + AsFd,
    sides: &mut impl Sides,
    mut queues: Queues,
) -> End {
    let unblocked = unblock(&input).and_then(|()| unblock(&output));
    let end = match unblocked {
        Ok(()) => pass(stream, &mut input, &mut output, sides, &mut queues),
        Err(error) => End::Broken(error),
    };
    let until = Instant::now() + FAREWELL;
    if matches!(end, End::Broken(_)) {
        // A peer that takes no more may have said why; what is left for it must not keep that out.
        queues.outward.clear();
        let _ = from_peer(stream, sides, &mut queues);
    }
    if !matches!(end, End::Peer | End::Broken(_)) {
        farewell(stream, &queues);
    }
    if !matches!(end, End::Process) {
        last_words(&mut output, &mut queues, until);
    }
    end
}

/// Sends the peer what is still on its way to it, and ends the connection.
pub fn farewell(stream: &mut impl Stream, queues: &Queues) {
    let until = Instant::now() + FAREWELL;
    // A peer that is gone or too slow does not get it.
    let _ = stream.send(&queues.outward, until);
    stream.close(until);
}

fn last_words(output: &mut (impl Write + AsFd), queues: &mut Queues, until: Instant) {
    while to_process(output, queues).is_ok() && !queues.inward.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        let mut fds = [PollFd::new(output, PollFlags::OUT)];
        if left.is_zero() || wait_ready(&mut fds, Some(left)).is_err() {
            return;
        }
    }
}

fn unblock(file: impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&file)?;
    Ok(rustix::fs::fcntl_setfl(&file, flags | OFlags::NONBLOCK)?)
}

fn pass(
    stream: &mut impl Stream,
    input: &mut (impl Read + AsFd),
    output: &mut (impl Write + AsFd),
    sides: &mut impl Sides,
    queues: &mut Queues,
) -> End {
    let mut looked = Instant::now();
    loop {
        let step = wait(stream, input, output, queues)
            .map_err(End::Broken)
            .and_then(|()| from_peer(stream, sides, queues))
            .and_then(|()| from_process(input, sides, queues))
            .and_then(|()| to_process(output, queues))
            .and_then(|()| to_peer(stream, queues));
        if let Err(end) = step {
            return end;
        }
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            if let Err(end) = sides.look(queues) {
                return end;
            }
        }
    }
}

fn wait(
    stream: &impl Stream,
    input: &impl AsFd,
    output: &impl AsFd,
    queues: &Queues,
) -> io::Result<()> {
    let mut of_peer = PollFlags::empty();
    of_peer.set(PollFlags::IN, queues.have_room());
    of_peer.set(PollFlags::OUT, stream.is_full());
    let mut fds = vec![PollFd::new(stream, of_peer)];
    if queues.have_room_for_answers() {
        fds.push(PollFd::new(input, PollFlags::IN));
    }
    if !queues.inward.is_empty() {
        fds.push(PollFd::new(output, PollFlags::OUT));
    }
    wait_ready(&mut fds, Some(LOOK)).map(|_| ())
}

fn from_peer(
    stream: &mut impl Stream,
    sides: &mut impl Sides,
    queues: &mut Queues,
) -> Result<(), End> {
    // What came before, and found no room, is said first.
    sides.peer_says(&[], queues)?;
    if !queues.have_room() {
        return Ok(());
    }
    let mut bytes = Vec::new();
    let taken = stream.take(&mut bytes);
    // Some may have arrived before the connection broke.
    if !bytes.is_empty() {
        sides.peer_says(&bytes, queues)?;
    }
    match taken {
        Ok(true) => Ok(()),
        Ok(false) => Err(End::Peer),
        Err(error) => Err(End::Broken(error)),
    }
}

fn from_process(
    input: &mut impl Read,
    sides: &mut impl Sides,
    queues: &mut Queues,
) -> Result<(), End> {
    if !queues.have_room_for_answers() {
        return Ok(());
    }
    let mut bytes = [0; PART];
    match input.read(&mut bytes) {
        Ok(0) => Err(End::Process),
        Ok(length) => {
            sides.process_says(&bytes[..length], queues);
            Ok(())
        }
        Err(error) if is_passing(&error) => Ok(()),
        Err(_) => Err(End::Process),
    }
}

fn to_process(output: &mut impl Write, queues: &mut Queues) -> Result<(), End> {
    while !queues.inward.is_empty() {
        match output.write(&queues.inward) {
            Ok(0) => return Err(End::Process),
            Ok(length) => drop(queues.inward.drain(..length)),
            Err(error) if is_passing(&error) => break,
            Err(_) => return Err(End::Process),
        }
    }
    Ok(())
}

fn to_peer(stream: &mut impl Stream, queues: &mut Queues) -> Result<(), End> {
    loop {
        stream.flush_some().map_err(End::Broken)?;
        if queues.outward.is_empty() || stream.is_full() {
            return Ok(());
        }
        let taken = stream.put(&queues.outward).map_err(End::Broken)?;
        queues.outward.drain(..taken);
    }
}
