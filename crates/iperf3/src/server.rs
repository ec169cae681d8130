//! The server: one thread takes connections and greetings, each connection has a thread, which serves its test if it has
//! one.

use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::Duration;

use bitcost_model::client_event::ClientEvent;
use bitcost_sys::process::wait_any;

use crate::control::Control;
use crate::limits::{Admission, Admitted, Limits};
use crate::options;
use crate::params::Params;
use crate::protocol::{COOKIE_BYTES, Cookie, Refusal, code, server_error, state};
use crate::registry::{Belongs, Registry};
use crate::session::{End, Session};
use crate::streams::STACK_BYTES;
use crate::udp::{self, answer};

/// Connections that have not yet shown what they are; one more ends the oldest.
const MOST_PENDING: usize = 256;

/// The most bytes of parameters; iperf3 3.21 has the same limit.
const MOST_PARAMS_BYTES: usize = 8 * 1024;

/// Connections that the kernel keeps until they are taken, as far as `net.core.somaxconn` allows.
const BACKLOG: i32 = 4096;

/// How often it is asked whether the server is to stop, and what became of clients.
const TURN: Duration = Duration::from_millis(50);

/// Datagrams that are taken before connections are looked at again.
const DATAGRAMS_OF_A_TURN: usize = 1024;

pub struct Server {
    entries: Vec<Entry>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    told: Receiver<(SocketAddr, ClientEvent)>,
}

/// What the threads of all connections use.
struct Shared {
    limits: Limits,
    stop: Arc<AtomicBool>,
    registry: Arc<Registry>,
    admission: Mutex<Admission>,
    /// Connections that have not yet shown what they are, the oldest first.
    pending: Mutex<VecDeque<Weak<TcpStream>>>,
    /// Connections and greetings so far.
    count: AtomicU64,
    teller: Sender<(SocketAddr, ClientEvent)>,
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
    ) -> io::Result<Server> {
        let (teller, told) = channel();
        let entries = addresses.iter().map(|address| Entry::open(*address));
        Ok(Server {
            entries: entries.collect::<Result<_, _>>()?,
            shared: Arc::new(Shared {
                limits,
                stop,
                registry: Arc::default(),
                admission: Mutex::default(),
                pending: Mutex::default(),
                count: AtomicU64::new(0),
                teller,
            }),
            threads: Vec::new(),
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

    /// Whether this process may bind to the port, as UDP streams do.
    pub fn check_port(&self) -> io::Result<()> {
        self.addresses()
            .try_for_each(|address| udp::open(address).map(drop))
    }

    /// Serves until it is to stop; then all tests end. No client is taken while an event is told.
    pub fn serve(mut self, mut tell: impl FnMut(SocketAddr, ClientEvent)) {
        while !self.shared.stop.load(Relaxed) {
            self.wait();
            for (peer, event) in self.told.try_iter() {
                tell(peer, event);
            }
            for at in 0..self.entries.len() {
                self.accept(at);
                self.take_greetings(at);
            }
            self.threads.retain(|thread| !thread.is_finished());
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        for (peer, event) in self.told.try_iter() {
            tell(peer, event);
        }
    }

    fn wait(&self) {
        let entries = self.entries.iter();
        let files = entries.flat_map(|entry| [entry.listener.as_fd(), entry.greetings.as_fd()]);
        let files: Vec<BorrowedFd<'_>> = files.collect();
        if wait_any(&files, Some(TURN)).is_err() {
            sleep(TURN);
        }
    }

    fn accept(&mut self, at: usize) {
        for _ in 0..MOST_PENDING {
            let (stream, peer) = match self.entries[at].listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(_) => {
                    // No descriptor is free: some must end before another one is taken.
                    end_oldest(&mut self.shared.pending());
                    sleep(TURN);
                    return;
                }
            };
            if let Err(error) = self.take(stream, peer) {
                let failed = ClientEvent::Failed(format!("this host cannot: {error}"));
                let _ = self.shared.teller.send((peer, failed));
            }
        }
    }

    /// Gives a connection to a thread of its own.
    fn take(&mut self, stream: TcpStream, peer: SocketAddr) -> io::Result<()> {
        let number = self.shared.count.fetch_add(1, Relaxed);
        let local = stream.local_addr()?;
        let control = Control::new(stream, self.shared.stop.clone())?;
        let mut pending = self.shared.pending();
        pending.retain(|stream| stream.strong_count() > 0);
        if pending.len() >= MOST_PENDING {
            end_oldest(&mut pending);
        }
        pending.push_back(Arc::downgrade(&control.stream));
        drop(pending);
        let shared = self.shared.clone();
        let thread = Builder::new().stack_size(STACK_BYTES);
        let thread = thread.spawn(move || shared.serve(control, number, [local, peer]))?;
        self.threads.push(thread);
        Ok(())
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
        let Some(turn) = self.shared.registry.of_greeting(peer.ip().to_canonical()) else {
            return Vec::new();
        };
        match udp::open_stream(turn.local, peer) {
            Ok((socket, misled)) => {
                if socket.send(&answer).is_ok() {
                    let number = self.shared.count.fetch_add(1, Relaxed);
                    let _ = turn.taker.send((number, socket.into()));
                }
                misled
            }
            Err(error) => {
                let refusal = Refusal::of_host(code::STREAM, "a UDP stream", &error);
                let refused = ClientEvent::Refused(refusal.rule);
                let _ = self.shared.teller.send((peer, refused));
                Vec::new()
            }
        }
    }
}

impl Shared {
    fn pending(&self) -> MutexGuard<'_, VecDeque<Weak<TcpStream>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn admission(&self) -> MutexGuard<'_, Admission> {
        self.admission
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves a connection, whatever it is.
    fn serve(&self, mut control: Control, number: u64, [local, peer]: [SocketAddr; 2]) {
        let tell = |event| drop(self.teller.send((peer, event)));
        match self.open(&mut control, number, peer) {
            Ok(None) | Err(End::Lost(_)) => {}
            Ok(Some((cookie, params, admitted))) => {
                let session = Session {
                    control,
                    peer,
                    local,
                    cookie,
                    params,
                    limits: self.limits.clone(),
                    registry: self.registry.clone(),
                };
                tell(session.run(admitted));
            }
            Err(End::Refused(refusal)) => {
                let last = match refusal.code {
                    code::BUSY | code::ACCEPT => vec![state::ACCESS_DENIED],
                    code => server_error(code, refusal.errno).to_vec(),
                };
                // It is told before the client can come again.
                tell(ClientEvent::Refused(refusal.rule));
                control.part(&last);
            }
        }
    }

    /// Reads what a connection begins with: a cookie, of a test also parameters. Absent for a flow,
    /// whose test has its socket now.
    fn open(
        &self,
        control: &mut Control,
        number: u64,
        peer: SocketAddr,
    ) -> Result<Option<(Cookie, Params, Admitted)>, End> {
        let cookie = cookie_of(control.exact()?)?;
        match self.registry.of_cookie(&cookie, peer.ip().to_canonical()) {
            Belongs::Unknown => {}
            Belongs::Foreign => return Err(foreign().into()),
            Belongs::To(taker) => {
                self.forget(&control.stream);
                if let Ok(socket) = control.stream.try_clone() {
                    let _ = taker.send((number, socket.into()));
                }
                return Ok(None);
            }
        }
        self.admission().check_clients(&self.limits)?;
        control.send_state(state::PARAM_EXCHANGE)?;
        let length = control.length()?;
        if !(2..=MOST_PARAMS_BYTES).contains(&length) {
            let most = MOST_PARAMS_BYTES;
            let rule = format!("parameters of {length} bytes; at most {most} are allowed");
            return Err(Refusal::new(code::PARAMS, rule).into());
        }
        let params = Params::read(&control.bytes(length)?)?;
        self.limits.check(&params)?;
        options::try_out(&params)?;
        let flows = params.receives().len();
        let admitted = self.admission().admit(flows, &self.limits)?;
        self.forget(&control.stream);
        Ok(Some((cookie, params, admitted)))
    }

    /// What a connection is, is known: another one does not end it.
    fn forget(&self, stream: &Arc<TcpStream>) {
        let is_other = |other: &Weak<TcpStream>| !std::ptr::eq(other.as_ptr(), Arc::as_ptr(stream));
        self.pending().retain(is_other);
    }
}

fn end_oldest(pending: &mut VecDeque<Weak<TcpStream>>) {
    if let Some(stream) = pending.pop_front().and_then(|oldest| oldest.upgrade()) {
        let _ = stream.shutdown(Shutdown::Both);
    }
}

/// Characters as iperf3 has had them: `hostname.seconds.random` at first, now only letters and
/// digits; a NUL at the end.
pub fn cookie_of(received: Cookie) -> Result<Cookie, Refusal> {
    let (characters, end) = received.split_at(COOKIE_BYTES - 1);
    match characters.iter().all(u8::is_ascii_graphic) && end == [0] {
        true => Ok(received),
        false => {
            let rule = "a connection that does not begin with iperf3's cookie";
            Err(Refusal::new(code::PARAMS, rule.to_owned()))
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
        let server = server.expect("it listens");
        let address = server.entries[0].address;
        let hold = Arc::<Mutex<()>>::default();
        let (held, holding) = (hold.clone(), hold.lock().expect("no test failed"));
        let serving = std::thread::spawn(move || {
            let mut count = 0;
            server.serve(|_, _| {
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
