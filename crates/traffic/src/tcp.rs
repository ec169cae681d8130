//! TCP connections of every workload: bound, connected or accepted with the run's options, and
//! closed normally.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use bitcost_model::conditions::{Conditions, TCP_TIMESTAMPS};
use bitcost_model::firewall::to_open;
use bitcost_model::record::InEffect;
use bitcost_sys::socket::{self, SO_RCVLOWAT, TCP_MAXSEG, is_passing};
use rustix::io::Errno;
use rustix::net::sockopt;

use crate::flow::TrafficError;
use crate::options::{self, tcp_info};
use crate::{binding, congestion};

/// The segment size to announce in the kernel's terms, where the run asks for one.
pub fn segment_option(conditions: &Conditions) -> Option<i32> {
    // The option counts the timestamps, which take their place from the user's data.
    conditions.segment_bytes().map(|bytes| {
        (bytes
            + if timestamps_in_use() {
                TCP_TIMESTAMPS
            } else {
                0
            }) as i32
    })
}

/// A connection to the other endpoint, on which these bytes were sent first: a greeting, or a cookie. It is not answered: the
/// other agent reports to the controller that it has accepted it, and the controller starts the run when both agents have
/// reported.
pub fn connect(
    conditions: &Conditions,
    peer: SocketAddr,
    opening: &[u8],
    patience: Duration,
) -> Result<TcpStream, TrafficError> {
    let tried = || -> Result<Result<OwnedFd, Errno>, TrafficError> {
        let socket = binding::sender(peer, conditions)?;
        if let Some(bytes) = segment_option(conditions) {
            socket::set_int(&socket, TCP_MAXSEG, bytes)
                .map_err(TrafficError::system(format!("TCP_MAXSEG of {bytes} bytes")))?;
        }
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(patience / 2))
            .map_err(|error| TrafficError::system("SO_SNDTIMEO")(error.into()))?;
        Ok(rustix::net::connect(&socket, &peer).map(|()| socket))
    };
    let made = match tried()? {
        // A filter may drop or refuse one connection, and pass one from another port.
        Err(Errno::INPROGRESS | Errno::CONNREFUSED | Errno::CONNRESET) => tried()?,
        made => made,
    };
    let asked = format!("connect to TCP {peer} within {patience:?}");
    let socket = made.map_err(|error| match error {
        Errno::CONNREFUSED | Errno::HOSTUNREACH | Errno::INPROGRESS | Errno::TIMEDOUT => {
            let (port, command) = (peer.port(), to_open("tcp", peer.port()));
            TrafficError::Unreached(format!(
                "{asked}: {error}; open the port at that host (`-p {port}` keeps it for a test by ssh): {command}"
            ))
        }
        _ => connect_error(&asked, error),
    })?;
    let mut stream = TcpStream::from(socket);
    congestion::ask(&stream, conditions)?;
    stream
        .write_all(opening)
        .and_then(|()| stream.set_write_timeout(None))
        .map_err(|error| {
            TrafficError::Peer(format!(
                "cannot send the first bytes to the other endpoint at TCP {peer}: {error}"
            ))
        })?;
    Ok(stream)
}

pub fn connect_error(asked: &str, error: Errno) -> TrafficError {
    let hint = match error {
        Errno::ADDRNOTAVAIL => {
            "; every local port towards it is taken or in TIME_WAIT: widen net.ipv4.ip_local_port_range or set net.ipv4.tcp_tw_reuse to 1 on the sender's host"
        }
        _ => "",
    };
    TrafficError::System {
        asked: asked.to_owned(),
        error: error.into(),
        hint: hint.to_owned(),
    }
}

fn timestamps_in_use() -> bool {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_timestamps")
        .map_or(true, |text| text.trim() != "0")
}

/// The connection's settings as requested and as the kernel reports them: for a `sender` with its
/// MSS, for a receiver with its low-water mark.
pub fn in_effect(stream: &TcpStream, conditions: &Conditions, sender: bool) -> Vec<InEffect> {
    let mut settings = options::in_effect(stream, conditions, true);
    let (asked, actual) = (
        conditions.congestion_control.as_ref(),
        sockopt::tcp_congestion(stream).ok(),
    );
    settings.push(InEffect::new("congestion_control", asked, actual));
    settings.push(if sender {
        let actual = tcp_info(stream).and_then(|info| info.snd_mss_bytes);
        InEffect::new("mss_bytes", conditions.segment_bytes(), actual)
    } else {
        let actual = socket::get_int(stream, SO_RCVLOWAT).ok();
        let asked = conditions.receive_low_water_bytes;
        InEffect::new("receive_low_water_bytes", asked, actual)
    });
    settings
}

/// The time for which nothing may be acknowledged when the sender ends; an agent waits for less before it ends the run and
/// keeps what was measured.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(8);

/// The interval at which it is checked whether data are still acknowledged.
const DRAIN_LOOK: Duration = Duration::from_millis(100);

/// Sends a FIN and waits until the receiver has received everything and has sent its own.
///
/// # Errors
/// When the other host acknowledges nothing for [`DRAIN_TIMEOUT`], and the errors of the calls.
pub fn close_gracefully(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(DRAIN_LOOK))?;
    let mut drain = Drain::of(stream)?;
    loop {
        match stream.read(&mut [0; 1]) {
            Err(error) if is_passing(&error) => drain.check(stream)?,
            answer => return answer.map(|_| ()),
        }
    }
}

/// Waits until the other host has acknowledged everything; its connection stays open, because an
/// iperf3 server ends it.
///
/// # Errors
/// When it acknowledges nothing for [`DRAIN_TIMEOUT`], and the errors of the calls.
pub fn await_acknowledged(stream: &TcpStream) -> io::Result<()> {
    let mut drain = Drain::of(stream)?;
    while drain.left > 0 {
        std::thread::sleep(Duration::from_millis(1));
        drain.check(stream)?;
    }
    Ok(())
}

struct Drain {
    left: u32,
    moved: Instant,
}

impl Drain {
    fn of(stream: &TcpStream) -> io::Result<Drain> {
        Ok(Drain {
            left: bitcost_sys::socket::queued_bytes(stream)?,
            moved: Instant::now(),
        })
    }

    /// Looks again.
    ///
    /// # Errors
    /// When nothing has been acknowledged for [`DRAIN_TIMEOUT`].
    fn check(&mut self, stream: &TcpStream) -> io::Result<()> {
        let left = bitcost_sys::socket::queued_bytes(stream)?;
        if left != self.left {
            (self.left, self.moved) = (left, Instant::now());
        }
        if self.moved.elapsed() < DRAIN_TIMEOUT {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "nothing was acknowledged for {DRAIN_TIMEOUT:?} and the connection did not end, {left} bytes are not acknowledged"
        )))
    }
}
