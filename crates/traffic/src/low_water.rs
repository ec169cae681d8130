//! The low-water mark (`SO_RCVLOWAT`) that a TCP receiver sets automatically.
//!
//! The cost of small messages depends on how often the receiver is woken. It sets its mark once, at
//! the start of the measured window, to the bytes of 1 ms of the warm-up: thus it is woken at most
//! a thousand times a second, and at most 1 ms of traffic is left in the kernel at the end of the
//! window.

use std::os::fd::AsFd;
use std::time::Instant;

use bitcost_model::conditions::{AUTO_RECEIVE_BYTES, Conditions};
use bitcost_sys::socket::{self, SO_RCVLOWAT};

use crate::control::{Control, Phase};

pub struct LowWater {
    is_open: bool,
    began: Instant,
    in_effect: Option<u32>,
}

impl LowWater {
    /// The mark of a run that starts with the kernel's default of one byte; a bounded run has no
    /// warm-up and starts with the highest mark. Others without warm-up keep the default.
    pub fn of(conditions: &Conditions, socket: impl AsFd) -> LowWater {
        let mut mark = LowWater {
            is_open: conditions.chooses_low_water()
                && (conditions.is_bounded() || conditions.warmup_ms > 0),
            began: Instant::now(),
            in_effect: None,
        };
        if mark.is_open && conditions.is_bounded() {
            mark.set(socket, AUTO_RECEIVE_BYTES);
        }
        mark
    }

    pub fn begin(&mut self) {
        self.began = Instant::now();
    }

    #[inline]
    pub fn is_due(&self, phase: Phase) -> bool {
        self.is_open && phase != Phase::Warmup
    }

    #[cold]
    pub fn settle(&mut self, socket: impl AsFd, control: &Control) {
        let rate = control.counts().total().bytes as f64 / self.began.elapsed().as_secs_f64();
        self.set(
            socket,
            (rate / 1000.0).min(f64::from(AUTO_RECEIVE_BYTES)) as u32,
        );
    }

    fn set(&mut self, socket: impl AsFd, bytes: u32) {
        self.is_open = false;
        // A kernel that refuses keeps its own mark, which is then read back.
        let _ = socket::set_int(socket.as_fd(), SO_RCVLOWAT, bytes.max(1) as i32);
        self.in_effect = socket::get_int(socket.as_fd(), SO_RCVLOWAT)
            .ok()
            .and_then(|mark| u32::try_from(mark).ok());
    }

    /// The mark as read back; absent where the receiver has not set it.
    pub fn in_effect(&self) -> Option<u32> {
        self.in_effect
    }
}
