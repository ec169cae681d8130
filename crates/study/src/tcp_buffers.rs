//! TCP buffers that a study asks for, as kernel parameters of both hosts.

use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;

use crate::host_settings::SYSCTL;

/// The kernel's minimum and default of a socket's receive and send buffer, in bytes (tcp(7),
/// `tcp_rmem` and `tcp_wmem`).
const RECEIVE: [u64; 2] = [4096, 131_072];
const SEND: [u64; 2] = [4096, 16_384];

/// Requests the kernel parameters for the TCP buffers that the conditions ask for, on a path with
/// this bandwidth-delay product.
///
/// # Errors
/// As [`TcpBuffers::bytes`](bitcost_model::tcp_buffers::TcpBuffers::bytes).
pub fn size_tcp_buffers(
    conditions: &mut Conditions,
    bdp_bytes: Option<u64>,
) -> Result<(), Invalid> {
    if let Some(asked) = conditions.tcp_buffers {
        let most = asked.bytes(bdp_bytes)?;
        let text = |[least, usual]: [u64; 2]| format!("{least} {} {most}", usual.min(most));
        let (receive, send) = (text(RECEIVE), text(SEND));
        let parameters = format!("net.ipv4.tcp_rmem={receive}, net.ipv4.tcp_wmem={send}");
        SYSCTL.ask(conditions, &parameters)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bitcost_model::tcp_buffers::TcpBuffers;

    use super::*;

    #[test]
    fn the_document_s_eight_times_the_path() {
        let mut conditions = Conditions {
            tcp_buffers: TcpBuffers::parse("8 bdp"),
            ..Conditions::default()
        };
        size_tcp_buffers(&mut conditions, Some(2_500_000)).unwrap();
        let value = |name: &str| {
            let request = conditions
                .host_settings
                .iter()
                .find(|request| request.subject.as_deref() == Some(name))
                .unwrap();
            request.values["value"].clone()
        };
        assert_eq!(value("net.ipv4.tcp_rmem"), "4096 131072 20000000");
        assert_eq!(value("net.ipv4.tcp_wmem"), "4096 16384 20000000");
        assert!(
            size_tcp_buffers(&mut conditions, None)
                .unwrap_err()
                .0
                .contains("needs a lab whose path has a rate and a delay")
        );
        assert!(
            size_tcp_buffers(&mut conditions, Some(1))
                .unwrap_err()
                .0
                .contains("allowed: 4096 to")
        );
    }
}
