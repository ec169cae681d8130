//! Checks of conditions that need no host.

use crate::Invalid;
use crate::buffers::Buffers;
use crate::conditions::kinds::{Mss, STAMPED_BYTES, TCP_TIMESTAMPS, TRANSACTION_MAX};
use crate::host_settings::{HostSetting, STRESS};
use crate::modes::{MODES, Mode, Row, setting};
use crate::record::Role;
use crate::search::Goal;
use crate::settings::{Conditions, SETTINGS, Setting};
use crate::workload::Workload;

impl Conditions {
    /// Checks the limits of a run in the embedded lab, whose links have this MTU.
    pub fn check_in_lab(&self, mtu_bytes: u32) -> Result<(), Invalid> {
        let most = self.asked_mtus().max();
        match most.filter(|most| *most > mtu_bytes) {
            Some(most) => Err(Invalid(format!(
                "an interface's MTU of {most} bytes is over the lab's {mtu_bytes}: its wire would drop packets; raise the lab's: mtu_bytes of its links in a lab file or in [lab] of a study, or --mtu where the test builds it"
            ))),
            None => Ok(()),
        }
    }

    /// Checks that only one endpoint changes the host that both are on: that endpoint changes the
    /// host and restores it.
    pub fn check_on_one_host(&self) -> Result<(), Invalid> {
        let of = |role: Role| {
            let mut settings = self.of_host(role).map(HostSetting::name);
            settings.find(|name| *name != STRESS.setting)
        };
        match of(Role::Sender).and(of(Role::Receiver)) {
            Some(setting) => Err(Invalid(format!(
                "both endpoints are on one host, and both would set its {setting}: set it for one endpoint, as in `sender: VALUE`"
            ))),
            None => Ok(()),
        }
    }

    /// Checks everything that needs no host: sizes against the protocol and the link's MTU.
    pub fn check(&self, mtu_bytes: u32) -> Result<(), Invalid> {
        let mtu_bytes = self.asked_mtus().min().unwrap_or(mtu_bytes);
        self.check_part(mtu_bytes)?;
        let own = self.ways().len();
        self.parts().iter().skip(own).try_for_each(|part| {
            let name = part.workload.name();
            let found = part.check_part(mtu_bytes);
            found.map_err(|why| Invalid(format!("background, {name}: {why}")))
        })
    }

    fn check_part(&self, mtu_bytes: u32) -> Result<(), Invalid> {
        self.places.check(self.flows, mtu_bytes)?;
        self.check_transactions()?;
        if self.is_bounded() && self.warmup_ms > 0 {
            return Err(Invalid(
                "a run that ends after a count has no warm-up; leave out warmup_s (-O)".to_owned(),
            ));
        }
        let (version, most) = (self.ip_version(), self.ip_version().udp_payload_max());
        if self.workload.numbers_datagrams() && self.message_size_bytes > most {
            return Err(Invalid(format!(
                "message size {} bytes is over the UDP limit; allowed: 1 to {most} (IPv{})",
                self.message_size_bytes,
                version.name()
            )));
        }
        if self.workload.numbers_datagrams() && self.receive_bytes() < self.message_size_bytes {
            return Err(Invalid(format!(
                "a receive call of {} bytes cuts datagrams of {} bytes; allowed: at least the message size",
                self.receive_bytes(),
                self.message_size_bytes
            )));
        }
        let (size, flows) = (u64::from(self.message_size_bytes), self.flows.max(1));
        let bytes = (self.stop_bytes).filter(|_| self.workload.numbers_datagrams() && size >= 8);
        let shares = bytes.map(|all| [all / u64::from(flows), all.div_ceil(flows.into())]);
        let mut lasts = shares.into_iter().flatten().map(|share| share % size);
        if let Some(last) = lasts.find(|last| (1..8).contains(last)) {
            return Err(Invalid(format!(
                "{last} bytes are left for the last datagram of a flow, which has no room for its number; allowed: a count of bytes that leaves each flow none, or 8 and more, after messages of {size}"
            )));
        }
        self.check_times()?;
        self.check_modes(mtu_bytes)?;
        self.check_buffers()?;
        let Some(segment) = self.segment_bytes() else {
            return Ok(());
        };
        let headers = self.header_bytes();
        let room = self.framing(mtu_bytes).full_payload_bytes();
        if segment > room {
            return Err(Invalid(format!(
                "an MSS of {segment} bytes does not fit the MTU of {mtu_bytes}; allowed: 88 to {room} (MTU less {headers} bytes of headers and {TCP_TIMESTAMPS} of timestamps)"
            )));
        }
        if segment < 88 {
            return Err(Invalid(format!(
                "an MSS of {segment} bytes is too small; allowed: 88 to {room}"
            )));
        }
        Ok(())
    }

    /// Checks the records of single messages.
    fn check_times(&self) -> Result<(), Invalid> {
        let not_plain = |ends: &[(Mode, Role)]| {
            let (mode, end) = ends.iter().find(|(mode, _)| *mode != Mode::Plain)?;
            let (setting, name) = (setting(*end), mode.name());
            Some(format!("with {setting} `{name}`; allowed with: plain"))
        };
        let (send, receive) = (self.send_mode, self.receive_mode);
        let (name, size) = (self.workload.name(), self.message_size_bytes);
        let why = if !self.workload.numbers_datagrams() {
            let allowed = Workload::names(Workload::numbers_datagrams);
            Some(format!("with {name}; allowed with: {allowed}"))
        } else if size < STAMPED_BYTES {
            Some(format!(
                "in messages of {size} bytes; allowed: {STAMPED_BYTES} and more"
            ))
        } else {
            not_plain(&[(send, Role::Sender), (receive, Role::Receiver)])
        };
        match why.filter(|_| self.delay_variation) {
            Some(why) => Err(Invalid(format!("delay_variation is not possible {why}"))),
            None => Ok(()),
        }
    }

    /// Checks the program's own part in each message.
    pub(crate) fn check_buffers(&self) -> Result<(), Invalid> {
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
    fn check_kind_of_settings(&self) -> Result<(), Invalid> {
        let refused = |setting: &str, allowed: &dyn Fn(Workload) -> bool| {
            let (name, allowed) = (self.workload.name(), Workload::names(allowed));
            Err(Invalid(format!(
                "{setting} is not for {name}; allowed with: {allowed}"
            )))
        };
        if self.mss == Some(Mss::Message) && self.workload.is_transactional() {
            return refused("mss `message`", &|of| !of.is_transactional());
        }
        let is_foreign =
            |setting: &&Setting| (setting.is_set)(self) && !(setting.workloads)(self.workload);
        match SETTINGS.iter().find(is_foreign) {
            // Its other value is for all.
            Some(setting) if setting.name == "mode" => refused("mode `auto`", &setting.workloads),
            Some(setting) => refused(setting.name, &setting.workloads),
            None => Ok(()),
        }
    }

    /// Checks the settings of requests and responses, and the settings that only streams have.
    fn check_transactions(&self) -> Result<(), Invalid> {
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
                return Err(Invalid(format!(
                    "a {what} of {size} bytes is too large or too small for {name}; allowed: 1 to {most}"
                )));
            }
        }
        Ok(())
    }

    /// Checks that the workload has the modes, and that they can carry the message.
    pub fn check_modes(&self, mtu_bytes: u32) -> Result<(), Invalid> {
        for (end, mode) in [
            (Role::Sender, self.send_mode),
            (Role::Receiver, self.receive_mode),
        ] {
            let fits = |row: &&Row| row.end == end && row.is_of(self.workload);
            if !MODES.iter().filter(fits).any(|row| row.mode == mode) {
                let fitting = MODES.iter().filter(fits);
                let allowed: Vec<&str> = fitting.map(|row| row.mode.name()).collect();
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
        let framing = self.framing(mtu_bytes);
        let headers = framing.packet_header_bytes();
        let room = (framing.full_payload_bytes()).min(self.ip_version().udp_payload_max());
        if self.send_mode == Mode::Gso && self.message_size_bytes > room {
            return Err(Invalid(format!(
                "send_mode `gso` makes one packet of each message, and {} bytes do not fit the MTU of {mtu_bytes}; allowed: 1 to {room} (MTU less {headers} bytes of headers), or another mode",
                self.message_size_bytes
            )));
        }
        Ok(())
    }
}
