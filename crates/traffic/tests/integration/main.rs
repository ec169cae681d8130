//! Both endpoints of every workload in this process, over the loopback.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bitcost_model::conditions::Conditions;
use bitcost_traffic::{Control, Flow, Ready, TrafficError};

mod foreign_traffic;
mod timing;
mod transactions;

const PATIENCE: Duration = Duration::from_secs(5);
const TOKEN: [u8; 16] = *b"sixteen letters!";
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Both endpoints of a run, the sender first; `via` may give it another address than the receiver's.
fn meet_via(conditions: &Conditions, via: impl FnOnce(SocketAddr) -> SocketAddr) -> [Ready; 2] {
    let pending = bitcost_traffic::listen(conditions, HERE, TOKEN).expect("listens");
    let (address, asked) = (via(pending.address()), conditions.clone());
    let sender = thread::spawn(move || bitcost_traffic::connect(&asked, address, TOKEN, PATIENCE));
    let receiver = pending.accept(PATIENCE).expect("the sender comes");
    let sender = sender.join().expect("no panic");
    [sender.expect("the receiver answers"), receiver]
}

/// An endpoint that runs.
type Running = JoinHandle<(Result<(), TrafficError>, Box<dyn Flow>)>;

fn start(mut flow: Box<dyn Flow>, control: &Arc<Control>) -> Running {
    let control = control.clone();
    thread::spawn(move || (flow.run(&control), flow))
}

/// The endpoint after its run, which must succeed.
fn ended(running: Running) -> Box<dyn Flow> {
    let (result, flow) = running.join().expect("no panic");
    result.expect("it succeeds");
    flow
}
