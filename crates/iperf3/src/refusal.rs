//! The refusal of what the server does not allow.

/// Why a client is not served, or not any longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// iperf3's code, from which the client makes its message.
    pub code: i32,
    /// The system's error number; 0: none.
    pub errno: i32,
    /// What was asked and the rule that forbids it.
    pub rule: String,
}

impl Refusal {
    /// A refusal without an error of the system.
    pub fn new(code: i32, rule: String) -> Refusal {
        let errno = 0;
        Refusal { code, errno, rule }
    }
}
