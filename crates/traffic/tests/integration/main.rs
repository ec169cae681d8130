//! Both endpoints of every workload in this process, over the loopback.

mod foreign_traffic;
mod timing;
mod transactions;
