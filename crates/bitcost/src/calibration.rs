//! Before a study's runs in a lab: short floods that find what its path carries, in the session of the runs.

use std::collections::BTreeSet;
use std::time::Duration;

use drive::Ending;
use model::calibration::{Calibration, Ceiling, Flood, Ground, LENGTHS, Lengths, Received, floods};
use model::event::Event;
use model::plan::{Plan, PlannedRun};
use model::record::{EndRecord, Role};
use model::study::{Cell, LabSpec, Study};
use model::units::{counted, show_duration};

use crate::failure::Failure;
use crate::output;
use crate::place::{Facts, Prepared};
use crate::verbs::where_to::Where;

/// The feature of an interface that takes TCP's super-packets.
const SEGMENTS: &str = "tx-tcp-segmentation";

/// Fewer packets than this say too little about a rate.
const PACKETS_LEAST: u64 = 20;
/// User data of a packet of a stream of bytes, about.
const PACKET_BYTES: u64 = 1448;

/// What the user asks of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The usual lengths.
    Usual,
    /// Half of them.
    Short,
    /// To leave it out.
    Nothing,
}

/// Calibrates the path of a lab for a plan's cells; absent between named hosts, and where the user stopped it.
///
/// # Errors
/// Those of the session. A flood that fails is in the calibration, with its reason.
pub fn before(
    place: &Where,
    prepared: &mut Prepared,
    (study, plan): (&Study, &Plan),
    asked: Asked,
) -> Result<Option<Event>, Failure> {
    let calibration = match (place, asked) {
        (Where::Hosts(_), _) => None,
        (Where::Lab, Asked::Nothing) => Some(Calibration::without("--no-calibration")),
        (Where::Lab, asked) => measure(prepared, &study.lab, plan, LENGTHS[usize::from(asked == Asked::Short)])?,
    };
    Ok(calibration.map(|calibration| Event::Calibrated { calibration: Box::new(calibration) }))
}

/// About how long [`before`] takes in a lab whose interfaces take TCP's super-packets.
pub fn time(study: &Study, plan: &Plan) -> Duration {
    let ground = Ground { lab: &study.lab, segment: [true; 2] };
    plan_of(&floods(plan, ground, LENGTHS[0]).ceilings).total_time()
}

/// Measures the ceiling of each setting of the path that the plan's cells have.
fn measure(
    prepared: &mut Prepared,
    lab: &LabSpec,
    plan: &Plan,
    lengths: Lengths,
) -> Result<Option<Calibration>, Failure> {
    let takes = |role: Role| {
        let end = prepared.ends.iter().find(|end| end.role == role);
        end.is_some_and(|end| end.host.device.features.get(SEGMENTS) == Some(&true))
    };
    let ground = Ground { lab, segment: [Role::Sender, Role::Receiver].map(takes) };
    let idle = prepared.idle.take();
    let mut calibration = Calibration { idle, ..floods(plan, ground, lengths) };
    let floods = plan_of(&calibration.ceilings);
    if !floods.runs.is_empty() {
        let settings = counted(floods.runs.len(), "setting");
        output::say(&format!("calibration: {settings} of the path; about {}", show_duration(floods.total_time())));
    }
    let facts = prepared.facts();
    let mut take = |event: Event| {
        match event {
            Event::RunEnded { run, sender, receiver, .. } => {
                note(&mut calibration.ceilings[run as usize], &sender, &receiver, facts);
            }
            Event::RunFailed { run, reason, .. } => calibration.ceilings[run as usize].absent = Some(reason),
            _ => {}
        }
        Ok(())
    };
    let ending = prepared.session.execute(&floods, &BTreeSet::new(), &mut take)?;
    Ok((ending == Ending::Complete).then_some(calibration))
}

/// A run for each flood; its number is that of its ceiling.
fn plan_of(ceilings: &[Ceiling]) -> Plan {
    let measured = ceilings.iter().enumerate().filter(|(_, ceiling)| ceiling.absent.is_none());
    let floods: Vec<(usize, &Flood)> = measured.filter_map(|(index, c)| Some((index, c.flood.as_deref()?))).collect();
    let cell = |(_, flood): &(usize, &Flood)| Cell { levels: Vec::new(), conditions: flood.conditions.clone() };
    let run = |(cell, (index, _)): (usize, &(usize, &Flood))| PlannedRun { index: *index as u32, block: 0, cell };
    Plan {
        seed: 0,
        blocks: 1,
        lengths: None,
        cells: floods.iter().map(cell).collect(),
        runs: floods.iter().enumerate().map(run).collect(),
    }
}

/// Takes over what came, between the receiver's first and its last reading.
fn note(ceiling: &mut Ceiling, sender: &EndRecord, receiver: &EndRecord, facts: Facts) {
    let Some(flood) = &ceiling.flood else { return };
    let (Some(first), Some(last)) = (receiver.samples.first(), receiver.samples.last()) else {
        ceiling.absent = Some("its run has no readings".to_owned());
        return;
    };
    let received = Received {
        bytes: last.counts.bytes.saturating_sub(first.counts.bytes),
        elapsed_ns: last.at_ns.saturating_sub(first.at_ns),
    };
    let packet = u64::from(flood.conditions.message_size_bytes).min(PACKET_BYTES);
    if received.bytes < PACKETS_LEAST * packet {
        let ms = received.elapsed_ns / 1_000_000;
        ceiling.absent = Some(format!("{} bytes came in {ms} ms, which is too little to tell a rate", received.bytes));
        return;
    }
    ceiling.received = Some(received);
    let view = facts.view(sender, receiver, &flood.conditions);
    let marks = metrics::marks(&view);
    let foreign = marks.iter().find(|mark| mark.weak == metrics::Weak::Foreign).map(|mark| mark.weak.reason());
    let late = metrics::line_trouble(&view).map(|trouble| trouble.kind().to_owned());
    ceiling.doubt = foreign.or(late);
}
