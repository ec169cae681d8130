//! An agent for an endpoint that a stock iperf3 server plays: it speaks the control protocol of
//! bitcost with the controller, and iperf3's with the server. The data connections are made by the
//! agent of the other endpoint.

mod output;
pub mod record;
pub mod request;
mod test;

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use bitcost_model::Unavailable;
use bitcost_model::machine::HostDescription;
use bitcost_model::protocol::{
    Decoder, FailureCause, FrameError, FromAgent, Lease, PROTOCOL, Prepare, Route, ToAgent,
};
use bitcost_sys::clock::monotonic_ns;

use output::Output;
use test::{Command, Test};

/// Messages of the controller that may be queued; more stay in the pipe.
const WAITING_MAX: usize = 64;

/// A test that takes place in its own thread. Dropping it ends it.
struct Running {
    commands: Sender<Command>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start(server: SocketAddr, prepare: Prepare, output: Output) -> Running {
        let (commands, received) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let test = Test {
            server,
            prepare,
            output,
            commands: received,
            stop: stop.clone(),
        };
        Running {
            commands,
            stop,
            thread: Some(std::thread::spawn(move || test.run())),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Serves one controller until its input ends or the lease expires.
pub fn serve(
    server: SocketAddr,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), Unavailable> {
    let output = Output::new(output);
    let inbox = read_messages(input);
    let mut lease = Lease::new(Lease::LENGTH, monotonic_ns());
    let mut running = None;
    loop {
        let left = lease.left(monotonic_ns()).ok_or_else(|| {
            let seconds = Lease::LENGTH.as_secs();
            Unavailable(format!(
                "nothing heard from the controller for {seconds} s; the test was ended"
            ))
        })?;
        match inbox.recv_timeout(left) {
            Ok(message) => {
                lease.renew(monotonic_ns());
                let message = message.map_err(|error| Unavailable(error.to_string()))?;
                answer(message, server, &output, &mut running);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

fn read_messages(mut input: impl Read + Send + 'static) -> Receiver<Result<ToAgent, FrameError>> {
    let (sender, receiver) = mpsc::sync_channel(WAITING_MAX);
    std::thread::spawn(move || {
        let mut decoder = Decoder::default();
        let mut bytes = [0; 16 << 10];
        while let Ok(length @ 1..) = input.read(&mut bytes) {
            decoder.push(&bytes[..length]);
            while let Some(message) = decoder.take().transpose() {
                let is_broken = message.is_err();
                if sender.send(message).is_err() || is_broken {
                    return;
                }
            }
        }
    });
    receiver
}

fn lacks(what: &str) -> FromAgent {
    FromAgent::Failed {
        reason: format!("an iperf3 server {what}"),
        cause: FailureCause::HostLacks,
    }
}

fn answer(message: ToAgent, server: SocketAddr, output: &Output, running: &mut Option<Running>) {
    let pass = |command| {
        if let Some(running) = running.as_ref() {
            // A test that has ended has said why.
            let _ = running.commands.send(command);
        }
    };
    output.send(&match message {
        ToAgent::Hello { .. } => FromAgent::Hello {
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        ToAgent::Describe { .. } => FromAgent::Host(Box::new(host())),
        ToAgent::Route { .. } => FromAgent::Route(Route {
            device: String::new(),
            source: server.ip(),
            is_local: server.ip().is_loopback(),
        }),
        ToAgent::AddressesOf { .. } => FromAgent::AddressesOf {
            addresses: vec![server.ip()],
        },
        ToAgent::Clock => FromAgent::Clock {
            now_ns: monotonic_ns(),
        },
        ToAgent::Idle { length_ms } => {
            // The other agent measures meanwhile.
            std::thread::sleep(Duration::from_millis(length_ms.min(1000).into()));
            FromAgent::Idle(Box::default())
        }
        ToAgent::TryProfile => lacks("does not sample the CPUs of its host"),
        ToAgent::Constants { .. } => lacks("does not measure its host"),
        ToAgent::Prepare(prepare) => {
            *running = None;
            *running = Some(Running::start(server, *prepare, output.clone()));
            return;
        }
        ToAgent::Stop => {
            *running = None;
            FromAgent::Stopped
        }
        ToAgent::Renew => FromAgent::Alive,
        // The other endpoint ends, and the test with it.
        ToAgent::End => return,
        ToAgent::Meet { .. } => return pass(Command::Meet),
        ToAgent::Start(start) => return pass(Command::Start(start)),
        ToAgent::Finish { sent } => return pass(Command::Finish(sent)),
    });
}

fn host() -> HostDescription {
    HostDescription {
        host_name: "of an iperf3 server, which does not describe it".to_owned(),
        bitcost_version: String::new(),
        ..HostDescription::default()
    }
}
