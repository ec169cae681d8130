//! The pages that are tables of the code: settings, metrics, workloads, limiters.

use bitcost_analysis::explain::LIMITERS;
use bitcost_analysis::metrics::{Better, METRICS};
use bitcost_host::KNOBS;
use bitcost_model::modes::MODES;
use bitcost_model::settings::{SETTINGS, Setting};
use bitcost_model::workload::WORKLOADS;
use bitcost_render::markdown_table::cell;

/// The option of a setting on the command line, with its other names.
fn options(setting: &Setting) -> String {
    let Some(flag) = setting.flag else {
        return "–".to_owned();
    };
    let letter = flag.letter.map(|letter| format!("`-{letter}`, "));
    format!("{}`--{}`", letter.unwrap_or_default(), flag.long)
}

/// Settings of runs, and the settings of hosts behind some of them.
pub fn settings() -> String {
    let mut text = String::from(
        "# Settings\n\nA setting has this name in `[workload]` and in the levels of a factor of a study, and this option in \
         `bitcost test` and in the text of `background`. How a host's setting is made and restored: \
         [Settings of the hosts](../method/settings.md).\n\n\
         | setting | option of `test` | values | what it does |\n|---|---|---|---|\n",
    );
    for setting in SETTINGS {
        text += &format!(
            "| `{}` | {} | {} | {} |\n",
            setting.name,
            options(setting),
            cell(&setting.kind.allowed()),
            cell(setting.about)
        );
    }
    text += "\nA background workload has all of these settings but those of the whole run: ";
    let of_run = SETTINGS.iter().filter(|setting| setting.is_of_run());
    let names: Vec<String> = of_run
        .map(|setting| format!("`{}`", setting.name))
        .collect();
    let knobs = KNOBS.iter().map(|knob| format!("`{}`", knob.name()));
    text += &format!(
        "{}.\n\n## Knobs: settings of a host\n\nA run observes, sets, reads back and restores these; `bitcost host show` \
         prints their values: {}.\n",
        names.join(", "),
        knobs.collect::<Vec<_>>().join(", ")
    );
    text
}

/// Every metric with its formula, and the place of its definition with scope and error.
pub fn metrics() -> String {
    let mut text = String::from(
        "# Metrics\n\n[Metrics](../method/metrics.md) adds to each of these its scope and its error. The name is the one in studies, \
         options, JSON and CSV.\n\n| metric | title | unit | better | formula |\n|---|---|---|---|---|\n",
    );
    for metric in METRICS.iter() {
        let better = match metric.better {
            Better::Higher => "higher",
            Better::Lower => "lower",
            Better::Neither => "–",
        };
        let unit = Some(metric.unit).filter(|unit| !unit.is_empty());
        text += &format!(
            "| `{}` | {} | {} | {better} | {} |\n",
            metric.name,
            cell(metric.title),
            unit.unwrap_or("–"),
            cell(metric.doc)
        );
    }
    text
}

/// Every workload, and the modes of their endpoints.
pub fn workloads() -> String {
    let mut text = String::from(
        "# Workloads\n\n[Traffic](../method/traffic.md) says what each of them counts.\n\n\
         | in studies | `bitcost test` | netperf | what it does | message, bytes |\n|---|---|---|---|---|\n",
    );
    for row in WORKLOADS {
        text += &format!(
            "| `{}` | `{}` | `{}` | {} | {} |\n",
            row.name,
            row.short_name,
            row.netperf_name,
            cell(row.summary),
            row.workload.usual_message_bytes()
        );
    }
    text += "\n## Modes\n\n`send_mode` and `receive_mode` (`--send-mode`, `--receive-mode`) say how an endpoint hands over or takes \
             messages; [Modes](../method/traffic.md#modes) has their calls, counters and kernels.\n\n\
             | endpoint | mode | workloads | what it does |\n|---|---|---|---|\n";
    for row in MODES {
        let names: Vec<String> = row
            .workloads
            .iter()
            .map(|workload| format!("`{}`", workload.info().name))
            .collect();
        let workloads = match &names[..] {
            [] => "all".to_owned(),
            names => names.join(", "),
        };
        text += &format!(
            "| {} | `{}` | {workloads} | {} |\n",
            row.end.name(),
            row.mode.name(),
            cell(row.about)
        );
    }
    text
}

pub fn limiters() -> String {
    let mut text = String::from(
        "# Limiters\n\nA verdict names one of these as the bottleneck. [Bottleneck](../method/bottleneck.md) has the evidence that each \
         needs, and how often the verdict is right.\n\n| verdict | in JSON | what to change |\n|---|---|---|\n",
    );
    for row in LIMITERS {
        let remedy = match row.remedy {
            "" => "–".to_owned(),
            words => cell(words),
        };
        text += &format!("| {} | `{}` | {remedy} |\n", cell(row.title), row.name);
    }
    text
}
