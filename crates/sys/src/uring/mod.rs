//! Sending and receiving through an io_uring (io_uring(7)); from Linux 6.1 on.
//!
//! A ring belongs to the thread that uses it first, which runs the kernel's deferred work in the same call
//! that submits and waits (`IORING_SETUP_SINGLE_ISSUER`, `IORING_SETUP_DEFER_TASKRUN`).

mod receive;
mod ring;
mod send;

pub use receive::{ReceiveCounts, ReceiveRing};
pub use send::{How, SendCounts, SendRing, Sent};

#[cfg(test)]
#[allow(clippy::disallowed_macros)]
mod tests {
    use std::io::{self, Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsFd;
    use std::time::Duration;

    use super::*;
    use crate::datagram::Wait;

    const PATIENCE: Duration = Duration::from_secs(5);

    pub fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let from = TcpStream::connect(listener.local_addr().expect("address")).expect("connects");
        (from, listener.accept().expect("accepts").0)
    }

    /// A ring; absent where this kernel or this container has none.
    pub fn or_absent<T>(made: io::Result<T>) -> Option<T> {
        match made {
            Err(error)
                if matches!(
                    error.raw_os_error(),
                    Some(libc::ENOSYS | libc::EPERM | libc::EINVAL)
                ) =>
            {
                eprintln!("no io_uring here: {error}: not tested");
                None
            }
            made => Some(made.expect("a ring")),
        }
    }

    #[test]
    fn chain_arrives_whole_and_in_order() {
        for how in [How::Copying, How::ZeroCopy] {
            let (from, mut to) = pair();
            let Some(mut ring) = or_absent(SendRing::new(from.as_fd(), how, 4, 4, 300_000, 0))
            else {
                return;
            };
            (0..4).for_each(|slot| ring.message_mut(slot).fill(slot as u8));
            let reader = std::thread::spawn(move || {
                let mut bytes = Vec::new();
                to.read_to_end(&mut bytes).map(|_| bytes)
            });
            let sent = ring.send(4, 0, 300_000).expect("enters");
            assert_eq!(
                (sent.whole, sent.partial, sent.error.is_none()),
                (4, 0, true)
            );
            let short = ring.send(1, 299_999, 300_000).expect("enters");
            assert_eq!(short.whole, 1);
            from.shutdown(std::net::Shutdown::Write).expect("ends");
            let bytes = reader.join().expect("no panic").expect("reads");
            assert!(
                bytes
                    .chunks(300_000)
                    .zip([0, 1, 2, 3, 0])
                    .all(|(part, fill)| part.iter().all(|b| *b == fill))
            );
            assert_eq!(bytes.len(), 1_200_001);
            ring.take_notifications(PATIENCE);
            let counts = ring.counts();
            assert_eq!((counts.submissions, counts.completions), (5, 5));
            assert_eq!(
                (counts.notifications_due, counts.notifications),
                if how == How::ZeroCopy { (5, 5) } else { (0, 0) }
            );
        }
    }

    #[test]
    fn chain_reports_why_it_broke() {
        let (from, to) = pair();
        let Some(mut ring) = or_absent(SendRing::new(from.as_fd(), How::Copying, 4, 1, 8, 0))
        else {
            return;
        };
        drop(to);
        from.shutdown(std::net::Shutdown::Both).expect("ends");
        let sent = ring.send(4, 0, 8).expect("enters");
        assert_eq!(sent.whole, 0);
        assert_eq!(
            sent.error.and_then(|error| error.raw_os_error()),
            Some(libc::EPIPE)
        );
        assert_eq!(ring.counts().completions, 4);
    }

    #[test]
    fn stream_is_received_to_its_end() {
        let (mut from, to) = pair();
        let Some(mut ring) = or_absent(ReceiveRing::new(to.as_fd(), 4, 100)) else {
            return;
        };
        let writer = std::thread::spawn(move || from.write_all(&[7; 10_007]));
        let mut bytes = 0;
        loop {
            match ring.receive(Wait::Sleep, PATIENCE).expect("receives") {
                0 => break,
                some => {
                    assert_eq!(ring.received().map(<[u8]>::len).sum::<usize>(), some);
                    assert!(ring.received().flatten().all(|byte| *byte == 7));
                    bytes += some;
                }
            }
        }
        writer.join().expect("no panic").expect("writes");
        assert_eq!(bytes, 10_007);
        assert!(ring.counts().completions >= 101);
    }

    #[test]
    fn datagrams_have_separate_buffers_and_the_request_can_be_cancelled() {
        let bind = || UdpSocket::bind("127.0.0.1:0").expect("binds");
        let (from, to) = (bind(), bind());
        from.connect(to.local_addr().expect("address"))
            .expect("connects");
        let Some(mut ring) = or_absent(ReceiveRing::new(to.as_fd(), 8, 64)) else {
            return;
        };
        let nothing = ring
            .receive(Wait::Sleep, Duration::from_millis(1))
            .expect_err("nothing came");
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        for length in 1..=3 {
            from.send(&vec![9; length]).expect("sends");
        }
        let mut lengths = Vec::new();
        while lengths.len() < 3 {
            ring.receive(Wait::Sleep, PATIENCE).expect("receives");
            lengths.extend(ring.received().map(<[u8]>::len));
        }
        assert_eq!(lengths, [1, 2, 3]);
        let nothing = ring
            .receive(Wait::Never, Duration::ZERO)
            .expect_err("nothing more");
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
        ring.stop();
        from.send(&[9; 5]).expect("sends");
        assert_eq!(ring.receive(Wait::Sleep, PATIENCE).expect("receives"), 5);
        assert_eq!(ring.counts().submissions, 2);
    }
}
