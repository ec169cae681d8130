//! Places for connections that have not proved who they are: a bounded number in all and of each
//! network. Where one more comes, the oldest of the network that holds most gives way.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use crate::fingerprint::Fingerprint;

/// Most connections. As long as fewer networks than this hold one, the first of one more network is
/// admitted, and gives way to none of them.
pub const PLACES_MAX: usize = 128;

/// Most connections of one network: an address of IPv4, or 64 bits of one of IPv6.
pub const OF_NETWORK_MAX: usize = 16;

/// Connections of a network from which a key was proved before that do not give way to those of other networks.
const KEPT_OF_NETWORK: usize = 4;

/// The network from which each key was last proved.
#[derive(Default)]
pub struct Seen(Mutex<HashMap<Fingerprint, IpAddr>>);

impl Seen {
    /// Notes from where a key was proved.
    pub fn note(&self, key: Fingerprint, peer: IpAddr) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert(key, network(peer));
    }

    fn has(&self, network: IpAddr) -> bool {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.values().any(|seen| *seen == network)
    }
}

/// The places.
pub struct Places<T> {
    /// The oldest first.
    places: VecDeque<Place<T>>,
    held: HashMap<IpAddr, usize>,
}

struct Place<T> {
    network: IpAddr,
    stays: bool,
    what: T,
}

impl<T> Default for Places<T> {
    fn default() -> Places<T> {
        Places {
            places: VecDeque::new(),
            held: HashMap::new(),
        }
    }
}

impl<T> Places<T> {
    /// What has a place, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().map(|place| &place.what)
    }

    /// Gives a connection from this address a place; returns what gave way to it.
    ///
    /// # Errors
    /// It has no place, since nothing gives way to it.
    pub fn admit(&mut self, peer: IpAddr, what: T, seen: &Seen) -> Result<Option<T>, T> {
        let network = network(peer);
        let own = self.held.get(&network).map_or(1, |held| held + 1);
        let is_full = self.places.len() >= PLACES_MAX || own > OF_NETWORK_MAX;
        let gave_way = match self.gives_way(network, own, seen) {
            _ if !is_full => None,
            Some(at) => self.remove_at(at),
            None => return Err(what),
        };
        *self.held.entry(network).or_default() += 1;
        self.places.push_back(Place {
            network,
            stays: false,
            what,
        });
        Ok(gave_way)
    }

    /// Which place is given to a network that will hold `own`.
    fn gives_way(&self, newcomer: IpAddr, own: usize, seen: &Seen) -> Option<usize> {
        let held = |network: IpAddr| match network == newcomer {
            true => own,
            false => self.held.get(&network).copied().unwrap_or_default(),
        };
        let is_kept = |network| held(network) <= KEPT_OF_NETWORK && seen.has(network);
        let newcomer_is_kept = is_kept(newcomer);
        let places = self.places.iter().enumerate();
        let may = places.filter(|(_, place)| match own > OF_NETWORK_MAX {
            _ if place.stays => false,
            true => place.network == newcomer,
            false => newcomer_is_kept || !is_kept(place.network),
        });
        may.min_by_key(|(at, place)| {
            let most_first = usize::MAX - held(place.network);
            (is_kept(place.network), most_first, *at)
        })
        .map(|(at, _)| at)
    }

    /// The connection that this is true of does not give way any more; false: it has already.
    pub fn stay(&mut self, is: impl Fn(&T) -> bool) -> bool {
        let mut places = self.places.iter_mut();
        let found = places.find(|place| is(&place.what));
        found.map(|place| place.stays = true).is_some()
    }

    /// Takes the first that this is true of out of its place.
    pub fn remove(&mut self, is: impl Fn(&T) -> bool) -> Option<T> {
        let at = self.iter().position(is)?;
        self.remove_at(at)
    }

    fn remove_at(&mut self, at: usize) -> Option<T> {
        let place = self.places.remove(at)?;
        if let Some(held) = self.held.get_mut(&place.network) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&place.network);
            }
        }
        Some(place.what)
    }
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

    const NEWCOMER: u32 = u32::MAX;

    fn v4(network: u8, host: u8) -> IpAddr {
        IpAddr::from([192, 0, network, host])
    }

    #[test]
    fn a_newcomer_has_a_place_whatever_others_hold() {
        let seen = Seen::default();
        for networks in [1, 4, 5, 8, 64, PLACES_MAX - 1] {
            let mut places = Places::default();
            for turn in 0..4 * PLACES_MAX {
                let from = v4(1, (turn % networks) as u8);
                assert!(places.admit(from, turn as u32, &seen).is_ok());
            }
            let newcomer = places.admit(v4(2, 1), NEWCOMER, &seen);
            assert!(newcomer.is_ok(), "{networks} networks");
            for turn in 0..4 * PLACES_MAX {
                let from = v4(1, (turn % networks) as u8);
                let _ = places.admit(from, turn as u32, &seen);
            }
            let held = places.iter().count();
            assert_eq!(held, PLACES_MAX.min(networks * OF_NETWORK_MAX + 1));
            let newcomer = places.remove(|number| *number == NEWCOMER);
            assert!(newcomer.is_some(), "{networks} networks");
        }
    }

    #[test]
    fn addresses_of_one_network_of_ipv6_count_together() {
        let mut places = Places::default();
        for host in 0..100 {
            let from = IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, host]);
            assert!(places.admit(from, host, &Seen::default()).is_ok());
        }
        let newest: Vec<u16> = places.iter().copied().collect();
        assert_eq!(newest, (84..100).collect::<Vec<u16>>());
    }

    #[test]
    fn a_network_from_which_a_key_was_seen_keeps_its_places() {
        let (seen, home) = (Seen::default(), v4(3, 1));
        seen.note(Fingerprint::of(b"key"), home);
        let mut places = Places::default();
        let first = places.admit(home, NEWCOMER, &seen);
        assert_eq!(first, Ok(None));
        for turn in 0..4 * PLACES_MAX as u32 {
            let [.., network, host] = turn.to_be_bytes();
            let _ = places.admit(v4(10 + network, host), turn, &seen);
        }
        assert!(places.iter().any(|number| *number == NEWCOMER));
        assert!(places.admit(home, 0, &seen).is_ok());
        // What stays gives way to nobody.
        let numbers: Vec<u32> = places.iter().copied().collect();
        for number in numbers {
            assert!(places.stay(|place| *place == number));
        }
        assert_eq!(places.admit(v4(2, 1), 7, &seen), Err(7));
    }
}
