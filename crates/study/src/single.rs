//! One run that options describe instead of a study file: it is a study of one cell.

use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;
use bitcost_model::host_settings::{AS_FOUND, SettingRequest};
use bitcost_model::record::Role;
use bitcost_model::settings::{Kind, Setting};
use bitcost_model::study::{LabSpec, UntilInterval};
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

use crate::definition::Study;
use crate::topology::{Preset, USUAL, to_table};

/// The MTU of a study between named hosts, whose own interfaces are checked when they are
/// connected, in bytes.
const ANY_MTU_BYTES: u32 = 65_535;

const TRANSACTION_METRICS: [&str; 5] = [
    "transactions_per_second",
    "latency_p50_us",
    "latency_p99_us",
    "send_service_demand_us_per_transaction",
    "receive_service_demand_us_per_transaction",
];

/// One run, or several of the same kind.
pub struct Single<'a> {
    /// What the settings give, which is possible in the lab.
    pub conditions: &'a Conditions,
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
    /// The study with one cell, as the text that a log keeps describes it.
    pub fn study(&self) -> Result<Study, Invalid> {
        let test = self.conditions.workload.info().short_name;
        let study = Study::parse(&format!("test-{test}.toml"), &self.text(test))?;
        let lab = match self.lab {
            Some(lab) => lab.clone(),
            None => LabSpec {
                network: Default::default(),
                ..study.lab
            },
        };
        Ok(Study { lab, ..study })
    }

    fn text(&self, test: &str) -> String {
        let mut workload = Table::from_iter([("workload", self.conditions.workload.name())]);
        write_settings(&mut workload, self.settings, self.conditions);
        let mut run = Table::new();
        run["blocks"] = value(i64::from(self.runs));
        if let Some(until) = self.until {
            run["until_interval_pct"] = value(until.width_pct);
            run["until_metric"] = value(&until.metric);
            run["max_blocks"] = value(i64::from(until.max_blocks));
        }
        let mut text = DocumentMut::new();
        text["title"] = value(format!("bitcost test {test}"));
        text["question"] = value("How fast is it, what does it cost, and what limits it?");
        text["lab"] = Item::Table(lab_table(self.lab));
        text["workload"] = Item::Table(workload);
        text["run"] = Item::Table(run);
        if self.conditions.workload.is_transactional() {
            let metrics = [("metrics", Array::from_iter(TRANSACTION_METRICS))];
            text["table"] = Item::Table(Table::from_iter(metrics));
        }
        // Its only factor, whose only level is the test.
        text.to_string()
            + &format!("\n[[factor]]\nname = \"test\"\nlevels = [{{ label = \"{test}\" }}]\n")
    }
}

/// Writes settings with their values as typed into a table of a study, of settings of hosts all that the conditions
/// request.
pub(crate) fn write_settings(
    table: &mut dyn TableLike,
    settings: &[(&'static Setting, String)],
    conditions: &Conditions,
) {
    let mut background = Array::new();
    for (setting, typed) in settings {
        match setting.kind {
            Kind::Background => background.push(typed),
            // Earlier kernel parameters with other names stay, which the last value does not name.
            Kind::Host(_) => {
                let requests = conditions.host_settings.iter();
                let of_setting = requests.filter(|one| one.setting.name() == setting.name);
                let texts = of_setting.map(|SettingRequest { endpoint, setting }| {
                    format!("{}: {setting}", endpoint.map_or("both", Role::name))
                });
                let texts: Vec<String> = texts.collect();
                let text = match texts.is_empty() {
                    true => AS_FOUND.to_owned(),
                    false => texts.join("; "),
                };
                table.insert(setting.name, value(text));
            }
            kind => {
                // The order counts, as that of a number of bytes and a warm-up.
                table.remove(setting.name);
                let item = match kind {
                    // One without a value is on.
                    Kind::Switch(_) => value(typed != "false"),
                    _ => value(typed),
                };
                table.insert(setting.name, item);
            }
        }
    }
    if !background.is_empty() {
        table.insert("background", value(background));
    }
}

/// The lab's table; between named hosts one whose MTU any interface has.
fn lab_table(lab: Option<&LabSpec>) -> Table {
    if let Some(lab) = lab
        && Preset::find(&lab.topology).is_none()
    {
        return to_table(&lab.network);
    }
    let (name, mtu_bytes) =
        lab.map_or((USUAL, ANY_MTU_BYTES), |lab| (&lab.topology, lab.mtu_bytes));
    let mut table = Table::from_iter([("topology", name)]);
    table["mtu_bytes"] = value(i64::from(mtu_bytes));
    table
}

#[cfg(test)]
mod tests {
    use bitcost_model::conditions::{Direction, Workload};
    use bitcost_model::settings::SETTINGS;

    use super::*;
    use crate::topology::parse;

    fn typed(pairs: &[(&str, &str)]) -> Vec<(&'static Setting, String)> {
        let setting = |name: &str| SETTINGS.iter().find(|setting| setting.name == name);
        pairs
            .iter()
            .map(|(name, value)| (setting(name).unwrap(), (*value).to_owned()))
            .collect()
    }

    fn conditions(settings: &[(&'static Setting, String)]) -> Conditions {
        let mut conditions = Conditions::of(Workload::TcpStream);
        for (setting, value) in settings {
            setting.set_text(&mut conditions, value).unwrap();
        }
        conditions
    }

    #[test]
    fn typed_settings_are_those_of_the_only_cell() {
        let pairs = [
            ("message_size_bytes", "64K"),
            ("duration_s", "250ms"),
            ("direction", "reverse"),
            (
                "background",
                "rr direction=reverse request-size=64 nodelay=",
            ),
            ("background", "udp delay-variation"),
            ("sysctl", "net.ipv4.tcp_sack=0"),
            ("mtu_bytes", "sender: 9000"),
            ("sysctl", "sender: net.ipv4.tcp_dsack=0"),
            ("sysctl", "as-found"),
            ("message_size_bytes", "1K"),
        ];
        let settings = typed(&pairs);
        let expected = conditions(&settings);
        let study = single(&expected, &settings, None).study().unwrap();
        let cells = study.cells();
        assert_eq!(cells.len(), 1);
        assert_eq!(cells[0].conditions, expected);
        assert_eq!(expected.direction, Direction::Reverse);
        assert_eq!(expected.background.len(), 2);
        assert_eq!(expected.host_settings.len(), 3);
        assert_reads_back(&study);
    }

    /// The text of a study gives it again.
    fn assert_reads_back(study: &Study) {
        let again = Study::parse(&study.file, &study.text).unwrap();
        let whole = |study: &Study| format!("{study:?}");
        let parts = |study: &Study| Study {
            text: String::new(),
            lab: LabSpec {
                network: Default::default(),
                ..study.lab.clone()
            },
            factors: Vec::new(),
            ..study.clone()
        };
        assert_eq!(whole(&parts(&again)), whole(&parts(study)));
        assert_eq!(again.cells(), study.cells());
        assert_eq!(again.text, study.text);
    }

    fn single<'a>(
        conditions: &'a Conditions,
        settings: &'a [(&'static Setting, String)],
        lab: Option<&'a LabSpec>,
    ) -> Single<'a> {
        Single {
            conditions,
            settings,
            lab,
            runs: 1,
            until: None,
        }
    }

    #[test]
    fn the_lab_of_a_file_reads_back() {
        let text = Preset::find("lab15").unwrap().text;
        let topology = parse("mine.toml", text).unwrap();
        let lab = LabSpec::new("mine", topology, None, None).unwrap();
        let study = single(&conditions(&[]), &[], Some(&lab)).study().unwrap();
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
        };
        let given = conditions(&[]);
        let single = Single {
            until: Some(&until),
            runs: 5,
            ..single(&given, &[], None)
        };
        let study = single.study().unwrap();
        assert_reads_back(&study);
        assert_eq!((study.until, study.blocks), (Some(until), 5));
    }
}
