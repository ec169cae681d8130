//! The server: one thread takes connections and greetings, each test has its own threads.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::Duration;

use bitcost_sys::process::wait_any;

use crate::admission::Admission;
use crate::control::Control;
use crate::datagram::answer;
use crate::event::Event;
use crate::options;
use crate::params::Params;
use crate::pending::{Next, Pending};
use crate::protocol::{Cookie, code};
use crate::refusal::Refusal;
use crate::registry::{Belongs, Registry};
use crate::rules::Limits;
use crate::session::{STACK_BYTES, Session};
use crate::udp;

/// Connections that have not yet shown what they are; one more ends the oldest.
const MOST_PENDING: usize = 256;

/// Connections that the kernel keeps until they are taken, as far as `net.core.somaxconn` allows.
const BACKLOG: i32 = 4096;

/// How often it is asked whether the server is to stop, and what became of clients.
const TURN: Duration = Duration::from_millis(50);

/// Datagrams that are taken before connections are looked at again.
const DATAGRAMS_OF_A_TURN: usize = 1024;

pub struct Server {
    entries: Vec<Entry>,
    limits: Limits,
    stop: Arc<AtomicBool>,
    registry: Arc<Registry>,
    admission: Admission,
    pending: VecDeque<Pending>,
    sessions: Vec<JoinHandle<()>>,
    teller: Sender<Event>,
    told: Receiver<Event>,
}

struct Entry {
    address: SocketAddr,
    listener: TcpListener,
    greetings: UdpSocket,
}

impl Server {
    /// Binds to these addresses, TCP and UDP. `stop` ends the server and all of its tests.
    pub fn open(
        addresses: &[SocketAddr],
        limits: Limits,
        stop: Arc<AtomicBool>,
    ) -> Result<Server, (SocketAddr, io::Error)> {
        let (teller, told) = channel();
        let entries = addresses
            .iter()
            .map(|address| Entry::open(*address).map_err(|error| (*address, error)));
        Ok(Server {
            entries: entries.collect::<Result<_, _>>()?,
            limits,
            stop,
            registry: Arc::default(),
            admission: Admission::default(),
            pending: VecDeque::new(),
            sessions: Vec::new(),
            teller,
            told,
        })
    }

    /// The addresses with the ports that the kernel gave.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.entries.iter().map(|entry| entry.address)
    }

    /// Gives its sockets to the user that this process is about to become: those of UDP streams share its port, which the kernel
    /// allows sockets of one user alone (`SO_REUSEPORT`, socket(7)).
    pub fn give_to(&self, user: u32) -> io::Result<()> {
        for entry in &self.entries {
            let user = Some(rustix::fs::Uid::from_raw(user));
            rustix::fs::fchown(&entry.greetings, user, None)?;
        }
        Ok(())
    }

    /// Serves until it is to stop; then all tests end.
    pub fn serve(mut self, mut tell: impl FnMut(Event)) {
        while !self.stop.load(Relaxed) {
            self.wait();
            for at in 0..self.entries.len() {
                self.accept(at);
                self.take_greetings(at);
            }
            self.read_pending();
            self.sessions.retain(|session| !session.is_finished());
            while let Ok(event) = self.told.try_recv() {
                tell(event);
            }
        }
        self.pending.clear();
        for session in self.sessions.drain(..) {
            let _ = session.join();
        }
        while let Ok(event) = self.told.try_recv() {
            tell(event);
        }
    }

    fn wait(&self) {
        let entries = self.entries.iter();
        let own = entries.flat_map(|entry| [entry.listener.as_fd(), entry.greetings.as_fd()]);
        let pending = self.pending.iter().map(|pending| pending.stream.as_fd());
        let files: Vec<BorrowedFd<'_>> = own.chain(pending).collect();
        if wait_any(&files, Some(TURN)).is_err() {
            sleep(TURN);
        }
    }

    fn accept(&mut self, at: usize) {
        for _ in 0..MOST_PENDING {
            let pending = match self.entries[at].listener.accept() {
                Ok((stream, peer)) => Pending::new(stream, peer),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(_) => {
                    // No descriptor is free: some must end before another one is taken.
                    self.pending.pop_front();
                    sleep(TURN);
                    return;
                }
            };
            if self.pending.len() >= MOST_PENDING {
                self.pending.pop_front();
            }
            self.pending.extend(pending.ok());
        }
    }

    fn read_pending(&mut self) {
        for _ in 0..self.pending.len() {
            let Some(mut pending) = self.pending.pop_front() else {
                return;
            };
            loop {
                match pending.read() {
                    Next::Wait => {
                        self.pending.push_back(pending);
                        break;
                    }
                    Next::Gone => break,
                    Next::Wrong(refusal) => self.refuse(&mut pending, refusal),
                    Next::Params(cookie, params) => {
                        if let Some(refused) = self.start(pending, cookie, &params) {
                            self.pending.push_back(refused);
                        }
                        break;
                    }
                    Next::Cookie(cookie) => {
                        let peer = pending.peer.ip().to_canonical();
                        match self.registry.of_cookie(&cookie, peer) {
                            Belongs::To(taker) => {
                                let _ = taker.send(pending.stream.into());
                                break;
                            }
                            Belongs::Foreign => {
                                pending.deny();
                                self.tell_refused(pending.peer, foreign());
                            }
                            Belongs::Unknown => self.welcome(&mut pending),
                        }
                    }
                }
            }
        }
    }

    /// Asks a new client what it wants, where there is a place for it.
    fn welcome(&self, pending: &mut Pending) {
        match self.admission.check_clients(&self.limits) {
            Ok(()) => drop(pending.ask_params()),
            Err(refusal) => {
                pending.deny();
                self.tell_refused(pending.peer, refusal);
            }
        }
    }

    fn refuse(&self, pending: &mut Pending, refusal: Refusal) {
        pending.refuse(&refusal);
        self.tell_refused(pending.peer, refusal);
    }

    fn tell_refused(&self, peer: SocketAddr, refusal: Refusal) {
        let _ = self.teller.send(Event::Refused { peer, refusal });
    }

    /// Starts a test, or returns the connection of a client that was refused.
    fn start(&mut self, mut pending: Pending, cookie: Cookie, params: &[u8]) -> Option<Pending> {
        let admitted = Params::read(params).and_then(|params| {
            self.limits.check(&params)?;
            options::try_out(&params)?;
            let flows = params.receives().len();
            let admitted = self.admission.admit(flows, &self.limits)?;
            Ok((params, admitted))
        });
        let (params, admitted) = match admitted {
            Ok(admitted) => admitted,
            Err(refusal) => {
                self.refuse(&mut pending, refusal);
                return Some(pending);
            }
        };
        let peer = pending.peer;
        let stream = pending.stream;
        let session = stream.local_addr().and_then(|local| {
            Ok(Session {
                control: Control::new(stream, self.stop.clone())?,
                peer,
                local,
                cookie,
                params,
                limits: self.limits.clone(),
                registry: self.registry.clone(),
            })
        });
        let teller = self.teller.clone();
        let thread = session.and_then(|session| {
            Builder::new()
                .stack_size(STACK_BYTES)
                .spawn(move || session.run(admitted, &teller))
        });
        match thread {
            Ok(thread) => self.sessions.push(thread),
            Err(error) => {
                let reason = format!("this host cannot: {error}");
                let _ = self.teller.send(Event::Failed { peer, reason });
            }
        }
        None
    }

    /// Takes the greetings of UDP streams. A datagram of a host that no test waits for gets no
    /// answer.
    fn take_greetings(&self, at: usize) {
        let mut buffer = [0; 64];
        let mut misled = VecDeque::new();
        for _ in 0..DATAGRAMS_OF_A_TURN {
            let (peer, datagram) = match misled.pop_front() {
                Some(datagram) => datagram,
                None => match self.entries[at].greetings.recv_from(&mut buffer) {
                    Ok((length, peer)) => (peer, buffer[..length].to_vec()),
                    Err(_) => return,
                },
            };
            misled.extend(self.greet(peer, &datagram));
        }
    }

    /// Makes the socket of a stream and answers; returns the datagrams of others that came to it.
    fn greet(&self, peer: SocketAddr, datagram: &[u8]) -> Vec<udp::Misled> {
        // Looked at first, so that no answer is larger than what it answers.
        let Some(answer) = answer(datagram) else {
            return Vec::new();
        };
        let Some(turn) = self.registry.of_greeting(peer.ip().to_canonical()) else {
            return Vec::new();
        };
        match udp::open_stream(turn.local, peer) {
            Ok((socket, misled)) => {
                if socket.send(&answer).is_ok() {
                    let _ = turn.taker.send(socket.into());
                }
                misled
            }
            Err(error) => {
                self.tell_refused(peer, Refusal::of_host(code::STREAM, "a UDP stream", &error));
                Vec::new()
            }
        }
    }
}

/// The refusal of a data connection; its client is told none of it.
fn foreign() -> Refusal {
    let rule = "a data connection from another host than its test's, or more of them than streams";
    Refusal::new(code::ACCEPT, rule.to_owned())
}

impl Entry {
    fn open(address: SocketAddr) -> io::Result<Entry> {
        let listener = TcpListener::bind(address)?;
        // Called a second time only to let more connections wait.
        rustix::net::listen(&listener, BACKLOG)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let greetings = udp::open(address)?;
        Ok(Entry {
            address,
            listener,
            greetings,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::Mutex;

    use super::*;

    /// What is told is taken by the thread that takes clients: no more of them are taken while it waits.
    #[test]
    fn clients_wait_for_events_that_nobody_takes() {
        let stop = Arc::new(AtomicBool::new(false));
        let limits = Limits {
            duration: Duration::from_secs(1),
            bitrate: None,
            clients: 1,
            flows: 1,
        };
        let server = Server::open(&[([127, 0, 0, 1], 0).into()], limits, stop.clone());
        let server = server.unwrap_or_else(|(address, error)| panic!("{address}: {error}"));
        let address = server.entries[0].address;
        let hold = Arc::<Mutex<()>>::default();
        let (held, holding) = (hold.clone(), hold.lock().expect("no test failed"));
        let serving = std::thread::spawn(move || {
            let mut count = 0;
            server.serve(|_| {
                let _waited = held.lock().expect("no test failed");
                count += 1;
            });
            count
        });
        // None of them has the cookie of a client.
        let foreign = || {
            let mut stream = TcpStream::connect(address).expect("connected");
            stream.write_all(&[0xAB; 37]).expect("sent");
            stream
        };
        let is_answered = |stream: &mut TcpStream, wait: Duration| {
            stream.set_read_timeout(Some(wait)).expect("a time");
            stream.read_exact(&mut [0; 9]).is_ok()
        };
        let mut first = foreign();
        assert!(is_answered(&mut first, Duration::from_secs(10)));
        let mut second = foreign();
        assert!(!is_answered(&mut second, Duration::from_secs(1)));
        drop(holding);
        assert!(is_answered(&mut second, Duration::from_secs(10)));
        stop.store(true, Relaxed);
        assert_eq!(serving.join().expect("it ends"), 2);
    }
}
