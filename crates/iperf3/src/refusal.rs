//! The refusal of what the server does not allow.

use std::io;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// iperf3's code, from which the client makes its message.
    pub code: i32,
    /// The system's error number; 0: none.
    pub errno: i32,
    pub rule: String,
    /// The option of the server that forbids it, if it is one: `max-rate`.
    pub limit: Option<&'static str>,
}

impl Refusal {
    pub fn new(code: i32, rule: String) -> Refusal {
        Refusal {
            code,
            errno: 0,
            rule,
            limit: None,
        }
    }

    pub fn of_host(code: i32, asked: &str, error: &io::Error) -> Refusal {
        Refusal {
            errno: error.raw_os_error().unwrap_or(0),
            ..Refusal::new(code, format!("{asked}; this host cannot: {error}"))
        }
    }

    /// A refusal by an option of the server.
    pub fn by(limit: &'static str, code: i32, rule: String) -> Refusal {
        Refusal {
            limit: Some(limit),
            ..Refusal::new(code, rule)
        }
    }
}
