//! Studies, settings and labs as people write them, and what becomes of them.

mod against;
mod calibration;
mod checks;
mod one_host;
mod study;
mod topology;
