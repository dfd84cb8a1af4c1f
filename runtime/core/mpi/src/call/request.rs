//! The calls about requests: generalized ones, freeing, looking at a status (MPI 5.0 sections 3.7 and 14.2).

use crate::error::{ErrorClass, Failure, Result};
use crate::handle::{self, RequestRef};
use crate::node::{State, flag};
use crate::world::{Mpi, World};
use p2p::request::{Body, Generalized, Request, RequestArray, Status, Template, invalid};

impl Mpi {
    /// Implements `MPI_Grequest_start`. Returns the handle.
    pub fn generalized(&self, callbacks: Generalized) -> usize {
        let mut world = self.world();
        let me = world.messages.me();
        handle::of_cold(world.messages.requests_mut().make(me, Body::Generalized(Box::new(callbacks))))
    }

    /// A handle of its own for a send that was complete when it was made, for who tells requests apart
    /// ([`handle::REQUEST_SENT`] is one for all of them).
    // Some layers above put requests into tables by their handles.
    pub fn distinct_sent(&self) -> usize {
        self.world().messages.requests_mut().distinct_sent()
    }

    /// Implements `MPI_Grequest_complete`.
    pub fn complete_generalized(&self, request: usize) -> Result {
        let mut world = self.world();
        match handle::request(request) {
            RequestRef::Cold(index)
                if matches!(
                    world.messages.requests().get(index),
                    Some(Request { body: Body::Generalized(_), .. })
                ) =>
            {
                let now = world.messages.clock(world.messages.me());
                world.messages.finish_request(index, now);
                Ok(())
            }
            _ => Err(Failure::new(ErrorClass::REQUEST, "the request is not a generalized one")),
        }
    }

    /// `MPI_Request_free`: an active operation goes on, and nobody is told when it completes.
    // A receive's buffer is still written when its message comes (MPI 5.0 section 3.7.3): the node stays, as
    // an orphan.
    pub fn free_request(&self, request: usize) -> Result {
        let mut world = self.world();
        let me = world.messages.me();
        world.messages.requests_mut().forget_watched(me);
        match handle::request(request) {
            RequestRef::Nothing | RequestRef::Ignored(_) | RequestRef::Invalid => Err(invalid(request)),
            RequestRef::Sent => Ok(()),
            RequestRef::Node(index) => {
                let node = world.messages.matcher().get_request(index);
                let node = node.ok_or_else(|| invalid(request))?;
                if node.has(flag::OWNED) {
                    return world.reap(|world| world.messages.finish_receive(index)).map(|_| ());
                }
                world.messages.matcher_mut()[index].flags |= flag::ORPHAN;
                // Whether its error is known by now is the host's to say: nobody is told of it.
                if world.messages.matcher()[index].state == State::Matched && !is_pending(&world, index) {
                    let _ = world.reap(|world| world.messages.finish_receive(index));
                }
                Ok(())
            }
            RequestRef::Cold(index) => {
                world.may_free(index)?;
                let (active, datatype, chapter) = match world.messages.requests_mut().get_mut(index) {
                    Some(Request { body: Body::Persistent { active, template }, .. }) => {
                        let chapter = match &**template {
                            Template::Chapter { chapter, number, .. } => Some((*chapter, *number)),
                            Template::Send { .. } | Template::Receive { .. } => None,
                        };
                        (active.take(), template.datatype(), chapter)
                    }
                    Some(&mut Request {
                        body: Body::Chapter { .. }, done: Some(_), orphan: false, ..
                    }) => {
                        return world.reap(|world| world.finish(request)).map(|_| ());
                    }
                    Some(request) if !request.orphan => {
                        if let (Body::Generalized(_), Some(_)) | (Body::Synchronous { .. }, Some(_)) =
                            (&request.body, request.done)
                        {
                            world.messages.requests_mut().remove(index);
                            if let Some(faults) = world.messages.faults_mut() {
                                faults.forget_send(index);
                            }
                        } else {
                            request.orphan = true;
                        }
                        return Ok(());
                    }
                    _ => return Err(invalid(request)),
                };
                world.messages.requests_mut().remove(index);
                if let Some(datatype) = datatype {
                    let me = world.messages.me();
                    let _ = world.objects.types.free(me, datatype);
                }
                drop(world);
                let freed = active.map_or(Ok(()), |active| self.free_request(active));
                if let Some((chapter, number)) = chapter {
                    self.world().chapters.of(chapter).freed(number);
                }
                freed
            }
        }
    }

    /// Implements `MPI_Request_get_status`. Returns the status of a complete request, which stays; its data
    /// is there. Returns `None` if it is not complete.
    pub fn request_status(&self, requests: RequestArray) -> Result<Option<Status>> {
        if !self.all_complete(requests)? {
            return Ok(None);
        }
        let mut world = self.world();
        let part = world.messages.requests().active_part(requests.get(0));
        world.deliver_early(part);
        Ok(Some(match handle::request(part) {
            RequestRef::Node(index) => {
                let node = world.messages.matcher().get_request(index);
                let node = node.ok_or_else(|| invalid(part))?;
                if node.has(flag::OWNED) {
                    return Ok(Some(Status::EMPTY));
                }
                Status {
                    source: node.source as i32,
                    tag: node.tag,
                    error: 0,
                    bytes: node.bytes,
                    cancelled: node.state == State::Cancelled,
                }
            }
            RequestRef::Cold(index) => {
                let query = match world.messages.requests().get(index).map(|request| &request.body) {
                    Some(Body::Generalized(callbacks)) => Some(callbacks.query.clone()),
                    _ => None,
                };
                drop(world);
                let mut status = Status::EMPTY;
                if let Some(query) = query {
                    query(&mut status);
                }
                status
            }
            _ => Status::EMPTY,
        }))
    }
}

/// Returns `true` for a receive that goes on once its rank acknowledges a failure.
fn is_pending(world: &World, receive: u32) -> bool {
    world.messages.faults().is_some_and(|faults| faults.is_pending(receive))
}

impl World {
    /// Checks that the subsystem of a persistent request permits freeing it. Any other request may be freed.
    fn may_free(&mut self, request: u32) -> Result {
        match self.messages.requests().get(request).map(|request| &request.body) {
            Some(Body::Persistent { template, .. }) => match &**template {
                &Template::Chapter { chapter, number, .. } => {
                    self.chapters.of(chapter).may_free(&self.messages, number)
                }
                Template::Send { .. } | Template::Receive { .. } => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Moves what a complete request received to its buffer before the request is completed.
    // The payload leaves the node and its flag goes, so that completing the request later does not write the
    // buffer again.
    pub(crate) fn deliver_early(&mut self, handle: usize) {
        match handle::request(handle) {
            RequestRef::Node(index) => {
                let node = self.messages.matcher()[index];
                if node.state == State::Matched && node.flags & (flag::INLINE | flag::POOLED) != 0 {
                    let view = self.messages.payloads().receive_view(&node);
                    self.messages.payloads_mut().unload(&node, &view);
                    self.messages.matcher_mut()[index].flags &= !(flag::INLINE | flag::POOLED);
                }
            }
            RequestRef::Cold(index) => {
                if let Some(&Request { body: Body::Chapter { chapter, token }, .. }) =
                    self.messages.requests().get(index)
                {
                    self.chapters.of(chapter).deliver(&self.objects, token);
                }
            }
            _ => {}
        }
    }
}
