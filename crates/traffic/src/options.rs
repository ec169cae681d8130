//! Socket options that both ends of every workload share, set and read back.

use std::os::fd::AsFd;

use model::conditions::Conditions;
use model::record::{InForce, TcpInfo};
use sys::socket::{self, IntOption, SO_RCVBUF, SO_SNDBUF};

use crate::flow::TrafficError;

/// Asks for the buffers that the run names. The kernel may grant less: see [`buffers_in_force`].
pub fn set_buffers(socket: impl AsFd, conditions: &Conditions) -> Result<(), TrafficError> {
    let wanted = [
        (SO_SNDBUF, "SO_SNDBUF", conditions.send_buffer_bytes),
        (SO_RCVBUF, "SO_RCVBUF", conditions.receive_buffer_bytes),
    ];
    for (option, name, bytes) in wanted {
        let Some(bytes) = bytes else { continue };
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        let asked = format!("{name} of {bytes} bytes");
        socket::set_int(socket.as_fd(), option, bytes).map_err(TrafficError::system(asked))?;
    }
    Ok(())
}

/// The buffers as asked and as the kernel reports them, in bytes. The kernel reports twice what it
/// granted (socket(7)); the granted size is shown.
pub fn buffers_in_force(socket: impl AsFd, conditions: &Conditions) -> [InForce; 2] {
    let buffer = |name: &str, asked: Option<u32>, option: IntOption| InForce {
        name: name.to_owned(),
        asked: asked.map(|bytes| bytes.to_string()),
        actual: socket::get_int(socket.as_fd(), option).ok().map(|bytes| (bytes / 2).to_string()),
    };
    [
        buffer("send_buffer_bytes", conditions.send_buffer_bytes, SO_SNDBUF),
        buffer("receive_buffer_bytes", conditions.receive_buffer_bytes, SO_RCVBUF),
    ]
}

/// The connection's state in the words of the record.
pub fn tcp_info(socket: impl AsFd) -> Option<TcpInfo> {
    let info = sys::tcp_info::TcpInfo::read(socket).ok()?;
    Some(TcpInfo {
        snd_mss_bytes: info.snd_mss_bytes(),
        timestamps: info.timestamps(),
        rtt_us: info.rtt_us(),
        min_rtt_us: info.min_rtt_us(),
        snd_cwnd_segments: info.snd_cwnd_segments(),
        total_retrans: info.total_retrans(),
        data_segs_out: info.data_segs_out(),
        data_segs_in: info.data_segs_in(),
        bytes_sent: info.bytes_sent(),
        bytes_acked: info.bytes_acked(),
        bytes_received: info.bytes_received(),
        busy_time_us: info.busy_time_us(),
        rwnd_limited_us: info.rwnd_limited_us(),
        sndbuf_limited_us: info.sndbuf_limited_us(),
    })
}
