//! An agent for an endpoint that a stock iperf3 server plays: it speaks the control protocol of
//! bitcost with the controller, and iperf3's with the server. The data connections are made by the
//! agent of the other endpoint.

pub mod record;
pub mod request;
mod test;

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use bitcost_model::Unavailable;
use bitcost_model::machine::HostDescription;
use bitcost_model::protocol::{
    Decoder, FailureCause, FromAgent, Lease, PROTOCOL, Route, ToAgent, encode,
};
use bitcost_sys::clock::monotonic_ns;
use bitcost_sys::netlink::Rtnl;
use bitcost_sys::process::{wait_any, wait_readable};

use test::{Test, connect};

/// Serves one controller until its input ends or the lease expires.
pub fn serve(
    server: SocketAddr,
    mut input: impl Read + AsFd,
    output: impl Write,
) -> Result<(), Unavailable> {
    let mut agent = Agent {
        server,
        output,
        test: None,
    };
    let mut lease = Lease::new(Lease::LENGTH, monotonic_ns());
    let mut decoder = Decoder::of_agent();
    let mut bytes = [0; 16 << 10];
    loop {
        let left = lease.left(monotonic_ns()).ok_or_else(|| {
            let seconds = Lease::LENGTH.as_secs();
            Unavailable(format!(
                "nothing heard from the controller for {seconds} s; the test was ended"
            ))
        })?;
        let failed = |error| Unavailable(format!("wait for the controller: {error}"));
        let of_server = agent.test.as_ref().and_then(Test::heard);
        let files = [Some(input.as_fd()), of_server].into_iter().flatten();
        wait_any(&files.collect::<Vec<_>>(), Some(left)).map_err(failed)?;
        agent.step(Test::listen);
        if !wait_readable(&input, Duration::ZERO).map_err(failed)? {
            continue;
        }
        let Ok(length @ 1..) = input.read(&mut bytes) else {
            return Ok(());
        };
        decoder.push(&bytes[..length]);
        let broken = |error| Unavailable(format!("{error}"));
        while let Some(message) = decoder.take().map_err(broken)? {
            agent.answer(message);
            lease.renew(monotonic_ns());
        }
    }
}

struct Agent<W> {
    server: SocketAddr,
    output: W,
    /// The test that is prepared or takes place.
    test: Option<Test>,
}

impl<W: Write> Agent<W> {
    /// Sends a message. A controller that is gone has closed the input as well.
    fn send(&mut self, message: &FromAgent) {
        let frame = encode(message).unwrap_or_default();
        let _ = self.output.write_all(&frame);
        let _ = self.output.flush();
    }

    fn failed(&mut self, reason: String) {
        self.test = None;
        let cause = FailureCause::Other;
        self.send(&FromAgent::Failed { reason, cause });
    }

    /// Takes a step of the test, which ends where it fails. A test that has ended has said why.
    fn step(
        &mut self,
        step: impl FnOnce(&mut Test, &mut dyn FnMut()) -> Result<Vec<FromAgent>, String>,
    ) {
        let Some(mut test) = self.test.take() else {
            return;
        };
        let taken = step(&mut test, &mut || self.send(&FromAgent::Alive));
        match taken {
            Ok(answers) => {
                self.test = Some(test);
                answers.iter().for_each(|answer| self.send(answer));
            }
            Err(reason) => self.failed(reason),
        }
    }

    fn answer(&mut self, message: ToAgent) {
        let server = self.server;
        let answer = match message {
            ToAgent::Hello { .. } => FromAgent::Hello {
                protocol: PROTOCOL,
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            ToAgent::Describe { .. } => FromAgent::Host(Box::new(host())),
            ToAgent::Route { to, .. } => FromAgent::Route(Route {
                device: String::new(),
                source: server.ip(),
                is_local: to == server.ip() || is_here(server.ip()),
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
            ToAgent::Observe { .. } => lacks("does not read connections of other programs"),
            ToAgent::Prepare(prepare) => {
                self.test = None;
                let control = match connect(server, &prepare) {
                    Ok(control) => control,
                    Err(reason) => {
                        let cause = FailureCause::Unreached;
                        return self.send(&FromAgent::Failed { reason, cause });
                    }
                };
                let mut alive = || self.send(&FromAgent::Alive);
                let opened = Test::open(server, control, *prepare, &mut alive);
                match opened {
                    Ok(test) => self.test.insert(test).listening(),
                    Err(reason) => return self.failed(reason),
                }
            }
            ToAgent::Stop => {
                self.test = None;
                FromAgent::Stopped
            }
            ToAgent::Renew => FromAgent::Alive,
            // The other endpoint ends, and the test with it.
            ToAgent::End => return,
            ToAgent::Meet { .. } => return self.step(Test::meet),
            ToAgent::Start(start) => return self.step(|test, _| test.start(start)),
            ToAgent::Finish { sent } => {
                return self.step(|test, alive| test.finish(&sent, alive));
            }
        };
        self.send(&answer);
    }
}

/// Whether an address is this host's own.
fn is_here(address: IpAddr) -> bool {
    let route = Rtnl::open().and_then(|mut rtnl| rtnl.route(address, 0));
    route.is_ok_and(|route| route.is_local)
}

fn lacks(what: &str) -> FromAgent {
    FromAgent::Failed {
        reason: format!("an iperf3 server {what}"),
        cause: FailureCause::HostLacks,
    }
}

fn host() -> HostDescription {
    HostDescription {
        host_name: "of an iperf3 server, which does not describe it".to_owned(),
        bitcost_version: String::new(),
        ..HostDescription::default()
    }
}
