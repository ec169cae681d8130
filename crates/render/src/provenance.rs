//! The origin of a report's figures, and the program that made it.

/// The path of a log, and the size and checksum of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The log's path.
    pub path: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// SHA-256 of it, in hexadecimal.
    pub sha256: String,
}

/// The program that made the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maker {
    /// Version of bitcost.
    pub version: String,
    /// Its command line.
    pub command_line: Vec<String>,
    /// Local time with offset (RFC 3339).
    pub at: String,
}
