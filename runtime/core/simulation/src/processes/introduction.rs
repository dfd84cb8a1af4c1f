//! Processes of a run meet: whether they belong together, how they wake each other, who watches whom.

use crate::Options;
use mpi::Mpi;
use std::path::Path;

/// Lets the processes tell each other who they are. Returns what is wrong, if one has other options or
/// another program than process 0, or other lines in `besides`, which is what else must be alike.
pub fn introduce(mpi: &Mpi, options: &Options, besides: &str) -> Option<String> {
    let me = mpi.processes().1;
    // Where process numbers are the same processes'.
    let host = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let numbers = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    transport::watch::prepare();
    let mut text = format!(
        "{} {} {} {}\n{}",
        std::process::id(),
        mpi.bell(),
        host.trim(),
        numbers.display(),
        identity(options, besides)
    );
    if options.map.is_some() {
        let rows: Vec<u32> = (0..mpi.processes().0).map(|process| mpi.ranks_of(process).0).collect();
        text += &format!("\na map with the first ranks {rows:?}");
    }
    let all = mpi.everybody(&text);
    let parts: Vec<_> = all.iter().map(|text| text.split_once('\n').unwrap_or((text, ""))).collect();
    // Where one has nothing to do with the others, they end on their own.
    if let Some(other) = parts.iter().position(|(_, identity)| *identity != parts[0].1) {
        return Some(stranger(other, parts[0].1, parts[other].1));
    }
    let addresses: Vec<Address> = parts.iter().map(|(address, _)| Address::of(address)).collect();
    let mine = addresses[me as usize].host;
    let bells: Vec<u64> =
        addresses.iter().map(|other| if other.host == mine { other.bell } else { 0 }).collect();
    mpi.learn_bells(&bells);
    watch(mpi, me, &addresses);
    None
}

/// A process's number, bell and host.
struct Address<'a> {
    /// The number on its host.
    pid: i32,
    /// [`Mpi::bell`].
    bell: u64,
    /// The identity of its host and of the namespace of its process number.
    host: &'a str,
}

impl Address<'_> {
    fn of(text: &str) -> Address<'_> {
        let mut parts = text.splitn(3, ' ');
        let (pid, bell) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        Address {
            pid: pid.parse().unwrap_or(0),
            bell: bell.parse().unwrap_or(0),
            host: parts.next().unwrap_or_default(),
        }
    }
}

/// Lets the first process of a host watch all of it, so that each death is reported once.
fn watch(mpi: &Mpi, me: u32, addresses: &[Address]) {
    let mine = addresses[me as usize].host;
    let here = || (0..).zip(addresses).filter(|(_, other)| other.host == mine);
    let told = |(process, Address { pid, .. }): (u32, &Address)| {
        let (first, count) = mpi.ranks_of(process);
        let ranks = match count {
            0 => "no ranks".to_owned(),
            1 => format!("rank {first}"),
            _ => format!("ranks {first} to {}", first + count - 1),
        };
        transport::watch::WatchedProcess {
            pid: *pid,
            text: format!("xsim: process {process} ({ranks}) has died: the run ends"),
        }
    };
    match here().next() {
        Some((first, _)) if first == me => transport::watch::watch(here().map(told).collect()),
        Some((_, first)) => transport::watch::watched_by(first.pid),
        None => {}
    }
}

/// Returns the sentence for another process that is not of this run: what process 0 and that one are, in
/// lines.
fn stranger(other: usize, ours: &str, theirs: &str) -> String {
    let only = |lines: &str, without: &str| {
        let lines: Vec<&str> =
            lines.lines().filter(|line| !without.lines().any(|other| other == *line)).collect();
        if lines.is_empty() { "nothing of that".to_owned() } else { lines.join(", ") }
    };
    format!(
        "process {other} was started with other options or another program than process 0: all must have the \
         same; process {other} has {} where process 0 has {}",
        only(theirs, ours),
        only(ours, theirs)
    )
}

/// Returns what all processes of a run must have alike, in lines.
fn identity(options: &Options, besides: &str) -> String {
    let mut identity = format!("xsim {}", env!("CARGO_PKG_VERSION"));
    for (name, value) in &options.given {
        identity += &format!("\n-xsim-{name}={}", value.escape_debug());
    }
    if let Some(program) = fingerprint(Path::new("/proc/self/exe")) {
        identity += &format!("\na program of {program}");
    }
    for line in besides.lines() {
        identity += &format!("\n{line}");
    }
    identity
}

/// Returns what tells a file from others, in words; nothing of one that cannot be read.
pub fn fingerprint(path: &Path) -> Option<String> {
    let contents = std::fs::read(path).ok()?;
    // FNV-1a, by eight bytes.
    let hash = contents.chunks(8).fold(0xcbf2_9ce4_8422_2325u64, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x100_0000_01b3)
    });
    Some(format!("{} bytes (fingerprint {hash:x})", contents.len()))
}
