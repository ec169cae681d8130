//! What is asked of a stock server: the parameters of a test from the conditions of a run, and what
//! it cannot do.

use bitcost_model::Invalid;
use bitcost_model::conditions::{Conditions, Direction, Workload};
use bitcost_model::record::Role;
use bitcost_model::settings::{SETTINGS, Setting};
use serde_json::{Value, json};

use crate::protocol::{MOST_LENGTH, MOST_STREAMS};

const LEAST_DATAGRAM: u32 = 16;

/// Settings that a server does not have.
const OF_BOTH_ENDS: [&str; 10] = [
    "background",
    "send_mode",
    "receive_mode",
    "tcp_buffers",
    "cork",
    "receiver_delay_us",
    "receiver_device",
    "receiver_ports",
    "receiver_cpus",
    "delay_variation",
];

/// Those of an end that receives. A server that receives does so by its own calls, which no parameter of a test names.
const OF_RECEIVER: [&str; 5] = [
    "receive_work_ns",
    "receive_size_bytes",
    "receive_low_water_bytes",
    "waiting",
    "busy_poll_us",
];

/// Those of an end that sends.
const OF_SENDER: [&str; 5] = [
    "send_work_ns",
    "payload",
    "burst_messages",
    "notsent_low_water_bytes",
    "messages_per_call",
];

/// Checks that a run is possible with a stock server at the receiver's host.
pub fn check(conditions: &Conditions) -> Result<(), Invalid> {
    let needs = |what: &str| {
        Err(Invalid(format!(
            "{what} needs bitcost at both endpoints, and --peer iperf3 names an iperf3 server"
        )))
    };
    if !matches!(
        conditions.workload,
        Workload::TcpStream | Workload::UdpStream
    ) {
        let name = conditions.workload.info().short_name;
        return needs(&format!("the workload {name}"));
    }
    let to_server = conditions.direction != Direction::Reverse;
    let from_server = conditions.direction != Direction::Forward;
    let is_refused = |setting: &&Setting| {
        let of_server = to_server && OF_RECEIVER.contains(&setting.name)
            || from_server && OF_SENDER.contains(&setting.name);
        (setting.is_set)(conditions) && (of_server || OF_BOTH_ENDS.contains(&setting.name))
    };
    if let Some(setting) = SETTINGS.iter().find(is_refused) {
        return needs(&setting.option());
    }
    // A server has one size for both.
    let [send, receive] = [
        conditions.send_buffer_bytes,
        conditions.receive_buffer_bytes,
    ];
    if from_server && send.is_some() && send != receive {
        return needs("--send-buffer without the same --receive-buffer (-w)");
    }
    let mut asked = conditions.host_settings.iter();
    if let Some(asked) = asked.find(|asked| asked.endpoint != Some(Role::Sender)) {
        let name = asked.setting.name();
        return Err(Invalid(format!(
            "{name} would be set at the iperf3 server's host, which has no bitcost; set it at this host alone: `sender: VALUE`"
        )));
    }
    possible(conditions).map_err(Invalid)
}

fn possible(conditions: &Conditions) -> Result<(), String> {
    let size = conditions.message_size_bytes;
    if conditions.workload.is_datagram() && size < LEAST_DATAGRAM {
        return Err(format!(
            "messages of {size} bytes: a datagram of iperf3 has at least {LEAST_DATAGRAM}"
        ));
    }
    if u64::from(size) > MOST_LENGTH {
        return Err(format!(
            "messages of {size} bytes: iperf3 takes at most {MOST_LENGTH}"
        ));
    }
    if u64::from(conditions.flows) > MOST_STREAMS {
        return Err(format!(
            "{} flows: iperf3 takes at most {MOST_STREAMS}",
            conditions.flows
        ));
    }
    if conditions.warmup_ms > 0 {
        return Err(format!(
            "a warm-up of {} ms: an iperf3 server reports one count of the whole test; leave out -O",
            conditions.warmup_ms
        ));
    }
    let is_by_datagrams = conditions.workload.is_datagram() && conditions.is_bounded();
    if is_by_datagrams && conditions.direction == Direction::Reverse {
        return Err(
            "a number of datagrams from an iperf3 server: it sends until the client ends the test, so the number would count what arrived and not what was sent; use -t with -R"
                .to_owned(),
        );
    }
    if conditions.stop_messages.is_some() && conditions.direction == Direction::Reverse {
        return Err("a number of messages from an iperf3 server, whose stream has none: use -n in bytes, or -t".to_owned());
    }
    Ok(())
}

/// The parameters that a stock server reads.
pub fn params(conditions: &Conditions) -> Result<Value, Invalid> {
    check(conditions)?;
    let protocol = match conditions.workload.is_datagram() {
        true => "udp",
        false => "tcp",
    };
    // A server that sends may end before all bytes are there, so that the client ends these tests.
    let sends = conditions.direction != Direction::Forward;
    let bound = |bound: Option<u64>| bound.filter(|_| !sends).unwrap_or(0);
    let seconds = match conditions.is_bounded() {
        true if sends => conditions.window_limit().as_secs(),
        true => 0,
        false => conditions.duration_ms.div_ceil(1000).into(),
    };
    let mut params = json!({
        protocol: true,
        "omit": 0,
        "time": seconds,
        "num": bound(conditions.stop_bytes),
        "blockcount": bound(conditions.stop_messages),
        "parallel": conditions.flows,
        "len": conditions.message_size_bytes,
        "pacing_timer": 1000,
        "client_version": concat!("3.12 (bitcost ", env!("CARGO_PKG_VERSION"), ")"),
    });
    let mut give = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            params[key] = value;
        }
    };
    let is = |given: bool| given.then_some(Value::Bool(true));
    give("reverse", is(conditions.direction == Direction::Reverse));
    give("bidirectional", is(conditions.direction == Direction::Both));
    give("nodelay", is(conditions.nodelay));
    give("MSS", conditions.segment_bytes().map(Value::from));
    give("window", conditions.receive_buffer_bytes.map(Value::from));
    give(
        "congestion",
        conditions.congestion_control.clone().map(Value::from),
    );
    give("TOS", conditions.dscp.map(|dscp| json!(dscp << 2)));
    let bitrate = conditions.asked_bps(None).map(|bps| bps.round() as u64);
    give("bandwidth", bitrate.map(Value::from));
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;

    fn conditions(change: impl FnOnce(&mut Conditions)) -> Conditions {
        let mut conditions = Conditions {
            warmup_ms: 0,
            ..Conditions::of(Workload::TcpStream)
        };
        change(&mut conditions);
        conditions
    }

    #[test]
    fn a_server_reads_what_is_asked() {
        let asked = conditions(|c| {
            (c.flows, c.direction, c.rate_bps) = (4, Direction::Reverse, Some(8_000_000));
            (c.duration_ms, c.dscp, c.nodelay) = (1500, Some(10), true);
        });
        let text = params(&asked).unwrap().to_string();
        let read = Params::read(text.as_bytes()).unwrap();
        assert_eq!((read.streams, read.direction), (4, Direction::Reverse));
        assert_eq!((read.seconds, read.bitrate), (2, 8_000_000));
        assert_eq!(
            (read.tos, read.nodelay, read.is_udp),
            (Some(40), true, false)
        );
        let bounded = conditions(|c| c.stop_bytes = Some(100_000_000));
        let read = Params::read(params(&bounded).unwrap().to_string().as_bytes()).unwrap();
        assert_eq!((read.seconds, read.bytes), (0, 100_000_000));
    }

    #[test]
    fn settings_of_the_servers_end_are_refused() {
        for direction in [Direction::Forward, Direction::Reverse] {
            let of = |change: fn(&mut Conditions)| {
                check(&conditions(|c| {
                    c.direction = direction;
                    change(c);
                }))
            };
            let both = of(|c| {
                (c.send_buffer_bytes, c.receive_buffer_bytes) = (Some(65_536), Some(65_536));
            });
            assert_eq!(both, Ok(()));
            let sends = of(|c| c.buffers.send_work_ns = 1000);
            let receives = of(|c| c.buffers.receive_work_ns = 1000);
            let is_refused = [sends.is_err(), receives.is_err()];
            let is_reverse = direction == Direction::Reverse;
            assert_eq!(is_refused, [is_reverse, !is_reverse]);
        }
    }
}
