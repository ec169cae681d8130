//! Copies per KiB: between cached buffers, and between buffers that no cache holds.

use std::hint::black_box;
use std::time::Duration;

use bitcost_model::constants::ConstantFigure;
use bitcost_sys::clock::monotonic_ns;
use bitcost_sys::thread::allowed_cpus;

use super::{memory, spread};

/// Bytes of a cached buffer: two of them fit into the caches of one core.
const CACHED: usize = 16 << 10;

/// Copies of a cached buffer in one sample.
const BATCH: usize = 16;

/// What separates the places of source and target within a page, in bytes. Where these places are
/// nearly equal, some CPUs copy at a third of their speed (glibc bug 30994).
const APART: usize = 2048;

/// Bytes of one sample beyond the cache.
const PART: usize = 64 << 10;

/// The most memory that is taken, in bytes.
const MEMORY_MOST: u64 = 256 << 20;

/// Copying from one cached buffer to another.
///
/// # Errors
/// A sentence, where there are too few samples.
pub(super) fn in_cache(length: Duration) -> Result<ConstantFigure, String> {
    let mut buffer = vec![1u8; 2 * CACHED + APART];
    let (from, to) = buffer.split_at_mut(CACHED + APART);
    let from = &from[..CACHED];
    let mut samples = Vec::with_capacity(1 << 14);
    let end_ns = monotonic_ns() + length.as_nanos() as u64;
    loop {
        let start_ns = monotonic_ns();
        for _ in 0..BATCH {
            to.copy_from_slice(black_box(from));
            black_box(&mut *to);
        }
        let now_ns = monotonic_ns();
        samples.push(per_kib(now_ns - start_ns, BATCH * CACHED));
        if now_ns > end_ns {
            return spread::figure(samples);
        }
    }
}

/// Copying once through a buffer of twice the last-level cache, from its first half to its second:
/// when a part is copied, as much as the cache holds has been used since it was written.
///
/// # Errors
/// A sentence, where the size of the cache is not known, or so much memory cannot be taken.
pub(super) fn beyond_cache() -> Result<ConstantFigure, String> {
    let cpu = allowed_cpus().unwrap_or_default().first().copied();
    let cache = cpu
        .and_then(memory::last_level_cache)
        .ok_or("the kernel does not report the size of the last-level cache")?;
    let needed = 2 * cache;
    let mib = |bytes: u64| bytes >> 20;
    if needed > MEMORY_MOST {
        return Err(format!(
            "the last-level cache has {} MiB; twice as much is more than the {} MiB that may be taken",
            mib(cache),
            mib(MEMORY_MOST)
        ));
    }
    let available = memory::available().ok_or("the kernel does not report the available memory")?;
    if needed > available / 4 {
        return Err(format!(
            "{} MiB are needed, which is more than a quarter of the {} MiB that are available",
            mib(needed),
            mib(available)
        ));
    }
    let mut buffer = vec![1u8; needed as usize + APART];
    let (from, to) = buffer.split_at_mut(cache as usize + APART);
    let parts = from.chunks_exact(PART).zip(to.chunks_exact_mut(PART));
    let samples = parts.map(|(from, to)| {
        let start_ns = monotonic_ns();
        to.copy_from_slice(black_box(from));
        black_box(to);
        per_kib(monotonic_ns() - start_ns, PART)
    });
    spread::figure(samples.collect())
}

fn per_kib(ns: u64, bytes: usize) -> f64 {
    ns as f64 * 1024.0 / bytes as f64
}
