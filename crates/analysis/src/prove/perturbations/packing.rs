//! Work for each packet: settings that fill packets which are not full. Throughput that rises with them was limited by the
//! number of packets.

use bitcost_model::host_settings::{RPS_CPUS, THREADED_NAPI};
use bitcost_model::modes::Mode;
use bitcost_model::record::Role;

use crate::explain::Limiter;
use crate::prove::perturbation::{Before, Perturbation, Settings, Told, ratio};

/// A receive buffer that holds a sender back on a short path, in bytes.
const SMALL_BYTES: u32 = 48 << 10;

const fn row(
    name: &'static str,
    resource: &'static str,
    settings: fn(&Before) -> Result<Settings, String>,
) -> Perturbation {
    Perturbation {
        name,
        resource,
        told: Told::With,
        is_of,
        finds: |_| None,
        settings,
        left: |before, after| ratio(before, after, |load| load.bytes_per_packet),
    }
}

fn is_of(limiter: &Limiter) -> bool {
    ["sender_cpu", "packets_per_second"].contains(&limiter.name())
}

/// A smaller receive buffer.
pub static SMALL_RECEIVE_BUFFER: Perturbation = row(
    "small_receive_buffer",
    "a receive buffer of 48 KiB (--receive-buffer 48K)",
    |before| {
        let path = before.load.rtt_us.zip(before.load.delivered_bps);
        let in_flight = path.map(|(rtt_us, bps)| rtt_us / 1e6 * bps / 8.0);
        let in_flight = in_flight.ok_or("the bandwidth-delay product of the path is not known")?;
        if in_flight >= f64::from(SMALL_BYTES) {
            return Err("the path needs more than that".to_owned());
        }
        let has = before.conditions.receive_buffer_bytes;
        match has.is_some_and(|bytes| bytes <= SMALL_BYTES) {
            true => Err("the receive buffer is not larger".to_owned()),
            false => Ok(vec![("receive_buffer_bytes", SMALL_BYTES.to_string())]),
        }
    },
);

/// A receiver that is woken for several messages.
pub static LOW_WATER: Perturbation = row(
    "low_water",
    "a low-water mark of 32 KiB (--set receive_low_water_bytes=32K)",
    |before| match before.conditions.receive_low_water_bytes {
        None => Ok(vec![("receive_low_water_bytes", "32K".to_owned())]),
        Some(_) => Err("the test has its own".to_owned()),
    },
);

/// Several messages in a send call.
pub static BATCHES: Perturbation = row(
    "batches",
    "several messages a send call (--send-mode writev)",
    |before| match before.conditions.send_mode {
        Mode::Plain => Ok(vec![("send_mode", "writev".to_owned())]),
        _ => Err("the test has a send mode".to_owned()),
    },
);

/// A kernel thread that receives.
pub static THREADS: Perturbation = row(
    "kernel_thread",
    "a kernel thread that receives (threaded_napi)",
    |before| {
        let host = before.conditions.direction.role_of(Role::Receiver).name();
        Ok(vec![(THREADED_NAPI, format!("{host}: on"))])
    },
);

/// Receive work on another CPU.
pub static STEERING: Perturbation = row(
    "receive_cpu",
    "received packets on the last CPU (rps_cpus)",
    |before| {
        let last = before.load.receiver_cpus.checked_sub(1);
        let last = last.filter(|last| *last > 0).ok_or("there is one CPU")?;
        let host = before.conditions.direction.role_of(Role::Receiver).name();
        Ok(vec![(RPS_CPUS, format!("{host}: {last}"))])
    },
);
