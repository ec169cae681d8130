//! Calibration: short saturation runs before a study's first run in a lab, which measure the
//! capacity of its path.

use std::collections::BTreeSet;
use std::time::Duration;

use bitcost_analysis::log::PlaceFacts;
use bitcost_analysis::metrics::{Disturbance, disturbance, emulator_trouble};
use bitcost_controller::Ending;
use bitcost_model::calibration::{Calibration, Capacity, Received};
use bitcost_model::event::Event;
use bitcost_model::plan::{Plan, PlannedRun};
use bitcost_model::record::{EndpointRecord, Role};
use bitcost_model::study::{Cell, LabSpec};
use bitcost_model::units::{counted, show_duration};
use bitcost_study::Study;
use bitcost_study::calibration::{Ground, saturation_runs};

use crate::error::ExecuteError;
use crate::prepared::Prepared;
use crate::progress::Progress;

/// The feature of an interface that accepts TCP's super-packets.
const SEGMENTS: &str = "tx-tcp-segmentation";

/// The fewest packets from which a rate is computed.
const PACKETS_LEAST: u64 = 20;
/// User data of one packet of a TCP stream, in bytes, approximately.
const PACKET_BYTES: u64 = 1448;

/// How thoroughly a path is calibrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A saturation run for each setting of the path.
    Full,
    /// No calibration, because the user asked for none: the log says so.
    Skip,
    /// No calibration, because this is a single test: the log does not mention it.
    Never,
}

/// Calibrates the path of a lab for a plan's cells; absent between named hosts, and if the user
/// stopped it.
///
/// # Errors
/// Those of the session. A saturation run that fails is in the calibration, with its reason.
pub fn calibrate(
    lab: Option<&LabSpec>,
    prepared: &mut Prepared,
    plan: &Plan,
    extent: Extent,
    progress: &mut dyn Progress,
) -> Result<Option<Event>, ExecuteError> {
    let Some(lab) = lab else {
        return Ok(None);
    };
    match extent {
        Extent::Never => Ok(None),
        Extent::Skip => Ok(Some(logged(Calibration::without("--no-calibration")))),
        Extent::Full => Ok(measure(prepared, lab, plan, progress)?.map(logged)),
    }
}

fn logged(calibration: Calibration) -> Event {
    Event::Calibrated {
        calibration: Box::new(calibration),
    }
}

/// The approximate time that the calibration takes in a lab whose interfaces accept TCP's
/// super-packets.
pub fn calibration_time(study: &Study, plan: &Plan) -> Duration {
    let ground = Ground {
        lab: &study.lab,
        segment: [true; 2],
    };
    plan_of(&saturation_runs(plan, ground).capacities).total_time()
}

/// Measures the capacity of the path with each setting of it that the plan's cells have.
fn measure(
    prepared: &mut Prepared,
    lab: &LabSpec,
    plan: &Plan,
    progress: &mut dyn Progress,
) -> Result<Option<Calibration>, ExecuteError> {
    let takes_super_packets = |role: Role| {
        let end = prepared.ends.iter().find(|end| end.role == role);
        end.is_some_and(|end| end.host.device.features.get(SEGMENTS) == Some(&true))
    };
    let ground = Ground {
        lab,
        segment: [Role::Sender, Role::Receiver].map(takes_super_packets),
    };
    let idle = prepared.idle.take();
    let mut calibration = Calibration {
        idle,
        ..saturation_runs(plan, ground)
    };
    let saturation = plan_of(&calibration.capacities);
    if !saturation.runs.is_empty() {
        let settings = counted(saturation.runs.len(), "setting");
        let time = show_duration(saturation.total_time());
        progress.message(&format!(
            "calibration: {settings} of the path; about {time}"
        ));
    }
    let facts = prepared.facts();
    let capacities = &mut calibration.capacities;
    let mut take = |event: Event| {
        take_over(capacities, event, facts);
        Ok(())
    };
    let ending = prepared
        .session
        .execute(&saturation, &BTreeSet::new(), &mut take)?;
    Ok((ending == Ending::Complete).then_some(calibration))
}

/// Keeps the result of a saturation run, or the reason why it has none.
fn take_over(capacities: &mut [Capacity], event: Event, facts: PlaceFacts) {
    match event {
        Event::RunEnded {
            run,
            sender,
            receiver,
            ..
        } => keep_received(&mut capacities[run as usize], &sender, &receiver, facts),
        Event::RunFailed { run, reason, .. } => capacities[run as usize].absent = Some(reason),
        _ => {}
    }
}

/// A run for each setting of the path; its number is that of its capacity.
fn plan_of(capacities: &[Capacity]) -> Plan {
    let mut plan = Plan {
        seed: 0,
        blocks: 1,
        lengths: None,
        is_profiled: false,
        cells: Vec::new(),
        runs: Vec::new(),
    };
    for (index, capacity) in capacities.iter().enumerate() {
        let Some(saturation) = &capacity.saturation else {
            continue;
        };
        plan.runs.push(PlannedRun {
            index: index as u32,
            block: 0,
            cell: plan.cells.len(),
        });
        plan.cells.push(Cell {
            levels: Vec::new(),
            conditions: saturation.conditions.clone(),
        });
    }
    plan
}

/// Keeps the data that was received between the receiver's first and last sample.
fn keep_received(
    capacity: &mut Capacity,
    sender: &EndpointRecord,
    receiver: &EndpointRecord,
    facts: PlaceFacts,
) {
    let Some(saturation) = &capacity.saturation else {
        return;
    };
    let (Some(first), Some(last)) = (receiver.samples.first(), receiver.samples.last()) else {
        capacity.absent = Some("its run has no samples".to_owned());
        return;
    };
    let received = Received {
        bytes: last.counts.bytes.saturating_sub(first.counts.bytes),
        elapsed_ns: last.at_ns.saturating_sub(first.at_ns),
    };
    let packet = u64::from(saturation.conditions.message_size_bytes).min(PACKET_BYTES);
    if received.bytes < PACKETS_LEAST * packet {
        let ms = received.elapsed_ns / 1_000_000;
        capacity.absent = Some(format!(
            "{} bytes were received in {ms} ms, too few for a rate",
            received.bytes
        ));
        return;
    }
    capacity.received = Some(received);
    let view = facts.view([sender, receiver], &saturation.conditions, None);
    let foreign = disturbance(&view).filter(|of| matches!(of, Disturbance::Programs { .. }));
    let foreign = foreign.map(|of| of.kind());
    let late = emulator_trouble(&view).map(|trouble| trouble.kind());
    capacity.caveat = foreign.or(late);
}
