//! Properties of the estimates, and how often their intervals hold the true value.

mod optional_stopping;
mod power;
mod properties;
mod unequal_sides;
