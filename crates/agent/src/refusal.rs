//! Why an endpoint could not do what was asked.

use bitcost_host::HostError;
use bitcost_model::protocol::{FailureCause, FromAgent};
use bitcost_model::{Invalid, Unavailable};

#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What was asked, what happened, what to do.
    pub reason: String,
    pub cause: FailureCause,
}

impl Refusal {
    pub fn message(self) -> FromAgent {
        let Refusal { reason, cause } = self;
        FromAgent::Failed { reason, cause }
    }

    pub fn and(self, more: &[String]) -> Refusal {
        let reasons = [&[self.reason], more].concat();
        Refusal {
            reason: reasons.join("; "),
            ..self
        }
    }
}

impl From<String> for Refusal {
    fn from(reason: String) -> Refusal {
        Refusal {
            reason,
            cause: FailureCause::Other,
        }
    }
}

impl From<&str> for Refusal {
    fn from(reason: &str) -> Refusal {
        reason.to_owned().into()
    }
}

impl From<Invalid> for Refusal {
    fn from(Invalid(reason): Invalid) -> Refusal {
        reason.into()
    }
}

impl From<Unavailable> for Refusal {
    fn from(Unavailable(reason): Unavailable) -> Refusal {
        Refusal {
            reason,
            cause: FailureCause::HostLacks,
        }
    }
}

impl From<HostError> for Refusal {
    fn from(error: HostError) -> Refusal {
        Refusal {
            reason: error.to_string(),
            cause: match error {
                HostError::NotApplied { .. } => FailureCause::Other,
                _ => FailureCause::HostLacks,
            },
        }
    }
}
