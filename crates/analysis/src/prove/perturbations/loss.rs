//! Loss: the links of a lab that lose packets lose twice as many.

use crate::prove::perturbation::{Perturbation, Told, limiter};

/// The row.
pub static ROW: Perturbation = Perturbation {
    name: "loss",
    resource: "loss",
    told: Told::More,
    is_of: |limiter| limiter.name() == "congestion_window_loss",
    finds: |conditions| {
        let is_tcp = !conditions.workload.is_datagram();
        is_tcp
            .then(|| limiter("congestion_window_loss", ""))
            .flatten()
    },
    settings: |before| {
        let built = before.lab.filter(|lab| lab.running.is_none());
        let lab = built.ok_or("loss can be added only to a lab that the test builds")?;
        let mut ends = lab.path().into_iter().flat_map(|path| path.there);
        match ends.any(|end| end.egress.loss_ppm > 0) {
            true => Ok(vec![("path_change", "loss 200%".to_owned())]),
            false => Err("no link of the lab loses packets at random".to_owned()),
        }
    },
    left: |_, after| Some(100.0 / f64::from(after.conditions.path_change?.pct)),
};
