//! Errors, with the kernel's message if it gave one.

use std::io;

const EPERM: i32 = 1;
const EACCES: i32 = 13;
const EBUSY: i32 = 16;
const ENODEV: i32 = 19;
const EOPNOTSUPP: i32 = 95;

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused the request.
    #[error("cannot {asked}: {source}{}{}", in_brackets(text.as_deref()), advice(source))]
    Refused {
        /// The request, as the rest of a sentence that starts with "cannot".
        asked: String,
        /// The kernel's error number.
        source: io::Error,
        /// The kernel's explanation, from the extended acknowledgement.
        text: Option<String>,
    },
    /// The request did not reach the kernel, or no answer came back in time.
    #[error("cannot {asked}: netlink socket: {source}")]
    Socket {
        /// The request, as the rest of a sentence that starts with "cannot".
        asked: String,
        /// The error of the socket; `WouldBlock` when there was no answer in time.
        source: io::Error,
    },
    /// The kernel's answer could not be understood.
    #[error(
        "cannot {asked}: the kernel's answer cannot be read ({detail}); report the kernel's version"
    )]
    Malformed {
        /// The request, as the rest of a sentence that starts with "cannot".
        asked: String,
        /// The fault of the answer.
        detail: &'static str,
    },
}

impl Error {
    /// The same error with these words for the request.
    pub(crate) fn asking(self, words: String) -> Error {
        match self {
            Error::Refused { source, text, .. } => Error::Refused {
                asked: words,
                source,
                text,
            },
            Error::Socket { source, .. } => Error::Socket {
                asked: words,
                source,
            },
            Error::Malformed { detail, .. } => Error::Malformed {
                asked: words,
                detail,
            },
        }
    }

    /// The kernel's error number, when it was the kernel that refused.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Error::Refused { source, .. } => source.raw_os_error(),
            Error::Socket { .. } | Error::Malformed { .. } => None,
        }
    }

    /// Whether the kernel reports that it has no such device or object (`ENODEV`).
    pub fn is_no_device(&self) -> bool {
        self.errno() == Some(ENODEV)
    }

    /// Whether the kernel or the driver cannot do it at this time (`EBUSY`).
    pub fn is_busy(&self) -> bool {
        self.errno() == Some(EBUSY)
    }

    /// Whether the kernel does not support the request (`EOPNOTSUPP`).
    pub fn is_unsupported(&self) -> bool {
        self.errno() == Some(EOPNOTSUPP)
    }
}

fn in_brackets(text: Option<&str>) -> String {
    text.map_or_else(String::new, |text| format!(" (the kernel says: {text})"))
}

fn advice(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(EPERM | EACCES) => {
            "; it needs CAP_NET_ADMIN in the network namespace: run as root (named hosts: --sudo), or in a lab"
        }
        Some(ENODEV) => "; there is no such device in this network namespace: check its name",
        Some(EOPNOTSUPP) => "; this kernel or driver cannot do it",
        _ => "",
    }
}
