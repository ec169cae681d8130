//! One run that options describe instead of a study file: it is a study of one cell, as text that reads
//! back.

use std::fmt::Write as _;

use bitcost_model::Invalid;
use bitcost_model::conditions::Workload;
use bitcost_model::study::{LabSpec, UntilInterval};

use crate::definition::Study;
use crate::settings::{Kind, Setting, background_to_toml};
use crate::topology::{Preset, to_toml};

/// The MTU of a study between named hosts, whose own interfaces are checked when they are
/// connected, in bytes.
const ANY_MTU_BYTES: u32 = 65_535;

const TRANSACTIONS_TABLE: &str = "
[table]
metrics = [\"transactions_per_second\", \"latency_p50_us\", \"latency_p99_us\", \"send_service_demand_us_per_transaction\", \"receive_service_demand_us_per_transaction\"]
";

/// One run, or several of the same kind.
pub struct Single<'a> {
    pub workload: Workload,
    /// Settings with their values as typed; the last value of a setting counts, and every
    /// background workload.
    pub settings: &'a [(&'static Setting, String)],
    /// The embedded lab; absent between named hosts.
    pub lab: Option<&'a LabSpec>,
    pub runs: u32,
    /// The rule until which runs are repeated; absent: exactly `runs`.
    pub until: Option<&'a UntilInterval>,
}

impl Single<'_> {
    /// The study with one cell.
    ///
    /// # Errors
    /// When the settings are not possible together, or not in the lab.
    pub fn study(&self) -> Result<Study, Invalid> {
        let test = self.workload.info().short_name;
        let mut study = Study::parse(&format!("test-{test}.toml"), &self.text(test))?;
        match self.lab {
            Some(lab) => study.lab = lab.clone(),
            None => study.lab.network = None,
        }
        Ok(study)
    }

    fn text(&self, test: &str) -> String {
        let mut text = format!(
            "title = \"bitcost test {test}\"\nquestion = \"What does a run with these settings cost?\"\n"
        );
        text += &self.lab_text();
        let _ = write!(
            text,
            "\n[workload]\nworkload = \"{}\"\n",
            self.workload.name()
        );
        text += &self.settings_text();
        let _ = write!(text, "\n[run]\nblocks = {}\n", self.runs);
        if let Some(until) = self.until {
            let _ = write!(
                text,
                "until_interval_pct = {:?}\nuntil_metric = \"{}\"\nmax_blocks = {}\n",
                until.width_pct, until.metric, until.max_blocks
            );
        }
        if self.workload.is_transactional() {
            text += TRANSACTIONS_TABLE;
        }
        let _ = write!(
            text,
            "\n[[factor]]\nname = \"test\"\nlevels = [{{ label = \"{test}\" }}]\n"
        );
        text
    }

    fn lab_text(&self) -> String {
        let Some(lab) = self.lab else {
            return format!("\n[lab]\nmtu_bytes = {ANY_MTU_BYTES}\n");
        };
        match &lab.network {
            Some(network) if Preset::find(&lab.topology).is_none() => {
                let table = to_toml(network).replace("\n[[", "\n[[lab.");
                let mut text = String::from("\n[lab]\n");
                for line in table.lines() {
                    let is_header = line.starts_with('[') && !line.starts_with("[[");
                    match line.strip_prefix('[').filter(|_| is_header) {
                        Some(header) => text += &format!("[lab.{header}\n"),
                        None => text += &format!("{line}\n"),
                    }
                }
                text
            }
            _ => format!(
                "\n[lab]\ntopology = \"{}\"\nmtu_bytes = {}\n",
                lab.topology, lab.mtu_bytes
            ),
        }
    }

    fn settings_text(&self) -> String {
        let mut text = String::new();
        let mut background = Vec::new();
        for (index, (setting, value)) in self.settings.iter().enumerate() {
            let later = &self.settings[index + 1..];
            match setting.kind {
                Kind::Background => background.push(background_to_toml(value)),
                _ if later.iter().any(|(other, _)| other.name == setting.name) => {}
                kind => {
                    let _ = writeln!(text, "{} = {}", setting.name, kind.to_toml(value));
                }
            }
        }
        if !background.is_empty() {
            let _ = writeln!(text, "background = [{}]", background.join(", "));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use bitcost_model::conditions::{Conditions, Direction};

    use super::*;
    use crate::settings::{SETTINGS, set_text};
    use crate::topology::parse;

    fn typed(pairs: &[(&str, &str)]) -> Vec<(&'static Setting, String)> {
        let setting = |name: &str| SETTINGS.iter().find(|setting| setting.name == name);
        pairs
            .iter()
            .map(|(name, value)| (setting(name).unwrap(), (*value).to_owned()))
            .collect()
    }

    fn single<'a>(
        settings: &'a [(&'static Setting, String)],
        lab: Option<&'a LabSpec>,
    ) -> Single<'a> {
        Single {
            workload: Workload::TcpStream,
            settings,
            lab,
            runs: 1,
            until: None,
        }
    }

    #[test]
    fn typed_settings_are_those_of_the_only_cell() {
        let pairs = [
            ("message_size_bytes", "64K"),
            ("duration_s", "250ms"),
            ("latency", "true"),
            ("direction", "reverse"),
            ("background", "rr direction=reverse request-size=64"),
            ("background", "udp latency"),
            ("message_size_bytes", "1K"),
        ];
        let settings = typed(&pairs);
        let mut expected = Conditions::of(Workload::TcpStream);
        for (setting, value) in &settings {
            set_text(setting, &mut expected, value).unwrap();
        }
        let study = single(&settings, None).study().unwrap();
        let cells = study.cells();
        assert_eq!(cells.len(), 1);
        assert_eq!(cells[0].conditions, expected);
        assert_eq!(expected.direction, Direction::Reverse);
        assert_eq!(expected.background.len(), 2);
    }

    #[test]
    fn the_lab_of_a_file_reads_back() {
        let text = Preset::find("lab15").unwrap().text(None).unwrap();
        let topology = parse("mine.toml", &text).unwrap();
        let lab = LabSpec::new("mine", topology, None, None).unwrap();
        let study = single(&[], Some(&lab)).study().unwrap();
        assert_eq!(study.lab, lab);
        let again = Study::parse("again.toml", &study.text).unwrap();
        assert_eq!(again.lab.network, lab.network);
    }

    #[test]
    fn the_stop_rule_is_that_of_the_study() {
        let until = UntilInterval {
            metric: "throughput_mbps".to_owned(),
            width_pct: 5.0,
            max_blocks: 30,
            budget: None,
        };
        let single = Single {
            until: Some(&until),
            runs: 5,
            ..single(&[], None)
        };
        let study = single.study().unwrap();
        assert_eq!((study.until, study.blocks), (Some(until), 5));
    }
}
