//! Counting distinct sentences and methods over runs, and what was asked for but not in force.

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

/// One sentence per setting of either end that was asked for and is not in force.
pub(crate) fn not_in_force(sender: &EndRecord, receiver: &EndRecord, conditions: &Conditions) -> Vec<String> {
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
        Some(actual) if as_asked(name, asked, actual) => None,
        Some(actual) => Some(format!("{name} asked {asked}, in force {actual}")),
    }
}

/// The kernel doubles a socket buffer for its own bookkeeping and reads back the double (socket(7)).
fn as_asked(name: &str, asked: &str, actual: &str) -> bool {
    let doubled = || Some(asked.parse::<u64>().ok()? * 2 == actual.parse::<u64>().ok()?);
    asked == actual || (name.contains("buffer") && doubled() == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_granted_buffer_reads_back_doubled() {
        let setting = |actual: &str| InForce {
            name: "receive_buffer_bytes".into(),
            asked: Some("4194304".into()),
            actual: Some(actual.into()),
        };
        assert_eq!(sentence(&setting("8388608")), None);
        assert_eq!(sentence(&setting("425984")).unwrap(), "receive_buffer_bytes asked 4194304, in force 425984");
    }

    #[test]
    fn a_setting_that_nobody_asked_for_is_no_news() {
        let setting = InForce { name: "send_buffer_bytes".into(), asked: None, actual: Some("16384".into()) };
        assert_eq!(sentence(&setting), None);
    }
}
