//! One connection, from its first byte until it has an agent: the client shows the link's secret, and waits for its turn.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bitcost_sys::netlink::Rtnl;
use bitcost_sys::process::wait_ready;
use rustix::event::{PollFd, PollFlags};

use crate::frames::{Frames, frame};
use crate::front::failure;
use crate::link::{Fingerprint, LinkToken};
use crate::message::{Answer, Hello, Refused};
use crate::places::{Admitted, OF_NETWORK_MAX, PLACES_MAX};
use crate::policy::Policy;
use crate::queue::Ticket;
use crate::session;
use crate::shared::{Event, Shared};
use crate::signing::{self, Front};
use crate::stream::{Stream, outlast_outages};

const ANSWER: Duration = Duration::from_secs(5);

const TELL: Duration = Duration::from_secs(1);

const LOOK: Duration = Duration::from_millis(100);

pub struct Accepted {
    pub socket: TcpStream,
    pub peer: SocketAddr,
    /// Where its listening socket is.
    pub listening: SocketAddr,
    /// When its client must have said that it has the link.
    pub until: Instant,
    pub admitted: Admitted,
}

struct Greeted {
    /// The client's connection, which the process in front speaks on.
    socket: TcpStream,
    front: Front,
    frames: Frames,
}

pub fn serve(shared: &Shared, accepted: Accepted) {
    let Accepted {
        socket,
        peer,
        listening,
        until,
        admitted,
    } = accepted;
    let opened = socket
        .local_addr()
        .and_then(|local| Ok((local, greet(shared, socket, until)?)));
    let (local, (mut greeted, hello)) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let reason = match admitted.gave_way() {
                true => format!(
                    "it had not authenticated when its place was needed: at most {PLACES_MAX} connections wait for that, {OF_NETWORK_MAX} of one network"
                ),
                false => failure(&error),
            };
            return shared.tell(Event::Failed { peer, reason });
        }
    };
    if let Err(why) = hello.and_then(|hello| shows_link(shared, &hello)) {
        return greeted.refuse(shared, peer, why);
    }
    // From here on the queue bounds what it may hold.
    drop(admitted);
    let [from, to] = [peer, local].map(|end| end.ip().to_canonical());
    let entered = shared
        .queue
        .enter()
        .and_then(|ticket| Ok((ticket, device_to(from)?)));
    let (ticket, device) = match entered {
        Ok(entered) => entered,
        Err(why) => return greeted.refuse(shared, peer, why),
    };
    // A client that leaves while it waits is no event.
    if wait_for_turn(shared, &mut greeted, &ticket).is_err()
        || greeted.answer(&Answer::Welcome).is_err()
    {
        return;
    }
    let policy = Policy {
        rules: shared.rules.clone(),
        peer: from,
        local: to,
        listening,
        device,
    };
    outlast_outages(&greeted.socket);
    drop(greeted.socket);
    let channel = &mut greeted.front.channel;
    session::serve(shared, peer, policy, (channel, greeted.frames));
}

/// Has a process without privileges speak TLS with the client, once that says something.
fn greet(
    shared: &Shared,
    socket: TcpStream,
    until: Instant,
) -> io::Result<(Greeted, Result<Hello, Refused>)> {
    let left = until.saturating_duration_since(Instant::now());
    if !wait_ready(&mut [PollFd::new(&socket, PollFlags::IN)], Some(left))? {
        return Err(ErrorKind::TimedOut.into());
    }
    if socket.peek(&mut [0])? == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let front = Front::start(&shared.front, socket.try_clone()?.into());
    let mut front = front
        .map_err(|error| io::Error::other(format!("cannot start the process for it: {error}")))?;
    let mut frames = Frames::new(0);
    let hello = signing::open(&shared.own, &mut front.channel, &mut frames, until);
    let hello = hello.inspect_err(|_| {
        // So that the process waits for nothing more.
        let _ = socket.shutdown(Shutdown::Both);
    })?;
    let greeted = Greeted {
        socket,
        front,
        frames,
    };
    Ok((greeted, hello))
}

fn shows_link(shared: &Shared, hello: &Hello) -> Result<(), Refused> {
    // Of hashes it may be seen how long they are equal.
    let hash = |token: LinkToken| Fingerprint::of(&token.0);
    match LinkToken::parse(&hello.token) {
        Some(token) if hash(token) == hash(shared.own.token) => Ok(()),
        _ => Err(Refused(
            "the link is not the one of this service, or was cut: ask for the link that `bitcost serve` prints".to_owned(),
        )),
    }
}

impl Greeted {
    fn answer(&mut self, answer: &Answer) -> io::Result<()> {
        self.front
            .channel
            .send(&frame(answer), Instant::now() + ANSWER)
    }

    fn refuse(mut self, shared: &Shared, peer: SocketAddr, why: Refused) {
        let _ = self.answer(&Answer::Refused(why.clone()));
        drop(self);
        shared.tell(Event::Refused { peer, why });
    }
}

/// Waits until the test has the host; the client says nothing meanwhile.
fn wait_for_turn(shared: &Shared, greeted: &mut Greeted, ticket: &Ticket) -> io::Result<()> {
    let mut told: Option<Instant> = None;
    while !shared.queue.is_next(ticket) {
        if shared.is_stopping() {
            let why = Refused("the service is being stopped".to_owned());
            let _ = greeted.answer(&Answer::Refused(why));
            return Err(ErrorKind::Interrupted.into());
        }
        if told.is_none_or(|told| told.elapsed() >= TELL) {
            told = Some(Instant::now());
            greeted.answer(&Answer::Waiting)?;
        }
        let mut fds = [PollFd::new(&greeted.front.channel, PollFlags::IN)];
        // It has ended, or says something before its turn.
        if wait_ready(&mut fds, Some(LOOK))? {
            return Err(ErrorKind::ConnectionAborted.into());
        }
    }
    Ok(())
}

fn device_to(peer: IpAddr) -> Result<String, Refused> {
    let route = Rtnl::open().and_then(|mut rtnl| rtnl.route(peer));
    let unknown = |error| Refused(format!("the route to {peer} is not known: {error}"));
    Ok(route.map_err(unknown)?.device)
}
