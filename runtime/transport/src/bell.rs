//! How processes of one host wake each other: who waits for a message sleeps until its bell is rung, and not until it looks again.
//!
//! A bell is a datagram socket with a name in the abstract namespace, where nothing is left behind. It carries no news: a message must have been sent
//! before its bell is rung, and who has no bell, is on another host or is not known yet finds the message when it looks.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The bell of this process, and where those of others are.
pub(crate) struct Bell {
    socket: Option<UnixDatagram>,
    /// By process.
    others: Vec<Option<SocketAddr>>,
    /// Whether all others ring it.
    is_known: bool,
}

fn address(number: u32) -> Option<SocketAddr> {
    SocketAddr::from_abstract_name(format!("xsim-{number}")).ok()
}

impl Bell {
    /// This process's bell, one of so many processes'. It has none if the system gives none, or the name is taken.
    pub fn new(processes: u32) -> Bell {
        let bind = || {
            let socket = UnixDatagram::bind_addr(&address(std::process::id())?).ok()?;
            socket.set_nonblocking(true).ok()?;
            Some(socket)
        };
        Bell { socket: bind(), others: vec![None; processes as usize], is_known: false }
    }

    /// What the others must know to ring it; 0 if there is no bell.
    pub fn number(&self) -> u32 {
        if self.socket.is_some() { std::process::id() } else { 0 }
    }

    /// The bells of all processes have these numbers, as they all know now; 0 is one that this process cannot ring, nor that one this one's.
    pub fn learn(&mut self, numbers: &[u32]) {
        self.others = numbers.iter().map(|&number| if number == 0 { None } else { address(number) }).collect();
        self.is_known = self.socket.is_some() && self.others.iter().all(Option::is_some);
    }

    /// Whether everybody who sends to this process rings its bell.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// Rings the bell of `process`, if that is known and on this host.
    pub fn ring(&self, process: u32) {
        if let (Some(socket), Some(address)) = (&self.socket, &self.others[process as usize]) {
            // A full queue rings already; on another host there is nobody of that name.
            let _ = socket.send_to_addr(&[0], address);
        }
    }

    /// Sleeps until the bell is rung, but no longer than this; whether it was rung.
    pub fn wait(&self, longest: Duration) -> bool {
        let Some(socket) = &self.socket else {
            std::thread::sleep(longest);
            return false;
        };
        let timeout = Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: i64::from(longest.subsec_nanos()) };
        // What goes wrong makes the sleep shorter, no more.
        let rung = poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&timeout)).is_ok_and(|rung| rung > 0);
        while rung && socket.recv(&mut [0]).is_ok() {}
        rung
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_rung_bell_ends_a_wait() {
        let mut bell = Bell::new(2);
        assert_eq!(bell.number(), std::process::id());
        let begun = Instant::now();
        bell.wait(Duration::from_millis(1));
        assert!(begun.elapsed() >= Duration::from_millis(1), "nobody rang");
        // Where nobody is known, nobody is rung.
        bell.ring(1);
        assert!(!bell.is_known());
        bell.learn(&[bell.number(), 0]);
        assert!(!bell.is_known());
        bell.learn(&[bell.number(), bell.number()]);
        assert!(bell.is_known());
        bell.ring(1);
        bell.ring(1);
        let begun = Instant::now();
        bell.wait(Duration::from_secs(60));
        assert!(begun.elapsed() < Duration::from_secs(60), "it was rung before");
        let begun = Instant::now();
        bell.wait(Duration::from_millis(1));
        assert!(begun.elapsed() >= Duration::from_millis(1), "all that was rung is forgotten");
        // A name can be taken once: the second of a process's bells stays silent.
        let silent = Bell::new(1);
        assert_eq!(silent.number(), 0);
        silent.wait(Duration::from_millis(1));
    }
}
