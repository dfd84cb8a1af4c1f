//! The calls that send (MPI 5.0 sections 3.2 to 3.4, 3.7), and when their sender steps back.

use crate::batch::Batching;
use crate::error::Result;
use crate::handle::REQUEST_SENT;
use crate::point_to_point::{Buffer, Peer, SendMode};
use crate::world::Mpi;
use p2p::departures::let_others_run;

/// Elements from which on a message may be a long one.
// Asked before the datatype is looked up: fewer elements seldom are 256 KiB (`reference::LONG_BYTES`).
pub(crate) const MIN_LONG_ELEMENTS: i64 = 16384;

impl Mpi {
    /// `MPI_Send` and its modes.
    // Out of line, as those below: what is plain, and so short that it counts, is `World::send_quickly`'s.
    #[inline(never)]
    pub fn send(&self, mode: SendMode, buffer: Buffer, to: Peer) -> Result {
        if mode == SendMode::Standard && self.checks_sends() {
            return self.send_checked(buffer, to);
        }
        if buffer.1 >= MIN_LONG_ELEMENTS {
            return self.send_many(mode, buffer, to);
        }
        let mut guard = self.world();
        let world = &mut *guard;
        let request = world.messages.start_send(
            &world.objects,
            mode,
            buffer,
            to,
            Batching::of_send(world.messages.ranks().is_same_call_again()),
        )?;
        if request == REQUEST_SENT && !let_others_run(world.messages.ranks(), world.messages.peers()) {
            return Ok(());
        }
        drop(guard);
        self.pause_after_send(request)
    }

    /// Returns `true` if standard sends wait for a receive to meet their message.
    // Where threads are, another one may receive it.
    #[inline]
    pub(crate) fn checks_sends(&self) -> bool {
        self.world().checks_sends() && !self.is_alone()
    }

    /// Sends in standard mode; the sender goes on once a receive has met its message (`-xsim-check`). Its
    /// clock does not show that.
    #[cold]
    fn send_checked(&self, buffer: Buffer, to: Peer) -> Result {
        let mut guard = self.world();
        let world = &mut *guard;
        // Copied at once: a sender whose message stays where it is lags behind its receivers.
        let request =
            world.messages.start_send(&world.objects, SendMode::Standard, buffer, to, Batching::Never)?;
        let waits = request == REQUEST_SENT && {
            let messages = &mut world.messages;
            messages.flush_batch();
            let at = (messages.me(), messages.clock(messages.me()));
            messages.watch_mut().waits_for_receive(at)
        };
        drop(guard);
        if waits {
            self.block();
            return Ok(());
        }
        self.pause_after_send(request)
    }

    /// Ends a send that waited, as its second half.
    pub fn end_send(&self, waited: usize) -> Result {
        if waited == REQUEST_SENT { Ok(()) } else { self.end_wait(waited).map(|_| ()) }
    }

    /// A send of many elements: where they are long, its receiver may take them before they are copied.
    // As if it were nonblocking, so that its payload may stay where it is while the rank waits for its
    // receiver.
    #[inline(never)]
    pub(crate) fn send_many(&self, mode: SendMode, buffer: Buffer, to: Peer) -> Result {
        let mut guard = self.world();
        let world = &mut *guard;
        let request = world.messages.start_send(&world.objects, mode, buffer, to, Batching::UntilComplete)?;
        world.messages.flush_batch();
        drop(guard);
        self.pause_after_send(request)
    }

    /// Blocks a sender that waits for its match, or lets its receivers run.
    #[inline(never)]
    pub(crate) fn pause_after_send(&self, request: usize) -> Result {
        match self.begin_pause(request)? {
            None => Ok(()),
            Some(waited) => {
                self.block();
                self.end_send(waited)
            }
        }
    }

    /// The first half of a send ends, which has made this request: what [`Mpi::end_send`] is told once the
    /// rank goes on, `None` if there is nothing to wait for. The rank waits for its match
    /// ([`SendMode::Synchronous`], a message above the eager limit), or lets its receivers run.
    // A sender steps back only if somebody else can run: else it would be taken right up again.
    pub fn begin_pause(&self, request: usize) -> Result<Option<usize>> {
        if request != REQUEST_SENT {
            if self.begin_wait(request)? {
                return Ok(Some(request));
            }
            self.end_wait(request)?;
            return Ok(None);
        }
        let mut world = self.world();
        world.messages.ranks_mut().set_far_ahead(false);
        if !world.messages.peers().are_crowded() {
            if !world.messages.ranks().strand().is_far_ahead() || world.messages.ready().is_empty() {
                return Ok(None);
            }
            world.messages.ranks_mut().strand_mut().end_burst();
        }
        world.step_back();
        Ok(Some(REQUEST_SENT))
    }

    /// Lets the others run, if any can, before the mounted rank goes on, which is in no call. What it has
    /// computed is charged.
    #[cold]
    pub fn let_others_run(&self) {
        let mut world = self.world();
        if world.messages.ready().is_empty() {
            return;
        }
        world.messages.ranks_mut().upcoming_entry();
        world.step_back();
        drop(world);
        self.block();
        self.world().messages.ranks_mut().go_on_measuring();
    }

    /// Implements `MPI_Isend` and its modes. Returns the request's handle.
    #[inline(never)]
    pub fn isend(&self, mode: SendMode, buffer: Buffer, to: Peer) -> Result<usize> {
        let mut guard = self.world();
        let world = &mut *guard;
        let request = world.messages.start_send(&world.objects, mode, buffer, to, Batching::UntilComplete)?;
        if world.messages.peers().are_crowded() {
            drop(guard);
            self.step_back();
        }
        Ok(request)
    }

    /// Lets others run, because too much waits for other processes or for the rank's receivers.
    #[cold]
    pub(crate) fn step_back(&self) {
        self.world().step_back();
        self.block();
    }
}
