//! The scenarios of `scenarios.txt`: their settings, and the limiter that follows from them by construction.

use std::sync::LazyLock;

use bitcost_model::conditions::Workload;
use bitcost_model::record::Role;

use super::able::Able;

/// The path between the two hosts.
#[derive(Debug)]
pub enum Between {
    /// The wire that plays the network cards.
    Wire,
    /// The same with this queueing discipline at its port towards the receiver.
    Queue(&'static str),
    /// A link emulator that no counter reports.
    Emulator(PathSettings),
    /// The lab of this lab file, with all its counters.
    Lab(String),
}

/// The settings of the link emulator towards the receiver; the other direction also has half of the
/// delay.
#[derive(Clone, Copy, Debug)]
pub struct PathSettings {
    pub rtt_ms: u64,
    pub loss_pct: f64,
    pub rate_bps: Option<u64>,
}

/// A run whose bottleneck is known.
#[derive(Debug)]
pub struct Scenario {
    /// Its name; it begins with the limiter's.
    pub name: &'static str,
    /// The right limiters, by their names in JSON.
    pub right: Vec<&'static str>,
    /// Whether both limit, each for a part of the time.
    pub is_divided: bool,
    /// Whether no bound was chosen by means of it.
    pub is_variant: bool,
    pub workload: Workload,
    /// By the names that studies use.
    pub settings: Vec<(&'static str, &'static str)>,
    pub between: Between,
    pub mtu_bytes: u32,
    /// An endpoint's CPU time: in per cent of a CPU (`50%`), or a share of what it uses (`x0.5`).
    pub quota: Option<(Role, &'static str)>,
    /// Sizes of messages, in bytes, of further runs that give the cost model which its verdict
    /// needs.
    pub sweep: Vec<u32>,
    /// The part that its records lack: connections or threads.
    pub without: &'static str,
}

static SCENARIOS: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
    let lines = include_str!("scenarios.txt").lines();
    let rows = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|line| Scenario::read(line).unwrap_or_else(|| panic!("scenarios.txt: {line}")))
        .collect()
});

/// Every scenario that is judged.
pub fn all() -> impl Iterator<Item = &'static Scenario> {
    SCENARIOS
        .iter()
        .filter(|scenario| scenario.group() != "able")
}

/// The scenario of this name.
pub fn named(name: &str) -> Option<&'static Scenario> {
    SCENARIOS.iter().find(|scenario| scenario.name == name)
}

impl Scenario {
    fn read(line: &'static str) -> Option<Scenario> {
        let mut columns = line.split('|').map(str::trim);
        let [name, settings, rest] = [columns.next()?, columns.next()?, columns.next()?];
        let bare = name.trim_start_matches('~');
        let mut scenario = Scenario {
            name: bare,
            right: vec![bare.split(':').next()?],
            is_divided: false,
            is_variant: name != bare,
            workload: Workload::TcpStream,
            settings: settings
                .split("; ")
                .filter_map(|pair| pair.split_once('='))
                .collect(),
            between: Between::Wire,
            mtu_bytes: 1500,
            quota: None,
            sweep: Vec::new(),
            without: "",
        };
        for part in rest.split("; ").filter(|part| !part.is_empty()) {
            scenario.add(part)?;
        }
        Some(scenario)
    }

    fn add(&mut self, part: &'static str) -> Option<()> {
        let (word, rest) = part.split_once(' ').unwrap_or((part, ""));
        let words: Vec<&str> = rest.split(' ').collect();
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        match word {
            "udp" => self.workload = Workload::UdpStream,
            "queue" => self.between = Between::Queue(rest),
            "path" => {
                self.between = Between::Emulator(PathSettings {
                    rtt_ms: number(0)?,
                    loss_pct: words.get(1).map_or(Some(0.0), |loss| loss.parse().ok())?,
                    rate_bps: number(2),
                });
            }
            "lab" => {
                let values = [number(0)?, number(1)?, number(2)?, number(3)?];
                self.between = Between::Lab(lab(values));
            }
            "quota" if words[0] == "sender" => self.quota = Some((Role::Sender, words[1])),
            "quota" => self.quota = Some((Role::Receiver, words[1])),
            "sweep" => {
                self.sweep = words
                    .iter()
                    .map(|size| size.parse().ok())
                    .collect::<Option<_>>()?;
                self.mtu_bytes = 8896;
            }
            "right" => {
                self.is_divided = words[0] == "both";
                self.right = words.into_iter().filter(|word| *word != "both").collect();
            }
            "without" => self.without = rest,
            _ => return None,
        }
        Some(())
    }

    /// True where something of it follows from what the machine can do.
    pub fn is_scaled(&self) -> bool {
        let is_template = |text: &str| text.contains('{');
        self.settings.iter().any(|(_, text)| is_template(text))
            || matches!(self.between, Between::Queue(text) if is_template(text))
            || self.quota.is_some_and(|(_, text)| text.starts_with('x'))
    }

    /// True where other programs take the CPU of an endpoint.
    pub fn is_contended(&self) -> bool {
        self.settings.iter().any(|(name, _)| *name == "stress")
    }

    /// The quota of an endpoint, in per cent of a CPU.
    pub fn quota_pct(&self, able: &Able) -> Option<u32> {
        let (role, text) = self.quota?;
        match text.strip_prefix('x') {
            None => text.strip_suffix('%')?.parse().ok(),
            Some(share) => {
                let cpus = able.tcp_cpus[usize::from(role == Role::Receiver)];
                Some((100.0 * share.parse::<f64>().ok()? * cpus).clamp(5.0, 90.0) as u32)
            }
        }
    }

    /// The limiter by construction: the part of the name before the colon.
    pub fn group(&self) -> &'static str {
        self.name.split(':').next().unwrap_or(self.name)
    }
}

/// A lab whose last switch delays and has room for few bytes towards the receiver.
fn lab([switches, delay_ms, back_ms, bytes]: [u64; 4]) -> String {
    let names: Vec<String> = (1..=switches).map(|n| format!("\"s{n}\"")).collect();
    let mut text = format!(
        "hosts = [\"h1\", \"h2\"]\nswitches = [{}]\n",
        names.join(", ")
    );
    let nodes = [
        &["\"h1\"".to_owned()][..],
        &names[..],
        &["\"h2\"".to_owned()],
    ]
    .concat();
    for ends in nodes.windows(2) {
        text += &format!("[[link]]\nends = [{}, {}]\n", ends[0], ends[1]);
    }
    if back_ms > 0 {
        text += &format!("[egress.s1-eth1]\ndelay = \"{back_ms}ms\"\n");
    }
    text += &format!(
        "[egress.s{switches}-eth2]\ndelay = \"{delay_ms}ms\"\nqueue_limit = \"{bytes} B\"\n"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_scenario_whose_templates_are_filled() {
        let able = Able {
            udp_bps: 8e9,
            small_tcp_bps: 3e9,
            ..Able::default()
        };
        assert_eq!(all().count(), 61);
        assert_eq!(able.filled("rate {udp/4}M"), "rate 2000M");
        assert_eq!(able.filled("{small burst}"), "212500000");
        for scenario in all() {
            for (_, text) in &scenario.settings {
                assert!(!able.filled(text).contains('{'), "{text}");
            }
        }
    }
}
