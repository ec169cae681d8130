//! The figures of one run of one generator.

/// The figures of one run of one generator.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Messages or transactions per second, at the sender.
    pub per_second: f64,
    /// CPU time of the whole machine per KiB of user data, or per transaction, in µs; absent if it
    /// could not be read.
    pub cpu: Option<f64>,
    /// CPU time of pacing itself, in % of a CPU.
    pub pacing_cpu_pct: Option<f64>,
    /// Share of the CPUs' time that the hypervisor took.
    pub stolen: f64,
}
