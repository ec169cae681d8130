//! perftest and nccl-tests.

use bitcost_import::{Head, execution};
use bitcost_model::study::Label;

use super::{Event, figure, fixture, found, number, one, read};

fn level(found: &super::Found, factor: &str) -> Option<String> {
    found.levels.get(factor).map(Label::to_string)
}

#[test]
fn ib_write_bw_is_read_in_either_unit() {
    let run = one("rdma/ib_write_bw.txt");
    assert_eq!(number(&run, "message_size_bytes"), 8);
    assert_eq!(figure(&run, "throughput_mbps"), 480.0);
    assert_eq!(figure(&run, "messages_per_second"), 7_498_617.0);
    assert_eq!(level(&run, "test").as_deref(), Some("RDMA_Write Post List"));
    let mib = String::from_utf8_lossy(&fixture("rdma/ib_write_bw.txt")).replace("Gb/sec", "MB/sec");
    let runs = read("n1-to-n2.txt", mib.as_bytes()).expect("a run");
    assert!((figure(&runs[0], "throughput_mbps") - 0.48 * 8.388_608).abs() < 1e-9);
    assert_eq!(level(&runs[0], "receiver").as_deref(), Some("n2"));
}

#[test]
fn nccl_tests_are_read_with_their_two_hosts() {
    let runs = found("rdma/sendrecv.txt");
    assert_eq!(
        (runs.len(), number(&runs[4], "message_size_bytes")),
        (5, 4096)
    );
    assert_eq!(figure(&runs[4], "throughput_mbps"), 1040.0);
    assert_eq!(
        [level(&runs[0], "sender"), level(&runs[0], "receiver")],
        [Some("gpu23".to_owned()), Some("gpu24".to_owned())]
    );
    let many = found("rdma/all_reduce.txt");
    assert_eq!((many.len(), level(&many[0], "sender")), (5, None));
    assert_eq!(figure(&many[0], "throughput_mbps"), 586.06 * 8000.0);
}

#[test]
fn files_of_pairs_become_a_mesh() {
    let text = fixture("rdma/ib_write_bw.txt");
    let pairs = ["n1-to-n2", "n2-to-n3", "n3-to-n1", "n2-to-n1"];
    let runs = pairs.map(|name| read(&format!("{name}.txt"), &text).expect("a run"));
    let head = Head {
        name: "fabric",
        version: "0",
        at: "2026-11-21T10:00:00Z",
        command_line: Vec::new(),
    };
    let events = execution(runs.concat(), head);
    let Some(Event::ExecutionBegan { study_text, .. }) = events.first() else {
        panic!("no beginning");
    };
    assert!(
        study_text.contains("hosts = [\"n1\", \"n2\", \"n3\"]"),
        "{study_text}"
    );
    let study = bitcost_study::Study::parse("import.toml", study_text).expect("a study");
    assert!(study.mesh.is_some_and(|mesh| mesh.runs() == 4));
}
