//! Checks of conditions that need no host.

use super::{
    Conditions, Impossible, Mss, STAMPED_BYTES, TCP_TIMESTAMPS, TRANSACTION_MAX,
    TRANSACTION_RATE_MAX, Workload, one,
};
use crate::Invalid;
use crate::buffers::Buffers;
use crate::modes::{self, Mode};
use crate::record::Role;

impl Conditions {
    /// Checks the limits of a run in the embedded lab, whose links have this MTU.
    ///
    /// # Errors
    /// A sentence that says what was found and what is allowed.
    pub fn check_in_lab(&self, mtu_bytes: u32) -> Result<(), Invalid> {
        let mtus = self
            .host_settings
            .iter()
            .filter(|request| request.setting == crate::host_settings::MTU);
        let most = mtus
            .filter_map(|request| request.values.get("value")?.parse::<u32>().ok())
            .max();
        match most.filter(|most| *most > mtu_bytes) {
            Some(most) => Err(Invalid(format!(
                "an interface's MTU of {most} bytes is over the lab's {mtu_bytes}: its wire would drop packets; raise the lab's (mtu_bytes in [lab], --mtu)"
            ))),
            None => Ok(()),
        }
    }

    /// Checks everything that needs no host: sizes against the protocol and the link's MTU.
    ///
    /// # Errors
    /// What was found and what is allowed.
    pub fn check(&self, mtu_bytes: u32) -> Result<(), Impossible> {
        let mtu_bytes = self.asked_mtu_bytes().unwrap_or(mtu_bytes);
        self.check_part(mtu_bytes)?;
        let own = self.ways().len();
        for part in self.parts().iter().skip(own) {
            part.check_part(mtu_bytes)
                .map_err(|why| Invalid(format!("background, {}: {why}", part.workload.name())))?;
        }
        Ok(())
    }

    fn check_part(&self, mtu_bytes: u32) -> Result<(), Impossible> {
        self.places.check(self.flows, mtu_bytes)?;
        self.check_transactions()?;
        let (version, most) = (self.ip_version(), self.ip_version().udp_payload_max());
        if self.workload.numbers_datagrams() && self.message_size_bytes > most {
            return Err(Impossible::Values(format!(
                "message size {} bytes is over the UDP limit; allowed: 1 to {most} (IPv{})",
                self.message_size_bytes,
                version.name()
            )));
        }
        if self.workload.numbers_datagrams() && self.receive_bytes() < self.message_size_bytes {
            return Err(Impossible::Values(format!(
                "a receive call of {} bytes cuts datagrams of {} bytes; allowed: at least the message size",
                self.receive_bytes(),
                self.message_size_bytes
            )));
        }
        if let Some((_, last)) = self.bound()
            && self.workload.numbers_datagrams()
            && self.message_size_bytes >= 8
            && (1..8).contains(&last)
        {
            return Err(Impossible::Values(format!(
                "{last} bytes are left for the last datagram, which has no room for its number; allowed: a count of bytes that leaves none, or 8 and more, after messages of {}",
                self.message_size_bytes
            )));
        }
        self.check_times()?;
        self.check_modes(mtu_bytes)?;
        self.check_buffers()?;
        let Some(segment) = self.segment_bytes() else {
            return Ok(());
        };
        let headers = self.header_bytes();
        let room = mtu_bytes.saturating_sub(headers + TCP_TIMESTAMPS);
        if segment > room {
            return Err(Impossible::Values(format!(
                "an MSS of {segment} bytes does not fit the MTU of {mtu_bytes}; allowed: 88 to {room} (MTU less {headers} bytes of headers and {TCP_TIMESTAMPS} of timestamps)"
            )));
        }
        if segment < 88 {
            return Err(Impossible::Values(format!(
                "an MSS of {segment} bytes is too small; allowed: 88 to {room}"
            )));
        }
        Ok(())
    }

    /// Checks the records of single messages.
    fn check_times(&self) -> Result<(), Invalid> {
        let plain = |mode: Mode, end: Role| {
            let (name, setting) = (mode.name(), modes::setting(end));
            if mode == Mode::Plain {
                Ok(())
            } else {
                Err(Invalid(format!(
                    "with {setting} `{name}`; allowed with: plain"
                )))
            }
        };
        if self.latency && !self.workload.is_transactional() {
            let found = plain(self.send_mode, Role::Sender);
            found.map_err(|found| {
                Invalid(format!(
                    "latency (the time of each send call) is not possible {found}"
                ))
            })?;
        }
        if !self.delay_variation {
            return Ok(());
        }
        let refused = |found: Invalid| Invalid(format!("delay_variation is not possible {found}"));
        if !self.workload.numbers_datagrams() {
            return Err(refused(Invalid(format!(
                "with {}; allowed with: {}",
                self.workload.name(),
                Workload::names(Workload::numbers_datagrams)
            ))));
        }
        let size = self.message_size_bytes;
        if size < STAMPED_BYTES {
            return Err(refused(Invalid(format!(
                "in messages of {size} bytes; allowed: {STAMPED_BYTES} and more"
            ))));
        }
        plain(self.send_mode, Role::Sender)
            .and(plain(self.receive_mode, Role::Receiver))
            .map_err(refused)
    }

    /// Checks the program's own part in each message.
    pub(super) fn check_buffers(&self) -> Result<(), Invalid> {
        let plain = [("send", self.send_mode), ("receive", self.receive_mode)];
        if self.buffers != Buffers::default()
            && let Some((end, mode)) = plain.iter().find(|(_, mode)| *mode != Mode::Plain)
        {
            let mode = mode.name();
            return Err(Invalid(format!(
                "payload and work settings are not for {end}_mode `{mode}`; allowed with: send_mode and receive_mode `plain`"
            )));
        }
        Ok(())
    }

    /// Refuses settings of transactions for a stream, and settings of streams for transactions.
    fn check_kind_of_settings(&self) -> Result<(), Impossible> {
        // The work on a message is, for a server, that on a request.
        let work_ns = self.buffers.receive_work_ns;
        let of_streams = Buffers {
            receive_work_ns: if self.workload.has_requests() {
                0
            } else {
                work_ns
            },
            ..self.buffers
        };
        let rows: &[(bool, bool, &str)] = &[
            (true, self.transaction_rate.is_some(), "transaction_rate"),
            (true, self.request_size_bytes != one(), "request_size_bytes"),
            (
                true,
                self.response_size_bytes != one(),
                "response_size_bytes",
            ),
            (false, self.mss == Some(Mss::Message), "mss = \"message\""),
            (
                false,
                self.receive_low_water_bytes.is_some(),
                "receive_low_water_bytes",
            ),
            (
                false,
                self.notsent_low_water_bytes.is_some(),
                "notsent_low_water_bytes",
            ),
            (false, self.mode_auto, "mode = \"auto\""),
            (false, self.stop_bytes.is_some(), "stop_bytes"),
            (false, self.rate_bps.is_some(), "rate_bps"),
            (false, self.message_rate.is_some(), "message_rate"),
            (
                false,
                of_streams != Buffers::default(),
                "a payload or work setting",
            ),
            (false, self.send_mode != Mode::Plain, "send_mode"),
            (false, self.receive_mode != Mode::Plain, "receive_mode"),
        ];
        for (of_transactions, is_set, setting) in rows {
            if *is_set && *of_transactions != self.workload.is_transactional() {
                let is_of_kind = |other: Workload| other.is_transactional() == *of_transactions;
                return Err(Impossible::NotFor {
                    setting: (*setting).to_owned(),
                    what: self.workload.name().to_owned(),
                    allowed: format!("allowed with: {}", Workload::names(is_of_kind)),
                });
            }
        }
        Ok(())
    }

    /// Checks the settings of requests and responses, and the settings that only streams have.
    fn check_transactions(&self) -> Result<(), Impossible> {
        self.check_kind_of_settings()?;
        let name = self.workload.name();
        let sizes = [
            ("request", self.request_size_bytes),
            ("response", self.response_size_bytes),
        ];
        for (what, size) in sizes {
            let most = if self.workload.is_datagram() {
                self.ip_version().udp_payload_max()
            } else {
                TRANSACTION_MAX
            };
            if !(1..=most).contains(&size) {
                return Err(Impossible::Values(format!(
                    "a {what} of {size} bytes is too large or too small for {name}; allowed: 1 to {most}"
                )));
            }
            if !self.workload.has_requests() && self.workload.is_transactional() && size != one() {
                return Err(Impossible::Values(format!(
                    "{name} carries no {what}; allowed with: {}",
                    Workload::names(Workload::has_requests)
                )));
            }
        }
        if self.transaction_rate == Some(0) {
            return Err(Impossible::Values(format!(
                "a transaction rate of 0 per second; allowed: 1 to {TRANSACTION_RATE_MAX}"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_requests_and_responses_cannot_be_is_refused_with_what_is_allowed() {
        let of = |workload| Conditions {
            workload,
            ..Conditions::default()
        };
        let (rr, udp) = (of(Workload::TcpRr), of(Workload::UdpRr));
        for (conditions, wanted) in [
            (
                Conditions {
                    request_size_bytes: 0,
                    ..rr.clone()
                },
                "allowed: 1 to 16777216",
            ),
            (
                Conditions {
                    transaction_rate: Some(5),
                    ..of(Workload::UdpStream)
                },
                "allowed with: tcp_rr, udp_rr",
            ),
            (
                Conditions {
                    latency: true,
                    send_mode: Mode::Writev,
                    ..of(Workload::TcpStream)
                },
                "allowed with: plain",
            ),
            (
                Conditions {
                    request_size_bytes: 2,
                    ..of(Workload::TcpConnect)
                },
                "carries no request",
            ),
        ] {
            let found = conditions
                .check(1500)
                .expect_err("not possible")
                .to_string();
            assert!(found.contains(wanted), "{found}");
        }
        let slow = |workload| Conditions {
            buffers: Buffers {
                receive_work_ns: 1000,
                ..Buffers::default()
            },
            ..of(workload)
        };
        for workload in [Workload::TcpRr, Workload::TcpCrr, Workload::UdpRr] {
            assert_eq!(slow(workload).check(1500), Ok(()));
        }
        assert!(slow(Workload::TcpConnect).check(1500).is_err());
        for conditions in [rr, udp, of(Workload::TcpCrr), of(Workload::TcpConnect)] {
            assert_eq!(
                Conditions {
                    latency: true,
                    transaction_rate: Some(100),
                    ..conditions
                }
                .check(1500),
                Ok(())
            );
        }
    }
}
