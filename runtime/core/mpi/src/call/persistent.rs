//! Persistent requests: what they start, and starting it.

use crate::error::{ErrorClass, Failure, FailureScope, Result};
use crate::handle::{self, RequestRef};
use crate::request::Body;
use crate::world::Mpi;
use p2p::chapter::id::ChapterId;
use p2p::request::persistent::Template;
use std::rc::Rc;

/// Starts an operation of another chapter: the handle of its request.
struct Start {
    call: Box<Call>,
    scope: Option<FailureScope>,
}

/// A nonblocking call, which answers the handle of its request.
type Call = dyn Fn(&Mpi) -> Result<usize>;

impl Mpi {
    /// Makes a persistent request: its handle. It keeps its datatype, which the program may free.
    pub fn persistent(&self, template: Template) -> usize {
        let mut world = self.world();
        let me = world.messages.me();
        if let Some(datatype) = template.datatype() {
            // Where the handle is not valid, starting says so.
            let _ = world.objects.types.share_again(me, datatype);
        }
        handle::of_cold(
            world
                .messages
                .requests_mut()
                .make(me, Body::Persistent { template: Box::new(template), active: None }),
        )
    }

    /// Makes a persistent request of another chapter, by its `number` there: `start` answers the handle of
    /// what it has started on the communicator `comm`.
    pub(crate) fn persistent_of(
        &self,
        comm: usize,
        chapter: ChapterId,
        number: u32,
        start: impl Fn(&Mpi) -> Result<usize> + 'static,
    ) -> usize {
        let start = Start { call: Box::new(start), scope: self.scope_of_comm(comm) };
        self.persistent(Template::Chapter { chapter, start: Rc::new(start), number, times: 0 })
    }

    /// Returns the scope of failures on a communicator, if this is one of the mounted rank's.
    fn scope_of_comm(&self, comm: usize) -> Option<FailureScope> {
        self.world().objects.comms.index(comm).ok().map(FailureScope::Comm)
    }

    /// Implements `MPI_Start`.
    pub fn start(&self, request: usize) -> Result {
        let template = {
            let mut world = self.world();
            match handle::request(request) {
                RequestRef::Cold(index) => {
                    match world.messages.requests_mut().get_mut(index).map(|request| &mut request.body) {
                        Some(Body::Persistent { template, active: None }) => {
                            let started = (**template).clone();
                            if let Template::Chapter { times, .. } = &mut **template {
                                *times += 1;
                            }
                            started
                        }
                        Some(Body::Persistent { .. }) => {
                            return Err(Failure::new(
                                ErrorClass::REQUEST,
                                "the persistent request is active already: complete it before starting it \
                                 again",
                            ));
                        }
                        _ => {
                            return Err(Failure::new(
                                ErrorClass::REQUEST,
                                "the request is not a persistent one",
                            ));
                        }
                    }
                }
                _ => return Err(Failure::new(ErrorClass::REQUEST, "the request is not a persistent one")),
            }
        };
        // Each start is a call of its own, so that it is charged, matched and refused as that; what the
        // template has is handles, looked up again.
        let started = match template {
            Template::Send { mode, buffer, to } => {
                self.isend(mode, buffer, to).map_err(|failure| failure.within(self.scope_of_comm(to.2)))?
            }
            Template::Receive { buffer, from } => {
                self.ireceive(buffer, from).map_err(|failure| failure.within(self.scope_of_comm(from.2)))?
            }
            Template::Chapter { chapter, start, number, times } => {
                self.world().chapters.of(chapter).starting(Some((number, times)));
                let start = start.downcast::<Start>().expect("`persistent_of` makes all of them");
                let started = (start.call)(self);
                self.world().chapters.of(chapter).starting(None);
                started.map_err(|failure| failure.within(start.scope))?
            }
        };
        if let RequestRef::Cold(index) = handle::request(request) {
            self.world().messages.requests_mut().started(index, started);
        }
        Ok(())
    }
}
