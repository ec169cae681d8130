//! When each packet of one direction departs, or why it does not: netem's rules. The caller
//! supplies the time.
//!
//! Nothing here reads a clock or a socket. The order of the rules is that of `netem_enqueue` in
//! net/sched/sch_netem.c: duplication, loss, the queue's limit, reordering, delay with jitter,
//! rate.

use std::collections::{BTreeMap, VecDeque};

use bitcost_model::counters::{Amount, LinkEmulator};
use bitcost_model::shaping::{QueueLimit, Shaping};

use crate::emulator::chance::Chance;
use crate::emulator::size::Size;

pub struct Departure<T> {
    pub due_ns: u64,
    /// Packets that are due at the same time depart in the order of arrival.
    number: u64,
    pub size: Size,
    pub packet: T,
}

impl<T> Departure<T> {
    fn key(&self) -> (u64, u64) {
        (self.due_ns, self.number)
    }
}

/// One direction of an emulator: the packets that it holds, and its counters. `T` is a packet's
/// bytes, or a handle of them.
pub struct Schedule<T> {
    shaping: Shaping,
    /// What fits in its queue.
    room: Option<QueueLimit>,
    chance: Chance,
    /// Packets that are delayed, or queued for the rate; each departs no earlier than the one
    /// before it.
    in_order: VecDeque<Departure<T>>,
    /// Packets that are delayed, and due before a packet that arrived earlier: by jitter, by
    /// reordering, or since the settings changed; by their [`Departure::key`].
    overtaking: BTreeMap<(u64, u64), Departure<T>>,
    /// Packets that are due, and not yet taken by the caller: they are no longer in the queue.
    due: VecDeque<Departure<T>>,
    holds: Amount,
    last_ns: u64,
    count: u64,
    counters: LinkEmulator,
}

impl<T> Schedule<T> {
    /// An empty schedule. The same `seed` and `direction` give the n-th packet the same fate.
    pub fn new(shaping: Shaping, seed: u64, direction: u64) -> Schedule<T> {
        Schedule {
            room: shaping.room(),
            shaping,
            chance: Chance::new(seed, direction),
            in_order: VecDeque::new(),
            overtaking: BTreeMap::new(),
            due: VecDeque::new(),
            holds: Amount::default(),
            last_ns: 0,
            count: 0,
            counters: LinkEmulator::default(),
        }
    }

    /// Shapes otherwise from now on; packets that it holds keep their times. The random
    /// numbers restart.
    pub fn set(&mut self, shaping: Shaping, seed: u64, direction: u64) {
        self.room = shaping.room();
        self.shaping = shaping;
        self.chance = Chance::new(seed, direction);
    }

    pub fn shaping(&self) -> &Shaping {
        &self.shaping
    }

    /// Adds a packet of this size that arrived at `at_ns`, not before earlier ones. `packet` is
    /// called once for each copy that the emulator holds, so not at all if the packet is dropped.
    pub fn arrive(&mut self, at_ns: u64, size: Size, mut packet: impl FnMut() -> T) {
        self.release(at_ns);
        size.add_to(&mut self.counters.arrived);
        let twice = self.chance.duplicates(self.shaping.duplicate_ppm);
        let lost = self.chance.loses(self.shaping.loss_ppm);
        if lost {
            size.add_to(&mut self.counters.lost);
        } else {
            self.enter(at_ns, size, &mut packet);
        }
        // The copy is a separate packet, which may be lost too, but is not duplicated again.
        if twice {
            size.add_to(&mut self.counters.duplicated);
            if self.chance.loses(self.shaping.loss_ppm) {
                size.add_to(&mut self.counters.lost);
            } else {
                self.enter(at_ns, size, &mut packet);
            }
        }
    }

    /// When the next packet departs, in ns; absent if there is none.
    pub fn next_ns(&self) -> Option<u64> {
        self.due
            .front()
            .or_else(|| self.first())
            .map(|departure| departure.due_ns)
    }

    pub fn depart(&mut self, now_ns: u64) -> Option<Departure<T>> {
        if self.due.is_empty() {
            self.release(now_ns);
        }
        self.due.pop_front()
    }

    /// What became of its packets, without the device, its times and its rate.
    pub fn counters(&self) -> &LinkEmulator {
        &self.counters
    }

    /// The counters, for what the caller knows of its packets: departed, refused, missed.
    pub fn counters_mut(&mut self) -> &mut LinkEmulator {
        &mut self.counters
    }

    pub fn holds(&self) -> Amount {
        self.holds
    }

    fn release(&mut self, now_ns: u64) {
        while self.first().is_some_and(|first| first.due_ns <= now_ns) {
            let Some(first) = self.take_first() else {
                return;
            };
            first.size.remove_from(&mut self.holds);
            self.due.push_back(first);
        }
    }

    fn first(&self) -> Option<&Departure<T>> {
        let overtaking = self.overtaking.values().next();
        let both = self.in_order.front().into_iter().chain(overtaking);
        both.min_by_key(|departure| departure.key())
    }

    fn take_first(&mut self) -> Option<Departure<T>> {
        let next = self.in_order.front().map(Departure::key);
        match self.overtaking.first_entry() {
            Some(other) if next.is_none_or(|next| *other.key() < next) => Some(other.remove()),
            _ => self.in_order.pop_front(),
        }
    }

    fn enter(&mut self, at_ns: u64, size: Size, packet: &mut impl FnMut() -> T) {
        if !self.has_room(size) {
            size.add_to(&mut self.counters.overflowed);
            return;
        }
        let due_ns = self.due_ns(at_ns, size);
        size.add_to(&mut self.holds);
        let departure = Departure {
            due_ns,
            number: self.count,
            size,
            packet: packet(),
        };
        let key = departure.key();
        if self.in_order.back().is_some_and(|last| last.key() > key) {
            self.overtaking.insert(key, departure);
        } else {
            self.in_order.push_back(departure);
        }
        self.count += 1;
    }

    fn has_room(&self, size: Size) -> bool {
        match self.room {
            None => true,
            Some(QueueLimit::Packets(most)) => self.holds.packets < u64::from(most),
            Some(QueueLimit::Segments(most)) => {
                self.holds.segments + u64::from(size.segments) <= u64::from(most)
            }
            Some(QueueLimit::Bytes(most)) => self.holds.bytes + size.bytes <= most,
        }
    }

    /// When a packet that enters now departs. With a rate its transmission starts when its delay is
    /// over and the previous packet has left, and it departs at the end of its transmission.
    fn due_ns(&mut self, at_ns: u64, size: Size) -> u64 {
        if self.chance.reorders(self.shaping.reorder_ppm) {
            return at_ns;
        }
        let [delay_ns, jitter_ns] =
            [self.shaping.delay_us, self.shaping.jitter_us].map(|us| us * 1000);
        let delayed_ns = at_ns + self.chance.delay_ns(delay_ns, jitter_ns);
        let Some(rate_bps) = self.shaping.rate_bps else {
            return delayed_ns;
        };
        self.last_ns = delayed_ns.max(self.last_ns) + sending_ns(size.bytes, rate_bps);
        self.last_ns
    }
}

fn sending_ns(bytes: u64, rate_bps: u64) -> u64 {
    (u128::from(bytes) * 8 * 1_000_000_000 / u128::from(rate_bps.max(1))) as u64
}
