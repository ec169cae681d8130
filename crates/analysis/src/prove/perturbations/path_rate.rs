//! The rate of the path: the links of a lab are slower; between named hosts, whose interfaces are
//! not ours, a background stream of datagrams takes a part of it.

use bitcost_model::conditions::Direction;

use crate::explain::ON_THE_PATH;
use crate::prove::perturbation::{Before, LEFT, Perturbation, Settings, Told, limiter};

/// The row.
pub static ROW: Perturbation = Perturbation {
    name: "path_rate",
    resource: "rate of the path",
    told: Told::Less,
    is_of: |limiter| ["rate", "queue_overflow", "path_loss"].contains(&limiter.name()),
    finds: |_| limiter("rate", ON_THE_PATH),
    settings,
    left: |before, after| {
        let taken = after.load.background_bps - before.load.background_bps;
        match after.conditions.path_change {
            Some(change) => Some(f64::from(change.pct) / 100.0),
            None => Some(1.0 - taken / before.load.delivered_bps?).filter(|left| *left > 0.0),
        }
    },
};

fn settings(before: &Before) -> Result<Settings, String> {
    let conditions = before.conditions;
    match before.lab {
        Some(lab) if lab.running.is_none() => {
            let rate = lab.path().and_then(|path| path.rate_bps());
            rate.ok_or("no link of the lab has a rate")?;
            let slower = format!("rate {:.0}%", 100.0 * LEFT);
            Ok(vec![("path_change", slower)])
        }
        _ if conditions.workload.is_transactional() => {
            Err("transactions leave most of the path's rate unused".to_owned())
        }
        _ if !conditions.background.is_empty() => {
            Err("the test has its own background workloads".to_owned())
        }
        _ => {
            let delivered = before.load.delivered_bps.ok_or("nothing was delivered")?;
            let direction = match conditions.direction {
                Direction::Reverse => " direction=reverse",
                Direction::Forward | Direction::Both => "",
            };
            let rate = delivered * (1.0 - LEFT);
            let stream = format!("udp message-size=1400 rate={rate:.0}{direction}");
            Ok(vec![("background", stream)])
        }
    }
}
