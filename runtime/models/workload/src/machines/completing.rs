//! Requests of ranks without a program: making, completing and freeing them.

use super::row::open_of;
use super::{Begun, Blocked, DONE, Machines};
use crate::call::{Answer, Requests, Wait};
use crate::requests::{NONE, Open, array_of};
use crate::workload::Workload;
use engine::Time;
use mpi::error::Result;
use mpi::handle::REQUEST_NULL;
use mpi::request::{Completion, RequestArray};

impl<W: Workload> Machines<'_, W> {
    /// Returns a rank's list of requests, which it gets if it has none.
    pub(super) fn list(&mut self, rank: u32) -> &mut Open {
        open_of(&mut self.lists, &mut self.machines[rank as usize].list)
    }

    /// Records that a rank has made a request.
    pub(super) fn open(&mut self, rank: u32, number: u32, request: usize) -> Result<Begun> {
        self.list(rank).put(number, request);
        DONE
    }

    pub(super) fn free(&mut self, rank: u32, number: u32) -> Result<Begun> {
        let handle = self.machines[rank as usize].list;
        if handle == NONE {
            return DONE;
        }
        if let Some(place) = self.lists.get(handle).handles.get_mut(number as usize)
            && *place != REQUEST_NULL
        {
            self.mpi.free_request(std::mem::replace(place, REQUEST_NULL))?;
        }
        self.release(rank);
        DONE
    }

    /// Gives a rank's list back if it has no open request.
    pub(super) fn release(&mut self, rank: u32) {
        let list = self.machines[rank as usize].list;
        if list != NONE && self.lists.release(list) {
            self.machines[rank as usize].list = NONE;
        }
    }

    /// Returns the handles that a call names. Those that are some of the rank's are copied, and brought back
    /// by [`Machines::put_back`].
    fn array(&mut self, list: u32) -> RequestArray {
        if list == NONE {
            return array_of(&mut []);
        }
        let open = self.lists.get(list);
        let Some(asked) = &open.asked else { return open.all() };
        self.some.clear();
        let handle = |number: &u32| open.handles.get(*number as usize).copied();
        self.some.extend(asked.iter().map(|number| handle(number).unwrap_or(REQUEST_NULL)));
        array_of(&mut self.some)
    }

    /// Stores the handles, as a call has left them, in the rank's list of requests. Does nothing if the call
    /// named no requests.
    fn put_back(&mut self, list: u32) {
        if list == NONE {
            return;
        }
        let open = self.lists.get(list);
        if let Some(asked) = &open.asked {
            for (number, &handle) in asked.iter().zip(&self.some) {
                if let Some(place) = open.handles.get_mut(*number as usize) {
                    *place = handle;
                }
            }
        }
    }

    pub(super) fn begin_completing(&mut self, rank: u32, wait: Wait, requests: Requests) -> Result<Begun> {
        let list = self.machines[rank as usize].list;
        if list != NONE {
            self.lists.get(list).ask(requests);
        }
        let array = self.array(list);
        let (waits, word) = match wait {
            Wait::All | Wait::Tested => {
                let awaited = self.mpi.begin_wait_all(array, wait == Wait::Tested)?;
                (awaited.waits, usize::from(awaited.all_ignored))
            }
            Wait::Any => (self.mpi.begin_wait_any(array), 0),
            Wait::Some => (self.mpi.begin_wait_some(array), 0),
            Wait::Test => (self.mpi.begin_test_all(array), 0),
        };
        self.put_back(list);
        if waits {
            Ok(Begun::Blocks(Blocked::Complete(wait), word))
        } else {
            self.end_completing(rank, wait, word != 0).map(Begun::Done)
        }
    }

    pub(super) fn end_completing(&mut self, rank: u32, wait: Wait, ignored: bool) -> Result<Answer> {
        let list = self.machines[rank as usize].list;
        let array = self.array(list);
        let mpi = self.mpi;
        let mut completed = Vec::new();
        let answer = match wait {
            Wait::All if ignored && mpi.finish_ignored(array) => Answer::Done,
            Wait::All | Wait::Tested => {
                if wait == Wait::Tested {
                    self.reach_all(rank, array)?;
                }
                match mpi.finish_all(array, |_, _| {}) {
                    Ok(()) => Answer::Done,
                    Err(failure) => {
                        self.put_back(list);
                        self.release(rank);
                        return Err(failure);
                    }
                }
            }
            Wait::Any => {
                let (index, _) = mpi.end_wait_any(array)?;
                completed.extend(u32::try_from(index).ok().filter(|_| index != mpi::request::UNDEFINED));
                Answer::Completed(self.numbers(list, &completed))
            }
            Wait::Some => {
                mpi.end_wait_some(array, &mut |_, index, _| completed.push(index))?;
                Answer::Completed(self.numbers(list, &completed))
            }
            Wait::Test => Answer::Tested(mpi.end_test_all(array)?),
        };
        self.put_back(list);
        self.release(rank);
        Ok(answer)
    }

    /// Moves a rank to when all these requests are complete.
    pub(super) fn reach_all(&self, rank: u32, requests: RequestArray) -> Result {
        let mut world = self.mpi.world();
        let mut latest = Time::ZERO;
        for handle in requests.iter() {
            if let Completion::At(time) = world.completion(handle)? {
                latest = latest.max(time);
            }
        }
        world.messages.ranks_mut().advance(rank, latest);
        Ok(())
    }

    /// Returns the numbers of requests by their places in the call's array.
    fn numbers(&mut self, list: u32, places: &[u32]) -> Vec<u32> {
        if list == NONE {
            return Vec::new();
        }
        let open = self.lists.get(list);
        let number = |&place: &u32| match &open.asked {
            Some(asked) => asked[place as usize],
            None => place,
        };
        places.iter().map(number).collect()
    }
}
