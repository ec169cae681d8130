//! The changes of a program's calls that experiments try, beside the modes ([`bitcost_model::modes::MODES`]): `mode = "auto"`
//! those of its rounds, `bitcost improve` those of a bottleneck.

use bitcost_model::conditions::Conditions;

use crate::settings::change;

/// One change of a program's calls.
pub struct Call {
    pub setting: &'static str,
    pub value: &'static str,
    pub label: &'static str,
    /// What the program calls.
    pub keep: &'static str,
    /// Whether it is of streams of bytes alone.
    pub is_of_streams: bool,
}

const fn call(
    setting: &'static str,
    value: &'static str,
    label: &'static str,
    keep: &'static str,
) -> Call {
    Call {
        setting,
        value,
        label,
        keep,
        is_of_streams: true,
    }
}

const fn of_all(call: Call) -> Call {
    Call {
        is_of_streams: false,
        ..call
    }
}

/// Every such change, of one setting in the order in which they are tried. Receive buffers that hold a sender back on a short
/// path make its messages gather in full packets.
#[rustfmt::skip]
pub static CALLS: [Call; 14] = [
    call("receive_buffer_bytes", "48K", "receive buffer 48 KiB", "setsockopt(SO_RCVBUF, 49152) at the receiver"),
    call("receive_buffer_bytes", "64K", "receive buffer 64 KiB", "setsockopt(SO_RCVBUF, 65536) at the receiver"),
    call("receive_buffer_bytes", "128K", "receive buffer 128 KiB", "setsockopt(SO_RCVBUF, 131072) at the receiver"),
    call("receive_buffer_bytes", "32K", "receive buffer 32 KiB", "setsockopt(SO_RCVBUF, 32768) at the receiver"),
    call("cork", "true", "only full segments", "setsockopt(TCP_CORK, 1), or MSG_MORE in each send call but the last"),
    call("notsent_low_water_bytes", "16384", "at most 16 KiB unsent", "setsockopt(TCP_NOTSENT_LOWAT, 16384)"),
    call("receive_size_bytes", "auto", "receive calls of 256 KiB with a low-water mark",
        "recv() of 256 KiB, setsockopt(SO_RCVLOWAT) to what arrives in 1 ms"),
    call("receive_low_water_bytes", "32K", "a low-water mark of 32 KiB", "setsockopt(SO_RCVLOWAT, 32768) at the receiver"),
    call("receive_low_water_bytes", "1M", "a low-water mark of 1 MiB", "setsockopt(SO_RCVLOWAT, 1048576) at the receiver"),
    of_all(call("messages_per_call", "8", "8 messages a call", "8 messages in a call of the mode")),
    of_all(call("messages_per_call", "16", "16 messages a call", "16 messages in a call of the mode")),
    of_all(call("receiver_delay_us", "50us", "a sleep of 50 µs after each receive call", "nanosleep() of 50 µs")),
    of_all(call("waiting", "spin", "receivers poll", "poll the socket with MSG_DONTWAIT")),
    of_all(call("busy_poll_us", "50", "busy polling 50 µs", "setsockopt(SO_BUSY_POLL, 50)")),
];

impl Call {
    /// Those of a setting that a run can have.
    pub fn of<'a>(
        setting: &'a str,
        conditions: &Conditions,
    ) -> impl Iterator<Item = &'static Call> + use<'a> {
        let is_stream = conditions.workload.is_byte_stream();
        let all = CALLS
            .iter()
            .filter(move |call| is_stream || !call.is_of_streams);
        all.filter(move |call| call.setting == setting)
    }

    pub fn is_new(&self, conditions: &Conditions) -> bool {
        let mut changed = conditions.clone();
        change(&mut changed, self.setting, self.value).is_ok() && changed != *conditions
    }
}
