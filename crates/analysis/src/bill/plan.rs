//! The cells of a bill: the run itself, and those that its parts need.

use std::fmt::Write as _;

use bitcost_study::Varied;

use super::parts::{Change, PARTS, Part, Run, Way};

/// The factor of a bill.
pub const FACTOR: &str = "bill";

/// The level of the unchanged run.
pub const WHOLE: &str = "whole";

/// A part with the way in which it is measured.
pub struct Planned {
    /// The part.
    pub part: &'static Part,
    /// How it is measured; its cells have all of their settings.
    pub way: Way,
    /// The cell that its cell is compared with.
    pub from: &'static str,
}

/// The parts of a run's bill, in the order of subtraction.
pub fn plan(run: &Run) -> Vec<Planned> {
    let (mut from, mut settings) = (WHOLE, Vec::new());
    let mut planned = Vec::new();
    for part in PARTS {
        let Some(mut way) = (part.way)(run) else {
            continue;
        };
        let mut is_from = WHOLE;
        if let Way::Take(change) | Way::Aside(change) | Way::FewerPackets(change) = &mut way {
            is_from = from;
            change.settings = [&settings[..], &change.settings[..]].concat();
        }
        if let Way::Packets(cells) = &way {
            is_from = cells[0].label;
        }
        if let Way::Take(change) = &way {
            from = change.label;
            settings.clone_from(&change.settings);
        }
        planned.push(Planned {
            part,
            way,
            from: is_from,
        });
    }
    planned
}

impl Planned {
    /// The cells that it adds.
    pub fn changes(&self) -> &[Change] {
        match &self.way {
            Way::Take(change)
            | Way::Aside(change)
            | Way::Add(change)
            | Way::FewerPackets(change)
            | Way::Acknowledgements(change) => std::slice::from_ref(change),
            Way::Packets(changes) => changes,
            Way::WakeUps | Way::Calls | Way::Missing(_) => &[],
        }
    }
}

/// The cells of all parts; one that two parts need is there once.
fn cells(parts: &[Planned]) -> Vec<&Change> {
    let mut cells: Vec<&Change> = Vec::new();
    for change in parts.iter().flat_map(Planned::changes) {
        if cells.iter().all(|known| known.label != change.label) {
            cells.push(change);
        }
    }
    cells
}

/// The study of a run's bill.
pub fn varied(run: &Run) -> Varied {
    let test = run.conditions.workload.info().short_name;
    let mut levels = format!("{{ label = \"{WHOLE}\" }}");
    for change in cells(&plan(run)) {
        let _ = write!(levels, ",\n  {}", level(change));
    }
    Varied {
        name: format!("bill-{test}"),
        title: format!("bitcost bill {test}"),
        question: match run.conditions.workload.is_transactional() {
            true => "What is the CPU time of a transaction spent on?",
            false => "What is the CPU time of a KiB spent on?",
        },
        factors: format!("\n[[factor]]\nname = \"{FACTOR}\"\nlevels = [{levels}]\n"),
    }
}

/// `{ label = "pfifo", qdisc = "pfifo" }`. Of a setting that is there twice the last value counts.
fn level(change: &Change) -> String {
    let mut text = format!("{{ label = \"{}\"", change.label);
    for (place, (name, value)) in change.settings.iter().enumerate() {
        let mut later = change.settings[place + 1..].iter();
        if later.all(|(other, _)| other != name) {
            let _ = write!(text, ", {name} = {value}");
        }
    }
    text + " }"
}

#[cfg(test)]
mod tests {
    use bitcost_model::conditions::Conditions;
    use bitcost_model::workload::Workload;
    use bitcost_study::Single;
    use bitcost_study::settings::SETTINGS;

    use super::*;

    #[test]
    fn a_bill_is_a_study_that_reads_back() {
        for workload in [Workload::TcpStream, Workload::UdpStream, Workload::TcpRr] {
            let conditions = Conditions::of(workload);
            let run = Run {
                conditions: &conditions,
                is_lab: true,
                mtu_bytes: 1500,
            };
            let size = SETTINGS.iter().find(|row| row.name == "message_size_bytes");
            let size = size.expect("a setting");
            let settings = [(size, conditions.message_size_bytes.to_string())];
            let single = Single {
                workload,
                settings: &settings,
                lab: None,
                runs: 2,
                until: None,
                varied: Some(&varied(&run)),
            };
            let study = single.study().expect("a study");
            let cells = cells(&plan(&run)).len() + 1;
            assert_eq!(study.cells().len(), cells, "{workload:?}");
        }
    }

    #[test]
    fn a_later_part_starts_without_the_earlier_ones() {
        let mut conditions = Conditions::of(Workload::TcpStream);
        conditions.buffers.send_work_ns = 100;
        let run = Run {
            conditions: &conditions,
            is_lab: true,
            mtu_bytes: 1500,
        };
        let planned = plan(&run);
        let copies = planned.iter().find(|one| one.part.name == "copies");
        let copies = copies.expect("copies");
        assert_eq!(copies.from, "no work");
        let [change] = copies.changes() else {
            panic!("one cell");
        };
        assert!(
            change
                .settings
                .iter()
                .any(|(name, _)| *name == "send_work_ns")
        );
        let calls = planned.iter().find(|one| one.part.name == "system_calls");
        assert_eq!(calls.expect("system calls").from, "no work");
    }
}
