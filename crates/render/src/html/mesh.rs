//! The heat map of a mesh, whose hosts can be sorted by their effects, and the hosts and pairs that are slower.

use bitcost_analysis::findings::Findings;
use bitcost_analysis::mesh::MeshFindings;
use bitcost_analysis::metrics::Better;

use super::writer::{Html, escape};
use crate::mesh::{mesh_paragraphs, mesh_sentence};
use crate::number;

/// Most hosts of a heat map.
const HOSTS_MOST: usize = 128;

pub(crate) fn section(page: &mut Html, execution: &Findings) {
    let Some(of) = &execution.mesh else { return };
    page.element("p", "answer long", &mesh_sentence(of));
    page.list(mesh_paragraphs(of));
    if of.mesh.hosts.len() > HOSTS_MOST {
        let words = format!("No heat map is drawn of more than {HOSTS_MOST} hosts.");
        page.element("p", "fine", &words);
        return;
    }
    page.element("h2", "", "Heat map");
    map(page, of);
}

/// A table whose cells are the darker, the worse their pair is in comparison with the median of all.
fn map(page: &mut Html, of: &MeshFindings) {
    let hosts = &of.mesh.hosts;
    let middle = of.spread().map_or(1.0, |spread| spread[2]);
    let effect = |side: usize, host: usize| {
        let model = of.model.as_ref();
        let sides = model.map(|model| [&model.rows, &model.columns]);
        sides
            .and_then(|sides| sides[side][host])
            .map_or(0.0, |effect| effect.value)
    };
    page.raw("<figure class=\"heat\">\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Heat map\">\n<table>\n<thead><tr><th scope=\"col\">sender</th>");
    for (place, host) in hosts.iter().enumerate() {
        let effect = effect(1, place);
        page.raw(&format!(
            "<th scope=\"col\" data-effect=\"{effect:.5}\">{}</th>",
            escape(host)
        ));
    }
    page.raw("</tr></thead>\n<tbody>\n");
    for (sender, host) in hosts.iter().enumerate() {
        let effect = effect(0, sender);
        page.raw(&format!(
            "<tr data-effect=\"{effect:.5}\"><th scope=\"row\">{}</th>",
            escape(host)
        ));
        for receiver in 0..hosts.len() {
            match of.value((sender, receiver)) {
                Some(value) => {
                    let ratio = match of.metric.better {
                        Better::Lower => middle / value,
                        _ => value / middle,
                    };
                    let share = (100.0 * (1.0 - ratio)).clamp(0.0, 100.0);
                    page.raw(&format!(
                        "<td title=\"{}\" style=\"background:color-mix(in srgb,var(--worse) {:.0}%,transparent)\">{value:.0}</td>",
                        escape(&details(of, (sender, receiver), value)),
                        share * 0.8
                    ));
                }
                None => {
                    page.raw("<td></td>");
                }
            }
        }
        page.raw("</tr>\n");
    }
    page.raw("</tbody>\n</table>\n</div>\n");
    let words = format!(
        "{} in {}, senders in rows, receivers in columns; the darker, the worse than the median of all pairs; empty where a pair was not measured.",
        of.metric.title, of.metric.unit
    );
    page.element("figcaption", "", &words);
    page.raw("</figure>\n");
}

/// `n1 → n2: 941 Mbit/s, 0.73 µs/KiB, link or shaper rate`
fn details(of: &MeshFindings, (sender, receiver): (usize, usize), value: f64) -> String {
    let hosts = &of.mesh.hosts;
    let mut words = vec![format!("{} {}", number::plain(value), of.metric.unit)];
    let cost = of.cost((sender, receiver));
    words.extend(cost.map(|cost| format!("{} µs/KiB", number::plain(cost))));
    words.extend(of.limiter((sender, receiver)).map(ToString::to_string));
    format!(
        "{} → {}: {}",
        hosts[sender],
        hosts[receiver],
        words.join(", ")
    )
}
