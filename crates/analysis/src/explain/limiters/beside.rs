//! Other traffic: beside the run's data in front of the bottleneck, or on the way of its acknowledgements.

use bitcost_model::record::Role;

use super::evidence::{keeps_rate, least, least_of};
use super::lost::losses;
use super::path::{HELD_UP, filled, grows};
use crate::explain::limiter::{Candidate, Evidence, LimiterRow, ON_THE_PATH};
use crate::explain::signals::Signals;

/// Other traffic ÷ that of the run from which on it is the other that fills a queue.
const MORE: f64 = 1.0;

/// The same on the way of acknowledgements, where the run itself may send as much as it receives.
const FAR_MORE: f64 = 2.0;

/// The round-trip time from which acknowledgements may have waited for others, in ms.
const LONG_MS: f64 = 10.0;

/// Share of segments sent again from which on something drops them.
const DROPPED: f64 = 0.001;

pub static COMPETING: LimiterRow = LimiterRow {
    name: "competing_traffic",
    title: "competing traffic",
    remedy: "a queue that shares fairly in front of the bottleneck (tc qdisc replace dev DEV root fq_codel, or cake), or a class for each (htb); fewer flows or a lower rate of the other traffic",
    evidence: "as much as the run's goodput left the sender's interface beside it; and its queueing discipline passed 97 % of its rate, or the sender is blocked in send 30 % and enough is lost, or the round-trip time has grown (of requests: is 10 ms, and has grown or the host sends 0.1 % of its segments again)",
    suspects: |signals, found| {
        let all = competing(signals).into_iter();
        let all = all.filter_map(|one| beside(signals, Role::Sender, MORE, one));
        // More flows of the test take more of what others need, too.
        found.extend(all.map(|one| one.with_remedy(COMPETING.remedy)));
    },
};

pub static ACK_PATH: LimiterRow = LimiterRow {
    name: "ack_path",
    title: "acknowledgements held up on the return path",
    remedy: "shape what the receiver's host sends to just under the rate of its uplink, and let small packets pass first (tc qdisc replace dev DEV root cake bandwidth RATE, or fq_codel below htb)",
    evidence: "twice the run's goodput left the receiver's interface beside it; and the round-trip time is 10 ms and has grown, or the receiver's host sends 0.1 % of its segments again (weaker evidence where only one of these holds); and a requested rate is not kept",
    suspects: |signals, found| {
        let Some(rtt_ms) = signals.tcp.rtt_ms.filter(|_| !keeps_rate(signals)) else {
            return;
        };
        let long = least_of("round-trip time", rtt_ms, "ms", LONG_MS);
        // The queue of the data also lets the round-trip time grow, and the host has other connections.
        let both = [grows(signals), resent(signals, Role::Receiver)];
        let holds = |why: &Option<Evidence>| why.as_ref().is_some_and(|why| why.margin() >= 0.0);
        let strengths = match both.iter().all(holds) {
            true => [1.0, 1.0],
            false => [0.53, 0.56],
        };
        let all = both.into_iter().zip(strengths);
        let all = all.filter_map(|(why, strength)| {
            let evidence = vec![why?, long.clone()];
            Some(ACK_PATH.suspect(strength, evidence))
        });
        found.extend(all.filter_map(|one| beside(signals, Role::Receiver, FAR_MORE, one)));
    },
};

/// What a full queue shows, by whichever traffic it is filled.
fn competing(signals: &Signals) -> Vec<Candidate> {
    let own = signals.hops.iter().filter(|hop| hop.is_own);
    let full = own.filter_map(|hop| {
        let found = COMPETING.suspect(0.96, filled(signals, hop)?.evidence);
        Some(found.of_steady().at(format!("at {}", hop.name)))
    });
    let signs = match signals.transactions {
        // Short round trips of requests also grow by waking the ends.
        Some(_) if signals.tcp.rtt_ms < Some(LONG_MS) => [None, None],
        Some(_) => [grows(signals), resent(signals, Role::Sender)],
        None => [losses(&signals.tcp), grows(signals)],
    };
    let sender = signals.sender.filter(|_| signals.transactions.is_none());
    let held_up = sender.map(|end| least("sender blocked in send", end.blocked, HELD_UP));
    // It may go elsewhere; of requests it is what makes them wait.
    let strength = signals.transactions.map_or(0.61, |_| 0.72);
    let on_the_path = signs.into_iter().flatten().map(|why| {
        let evidence = std::iter::once(why).chain(held_up.clone()).collect();
        COMPETING.suspect(strength, evidence).at(ON_THE_PATH)
    });
    full.chain(on_the_path).collect()
}

/// Evidence that what the host of an end sends is dropped.
fn resent(signals: &Signals, role: Role) -> Option<Evidence> {
    let counter = format!("segments that the {}'s host sent again", role.name());
    Some(least(counter, signals.resent[role as usize]?, DROPPED))
}

/// A limiter, where this much more than the run left the interface of an end.
fn beside(signals: &Signals, role: Role, times: f64, mut found: Candidate) -> Option<Candidate> {
    let (others, own) = (signals.beside_bps[role as usize]?, signals.goodput_bps?);
    let name = role.name();
    let counter = format!("other traffic that left the {name}'s interface ÷ goodput");
    let more = least_of(counter, others / own, "", times);
    found.evidence.push(more);
    let detail = format!(
        "{:.1} Mbit/s of other traffic leave there, beside {:.1} of this test",
        others / 1e6,
        own / 1e6
    );
    Some(found.with_detail(detail))
}
