//! Safe wrappers of the Linux system calls that the other crates need; the only crate with `unsafe`.
//!
//! There is no policy here: each function makes one system call, or a fixed sequence of them, and returns its error as
//! [`std::io::Error`]. [`netlink`] has its own error, which says what was requested.

pub mod bpf;
pub mod clock;
mod control;
pub mod datagram;
pub mod ethtool;
pub mod files;
pub mod landlock;
pub mod namespace;
pub mod netlink;
mod outcome;
pub mod packet;
pub mod path_mtu;
pub mod perf;
pub mod process;
pub mod seccomp;
pub mod socket;
pub mod steer;
pub mod thread;
