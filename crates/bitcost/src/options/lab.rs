//! The emulator of a lab's links.

use bitcost_execute::labs;
use bitcost_model::Invalid;
use bitcost_model::shaping::DelayBackend;
use bitcost_model::topology::Topology;

use crate::failure::Failure;

#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct Backend {
    /// Link emulator of the lab, which delays, loses, reorders and duplicates packets: the kernel's
    /// netem, or bitcost's own (builtin) [default: auto, which is netem if the kernel has it]
    #[arg(long, value_name = "auto|netem|builtin", value_parser = backend)]
    delay_backend: Option<DelayBackend>,
}

fn backend(text: &str) -> Result<DelayBackend, String> {
    DelayBackend::named(text).ok_or_else(|| format!("allowed: {}", DelayBackend::NAMES.join(", ")))
}

impl Backend {
    /// Makes a lab use the requested emulator, if the user requested one.
    pub fn apply(self, topology: Option<&mut Topology>) -> Result<(), Failure> {
        self.with(|backend| labs::set_delay_backend(topology, backend))
    }

    /// Refuses a requested emulator in places where none can be chosen.
    pub fn refuse(self, why: &str) -> Result<(), Failure> {
        self.with(|_| Err(Invalid(why.to_owned())))
    }

    fn with(self, set: impl FnOnce(DelayBackend) -> Result<(), Invalid>) -> Result<(), Failure> {
        let set = self.delay_backend.map_or(Ok(()), set);
        set.map_err(|why| Failure::Usage(format!("--delay-backend {why}")))
    }
}
