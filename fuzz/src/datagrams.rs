//! The datagrams that arrive at the sockets of a run, from its peer and from anyone else.

use bitcost_traffic::{Phase, Tag, Token, Tracker, is_greeting};

/// The token of the run whose datagrams are read.
const TOKEN: Token = *b"sixteen letters!";

/// Datagrams of the length that the first byte says: one with a header of the run is written the same
/// way, a token is no message, and each number is new once.
pub fn datagrams(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first() else {
        return;
    };
    let tag = Tag::of(&TOKEN);
    let (mut tracker, mut highest) = (Tracker::default(), None);
    for datagram in rest.chunks(usize::from(*length).max(1)) {
        if let Some(header) = bitcost_traffic::iperf3::Header::read(datagram, false) {
            assert!(header.number <= u64::from(u32::MAX));
        }
        let Some((phase, number)) = tag.parse(datagram) else {
            continue;
        };
        assert!(!is_greeting(datagram));
        assert!(matches!(phase, Phase::Warmup | Phase::Measured));
        assert_eq!(tag.header(phase, number)[..], datagram[..8]);
        let is_new = tracker.note(number) == bitcost_traffic::Arrival::New;
        assert_eq!(is_new, highest.is_none_or(|highest| number > highest));
        highest = highest.max(Some(number));
        assert_ne!(tracker.note(number), bitcost_traffic::Arrival::New);
    }
}
