//! Complete runs on hosts with unusual settings: afterwards everything is as before, or the run
//! reports what is not, or it was refused before anything changed.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use crate::chaos::verdict::wait_until_gone;
use crate::chaos::world::{SIDES, World};

/// The expected result of a run.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    Done,
    /// It ends with this exit code and prints this text.
    Says(i32, &'static str),
}

/// A host, the requested settings, and the expected result.
struct Scene {
    name: &'static str,
    /// Script for both hosts before the run.
    host: &'static str,
    /// The options of the run.
    asked: &'static str,
    wanted: Wanted,
}

use Wanted::{Done, Says};

const MACVLAN: &str =
    "ip link add link DEV name mDEV mtu 3000 type macvlan mode bridge; ip link set mDEV up";
const CONF_MTU: &str = "echo 1300 >/proc/sys/net/ipv6/conf/DEV/mtu";
const ROUTE: &str = "ip -6 route add fd67::/64 dev DEV mtu 2000";
const STATIC: &str = "ip -6 address add fd66::ADDRESS/64 dev DEV nodad";
const MAPS: &str = "cd /sys/class/net/DEV/queues
echo 1 >rx-0/rps_cpus; echo 1 >rx-1/rps_cpus; echo 64 >rx-1/rps_flow_cnt; echo 1 >tx-1/xps_cpus";
const FORWARDING: &str = "echo 1 >/proc/sys/net/ipv4/conf/DEV/forwarding
echo 0 >/proc/sys/net/ipv4/conf/all/accept_redirects";
const EVERYTHING: &str =
    "ip link add link DEV name mDEV mtu 3000 type macvlan mode bridge; ip link set mDEV up
ip -6 address add fd66::ADDRESS/64 dev DEV nodad
ip -6 route add fd67::/64 dev DEV mtu 2000
ip -6 route add fd68::/64 via fd66::9 dev DEV mtu 2600 metric 7
ip route add 10.67.0.0/16 dev DEV mtu 1700
echo 1300 >/proc/sys/net/ipv6/conf/DEV/mtu
echo 2500 >/proc/sys/net/ipv6/conf/mDEV/mtu
echo 1 >/proc/sys/net/ipv4/conf/DEV/forwarding
cd /sys/class/net/DEV/queues
echo 1 >rx-1/rps_cpus; echo 64 >rx-1/rps_flow_cnt; echo 1 >tx-1/xps_cpus";
const BEFORE: &str = "set it yourself before the run";
const LOST: &str = "could not be restored";
/// The scene in which another program changes the host.
const DISTURBED: &str = "another program adds an address";

/// A row is: the name, the script for both hosts, the options of the run, and the expected result.
macro_rules! scenes {
    ($($name:expr, $host:expr, $asked:literal => $wanted:expr;)*) => {
        &[$(Scene { name: $name, host: $host, asked: $asked, wanted: $wanted }),*]
    };
}

/// Every scene; first those that an ordinary user's hosts and some kernels cannot play.
const SCENES: &[Scene] = scenes! {
    "queue maps, fewer channels", MAPS,
        "--set 'channels=rx 1, tx 1'" => Done;
    "macvlan, MTU lowered", MACVLAN,
        "--device-mtu 1400" => Done;
    "macvlan, MTU raised", MACVLAN,
        "--device-mtu 9000" => Done;
    "macvlan, offloads off", MACVLAN,
        "--offloads off" => Done;
    "IPv6 MTU of the interface, MTU lowered", CONF_MTU,
        "--device-mtu 1400" => Done;
    "IPv6 MTU of the interface, MTU raised", CONF_MTU,
        "--device-mtu 9000" => Done;
    "IPv6 route with an MTU, MTU lowered", ROUTE,
        "--device-mtu 1400" => Done;
    "IPv6 route with an MTU, MTU between", ROUTE,
        "--device-mtu 2500" => Done;
    "static IPv6 address, MTU lowered", STATIC,
        "--device-mtu 1400" => Done;
    "static IPv6 address, MTU under 1280", STATIC,
        "--device-mtu 1000" => Says(3, "removes its IPv6 addresses");
    "everything, MTU lowered", EVERYTHING,
        "--device-mtu 1400" => Done;
    "everything, MTU and channels", EVERYTHING,
        "--device-mtu 1400 --set 'channels=rx 1, tx 1'" => Done;
    "everything, all settings", EVERYTHING,
        "--device-mtu 1400 --set 'channels=rx 1, tx 1' --offloads off --qdisc 'tbf rate 1G' --sysctl net.ipv4.tcp_sack=0"
            => Done;
    "forwarding of one interface, ip_forward", FORWARDING,
        "--sysctl net.ipv4.ip_forward=1" => Says(2, BEFORE);
    "forwarding of one interface, IPv6", FORWARDING,
        "--sysctl net.ipv6.conf.all.forwarding=1" => Says(2, BEFORE);
    "static IPv6 address, disable_ipv6", STATIC,
        "--sysctl net.ipv6.conf.c0.disable_ipv6=1" => Says(2, BEFORE);
    "static IPv6 address, addr_gen_mode", STATIC,
        "--sysctl net.ipv6.conf.c0.addr_gen_mode=1" => Says(2, BEFORE);
    "nothing, defaults of IPv4", "",
        "--sysctl net.ipv4.conf.default.rp_filter=1" => Says(2, BEFORE);
    "redirects, a parameter of all", FORWARDING,
        "--sysctl net.ipv4.conf.all.rp_filter=1" => Done;
    "IPv6 MTU, a parameter of the interface", CONF_MTU,
        "--sysctl 'sender: net.ipv6.conf.c0.hop_limit=9'" => Done;
    "nothing, a parameter that the MTU undoes", "",
        "--device-mtu 1400 --sysctl 'sender: net.ipv6.conf.c0.mtu=1350'"
            => Says(1, "net.ipv6.conf.c0.mtu was not applied: value requested 1350, in effect 1400");
    "root qdisc with filters",
        "tc qdisc replace dev DEV root handle 7: htb default 1; tc filter add dev DEV parent 7: protocol ip u32 match u32 0 0",
        "--qdisc 'pfifo limit 50'" => Says(3, LOST);
    "root qdisc with a size table",
        "tc qdisc replace dev DEV root handle 7: stab overhead 4 tbf rate 1gbit burst 64k limit 1m",
        "--qdisc 'pfifo limit 50'" => Says(3, LOST);
    "ingress filters",
        "tc qdisc add dev DEV clsact; tc filter add dev DEV ingress protocol ip u32 match u32 0xdeadbeef 0xffffffff at 16",
        "--qdisc 'pfifo limit 50'" => Done;
    "a bridge on top",
        "ip link add bDEV type bridge; ip link add link DEV name mDEV type macvlan; ip link set mDEV master bDEV up; ip link set bDEV up",
        "--device-mtu 1400" => Done;
    DISTURBED, "",
        "--device-mtu 1400" => Says(1, "address c0 10.66.0.77/24 was changed by another program during the run");
};

/// The script of another program in the disturbed scene. It runs from when the settings are in
/// effect until after they are restored.
const MEANWHILE: &str = "until ip link show DEV | grep -q 'mtu 1400'; do sleep 0.01; done
sleep 0.2; ip address add 10.66.0.77/24 dev DEV
while ip link show DEV | grep -q 'mtu 1400'; do sleep 0.01; done
sleep 1; ip address del 10.66.0.77/24 dev DEV";

/// Number of scenes that are played at the same time: each waits for most of its time.
const TOGETHER: usize = 2;

/// Plays every scene with `program` (bitcost), each on separate hosts in separate network
/// namespaces; `say` gets a line for each. Returns the failures.
pub fn whole_runs(
    program: &Path,
    limit: Duration,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<String>, String> {
    let (next, (sender, played)) = (AtomicUsize::new(0), channel());
    let player = |sender: Sender<_>| {
        while let Some(scene) = SCENES.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = in_own_network(|| scene.play(program, limit));
            if result.is_err() {
                next.store(SCENES.len(), Ordering::Relaxed);
            }
            // It fails only after another scene's hosts could not be created.
            let _ = sender.send((scene, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..TOGETHER {
            let sender = sender.clone();
            scope.spawn(|| player(sender));
        }
        drop(sender);
        let mut wrong = Vec::new();
        for (scene, result) in played {
            let differs = result?;
            let is_expected = differs.is_empty();
            let found = if is_expected { "as expected" } else { &differs };
            let line = format!("{}: {found}", scene.name);
            say(&line);
            wrong.extend((!is_expected).then_some(line));
        }
        Ok(wrong)
    })
}

pub fn count() -> usize {
    SCENES.len()
}

/// Plays in a new network namespace, which ends with its thread.
fn in_own_network(play: impl FnOnce() -> Result<String, String> + Send) -> Result<String, String> {
    let enter = || {
        let entered = bitcost_sys::namespace::unshare(&[bitcost_sys::namespace::Kind::Net]);
        entered.map_err(|error| format!("cannot make a network namespace: {error}"))?;
        play()
    };
    std::thread::scope(|scope| {
        let played = scope.spawn(enter).join();
        played.unwrap_or(Err("it panicked".to_owned()))
    })
}

impl Scene {
    /// Plays the scene. Returns what differs from the expected result; empty when nothing does.
    fn play(&self, program: &Path, limit: Duration) -> Result<String, String> {
        let world = World::with(program, limit, self.host);
        let world = world.map_err(|error| format!("{}: {error}", self.name))?;
        let is_disturbed = self.name == DISTURBED;
        let other = is_disturbed.then(|| world.start_script(MEANWHILE));
        let mut other = other.transpose()?;
        let status = world.start_asking(&crate::split(self.asked))?.wait();
        let status = status.map_err(|error| format!("wait for a run: {error}"))?;
        if let Some(other) = &mut other {
            let _ = other.wait();
        }
        wait_until_gone(&world)?;
        let mut wrong = Vec::new();
        for side in SIDES {
            let lines = world.differences(side)?.into_iter();
            wrong.extend(lines.map(|line| format!("{side} {line}")));
            let journals = world.journals(side).into_iter();
            wrong.extend(journals.map(|path| format!("{} is left", path.display())));
        }
        let (code, said) = (status.code(), world.said());
        let is_as_wanted = match self.wanted {
            Done => code == Some(0),
            Says(wanted, words) => code == Some(wanted) && said.contains(words),
        };
        if !is_as_wanted {
            let wanted = self.wanted;
            wrong.push(format!("wanted {wanted:?}, exit code {code:?}: {said}"));
        }
        Ok(wrong.join("; "))
    }
}
