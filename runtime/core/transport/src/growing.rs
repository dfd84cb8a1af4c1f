//! Processes that are started while a run goes on: [`Growing`] adds them to those that a launcher started.
//!
//! No launcher has to know of them, and no MPI: they and the others of their host reach each other by sockets
//! whose names begin with a token that process 0 made up. Each process writes to the connections that it made
//! and reads from those that others made, so that two who begin at once need no agreement.

use crate::{Lane, Start, Transport};
use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process::{Child, Command};
use std::time::Duration;

/// The variable that tells a process that it was started so: the token, its number, how many processes the
/// run began with.
const VARIABLE: &str = "_XSIM_SPAWNED";
/// Prefixes of environment variables that launchers set for their own processes. A spawned process does not
/// inherit them.
const LAUNCHERS: [&str; 6] = ["PMI_", "PMIX_", "OMPI_", "MPI_LOCAL", "HYDI_", "HYDRA_"];
/// A message's lane and length come before it.
const HEAD: usize = 9;
/// In place of a lane: whoever sends it is through with the run.
const GOODBYE: u8 = 255;
/// Once in so many failed looks children are looked after.
const LOOKS: u32 = 64;
/// Bytes read at a time.
const PIECE: usize = 64 << 10;

/// Identity of a process that was started while the run went on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpawnedProcess {
    token: String,
    /// The number.
    pub me: u32,
    /// Number of processes at the start.
    pub first: u32,
}

/// Returns the identity of this process if another process of its run started it.
pub fn spawned() -> Option<SpawnedProcess> {
    parse(&std::env::var(VARIABLE).ok()?)
}

fn parse(text: &str) -> Option<SpawnedProcess> {
    let mut words = text.split(' ');
    let spawned = SpawnedProcess {
        token: words.next()?.to_owned(),
        me: words.next()?.parse().ok()?,
        first: words.next()?.parse().ok()?,
    };
    (spawned.me >= spawned.first && words.next().is_none()).then_some(spawned)
}

/// Frames queued for another process.
#[derive(Default)]
struct ProcessOutbox {
    stream: Option<UnixStream>,
    waiting: VecDeque<Vec<u8>>,
    /// Bytes of the first of these that are written.
    written: usize,
}

/// From another process: who that is says its first message.
struct In {
    stream: UnixStream,
    from: Option<u32>,
    bytes: Vec<u8>,
}

/// Processes of the start, and those that came later.
pub struct Growing {
    base: Box<dyn Transport>,
    me: u32,
    first: u32,
    size: u32,
    token: String,
    listener: UnixListener,
    out: HashMap<u32, ProcessOutbox>,
    from: Vec<In>,
    arrived: VecDeque<(u32, Lane, Vec<u8>)>,
    children: Vec<(u32, Child)>,
    /// Children that are through, until they have ended.
    leaving: Vec<Child>,
    /// `true` if the process is gone that started this one, or began the run.
    orphaned: bool,
    /// Failed looks since children were looked after.
    looks: u32,
    /// Variables of the environment for those that this process starts.
    variables: Vec<(OsString, OsString)>,
}

fn failed(what: &str, why: &std::io::Error) -> String {
    format!("processes that are spawned cannot be reached: {what}: {why}")
}

fn address(token: &str, process: u32) -> Result<SocketAddr, String> {
    SocketAddr::from_abstract_name(format!("xsim-{token}-{process}"))
        .map_err(|why| failed("a socket's name", &why))
}

fn listen(token: &str, process: u32) -> Result<UnixListener, String> {
    let listener =
        UnixListener::bind_addr(&address(token, process)?).map_err(|why| failed("a socket", &why))?;
    listener.set_nonblocking(true).map_err(|why| failed("a socket", &why))?;
    Ok(listener)
}

/// Returns `true` if the process at the other end is the same user's: names of sockets can be guessed, and
/// what comes from there is obeyed.
fn is_ours(stream: &UnixStream) -> bool {
    rustix::net::sockopt::socket_peercred(stream).is_ok_and(|peer| peer.uid == rustix::process::geteuid())
}

/// Returns a token that no other process has made up.
fn new_token() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", std::process::id(), now.as_nanos())
}

/// Returns what all have in common who find each other's sockets by name.
fn host() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let network = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
    format!("{} {}", boot.trim(), network.display())
}

/// Reads the token that process 0 sent with its host.
fn token_of(text: &str) -> Result<String, String> {
    let (token, there) = text.split_once(' ').unwrap_or((text, ""));
    if there == host() {
        return Ok(token.to_owned());
    }
    Err("processes are spawned (-xsim-universe) where all processes of the run are on one host, and here \
        there are several: start it on one, or leave -xsim-universe out"
        .to_owned())
}

impl Growing {
    /// Makes a transport of the processes behind `base`, or this one alone, which may become `size`;
    /// `variables` are for the environment of those that come later.
    ///
    /// # Errors
    /// A sentence, if they cannot reach each other.
    pub fn new(
        base: Box<dyn Transport>,
        size: u32,
        variables: Vec<(OsString, OsString)>,
    ) -> Result<Growing, String> {
        let mut base = base;
        let (me, first) = (base.rank(), base.size());
        let token = if me == 0 {
            let token = new_token();
            for to in 1..first {
                base.send(to, Lane::Control, format!("{token} {}", host()).into_bytes())?;
            }
            token
        } else {
            // The first message of all: nobody sends another one before it has this.
            loop {
                match base.receive()? {
                    Some((_, _, data)) => break token_of(&String::from_utf8_lossy(&data))?,
                    None => std::thread::sleep(Duration::from_micros(50)),
                }
            }
        };
        Growing::begin(base, SpawnedProcess { token, me, first }, size, variables)
    }

    /// Connects to the others, for a process that was started by one of them.
    ///
    /// # Errors
    /// A sentence, if they cannot be reached.
    pub fn join(
        spawned: SpawnedProcess,
        size: u32,
        variables: Vec<(OsString, OsString)>,
    ) -> Result<Growing, String> {
        // What it starts itself is no process of the run. SAFETY: called once, before the run begins; a
        // thread of the program that reads the environment at the same time does so at its own risk, as with
        // `setenv`.
        unsafe { std::env::remove_var(VARIABLE) };
        Growing::begin(Box::new(crate::Solo), spawned, size, variables)
    }

    fn begin(
        base: Box<dyn Transport>,
        who: SpawnedProcess,
        size: u32,
        variables: Vec<(OsString, OsString)>,
    ) -> Result<Growing, String> {
        let SpawnedProcess { token, me, first } = who;
        let listener = listen(&token, me)?;
        let (out, from, arrived, children) = (HashMap::new(), Vec::new(), VecDeque::new(), Vec::new());
        Ok(Growing {
            base,
            me,
            first,
            size,
            token,
            listener,
            out,
            from,
            arrived,
            children,
            leaving: Vec::new(),
            orphaned: false,
            looks: 0,
            variables,
        })
    }

    /// Returns `true` if a process is reached by the machine's MPI.
    fn is_by_launcher(&self, process: u32) -> bool {
        self.me < self.first && process < self.first
    }

    fn queue(&mut self, to: u32, kind: u8, data: &[u8]) -> Result<(), String> {
        let mut message = Vec::with_capacity(HEAD + data.len());
        message.push(kind);
        message.extend_from_slice(&(data.len() as u64).to_le_bytes());
        message.extend_from_slice(data);
        self.out.entry(to).or_default().waiting.push_back(message);
        self.push(to)
    }

    /// Writes what can be written to a process; who does not listen yet gets it later.
    fn push(&mut self, to: u32) -> Result<(), String> {
        let address = address(&self.token, to)?;
        let Some(out) = self.out.get_mut(&to) else { return Ok(()) };
        if out.waiting.is_empty() {
            return Ok(());
        }
        if out.stream.is_none() {
            let Ok(mut stream) = UnixStream::connect_addr(&address) else { return Ok(()) };
            if !is_ours(&stream) {
                return Err(format!(
                    "process {to} of the run cannot be reached: another user's process has its name"
                ));
            }
            stream.write_all(&self.me.to_le_bytes()).map_err(|why| failed("a first word", &why))?;
            stream.set_nonblocking(true).map_err(|why| failed("a socket", &why))?;
            out.stream = Some(stream);
        }
        let Some(stream) = &mut out.stream else { return Ok(()) };
        while let Some(message) = out.waiting.front() {
            match stream.write(&message[out.written..]) {
                Ok(bytes) => out.written += bytes,
                Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    return Ok(());
                }
                // Who has left reads no more; what is wrong with others shows where they are waited for.
                Err(why) if why.kind() == ErrorKind::BrokenPipe => {
                    out.waiting.clear();
                    out.written = 0;
                    return Ok(());
                }
                Err(why) => return Err(failed(&format!("a message to process {to}"), &why)),
            }
            if out.written == message.len() {
                out.waiting.pop_front();
                out.written = 0;
            }
        }
        Ok(())
    }

    fn push_all(&mut self) -> Result<(), String> {
        let all: Vec<u32> =
            self.out.iter().filter(|(_, out)| !out.waiting.is_empty()).map(|(&to, _)| to).collect();
        all.into_iter().try_for_each(|to| self.push(to))
    }

    /// Takes what the sockets have.
    fn pull(&mut self) -> Result<(), String> {
        while let Ok((stream, _)) = self.listener.accept() {
            if !is_ours(&stream) {
                continue;
            }
            stream.set_nonblocking(true).map_err(|why| failed("a socket", &why))?;
            self.from.push(In { stream, from: None, bytes: Vec::new() });
        }
        let mut ended = Vec::new();
        for (index, link) in self.from.iter_mut().enumerate() {
            let mut piece = [0; PIECE];
            loop {
                match link.stream.read(&mut piece) {
                    Ok(0) => {
                        ended.push(index);
                        break;
                    }
                    Ok(bytes) => link.bytes.extend_from_slice(&piece[..bytes]),
                    Err(why) if why.kind() == ErrorKind::Interrupted => {}
                    Err(why) if why.kind() == ErrorKind::WouldBlock => break,
                    Err(why) => return Err(failed("a message", &why)),
                }
            }
            if let Some(gone) = link.take_messages(&mut self.arrived) {
                let through = self.children.extract_if(.., |(process, _)| *process == gone);
                self.leaving.extend(through.map(|(_, child)| child));
            }
        }
        for index in ended.into_iter().rev() {
            let link = self.from.swap_remove(index);
            // The first process outlives those that it started.
            if link.from == Some(0) && self.me >= self.first {
                self.orphaned = true;
            }
        }
        Ok(())
    }

    /// Looks for a process that was started here and has ended, but not with its rank.
    fn look_after_children(&mut self) -> Result<(), String> {
        self.leaving.retain_mut(|child| !matches!(child.try_wait(), Ok(Some(_))));
        let ended = |(process, child): &mut (u32, Child)| Some((*process, child.try_wait().ok()??));
        let Some((process, status)) = self.children.iter_mut().find_map(ended) else { return Ok(()) };
        // It may have said goodbye just before.
        self.pull()?;
        if self.children.iter().any(|(child, _)| *child == process) {
            return Err(format!(
                "process {process}, which was spawned, has ended ({status}) before its rank did"
            ));
        }
        Ok(())
    }
}

impl In {
    /// Takes whole messages out of what was read; who says goodbye.
    fn take_messages(&mut self, arrived: &mut VecDeque<(u32, Lane, Vec<u8>)>) -> Option<u32> {
        let (mut at, mut gone) = (0, None);
        if self.from.is_none() {
            let word = self.bytes.first_chunk::<4>()?;
            self.from = Some(u32::from_le_bytes(*word));
            at = 4;
        }
        let from = self.from?;
        while let Some(head) = self.bytes.get(at..at + HEAD) {
            let (kind, length) =
                (head[0], head[1..].iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte)));
            let Some(data) = self.bytes.get(at + HEAD..at + HEAD + length) else { break };
            match kind {
                GOODBYE => gone = Some(from),
                _ => arrived.push_back((
                    from,
                    if kind == Lane::Data as u8 { Lane::Data } else { Lane::Control },
                    data.to_vec(),
                )),
            }
            at += HEAD + length;
        }
        self.bytes.drain(..at);
        gone
    }
}

impl Transport for Growing {
    fn rank(&self) -> u32 {
        self.me
    }
    fn size(&self) -> u32 {
        self.size
    }
    fn at_start(&self) -> u32 {
        self.first
    }
    fn send(&mut self, to: u32, lane: Lane, data: Vec<u8>) -> Result<(), String> {
        if self.is_by_launcher(to) {
            self.base.send(to, lane, data)
        } else {
            self.queue(to, lane as i32 as u8, &data)
        }
    }
    fn under_way(&mut self, to: u32) -> Result<usize, String> {
        if self.is_by_launcher(to) {
            return self.base.under_way(to);
        }
        self.push(to)?;
        Ok(self.out.get(&to).map_or(0, |out| out.waiting.len()))
    }
    fn receive(&mut self) -> Result<Option<(u32, Lane, Vec<u8>)>, String> {
        if let Some(message) = self.arrived.pop_front() {
            return Ok(Some(message));
        }
        self.push_all()?;
        self.pull()?;
        if let Some(message) = self.arrived.pop_front() {
            return Ok(Some(message));
        }
        if self.orphaned {
            return Err("process 0 has died".to_owned());
        }
        self.looks = (self.looks + 1) % LOOKS;
        if self.looks == 0 {
            self.look_after_children()?;
        }
        if self.first > 1 && self.me < self.first { self.base.receive() } else { Ok(None) }
    }
    fn wait(&mut self, unwoken: Duration, _: Duration) {
        std::thread::sleep(unwoken);
    }
    fn start(&mut self, process: u32, what: &Start) -> Result<(), String> {
        self.look_after_children()?;
        let mut command = Command::new(&what.program);
        command.args(&what.arguments);
        if let Some(directory) = &what.directory {
            command.current_dir(directory);
        }
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if LAUNCHERS.iter().any(|launcher| text.starts_with(launcher)) {
                command.env_remove(&name);
            }
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env(VARIABLE, format!("{} {process} {}", self.token, self.first));
        command.stdin(std::process::Stdio::null());
        let child = command
            .spawn()
            .map_err(|why| format!("'{}' cannot be started: {why}", what.program.display()))?;
        self.children.push((process, child));
        Ok(())
    }
    fn abort(&mut self, status: i32) {
        for (_, child) in &mut self.children {
            let _ = child.kill();
        }
        self.base.abort(status);
    }
    fn close(&mut self) -> Result<(), String> {
        if self.me >= self.first {
            self.queue(0, GOODBYE, &[])?;
        }
        while self.out.values().any(|out| !out.waiting.is_empty()) {
            self.push_all()?;
            // Who cannot be reached now was through before this process was.
            self.out.retain(|_, out| out.stream.is_some());
            std::thread::yield_now();
        }
        // As a launcher does: who waits for this process has all that the others wrote.
        for mut child in self.children.drain(..).map(|(_, child)| child).chain(self.leaving.drain(..)) {
            let _ = child.wait();
        }
        if self.first > 1 && self.me < self.first { self.base.close() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Solo;

    fn next(transport: &mut Growing) -> (u32, Lane, Vec<u8>) {
        loop {
            if let Some(message) = transport.receive().unwrap() {
                return message;
            }
        }
    }

    #[test]
    fn what_a_process_is_told_is_read() {
        assert_eq!(token_of(&format!("7-8 {}", host())), Ok("7-8".to_owned()));
        assert!(token_of("7-8 elsewhere").unwrap_err().contains("one host"));
        assert_eq!(parse("7-8 3 2"), Some(SpawnedProcess { token: "7-8".into(), me: 3, first: 2 }));
        for wrong in ["", "7-8 3", "7-8 1 2", "7-8 3 2 1", "7-8 x 2"] {
            assert_eq!(parse(wrong), None);
        }
    }

    #[test]
    fn messages_of_any_length_arrive_in_order() {
        let mut zero = Growing::new(Box::new(Solo), 3, Vec::new()).unwrap();
        let late = |me| SpawnedProcess { token: zero.token.clone(), me, first: 1 };
        let (one, two) = (late(1), late(2));
        // Sent before there is anybody to take it.
        zero.send(1, Lane::Control, vec![7]).unwrap();
        assert_eq!(zero.under_way(1), Ok(1));
        let mut one = Growing::begin(Box::new(Solo), one, 3, Vec::new()).unwrap();
        // Before the other process sends: messages of two have no order.
        assert_eq!(zero.under_way(1), Ok(0));
        assert_eq!(next(&mut one), (0, Lane::Control, vec![7]));
        let sender = std::thread::spawn(move || {
            let mut two = Growing::begin(Box::new(Solo), two, 3, Vec::new()).unwrap();
            for length in [0, 1, 100, 3_000_000] {
                two.send(1, Lane::Data, vec![length as u8; length]).unwrap();
            }
            two.close().unwrap();
        });
        for length in [0, 1, 100, 3_000_000] {
            let (from, lane, data) = next(&mut one);
            assert_eq!((from, lane, data.len()), (2, Lane::Data, length));
        }
        sender.join().unwrap();
        drop(zero);
        assert!(
            matches!((0..1000).find_map(|_| one.receive().err()), Some(why) if why.contains("process 0"))
        );
    }
}
