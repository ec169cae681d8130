//! Turns the offloads of a device off.

use anyhow::{Result, bail};
use bitcost_host::{Knob, Offloads, Values};

/// Turns the offloads of a device in this network namespace off.
///
/// # Errors
/// When one of them is still on.
pub fn offloads_off(device: &str) -> Result<()> {
    let before = Offloads.observe(device)?;
    let request = Values::from([(bitcost_host::SET.to_owned(), "off".to_owned())]);
    let asked = Offloads.plan(device, &before, &request)?;
    Offloads.write(device, &before, &asked)?;
    let now = Offloads.observe(device)?;
    let is_still_on = |name: &&String| now.get(*name).is_some_and(|word| bitcost_host::is_on(word));
    let wrong: Vec<&str> = asked
        .keys()
        .filter(is_still_on)
        .map(String::as_str)
        .collect();
    if wrong.is_empty() {
        Ok(())
    } else {
        bail!("{device}: still on: {}", wrong.join(", "))
    }
}
