//! Where the time goes, of made-up runs whose call chains are known.

use bitcost_analysis::compare::{self, Side};
use bitcost_analysis::profile::chains;
use bitcost_model::event::Event;
use bitcost_model::profile::{Layer, Profile, ProfileEvent, ProfiledStack, ProfiledTask};
use bitcost_model::record::Role;
use bitcost_model::study::{Cell, Label};
use bitcost_render::json::json;
use bitcost_testkit::assert_says;

use crate::common::{STUDY, ended, findings, html, is, log, plain};

/// Half of a CPU of two at the sender, and a quarter at the receiver, as the threads' clocks say.
fn profile(is_small: bool) -> Profile {
    let call = "[user];entry_SYSCALL_64_after_hwframe;do_syscall_64";
    let send = format!("{call};__x64_sys_sendto;__sys_sendto;tcp_sendmsg");
    let back = "__local_bh_enable_ip;handle_softirqs;net_rx_action;__napi_poll;process_backlog";
    let napi = || ProfiledTask::Napi("h2-eth0".to_owned());
    let poll = "kthread;napi_threaded_poll;__napi_poll;veth_poll";
    // A small message needs more calls, and less of everything else.
    let (tcp, entry) = if is_small { (250, 50) } else { (290, 10) };
    let stacks = [
        (
            ProfiledTask::Sender,
            format!("{send};tcp_sendmsg_locked"),
            tcp,
        ),
        (ProfiledTask::Sender, call.to_owned(), entry),
        (ProfiledTask::Sender, format!("{send};_copy_from_iter"), 150),
        (
            ProfiledTask::Sender,
            format!("{send};{back};br_handle_frame"),
            40,
        ),
        (ProfiledTask::Sender, format!("{send};{back}"), 10),
        (
            ProfiledTask::Receiver,
            format!("{call};a;b;c;unheard_of"),
            50,
        ),
        (napi(), format!("{poll};dev_gro_receive"), 200),
        (ProfiledTask::Agent, "[user]".to_owned(), 100),
        (ProfiledTask::Idle, "do_idle;default_idle".to_owned(), 1150),
    ];
    Profile {
        event: ProfileEvent::CpuClock,
        rate_hz: 500,
        window_ns: 2_000_000_000,
        cpus: 2,
        samples: 2000,
        lost: 0,
        cut: 0,
        dropped: 0,
        absent: vec![Layer::Netfilter],
        stacks: stacks
            .into_iter()
            .map(|(task, stack, count)| ProfiledStack {
                time_ns: None,
                cpu: None,
                task,
                stack,
                count,
            })
            .collect(),
    }
}

/// The log of three blocks, in which each run has a profiled twin with the same figures.
fn profiled_log() -> Vec<Event> {
    let small = |cell: &Cell| is(cell, "message_size_bytes", "1024");
    let made = log(STUDY, 3, |cell, planned| ended(cell, &plain(cell, planned)));
    let mut events = Vec::new();
    let mut cells = Vec::new();
    for mut event in made {
        if let Event::Planned { plan } = &event {
            let of_run = plan.runs.iter().map(|run| plan.cells[run.cell].clone());
            cells = of_run.collect();
        }
        if let Event::Prepared { endpoints, .. } = &mut event {
            for (end, name) in endpoints.iter_mut().zip(["h1-eth0", "h2-eth0"]) {
                end.host.device.name = name.to_owned();
            }
        }
        events.push(event.clone());
        if let Event::RunEnded {
            run,
            mut sender,
            receiver,
            ..
        } = event
        {
            sender.profile = Some(Box::new(profile(small(&cells[run as usize]))));
            events.push(Event::RunProfiled {
                run,
                start_uncertainty_us: 10.0,
                sender,
                receiver,
            });
        }
    }
    events
}

#[test]
fn the_layers_of_an_end_sum_to_its_cost() {
    let found = findings(&profiled_log());
    let profiled = found.profiled.as_ref().expect("profiled runs");
    assert_eq!(profiled.cells.len(), 4);
    for cell in &profiled.cells {
        let summary = &found.summary.cells[cell.cell];
        for (role, metric) in [
            (Role::Sender, "send_service_demand_us_per_kib"),
            (Role::Receiver, "receive_service_demand_us_per_kib"),
        ] {
            let end = cell.end(role).expect("a profiled end");
            let demand = 1000.0 * summary.figure(metric).expect("a cost").value;
            let layers: f64 = end.layers.iter().map(|(_, time)| time.value).sum();
            for sum in [
                end.sum.value,
                layers,
                end.accounted.expect("an account").value,
            ] {
                assert!((sum / demand - 1.0).abs() < 1e-6, "{sum} {demand}");
            }
        }
        let sender = cell.end(Role::Sender).unwrap();
        // What the bridge does on the sender's back, with what comes before it is seen.
        assert!((sender.share(Layer::Wire) - 0.1).abs() < 1e-6);
        let receiver = cell.end(Role::Receiver).unwrap();
        // A fifth of the receiver's samples is its traffic thread's, whose clock has half of the time.
        assert!((receiver.share(Layer::OtherKernel) - 0.5).abs() < 1e-6);
        assert!((receiver.share(Layer::Segmentation) - 0.5).abs() < 1e-6);
        assert_eq!(receiver.unclassified[0].0, "unheard_of");
    }
    let (_, ratio) = profiled.costs[0];
    assert!(
        (ratio.value - 1.0).abs() < 1e-9,
        "twins with the same figures"
    );
}

/// Samples of a CPU stand for the time for which it was busy, however many were taken.
#[test]
fn samples_stand_for_the_busy_time_of_their_cpu() {
    let mut events = profiled_log();
    let halved = |stack: &mut ProfiledStack| {
        let is_idle = stack.task == ProfiledTask::Idle;
        stack.time_ns = (!is_idle).then_some(stack.count * 4_000_000);
    };
    for event in &mut events {
        if let Event::RunProfiled { sender, .. } = event {
            let profile = sender.profile.as_mut().expect("a profile");
            profile.stacks.iter_mut().for_each(halved);
        }
    }
    let sum = |events: &[Event]| {
        let found = findings(events);
        let profiled = found.profiled.expect("profiled runs");
        let end = profiled.cells[0]
            .end(Role::Sender)
            .expect("an end")
            .sum
            .value;
        (end, profiled.cells[0].missed())
    };
    let ((plain, none), (timed, half)) = (sum(&profiled_log()), sum(&events));
    assert!((timed / plain - 2.0).abs() < 1e-6, "{timed} {plain}");
    assert!(none == 0.0 && (half - 0.5).abs() < 1e-6, "{half}");
}

#[test]
fn a_difference_is_that_of_its_layers() {
    let found = findings(&profiled_log());
    let side = |size: i64| Side(vec![("message_size_bytes".into(), Label::Number(size))]);
    let comparison = compare::within(&found, &side(8192), &side(1024), &[], 3.0);
    let text = bitcost_render::comparison_text::comparison_text(&comparison, None);
    assert_says(&text, &["at the sender", "system call"]);
    for cell in &comparison.cells {
        for change in &cell.layers {
            let layers: f64 = change.layers.iter().map(|of| of.ns.value).sum();
            assert!((layers - change.sum.value).abs() < 1e-6);
        }
        assert_eq!(cell.layers[0].layers[0].layer, Layer::Transport);
    }
    let improvements = &found.profiled.as_ref().unwrap().improvements;
    assert_eq!(improvements[0].0, "UDP: 1024 → 8192");
}

#[test]
fn every_form_says_where_the_time_goes() {
    let events = profiled_log();
    let found = findings(&events);
    let document = json(&found);
    let cell = &document["profile"]["cells"][0];
    assert_eq!(cell["event"], "cpu-clock");
    assert!(cell["ends"]["sender"]["layers"]["copy"]["value"].is_f64());
    let absent = &cell["ends"]["receiver"]["absent"];
    assert_eq!(absent[0], "netfilter");
    let page = html(&events, found.summary.clone());
    assert!(page.contains("not known"), "a layer without an entry point");
    assert!(page.contains("Where the time goes") && page.contains("figure class=\"chains\""));
    let all = chains(&found, |cell| cell == 0);
    assert!(all[1].is_empty());
    let known = all[0]
        .iter()
        .find(|(chain, _)| chain.starts_with("receiver;kthread"));
    assert_eq!(
        known.map(|(_, samples)| *samples),
        Some(600),
        "three runs of 200 samples"
    );
}
