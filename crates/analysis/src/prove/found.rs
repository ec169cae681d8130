//! What it means that a resource limits: which limiter that is, and what to do about a path that limits packets.

use super::ordinary::Ordinary;
use super::perturbation::{Perturbation, limiter};
use super::perturbations::{PATH_RATE, RECEIVER_CPU, SEGMENTS, SENDER_CPU};
use crate::explain::{Candidate, Decision, Limiter, ON_THE_PATH, Tried};

/// What to do about a path that limits packets.
const LARGER_PACKETS: &str = "a larger MTU on the whole path, or find what handles its packets and has no CPU time left: a forwarder, a firewall, a tunnel";

/// What to do about a limiter that was found, where its row is about the endpoints.
pub(super) fn remedy_of(found: &Limiter) -> Option<String> {
    let is_on_the_path = Some(found) == limiter("packets_per_second", ON_THE_PATH).as_ref();
    is_on_the_path.then(|| LARGER_PACKETS.to_owned())
}

/// Says of a rate on the path that it is one of packets.
pub(super) fn as_packets(chosen: &mut Candidate) {
    chosen.detail = "it limits packets and not bits: smaller segments are slower".to_owned();
    chosen.remedy = Some(LARGER_PACKETS.to_owned());
}

/// Whether it is a congestion window, whose resource, segments, is also that of packets.
pub(super) fn is_clamp(limiter: &Limiter) -> bool {
    limiter.name() == "congestion_window_clamp"
}

/// Whether a perturbation has this decision.
pub(super) fn has(tried: &[Tried], row: &Perturbation, decision: Decision) -> bool {
    let mut found = tried.iter();
    found.any(|one| one.name == row.name && one.decision == decision)
}

/// The limiter that a resource which limits finds. Smaller segments are slower where a CPU or the path limits packets, and
/// otherwise where the congestion window does, which is a number of segments.
pub(super) fn finds(row: &Perturbation, ordinary: &Ordinary, tried: &[Tried]) -> Option<Limiter> {
    let of_packets = [&SEGMENTS, &PATH_RATE];
    let is_one = of_packets.iter().any(|one| one.name == row.name);
    if is_one
        && of_packets
            .iter()
            .all(|row| has(tried, row, Decision::Limits))
    {
        return limiter("packets_per_second", ON_THE_PATH);
    }
    let mut spared = [&SENDER_CPU, &RECEIVER_CPU, &PATH_RATE].into_iter();
    // Slower links of a lab of our own leave a limit of packets as it is, which a background stream shares.
    if ordinary.shares_the_path()
        && row.name == SEGMENTS.name
        && spared.all(|row| has(tried, row, Decision::DoesNot))
    {
        return match ordinary.is_lossy() {
            true => limiter("congestion_window_loss", ""),
            false => limiter("congestion_window_clamp", ""),
        };
    }
    (row.finds)(&ordinary.conditions)
}

#[cfg(test)]
mod tests {
    use bitcost_model::conditions::{Conditions, Workload};
    use bitcost_stats::Interval;

    use super::*;
    use crate::explain::Load;

    /// What is found where smaller segments are slower, with these decisions about the CPUs and the path.
    fn found(cpus: Decision, path: Decision, retransmitted: f64) -> String {
        let even = Interval {
            value: 1.0,
            low: Some(1.0),
            high: Some(1.0),
        };
        let decided = [
            (&SENDER_CPU, cpus),
            (&RECEIVER_CPU, cpus),
            (&PATH_RATE, path),
            (&SEGMENTS, Decision::Limits),
        ];
        let tried = decided.map(|(row, decision)| Tried {
            name: row.name,
            changed: row.changed(Some(0.8)),
            ratio: even,
            elasticity: Some(even),
            decision,
            blocks: 8,
            more: None,
        });
        let ordinary = Ordinary {
            conditions: Conditions::of(Workload::TcpStream),
            load: Load {
                retransmitted: Some(retransmitted),
                ..Load::default()
            },
            rate: 100.0,
            lab: None,
            named: None,
            next: Vec::new(),
        };
        finds(&SEGMENTS, &ordinary, &tried).map_or(String::new(), |limiter| limiter.to_string())
    }

    #[test]
    fn smaller_segments_tell_packets_from_the_congestion_window_by_what_else_limits() {
        use Decision::{DoesNot, Limits, Open};
        assert_eq!(
            found(DoesNot, Limits, 0.0),
            "packets per second on the path"
        );
        assert_eq!(found(Limits, DoesNot, 0.0), "packets per second");
        assert_eq!(found(DoesNot, Open, 0.0), "packets per second");
        assert_eq!(
            found(DoesNot, DoesNot, 0.0),
            "congestion window (held at one value)"
        );
        assert_eq!(found(DoesNot, DoesNot, 0.02), "congestion window (loss)");
    }
}
