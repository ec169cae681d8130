//! Why a run with a result has no place in its cell.

use model::conditions::Conditions;
use model::record::EndRecord;

/// The reasons, joined; absent where the run may be used.
pub(crate) fn reason(sender: &EndRecord, receiver: &EndRecord, conditions: &Conditions) -> Option<String> {
    let mut reasons = offloads(sender);
    reasons.extend(offloads(receiver));
    reasons.extend(segment_size(sender, conditions));
    reasons.extend(nothing(sender, receiver));
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// True of a run that has a result with nothing in it, so that another try may have more.
pub fn nothing_measured(sender: &EndRecord, receiver: &EndRecord) -> bool {
    !nothing(sender, receiver).is_empty()
}

fn nothing(sender: &EndRecord, receiver: &EndRecord) -> Vec<String> {
    let mut reasons = Vec::new();
    if receiver.counts.measured.bytes == 0 {
        let sent = sender.counts.measured.bytes;
        reasons.push(format!("nothing received in the measured window ({sent} bytes sent)"));
    }
    if receiver.window_end_ns <= receiver.window_begin_ns || sender.window_end_ns <= sender.window_begin_ns {
        reasons.push("the measured window is empty".into());
    }
    reasons
}

fn offloads(end: &EndRecord) -> Vec<String> {
    let offloads = &end.offloads;
    let word = |state: Option<&bool>| match state {
        Some(true) => "on",
        Some(false) => "off",
        None => "unknown",
    };
    let sentence = |bit: &String| {
        let (asked, active) = (word(offloads.asked.get(bit)), word(offloads.active.get(bit)));
        format!("{} {}: {bit} asked {asked}, active {active}", end.role.name(), offloads.device)
    };
    offloads.mismatched.iter().map(sentence).collect()
}

fn segment_size(sender: &EndRecord, conditions: &Conditions) -> Option<String> {
    let asked = conditions.segment_bytes()?;
    let actual = sender.tcp_info.as_ref()?.snd_mss_bytes?;
    (actual != asked).then(|| format!("user data per segment: asked {asked} bytes, in force {actual}"))
}
