//! Safe wrappers of the Linux system calls that the other crates need; the only crate with `unsafe`.
//!
//! There is no policy here: each function makes one system call, or a fixed sequence of them, and returns its error as
//! [`std::io::Error`].

pub mod bpf;
pub mod clock;
pub mod datagram;
pub mod ethtool;
pub mod files;
pub mod icmp;
pub mod namespace;
pub mod netlink;
pub mod packet;
pub mod process;
pub mod socket;
pub mod stamped;
pub mod tcp_info;
pub mod thread;
pub mod uring;
pub mod zerocopy;
