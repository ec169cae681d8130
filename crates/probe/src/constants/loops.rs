//! A clock read and a system call: many of them in a row, per one.

use std::hint::black_box;
use std::time::Duration;

use bitcost_model::constants::ConstantFigure;
use bitcost_sys::clock::monotonic_ns;

use super::spread;

/// Operations of one sample. At 50 ns each a sample takes 25 µs, of which its two clock reads
/// are 0.4 %.
const BATCH: u32 = 500;

/// A read of `CLOCK_MONOTONIC`.
pub(super) fn clock_read(length: Duration) -> Result<ConstantFigure, String> {
    batches(length, || {
        black_box(monotonic_ns());
    })
}

/// getppid(2), which enters the kernel and does almost nothing there.
pub(super) fn system_call(length: Duration) -> Result<ConstantFigure, String> {
    batches(length, || {
        black_box(rustix::process::getppid());
    })
}

fn batches(length: Duration, operation: impl Fn()) -> Result<ConstantFigure, String> {
    let mut samples = Vec::with_capacity(4096);
    let end_ns = monotonic_ns() + length.as_nanos() as u64;
    loop {
        let start_ns = monotonic_ns();
        for _ in 0..BATCH {
            operation();
        }
        let now_ns = monotonic_ns();
        samples.push((now_ns - start_ns) as f64 / f64::from(BATCH));
        if now_ns > end_ns {
            return spread::figure(samples);
        }
    }
}
