//! The client's process in place of an agent at a service: what arrives on standard input goes
//! to the service, and its answers to standard output.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bitcost_model::protocol::{FailureCause, FromAgent};

use crate::again::patiently;
use crate::client::{Resolve, open, parse_answer};
use crate::frames::{Frames, frame};
use crate::known::{Client, Known};
use crate::message::{Answer, Hello, Wants, clean_name};
use crate::relay::{End, Queues, Sides, relay};

/// The longest time without an answer of a service that this client waits for.
const SILENCE: Duration = Duration::from_secs(15);

/// How often the user is told again that the test waits.
const TELL: Duration = Duration::from_secs(10);

/// How the client's process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carried {
    /// The controller has ended it, or knows why it ended by a last message.
    Done,
    /// The connection is lost, or the service ended it.
    Lost,
}

/// Carries messages between standard input and output and an agent at a service until either ends.
/// `no_cost`: the test measures no cost, so that it need not wait for those that do.
/// `tell` gets a line for people each time the place in the queue changes.
pub fn carry(
    client: &Client,
    known: &Known,
    no_cost: bool,
    resolve: Resolve<'_>,
    tell: &mut dyn FnMut(&str),
) -> io::Result<Carried> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let first = Hello {
        no_cost,
        ..Hello::new(Wants::Agent)
    };
    let at = known.at();
    let attempt = || {
        let mut opened = open(client, known, first.clone(), resolve)?;
        let text = opened.answer_text(&at)?;
        Ok((opened, text))
    };
    let opened = patiently(
        &mut |line| {
            // The controller must know that this process lives.
            let _ = output.write_all(&frame(&FromAgent::Alive));
            tell(line);
        },
        attempt,
    );
    let (mut opened, text) = match opened {
        Ok(opened) => opened,
        Err(unreached) => {
            output.write_all(&failed(unreached.to_string()))?;
            return Ok(Carried::Done);
        }
    };
    let mut sides = Front {
        at: at.to_string(),
        frames: Some(opened.frames),
        tell,
        told: None,
        heard: Instant::now(),
    };
    let mut queues = Queues::default();
    if sides.answer(&text, &mut queues).is_err() {
        output.write_all(&queues.inward)?;
        return Ok(Carried::Done);
    }
    Ok(
        match relay(&mut opened.secure, input, output, &mut sides, queues) {
            End::Process | End::Told => Carried::Done,
            End::Peer | End::Broken(_) => Carried::Lost,
        },
    )
}

/// A last message to the controller.
fn failed(reason: String) -> Vec<u8> {
    frame(&FromAgent::Failed {
        reason,
        cause: FailureCause::Other,
    })
}

/// What the service says before the control protocol begins; what the controller says meanwhile is held.
struct Front<'a> {
    at: String,
    /// Absent: the control protocol has begun.
    frames: Option<Frames>,
    tell: &'a mut dyn FnMut(&str),
    told: Option<(Instant, String, u32)>,
    heard: Instant,
}

impl Front<'_> {
    fn answer(&mut self, text: &[u8], queues: &mut Queues) -> Result<(), End> {
        match parse_answer(text) {
            Ok(Answer::Waiting {
                behind,
                seconds,
                place,
            }) => {
                // The controller must know that this process lives.
                queues.inward.extend_from_slice(&frame(&FromAgent::Alive));
                self.wait(&clean_name(&behind), seconds, place);
                Ok(())
            }
            Ok(_) => {
                let rest = self.frames.take().map(Frames::rest).unwrap_or_default();
                queues.inward.extend_from_slice(&rest);
                queues.outward.append(&mut queues.held);
                Ok(())
            }
            Err(why) => self.end(format!("the service at {}: {why}", self.at), queues),
        }
    }

    fn end(&self, reason: String, queues: &mut Queues) -> Result<(), End> {
        queues.inward.extend_from_slice(&failed(reason));
        Err(End::Told)
    }

    fn wait(&mut self, behind: &str, seconds: Option<u32>, place: u32) {
        let is_known = self
            .told
            .as_ref()
            .is_some_and(|(when, who, at)| when.elapsed() < TELL && who == behind && *at == place);
        if is_known {
            return;
        }
        self.told = Some((Instant::now(), behind.to_owned(), place));
        let about = match seconds {
            Some(seconds @ 1..) => format!(", its run takes about {seconds} s more"),
            _ => String::new(),
        };
        (self.tell)(&format!(
            "waiting at {} for {behind}'s test{about}; position {place} in the queue",
            self.at
        ));
    }
}

impl Sides for Front<'_> {
    fn peer_says(&mut self, bytes: &[u8], queues: &mut Queues) -> Result<(), End> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.heard = Instant::now();
        let Some(frames) = &mut self.frames else {
            queues.inward.extend_from_slice(bytes);
            return Ok(());
        };
        frames.push(bytes);
        while let Some(frames) = &mut self.frames {
            match frames.take() {
                Ok(Some(text)) => self.answer(&text, queues)?,
                Ok(None) => break,
                Err(long) => {
                    let reason = format!("the service at {} sends {long}", self.at);
                    return self.end(reason, queues);
                }
            }
        }
        Ok(())
    }

    fn process_says(&mut self, bytes: &[u8], queues: &mut Queues) {
        match self.frames {
            None => queues.outward.extend_from_slice(bytes),
            Some(_) => queues.held.extend_from_slice(bytes),
        }
    }

    fn look(&mut self, queues: &mut Queues) -> Result<(), End> {
        if self.frames.is_some() && self.heard.elapsed() > SILENCE {
            let silence = SILENCE.as_secs();
            let reason = format!(
                "the service at {} has not answered for {silence} s",
                self.at
            );
            return self.end(reason, queues);
        }
        Ok(())
    }
}
