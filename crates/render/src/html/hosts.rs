//! The hosts with their settings, starting with those that differ between the endpoints.

use crate::lines::Lines;
use bitcost_analysis::findings::Findings;
use bitcost_model::event::EndpointDescription;
use bitcost_model::harmless;
use bitcost_model::machine::HostDescription;

use crate::html::writer::Html;

pub(crate) fn section(page: &mut Html, execution: &Findings) {
    let ends = &execution.summary.ends;
    if ends.is_empty() {
        return;
    }
    let place = |end: &EndpointDescription| format!("{} ({})", end.role.name(), end.place);
    let header = std::iter::once("host".to_owned()).chain(ends.iter().map(place));
    let fact = |(name, of): &Fact| {
        let facts = ends.iter().map(|end| harmless(&of(&end.host)));
        std::iter::once((*name).to_owned()).chain(facts).collect()
    };
    let lines = Lines::new(header, FACTS.iter().map(fact));
    let words = "kernel, processor and interface of both ends";
    page.fold("Hosts", words, |page| {
        if let [sender, receiver] = &ends[..] {
            differences(page, sender, receiver);
        }
        page.table("Hosts", &lines);
    });
}

fn differences(page: &mut Html, sender: &EndpointDescription, receiver: &EndpointDescription) {
    let found = receiver.host.differences(&sender.host);
    if found.is_empty() {
        let words = "Both ends have the same kernel, processor, interface settings and sysctls.";
        page.element("p", "", words);
        return;
    }
    let words = "Differences between the ends (\u{201c}was\u{201d} is the sender, \u{201c}is\u{201d} the receiver):";
    let sentences = found.into_iter().map(|(_, sentence)| sentence);
    page.element("p", "", words).list(sentences);
}

/// A fact's name, and its words.
type Fact = (&'static str, fn(&HostDescription) -> String);

const FACTS: &[Fact] = &[
    ("Host name", |host| host.host_name.clone()),
    ("Kernel", |host| host.kernel.clone()),
    ("Architecture", |host| host.architecture.clone()),
    ("Processor", |host| known(host.cpu_model.as_deref())),
    ("CPUs", |host| {
        format!("{} ({:?})", host.cpus.len(), host.cpus)
    }),
    ("Frequency governor", |host| known(host.governor.as_deref())),
    ("Memory", |host| {
        host.memory_kib
            .map_or("not known".into(), |kib| format!("{} MiB", kib / 1024))
    }),
    ("Interface", |host| host.device.name.clone()),
    ("Driver", |host| known(host.device.driver.as_deref())),
    ("MTU", |host| format!("{} bytes", host.device.mtu_bytes)),
    ("Queueing", |host| host.device.qdiscs.join(" ")),
    ("Threaded NAPI", |host| {
        host.device.napi_threaded.map_or("not known".into(), |on| {
            if on { "on" } else { "off" }.into()
        })
    }),
    ("Receive work", |host| {
        known(host.device.receives.as_deref())
    }),
    ("Root", |host| {
        if host.is_root { "yes" } else { "no" }.into()
    }),
    ("bitcost", |host| host.bitcost_version.clone()),
];

fn known(word: Option<&str>) -> String {
    word.unwrap_or("not known").to_owned()
}
