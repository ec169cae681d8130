//! Metrics that the kernel has cached of former TCP connections to the peer: a run over loopback
//! reports them and keeps them.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};

use crate::bench::{Bench, Done, in_effect, split};

bitcost_testkit::trials! {
    PrivateNetwork: cached_tcp_metrics_are_reported_and_kept;
}

/// One short run with both endpoints on this host.
fn test(bench: &Bench, words: &[&str]) -> Done {
    let run = split("test tcp --receiver local -t 200ms -O 50ms");
    let done = bench.bitcost(&[&run[..], words].concat());
    done.assert_code(0);
    done
}

fn cached_tcp_metrics_are_reported_and_kept() {
    let bench = Bench::new().with("BITCOST_STATE_DIR", "FOLDER/state");
    let actual = |bench: &Bench, words: &[&str]| {
        let ends = test(bench, words).records();
        ends.map(|end| in_effect(&end, "tcp_metrics").unwrap()[1].clone())
    };
    assert_eq!(actual(&bench, &["--json", "--samples"]), ["none", "none"]);
    converse();
    let cached = || {
        let all = bitcost_sys::netlink::TcpMetrics::open()
            .unwrap()
            .map(|mut metrics| metrics.all().unwrap())
            .unwrap_or_default();
        all.into_iter()
            .any(|entry| entry.address == IpAddr::from([127, 0, 0, 1]))
    };
    if !cached() {
        bitcost_testkit::ignore("this kernel remembers nothing of connections over loopback");
    }
    let told = actual(&bench, &["--json", "--samples"]);
    assert!(
        told.iter().all(|told| told.starts_with("127.0.0.1 rtt ")),
        "{told:?}"
    );
    let done = test(&bench, &["--verbose"]);
    done.assert_prints("sender: TCP began with what the kernel had cached");
    assert!(cached(), "it is not ours to remove");
}

/// A connection over loopback with replies; both its endpoints are closed afterwards.
fn converse() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut other, _) = listener.accept().unwrap();
    for _ in 0..20 {
        one.write_all(&[1; 500]).unwrap();
        other.read_exact(&mut [0; 500]).unwrap();
    }
    drop((one, other));
}
