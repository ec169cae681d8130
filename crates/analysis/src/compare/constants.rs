//! Host constants that differ between executions: by more than their spread allows, and what that leaves
//! unexplained.

use bitcost_model::constants::{
    CONSTANTS, Constant, ConstantFigure, ConstantRow, HostConstants, MachineConstants,
};
use bitcost_model::record::Role;

use crate::findings::Findings;

/// The least ratio of two medians that is a difference. Batches of one operation on one machine
/// spread by less than its speed varies from one minute to the next, which is a few per cent.
const RATIO_LEAST: f64 = 1.1;

/// The constants that differ, endpoint by endpoint, a sentence each.
pub(crate) fn constant_differences(old: &Findings, new: &Findings) -> Vec<String> {
    let names = [old.name.as_str(), new.name.as_str()];
    let (old, new) = (&old.summary.constants, &new.summary.constants);
    let differ = |role| of_role(old, role).zip(of_role(new, role));
    let [sender, receiver] = [Role::Sender, Role::Receiver]
        .map(|role| differ(role).map_or(Vec::new(), |(was, is)| differences(was, is, names)));
    // Endpoints on one machine have the same constants.
    if sender == receiver {
        return sender;
    }
    let of = |role: Role, found: Vec<String>| {
        let name = role.name();
        found
            .into_iter()
            .map(move |words| format!("{name}: {words}"))
    };
    of(Role::Sender, sender)
        .chain(of(Role::Receiver, receiver))
        .collect()
}

/// The constants of the CPU alone, in which the kernel has no part: where they differ, other guests use the
/// same cores, or the clock rate is another.
const OF_CPU: [Constant; 2] = [Constant::ClockRead, Constant::CopyInCache];

/// How far the speed of the sides' CPUs may differ in addition to what the fixed loop tells, as a part of a
/// figure: the largest difference of the logarithms of a constant of a CPU, each the mean of a side's
/// executions. 0 where none was measured on both sides.
pub(super) fn unexplained(old: &[Findings], new: &[Findings]) -> f64 {
    let logarithm = |side: &[Findings], role, constant| {
        let of = |one: &Findings| {
            let figure = of_role(&one.summary.constants, role)?.figure(constant)?;
            (figure.median_ns > 0.0).then(|| figure.median_ns.ln())
        };
        let known: Vec<f64> = side.iter().filter_map(of).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let roles = [Role::Sender, Role::Receiver].into_iter();
    let all = roles.flat_map(|role| OF_CPU.map(|constant| (role, constant)));
    let apart = |(role, constant)| {
        Some((logarithm(new, role, constant)? - logarithm(old, role, constant)?).abs())
    };
    all.filter_map(apart).fold(0.0, f64::max)
}

fn of_role(machines: &[MachineConstants], role: Role) -> Option<&HostConstants> {
    let found = machines
        .iter()
        .find(|machine| machine.roles.contains(&role));
    found.and_then(|machine| machine.host.as_ref())
}

fn differences(was: &HostConstants, is: &HostConstants, names: [&str; 2]) -> Vec<String> {
    let differ = |row: &ConstantRow| {
        let (was, is) = (was.figure(row.constant)?, is.figure(row.constant)?);
        are_apart(was, is).then(|| {
            let per = row.unit.strip_prefix("ns").unwrap_or_default();
            let shown = |ns| format!("{}{per}", ConstantFigure::words(ns));
            let ([old, new], was, is) = (names, shown(was.median_ns), shown(is.median_ns));
            let title = row.title;
            let comma = if title.contains(',') { "," } else { "" };
            format!("{title}{comma} takes {was} in {old} and {is} in {new}")
        })
    };
    CONSTANTS.iter().filter_map(differ).collect()
}

/// Whether two figures differ: nine of ten samples of one are above nine of ten samples of the
/// other, and the medians differ by more than a machine's speed varies.
fn are_apart(was: ConstantFigure, is: ConstantFigure) -> bool {
    let (low, high) = if was.median_ns < is.median_ns {
        (was, is)
    } else {
        (is, was)
    };
    low.p95_ns < high.p5_ns && low.median_ns * RATIO_LEAST < high.median_ns
}

#[cfg(test)]
mod tests {
    use bitcost_model::constants::MeasuredConstant;

    use super::*;

    fn host(constant: Constant, [p5_ns, median_ns, p95_ns]: [f64; 3]) -> HostConstants {
        let figure = ConstantFigure {
            median_ns,
            p5_ns,
            p95_ns,
            samples: 100,
        };
        HostConstants {
            cpus: vec![0, 1],
            constants: vec![MeasuredConstant {
                constant,
                figure: Some(figure),
                absent: None,
            }],
        }
    }

    const NAMES: [&str; 2] = ["OLD", "NEW"];

    #[test]
    fn constants_that_differ_by_more_than_their_spread_are_named() {
        let was = host(Constant::WakeOtherIdle, [3000.0, 4100.0, 6000.0]);
        let is = host(Constant::WakeOtherIdle, [1100.0, 1200.0, 1600.0]);
        assert_eq!(
            differences(&was, &is, NAMES),
            [
                "waking a thread on another CPU, which is idle, takes 4.10 µs in OLD and 1.20 µs in NEW"
            ]
        );
        let wide = host(Constant::WakeOtherIdle, [1100.0, 1200.0, 3500.0]);
        assert_eq!(differences(&was, &wide, NAMES), [""; 0]);
    }

    #[test]
    fn a_few_per_cent_are_no_difference() {
        let was = host(Constant::CopyInCache, [50.0, 50.5, 51.0]);
        let near = host(Constant::CopyInCache, [53.0, 53.5, 54.0]);
        let far = host(Constant::CopyInCache, [60.0, 60.5, 61.0]);
        assert_eq!(differences(&was, &near, NAMES), [""; 0]);
        assert_eq!(
            differences(&was, &far, NAMES),
            ["copying in cache takes 50 ns/KiB in OLD and 60 ns/KiB in NEW"]
        );
    }

    #[test]
    fn what_only_one_side_measured_is_no_difference() {
        let was = host(Constant::CopyInCache, [50.0, 50.5, 51.0]);
        let is = host(Constant::ClockRead, [20.0, 21.0, 22.0]);
        assert_eq!(differences(&was, &is, NAMES), [""; 0]);
    }
}
