//! One client that has the host: its messages are judged, and passed on to a separate agent.

use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use bitcost_sys::clock::monotonic_ns;
use bitcost_sys::process::end;

use crate::frames::Frames;
use crate::front::Channel;
use crate::judge::Judge;
use crate::policy::Policy;
use crate::relay::{End, Queues, Sides, relay};
use crate::shared::{Event, Shared};

/// The time in which an agent whose input has ended restores its host and ends.
const LAST_STEPS: Duration = Duration::from_secs(8);

struct Session<'a> {
    shared: &'a Shared,
    peer: SocketAddr,
    judge: Judge,
}

/// Serves a client that has the host, until either side ends. The agent is gone when this returns.
pub fn serve(
    shared: &Shared,
    peer: SocketAddr,
    policy: Policy,
    (stream, frames): (&mut Channel, Frames),
) {
    let begun = Instant::now();
    shared.tell(Event::Began { peer });
    let mut session = Session {
        shared,
        peer,
        judge: Judge::new(policy, frames, monotonic_ns()),
    };
    let mut command = (shared.agent)();
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let why = match command.spawn() {
        Ok(mut child) => {
            let why = session.talk(stream, &mut child);
            // One that is killed has a watchdog, which restores the host.
            end(&mut child, LAST_STEPS);
            why
        }
        Err(error) => Some(format!("cannot start an agent: {error}")),
    };
    shared.tell(Event::Ended {
        peer,
        runs: session.judge.started,
        time: begun.elapsed(),
        why,
    });
}

impl Session<'_> {
    /// Carries messages both ways; returns why it ended, if not by the client.
    fn talk(&mut self, stream: &mut Channel, child: &mut Child) -> Option<String> {
        let (input, output) = (child.stdout.take()?, child.stdin.take()?);
        let end = relay(stream, input, output, self, Queues::default());
        match end {
            End::Peer => None,
            End::Process => Some("its agent ended".to_owned()),
            End::Broken(error) => Some(format!("the connection is lost: {error}")),
            End::Told => self.judge.why.take(),
        }
    }
}

impl Sides for Session<'_> {
    fn peer_says(&mut self, bytes: &[u8], queues: &mut Queues) -> Result<(), End> {
        let judged = self.judge.client_says(bytes, queues, monotonic_ns());
        for why in self.judge.refusals.drain(..) {
            let peer = self.peer;
            self.shared.tell(Event::Refused { peer, why });
        }
        judged
    }

    fn process_says(&mut self, bytes: &[u8], queues: &mut Queues) {
        self.judge.agent_says(bytes, queues);
    }

    fn look(&mut self, queues: &mut Queues) -> Result<(), End> {
        if self.shared.is_stopping() {
            let why = "the service is being stopped".to_owned();
            return self.judge.finish(why, queues);
        }
        self.judge.look(queues, monotonic_ns())
    }
}
