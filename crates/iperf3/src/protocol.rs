//! The numbers of the protocol: states, error codes, sizes, and the ids of streams.

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
    /// Both sides prepare their streams.
    pub const TEST_START: u8 = 1;
    /// Data flow.
    pub const TEST_RUNNING: u8 = 2;
    /// The client ends the test.
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
    /// The client has shown the results.
    pub const IPERF_DONE: u8 = 16;
    /// The server is busy.
    pub const ACCESS_DENIED: u8 = 0xFF;
    /// Two numbers follow: iperf3's code and the system's `errno`.
    pub const SERVER_ERROR: u8 = 0xFE;
}

/// iperf3's codes of errors (`i_errno`), as far as a server of its protocol has use for them.
pub mod code {
    /// The test lasts too long.
    pub const DURATION: i32 = 5;
    /// Too many parallel streams.
    pub const STREAMS: i32 = 6;
    /// The block is too large.
    pub const BLOCK_SIZE: i32 = 7;
    /// SCTP is not supported.
    pub const NO_SCTP: i32 = 18;
    /// The length of datagrams is not possible.
    pub const UDP_BLOCK_SIZE: i32 = 20;
    /// The total rate is above the server's limit.
    pub const TOTAL_RATE: i32 = 27;
    /// The parameters cannot be read.
    pub const PARAMS: i32 = 114;
    /// The server is busy.
    pub const BUSY: i32 = 121;
    /// `SO_SNDBUF` or `SO_RCVBUF` cannot be set.
    pub const SET_BUFFER: i32 = 124;
    /// The protocol is not supported.
    pub const PROTOCOL: i32 = 131;
    /// The congestion control cannot be set.
    pub const CONGESTION: i32 = 134;
    /// A buffer has another size than was requested.
    pub const BUFFER_SIZE: i32 = 141;
    /// No data came for too long.
    pub const IDLE: i32 = 144;
    /// The time that the server gives the test is over.
    pub const EXPIRED: i32 = 160;
    /// A stream cannot be made.
    pub const STREAM: i32 = 200;
    /// A stream cannot be accepted.
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
