//! Connections that keep to no protocol.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType, bind, connect as connect_socket, socket};

use super::clients::Clients;

/// How long a connection stays open that says nothing.
const SILENCE: Duration = Duration::from_secs(7);

/// Most silent connections at the same time.
const SILENT_MAX: usize = 12;

/// The start of a handshake of TLS 1.3 whose length is never reached.
const CUT: &[u8] = &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3];

/// The cookie of iperf3's control connection.
const COOKIE: &[u8] = b"abcdefghijklmnopqrstuvwxyz234567abcd\0";

/// Connects in several ways, from several addresses of the loopback so that each has its share of
/// the places for connections that prove nothing.
pub fn connect(clients: &Clients, to: SocketAddr) {
    let mut silent: Vec<(Instant, TcpStream)> = Vec::new();
    let mut number = 0u32;
    while clients.goes_on() {
        silent.retain(|(since, _)| since.elapsed() < SILENCE);
        number = number.wrapping_add(1);
        let host = Ipv4Addr::new(127, 0, 1, 2 + (number % 200) as u8);
        let Some(mut stream) = from(host, to) else {
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        clients.bad.fetch_add(1, Relaxed);
        if let Some(bytes) = said(number) {
            let _ = stream.write_all(&bytes);
            let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
            let _ = stream.read(&mut [0; 64]);
        } else if silent.len() < SILENT_MAX {
            silent.push((Instant::now(), stream));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// What a connection says before it ends; absent: it stays open and silent.
fn said(number: u32) -> Option<Vec<u8>> {
    match number % 6 {
        0 => None,
        1 => Some(Vec::new()),
        2 => Some(noise(number, number % 3000)),
        3 => Some(CUT.to_vec()),
        4 => Some([COOKIE, &u32::MAX.to_be_bytes()].concat()),
        _ => Some([COOKIE, &40u32.to_be_bytes(), &noise(number, 40)].concat()),
    }
}

/// A connection from this address.
fn from(host: Ipv4Addr, to: SocketAddr) -> Option<TcpStream> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).ok()?;
    bind(&socket, &SocketAddrV4::new(host, 0)).ok()?;
    connect_socket(&socket, &to).ok()?;
    Some(TcpStream::from(socket))
}

/// Bytes that look like nothing; the same number gives the same ones.
fn noise(mut number: u32, length: u32) -> Vec<u8> {
    let bytes = (0..length).map(|_| {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (number >> 24) as u8
    });
    bytes.collect()
}
