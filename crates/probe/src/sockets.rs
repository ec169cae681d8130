//! The sockets of the flows: `TCP_INFO` (linux/tcp.h) and `SO_MEMINFO` (linux/sock_diag.h).
//!
//! A reading locks the socket for under 1 µs; the threads of the traffic do not take part.

use bitcost_model::counters::SocketMemory;
use bitcost_model::record::{PartSample, TcpInfo};

use crate::source::{Detail, Socket, Source, Target, source};

pub fn open(target: &Target) -> Option<Source> {
    let parts = target.sockets.clone();
    source(move |sample, detail| {
        if detail == Detail::Sums {
            return;
        }
        let mut parts = parts.iter().map(|sockets| part(sockets));
        if let Some(first) = parts.next() {
            sample.tcp_info = first.tcp_info;
            sample.connections = first.connections;
            sample.sockets = first.sockets;
        }
        for (background, read) in sample.background.iter_mut().zip(parts) {
            *background = PartSample {
                counts: background.counts,
                ..read
            };
        }
    })
}

/// If one socket cannot be read, none is reported: their sum would be wrong.
fn part(sockets: &[Socket]) -> PartSample {
    let connections = sockets.iter().filter(|socket| socket.is_connection);
    let connections: Option<Vec<TcpInfo>> = connections.map(tcp_info).collect();
    let memory: Option<Vec<SocketMemory>> = sockets.iter().map(memory).collect();
    let (tcp_info, connections) = together(connections.unwrap_or_default());
    PartSample {
        tcp_info,
        connections,
        sockets: memory.unwrap_or_default(),
        ..PartSample::default()
    }
}

/// The sum of all connections, and each of them if there are several.
pub fn together(connections: Vec<TcpInfo>) -> (Option<TcpInfo>, Vec<TcpInfo>) {
    let sum = connections
        .split_first()
        .map(|(first, rest)| rest.iter().fold(first.clone(), |sum, next| sum.plus(next)));
    match connections.len() > 1 {
        true => (sum, connections),
        false => (sum, Vec::new()),
    }
}

fn tcp_info(socket: &Socket) -> Option<TcpInfo> {
    let bytes = bitcost_sys::socket::tcp_info(&socket.handle).ok()?;
    Some(TcpInfo::of_bytes(&bytes))
}

fn memory(socket: &Socket) -> Option<SocketMemory> {
    bitcost_sys::socket::memory(&socket.handle)
        .ok()
        .map(memory_of)
}

/// `SO_MEMINFO` as a record has it.
pub fn memory_of(words: [u32; 9]) -> SocketMemory {
    let [received, receive, allocated, send, _, queued, .., drops] = words;
    SocketMemory {
        receive_queue_bytes: received,
        receive_buffer_bytes: receive,
        send_allocated_bytes: allocated,
        send_buffer_bytes: send,
        send_queue_bytes: queued,
        drops,
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    fn info(retransmits: u32, rtt_us: u32) -> TcpInfo {
        TcpInfo {
            total_retrans: Some(retransmits),
            rtt_us: Some(rtt_us),
            ..TcpInfo::default()
        }
    }

    #[test]
    fn single_connection_is_in_the_sum_only() {
        assert_eq!(together(Vec::new()), (None, Vec::new()));
        assert_eq!(together(vec![info(3, 50)]), (Some(info(3, 50)), Vec::new()));
        let two = vec![info(3, 50), info(4, 90)];
        assert_eq!(together(two.clone()), (Some(info(7, 50)), two));
    }

    #[test]
    fn datagrams_over_the_receive_buffer_are_drops_of_their_socket() {
        let bind = || UdpSocket::bind("127.0.0.1:0").expect("binds");
        let (from, to) = (bind(), bind());
        let address = to.local_addr().expect("address");
        let sockets = [Socket {
            handle: to.into(),
            is_connection: false,
        }];
        let read = || {
            let read = part(&sockets);
            read.sockets.first().copied()
        };
        let Some(before) = read() else { return };
        assert_eq!((before.receive_queue_bytes, before.drops), (0, 0));
        while read().is_some_and(|memory| memory.drops == 0) {
            from.send_to(&[0; 1400], address).expect("sends");
        }
        let after = read().expect("as before");
        assert!(
            after.receive_queue_bytes > after.receive_buffer_bytes / 2,
            "{after:?}"
        );
    }
}
