//! The constants of hosts: as a table and JSON of `bitcost host bench`, and as remarks about an
//! execution.

use bitcost_analysis::summary::Summary;
use bitcost_model::constants::{
    Constant, ConstantFigure, HostConstants, MachineConstants, MeasuredConstant,
};
use bitcost_model::harmless;
use serde_json::{Value, json};

use crate::layout::{WIDTH, paragraph};
use crate::number;

/// The columns of the table.
const HEADER: [&str; 5] = ["constant", "median", "5 %", "95 %", "unit"];

/// The constants that the remark about an execution names.
const NAMED: [Constant; 4] = [
    Constant::SystemCall,
    Constant::TimerInterrupt,
    Constant::WakeSameIdle,
    Constant::WakeOtherIdle,
];

/// The constants of one host as a table, with the reasons of those that are absent after it.
pub fn constants_text(host: &HostConstants) -> String {
    let mut rows = vec![HEADER.map(str::to_owned)];
    rows.extend(host.constants.iter().filter_map(row));
    let width = |column: usize| {
        let of = |row: &[String; 5]| row[column].chars().count();
        rows.iter().map(of).max().unwrap_or(0)
    };
    let [name, median, low, high, _] = [0, 1, 2, 3, 4].map(width);
    let mut text = String::new();
    for [a, b, c, d, e] in &rows {
        text += &format!("{a:<name$}  {b:>median$}  {c:>low$}  {d:>high$}  {e}\n");
    }
    for (one, why) in absent(host) {
        let title = one.constant.row().title;
        let line = format!("{title}: not measured: {}", harmless(why));
        text += &paragraph("", &line, WIDTH);
    }
    if let [first, others @ ..] = &host.cpus[..] {
        text += &format!("measured on CPU {first}");
        if let [second] = others {
            text += &format!("; the other CPU is {second}");
        }
        text.push('\n');
    }
    text
}

fn row(one: &MeasuredConstant) -> Option<[String; 5]> {
    let (figure, row) = (one.figure?, one.constant.row());
    let [median, low, high] = [figure.median_ns, figure.p5_ns, figure.p95_ns].map(number::plain);
    Some([short(row.title), median, low, high, row.unit.to_owned()])
}

/// A title that leaves room for the figures on a terminal.
fn short(title: &str) -> String {
    let words = title.trim_start_matches("the ").trim_start_matches("a ");
    words.replace(", which is ", ", ")
}

fn absent(host: &HostConstants) -> impl Iterator<Item = (&MeasuredConstant, &str)> {
    let absent = |one: &'_ MeasuredConstant| one.absent.is_some();
    let all = host.constants.iter().filter(move |one| absent(one));
    all.map(|one| (one, one.absent.as_deref().unwrap_or_default()))
}

/// The constants of one host as JSON: `cpus`, and under `constants` for each one by its key
/// `median`, `p5`, `p95`, `unit` and `samples`, or `absent` with the reason.
pub fn constants_json(host: &HostConstants) -> Value {
    let mut constants = serde_json::Map::new();
    for one in &host.constants {
        let row = one.constant.row();
        let entry = match &one.figure {
            Some(figure) => json!({
                "median": figure.median_ns,
                "p5": figure.p5_ns,
                "p95": figure.p95_ns,
                "samples": figure.samples,
                "unit": row.unit,
            }),
            None => json!({ "absent": one.absent, "unit": row.unit }),
        };
        constants.insert(row.name.to_owned(), entry);
    }
    json!({ "cpus": host.cpus, "constants": constants })
}

/// The constants of each machine of an execution as JSON, with the roles of its endpoints.
pub(crate) fn machines_json(machines: &[MachineConstants]) -> Value {
    let of = |machine: &MachineConstants| {
        let mut entry = match &machine.host {
            Some(host) => constants_json(host),
            None => json!({ "absent": machine.absent }),
        };
        let roles: Vec<&str> = machine.roles.iter().map(|role| role.name()).collect();
        entry["roles"] = json!(roles);
        entry
    };
    machines.iter().map(of).collect()
}

/// The constants that explain most, in one sentence for each machine.
pub(crate) fn constants_remarks(summary: &Summary) -> Vec<String> {
    let machines = &summary.constants;
    let of = |machine: &MachineConstants| {
        let name = match (&machine.roles[..], machines.len()) {
            ([role], 2..) => format!("{}: ", role.name()),
            _ => String::new(),
        };
        let Some(host) = &machine.host else {
            let why = machine
                .absent
                .as_deref()
                .unwrap_or("the log names no reason");
            return format!("{name}not measured ({})", harmless(why));
        };
        let named = NAMED.iter().filter_map(|constant| {
            let words = ConstantFigure::words(host.figure(*constant)?.median_ns);
            Some(format!("{} {words}", constant.row().title))
        });
        format!("{name}{}", named.collect::<Vec<_>>().join("; "))
    };
    machines.iter().map(of).collect()
}

/// A constant of the machine of an endpoint, with its spread; absent where no machine measured it.
pub(crate) fn constant_words(
    machines: &[MachineConstants],
    role: bitcost_model::record::Role,
    constant: Constant,
) -> Option<String> {
    let machine = machines
        .iter()
        .find(|machine| machine.roles.contains(&role))?;
    let figure = machine.host.as_ref()?.figure(constant)?;
    let [median, low, high] = [figure.median_ns, figure.p5_ns, figure.p95_ns].map(number::plain);
    Some(format!("{median} [{low}, {high}] {}", constant.row().unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> HostConstants {
        let figure = ConstantFigure {
            median_ns: 178.352,
            p5_ns: 167.5,
            p95_ns: 212.2,
            samples: 424,
        };
        HostConstants {
            cpus: vec![0],
            constants: vec![
                MeasuredConstant {
                    constant: Constant::SystemCall,
                    figure: Some(figure),
                    absent: None,
                },
                MeasuredConstant {
                    constant: Constant::WakeOtherIdle,
                    figure: None,
                    absent: Some("only one CPU may be used".to_owned()),
                },
            ],
        }
    }

    #[test]
    fn table_lists_figures_then_reasons() {
        assert_eq!(
            constants_text(&host()),
            "constant     median  5 %  95 %  unit\n\
             system call     178  168   212  ns\n\
             waking a thread on another CPU, which is idle: not measured: only one CPU may be\n\
             used\n\
             measured on CPU 0\n"
        );
    }

    #[test]
    fn document_has_a_reason_and_no_figure_where_there_is_none() {
        let document = constants_json(&host());
        assert_eq!(document["constants"]["system_call"]["median"], 178.352);
        let absent = &document["constants"]["wake_other_idle"];
        assert_eq!(absent["absent"], "only one CPU may be used");
        assert!(absent.get("median").is_none());
    }
}
