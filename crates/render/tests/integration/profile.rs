//! Where the time goes, of made-up runs whose call chains are known.

use crate::common::*;
use bitcost_analysis::profile::folded;
use bitcost_model::profile::{Layer, Profile, ProfileEvent, ProfiledStack, ProfiledTask};
use bitcost_render::document::json;

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
        stacks: stacks
            .into_iter()
            .map(|(task, stack, count)| ProfiledStack {
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
        let mut cells = found.summary.cells.iter();
        let summary = cells
            .find(|summary| summary.name() == cell.cell)
            .expect("a cell");
        for (role, metric) in [
            (Role::Sender, "send_service_demand_us_per_kib"),
            (Role::Receiver, "receive_service_demand_us_per_kib"),
        ] {
            let end = &cell.ends[&role];
            let demand = 1000.0 * summary.figure(metric).expect("a cost").value;
            let layers: f64 = end.layers.values().map(|layer| layer.time.value).sum();
            for sum in [
                end.sum.value,
                layers,
                end.accounted.expect("an account").value,
            ] {
                assert!((sum / demand - 1.0).abs() < 1e-6, "{sum} {demand}");
            }
        }
        let sender = &cell.ends[&Role::Sender];
        // What the bridge does on the sender's back, with what comes before it is seen.
        assert!((sender.layers[&Layer::Wire].share_pct - 10.0).abs() < 1e-4);
        let receiver = &cell.ends[&Role::Receiver];
        // A fifth of the receiver's samples is its traffic thread's, whose clock has half of the time.
        assert!((receiver.layers[&Layer::OtherKernel].share_pct - 50.0).abs() < 1e-4);
        assert!((receiver.layers[&Layer::Segmentation].share_pct - 50.0).abs() < 1e-4);
    }
}

#[test]
fn json_and_folded_chains_say_where_the_time_goes() {
    let events = profiled_log();
    let found = findings(&events);
    let document = json(&found);
    let cell = &document["profile"]["cells"][0];
    let receiver = &cell["ends"]["receiver"];
    let share = receiver["layers"]["segmentation"]["share_pct"].as_f64();
    assert!((share.expect("a share") - 50.0).abs() < 1e-6);
    let chains = folded(&found);
    let is_of_poll = |chain: &str| chain.contains("UDP") && chain.contains(";receiver;kthread");
    let polls = chains.iter().filter(|(chain, _)| is_of_poll(chain));
    let polls: Vec<u64> = polls.map(|(_, samples)| *samples).collect();
    assert_eq!(polls, [600; 2], "three runs of 200 samples in each cell");
}
