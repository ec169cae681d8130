//! The datagrams that a receiver has received, and whether they are complete.

use std::time::{Duration, Instant};

use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::record::{Arrivals, DelayVariation, Sequence};
use rustix::io::Errno;

use crate::control::{Control, Phase};
use crate::delay_variation::DelayRecorder;
use crate::handshake::is_greeting;
use crate::loops::{is_transient, receiver_delay};
use crate::sequence::{Arrival, HEADER_BYTES, Tag, Tracker};

/// The interval at which a receiver checks whether the flow is over while it receives nothing.
pub const QUIET: Duration = Duration::from_millis(100);

/// The shortest one of a stream of datagrams.
const LEAST_QUIET: Duration = Duration::from_millis(20);

/// The same for a stream of datagrams: no longer than the run, so that a short one does not wait for
/// lost datagrams for a multiple of its time.
pub fn quiet(conditions: &Conditions) -> Duration {
    if conditions.workload != Workload::UdpStream || conditions.is_bounded() {
        return QUIET;
    }
    let ms = conditions.warmup_ms.saturating_add(conditions.duration_ms);
    Duration::from_millis(ms.into()).clamp(LEAST_QUIET, QUIET)
}

pub struct Datagrams {
    size: usize,
    delay: Duration,
    /// The time without datagrams after which the flow is over, once one has been received.
    quiet: Duration,
    tag: Tag,
    tracker: Tracker,
    /// Distinct datagrams of the warm-up and of the measured window.
    unique: [u64; 2],
    /// Reordered, duplicate and late datagrams of both phases.
    arrivals: [Arrivals; 2],
    foreign: u64,
    measured_numbers: Option<[u64; 2]>,
    delays: Option<DelayRecorder>,
}

impl Datagrams {
    /// The state at the start of a run; the tag distinguishes its datagrams from others.
    pub fn of(conditions: &Conditions, tag: Tag) -> Datagrams {
        Datagrams {
            size: conditions.message_size_bytes as usize,
            delay: receiver_delay(conditions),
            quiet: quiet(conditions),
            tag,
            tracker: Tracker::default(),
            unique: [0; 2],
            arrivals: [Arrivals::default(); 2],
            foreign: 0,
            measured_numbers: None,
            delays: conditions
                .delay_variation
                .then(|| DelayRecorder::new(tag))
                .flatten(),
        }
    }

    fn is_numbered(&self) -> bool {
        self.size >= HEADER_BYTES
    }

    /// Counts the datagram of one call; one that is not a message of the flow is ignored.
    #[inline]
    pub fn take(&mut self, control: &Control, datagram: &[u8]) {
        if let Some(phase) = self.note(control, datagram) {
            control.count_message(phase, datagram.len());
        } else {
            control.count_stray(datagram.len());
        }
    }

    #[inline]
    pub fn take_all<'a>(&mut self, control: &Control, datagrams: impl Iterator<Item = &'a [u8]>) {
        let mut first = None;
        let mut came = [(0, 0); 2];
        for datagram in datagrams {
            let Some(phase) = self.note(control, datagram) else {
                control.count_stray(datagram.len());
                continue;
            };
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

    /// Records when a datagram was received, where the run requests it.
    #[inline]
    pub fn note_time(&mut self, datagram: &[u8], at_ns: u64) {
        if let Some(delays) = &mut self.delays {
            delays.note(datagram, at_ns);
        }
    }

    pub fn delay_variation(&self) -> Option<DelayVariation> {
        self.delays.as_ref().map(DelayRecorder::variation)
    }

    /// Records a datagram; returns the phase of a message that is received for the first time.
    #[inline]
    fn note(&mut self, control: &Control, datagram: &[u8]) -> Option<Phase> {
        if !self.is_numbered() {
            let is_of_run =
                datagram.len() <= self.size && datagram == self.tag.short(datagram.len());
            let phase = is_of_run.then(|| control.phase())?;
            self.unique[0] += 1;
            return Some(phase);
        }
        let parsed = match self.tag.is_iperf3() {
            false => self.tag.parse(datagram),
            true => {
                (self.tag.of_iperf3(datagram)).map(|header| (control.phase(), header.number - 1))
            }
        };
        let Some((phase, number)) = parsed else {
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
        if phase == Phase::Measured {
            self.measured_numbers = match self.measured_numbers {
                None => Some([number; 2]),
                Some([first, last]) => Some([first.min(number), last.max(number)]),
            };
        }
        Some(phase)
    }

    /// Counts a datagram that does not belong to the run. A greeting does: the sender repeats it
    /// until it is answered.
    #[cold]
    fn note_foreign(&mut self, datagram: &[u8]) {
        self.foreign += u64::from(!is_greeting(datagram));
    }

    pub fn total(&self) -> u64 {
        self.unique[0] + self.unique[1]
    }

    /// True once everything that was sent has been received.
    pub fn is_complete(&self, control: &Control) -> bool {
        control
            .expected_messages()
            .is_some_and(|sent| self.total() >= sent)
    }

    /// Receives until everything has been received, or nothing more comes. `call` makes one receive
    /// call and counts its datagrams.
    #[inline]
    pub fn receive(
        &mut self,
        control: &Control,
        mut call: impl FnMut(&mut Datagrams) -> Result<(), Errno>,
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
                    // The first one may still be on its way.
                    let quiet = if self.total() > 0 { self.quiet } else { QUIET };
                    if quiet_since.get_or_insert_with(Instant::now).elapsed() >= quiet {
                        return Ok(());
                    }
                }
                Err(Errno::AGAIN) => control.count_empty(),
                Err(error) if error == Errno::INTR || is_transient(error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Loss and order by sequence numbers, given how many messages the sender counted in the window, and in all.
    pub fn sequence(&self, [measured, total]: [u64; 2]) -> Option<Sequence> {
        let [measured, total] = match (self.tag.is_iperf3(), self.measured_numbers) {
            // Its datagrams do not say whether they are of the window.
            (true, numbers) => [
                numbers.map_or(0, |[first, last]| last - first + 1),
                total.max(self.tracker.next()),
            ],
            (false, _) => [measured, total],
        };
        let all = self.arrivals[0].plus(&self.arrivals[1]);
        self.is_numbered().then(|| Sequence {
            measured_sent: measured,
            measured_lost: measured.saturating_sub(self.unique[1]),
            total_lost: total.saturating_sub(self.total()),
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
    fn reordered_duplicate_and_late_datagrams_are_counted_by_phase() {
        let conditions = Conditions {
            message_size_bytes: 64,
            ..Conditions::default()
        };
        let (mut datagrams, control) = (Datagrams::of(&conditions, tag()), Control::default());
        let mut take = |phase, number| datagrams.take(&control, &message(phase, number));
        // In the warm-up, 1 is reordered; in the window, 4 is lost, 6 is duplicate, 7 is reordered.
        [0, 2, 1]
            .into_iter()
            .for_each(|number| take(Phase::Warmup, number));
        control.enter(Phase::Measured);
        [3, 5, 6, 6, 8, 7]
            .into_iter()
            .for_each(|number| take(Phase::Measured, number));
        take(Phase::Measured, 270_000);
        // The number is late by more than 262 144, whether it was received before or not.
        take(Phase::Measured, 4);
        control.enter(Phase::Cooldown);
        take(Phase::Measured, 270_001);
        take(Phase::Cooldown, 270_002);
        let sequence = datagrams.sequence([269_999, 270_003]).expect("numbered");
        let measured = Arrivals {
            reordered: 1,
            duplicated: 1,
            late: 1,
            after_window: 1,
        };
        assert_eq!(sequence.measured, Some(measured));
        assert_eq!(
            (sequence.reordered, sequence.duplicated, sequence.late),
            (2, 1, 1)
        );
        assert_eq!(
            (sequence.measured_lost, sequence.total_lost),
            (269_999 - 7, 270_003 - 11)
        );
        assert_eq!(
            (
                control.counts().measured.messages,
                control.counts().outside.messages
            ),
            (7, 4)
        );
    }
}
