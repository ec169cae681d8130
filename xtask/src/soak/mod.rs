//! `cargo xtask soak`: good and bad clients of both kinds of service for a long time, and whether
//! memory, descriptors and threads of the services grow.

mod bad;
mod clients;
mod good;
mod servers;

use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::bench_peers::given_or_built;
use clients::Clients;
use servers::{Held, Server};

/// How long, and of what.
#[derive(clap::Args)]
pub struct Arguments {
    /// How long the clients come, in minutes
    #[arg(long, value_name = "N", default_value_t = 30)]
    minutes: u64,
    /// The bitcost that serves and tests; else it is built as users build it
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// The time between two readings, at which all clients pause.
const INTERVAL: Duration = Duration::from_secs(60);

/// The pause: longer than a service waits for a connection that proves nothing, or for the agent of a
/// client that vanished.
const REST: Duration = Duration::from_secs(15);

/// Growth of the resident memory that is no leak, in KiB: what the allocator keeps in the arenas of
/// threads that have ended, of which glibc has 8 for each CPU at most. With `MALLOC_ARENA_MAX=1`, where
/// there is one arena, `bitcost serve` does not grow.
const GROWTH_KIB: u64 = 4096;

/// Serves, lets the clients come, and prints what the services hold; returns whether that stays.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let program = given_or_built(arguments.program.as_deref())?;
    let place = tempfile::tempdir()?;
    let tls = Server::of_bitcosts(&program, place.path())?;
    let iperf3 = Server::of_iperf3(&program)?;
    let spent = tls.link()?;
    let users = ["alice", "bob"].map(|name| place.path().join(name));
    for (link, user) in [spent.to_owned(), tls.new_link()?].iter().zip(&users) {
        let output = good::bitcost(&program, user, &format!("tcp {link} -t 200ms")).output()?;
        // The link is spent also where the test failed.
        if !output.status.success() && !good::succeeds(&program, user, "tcp 127.0.0.1") {
            bail!(
                "no client is served: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
    }
    let clients = Clients::default();
    let readings = thread::scope(|scope| {
        for user in &users {
            scope.spawn(|| good::of_service(&clients, &program, user));
        }
        scope.spawn(|| good::of_iperf3(&clients, iperf3.address.port()));
        scope.spawn(|| good::vanish(&clients, &program, &users[0]));
        scope.spawn(|| good::foreign(&clients, &program, &place.path().join("foreign"), spent));
        for server in [&tls, &iperf3] {
            scope.spawn(|| bad::connect(&clients, server.address));
        }
        let readings = watch(&clients, [&tls, &iperf3], arguments.minutes);
        clients.stop.store(true, Relaxed);
        readings
    })?;
    let last = good::succeeds(&program, &users[1], "tcp 127.0.0.1");
    let served = if last { "served" } else { "not served" };
    println!("a client after all of them: {served}");
    let stays = [
        stays("bitcost", &readings, 0),
        stays("iperf3", &readings, 1),
    ];
    Ok(stays == [true; 2] && last && clients.good.load(Relaxed) > 0)
}

/// Reads what both services hold at rest, until the time is over.
fn watch(clients: &Clients, servers: [&Server; 2], minutes: u64) -> Result<Vec<[Held; 2]>> {
    println!(
        "minute | RSS KiB, descriptors, threads, children of serve | the same of serve --iperf3 | good clients (failed), refused, bad"
    );
    let begun = Instant::now();
    let mut readings = Vec::new();
    while begun.elapsed() < Duration::from_secs(60 * minutes) {
        thread::sleep(INTERVAL - REST);
        clients.pause.store(true, Relaxed);
        thread::sleep(REST);
        let held = [servers[0].held()?, servers[1].held()?];
        println!(
            "{:6.1} | {} | {} | {} ({}), {}, {}",
            begun.elapsed().as_secs_f64() / 60.0,
            held[0],
            held[1],
            clients.good.load(Relaxed),
            clients.good_failed.load(Relaxed),
            clients.refused.load(Relaxed),
            clients.bad.load(Relaxed),
        );
        readings.push(held);
        clients.pause.store(false, Relaxed);
    }
    Ok(readings)
}

/// What a service holds, and the growth that is no leak.
type Figure = (&'static str, fn(&Held) -> u64, u64);

/// Whether the service holds at the end what it held after the first readings.
fn stays(name: &str, readings: &[[Held; 2]], server: usize) -> bool {
    let of: Vec<&Held> = readings.iter().map(|both| &both[server]).collect();
    let third = of.len().div_ceil(3);
    let most =
        |part: &[&Held], figure: fn(&Held) -> u64| part.iter().map(|held| figure(held)).max();
    let figures: [Figure; 4] = [
        ("KiB of memory", |held| held.resident_kib, GROWTH_KIB),
        ("descriptors", |held| held.descriptors, 0),
        ("threads", |held| held.threads, 0),
        ("children", |held| held.children, 0),
    ];
    let mut stays = true;
    for (what, figure, more) in figures {
        let first = most(&of[..third], figure).unwrap_or(0);
        let last = most(&of[of.len() - third..], figure).unwrap_or(0);
        let holds = last <= first + more;
        let verdict = if holds { "holds" } else { "GROWS" };
        println!(
            "{name}: {what}: at most {first} in the first third, {last} in the last: {verdict}"
        );
        stays &= holds;
    }
    stays
}
