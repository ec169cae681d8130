//! The labs that a user can name: the embedded ones, lab files, and MiniEdit's files.

use std::path::Path;

use model::conditions::Conditions;
use model::miniedit::{self, FileCommand, Options};
use model::near::did_you_mean;
use model::shaping::DelayBackend;
use model::study::LabSpec;
use model::topology::{Ground, Lint, PRESETS, Preset, Topology, parse};

use crate::failure::Failure;
use crate::{files, output};

/// A lab that was named.
pub struct Named {
    /// A short name for it: the preset's or the file's.
    pub name: String,
    /// What it is.
    pub topology: Topology,
    /// What is not as in the file that it comes from.
    pub warnings: Vec<String>,
    /// Commands that stand in that file.
    pub commands: Vec<FileCommand>,
}

/// What changes a lab beside its name.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct Change {
    /// Pairs of a dumbbell, or hosts of a star
    #[arg(long, value_name = "N")]
    pub size: Option<u32>,
    /// Of MiniEdit's files: turn GRO off where Mininet does, at both ends of each link with options
    #[arg(long)]
    pub mininet_compat: bool,
}

/// Why a backend cannot be chosen.
const NOTHING_DELAYS: &str = "has no effect: nothing in this lab delays, loses, reorders or copies packets; leave it out, or name a topology that does, such as lab15";

/// Who delays packets in a lab.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct Backend {
    /// Who makes the delay, jitter, loss, reordering and duplication of the lab: the kernel's netem, bitcost's delay line, or
    /// netem where the kernel has it
    #[arg(long, value_name = "auto|netem|builtin", value_parser = backend)]
    pub delay_backend: Option<DelayBackend>,
}

fn backend(text: &str) -> Result<DelayBackend, String> {
    DelayBackend::named(text).ok_or_else(|| format!("allowed: {}", DelayBackend::NAMES.join(", ")))
}

impl Backend {
    /// Has a lab use it, where one is asked for.
    ///
    /// # Errors
    /// Usage, when nothing in the lab needs one.
    pub fn apply(self, topology: &mut Topology) -> Result<(), Failure> {
        let Some(backend) = self.delay_backend else { return Ok(()) };
        if !topology.ends().any(|end| end.egress.needs_emulator()) {
            self.refuse(NOTHING_DELAYS)?;
        }
        topology.delay_backend = backend;
        Ok(())
    }

    /// Refuses one that was asked for where it cannot be chosen.
    ///
    /// # Errors
    /// Usage, with `why`.
    pub fn refuse(self, why: &str) -> Result<(), Failure> {
        if self.delay_backend.is_none() { Ok(()) } else { Err(Failure::Usage(format!("--delay-backend {why}"))) }
    }

    /// As [`Backend::apply`], for the lab of a study or of a run.
    ///
    /// # Errors
    /// Usage, when nothing in the lab needs one.
    pub fn apply_to(self, lab: &mut LabSpec) -> Result<(), Failure> {
        match &mut lab.network {
            Some(network) => self.apply(network),
            None => self.refuse(NOTHING_DELAYS),
        }
    }
}

/// The lab that the user names: an embedded one, a lab file, or a file of MiniEdit.
///
/// # Errors
/// Usage, with the place of what is wrong.
pub fn find(name: &str, change: Change) -> Result<Named, Failure> {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if let Some(preset) = Preset::find(name) {
        let text = preset.text(change.size).map_err(Failure::Usage)?;
        return own(name, &format!("labs/{name}.toml"), &text);
    }
    if !name.contains('/') && !["toml", "mn"].contains(&ending) {
        let names = PRESETS.iter().map(|preset| preset.name);
        let all: Vec<&str> = names.clone().collect();
        return Err(Failure::Usage(format!(
            "unknown lab `{name}`{}; allowed: {}, or the path of a lab file (.toml) or of a MiniEdit file (.mn)",
            did_you_mean(name, names),
            all.join(", ")
        )));
    }
    if change.size.is_some() {
        return Err(Failure::Usage("--size is for the labs dumbbell and star".to_owned()));
    }
    let text = files::text(Path::new(name)).map_err(|error| {
        Failure::Usage(format!("cannot read the lab {name}: {error}; `bitcost lab presets` lists the embedded ones"))
    })?;
    let stem = Path::new(name).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    if ending != "mn" {
        return own(&stem, name, &text);
    }
    let imported = miniedit::import(&text, Options { mininet_compat: change.mininet_compat });
    let imported = imported.map_err(|why| Failure::Usage(format!("{name}: {why}")))?;
    let miniedit::Imported { topology, warnings, commands } = imported;
    Ok(Named { name: stem, topology, warnings, commands })
}

fn own(name: &str, file: &str, text: &str) -> Result<Named, Failure> {
    let topology = parse(file, text).map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(Named { name: name.to_owned(), topology, warnings: Vec::new(), commands: Vec::new() })
}

/// The lab of `bitcost test`, with the MTU of its links changed where one is asked for.
///
/// # Errors
/// As [`find`]; usage also where it has no two hosts with a way between them.
pub fn spec(name: &str, mtu_bytes: Option<u32>) -> Result<LabSpec, Failure> {
    let topology = match mtu_bytes {
        Some(mtu) if Preset::find(name).is_some() => {
            own(name, name, &format!("topology = \"{name}\"\nmtu_bytes = {mtu}\n"))?.topology
        }
        Some(_) => return Err(Failure::Usage(format!("--mtu is for embedded labs; write mtu_bytes into {name}"))),
        None => find(name, Change::default())?.topology,
    };
    LabSpec::new(name, topology, None, None).map_err(|why| Failure::Usage(format!("{name}: {why}")))
}

/// Says on standard error what of a lab spoils the result of these runs.
pub fn say_lints<'a>(lab: Option<&LabSpec>, runs: impl IntoIterator<Item = &'a Conditions>) {
    let Some((lab, network)) = lab.and_then(|lab| Some((lab, lab.network.as_ref()?))) else { return };
    let ground = ground();
    let mut said: Vec<Lint> = Vec::new();
    for conditions in runs {
        let ends = Some((lab.sender.as_str(), lab.receiver.as_str()));
        for lint in network.lints(&Ground { ends, conditions: Some(conditions), ..ground }) {
            if !said.contains(&lint) {
                said.push(lint);
            }
        }
    }
    said.iter().for_each(say);
}

/// As [`say_lints`] of a lab that stands for any program.
pub fn say_lints_of(topology: &Topology) {
    topology.lints(&ground()).iter().for_each(say);
}

fn say(lint: &Lint) {
    output::say(&format!("lint: {}: {}", lint.name, lint.message));
}

/// What this machine has to do with it.
fn ground() -> Ground<'static> {
    let most = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).ok()?;
        text.split_whitespace().last()?.parse().ok()
    };
    let tcp_buffers = most("tcp_wmem").zip(most("tcp_rmem")).map(|(send, receive)| [send, receive]);
    let cpus = sys::thread::allowed_cpus().ok().map(|cpus| cpus.len());
    Ground { tcp_buffers, cpus, ..Ground::default() }
}
