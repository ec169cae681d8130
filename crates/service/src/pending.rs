//! Connections with a thread that have not yet proved who they are: a bounded number of threads.

use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::places::{Places, Seen};

/// Most connections that gave way and whose threads have not yet ended.
const LEAVING_MAX: usize = 16;

/// How long a new connection waits for one of these threads.
const LEAVE: Duration = Duration::from_millis(100);

/// The connections with a thread and without a proof.
#[derive(Default)]
pub struct Pending {
    table: Mutex<Table>,
    left: Condvar,
}

#[derive(Default)]
struct Table {
    next: u64,
    places: Places<Opening>,
    leaving: usize,
}

struct Opening {
    number: u64,
    /// Another handle of its socket.
    socket: TcpStream,
}

/// A connection's place, until this is dropped.
pub struct Admitted {
    pending: Arc<Pending>,
    number: u64,
}

impl Pending {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a connection, for which another may end; absent where none may.
    pub fn admit(
        self: &Arc<Self>,
        peer: IpAddr,
        socket: &TcpStream,
        seen: &Seen,
    ) -> Option<Admitted> {
        let socket = socket.try_clone().ok()?;
        let is_full = |table: &mut Table| table.leaving >= LEAVING_MAX;
        let waited = self.left.wait_timeout_while(self.table(), LEAVE, is_full);
        let (mut table, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            return None;
        }
        let number = table.next;
        table.next += 1;
        let opening = Opening { number, socket };
        if let Some(gave_way) = table.places.admit(peer, opening, seen).ok()? {
            // Its thread wakes up and ends.
            let _ = gave_way.socket.shutdown(Shutdown::Both);
            table.leaving += 1;
        }
        Some(Admitted {
            pending: self.clone(),
            number,
        })
    }
}

impl Admitted {
    /// The connection has said what it wants, and no longer gives way; false where it already has.
    pub fn settle(&self) -> bool {
        let mut table = self.pending.table();
        table.places.stay(|opening| opening.number == self.number)
    }

    /// Whether it had to give way.
    pub fn gave_way(&self) -> bool {
        let table = self.pending.table();
        !table
            .places
            .iter()
            .any(|opening| opening.number == self.number)
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut table = self.pending.table();
        let own = table.places.remove(|opening| opening.number == self.number);
        if own.is_none() {
            table.leaving -= 1;
            self.pending.left.notify_one();
        }
    }
}
