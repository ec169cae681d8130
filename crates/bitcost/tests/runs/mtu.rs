//! Datagrams that do not fit the path: the warning before the run, and the answer.

use crate::bench::*;

bitcost_testkit::trials! {
    Host: messages_that_do_not_fit_are_named_with_what_fits;
}

/// A path whose second hop carries less than the first.
const NARROW: &str = r#"hosts = ["h1", "h2"]
routers = ["r1"]
[[link]]
ends = ["h1", "r1"]
[[link]]
ends = ["r1", "h2"]
mtu_bytes = 1400
"#;

fn messages_that_do_not_fit_are_named_with_what_fits() {
    let bench = Bench::new();
    bench.write("narrow.toml", NARROW);
    let tested = |options: &str| {
        let words = format!("test {options} --no-log -t 1s");
        let done = bench.bitcost(&split(&words)).with_code(0);
        [done.stderr, done.stdout].map(|text| one_line(&text))
    };
    let (of_stream, of_requests) = ("-l", "--request-size and --response-size");
    for (options, size, mtu, fragments, remedy, most) in [
        ("-l 1473", 1473, 1500, 2, of_stream, 1472),
        ("-6 -l 1453", 1453, 1500, 2, of_stream, 1452),
        (
            "-l 1373 --topology narrow.toml",
            1373,
            1400,
            2,
            of_stream,
            1372,
        ),
        (
            "-l 8000 --topology narrow.toml",
            8000,
            1400,
            6,
            of_stream,
            1372,
        ),
        ("--request-size 20000", 20_000, 1500, 14, of_requests, 1472),
    ] {
        let (workload, unit) = match remedy == of_stream {
            true => ("udp -b 5M", " received"),
            false => ("udp-rr", "transactions"),
        };
        let [said, printed] = tested(&format!("{workload} {options}"));
        let words = |hop: &str| {
            format!(
                "messages of {size} bytes do not fit the path's MTU of {mtu} bytes{hop}: each datagram goes in {fragments} fragments, and the loss of one loses it"
            )
        };
        let remedy = format!("use {remedy} {most} or less");
        assert_says(&said, &[&format!("warning: {}; {remedy}", words(""))]);
        // The many fragments of a larger message take all of what the router answers in a second.
        let hop = if mtu == 1400 && size < 1500 {
            " at 10.0.0.254"
        } else {
            ""
        };
        let said_of = words(hop);
        let (start, _) = said_of.split_once(": each").expect("its fragments");
        assert_says(&printed, &[start, &remedy, unit]);
    }
    for options in ["-l 1472", "-l 1372 --topology narrow.toml"] {
        let [said, printed] = tested(&format!("udp -b 5M {options}"));
        assert!(
            !(said + &printed).contains("do not fit the path's MTU"),
            "{options}"
        );
    }
}
