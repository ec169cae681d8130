//! The size of a packet on the link: its segments, and their bytes with the headers of each.

use bitcost_model::counters::Amount;
use bitcost_sys::packet::OFFLOAD_HEADER_BYTES;

/// No GSO (`VIRTIO_NET_HDR_GSO_NONE`).
const GSO_NONE: u8 = 0;
/// TCP over IPv4, over IPv6 (`VIRTIO_NET_HDR_GSO_TCPV4`, `_TCPV6`), without the bit for ECN.
const GSO_TCP: [u8; 2] = [1, 4];
const GSO_ECN: u8 = 0x80;
/// Where the data offset of a TCP header is, and the length of a UDP header, in bytes (RFC 9293,
/// RFC 768).
const TCP_DATA_OFFSET: usize = 12;
const UDP_HEADER_BYTES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub segments: u32,
    /// Bytes of all of these with their Ethernet, IP and transport headers.
    pub bytes: u64,
}

impl Size {
    /// The size of a packet that follows its offload header, as the kernel counts it for its qdiscs
    /// (`qdisc_pkt_len_init` in net/core/dev.c).
    pub fn of(packet: &[u8]) -> Size {
        let frame = packet.len().saturating_sub(OFFLOAD_HEADER_BYTES) as u64;
        let whole = Size {
            segments: 1,
            bytes: frame,
        };
        let Some((each, headers)) = cuts(packet) else {
            return whole;
        };
        let payload = frame.saturating_sub(headers);
        let segments = payload.div_ceil(each).max(1);
        Size {
            segments: segments as u32,
            bytes: frame + (segments - 1) * headers,
        }
    }

    pub fn add_to(self, amount: &mut Amount) {
        amount.packets += 1;
        amount.segments += u64::from(self.segments);
        amount.bytes += self.bytes;
    }

    pub fn remove_from(self, amount: &mut Amount) {
        amount.packets -= 1;
        amount.segments -= u64::from(self.segments);
        amount.bytes -= self.bytes;
    }
}

/// The payload of each segment and the length of the headers before it; absent without
/// segmentation.
fn cuts(packet: &[u8]) -> Option<(u64, u64)> {
    let u16_at = |at: usize| Some(u16::from_ne_bytes([*packet.get(at)?, *packet.get(at + 1)?]));
    let kind = *packet.get(1)?;
    let (each, transport) = (u16_at(4)?, usize::from(u16_at(6)?));
    if kind == GSO_NONE || each == 0 {
        return None;
    }
    let header = if GSO_TCP.contains(&(kind & !GSO_ECN)) {
        usize::from(packet.get(OFFLOAD_HEADER_BYTES + transport + TCP_DATA_OFFSET)? >> 4) * 4
    } else {
        UDP_HEADER_BYTES
    };
    Some((u64::from(each), (transport + header) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with an offload header of this kind, and TCP's header at byte 34 with 32 bytes.
    fn packet(kind: u8, each: u16, frame: usize) -> Vec<u8> {
        let mut packet = vec![0; OFFLOAD_HEADER_BYTES + frame];
        packet[1] = kind;
        packet[4..6].copy_from_slice(&each.to_ne_bytes());
        packet[6..8].copy_from_slice(&34u16.to_ne_bytes());
        packet[OFFLOAD_HEADER_BYTES + 34 + TCP_DATA_OFFSET] = 8 << 4;
        packet
    }

    /// Segments and bytes.
    fn size(packet: &[u8]) -> (u32, u64) {
        let Size { segments, bytes } = Size::of(packet);
        (segments, bytes)
    }

    #[test]
    fn packet_without_offload_has_one_segment() {
        assert_eq!(size(&packet(GSO_NONE, 0, 1514)), (1, 1514));
        assert_eq!(size(&[]), (1, 0));
    }

    #[test]
    fn super_packet_has_headers_per_segment() {
        let tcp = packet(1, 1448, 66 + 3 * 1448);
        assert_eq!(size(&tcp), (3, 3 * 1514));
        let with_rest = packet(1 | GSO_ECN, 1448, 66 + 1449);
        assert_eq!(size(&with_rest), (2, 1514 + 67));
        let udp = packet(5, 1000, 42 + 2500);
        assert_eq!(size(&udp), (3, 2500 + 3 * 42));
    }

    #[test]
    fn header_that_points_outside_does_not_panic() {
        let mut odd = packet(1, 1448, 100);
        odd[6..8].copy_from_slice(&60_000u16.to_ne_bytes());
        assert_eq!(size(&odd), (1, 100));
    }
}
