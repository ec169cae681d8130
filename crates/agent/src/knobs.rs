//! The host's settings for one run: applied before it, read back, taken back after it.

use host::{Flavour, Held, Knob, Offloads, SET, Scope, Stress, Stressed, Sysctl, VALUE, Values, Watch, is_on};
use model::conditions::{self, Conditions};
use model::knobs::{KnobWish, STRESS, WORKERS_MAX};
use model::record::{InForce, OffloadsInForce, Role};
use model::shared_sysctls;

use crate::keeping::Keeping;

/// What was changed. Dropping it takes everything back.
pub struct Knobs {
    held: Held,
    stress: Vec<Stressed>,
    in_force: Vec<InForce>,
    /// What the kernel may change along; absent where nothing is set.
    watch: Option<Watch>,
    /// Offloads as asked and as read back.
    pub offloads: OffloadsInForce,
}

/// Something to be set: the knob, its subject, and what is asked.
type Wish = (&'static dyn Knob, String, Values);

impl Knobs {
    /// Sets what the run asks of this end and reads it back.
    ///
    /// # Errors
    /// A sentence with what was asked and what is in force. The host is as before then, or the sentence tells what is not.
    pub fn apply(device: &str, role: Role, conditions: &Conditions, keeping: &Keeping) -> Result<Knobs, String> {
        host::check_device(device).map_err(say)?;
        let offloads = offloads_of(device, Values::new())?;
        let wishes = wishes(device, role, conditions)?;
        let held = Held::new(keeping.journal(!wishes.is_empty())?);
        let watch = if wishes.is_empty() { None } else { Some(Watch::begin(device).map_err(say)?) };
        let mut knobs = Knobs { held, stress: Vec::new(), in_force: Vec::new(), watch, offloads };
        match knobs.set(device, wishes, keeping).and_then(|()| knobs.start_stress(role, conditions)) {
            Ok(()) => Ok(knobs),
            Err(reason) => Err([vec![reason], knobs.restore()].concat().join("; ")),
        }
    }

    fn set(&mut self, device: &str, wishes: Vec<Wish>, keeping: &Keeping) -> Result<(), String> {
        for (knob, subject, wish) in wishes {
            if knob.scope(&subject) == Scope::Machine && keeping.is_lab() {
                return Err(format!(
                    "cannot set {} {subject}: it is one value for the whole machine, not of the lab; it can be set on real hosts",
                    knob.name()
                ));
            }
            let in_force = self.held.set(knob, &subject, &wish).map_err(say)?;
            if knob.name() == Offloads.name() {
                self.offloads = offloads_of(device, in_force.asked)?;
            } else {
                self.in_force.extend(entries(knob, &subject, &in_force));
            }
        }
        self.held.check().map_err(say)?;
        if let Some(watch) = &mut self.watch {
            watch.applied();
        }
        Ok(())
    }

    fn start_stress(&mut self, role: Role, conditions: &Conditions) -> Result<(), String> {
        for wish in conditions.knobs.iter().filter(|wish| wish.knob == STRESS.knob && wish.is_of(role)) {
            let stress = stress(wish)?;
            let started = stress.start().map_err(say)?;
            let actual = Some(stress_text(&stress, &started.cpus));
            let asked = if stress.cpus.is_empty() { actual.clone() } else { Some(stress_text(&stress, &stress.cpus)) };
            self.in_force.push(InForce { name: "stress".to_owned(), asked, actual });
            self.stress.push(started);
        }
        Ok(())
    }

    /// Ends the stress, takes everything back, and tells what was in force.
    ///
    /// # Errors
    /// What could not be put back, or was changed by somebody else while the run went on: the run is void then.
    pub fn finish(mut self) -> Result<Vec<InForce>, String> {
        for stressed in self.stress.drain(..) {
            let worked = stressed.finish();
            let share = |worked: &host::Worked| worked.cpu_ns as f64 / worked.elapsed_ns.max(1) as f64;
            let sum: f64 = worked.iter().map(share).sum();
            let mean_percent = 100.0 * sum / worked.len().max(1) as f64;
            let actual = Some(format!("{mean_percent:.1}"));
            self.in_force.push(InForce { name: "stress_load_percent".to_owned(), asked: None, actual });
        }
        let wrong = self.restore();
        if wrong.is_empty() { Ok(std::mem::take(&mut self.in_force)) } else { Err(wrong.join("; ")) }
    }

    /// Takes every setting back, then what went along with them; tells what is not as before, a sentence for each.
    fn restore(&mut self) -> Vec<String> {
        let mut watch = self.watch.take();
        if let Some(watch) = &mut watch {
            watch.release();
        }
        let outcomes = self.held.restore();
        let unclean = outcomes.iter().filter(|outcome| !outcome.is_clean()).map(ToString::to_string);
        unclean.chain(watch.map(Watch::settle).unwrap_or_default()).collect()
    }
}

impl Drop for Knobs {
    fn drop(&mut self) {
        // Nobody hears of it any more: the run was ended from outside.
        self.restore();
    }
}

fn say(error: host::HostError) -> String {
    error.to_string()
}

/// What is asked of this end, in the order of the knobs.
fn wishes(device: &str, role: Role, conditions: &Conditions) -> Result<Vec<Wish>, String> {
    let mut wishes = Vec::new();
    let set = match conditions.offloads {
        conditions::Offloads::On => Some("on"),
        conditions::Offloads::Off => Some("off"),
        conditions::Offloads::AsFound => None,
    };
    for knob in host::KNOBS {
        let asked = conditions.knobs.iter().filter(|wish| wish.knob == knob.name() && wish.is_of(role));
        for wish in asked {
            wishes.extend(
                subjects(*knob, device, wish)?.into_iter().map(|subject| (*knob, subject, wish.values.clone())),
            );
        }
        if let Some(set) = set.filter(|_| knob.name() == Offloads.name()) {
            wishes.push((*knob, device.to_owned(), Values::from([(SET.to_owned(), set.to_owned())])));
        }
    }
    let is_known = |wish: &&KnobWish| wish.knob == STRESS.knob || host::knob_named(&wish.knob).is_some();
    match conditions.knobs.iter().find(|wish| !is_known(wish)) {
        Some(wish) => Err(format!("this agent knows no knob \"{}\"; use the same bitcost on both hosts", wish.knob)),
        None => Ok(wishes),
    }
}

/// What a wish is of: what it names, or every CPU for a governor, or the interface.
///
/// # Errors
/// A kernel parameter that no run may set, whoever asks; or a governor where there is none.
fn subjects(knob: &dyn Knob, device: &str, wish: &KnobWish) -> Result<Vec<String>, String> {
    if let Some(subject) = &wish.subject {
        let refused = if knob.name() == Sysctl.name() { shared_sysctls::refusal(subject) } else { None };
        return refused.map_or_else(|| Ok(vec![subject.clone()]), Err);
    }
    if knob.name() != "governor" {
        return Ok(vec![device.to_owned()]);
    }
    let cpus = knob.subjects();
    if cpus.is_empty() {
        return Err("cannot set the governor: this machine does not let its CPUs' frequency be governed".to_owned());
    }
    Ok(cpus)
}

/// The offload bits asked for and their state; those of tso, gso, gro and lro where nothing was asked.
fn offloads_of(device: &str, asked: Values) -> Result<OffloadsInForce, String> {
    let now = Offloads.observe(device).map_err(|error| error.to_string())?;
    let on = Values::from([(SET.to_owned(), "on".to_owned())]);
    let shown = if asked.is_empty() { Offloads.plan(device, &now, &on) } else { Ok(asked.clone()) };
    let shown = shown.map_err(|error| error.to_string())?;
    let active = now.iter().filter(|(name, _)| shown.contains_key(*name));
    Ok(OffloadsInForce {
        device: device.to_owned(),
        asked: asked.iter().map(|(name, word)| (name.clone(), is_on(word))).collect(),
        active: active.map(|(name, word)| (name.clone(), is_on(word))).collect(),
        mismatched: Vec::new(),
    })
}

/// One entry for each value asked for. What the kernel keeps in steps of its own is shown as it keeps it.
fn entries(knob: &dyn Knob, subject: &str, in_force: &host::InForce) -> Vec<InForce> {
    let of_value = |(name, asked): (&String, &String)| {
        let label = match knob.name() {
            "sysctl" => format!("sysctl.{subject}"),
            "governor" => format!("governor.{subject}"),
            knob if name == VALUE => knob.to_owned(),
            knob => format!("{knob}.{name}"),
        };
        let actual = in_force.actual.get(name).cloned();
        let agrees = actual.as_ref().is_some_and(|actual| knob.agrees(name, asked, actual));
        InForce { name: label, asked: if agrees { actual.clone() } else { Some(asked.clone()) }, actual }
    };
    in_force.asked.iter().map(of_value).collect()
}

fn stress(wish: &KnobWish) -> Result<Stress, String> {
    let text = |name: &str| wish.values.get(name).map(String::as_str).unwrap_or_default();
    let number = |name: &str| text(name).parse::<u32>().map_err(|error| format!("stress: {name}: {error}"));
    let flavour = Flavour::NAMES.iter().find(|(name, _)| *name == text("flavour")).map(|(_, flavour)| *flavour);
    let cpus = text("cpus").split(',').filter(|part| !part.is_empty()).map(str::parse);
    let within = |name: &str, most: u32| match number(name)? {
        value if (1..=most).contains(&value) => Ok(value),
        value => Err(format!("stress: {name} is {value}; allowed: 1 to {most}")),
    };
    Ok(Stress {
        workers: within("workers", WORKERS_MAX)?,
        flavour: flavour.ok_or_else(|| format!("stress: unknown flavour \"{}\"", text("flavour")))?,
        load_percent: within("load_percent", 100)?,
        cpus: cpus.collect::<Result<_, _>>().map_err(|error| format!("stress: cpus: {error}"))?,
    })
}

/// As studies write it, with the CPU of each worker.
fn stress_text(stress: &Stress, cpus: &[u32]) -> String {
    let flavour = Flavour::NAMES.iter().find(|(_, flavour)| *flavour == stress.flavour).map_or("", |(name, _)| name);
    let of_worker = cpus.iter().cycle().take(stress.workers as usize);
    let cpus: Vec<String> = of_worker.map(u32::to_string).collect();
    format!("{} {flavour} {}% on {}", stress.workers, stress.load_percent, cpus.join(","))
}
