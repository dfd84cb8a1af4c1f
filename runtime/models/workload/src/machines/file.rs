//! Files of ranks without a program, which are nowhere: opening and closing them, views, pointers, accesses.

use super::{Begun, Blocked, DONE, Machines};
use crate::file::{AccessEnd, FileAccess, FileAction, FileCall, FileView};
use crate::stage::{CallStage, FileStage};
use crate::workload::Workload;
use mpi::Objects;
use mpi::error::{ErrorClass, Failure, Result};
use mpi::file::{FileLength, Meet, NewView, OpenFiles};
use mpi::files::{FileAnswer, Pointer};
use mpi::info::Info;
use mpi::messages::Messages;
use std::rc::Rc;

impl<W: Workload> Machines<'_, W> {
    pub(super) fn begin_file(&mut self, rank: u32, FileCall { file, does }: FileCall) -> Result<Begun> {
        let mpi = self.mpi;
        if let FileAction::Open { comm, name, amode, size, hints, failure } = does {
            let (word, waits) =
                mpi.begin_open(self.comm(rank, comm), &name, amode, failure.map_or(Ok(size), Err))?;
            return self.stage(rank, CallStage::Open(file, hints), word, waits);
        }
        let handle = self.file(rank, file)?;
        match does {
            FileAction::Open { .. } => unreachable!("it was opened above"),
            FileAction::Close => {
                let word = mpi.begin_close(handle)?;
                self.stage(rank, CallStage::Close(file), word, true)
            }
            FileAction::View(view) => {
                self.hint(rank, handle, &view.hints)?;
                let answered = mpi.begin_view(handle, &self.view(rank, &view)?)?;
                self.ask_file(rank, FileStage::View(handle, Box::new(view)), answered)
            }
            FileAction::Hints(hints) => {
                self.hint(rank, handle, &hints)?;
                DONE
            }
            FileAction::Access(access) => self.access_file(rank, handle, access),
            FileAction::EndSplit(name) => {
                let started =
                    mpi.files(|files, messages, objects| files.end_split(messages, objects, handle, name))?;
                Ok(Begun::waiting(Blocked::Wait, mpi.begin_end_of(started)?.err()))
            }
            FileAction::Seek(offset, whence, size) => {
                mpi.files(|files, messages, objects| {
                    files.seek(messages, objects, handle, (offset, whence), Some(size))
                })?;
                DONE
            }
            FileAction::SeekShared(offset, whence, size) => {
                self.meet(rank, handle, |files, messages, objects, file| {
                    files.seek_shared(messages, objects, file, (offset, whence), Some(size))
                })
            }
            FileAction::SharedPosition => {
                let answered = mpi.begin_shared_position(handle)?;
                self.ask_file(rank, FileStage::Met, answered)
            }
            FileAction::SetSize(size) => self.meet(rank, handle, |files, messages, objects, file| {
                files.may_resize(messages, objects, file, size).map(Meet::SetSize)
            }),
            FileAction::Preallocate(size) => self.meet(rank, handle, |files, messages, objects, file| {
                files.may_resize(messages, objects, file, size).map(Meet::Preallocate)
            }),
            FileAction::Atomicity(atomic) => {
                let answered = mpi.begin_atomicity(handle, atomic)?;
                self.ask_file(rank, FileStage::Atomicity(handle, atomic), answered)
            }
            FileAction::Sync => self.meet(rank, handle, |_, _, _, _| Ok(Meet::Sync)),
        }
    }

    fn meet(
        &mut self,
        rank: u32,
        handle: usize,
        part: impl FnOnce(&mut OpenFiles, &mut Messages, &Objects, u32) -> Result<Meet>,
    ) -> Result<Begun> {
        let answered = self.mpi.begin_meet(handle, part)?;
        self.ask_file(rank, FileStage::Met, answered)
    }

    /// Goes on with a stage once a file has answered.
    fn ask_file(&mut self, rank: u32, stage: FileStage, answered: FileAnswer) -> Result<Begun> {
        match answered {
            Ok(value) => self.file_answered(rank, stage, value),
            Err(request) => {
                let waits = self.mpi.begin_wait(request)?;
                self.stage(rank, CallStage::File(stage), request, waits)
            }
        }
    }

    pub(super) fn file_answered(&mut self, rank: u32, stage: FileStage, value: u64) -> Result<Begun> {
        let mpi = self.mpi;
        match stage {
            FileStage::Met => DONE,
            FileStage::View(handle, view) => {
                mpi.end_view(handle, &self.view(rank, &view)?, value)?;
                DONE
            }
            FileStage::Atomicity(handle, atomic) => {
                mpi.end_atomicity(handle, atomic)?;
                DONE
            }
            FileStage::Access(transfer, handle, FileAccess { collective, ends, .. }) => {
                let started = mpi.start_length(*transfer, value, collective)?;
                match ends {
                    AccessEnd::Blocking => {
                        Ok(Begun::waiting(Blocked::Wait, mpi.begin_end_of(started)?.err()))
                    }
                    AccessEnd::Request(number) => {
                        let request = mpi.request_of(started, handle)?;
                        self.open(rank, number, request)
                    }
                    AccessEnd::Split(name) => {
                        mpi.files(|files, messages, objects| {
                            let file = objects.files.index(&objects.comms, handle)?;
                            files.begin_split(messages, file, name, started);
                            Result::Ok(())
                        })?;
                        DONE
                    }
                }
            }
        }
    }

    fn access_file(&mut self, rank: u32, handle: usize, access: FileAccess) -> Result<Begun> {
        let FileAccess { direction, pointer, collective, count, datatype, found, .. } = access;
        let by_shared = matches!(pointer, Pointer::Shared | Pointer::Ordered);
        let datatype = self.datatype(rank, datatype)?;
        let asked = FileLength { file: handle, direction, count, datatype, by_shared, found };
        let (transfer, answered) = self.mpi.place_length(&asked, pointer, collective)?;
        self.ask_file(rank, FileStage::Access(Box::new(transfer), handle, access), answered)
    }

    fn view<'v>(&self, rank: u32, view: &'v FileView) -> Result<NewView<'v>> {
        let (etype, filetype) = (self.datatype(rank, view.etype)?, self.datatype(rank, view.filetype)?);
        Ok(NewView { disp: view.disp, etype, filetype, datarep: &view.datarep })
    }

    fn hint(&self, rank: u32, handle: usize, hints: &Info) -> Result {
        self.mpi.world().objects.files.add_info(rank, handle, hints)
    }

    /// Returns the handle of a rank's file.
    fn file(&self, rank: u32, file: u32) -> Result<usize> {
        self.files.get(&(rank, file)).copied().ok_or_else(|| {
            Failure::new(ErrorClass::FILE, format!("the rank has not opened a file with the number {file}"))
        })
    }

    pub(super) fn opened_file(
        &mut self,
        rank: u32,
        (file, hints): (u32, Rc<Info>),
        word: usize,
    ) -> Result<Begun> {
        let handle = self.mpi.end_open(word)?;
        self.hint(rank, handle, &hints)?;
        self.files.insert((rank, file), handle);
        DONE
    }

    pub(super) fn closed_file(&mut self, rank: u32, file: u32, word: usize) -> Result<Begun> {
        let handle = self.file(rank, file)?;
        self.mpi.end_close(word, handle)?;
        self.files.remove(&(rank, file));
        DONE
    }
}
