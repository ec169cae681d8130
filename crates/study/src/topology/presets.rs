//! The labs that are part of the program, as the text of lab files.

use bitcost_model::Invalid;
use bitcost_model::near::near_or_all;

#[derive(Debug)]
pub struct Preset {
    pub name: &'static str,
    pub about: &'static str,
    /// The text of its lab file.
    pub text: &'static str,
}

/// The lab of tests and studies that name none.
pub const USUAL: &str = "wire";

pub const PRESETS: &[Preset] = &[
    Preset {
        name: "wire",
        about: "h1 - h2 over a wire that cuts super-packets as a network card does",
        text: include_str!("../../labs/wire.toml"),
    },
    Preset {
        name: "pair",
        about: "h1 - h2, a veth pair and nothing else",
        text: include_str!("../../labs/pair.toml"),
    },
    Preset {
        name: "switch",
        about: "h1 - s1 - h2",
        text: include_str!("../../labs/switch.toml"),
    },
    Preset {
        name: "lab15",
        about: "h1 - s1 - s2 - h2 with 20 ms at s1-eth2 and 1 Gbit/s at s2-eth2, as the document Lab 15 sets them",
        text: include_str!("../../labs/lab15.toml"),
    },
];

impl Preset {
    /// The preset of this name, which a user wrote.
    pub fn named(name: &str) -> Result<&'static Preset, Invalid> {
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        let unknown = || Invalid(format!("unknown lab `{name}`{}", near_or_all(name, &names)));
        Preset::find(name).ok_or_else(unknown)
    }

    pub fn find(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::parse;

    #[test]
    fn every_preset_can_be_built() {
        for preset in PRESETS {
            let topology =
                parse(preset.name, preset.text).unwrap_or_else(|error| panic!("{error}"));
            assert!(topology.hosts().count() >= 2, "{}", preset.name);
            let path = topology.path("h1", "h2").unwrap();
            assert!(
                path.there.len() == path.back.len() && !path.there.is_empty(),
                "{}",
                preset.name
            );
        }
    }

    #[test]
    fn lab15_has_the_values_of_the_document() {
        let lab = parse("lab15", Preset::find("lab15").unwrap().text).unwrap();
        let delay = &lab.end("s1-eth2").unwrap().egress;
        assert_eq!((delay.delay_us, delay.rate_bps), (20_000, None));
        let rate = &lab.end("s2-eth2").unwrap().egress;
        assert_eq!(
            (rate.rate_bps, rate.burst_bytes),
            (Some(1_000_000_000), Some(500_000))
        );
        assert_eq!(
            lab.end("h2-eth0").unwrap().addresses[0].to_string(),
            "10.0.0.2/8"
        );
        let path = lab.path("h1", "h2").unwrap();
        assert_eq!((path.rtt_us(), path.bdp_bytes()), (20_000, Some(2_500_000)));
        let devices: Vec<&str> = path.there.iter().map(|end| end.device.as_str()).collect();
        assert_eq!(devices, ["h1-eth0", "s1-eth2", "s2-eth2"]);
    }
}
