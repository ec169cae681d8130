//! Frames of a device with their offload headers, whole: super-packets stay what they are (packet(7), `PACKET_VNET_HDR`).
//!
//! | file | content |
//! |---|---|
//! | ring | received frames in memory that is shared with the kernel |
//! | batch | many frames sent per call |
//! | raw | opening, binding, options |
//!
//! A *packet* here is an offload header of [`OFFLOAD_HEADER_BYTES`] (`struct virtio_net_hdr`) and the frame after it. A
//! received packet can be sent unchanged, with checksums not computed yet and super-packets not segmented yet.

mod batch;
mod raw;
mod ring;

pub use batch::{BATCH, BatchSender};
pub use raw::{OFFLOAD_HEADER_BYTES, PACKET_MAX_BYTES};
pub use ring::{Lengths, Ring};
