//! Places for connections that have not shown the link: a bounded number in all and of each network. Where one more comes, the
//! oldest of the network that holds most gives way.

use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Most connections. As long as fewer networks than this hold one, the first of one more network is
/// admitted, and gives way to none of them.
pub const PLACES_MAX: usize = 128;

/// Most connections of one network: an address of IPv4, or 64 bits of one of IPv6.
pub const OF_NETWORK_MAX: usize = 16;

/// The networks and sockets of the connections, the oldest first. A place is held as long as its socket is.
#[derive(Default)]
pub struct Places(Mutex<Vec<(IpAddr, Weak<TcpStream>)>>);

impl Places {
    fn held(&self) -> MutexGuard<'_, Vec<(IpAddr, Weak<TcpStream>)>> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|(_, socket)| socket.strong_count() > 0);
        held
    }

    /// Gives a connection a place, for which another may end.
    pub fn admit(&self, peer: IpAddr, socket: TcpStream) -> Arc<TcpStream> {
        let (network, socket) = (network(peer), Arc::new(socket));
        let mut held = self.held();
        let networks: Vec<IpAddr> = held.iter().map(|(network, _)| *network).collect();
        if let Some(at) = gives_way(&networks, network) {
            end(&held.remove(at).1);
        }
        held.push((network, Arc::downgrade(&socket)));
        socket
    }

    /// Whether a connection has not given way to another.
    pub fn has(&self, socket: &Arc<TcpStream>) -> bool {
        let is_its = |(_, other): &(_, Weak<_>)| other.as_ptr() == Arc::as_ptr(socket);
        self.held().iter().any(is_its)
    }

    pub fn end(&self) {
        self.held().iter().for_each(|(_, socket)| end(socket));
    }
}

/// Its thread wakes up and ends.
fn end(socket: &Weak<TcpStream>) {
    if let Some(socket) = socket.upgrade() {
        let _ = socket.shutdown(Shutdown::Both);
    }
}

/// Which of the places that these networks hold, the oldest first, is given to a newcomer; absent where there is room.
fn gives_way(held: &[IpAddr], newcomer: IpAddr) -> Option<usize> {
    let count = |network: &IpAddr| held.iter().filter(|other| *other == network).count();
    let own = count(&newcomer) + 1;
    if held.len() < PLACES_MAX && own <= OF_NETWORK_MAX {
        return None;
    }
    let places = held.iter().enumerate();
    let may = places.filter(|(_, network)| own <= OF_NETWORK_MAX || **network == newcomer);
    let most = may.max_by_key(|(at, network)| {
        let held = match **network == newcomer {
            true => own,
            false => count(network),
        };
        (held, usize::MAX - at)
    });
    most.map(|(at, _)| at)
}

/// An address of IPv4, or the network of 64 bits of one of IPv6: a host may have all of its
/// addresses (RFC 4291, section 2.5.4).
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            IpAddr::from((u128::from(address) & !u128::from(u64::MAX)).to_be_bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(held: &mut Vec<IpAddr>, newcomer: IpAddr) {
        if let Some(at) = gives_way(held, newcomer) {
            held.remove(at);
        }
        held.push(newcomer);
    }

    #[test]
    fn a_newcomer_has_a_place_whatever_others_hold() {
        let newcomer = IpAddr::from([192, 0, 2, 1]);
        for networks in [1, 4, 5, 8, 64, PLACES_MAX - 1] {
            let mut held = Vec::new();
            let others =
                (0..2 * PLACES_MAX).map(|turn| IpAddr::from([192, 0, 1, (turn % networks) as u8]));
            others.clone().for_each(|other| admit(&mut held, other));
            admit(&mut held, newcomer);
            others.for_each(|other| admit(&mut held, other));
            assert!(held.contains(&newcomer), "{networks} networks");
            assert_eq!(held.len(), PLACES_MAX.min(networks * OF_NETWORK_MAX + 1));
        }
    }

    #[test]
    fn addresses_of_one_network_of_ipv6_count_together() {
        let of = |host| network(IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, host]));
        assert_eq!(of(1), of(2));
        assert_ne!(
            of(1),
            network(IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, 1]))
        );
        assert_eq!(
            network("::ffff:192.0.2.1".parse().expect("an address")),
            IpAddr::from([192, 0, 2, 1])
        );
    }
}
