//! One study file, in the lab and between hosts; and an execution that is resumed.

use super::{DATA, DATA_ADDRESS, Field, install};
use crate::bench::*;

bitcost_testkit::trials! {
    PrivateNetwork: study_runs_between_ssh_hosts, resume_uses_the_hosts_of_the_log,
        data_take_an_address_of_one_link;
}

/// A study in which both endpoints change settings of their hosts.
fn study() -> String {
    SMALL.replace("[workload]\n", "[workload]\noffloads = \"off\"\n")
}

/// A copy of the program plays each endpoint; settings are in effect during the runs and restored
/// after them.
fn study_runs_between_ssh_hosts() {
    let field = Field::new();
    field.bench.write("small.toml", &study());
    let before = field.features();
    let running = field.start(&["run", "small.toml", "--seed", "1", "--json"]);
    eventually(PATIENCE, "offloads are off at both hosts", || {
        field
            .features()
            .iter()
            .all(|text| text.contains("\ntcp-segmentation-offload: off"))
            .then_some(())
    });
    let done = running.finish(PATIENCE).with_code(0);
    field.assert_nothing_left();
    assert_eq!(field.features(), before);
    assert_eq!(runs_per_cell(&done.json()), [3, 3]);
    done.assert_says("[lab] is not used: topology wire, mtu_bytes 1500");
    let log = field.bench.log();
    let Some(Event::Prepared {
        lab: None,
        endpoints: ends,
        hosts: Some(hosts),
        ..
    }) = log
        .events
        .iter()
        .find(|event| matches!(event, Event::Prepared { .. }))
    else {
        panic!("no hosts in the log")
    };
    assert_eq!(
        [&hosts.sender.place, &hosts.receiver.place],
        ["ssh:a", "ssh:root@b"]
    );
    assert!(
        ends.iter()
            .all(|end| end.host.device.name == DATA && end.host.is_root),
        "{ends:?}"
    );
    done.assert_says(&format!("receiver at ssh:root@b, {DATA} {DATA_ADDRESS}"));
    // The same file in the lab.
    let done = field
        .bench
        .bitcost(&["run", "small.toml", "--out", "lab", "--json"])
        .with_code(0);
    assert_eq!(runs_per_cell(&done.json()), [3, 3]);
}

/// Each host has a second interface with an address of its link.
fn data_take_an_address_of_one_link() {
    let field = Field::new();
    install(&field);
    let show = ["-6", "-o", "addr", "show", "dev", DATA, "scope", "link"];
    let own = |host: usize| {
        eventually(PATIENCE, "an address of the link", || {
            let shown = field.hosts[host].print("ip", &show);
            let (_, rest) = shown.split_once("inet6 ")?;
            let is_ready = !shown.contains("tentative");
            is_ready.then(|| rest.split('/').next().unwrap().to_owned())
        })
    };
    let [sender, receiver] = [own(0), own(1)];
    let ends = format!("sender at ssh:a, {DATA} {sender}; receiver at ssh:b, {DATA} {receiver}");
    let config = field.servers.config();
    let config = config.to_str().unwrap();
    let hosts = "--sender a --receiver b --receiver-address";
    for words in [
        "tcp",
        "tcp -R",
        "tcp --bidir",
        "udp -b 2M",
        "udp -b 2M -R",
        "crr",
    ] {
        let to = format!("test {words} -t 300ms {hosts} {receiver}%{DATA} --ssh-config {config}");
        let done = field.bench.bitcost(&split(&to)).with_code(0);
        done.assert_says(&ends);
    }
    let to = format!("test tcp {hosts} {receiver} --ssh-config {config}");
    let done = field.bench.bitcost(&split(&to)).with_code(2);
    done.assert_says("needs the interface of the host that connects");
    field.assert_nothing_left();
}

fn resume_uses_the_hosts_of_the_log() {
    let field = Field::new();
    install(&field);
    field.bench.write("small.toml", &study());
    field
        .start(&["run", "small.toml", "--seed", "1"])
        .finish(PATIENCE)
        .assert_code(0);
    let path = log_file(&field.bench.execution());
    let whole = fs::read_to_string(&path).unwrap();
    let is_of_run = |line: &&str| {
        let is_end = line.contains("\"event\":\"execution_ended\"");
        !line.contains("\"run\":5") && !is_end
    };
    let cut: String = whole
        .lines()
        .filter(is_of_run)
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(&path, cut).unwrap();
    assert_eq!(runs_per_cell(&field.bench.resume()), [3, 3]);
    field.assert_nothing_left();
    let folder = field.bench.execution();
    let resume = |config: Option<&str>| {
        let words = ["run", "--resume", folder.to_str().unwrap()];
        let hosts = config.map(|config| {
            [
                "--sender",
                "ssh:b",
                "--receiver",
                "ssh:a",
                "--ssh-config",
                config,
            ]
        });
        let hosts = hosts.into_iter().flatten();
        let done = field
            .bench
            .bitcost(&words.into_iter().chain(hosts).collect::<Vec<_>>());
        (done.code, done.stderr)
    };
    let text = fs::read_to_string(&path).unwrap();
    let line = text
        .lines()
        .find(|line| line.contains("\"event\":\"prepared\""))
        .unwrap();
    let mut prepared: Value = serde_json::from_str(line).unwrap();
    prepared["endpoints"][1]["host"]["host_name"] = "elsewhere".into();
    fs::write(
        &path,
        bitcost_execute::store::seal_again(&text.replace(line, &unsealed(prepared.clone()))),
    )
    .unwrap();
    let (code, said) = resume(None);
    assert_eq!(code, Some(3), "{said}");
    assert_says(&said, &["receiver: host name: was elsewhere, is "]);
    prepared["lab"] =
        serde_json::json!({"topology": "wire", "mtu_bytes": 1500, "napi": "threaded"});
    prepared.as_object_mut().unwrap().remove("hosts");
    fs::write(
        &path,
        bitcost_execute::store::seal_again(&text.replace(line, &unsealed(prepared))),
    )
    .unwrap();
    let config = field.servers.config();
    let (code, said) = resume(config.to_str());
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("began in the embedded lab"), "{said}");
}
