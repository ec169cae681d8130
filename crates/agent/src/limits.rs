//! What a run may ask of an end: the limits of the command line, since a frame can say anything.

use model::conditions::Conditions;
use wire::Prepare;

use crate::crowd;

/// Most workloads that go on at the same time.
const PARTS_MAX: usize = 64;

/// Most CPUs that a list may name: as many as Linux has at most (`NR_CPUS`).
const CPUS_MAX: usize = 8192;

/// Longest name of an interface, in bytes (`IFNAMSIZ` less its closing zero byte; linux/if.h).
const DEVICE_BYTES_MAX: usize = 15;

/// Checks all that memory, threads and files depend on, before any is taken.
///
/// # Errors
/// A sentence with what was asked and what is allowed.
pub fn check(prepare: &Prepare) -> Result<(), String> {
    device(&prepare.device)?;
    cpus(&prepare.cpus)?;
    if prepare.parts.len() > PARTS_MAX {
        return Err(format!("{} workloads at the same time; at most {PARTS_MAX} are allowed", prepare.parts.len()));
    }
    for part in &prepare.parts {
        conditions(&part.conditions)?;
    }
    crowd::allow_files(prepare.parts.iter().map(|part| part.conditions.flows).sum())
}

/// Checks the name of an interface.
///
/// # Errors
/// A sentence where no interface can have this name.
pub fn device(name: &str) -> Result<(), String> {
    let shown: String = name.chars().take(DEVICE_BYTES_MAX).collect();
    match name.len() {
        0 => Err("no interface is named".to_owned()),
        length if length > DEVICE_BYTES_MAX => {
            Err(format!("no interface can be named `{shown}…`: {length} bytes, at most {DEVICE_BYTES_MAX}"))
        }
        _ => Ok(()),
    }
}

fn conditions(conditions: &Conditions) -> Result<(), String> {
    conditions.check_bounds()?;
    for place in [&conditions.places.sender, &conditions.places.receiver] {
        cpus(&place.cpus)?;
        place.device.as_deref().map_or(Ok(()), device)?;
    }
    Ok(())
}

fn cpus(list: &[u32]) -> Result<(), String> {
    let length = list.len();
    if length > CPUS_MAX { Err(format!("a list of {length} CPUs; at most {CPUS_MAX} are allowed")) } else { Ok(()) }
}
