//! The labs that are part of the program, as the text of lab files.

use bitcost_model::Invalid;
use bitcost_model::near::near_or_all;

#[derive(Debug)]
pub struct Preset {
    pub name: &'static str,
    pub about: &'static str,
    /// The default size; `None`: it comes in one size.
    pub size: Option<u32>,
    text: fn(u32) -> String,
}

/// The lab of tests and studies that name none.
pub const USUAL: &str = "wire";

const SIZE_MAX: u32 = 100;

pub const PRESETS: &[Preset] = &[
    Preset {
        name: "wire",
        about: "h1 - h2 over a wire that cuts super-packets as a network card does",
        size: None,
        text: |_| include_str!("../../labs/wire.toml").to_owned(),
    },
    Preset {
        name: "pair",
        about: "h1 - h2, a veth pair and nothing else",
        size: None,
        text: |_| include_str!("../../labs/pair.toml").to_owned(),
    },
    Preset {
        name: "switch",
        about: "h1 - s1 - h2",
        size: None,
        text: |_| include_str!("../../labs/switch.toml").to_owned(),
    },
    Preset {
        name: "lab15",
        about: "h1 - s1 - s2 - h2 with 20 ms at s1-eth2 and 1 Gbit/s at s2-eth2, as the document Lab 15 sets them",
        size: None,
        text: |_| include_str!("../../labs/lab15.toml").to_owned(),
    },
    Preset {
        name: "dumbbell",
        about: "pairs of hosts over one bottleneck of 1 Gbit/s: h1, h3, … - s1 - s2 - h2, h4, …",
        size: Some(2),
        text: dumbbell,
    },
    Preset {
        name: "star",
        about: "hosts around one switch",
        size: Some(4),
        text: star,
    },
];

impl Preset {
    /// The preset of this name, which a user wrote.
    ///
    /// # Errors
    /// A sentence with the names that there are.
    pub fn named(name: &str) -> Result<&'static Preset, Invalid> {
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        let unknown = || Invalid(format!("unknown lab `{name}`{}", near_or_all(name, &names)));
        Preset::find(name).ok_or_else(unknown)
    }

    pub fn find(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// The text of its lab file.
    ///
    /// # Errors
    /// A sentence where it does not come in this size.
    pub fn text(&self, size: Option<u32>) -> Result<String, Invalid> {
        match (self.size, size) {
            (None, Some(_)) => Err(Invalid(format!(
                "the lab {} comes in one size; leave the size out",
                self.name
            ))),
            (Some(_), Some(asked)) if !(2..=SIZE_MAX).contains(&asked) => Err(Invalid(format!(
                "the size of {} is {asked}; allowed: 2 to {SIZE_MAX}",
                self.name
            ))),
            (usual, asked) => Ok((self.text)(asked.or(usual).unwrap_or_default())),
        }
    }
}

fn list(numbers: impl Iterator<Item = u32>) -> String {
    let names: Vec<String> = numbers.map(|number| format!("\"h{number}\"")).collect();
    names.join(", ")
}

fn link(host: u32, switch: &str) -> String {
    format!("\n[[link]]\nends = [\"h{host}\", \"{switch}\"]\n")
}

fn dumbbell(pairs: u32) -> String {
    let mut text =
        format!("# {pairs} pairs of hosts over one bottleneck: h1 to h2, h3 to h4, and so on.\n");
    text += &format!(
        "hosts = [{}]\nswitches = [\"s1\", \"s2\"]\n",
        list(1..=2 * pairs)
    );
    text += "\n[[link]]\nends = [\"s1\", \"s2\"]\nrate = \"1G\"\n";
    (1..=pairs).for_each(|pair| text += &(link(2 * pair - 1, "s1") + &link(2 * pair, "s2")));
    text
}

fn star(hosts: u32) -> String {
    let mut text = format!(
        "# {hosts} hosts around one switch.\nhosts = [{}]\nswitches = [\"s1\"]\n",
        list(1..=hosts)
    );
    (1..=hosts).for_each(|host| text += &link(host, "s1"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::parse;

    #[test]
    fn every_preset_can_be_built() {
        for preset in PRESETS {
            let text = preset.text(None).unwrap();
            let topology = parse(preset.name, &text).unwrap_or_else(|error| panic!("{error}"));
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
    fn sizes_are_those_asked_for() {
        let hosts = |name: &str, size| {
            let text = Preset::find(name).unwrap().text(Some(size)).unwrap();
            parse(name, &text).unwrap().hosts().count()
        };
        assert_eq!(hosts("star", 7), 7);
        assert_eq!(hosts("dumbbell", 3), 6);
        assert!(
            Preset::find("star")
                .unwrap()
                .text(Some(1))
                .unwrap_err()
                .0
                .contains("allowed: 2 to 100")
        );
        assert!(
            Preset::find("pair")
                .unwrap()
                .text(Some(3))
                .unwrap_err()
                .0
                .contains("one size")
        );
    }

    #[test]
    fn lab15_has_the_values_of_the_document() {
        let lab = parse("lab15", &Preset::find("lab15").unwrap().text(None).unwrap()).unwrap();
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
