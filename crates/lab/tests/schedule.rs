//! The schedule in virtual time: when packets depart, which are dropped, and the frequency of
//! random losses.

use bitcost_lab::emulator::{Schedule, Size};
use bitcost_model::shaping::{QueueLimit, Shaping};

const MS: u64 = 1_000_000;
const US: u64 = 1000;
const FRAME: Size = Size {
    segments: 1,
    bytes: 1514,
};
const SUPER: Size = Size {
    segments: 40,
    bytes: 40 * 1514,
};

/// Departures of packets that arrived at these times, as (due, number of the packet), in order.
fn departures(shaping: Shaping, arrivals: &[(u64, Size)]) -> (Vec<(u64, usize)>, Schedule<usize>) {
    let mut line = Schedule::new(shaping, 1, 0);
    for (number, (at_ns, size)) in arrivals.iter().enumerate() {
        line.arrive(*at_ns, *size, || number);
    }
    let mut out = Vec::new();
    while let Some(next) = line.next_ns() {
        let left = line.depart(next).expect("is due");
        out.push((left.due_ns, left.packet));
    }
    (out, line)
}

#[test]
fn nothing_departs_before_its_time() {
    let shaping = Shaping {
        delay_us: 10,
        ..Shaping::default()
    };
    let mut line = Schedule::new(shaping, 1, 0);
    line.arrive(100, FRAME, || ());
    assert!(line.depart(99 + 10 * US).is_none());
    let left = line.depart(50 * US).map(|left| left.due_ns);
    assert_eq!(left, Some(100 + 10 * US));
    assert_eq!(line.next_ns(), None);
}

/// A delay holds each packet for its time; a rate sends one after another, saves up no pause, and
/// counts every segment; both overlap, as in netem.
#[test]
fn packets_depart_by_delay_and_rate() {
    let due = |delay_ms: u64, rate_bps, arrivals: &[(u64, Size)]| {
        let shaping = Shaping {
            delay_us: delay_ms * 1000,
            rate_bps,
            ..Shaping::default()
        };
        let (out, _) = departures(shaping, arrivals);
        assert!(
            out.iter()
                .enumerate()
                .all(|(at, (_, packet))| at == *packet)
        );
        out.iter().map(|(due, _)| *due).collect::<Vec<_>>()
    };
    let delayed = due(20, None, &[(0, FRAME), (5, FRAME), (7 * MS, SUPER)]);
    assert_eq!(delayed, [20 * MS, 20 * MS + 5, 27 * MS]);
    // 1514 bytes at 12.112 Mbit/s take 1 ms.
    let rate = Some(12_112_000);
    let paused = due(0, rate, &[(0, FRAME), (0, FRAME), (10 * MS, FRAME)]);
    assert_eq!(paused, [MS, 2 * MS, 11 * MS]);
    let twice = [0, 0, 15 * MS, 15 * MS].map(|at_ns| (at_ns, FRAME));
    assert_eq!(due(20, rate, &twice), [21, 22, 36, 37].map(|ms| ms * MS));
    assert_eq!(due(0, rate, &[(0, SUPER), (0, FRAME)]), [40 * MS, 41 * MS]);
}

#[test]
fn a_limit_counts_what_it_says() {
    let dropped = |limit, arrivals: &[(u64, Size)]| {
        let shaping = Shaping {
            delay_us: 20_000,
            queue_limit: Some(limit),
            ..Shaping::default()
        };
        let (_, line) = departures(shaping, arrivals);
        let (overflowed, lost) = (&line.counters().overflowed, &line.counters().lost);
        (overflowed.packets, overflowed.segments, lost.packets)
    };
    let five = [(0, SUPER); 5];
    assert_eq!(dropped(QueueLimit::Packets(5), &five), (0, 0, 0));
    assert_eq!(dropped(QueueLimit::Packets(3), &five), (2, 80, 0));
    assert_eq!(dropped(QueueLimit::Segments(3), &five), (5, 200, 0));
    assert_eq!(dropped(QueueLimit::Segments(80), &five), (3, 120, 0));
    assert_eq!(dropped(QueueLimit::Bytes(40 * 1514), &five), (4, 160, 0));
    let two = |later| dropped(QueueLimit::Packets(1), &[(0, FRAME), (later, FRAME)]);
    assert_eq!((two(20 * MS), two(20 * MS - 1)), ((0, 0, 0), (1, 1, 0)));
}

/// A packet that is due has left the queue, even if the caller takes it later.
#[test]
fn a_caller_that_is_late_does_not_make_the_queue_longer() {
    let shaping = Shaping {
        delay_us: 10,
        queue_limit: Some(QueueLimit::Packets(1)),
        ..Shaping::default()
    };
    let mut line = Schedule::new(shaping, 1, 0);
    for number in 0..5 {
        line.arrive(number * 10 * US, FRAME, || number);
    }
    assert_eq!(line.counters().overflowed.packets, 0);
    assert_eq!(line.holds().packets, 1);
    let left = std::iter::from_fn(|| line.depart(MS));
    assert!(left.map(|left| left.packet).eq(0..5));
}

/// One per cent of 100 000 lies within the 99.99 % interval of its binomial distribution: ±3.9 ×
/// √(n·p·(1−p)).
#[test]
fn one_per_cent_is_lost() {
    let shaping = Shaping {
        loss_ppm: 10_000,
        ..Shaping::default()
    };
    let mut line = Schedule::new(shaping, 42, 0);
    for at in 0..100_000 {
        line.arrive(at, FRAME, || ());
        while line.depart(at).is_some() {}
    }
    let lost = line.counters().lost.packets;
    assert!(lost.abs_diff(1000) <= 122, "{lost}");
    assert_eq!(line.counters().arrived.packets, 100_000);
}

#[test]
fn the_same_seed_loses_the_same_packets_whatever_else_is_asked() {
    let kept = |seed, direction, shaping: Shaping| {
        let mut line = Schedule::new(shaping, seed, direction);
        let mut kept = Vec::new();
        for number in 0..2000 {
            line.arrive(number, FRAME, || kept.push(number));
        }
        kept
    };
    let lossy = Shaping {
        loss_ppm: 100_000,
        ..Shaping::default()
    };
    let jittery = Shaping {
        jitter_us: 1000,
        delay_us: 5000,
        reorder_ppm: 200_000,
        ..lossy.clone()
    };
    assert_eq!(kept(3, 0, lossy.clone()), kept(3, 0, lossy.clone()));
    assert_eq!(kept(3, 0, lossy.clone()), kept(3, 0, jittery));
    assert_ne!(kept(3, 0, lossy.clone()), kept(3, 1, lossy.clone()));
    assert_ne!(kept(3, 0, lossy.clone()), kept(4, 0, lossy));
}

#[test]
fn duplicates_come_twice_and_reordered_ones_at_once() {
    let always = Shaping {
        duplicate_ppm: 1_000_000,
        delay_us: 10,
        ..Shaping::default()
    };
    let (out, line) = departures(always, &[(0, FRAME), (1, FRAME)]);
    let due = [10 * US, 10 * US + 1];
    let expected = [(due[0], 0), (due[0], 0), (due[1], 1), (due[1], 1)];
    assert_eq!(out, expected);
    let (arrived, duplicated) = (&line.counters().arrived, &line.counters().duplicated);
    assert_eq!((arrived.packets, duplicated.packets), (2, 2));
    let half = Shaping {
        reorder_ppm: 500_000,
        delay_us: 1000,
        ..Shaping::default()
    };
    let arrivals: Vec<_> = (0..1000).map(|at| (at, FRAME)).collect();
    let (out, _) = departures(half, &arrivals);
    let at_once = out
        .iter()
        .filter(|(due, number)| *due == *number as u64)
        .count();
    assert!((400..600).contains(&at_once), "{at_once}");
    assert!(
        out.iter()
            .all(|(due, number)| [*number as u64, *number as u64 + MS].contains(due))
    );
}

#[test]
fn jitter_lets_packets_overtake_and_keeps_its_bounds() {
    let shaping = Shaping {
        delay_us: 10_000,
        jitter_us: 2000,
        ..Shaping::default()
    };
    let arrivals: Vec<_> = (0..2000).map(|number| (number * 1000, FRAME)).collect();
    let (out, _) = departures(shaping, &arrivals);
    let bounds =
        |(due, number): &(u64, usize)| (8 * MS..12 * MS).contains(&(due - *number as u64 * 1000));
    assert!(out.iter().all(bounds));
    assert!(out.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    assert!(out.windows(2).any(|pair| pair[0].1 > pair[1].1));
}
