//! Whether a run's workload has the modes that are asked for, and whether they can carry its
//! messages.

use super::Conditions;
use crate::Invalid;
use crate::modes::{MODES, Mode, Row, setting};
use crate::record::Role;
use crate::search::Goal;

impl Conditions {
    /// Checks that the workload has the modes, and that they can carry the message.
    ///
    /// # Errors
    /// A sentence that says what was found and what is allowed.
    pub fn check_modes(&self, mtu_bytes: u32) -> Result<(), Invalid> {
        for (end, mode) in [
            (Role::Sender, self.send_mode),
            (Role::Receiver, self.receive_mode),
        ] {
            let fits = |row: &&Row| row.end == end && row.is_of(self.workload);
            if !MODES.iter().filter(fits).any(|row| row.mode == mode) {
                let allowed: Vec<&str> = MODES.iter().filter(fits).map(|row| row.name).collect();
                return Err(Invalid(format!(
                    "{} `{}` is not available with {}; allowed: {}",
                    setting(end),
                    mode.name(),
                    self.workload.name(),
                    allowed.join(", ")
                )));
            }
        }
        if self.messages_per_call.is_some() && !self.send_mode.hands_over_several() {
            return Err(Invalid(format!(
                "messages_per_call is not for send_mode `{}`, which hands over one message a call; allowed with: gso, writev",
                self.send_mode.name()
            )));
        }
        if self.search_for != Goal::Rate && !self.mode_auto {
            return Err(Invalid(
                "search_for needs a search; allowed with: mode = \"auto\" (--mode auto)".to_owned(),
            ));
        }
        let headers = self.header_bytes();
        let room = mtu_bytes
            .saturating_sub(headers)
            .min(self.ip_version().udp_payload_max());
        if self.send_mode == Mode::Gso && self.message_size_bytes > room {
            return Err(Invalid(format!(
                "send_mode `gso` makes one packet of each message, and {} bytes do not fit the MTU of {mtu_bytes}; allowed: 1 to {room} (MTU less {headers} bytes of headers), or another send_mode",
                self.message_size_bytes
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;

    #[test]
    fn what_a_mode_cannot_carry_is_refused_and_the_limit_named() {
        let udp = |send_mode, message_size_bytes| Conditions {
            workload: Workload::UdpStream,
            send_mode,
            message_size_bytes,
            ..Conditions::default()
        };
        assert_eq!(udp(Mode::Gso, 1472).check_modes(1500), Ok(()));
        let over = udp(Mode::Gso, 1473)
            .check_modes(1500)
            .expect_err("over the MTU");
        assert!(over.0.contains("1 to 1472"), "{over}");
        let jumbo = udp(Mode::Gso, 65_508)
            .check_modes(65_535)
            .expect_err("over UDP's limit");
        assert!(jumbo.0.contains("1 to 65507"), "{jumbo}");
        let other = udp(Mode::Zerocopy, 64)
            .check_modes(1500)
            .expect_err("a mode of TCP");
        assert!(other.0.contains("plain, gso"), "{other}");
    }
}
