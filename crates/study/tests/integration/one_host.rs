//! The settings that a run may request of a host that both of its endpoints are on.

use bitcost_model::conditions::Conditions;
use bitcost_model::host_settings::{Grammar, MTU, OFFLOADS, STRESS, SYSCTL};

#[test]
fn one_end_may_set_the_host_and_stress_may_be_of_both() {
    let asked = |texts: &[(&Grammar, &str)]| {
        let mut conditions = Conditions::default();
        texts.iter().for_each(|(grammar, text)| {
            grammar
                .ask(&mut conditions.host_settings, text)
                .expect("read")
        });
        conditions.check_on_one_host()
    };
    assert_eq!(asked(&[]), Ok(()));
    assert_eq!(
        asked(&[
            (&MTU, "sender: 1400"),
            (&OFFLOADS, "sender: tso off"),
            (&STRESS, "cpu")
        ]),
        Ok(())
    );
    assert!(asked(&[(&MTU, "1400")]).is_err_and(|why| why.0.contains("mtu_bytes")));
    assert!(
        asked(&[
            (&MTU, "sender: 1400"),
            (&SYSCTL, "receiver: net.ipv4.tcp_sack=0")
        ])
        .is_err()
    );
    assert!(asked(&[(&OFFLOADS, "off")]).is_err_and(|why| why.0.contains("offloads")));
}
