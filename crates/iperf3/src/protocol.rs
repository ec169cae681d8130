//! The numbers of the protocol: states, error codes, sizes, and the ids of streams; what a refused client is told.

use std::io;

pub use bitcost_traffic::iperf3::COOKIE_BYTES;

/// What distinguishes one test's connections; its client chooses it.
pub type Cookie = [u8; COOKIE_BYTES];

/// The default port of control and data.
pub const PORT: u16 = 5201;

/// The most streams of a test in one direction (`MAX_STREAMS`).
pub const MOST_STREAMS: u64 = 128;

/// The most bytes of one write or datagram (`MAX_BLOCKSIZE`).
pub const MOST_LENGTH: u64 = 1024 * 1024;

/// A byte on the control connection (`iperf_api.h`).
pub mod state {
    pub const TEST_START: u8 = 1;
    pub const TEST_RUNNING: u8 = 2;
    pub const TEST_END: u8 = 4;
    /// The server asks for the parameters.
    pub const PARAM_EXCHANGE: u8 = 9;
    /// The server asks for the data connections.
    pub const CREATE_STREAMS: u8 = 10;
    /// The server ends before the test does.
    pub const SERVER_TERMINATE: u8 = 11;
    /// The client ends before the test does.
    pub const CLIENT_TERMINATE: u8 = 12;
    /// Both sides send their results, the client first.
    pub const EXCHANGE_RESULTS: u8 = 13;
    /// The server has the client's results.
    pub const DISPLAY_RESULTS: u8 = 14;
    pub const IPERF_DONE: u8 = 16;
    pub const ACCESS_DENIED: u8 = 0xFF;
    /// Two numbers follow: iperf3's code and the system's `errno`.
    pub const SERVER_ERROR: u8 = 0xFE;
}

/// iperf3's codes of errors (`i_errno`), as far as a server of its protocol has use for them.
pub mod code {
    pub const DURATION: i32 = 5;
    pub const STREAMS: i32 = 6;
    pub const BLOCK_SIZE: i32 = 7;
    pub const NO_SCTP: i32 = 18;
    /// The length of datagrams is not possible.
    pub const UDP_BLOCK_SIZE: i32 = 20;
    pub const TOTAL_RATE: i32 = 27;
    pub const PARAMS: i32 = 114;
    pub const BUSY: i32 = 121;
    /// `SO_SNDBUF` or `SO_RCVBUF` cannot be set.
    pub const SET_BUFFER: i32 = 124;
    pub const PROTOCOL: i32 = 131;
    pub const CONGESTION: i32 = 134;
    /// A buffer has another size than was requested.
    pub const BUFFER_SIZE: i32 = 141;
    pub const EXPIRED: i32 = 160;
    pub const STREAM: i32 = 200;
    pub const ACCEPT: i32 = 204;
}

/// The id of the stream with this index: 1, 3, 4, 5 and so on, never 2.
pub fn stream_id(index: usize) -> u64 {
    match index {
        0 => 1,
        _ => index as u64 + 2,
    }
}

/// The bytes of `SERVER_ERROR` with its two numbers.
pub fn server_error(code: i32, errno: i32) -> [u8; 9] {
    let mut bytes = [state::SERVER_ERROR; 9];
    bytes[1..5].copy_from_slice(&code.to_be_bytes());
    bytes[5..].copy_from_slice(&errno.to_be_bytes());
    bytes
}

/// The refusal of what the server does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// iperf3's code, from which the client makes its message.
    pub code: i32,
    /// The system's error number; 0: none.
    pub errno: i32,
    pub rule: String,
}

impl Refusal {
    pub fn new(code: i32, rule: String) -> Refusal {
        Refusal {
            code,
            errno: 0,
            rule,
        }
    }

    pub fn of_host(code: i32, asked: &str, error: &io::Error) -> Refusal {
        Refusal {
            errno: error.raw_os_error().unwrap_or(0),
            ..Refusal::new(code, format!("{asked}; this host cannot: {error}"))
        }
    }
}
