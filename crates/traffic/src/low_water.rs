//! The low-water mark (`SO_RCVLOWAT`) that a TCP receiver sets by itself.
//!
//! How often a receiver is woken decides what small messages cost. It sets its mark once, when the measured
//! window begins, to what came in 1 ms of the warm-up: so it is woken a thousand times a second at most, and
//! what waits in the kernel when the window ends is at most 1 ms of traffic.

use std::os::fd::AsFd;
use std::time::Instant;

use model::conditions::{AUTO_RECEIVE_BYTES, Conditions};
use sys::socket::{self, SO_RCVLOWAT};

use crate::control::{Control, Phase};

/// The mark of one connection.
pub struct LowWater {
    is_open: bool,
    began: Instant,
    in_force: Option<u32>,
}

impl LowWater {
    /// Of a run that begins with the kernel's own mark of one byte; a bounded run has no warm-up and begins
    /// with the highest.
    pub fn of(conditions: &Conditions, socket: impl AsFd) -> LowWater {
        let mut mark = LowWater { is_open: conditions.chooses_low_water(), began: Instant::now(), in_force: None };
        if mark.is_open && conditions.is_bounded() {
            mark.set(socket, AUTO_RECEIVE_BYTES);
        }
        mark
    }

    /// One that is set already, of no socket.
    pub fn settled() -> LowWater {
        LowWater { is_open: false, began: Instant::now(), in_force: None }
    }

    /// The warm-up begins.
    pub fn begin(&mut self) {
        self.began = Instant::now();
    }

    /// True until the mark is set.
    #[inline]
    pub fn is_due(&self, phase: Phase) -> bool {
        self.is_open && phase != Phase::Warmup
    }

    /// Sets the mark by what came up to now.
    #[cold]
    pub fn settle(&mut self, socket: impl AsFd, control: &Control) {
        let rate = control.counts().total().bytes as f64 / self.began.elapsed().as_secs_f64();
        self.set(socket, (rate / 1000.0).min(f64::from(AUTO_RECEIVE_BYTES)) as u32);
    }

    fn set(&mut self, socket: impl AsFd, bytes: u32) {
        self.is_open = false;
        // A kernel that refuses keeps its own mark, and that is what is read back.
        let _ = socket::set_int(socket.as_fd(), SO_RCVLOWAT, bytes.max(1) as i32);
        self.in_force = socket::get_int(socket.as_fd(), SO_RCVLOWAT).ok().and_then(|mark| u32::try_from(mark).ok());
    }

    /// The mark as read back; absent where the receiver did not set it.
    pub fn in_force(&self) -> Option<u32> {
        self.in_force
    }
}
