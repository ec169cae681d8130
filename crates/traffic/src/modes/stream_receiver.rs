//! The work of every fast receiver of a stream between its calls: counting, the low-water mark, the
//! receiver's delay.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use bitcost_model::conditions::Conditions;
use rustix::io::Errno;

use crate::control::{Control, Phase};
use crate::loops::receiver_delay;
use crate::low_water::LowWater;

pub struct StreamReceiver {
    delay: Duration,
    low_water: LowWater,
}

impl StreamReceiver {
    pub fn of(conditions: &Conditions, socket: BorrowedFd<'_>) -> StreamReceiver {
        StreamReceiver {
            delay: receiver_delay(conditions),
            low_water: LowWater::of(conditions, socket),
        }
    }

    /// Receives until the sender has ended the connection. `call` makes one call and returns the
    /// number of bytes.
    pub fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        control: &Control,
        mut call: impl FnMut() -> Result<usize, Errno>,
    ) -> Result<(), Errno> {
        self.low_water.begin();
        loop {
            let phase = control.phase();
            if phase == Phase::Abort {
                return Ok(());
            }
            if self.low_water.is_due(phase) {
                self.low_water.settle(socket, control);
            }
            match call() {
                Ok(0) => return Ok(()),
                Ok(length) => control.count_call(control.phase(), length),
                Err(Errno::AGAIN) => {
                    control.count_empty();
                    continue;
                }
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            }
            if !self.delay.is_zero() {
                control.sleep(self.delay);
            }
        }
    }

    /// The low-water mark that it set, as read back.
    pub fn low_water_bytes(&self) -> Option<u32> {
        self.low_water.in_effect()
    }
}
