//! Changes of a lab that is running, as words: devices, each followed by what is to be set there.

use bitcost_model::Invalid;
use bitcost_model::near::near_or_all;
use bitcost_model::shaping::Shaping;
use bitcost_model::topology::Topology;

use super::shaping::Row;

/// The value with which the lab was built; without a key all of them.
const CLEAR: &str = "clear";

/// The shaping of each device that `words` change: `s1-eth2 delay=20ms loss=0.1% s2-eth2 clear`.
///
/// Values are those of lab files. `delay=0` turns a delay off (jitter, loss, reorder and duplicate
/// too), `rate=none` a rate (burst and queue_limit too), and `clear` is what `as_built` returns.
pub fn changes(
    topology: &Topology,
    as_built: impl Fn(&str) -> Option<Shaping>,
    words: &[String],
) -> Result<Vec<(String, Shaping)>, Invalid> {
    let mut changed: Vec<(String, Shaping)> = Vec::new();
    let mut is_complete = true;
    for word in words {
        let last = changed.last_mut();
        match (last, word.split_once('=')) {
            (Some((device, shaping)), Some((key, value))) => {
                let built = as_built(device).unwrap_or_default();
                set_one(shaping, &built, key, value)
                    .map_err(|why| Invalid(format!("{device}: {why}")))?;
            }
            (Some((device, shaping)), None) if word == CLEAR => {
                *shaping = as_built(device).unwrap_or_default();
            }
            (None, Some(_)) => {
                return Err(Invalid(format!(
                    "`{word}` has no device before it; devices: {}",
                    topology.devices().join(", ")
                )));
            }
            (Some((device, _)), None) if !is_complete => return Err(nothing_for(device)),
            (_, None) => {
                let again = match changed.iter().position(|(device, _)| device == word) {
                    Some(at) => changed.remove(at),
                    None => (word.clone(), topology.named_end(word)?.egress.clone()),
                };
                changed.push(again);
                is_complete = false;
                continue;
            }
        }
        is_complete = true;
    }
    match changed.last() {
        Some((device, _)) if !is_complete => Err(nothing_for(device)),
        Some(_) => check(topology, changed),
        None => Err(Invalid(format!(
            "nothing to set; write a device, then what to set there; devices: {}",
            topology.devices().join(", ")
        ))),
    }
}

fn nothing_for(device: &str) -> Invalid {
    let keys: Vec<String> = Row::names().iter().map(|key| format!("{key}=")).collect();
    Invalid(format!(
        "nothing to set at {device}; allowed after it: {}, or {CLEAR}",
        keys.join(", ")
    ))
}

fn set_one(shaping: &mut Shaping, built: &Shaping, key: &str, value: &str) -> Result<(), Invalid> {
    let Some(row) = Row::named(key) else {
        let rest = near_or_all(key, &Row::names());
        return Err(Invalid(format!("unknown parameter `{key}`{rest}")));
    };
    match value {
        CLEAR => (row.copy)(shaping, built),
        _ if value == row.off => (row.copy)(shaping, &Shaping::default()),
        _ => {
            return row
                .read(shaping, value, &format!("{value:?}"))
                .map_err(|why| Invalid(format!("`{key}` {why}")));
        }
    }
    Ok(())
}

fn check(
    topology: &Topology,
    changed: Vec<(String, Shaping)>,
) -> Result<Vec<(String, Shaping)>, Invalid> {
    let mut after = topology.clone();
    for end in after.ends_mut() {
        if let Some((_, shaping)) = changed.iter().find(|(device, _)| *device == end.device) {
            end.egress = shaping.clone();
        }
    }
    after.check().map_err(|problem| Invalid(problem.message))?;
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use bitcost_model::shaping::{QueueLimit, show_shaping};

    use super::*;

    fn changed(line: &str) -> Result<Vec<(String, Shaping)>, Invalid> {
        let topology = super::super::preset("lab15", 1500, Default::default()).unwrap();
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let built = |device: &str| topology.end(device).map(|end| end.egress.clone());
        changes(&topology, built, &words)
    }

    #[test]
    fn words_change_what_they_name_and_nothing_else() {
        let both = changed("s1-eth2 delay=5ms loss=0.1% s2-eth2 rate=100M burst=none").unwrap();
        let shown: Vec<String> = both
            .iter()
            .map(|(device, shaping)| format!("{device}: {}", show_shaping(shaping)))
            .collect();
        assert_eq!(
            shown,
            [
                "s1-eth2: 5ms, loss 0.1%, room for 1000 packets",
                "s2-eth2: 100Mbit/s, room for 2621440 B"
            ]
        );
        let off = changed("s1-eth2 delay=0 queue_limit=none s2-eth2 rate=none").unwrap();
        assert!(off[0].1.is_nothing());
        let again = changed("s1-eth2 delay=0 delay=clear queue_limit=1packet clear").unwrap();
        assert_eq!(
            (again[0].1.delay_us, again[0].1.queue_limit),
            (20_000, Some(QueueLimit::Packets(1000)))
        );
        let twice = changed("s1-eth2 delay=5ms s1-eth2 loss=0.1%").unwrap();
        assert_eq!(twice, both[..1]);
    }
}
