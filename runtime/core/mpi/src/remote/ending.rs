//! The end of a run on several processes: everything comes together at process 0.

use crate::progress::Ending;
use crate::remote::Remote;
use crate::remote::control::{GATHER, RELEASE};
use crate::remote::pause::Waiting;
use crate::remote::record::{Put, Take};
use crate::remote::stream::Arrived;
use crate::world::{Mpi, World};
use engine::Time;

impl World {
    /// Takes control messages until one satisfies `wanted`, and answers that one without its first byte.
    // Messages of others may come first, for processes end one after the other: they are kept until they are
    // asked for.
    pub(crate) fn await_control(&mut self, wanted: impl Fn(u32, u8) -> bool) -> Vec<u8> {
        let mut waiting = Waiting::new();
        loop {
            let gathered = &mut self.run.gathered;
            if let Some(at) = gathered.iter().position(|(from, data)| wanted(*from, data[0])) {
                let (_, mut data) = gathered.remove(at).expect("found above");
                data.remove(0);
                return data;
            }
            if let Err(why) = self.messages.peers_mut().others().streams.flush(true) {
                self.messages.peers_mut().fail(&why);
            }
            match self.messages.peers_mut().others().streams.receive() {
                Ok(Some(Arrived::Control(from, data))) => self.control_arrived(from, data),
                // Others may have begun to run already.
                Ok(Some(Arrived::Records(from, data))) => self.records_arrived(from, &data),
                Ok(None) => {
                    if self.run.abort.is_some() {
                        self.end_late_processes();
                    }
                    waiting.pause(&mut self.messages.peers_mut().others().streams, true);
                }
                Err(why) => self.messages.peers_mut().fail(&why),
            }
        }
    }

    /// Brings every process's `blob` to process 0, which gets all of them in order, also those of processes
    /// that have left; the others get `None`.
    pub(crate) fn gather(&mut self, blob: Vec<u8>) -> Option<Vec<Vec<u8>>> {
        let others = self.messages.peers_mut().others().streams.all_others();
        self.gather_of(&others, blob)
    }

    /// Brings the `blob` of every process that is there to process 0.
    pub(crate) fn gather_there(&mut self, blob: Vec<u8>) -> Option<Vec<Vec<u8>>> {
        let others = self.messages.peers_mut().others().streams.others();
        self.gather_of(&others, blob)
    }

    fn gather_of(&mut self, others: &[u32], blob: Vec<u8>) -> Option<Vec<Vec<u8>>> {
        if self.messages.peers_mut().others().me != 0 {
            let mut data = vec![GATHER];
            data.extend_from_slice(&blob);
            self.messages.peers_mut().send_control(0, data);
            return None;
        }
        let mut all = vec![blob];
        for &process in others {
            all.push(self.await_control(|from, kind| from == process && kind == GATHER));
        }
        Some(all)
    }

    /// Brings together how the run ended on each process; `None` on all but process 0.
    pub(crate) fn gather_endings(&mut self, ending: Ending) -> Option<Ending> {
        let mut blob = Vec::new();
        blob.i32(ending.status);
        blob.u32(ending.strangers);
        let (rank, status) = ending.failed.unwrap_or((u32::MAX, 0));
        blob.u32(rank);
        blob.i32(status);
        blob.u32(ending.left.0);
        blob.u32(ending.left.1);
        blob.u32(ending.helped.unwrap_or(u32::MAX));
        blob.u64(self.messages.ranks().latest().as_ps());
        let (messages, cause, stopped) = (ending.messages, ending.cause, ending.stopped);
        let mut together = Ending { messages, cause, stopped, left: (0, u32::MAX), ..Ending::default() };
        for blob in self.gather(blob)? {
            let mut blob = Take(&blob);
            let status = blob.i32();
            together.status = if together.status == 0 { status } else { together.status };
            together.strangers += blob.u32();
            let failed = (blob.u32(), blob.i32());
            if failed.1 != 0 {
                // The least rank, as one process would have told it.
                together.failed = Some(together.failed.map_or(failed, |known| known.min(failed)));
            }
            let (left, first) = (blob.u32(), blob.u32());
            let helped = Some(blob.u32()).filter(|&rank| rank != u32::MAX);
            together.helped = together.helped.into_iter().chain(helped).min();
            self.run.end = self.run.end.max(Time::from_ps(blob.u64()));
            together.left =
                (together.left.0 + left, if left > 0 { together.left.1.min(first) } else { together.left.1 });
        }
        Some(together)
    }

    /// Process 0 tells all the same, which they get.
    // The second half of a barrier: nobody leaves before all have come.
    pub(crate) fn spread_word(&mut self, word: Vec<u8>) -> Vec<u8> {
        if self.messages.peers_mut().others().me != 0 {
            return self.await_control(|_, kind| kind == RELEASE);
        }
        for process in self.messages.peers_mut().others().streams.others() {
            let mut data = vec![RELEASE];
            data.extend_from_slice(&word);
            self.messages.peers_mut().send_control(process, data);
        }
        word
    }
}

impl Mpi {
    /// Returns how many processes there are, and which this one is.
    pub fn processes(&self) -> (u32, u32) {
        self.world().messages.peers().remote().map_or((1, 0), |remote| (remote.blocks.processes(), remote.me))
    }

    /// Brings bytes of every process to process 0, which gets all of them in order; the others get `None`.
    pub fn gather_bytes(&self, bytes: Vec<u8>) -> Option<Vec<Vec<u8>>> {
        let mut world = self.world();
        if !world.messages.peers().exist() {
            return Some(vec![bytes]);
        }
        world.gather(bytes)
    }

    /// Brings a text of every process to process 0, which gets all of them in order; the others get `None`.
    pub fn gather_texts(&self, text: String) -> Option<Vec<String>> {
        let blobs = self.gather_bytes(text.into_bytes())?;
        Some(blobs.into_iter().map(|blob| String::from_utf8_lossy(&blob).into_owned()).collect())
    }

    /// Tells every process the text of every process, in order.
    pub fn everybody(&self, text: &str) -> Vec<String> {
        let all = self.gather_texts(text.to_owned());
        let mut world = self.world();
        if !world.messages.peers().exist() {
            return all.unwrap_or_default();
        }
        let mut word = Vec::new();
        all.into_iter().flatten().for_each(|text| word.bytes(text.as_bytes()));
        let word = world.spread_word(word);
        let mut word = Take(&word);
        let mut texts = Vec::new();
        while !word.is_empty() {
            texts.push(String::from_utf8_lossy(word.bytes()).into_owned());
        }
        texts
    }

    /// Returns how others wake this process, as a number; 0 if they cannot.
    pub fn bell(&self) -> u64 {
        self.world().messages.peers().remote().map_or(0, |remote| remote.streams.bell())
    }

    /// Learns how to wake the others, by process: their numbers; 0 for those on other hosts. All processes
    /// are told at once.
    pub fn learn_bells(&self, bells: &[u64]) {
        self.world().messages.peers_mut().others().streams.learn_bells(bells);
    }

    /// Returns the ranks of a process: the first, and how many.
    pub fn ranks_of(&self, process: u32) -> (u32, u32) {
        let world = self.world();
        world.messages.peers().remote().map_or((0, world.messages.ranks().size()), |remote| {
            (remote.blocks.first(process), remote.blocks.count(process))
        })
    }

    /// Returns what connects a process with the others, for another run of the same processes behind this
    /// one, which is over; `None` if it is alone. All call it, and then [`Mpi::everybody`] of the next run,
    /// before any rank runs.
    // A process that goes on may send what the next run is about, and another one must not take that as of
    // this run: nobody leaves this run before all are through with it, and nobody sends in the next before
    // all are there.
    pub fn again(&self) -> Option<Remote> {
        let mut world = self.world();
        world.messages.peers().remote()?;
        let _ = world.gather(Vec::new());
        let _ = world.spread_word(Vec::new());
        world.messages.peers_mut().take().map(|remote| remote.afresh())
    }

    /// Waits until all processes are through: the last thing that a process does with the others.
    pub fn part(&self) {
        let mut world = self.world();
        if !world.messages.peers().exist() {
            return;
        }
        // From here on processes may end: each is here before the first one leaves.
        transport::watch::over();
        let _ = world.gather(Vec::new());
        if !world.order.agreeing.leaving {
            let _ = world.spread_word(Vec::new());
        }
        if let Err(why) = world.messages.peers_mut().others().streams.close_down() {
            engine::stderr::line(format_args!("xsim: {why}"));
        }
        world.messages.peers_mut().take();
    }
}
