//! What a run cannot ask where both its ends are on one host: settings that each of them would set.

use crate::conditions::{Conditions, Offloads};
use crate::knobs::STRESS;
use crate::record::Role;

/// Checks that one end alone sets the host that both are on: a host is held by one of them, who puts it back.
///
/// # Errors
/// A sentence that says what was found and what to do.
pub fn check(conditions: &Conditions) -> Result<(), String> {
    let wishes = conditions.knobs.iter().filter(|wish| wish.knob != STRESS.knob);
    let of = |role: Role| wishes.clone().find(|wish| wish.is_of(role)).map(|wish| wish.knob.as_str());
    let of_both = if conditions.offloads == Offloads::AsFound { None } else { Some("offloads") };
    match of_both.or_else(|| of(Role::Sender).and(of(Role::Receiver))) {
        Some(knob) => Err(format!(
            "both ends are on one host, and both are asked to set it ({knob}): ask it of one end, as in `sender: VALUE`"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::{MTU, OFFLOADS, SYSCTL};

    #[test]
    fn one_end_may_set_the_host_and_stress_may_be_of_both() {
        let asked = |texts: &[(&crate::knobs::Syntax, &str)]| {
            let mut conditions = Conditions { offloads: Offloads::AsFound, ..Conditions::default() };
            texts.iter().for_each(|(syntax, text)| conditions.ask(syntax, text));
            check(&conditions)
        };
        assert_eq!(asked(&[]), Ok(()));
        assert_eq!(asked(&[(&MTU, "sender: 1400"), (&OFFLOADS, "sender: tso off"), (&STRESS, "cpu")]), Ok(()));
        assert!(asked(&[(&MTU, "1400")]).is_err_and(|why| why.contains("mtu_bytes")));
        assert!(asked(&[(&MTU, "sender: 1400"), (&SYSCTL, "receiver: net.ipv4.tcp_sack=0")]).is_err());
        let off = Conditions { offloads: Offloads::Off, ..Conditions::default() };
        assert!(check(&off).is_err_and(|why| why.contains("offloads")));
    }
}
