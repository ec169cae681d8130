//! What a test can vary of its run: every setting, and options that are short for a value of one.

use bitcost_model::place::scoped;
use bitcost_model::settings::{Setting, find};

use super::settings::Settings;

#[derive(clap::Args)]
pub struct RunOptions {
    #[command(flatten)]
    pub settings: Settings,
    /// Use IPv4 only
    #[arg(short = '4', conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Use IPv6 only
    #[arg(short = '6')]
    pub ipv6: bool,
    /// Send from the receiver to the sender; same as --direction reverse. Other options keep
    /// referring to the same hosts
    #[arg(short = 'R', long, conflicts_with_all = ["both", "direction"])]
    pub reverse: bool,
    /// Send in both directions at once; same as --direction both
    #[arg(long, conflicts_with = "direction")]
    pub both: bool,
    /// Socket buffers of both endpoints; same as --send-buffer and --receive-buffer with this size
    /// [default: the kernel's]
    #[arg(short = 'w', long, value_name = "BYTES", conflicts_with_all = ["send_buffer_bytes", "receive_buffer_bytes"])]
    pub window: Option<String>,
    /// Send with sendfile(2), as iperf3 does; same as --send-mode sendfile
    #[arg(short = 'Z', long, conflicts_with = "send_mode")]
    pub zerocopy: bool,
}

impl RunOptions {
    /// What was typed, as settings in the order in which they count.
    pub fn all(&self) -> Vec<(&'static Setting, String)> {
        let window = self.window.as_deref();
        let short = [
            ("direction", self.reverse.then_some("reverse")),
            ("direction", self.both.then_some("both")),
            ("ip_version", self.ipv4.then_some("4")),
            ("ip_version", self.ipv6.then_some("6")),
            ("send_mode", self.zerocopy.then_some("sendfile")),
            ("send_buffer_bytes", window),
            ("receive_buffer_bytes", window),
        ];
        let short = short.into_iter();
        let short = short.filter_map(|(name, value)| setting(name, value?));
        let given = self.settings.0.iter().flat_map(|(of, value)| {
            // An address may have its interface, as in `10.0.0.1%eth0`, or only that, as in `%eth0`.
            let both = value.split_once('%');
            let both = both.filter(|_| of.name.ends_with("_address"));
            let end = of.name.replace("_address", "_device");
            // That of an address of one link is the sender's, which connects to it.
            let end = scoped(value).map_or(&*end, |_| "sender_device");
            let device = both.and_then(|(_, device)| setting(end, device));
            let value = both.map_or(&**value, |(address, _)| address);
            let address = (both.is_none() || !value.is_empty()).then(|| (*of, value.to_owned()));
            address.into_iter().chain(device)
        });
        short.chain(given).collect()
    }
}

pub fn setting(name: &str, value: &str) -> Option<(&'static Setting, String)> {
    Some((find(name)?, value.to_owned()))
}
