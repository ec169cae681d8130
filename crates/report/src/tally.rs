//! Counting distinct sentences and methods over runs, and what was asked for but not in force.

use metrics::{PartRun, RunView, parts};
use model::conditions::Conditions;
use model::record::{EndRecord, InForce};

/// Distinct things in the order of their first appearance, with how often each was seen.
#[derive(Clone, Debug)]
pub(crate) struct Tally<T>(pub Vec<(T, usize)>);

impl<T> Default for Tally<T> {
    fn default() -> Self {
        Tally(Vec::new())
    }
}

impl<T: PartialEq> Tally<T> {
    pub fn add(&mut self, thing: T) {
        match self.0.iter_mut().find(|(known, _)| *known == thing) {
            Some((_, count)) => *count += 1,
            None => self.0.push((thing, 1)),
        }
    }
}

/// One sentence per setting of either end that was asked for and is not in force, in any part.
pub(crate) fn not_in_force(run: &RunView) -> Vec<String> {
    let of_part = |(index, part): (usize, &PartRun)| {
        let name = if index == 0 { String::new() } else { format!("{}: ", part.conditions.phrase()) };
        let found = of_part(&part.sender, &part.receiver, &part.conditions);
        found.into_iter().map(|sentence| format!("{name}{sentence}")).collect::<Vec<_>>()
    };
    parts(run).iter().enumerate().flat_map(of_part).collect()
}

fn of_part(sender: &EndRecord, receiver: &EndRecord, conditions: &Conditions) -> Vec<String> {
    let mut sentences = Vec::new();
    for end in [sender, receiver] {
        let found = end.in_force.iter().filter_map(sentence);
        sentences.extend(found.map(|sentence| format!("{}: {sentence}", end.role.name())));
    }
    let segment = sender.tcp_info.as_ref().and_then(|info| info.snd_mss_bytes);
    if let (Some(asked), None) = (conditions.segment_bytes(), segment) {
        sentences.push(format!("sender: user data per segment asked {asked} bytes, could not be read back"));
    }
    sentences
}

fn sentence(setting: &InForce) -> Option<String> {
    let (name, asked) = (&setting.name, setting.asked.as_ref()?);
    match &setting.actual {
        None => Some(format!("{name} asked {asked}, could not be read back")),
        Some(actual) if asked == actual => None,
        Some(actual) => Some(format!("{name} asked {asked}, in force {actual}{}", limit(setting))),
    }
}

/// Which limit cut a socket buffer down (socket(7)), in brackets after a space; nothing where none did.
pub(crate) fn limit(setting: &InForce) -> String {
    let limit = match setting.name.as_str() {
        "send_buffer_bytes" => "net.core.wmem_max",
        "receive_buffer_bytes" => "net.core.rmem_max",
        _ => return String::new(),
    };
    let number = |text: &Option<String>| text.as_deref()?.parse::<u64>().ok();
    let cut = number(&setting.actual).zip(number(&setting.asked)).is_some_and(|(actual, asked)| actual < asked);
    if cut { format!(" (limit: {limit})") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_as_asked_when_all_of_it_was_granted() {
        let setting = |asked: &str, actual: &str| InForce {
            name: "receive_buffer_bytes".into(),
            asked: Some(asked.into()),
            actual: Some(actual.into()),
        };
        assert_eq!(sentence(&setting("4194304", "4194304")), None);
        let clamped = "receive_buffer_bytes asked 4194304, in force 212992 (limit: net.core.rmem_max)";
        assert_eq!(sentence(&setting("4194304", "212992")).unwrap(), clamped);
        // The kernel's least size, which happens to be twice what was asked.
        assert_eq!(sentence(&setting("576", "1152")).unwrap(), "receive_buffer_bytes asked 576, in force 1152");
    }

    #[test]
    fn a_setting_that_nobody_asked_for_is_no_news() {
        let setting = InForce { name: "send_buffer_bytes".into(), asked: None, actual: Some("16384".into()) };
        assert_eq!(sentence(&setting), None);
    }
}
