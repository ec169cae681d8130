//! What a receiver of datagrams keeps: which of them came, and whether that is all.

use std::time::{Duration, Instant};

use model::conditions::Conditions;
use model::record::{Arrivals, Sequence};
use rustix::io::Errno;

use crate::control::{Control, Phase};
use crate::flow::Sent;
use crate::handshake::is_greeting;
use crate::sequence::{Arrival, HEADER_BYTES, Tag, Tracker};

/// A receiver looks this often whether the flow is over while nothing comes.
pub const QUIET: Duration = Duration::from_millis(100);

/// The datagrams of one flow, as they came.
pub struct Intake {
    /// Bytes of a whole message.
    size: usize,
    delay: Duration,
    tag: Tag,
    tracker: Tracker,
    /// Different datagrams of the warm-up and of the measured window.
    unique: [u64; 2],
    /// What did not come in order and in time, of both.
    arrivals: [Arrivals; 2],
    /// Datagrams of others.
    foreign: u64,
}

impl Intake {
    /// Of a run that begins; its datagrams are told from those of others by the tag.
    pub fn of(conditions: &Conditions, tag: Tag) -> Intake {
        Intake {
            size: conditions.message_size_bytes as usize,
            delay: Duration::from_micros(conditions.receiver_delay_us.into()),
            tag,
            tracker: Tracker::default(),
            unique: [0; 2],
            arrivals: [Arrivals::default(); 2],
            foreign: 0,
        }
    }

    /// True where messages have room for a sequence number.
    fn is_numbered(&self) -> bool {
        self.size >= HEADER_BYTES
    }

    /// Counts the datagram that one call brought; what is no message of the flow is left out.
    #[inline]
    pub fn take(&mut self, control: &Control, datagram: &[u8]) {
        if let Some(phase) = self.note(control, datagram) {
            control.count_message(phase, datagram.len());
        }
    }

    /// Counts the datagrams that one call brought.
    #[inline]
    pub fn take_all<'a>(&mut self, control: &Control, datagrams: impl Iterator<Item = &'a [u8]>) {
        let mut first = None;
        let mut came = [(0, 0); 2];
        for datagram in datagrams {
            let Some(phase) = self.note(control, datagram) else { continue };
            first.get_or_insert(phase);
            let (messages, bytes) = &mut came[usize::from(phase == Phase::Measured)];
            *messages += 1;
            *bytes += datagram.len() as u64;
        }
        let Some(first) = first else { return };
        for (phase, (messages, bytes)) in [Phase::Warmup, Phase::Measured].into_iter().zip(came) {
            let is_of_call = (phase == Phase::Measured) == (first == Phase::Measured);
            control.count_batch(phase, u64::from(is_of_call), messages, bytes);
        }
    }

    /// The phase of a message that came for the first time.
    #[inline]
    fn note(&mut self, control: &Control, datagram: &[u8]) -> Option<Phase> {
        if !self.is_numbered() {
            let is_of_run = datagram.len() <= self.size && datagram == self.tag.short(datagram.len());
            let phase = is_of_run.then(|| control.phase())?;
            self.unique[0] += 1;
            return Some(phase);
        }
        let Some((phase, number)) = self.tag.parse(datagram) else {
            self.note_foreign(datagram);
            return None;
        };
        let place = usize::from(phase == Phase::Measured);
        let arrivals = &mut self.arrivals[place];
        match self.tracker.note(number) {
            Arrival::New => {}
            Arrival::Reordered => arrivals.reordered += 1,
            Arrival::Repeated => {
                arrivals.duplicated += 1;
                return None;
            }
            Arrival::Late => {
                arrivals.late += 1;
                return None;
            }
        }
        if phase == Phase::Measured && control.phase() as u8 > Phase::Measured as u8 {
            arrivals.after_window += 1;
        }
        self.unique[place] += 1;
        Some(phase)
    }

    /// Counts what is not of the run. A greeting is: the sender repeats it until it is answered.
    #[cold]
    fn note_foreign(&mut self, datagram: &[u8]) {
        self.foreign += u64::from(!is_greeting(datagram));
    }

    /// Different datagrams that came.
    pub fn total(&self) -> u64 {
        self.unique[0] + self.unique[1]
    }

    /// True where everything is there that the sender sent.
    pub fn is_complete(&self, control: &Control) -> bool {
        control.expected_messages().is_some_and(|sent| self.total() >= sent)
    }

    /// Receives until everything is there, or nothing comes any more. `call` makes one call and takes
    /// what it brought.
    ///
    /// # Errors
    /// The first error that is not a passing one.
    #[inline]
    pub fn receive(
        &mut self,
        control: &Control,
        mut call: impl FnMut(&mut Intake) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let mut quiet_since = None;
        while control.phase() != Phase::Abort {
            match call(self) {
                Ok(()) => {
                    quiet_since = None;
                    if self.is_complete(control) {
                        return Ok(());
                    }
                    if !self.delay.is_zero() {
                        control.sleep(self.delay);
                    }
                }
                Err(Errno::AGAIN) if control.expected_messages().is_some() => {
                    control.count_empty();
                    if quiet_since.get_or_insert_with(Instant::now).elapsed() >= QUIET {
                        return Ok(());
                    }
                }
                Err(Errno::AGAIN) => control.count_empty(),
                Err(Errno::INTR | Errno::CONNREFUSED) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What the numbers told, given how many messages the sender counted.
    pub fn sequence(&self, sent: Sent) -> Option<Sequence> {
        let all = self.arrivals[0].plus(&self.arrivals[1]);
        self.is_numbered().then(|| Sequence {
            measured_sent: sent.measured,
            measured_lost: sent.measured.saturating_sub(self.unique[1]),
            total_lost: sent.total.saturating_sub(self.total()),
            reordered: all.reordered,
            duplicated: all.duplicated,
            late: all.late,
            measured: Some(self.arrivals[1]),
            foreign: self.foreign,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handshake::TOKEN_BYTES;

    fn tag() -> Tag {
        Tag::of(&[3; TOKEN_BYTES])
    }

    fn message(phase: Phase, number: u64) -> [u8; 64] {
        let mut message = [0; 64];
        message[..HEADER_BYTES].copy_from_slice(&tag().header(phase, number));
        message
    }

    #[test]
    fn what_does_not_come_in_order_and_in_time_is_counted_by_its_phase() {
        let conditions = Conditions { message_size_bytes: 64, ..Conditions::default() };
        let (mut intake, control) = (Intake::of(&conditions, tag()), Control::default());
        let mut take = |phase, number| intake.take(&control, &message(phase, number));
        // In the warm-up 1 comes after 2, in the window 4 is lost, 6 comes twice, and 7 after 8.
        [0, 2, 1].into_iter().for_each(|number| take(Phase::Warmup, number));
        control.enter(Phase::Measured);
        [3, 5, 6, 6, 8, 7].into_iter().for_each(|number| take(Phase::Measured, number));
        take(Phase::Measured, 270_000);
        // More than 262 144 numbers late, whether it came before or not.
        take(Phase::Measured, 4);
        control.enter(Phase::Cooldown);
        take(Phase::Measured, 270_001);
        take(Phase::Cooldown, 270_002);
        let sequence = intake.sequence(Sent { measured: 269_999, total: 270_003 }).expect("numbered");
        let measured = Arrivals { reordered: 1, duplicated: 1, late: 1, after_window: 1 };
        assert_eq!(sequence.measured, Some(measured));
        assert_eq!((sequence.reordered, sequence.duplicated, sequence.late), (2, 1, 1));
        assert_eq!((sequence.measured_lost, sequence.total_lost), (269_999 - 7, 270_003 - 11));
        assert_eq!((control.counts().measured.messages, control.counts().outside.messages), (7, 4));
    }
}
