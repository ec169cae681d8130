//! An agent that a test controls: the test is its controller.

use crate::bench::*;
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, channel};

use bitcost_model::protocol::{Decoder, FailureCause, PROTOCOL, encode};

/// The process, with pipes to and from it.
pub struct AgentProcess {
    pub child: Child,
    /// Absent once it is closed.
    pub input: Option<ChildStdin>,
    pub output: Receiver<FromAgent>,
}

impl AgentProcess {
    /// Starts the agent, and waits for its answer to the first message.
    pub fn start(command: &mut Command) -> AgentProcess {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (tell, output) = channel();
        let mut pipe = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            let (mut decoder, mut bytes) = (Decoder::default(), vec![0; 1 << 16]);
            while let Ok(length @ 1..) = pipe.read(&mut bytes) {
                decoder.push(&bytes[..length]);
                while let Ok(Some(message)) = decoder.take() {
                    let _ = tell.send(message);
                }
            }
        });
        let input = child.stdin.take();
        let mut agent = AgentProcess {
            child,
            input,
            output,
        };
        agent.send(&ToAgent::Hello {
            protocol: PROTOCOL,
            version: "test".to_owned(),
        });
        agent.until("hello", |message| {
            matches!(message, FromAgent::Hello { .. })
        });
        agent
    }

    /// Sends a message to the agent, as [`AgentProcess::write`].
    pub fn send(&mut self, message: &ToAgent) {
        self.write(&encode(message).unwrap());
    }

    /// Writes to the agent; a write to an agent that has ended is ignored.
    pub fn write(&mut self, bytes: &[u8]) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(bytes);
        }
    }

    pub fn until(&self, what: &str, wanted: impl Fn(&FromAgent) -> bool) -> FromAgent {
        loop {
            let message = self
                .output
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            if wanted(&message) {
                return message;
            }
        }
    }

    /// The reason with which the agent refuses this message, and the kind of failure.
    fn failure(&mut self, message: &ToAgent) -> (String, Option<FailureCause>) {
        self.send(message);
        match self.until("a refusal", |message| {
            matches!(message, FromAgent::Failed { .. })
        }) {
            FromAgent::Failed { reason, cause } => (reason, Some(cause)),
            _ => (String::new(), None),
        }
    }

    /// The reason with which the agent refuses this message.
    pub fn refusal(&mut self, message: &ToAgent) -> String {
        self.failure(message).0
    }

    /// The reason why the host cannot do what a message requests.
    pub fn obstacle(&mut self, message: &ToAgent) -> String {
        let (reason, cause) = self.failure(message);
        assert_eq!(cause, Some(FailureCause::HostLacks), "{reason}");
        reason
    }
}
