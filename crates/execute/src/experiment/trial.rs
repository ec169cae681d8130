//! One short run.

use std::collections::BTreeSet;

use bitcost_controller::{Ending, Session};
use bitcost_model::conditions::Conditions;
use bitcost_model::event::Event;
use bitcost_model::plan::Plan;
use bitcost_model::record::EndpointRecord;
use bitcost_model::{Invalid, Unavailable};

use crate::error::ExecuteError;

/// A sentence where conditions are not possible at the endpoints.
pub type Allows = fn(&Conditions) -> Result<(), Invalid>;

/// Makes one short run and takes its records; absent where the user stopped it.
///
/// # Errors
/// Those of the session.
pub fn try_once<T>(
    session: &mut Session,
    conditions: &Conditions,
    take: impl Fn([&EndpointRecord; 2]) -> Result<T, Unavailable>,
) -> Result<Option<Result<T, Unavailable>>, ExecuteError> {
    let mut outcome = Err(Unavailable("it has no result".to_owned()));
    let mut sink = |event: Event| {
        match event {
            Event::RunEnded {
                sender, receiver, ..
            } => outcome = take([&sender, &receiver]),
            Event::RunFailed { reason, .. } => outcome = Err(Unavailable(reason)),
            _ => {}
        }
        Ok(())
    };
    let plan = Plan::of_one(conditions.clone());
    let ending = session.execute(&plan, &BTreeSet::new(), &mut sink)?;
    Ok((ending == Ending::Complete).then_some(outcome))
}
