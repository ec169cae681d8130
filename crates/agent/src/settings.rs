//! The host's settings for one run: applied before it, read back, restored after it.

use std::time::Duration;

use bitcost_host::{
    ChangeSet, GRO_MAX_SIZE, Knob, Offloads, Scope, Stressed, Values, Watch, await_link, has_link,
    is_on, keep_busy,
};
use bitcost_model::conditions::Conditions;
use bitcost_model::host_settings::{HostSetting, OffloadSet, Offloads as Requested, Stress};
use bitcost_model::record::{InEffect, OffloadsInEffect, Role};

use crate::journaling::Journaling;
use crate::refusal::Refusal;

/// How long a link may take to come back after settings, which is part of the time to prepare a run.
const LINK_RETURNS: Duration = Duration::from_secs(8);

/// The same after they were restored: a watchdog waits no longer for this process.
const LINK_RESTORED: Duration = Duration::from_secs(4);

/// The settings that were changed. Dropping it restores them.
pub struct Settings {
    held: ChangeSet,
    stress: Vec<Stressed>,
    in_effect: Vec<InEffect>,
    /// Other settings that the kernel may change with them; absent where nothing is set.
    watch: Option<Watch>,
    /// Whether something is set, at an interface that had a carrier before.
    had_link: bool,
    pub offloads: OffloadsInEffect,
}

type Request = (&'static dyn Knob, String, HostSetting);

impl Settings {
    /// Applies the requests of the run to this endpoint, which is on the host called `host`, and
    /// reads them back. With `keeps_gro` sets of offloads leave GRO as it is.
    ///
    /// # Errors
    /// The requested value and the value in effect. The host is restored, or the error names what
    /// is not.
    pub fn apply(
        device: &str,
        host: Role,
        conditions: &Conditions,
        keeps_gro: bool,
        journaling: &Journaling,
    ) -> Result<Settings, Refusal> {
        bitcost_host::check_device(device)?;
        let offloads = offloads_of(device, Values::new())?;
        let mut requests = requests(device, host, conditions)?;
        if keeps_gro {
            keep_gro(device, &mut requests);
        }
        let held = ChangeSet::new(journaling.journal(!requests.is_empty())?);
        let watch = if requests.is_empty() {
            None
        } else {
            Some(Watch::start(device)?)
        };
        let had_link = watch.is_some() && has_link(device);
        let mut settings = Settings {
            had_link,
            held,
            stress: Vec::new(),
            in_effect: Vec::new(),
            watch,
            offloads,
        };
        match settings
            .set(device, requests, journaling)
            .and_then(|()| settings.start_stress(host, conditions))
        {
            Ok(()) => Ok(settings),
            Err(refusal) => Err(refusal.and(&settings.restore())),
        }
    }

    fn set(
        &mut self,
        device: &str,
        requests: Vec<Request>,
        journaling: &Journaling,
    ) -> Result<(), Refusal> {
        for (setting, subject, request) in requests {
            let is_of_machine = setting.scope(&subject) == Scope::Machine;
            if is_of_machine && journaling.is_lab() {
                return Err(Refusal::from(format!(
                    "cannot set {} {subject}: the whole machine has one value, so a lab cannot have its own; it can be set on real hosts",
                    setting.name()
                )));
            }
            let in_effect = self.held.set(setting, &subject, &request)?;
            if setting.name() == Offloads.name() {
                self.offloads = offloads_of(device, in_effect.asked)?;
            } else {
                self.in_effect
                    .extend(entries(setting, &subject, &in_effect));
            }
        }
        self.held.check()?;
        if self.had_link {
            await_link(device, LINK_RETURNS)?;
        }
        if let Some(watch) = &mut self.watch {
            watch.applied();
        }
        Ok(())
    }

    fn start_stress(&mut self, host: Role, conditions: &Conditions) -> Result<(), Refusal> {
        for setting in conditions.of_host(host) {
            let HostSetting::Stress(stress) = setting else {
                continue;
            };
            let started = keep_busy(stress)?;
            // With the CPU of each worker.
            let in_effect = Stress {
                cpus: started.cpus.clone(),
                ..stress.clone()
            };
            self.in_effect
                .push(InEffect::as_requested("stress", in_effect));
            self.stress.push(started);
        }
        Ok(())
    }

    /// Ends the stress, restores every setting, and reports what was in effect.
    ///
    /// # Errors
    /// A setting that could not be restored, or that another program changed during the run, which
    /// is then void.
    pub fn finish(mut self) -> Result<Vec<InEffect>, Refusal> {
        for stressed in self.stress.drain(..) {
            let worked = stressed.finish();
            let share = |worked: &bitcost_host::Worked| {
                worked.cpu_ns as f64 / worked.elapsed_ns.max(1) as f64
            };
            let sum: f64 = worked.iter().map(share).sum();
            let mean_percent = 100.0 * sum / worked.len().max(1) as f64;
            let actual = Some(format!("{mean_percent:.1}"));
            self.in_effect
                .push(InEffect::found("stress_load_percent", actual));
        }
        let wrong = self.restore();
        if wrong.is_empty() {
            Ok(std::mem::take(&mut self.in_effect))
        } else {
            Err(wrong.join("; ").into())
        }
    }

    /// Restores every setting, then the settings that changed with them; returns a sentence for
    /// each that differs from before.
    fn restore(&mut self) -> Vec<String> {
        let mut watch = self.watch.take();
        if let Some(watch) = &mut watch {
            watch.release();
        }
        let outcomes = self.held.restore();
        if std::mem::take(&mut self.had_link) {
            // A run after this one says if it stays away.
            let _ = await_link(&self.offloads.device, LINK_RESTORED);
        }
        let unclean = outcomes
            .iter()
            .filter(|outcome| !outcome.is_clean())
            .map(ToString::to_string);
        unclean
            .chain(watch.map(Watch::settle).unwrap_or_default())
            .collect()
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        // The run was ended from outside, so there is no receiver for a report.
        self.restore();
    }
}

/// The requests of this endpoint, in the order of the settings.
fn requests(device: &str, host: Role, conditions: &Conditions) -> Result<Vec<Request>, Refusal> {
    let mut requests: Vec<Request> = Vec::new();
    for knob in bitcost_host::KNOBS.iter().copied() {
        let own = conditions.of_host(host);
        for setting in own.filter(|setting| setting.name() == knob.name()) {
            let subjects = knob.subjects_of(device, setting)?.into_iter();
            requests.extend(subjects.map(|subject| (knob, subject, setting.clone())));
        }
    }
    Ok(requests)
}

/// Turns sets of offloads into their single features without GRO, which the size of its
/// super-packets turns off instead, unless the run requests another one.
fn keep_gro(device: &str, requests: &mut Vec<Request>) {
    let mut merges = true;
    for (_, _, setting) in requests.iter_mut() {
        if let HostSetting::Offloads(Requested::Set(set)) = setting {
            merges = set.turns_on("gro");
            let features = ["tso", "gso"].map(|name| (name.to_owned(), set.turns_on(name)));
            *setting = HostSetting::Offloads(Requested::Features(features.into()));
        }
    }
    let is_asked = requests
        .iter()
        .any(|(_, _, setting)| matches!(setting, HostSetting::GroMaxSize(_)));
    if !merges && !is_asked {
        let nothing = HostSetting::GroMaxSize(1);
        requests.push((&GRO_MAX_SIZE, device.to_owned(), nothing));
    }
}

/// The requested offloads and their state; those of tso, gso, gro and lro where none was requested.
fn offloads_of(device: &str, asked: Values) -> Result<OffloadsInEffect, Refusal> {
    let now = Offloads.observe(device)?;
    let on = HostSetting::Offloads(Requested::Set(OffloadSet::On));
    let shown = match asked.is_empty() {
        true => &Offloads.plan(device, &now, &on)?,
        false => &asked,
    };
    let active = now.iter().filter(|(name, _)| shown.contains_key(*name));
    let bit = |(name, word): (&String, &String)| (name.clone(), is_on(word));
    Ok(OffloadsInEffect {
        device: device.to_owned(),
        requested: asked.iter().map(bit).collect(),
        active: active.map(bit).collect(),
    })
}

/// One entry for each requested value. A value that the kernel rounds is shown as the kernel keeps
/// it.
fn entries(setting: &dyn Knob, subject: &str, in_effect: &bitcost_host::InEffect) -> Vec<InEffect> {
    let entry = |(name, asked): (&String, &String)| {
        let actual = in_effect.actual.get(name);
        let kept = actual.filter(|actual| setting.agrees(name, asked, actual));
        InEffect::new(setting.label(subject, name), kept.or(Some(asked)), actual)
    };
    in_effect.asked.iter().map(entry).collect()
}
