//! Which of two sockets that listen at one address and port takes a connection (`SO_ATTACH_REUSEPORT_CBPF`, socket(7)).

use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;

use libc::{BPF_ABS, BPF_B, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, SKF_NET_OFF};

use crate::socket::{self, IntOption};

const ATTACH: IntOption = IntOption(libc::SOL_SOCKET, libc::SO_ATTACH_REUSEPORT_CBPF);

/// Has connections from this address go to the socket that listens at the address as the second one, such as this one, and all
/// others to the first. When the second is closed, all go to the first again.
///
/// # Errors
/// Those of the system call, such as `EINVAL` where the socket shares its address with none (`SO_REUSEPORT`).
pub fn second_takes(socket: impl AsFd, peer: IpAddr) -> io::Result<()> {
    let peer = peer.to_canonical();
    // The source address in the header of the packet (RFC 791, RFC 8200).
    let (version, source, address) = match peer {
        IpAddr::V4(peer) => (4, 12, peer.octets().to_vec()),
        IpAddr::V6(peer) => (6, 8, peer.octets().to_vec()),
    };
    let step = |code: u32, unless: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: unless,
        k,
    };
    let load = |size: u32, at: usize| {
        step(
            BPF_LD | size | BPF_ABS,
            0,
            SKF_NET_OFF.cast_unsigned() + at as u32,
        )
    };
    let words: Vec<u32> = address
        .chunks_exact(4)
        .map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    // Each comparison jumps over what is left of them, and over the first answer.
    let mut left = 2 * words.len() as u8 + 1;
    let mut steps = vec![
        load(BPF_B, 0),
        step(libc::BPF_ALU | libc::BPF_RSH | BPF_K, 0, 4),
        step(BPF_JMP | BPF_JEQ | BPF_K, left, version),
    ];
    for (index, word) in words.iter().enumerate() {
        left -= 2;
        steps.push(load(BPF_W, source + 4 * index));
        steps.push(step(BPF_JMP | BPF_JEQ | BPF_K, left, *word));
    }
    steps.push(step(BPF_RET | BPF_K, 0, 1));
    steps.push(step(BPF_RET | BPF_K, 0, 0));
    let program = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: the program points to `steps`, which outlives the call.
    unsafe { socket::set(socket, ATTACH, &program) }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};

    use rustix::net::{AddressFamily, SocketType, bind, connect, listen, socket, sockopt};

    use super::*;

    fn bound(at: SocketAddr, shares: bool) -> std::os::fd::OwnedFd {
        let family = match at.is_ipv4() {
            true => AddressFamily::INET,
            false => AddressFamily::INET6,
        };
        let socket = socket(family, SocketType::STREAM, None).expect("a socket");
        sockopt::set_socket_reuseport(&socket, shares).expect("SO_REUSEPORT");
        bind(&socket, &at).expect("a free address");
        socket
    }

    /// Which of two listening sockets gets a connection from this address, after the second took those of `peer`.
    fn taken_by(any: IpAddr, from: IpAddr, peer: IpAddr) -> usize {
        let first = bound(SocketAddr::new(any, 0), false);
        sockopt::set_socket_reuseport(&first, true).expect("SO_REUSEPORT");
        listen(&first, 32).expect("listens");
        let first = TcpListener::from(first);
        let port = first.local_addr().expect("an address").port();
        let second = bound(SocketAddr::new(any, port), true);
        listen(&second, 32).expect("listens");
        second_takes(&second, peer).expect("a kernel with such programs");
        let listeners = [first, TcpListener::from(second)];
        let here = match from.is_ipv4() {
            true => Ipv4Addr::LOCALHOST.into(),
            false => IpAddr::from(Ipv6Addr::LOCALHOST),
        };
        for listener in &listeners {
            listener.set_nonblocking(true).expect("O_NONBLOCK");
        }
        let of = |count: usize| -> Vec<TcpStream> {
            let client = || {
                let socket = bound(SocketAddr::new(from, 0), false);
                connect(&socket, &SocketAddr::new(here, port)).expect("connected");
                TcpStream::from(socket)
            };
            (0..count).map(|_| client()).collect()
        };
        let _clients = of(20);
        let counts = listeners.each_ref().map(|listener| {
            let accepted = listener.incoming().map_while(Result::ok);
            accepted.count()
        });
        assert!(counts == [20, 0] || counts == [0, 20], "{counts:?}");
        usize::from(counts[1] == 20)
    }

    #[test]
    fn the_second_takes_those_of_one_address_alone() {
        let v4 = |last| IpAddr::from([127, 0, 0, last]);
        let any = Ipv4Addr::UNSPECIFIED.into();
        assert_eq!(taken_by(any, v4(2), v4(2)), 1);
        assert_eq!(taken_by(any, v4(3), v4(2)), 0);
        let (any, here) = (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::LOCALHOST.into());
        if TcpListener::bind((here, 0)).is_ok() {
            assert_eq!(taken_by(any, here, here), 1);
            assert_eq!(
                taken_by(any, here, IpAddr::from([0, 0, 0, 0, 0, 0, 0, 2])),
                0
            );
            assert_eq!(
                taken_by(any, here, IpAddr::from([1, 0, 0, 0, 0, 0, 0, 1])),
                0
            );
        }
    }
}
