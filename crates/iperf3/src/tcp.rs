//! The loops of TCP streams.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;

use bitcost_sys::process::memory_file;
use bitcost_sys::socket::is_passing;
use bitcost_sys::tcp_info::TcpInfo;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::flow::{Counted, Course, Pacer, QUIET};
use crate::results::StreamResult;

/// Receives until the test is over or the client closes the stream.
pub fn receive(mut stream: &TcpStream, course: &Course, counted: &mut Counted) {
    let mut buffer = vec![0; course.params.length];
    while !course.is_over() {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => counted.all.bytes += read as u64,
            Err(error) if !is_passing(&error) => break,
            Err(_) if !course.is_running() => break,
            Err(_) => {}
        }
        counted.note(|_| {});
    }
}

/// Sends until the client ends the test.
pub fn send(mut stream: &TcpStream, course: &Course, counted: &mut Counted) -> io::Result<()> {
    let block = vec![b'b'; course.params.length];
    let file = course
        .params
        .zerocopy
        .then(|| file_of(&block))
        .transpose()?;
    let mut pacer = Pacer::new(&course.params);
    let retransmits = |counts: &mut StreamResult| counts.retransmits = retransmits(stream);
    'test: while course.is_running() {
        if let Some(pacer) = &mut pacer {
            pacer.wait(course);
        }
        if !course.take_block() {
            break;
        }
        if course.counts_blocks() {
            wait_for_room(stream, course)?;
        }
        let mut left = block.len();
        while left > 0 && course.is_running() {
            let sent = match &file {
                Some(file) => send_file(stream, file, left),
                None => stream.write(&block[..left]),
            };
            match sent {
                Ok(sent) => {
                    left -= sent;
                    counted.all.bytes += sent as u64;
                    counted.note(retransmits);
                }
                Err(error) if is_passing(&error) => {}
                Err(_) => break 'test,
            }
        }
    }
    retransmits(&mut counted.all);
    Ok(())
}

/// Waits until the socket has room for a good part of its buffer, as iperf3's server does by
/// `select`: clients count what one read returns as a block, and a block that waits for room comes
/// in parts.
fn wait_for_room(stream: &TcpStream, course: &Course) -> io::Result<()> {
    let time = Timespec::try_from(QUIET).map_err(io::Error::other)?;
    while course.is_running() {
        match poll(&mut [PollFd::new(stream, PollFlags::OUT)], Some(&time)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn retransmits(stream: &TcpStream) -> Option<u64> {
    let info = TcpInfo::read(stream).ok()?;
    info.get(|raw| &raw.total_retrans).map(u64::from)
}

fn file_of(block: &[u8]) -> io::Result<File> {
    let mut file = memory_file("bitcost-iperf3")?;
    file.write_all(block)?;
    Ok(file)
}

fn send_file(stream: &TcpStream, file: &File, count: usize) -> io::Result<usize> {
    let mut from = 0;
    Ok(rustix::fs::sendfile(stream, file, Some(&mut from), count)?)
}
