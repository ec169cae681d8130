//! What the client of a service may ask of the agent. What no rule allows is refused, with the name
//! of the rule and the value that it forbids.

use std::fmt::{Arguments, Display};
use std::time::Duration;

use bitcost_model::conditions::Conditions;
use bitcost_model::confinement::Confinement;
use bitcost_model::host_settings::HostSetting;
use bitcost_model::protocol::{Part, Prepare, ToAgent};
use bitcost_model::record::Role;
use bitcost_model::units::counted;

/// Most memory of a run's buffers: what the flows of all parts send from and receive into, in bytes.
const BUFFERS_BYTES_MAX: u64 = 1 << 30;

/// The time for which a test may send at once what its highest rate gives, also where it is shorter.
const BURST: Duration = Duration::from_secs(4);

/// The largest MTU of an interface, that of loopback, in bytes.
const MTU_MAX: u32 = 65_536;

/// Judges the messages of a client.
pub struct Policy<'a>(pub &'a Confinement);

impl Policy<'_> {
    /// Judges one message; returns what it becomes: the same, with addresses as they are here.
    pub fn judge(&self, mut message: ToAgent) -> Result<ToAgent, String> {
        self.check(&message)?;
        match &mut message {
            // A client behind another's address does not know how it is seen here.
            ToAgent::Route { to, device } if to.is_unspecified() => {
                (*to, *device) = (self.0.peer, self.0.device.clone());
            }
            ToAgent::Prepare(prepare) => {
                let parts = prepare.parts.iter_mut();
                parts.for_each(|part| part.listen_on = Some(self.0.local.ip()));
            }
            // They tell what this host knows of others.
            ToAgent::Meet { addresses, .. } => addresses.clear(),
            _ => {}
        }
        Ok(message)
    }

    fn check(&self, message: &ToAgent) -> Result<(), String> {
        match message {
            ToAgent::Hello { .. }
            | ToAgent::Clock
            | ToAgent::Constants { .. }
            | ToAgent::End
            | ToAgent::Finish { .. }
            | ToAgent::Stop
            | ToAgent::Renew
            | ToAgent::Idle { .. }
            | ToAgent::Start(_)
            | ToAgent::Meet { .. } => Ok(()),
            ToAgent::Describe { device } | ToAgent::AddressesOf { device } => {
                self.interface(device)
            }
            ToAgent::Route { to, device } => {
                let known = [self.0.peer, self.0.local.ip()];
                let rule =
                    format_args!("routes are reported only to {} and {}", known[0], known[1]);
                let is_own = device.is_empty() || *device == self.0.device;
                let is_known = to.is_unspecified() || known.contains(&to.to_canonical());
                require(is_known && is_own, rule, to)
            }
            ToAgent::TryProfile => profile(true),
            ToAgent::Observe { .. } => {
                Err("connections of other programs are not shown".to_owned())
            }
            ToAgent::Prepare(prepare) => self.prepare(prepare),
        }
    }

    fn interface(&self, device: &str) -> Result<(), String> {
        let allowed = match &self.0.rules.interfaces[..] {
            [] => std::slice::from_ref(&self.0.device),
            named => named,
        };
        let is_allowed = allowed.iter().any(|name| name == device);
        let rule = format_args!("interface: {}", allowed.join(", "));
        let shown: String = device.chars().take(15).collect();
        require(is_allowed, rule, format_args!("{shown:?}"))
    }

    fn prepare(&self, prepare: &Prepare) -> Result<(), String> {
        self.interface(&prepare.device)?;
        let is_of_lab = prepare.receiving.is_some()
            || prepare.peer_cpu.is_some()
            || !prepare.softirq_cpus.is_empty();
        require(
            !is_of_lab,
            format_args!("this is not a lab"),
            "how an interface receives, or what is measured on the CPUs of both endpoints",
        )?;
        profile(prepare.is_profiled)?;
        let rule = format_args!("the other endpoint is a bitcost");
        require(prepare.peer.is_bitcost(), rule, "an iperf3 server")?;
        for part in &prepare.parts {
            self.settings(part)?;
            self.subjects(part)?;
            self.place(part)?;
            self.conditions(&part.conditions)?;
        }
        let flows: u64 = prepare
            .parts
            .iter()
            .map(|part| u64::from(part.conditions.flows))
            .sum();
        let most = self.0.rules.max_flows;
        let requested = counted(flows as usize, "flow");
        let rule = format_args!("max-flows is {most}");
        require(flows <= most.into(), rule, requested)?;
        let bytes = prepare.parts.iter().map(|part| buffers(&part.conditions));
        let bytes = bytes.fold(0, u64::saturating_add);
        let rule = format_args!("buffers of a run take at most {BUFFERS_BYTES_MAX} bytes");
        require(bytes <= BUFFERS_BYTES_MAX, rule, bytes)?;
        self.rate(prepare)
    }

    fn settings(&self, part: &Part) -> Result<(), String> {
        let allowed = &self.0.rules.settings;
        let requested = part.conditions.changed_settings(part.role);
        let is_forbidden = |name: &&&str| allowed.iter().all(|allowed| allowed != *name);
        let Some(forbidden) = requested.iter().find(is_forbidden) else {
            return Ok(());
        };
        let shown: String = forbidden.chars().take(64).collect();
        let allowed = match &allowed[..] {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        let rule = format_args!("allow-settings: {allowed}");
        let why = refused(rule, format_args!("{shown:?}"));
        Err(format!(
            "{why}; `bitcost serve --allow-settings NAMES` there allows more"
        ))
    }

    fn conditions(&self, conditions: &Conditions) -> Result<(), String> {
        require(
            conditions.background.is_empty(),
            format_args!("the parts of a run may not have parts"),
            "parts inside of a part",
        )?;
        // What a study's plan may ask for; the MTU of the path is known to the planner alone.
        let request = |reason: &dyn Display| format!("a test must be possible: {reason}");
        conditions.check_bounds().map_err(|why| request(&why))?;
        conditions.check(MTU_MAX).map_err(|why| request(&why))?;
        if conditions.is_bounded() {
            // The agent ends the run when its time is over.
            return Ok(());
        }
        let asked = conditions.window_limit() + Duration::from_millis(conditions.warmup_ms.into());
        let most = self.duration();
        let rule = format_args!("max-duration is {} s", most.as_secs());
        require(
            asked <= most,
            rule,
            format_args!("{} s", asked.as_secs_f64()),
        )
    }

    fn subjects(&self, part: &Part) -> Result<(), String> {
        let host = part.conditions.direction.role_of(part.role);
        let here = part.conditions.of_host(host);
        here.filter_map(HostSetting::interface)
            .try_for_each(|interface| self.interface(interface))
    }

    fn place(&self, part: &Part) -> Result<(), String> {
        let places = &part.conditions.places;
        let own = places.end(part.role);
        own.device
            .as_deref()
            .map_or(Ok(()), |device| self.interface(device))?;
        let opens = part.conditions.workload.makes_connections() && part.role == Role::Sender;
        require(
            !opens,
            format_args!("a service opens no connections"),
            "some from it: leave out -R, or reach the host by ssh",
        )?;
        let named = [&places.sender, &places.receiver].map(|end| end.ports.is_some());
        let rule = format_args!(
            "data come to the service's own port, {}",
            self.0.listening.port()
        );
        require(
            named == [false; 2] || part.role == Role::Receiver && !named[1],
            rule,
            "another: leave out --port, and with -R --source-port",
        )
    }

    fn duration(&self) -> Duration {
        Duration::from_secs(self.0.rules.max_duration_s.into())
    }

    fn rate(&self, prepare: &Prepare) -> Result<(), String> {
        let Some(most) = self.0.rules.max_rate_bps else {
            return Ok(());
        };
        let mut sum = 0.0;
        let rule = format_args!("max-rate is {most} bit/s");
        for Part { conditions, .. } in &prepare.parts {
            // No path adds fewer headers than one packet for each message has.
            let rate = conditions.asked_bps(Some(u32::MAX));
            let rate = rate.ok_or_else(|| refused(rule, "a test without a rate (-b)"))?;
            sum += rate * f64::from(conditions.flows);
            let length = conditions.window_limit().min(self.duration()).max(BURST);
            let burst_bytes = conditions.burst_bytes();
            let is_short = burst_bytes as f64 * 8.0 <= most as f64 * length.as_secs_f64();
            let burst = format_args!(
                "{burst_bytes} bytes at once, which take longer than the test; send smaller messages or bursts"
            );
            require(is_short, rule, burst)?;
        }
        require(
            sum.round() <= most as f64,
            rule,
            format_args!("{sum:.0} bit/s over all flows"),
        )
    }
}

fn refused(rule: Arguments<'_>, requested: impl Display) -> String {
    format!("{rule}; requested {requested}")
}

fn require(holds: bool, rule: Arguments<'_>, requested: impl Display) -> Result<(), String> {
    holds.then_some(()).ok_or_else(|| refused(rule, requested))
}

/// The memory that a part's flows send from and receive into, in bytes: a bound from above.
fn buffers(conditions: &Conditions) -> u64 {
    let largest = [
        conditions.receive_bytes(),
        conditions.message_size_bytes,
        conditions.request_size_bytes,
        conditions.response_size_bytes,
    ];
    let buffer = u64::from(largest.into_iter().max().unwrap_or(0));
    buffer.saturating_mul(conditions.flows.into())
}

/// Whoever samples the CPUs sees what all programs of the host do.
fn profile(is_requested: bool) -> Result<(), String> {
    let rule = format_args!("a service is not profiled");
    require(!is_requested, rule, "--profile")
}
