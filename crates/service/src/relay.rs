//! Passes bytes between a connection and a local process, both ways, with bounded buffers.

use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bitcost_sys::process::wait_ready;
use bitcost_sys::socket::is_passing;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;

use crate::stream::{PART, Stream, drain, send};

/// Bytes that may wait for either side; no more is read meanwhile.
pub const WAITING_BYTES_MAX: usize = 1 << 20;

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

/// Everything is passed on.
impl Sides for () {}

/// Passes bytes on until one side ends. What is on its way to the peer is sent first.
pub fn relay(
    peer: &mut impl Stream,
    mut input: impl Read + AsFd,
    mut output: impl Write + AsFd,
    sides: &mut impl Sides,
    mut queues: Queues,
) -> End {
    let unblocked = unblock(&input).and_then(|()| unblock(&output));
    let passed = unblocked.map_err(End::Broken);
    let passed = passed.and_then(|()| pass(peer, &mut input, &mut output, sides, &mut queues));
    let Err(end) = passed;
    let until = Instant::now() + FAREWELL;
    if matches!(end, End::Broken(_)) {
        // A peer that takes no more may have said why; what is left for it must not keep that out.
        queues.outward.clear();
        let _ = from_peer(peer, sides, &mut queues);
    }
    // A side that is gone or too slow does not get what is still on its way to it.
    if !matches!(end, End::Peer | End::Broken(_)) {
        let _ = peer.send(&queues.outward, until);
    }
    if !matches!(end, End::Process) {
        let _ = send(&mut output, &queues.inward, until);
    }
    end
}

fn unblock(file: impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&file)?;
    Ok(rustix::fs::fcntl_setfl(&file, flags | OFlags::NONBLOCK)?)
}

fn pass(
    peer: &mut impl Stream,
    input: &mut (impl Read + AsFd),
    output: &mut (impl Write + AsFd),
    sides: &mut impl Sides,
    queues: &mut Queues,
) -> Result<Infallible, End> {
    let mut looked = Instant::now();
    let mut is_full = false;
    loop {
        wait(peer, input, output, queues, is_full).map_err(End::Broken)?;
        from_peer(peer, sides, queues)?;
        from_process(input, sides, queues)?;
        drain(output, &mut queues.inward).map_err(|_| End::Process)?;
        is_full = drain(peer, &mut queues.outward).map_err(End::Broken)?;
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            sides.look(queues)?;
        }
    }
}

fn wait(
    peer: &impl AsFd,
    input: &impl AsFd,
    output: &impl AsFd,
    queues: &Queues,
    is_full: bool,
) -> io::Result<()> {
    let mut of_peer = PollFlags::empty();
    of_peer.set(PollFlags::IN, queues.have_room());
    of_peer.set(PollFlags::OUT, is_full);
    let mut fds = vec![PollFd::new(peer, of_peer)];
    if queues.have_room_for_answers() {
        fds.push(PollFd::new(input, PollFlags::IN));
    }
    if !queues.inward.is_empty() {
        fds.push(PollFd::new(output, PollFlags::OUT));
    }
    wait_ready(&mut fds, Some(LOOK)).map(|_| ())
}

fn from_peer(peer: &mut impl Read, sides: &mut impl Sides, queues: &mut Queues) -> Result<(), End> {
    // What came before, and found no room, is said first.
    sides.peer_says(&[], queues)?;
    if !queues.have_room() {
        return Ok(());
    }
    let mut bytes = [0; PART];
    match peer.read(&mut bytes) {
        Ok(0) => Err(End::Peer),
        Ok(length) => sides.peer_says(&bytes[..length], queues),
        Err(error) if is_passing(&error) => Ok(()),
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
        Ok(length @ 1..) => sides.process_says(&bytes[..length], queues),
        Err(error) if is_passing(&error) => {}
        _ => return Err(End::Process),
    }
    Ok(())
}
