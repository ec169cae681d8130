//! A path that is interrupted, or that dies, in the middle of a test, with the control connection over it: what was measured
//! is kept, and the time without data is named.

use crate::bench::*;
use crate::server::Owned;
use crate::service::Service;
use bitcost_sys::clock::monotonic_ns;
use bitcost_testkit::gap::Gap;
use std::io::BufReader;

bitcost_testkit::trials! {
    PrivateNetwork: an_outage_is_named_with_its_times, a_path_that_dies_leaves_what_was_measured;
}

/// The begin of an outage that is named may differ by this from the time at which the path was cut.
const BEGIN_NS: u64 = 200_000_000;

const WORKLOADS: [&str; 4] = ["tcp -b 20M", "udp -b 2M", "rr", "tcp -b 20M -R"];

/// Two hosts with a bridge between them, a service at one, and a client at the other.
pub struct Field {
    pub gap: Gap,
    pub service: Service,
    pub bench: Bench,
}

impl Field {
    pub fn new() -> Field {
        let gap = Gap::new(1500);
        let mut rtnl = Rtnl::open().unwrap();
        let bridge = format!("of-{}", gap.names[0]);
        rtnl.create_bridge(&bridge).unwrap();
        let bridge = rtnl.link(&bridge).unwrap().index;
        for device in gap.devices {
            rtnl.set_master(device, bridge).unwrap();
        }
        rtnl.set_up(bridge, true).unwrap();
        let bench = Bench::new().with("BITCOST_STATE_DIR", "FOLDER");
        Field {
            service: Service::on(&gap.hosts[1]),
            gap,
            bench,
        }
    }

    /// The path is down, or up again, from this time on.
    pub fn set_path(&self, is_up: bool) -> u64 {
        let mut rtnl = Rtnl::open().unwrap();
        rtnl.set_up(self.gap.devices[1], is_up).unwrap();
        monotonic_ns()
    }

    /// `bitcost test` at one of the hosts, to the service of this link.
    pub fn command(&self, host: usize, link: &str, words: &str) -> Command {
        let (workload, rest) = words.split_once(' ').unwrap_or((words, ""));
        let words = format!("test {workload} {link} {rest}");
        let mut command = self.bench.command(&program(), &split(&words));
        self.gap.hosts[host].put(&mut command);
        command
    }

    /// Makes a test, in whose third second something happens; returns what it printed and its exit code.
    fn test<T>(&self, words: &str, happens: impl FnOnce() -> T) -> (String, Option<i32>, T) {
        let mut command = self.command(0, &self.service.link, words);
        let mut process = Owned(command.stdout(Stdio::piped()).spawn().unwrap());
        let mut output = BufReader::new(process.0.stdout.take().unwrap());
        let mut printed = read_until(&mut output, "    2 s  ");
        let happened = happens();
        output.read_to_string(&mut printed).unwrap();
        (printed, process.0.wait().unwrap().code(), happened)
    }

    fn receiver(&self) -> EndpointRecord {
        *ended(&self.bench.log())[0].ends[1].clone()
    }
}

/// The longest time for which nothing was received, from the last reading with data to the last one before more, and the
/// start of the window.
fn quiet(receiver: &EndpointRecord) -> [u64; 3] {
    let moved = receiver.samples.windows(2);
    let moved = moved.filter(|pair| pair[0].counts.bytes < pair[1].counts.bytes);
    let moved: Vec<[u64; 2]> = moved.map(|pair| [pair[0].at_ns, pair[1].at_ns]).collect();
    let pauses = moved.windows(2).map(|pair| [pair[0][1], pair[1][0]]);
    let [begin, end] = pauses.max_by_key(|[begin, end]| end - begin).unwrap();
    [begin, end, receiver.samples[0].at_ns]
}

fn an_outage_is_named_with_its_times() {
    let named = |workload: &str| {
        let field = Field::new();
        let (printed, code, [cut_ns, back_ns]) = field.test(&format!("{workload} -t 9"), || {
            let cut_ns = field.set_path(false);
            thread::sleep(Duration::from_secs(2));
            [cut_ns, field.set_path(true)]
        });
        assert_eq!(code, Some(0), "{workload}: {printed}");
        let [begin_ns, end_ns, start_ns] = quiet(&field.receiver());
        assert!(
            begin_ns.abs_diff(cut_ns) <= BEGIN_NS,
            "{workload}: cut at {cut_ns}, begin {begin_ns}: {printed}"
        );
        // The first byte came again after this reading.
        assert!(end_ns >= back_ns - BEGIN_NS, "{workload}: {printed}");
        let [begin_s, end_s] = [begin_ns, end_ns].map(|at_ns| (at_ns - start_ns) as f64 / 1e9);
        let words = format!("no data from {begin_s:.1} to {end_s:.1} s");
        assert!(printed.contains(&words), "{workload}: {words}: {printed}");
    };
    thread::scope(|scope| {
        for workload in WORKLOADS {
            scope.spawn(move || named(workload));
        }
    });
}

fn a_path_that_dies_leaves_what_was_measured() {
    let kept = |workload: &str| {
        let field = Field::new();
        let words = format!("{workload} -t 80 --outage-timeout 4s");
        let (printed, code, died) = field.test(&words, || {
            field.set_path(false);
            Instant::now()
        });
        assert!(died.elapsed() < PATIENCE, "{workload}: {printed}");
        assert_eq!(code, Some(1), "{workload}: {printed}");
        let figure = match workload {
            "rr" => " transactions/s",
            _ => "bit/s",
        };
        assert_says(&printed, &["interrupted after ", " of 80 s: ", figure]);
        let shown = field
            .bench
            .bitcost(&["show", &field.bench.execution_name()]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        shown.assert_prints("interrupted after ");
    };
    thread::scope(|scope| {
        for workload in WORKLOADS {
            scope.spawn(move || kept(workload));
        }
    });
}
