//! The limits of a run's requests to an endpoint: those of the command line, checked again because
//! a frame can contain anything.

use bitcost_host::check_device_name;
use bitcost_model::Unavailable;
use bitcost_model::conditions::Conditions;
use bitcost_model::protocol::Prepare;
use bitcost_model::units::counted;

use crate::refusal::Refusal;

const PARTS_MAX: usize = 64;

/// Most CPUs that a list may name: the most that Linux supports (`NR_CPUS`).
const CPUS_MAX: usize = 8192;

/// Open files that each flow takes at most: its socket, two more handles of it, a pipe of its mode,
/// the counters of its thread.
const FILES: u64 = 8;

const OTHER_FILES: u64 = 64;

/// Checks everything that memory, threads and files depend on, before any is allocated.
pub fn check(prepare: &Prepare) -> Result<(), Refusal> {
    check_device_name(&prepare.device)?;
    cpus(&prepare.cpus)?;
    if prepare.parts.len() > PARTS_MAX {
        return Err(Refusal::from(format!(
            "{} workloads at the same time; at most {PARTS_MAX} are allowed",
            prepare.parts.len()
        )));
    }
    for part in &prepare.parts {
        conditions(&part.conditions)?;
    }
    Ok(allow_files(
        prepare.parts.iter().map(|part| part.conditions.flows).sum(),
    )?)
}

fn conditions(conditions: &Conditions) -> Result<(), Refusal> {
    conditions.check_bounds()?;
    for place in [&conditions.places.sender, &conditions.places.receiver] {
        cpus(&place.cpus)?;
        place.device.as_deref().map_or(Ok(()), check_device_name)?;
    }
    Ok(())
}

fn cpus(list: &[u32]) -> Result<(), String> {
    let length = list.len();
    if length > CPUS_MAX {
        Err(format!(
            "a list of {length} CPUs; at most {CPUS_MAX} are allowed"
        ))
    } else {
        Ok(())
    }
}

/// Raises this process's limit of open files to what the host allows.
fn allow_files(flows: u32) -> Result<(), Unavailable> {
    let limit = bitcost_sys::process::raise_open_files()
        .map_err(|error| Unavailable(format!("raise the limit of open files: {error}")))?;
    enough_files(flows, limit)
}

fn enough_files(flows: u32, limit: Option<u64>) -> Result<(), Unavailable> {
    let needed = OTHER_FILES + FILES * u64::from(flows);
    let Some(limit) = limit.filter(|limit| *limit < needed) else {
        return Ok(());
    };
    let most = limit.saturating_sub(OTHER_FILES) / FILES;
    let fewer = if most == 0 {
        String::new()
    } else {
        format!(", or ask for at most {}", counted(most as usize, "flow"))
    };
    let flows = counted(flows as usize, "flow");
    Err(Unavailable(format!(
        "a run of {flows} needs {needed} open files at each endpoint, and this host allows {limit}; raise its hard limit to {needed} or more (ulimit -Hn, LimitNOFILE= of systemd){fewer}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_low_file_limit_names_the_possible_number_of_flows() {
        assert_eq!(enough_files(1000, None), Ok(()));
        assert_eq!(enough_files(1000, Some(20_000)), Ok(()));
        let Unavailable(reason) = enough_files(1000, Some(1024)).expect_err("too few");
        assert!(reason.contains("allows 1024") && reason.contains("at most 120 flows"));
        assert_eq!(enough_files(120, Some(1024)), Ok(()));
        let Unavailable(reason) = enough_files(1, Some(64)).expect_err("too few");
        assert!(
            reason.starts_with("a run of 1 flow needs 72 open files")
                && !reason.contains("ask for"),
            "{reason}"
        );
    }
}
