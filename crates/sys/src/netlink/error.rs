//! Errors, with the kernel's message if it gave one.

use std::io;

use libc::{EACCES, EBUSY, ENODEV, EOPNOTSUPP, EPERM};

/// Why a request was not carried out.
#[derive(Debug, thiserror::Error)]
#[error("cannot {asked}: {why}")]
pub struct Error {
    /// The request, as the rest of a sentence that starts with "cannot".
    pub(crate) asked: String,
    pub(crate) why: Why,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Why {
    /// The kernel refused it, and may have explained this in the extended acknowledgement.
    #[error("{0}{explained}{advice}", explained = in_brackets(.1.as_deref()), advice = advice(.0))]
    Refused(io::Error, Option<String>),
    /// It did not reach the kernel, or no answer came back in time (`WouldBlock`).
    #[error("netlink socket: {0}")]
    Socket(io::Error),
    #[error("the kernel's answer cannot be read ({0}); report the kernel's version")]
    Malformed(&'static str),
}

impl Error {
    /// A refusal by the kernel without words.
    pub fn refused(asked: String, error: io::Error) -> Error {
        let why = Why::Refused(error, None);
        Error { asked, why }
    }

    pub(crate) fn malformed(asked: String, detail: &'static str) -> Error {
        let why = Why::Malformed(detail);
        Error { asked, why }
    }

    pub(crate) fn asking(self, asked: String) -> Error {
        Error { asked, ..self }
    }

    /// The kernel's error number, when it was the kernel that refused.
    pub fn errno(&self) -> Option<i32> {
        match &self.why {
            Why::Refused(error, _) => error.raw_os_error(),
            Why::Socket(_) | Why::Malformed(_) => None,
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
