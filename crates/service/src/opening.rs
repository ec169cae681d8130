//! One connection, from its first byte until it has an agent: the client proves its key, says what
//! it wants, and waits for its turn.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bitcost_sys::netlink::Rtnl;
use rustix::event::{PollFd, PollFlags};

use crate::channel::{Channel, failure};
use crate::event::Event;
use crate::fingerprint::Fingerprint;
use crate::frames::{Frames, frame};
use crate::link::LinkToken;
use crate::message::{Answer, Hello, Wants};
use crate::pending::Admitted;
use crate::places::{OF_NETWORK_MAX, PLACES_MAX};
use crate::policy::Policy;
use crate::proof::{self, Opened};
use crate::queue::{Entrant, Ticket};
use crate::rules::{Refused, Rule};
use crate::session::Session;
use crate::shared::Shared;
use crate::store::Enrolled;
use crate::stream::{Stream, wait_any};

/// The time in which an answer must leave.
const ANSWER: Duration = Duration::from_secs(5);

/// How often a client that waits is told why.
const TELL: Duration = Duration::from_secs(1);

/// How often its place is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// A connection that was accepted.
pub struct Accepted {
    pub socket: TcpStream,
    pub peer: SocketAddr,
    /// When it must have proved its key and said what it wants.
    pub until: Instant,
    pub pending: Admitted,
}

/// Serves one connection until it ends.
pub fn serve(shared: &Shared, accepted: Accepted) {
    let Accepted {
        socket,
        peer,
        until,
        pending,
    } = accepted;
    let local = socket.local_addr();
    let opened = local.and_then(|local| {
        let (greeted, hello) = greet(shared, socket, until)?;
        Ok((local, greeted, hello))
    });
    let (local, mut greeted, hello) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let reason = match pending.gave_way() {
                true => gave_way(),
                false => failure(&error),
            };
            return shared.tell(Event::Failed { peer, reason });
        }
    };
    if !pending.settle() {
        let reason = gave_way();
        return shared.tell(Event::Failed { peer, reason });
    }
    let hello = match hello {
        Ok(hello) => hello,
        Err(why) => return greeted.refuse(shared, peer, None, why),
    };
    let key = greeted.key;
    if let Wants::Enrol { token, name } = hello.wants {
        return enrol(shared, greeted, peer, &token, &name);
    }
    let Some(enrolled) = shared.store.key(key) else {
        let why =
            format!("keys: {key} is not enrolled here; ask for a link (bitcost serve keys add)");
        return greeted.refuse(shared, peer, None, Rule::Keys.refuses(why));
    };
    shared.store.note_seen(key, peer.ip());
    shared.seen.note(key, peer.ip());
    // From here on the rules of the key bound what it may hold.
    drop(pending);
    match hello.wants {
        Wants::Check => drop(greeted.answer(&Answer::welcome())),
        _ => agent(shared, greeted, [peer, local], &enrolled, hello.no_cost),
    }
}

/// A client that proved a key.
struct Greeted {
    stream: Channel,
    frames: Frames,
    key: Fingerprint,
}

/// Has a process without privileges speak TLS with the client.
fn greet(
    shared: &Shared,
    socket: TcpStream,
    until: Instant,
) -> io::Result<(Greeted, Result<Hello, Refused>)> {
    let (mut stream, other) = Channel::pair()?;
    (shared.give)(&socket, other, &shared.own.public)?;
    let mut frames = Frames::new(0);
    let opened = proof::open(&shared.own, &mut stream, &mut frames, until);
    let Opened { key, hello } = opened.inspect_err(|_| {
        // So that the process waits for nothing more.
        let _ = socket.shutdown(Shutdown::Both);
    })?;
    let greeted = Greeted {
        stream,
        frames,
        key,
    };
    Ok((greeted, hello))
}

/// Why a connection ended whose place another one has.
pub fn gave_way() -> String {
    format!(
        "it had not authenticated when its place was needed: at most {PLACES_MAX} connections wait for that, {OF_NETWORK_MAX} of one network"
    )
}

impl Greeted {
    fn answer(&mut self, answer: &Answer) -> io::Result<()> {
        self.stream.send(&frame(answer), Instant::now() + ANSWER)
    }

    fn refuse(mut self, shared: &Shared, peer: SocketAddr, name: Option<String>, why: Refused) {
        let _ = self.answer(&Answer::refused(&*why.sentence));
        self.stream.close(Instant::now() + ANSWER);
        shared.tell(Event::Refused { peer, name, why });
    }
}

fn enrol(shared: &Shared, mut greeted: Greeted, peer: SocketAddr, token: &str, name: &str) {
    let enrolled = LinkToken::parse(token)
        .ok_or_else(|| Rule::Link.refuses("the token is not one of a link; was the link cut?"))
        .and_then(|token| shared.store.enrol(token, greeted.key, name));
    match enrolled {
        Ok(Enrolled { name, .. }) => {
            let _ = greeted.answer(&Answer::welcome());
            greeted.stream.close(Instant::now() + ANSWER);
            let key = greeted.key;
            shared.tell(Event::Enrolled { peer, name, key });
        }
        Err(why) => greeted.refuse(shared, peer, None, why),
    }
}

fn agent(
    shared: &Shared,
    mut greeted: Greeted,
    ends: [SocketAddr; 2],
    enrolled: &Enrolled,
    no_cost: bool,
) {
    let [peer, local] = ends.map(|end| end.ip().to_canonical());
    let name = Some(enrolled.name.clone());
    let entrant = Entrant {
        key: greeted.key,
        name: &enrolled.name,
        max_tests: enrolled.rules.max_tests,
        no_cost,
    };
    let ticket = shared.queue.enter(&entrant);
    let ticket = match ticket {
        Ok(ticket) => ticket,
        Err(refused) => return greeted.refuse(shared, ends[0], name, refused),
    };
    let device = match device_to(peer) {
        Ok(device) => device,
        Err(why) => return greeted.refuse(shared, ends[0], name, Rule::Other.refuses(why)),
    };
    // A client that leaves while it waits is no event.
    if wait_for_turn(shared, &mut greeted, &ticket).is_err()
        || greeted.answer(&Answer::welcome()).is_err()
    {
        return;
    }
    let session = Session {
        shared,
        peer: ends[0],
        key: greeted.key,
        enrolled,
        ticket: &ticket,
        policy: Policy {
            rules: enrolled.rules.clone(),
            peer,
            local,
            device,
            no_cost,
        },
    };
    session.serve(&mut greeted.stream, greeted.frames);
}

/// Waits until the test has the host; the client says nothing meanwhile.
fn wait_for_turn(shared: &Shared, greeted: &mut Greeted, ticket: &Ticket) -> io::Result<()> {
    let mut told: Option<Instant> = None;
    while let Some(behind) = ticket.behind() {
        if shared.is_stopping() || !shared.store.has(greeted.key) {
            let _ = greeted.answer(&Answer::refused(
                "the service is being stopped, or the key was revoked",
            ));
            return Err(ErrorKind::Interrupted.into());
        }
        if told.is_none_or(|told| told.elapsed() >= TELL) {
            told = Some(Instant::now());
            greeted.answer(&Answer::Waiting {
                behind: behind.name,
                seconds: behind.seconds,
                place: behind.place,
            })?;
        }
        if wait_any(&mut [PollFd::new(&greeted.stream, PollFlags::IN)], LOOK)? {
            let mut bytes = Vec::new();
            if !greeted.stream.take(&mut bytes)? || !bytes.is_empty() {
                return Err(ErrorKind::ConnectionAborted.into());
            }
        }
    }
    Ok(())
}

/// The interface on the way to an address.
fn device_to(peer: IpAddr) -> Result<String, String> {
    let say =
        |error: bitcost_sys::netlink::Error| format!("the route to {peer} is not known: {error}");
    let mut rtnl = Rtnl::open().map_err(say)?;
    let route = rtnl.route(peer).map_err(say)?;
    let links = rtnl.links().map_err(say)?;
    let leads = |link: &bitcost_sys::netlink::Link| match route.is_local {
        true => link.is_loopback(),
        false => link.index == route.link,
    };
    let device = links.into_iter().find(leads).map(|link| link.name);
    device.ok_or_else(|| format!("the route to {peer} is not known: its interface is gone"))
}
