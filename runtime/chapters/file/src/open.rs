//! Opening, closing and deleting (MPI 5.0 section 14.2).
//!
//! The first member creates the file before it tells the others how that went: so a file is created once,
//! whoever is on which process.

use crate::home::Home;
use crate::host::{HostFile, failed, options, plain_name};
use crate::state::{OpenFiles, RankFile};
use crate::view::View;
use objects::Objects;
use objects::abi::{
    MPI_MODE_APPEND, MPI_MODE_CREATE, MPI_MODE_DELETE_ON_CLOSE, MPI_MODE_EXCL, MPI_MODE_RDONLY,
    MPI_MODE_RDWR, MPI_MODE_SEQUENTIAL, MPI_MODE_UNIQUE_OPEN, MPI_MODE_WRONLY,
};
use objects::error::{ErrorClass, Failure, Result};
use p2p::Messages;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

/// All that an access mode is made of.
const MODES: i32 = MPI_MODE_APPEND
    | MPI_MODE_CREATE
    | MPI_MODE_DELETE_ON_CLOSE
    | MPI_MODE_EXCL
    | MPI_MODE_RDONLY
    | MPI_MODE_RDWR
    | MPI_MODE_SEQUENTIAL
    | MPI_MODE_UNIQUE_OPEN
    | MPI_MODE_WRONLY;

/// Checks that an access mode is valid (MPI 5.0 section 14.2.1).
///
/// # Errors
/// `MPI_ERR_AMODE`.
pub fn check_mode(amode: i32) -> Result {
    let wrong =
        |text: &str| Err(Failure::new(ErrorClass::AMODE, format!("amode {amode} is not allowed: {text}")));
    let ways =
        [MPI_MODE_RDONLY, MPI_MODE_RDWR, MPI_MODE_WRONLY].into_iter().filter(|way| amode & way != 0).count();
    if amode & !MODES != 0 {
        return wrong("it has bits that are none of MPI_MODE_*");
    }
    if ways != 1 {
        return wrong("give exactly one of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY");
    }
    if amode & MPI_MODE_RDONLY != 0 && amode & (MPI_MODE_CREATE | MPI_MODE_EXCL) != 0 {
        return wrong("MPI_MODE_CREATE and MPI_MODE_EXCL do not go with MPI_MODE_RDONLY");
    }
    if amode & MPI_MODE_RDWR != 0 && amode & MPI_MODE_SEQUENTIAL != 0 {
        return wrong("MPI_MODE_SEQUENTIAL does not go with MPI_MODE_RDWR");
    }
    Ok(())
}

/// Returns what the first member does for all: creates the file if that is asked for, and looks whether it
/// can be opened. Returns its name on the host, with the directory of a rank that has one of its own, as
/// other ranks open the file too, and the bytes in it.
///
/// # Errors
/// `MPI_ERR_AMODE`, and what the host says: `MPI_ERR_NO_SUCH_FILE`, `MPI_ERR_FILE_EXISTS`, `MPI_ERR_ACCESS`,
/// `MPI_ERR_BAD_FILE`, ...
pub fn create(name: &str, amode: i32) -> Result<(Cow<'_, str>, u64)> {
    check_mode(amode)?;
    let name = rank::process_state::resolve(plain_name(name));
    let mut options = options(amode);
    if amode & MPI_MODE_CREATE != 0 {
        options.create(true).create_new(amode & MPI_MODE_EXCL != 0);
    }
    let file = options.open(&*name).map_err(|why| failed("opened", &name, &why))?;
    match file.metadata() {
        Ok(about) if about.is_dir() => Err(Failure::new(
            ErrorClass::BAD_FILE,
            format!("\"{name}\" is a directory: give the name of a file"),
        )),
        Ok(about) => Ok((name, about.len())),
        Err(why) => Err(failed("looked at", &name, &why)),
    }
}

/// Returns the name of a file that is nowhere, in a run without payloads: nothing of the host is touched.
///
/// # Errors
/// `MPI_ERR_AMODE`.
pub fn name_of(name: &str, amode: i32) -> Result<Cow<'_, str>> {
    check_mode(amode)?;
    Ok(plain_name(name).into())
}

/// Implements `MPI_File_delete`.
///
/// # Errors
/// `MPI_ERR_NO_SUCH_FILE`, `MPI_ERR_ACCESS`, `MPI_ERR_BAD_FILE`, ...
pub fn delete(name: &str) -> Result {
    let name = plain_name(name);
    std::fs::remove_file(name).map_err(|why| failed("deleted", name, &why))
}

impl OpenFiles {
    /// Returns what is decided here of a file.
    pub(crate) fn home(&mut self, objects: &Objects, file: u32) -> &mut Home {
        self.homes.entry(file).or_insert_with(|| Home {
            shared: OpenFiles::end_on_opening(objects, file),
            meetings: BTreeMap::new(),
        })
    }

    /// Returns where pointers are when a file is opened: at its beginning, with `MPI_MODE_APPEND` at its end
    /// (MPI 5.0 section 14.2.1).
    pub(crate) fn end_on_opening(objects: &Objects, file: u32) -> u64 {
        objects.files.alive(file).filter(|of| of.amode & MPI_MODE_APPEND != 0).map_or(0, |of| of.size)
    }

    /// Returns the host's file; the first rank of the process that needs it opens it.
    pub(crate) fn host(&mut self, objects: &Objects, file: u32) -> Result<Rc<HostFile>> {
        if let Some(host) = self.hosts.get(&file) {
            return Ok(host.clone());
        }
        if self.is_nowhere {
            return Err(Failure::new(ErrorClass::INTERN, "a run without payloads has no files of the host"));
        }
        let Some(object) = objects.files.alive(file) else {
            return Err(Failure::new(
                ErrorClass::FILE,
                "the file was closed while operations on it were under way",
            ));
        };
        let host = Rc::new(HostFile::open(&object.name, object.amode)?);
        self.hosts.insert(file, host.clone());
        Ok(host)
    }

    /// Records that the mounted rank has opened a file.
    ///
    /// # Errors
    /// What the host says on a process that cannot open what the first member could.
    pub fn opened(&mut self, messages: &Messages, objects: &Objects, handle: usize) -> Result {
        let file = objects.files.index(&objects.comms, handle)?;
        if !self.is_nowhere {
            self.host(objects, file)?;
        }
        // One for all: many ranks open a file, and few of them look at it otherwise.
        let view = self.plain.get_or_insert_with(|| Rc::new(View::plain(objects))).clone();
        let pointer = OpenFiles::end_on_opening(objects, file);
        self.parts.insert((file, messages.me()), RankFile { pointer, ..RankFile::new(view) });
        Ok(())
    }

    /// Checks that the mounted rank may close a file, and returns the file's communicator.
    ///
    /// # Errors
    /// `MPI_ERR_FILE`; `MPI_ERR_OTHER` between the halves of a split collective.
    pub fn may_close(&self, messages: &Messages, objects: &Objects, handle: usize) -> Result<usize> {
        let file = objects.files.index(&objects.comms, handle)?;
        self.part(file, messages.me()).is_not_split()?;
        Ok(objects.files.at(file).comm)
    }

    /// Gives a file back for the mounted rank; the file is deleted if it is to be, once all have.
    ///
    /// # Errors
    /// What the host says of deleting it.
    pub fn give_back(&mut self, messages: &Messages, objects: &Objects, file: u32) -> Result {
        self.parts.remove(&(file, messages.me()));
        let object = objects.files.at(file);
        let deletes = messages.payloads().are_carried()
            && object.amode & MPI_MODE_DELETE_ON_CLOSE != 0
            && object.owner.unwrap_or(object.home) == messages.me();
        if deletes { delete(&object.name) } else { Ok(()) }
    }

    /// Forgets a file that all members of the process have given back: nothing of it is left.
    pub fn forget(&mut self, file: u32) {
        self.hosts.remove(&file);
        self.homes.remove(&file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_has_one_way_of_access_and_what_goes_with_it() {
        for good in [
            MPI_MODE_RDONLY,
            MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL,
            MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL,
        ] {
            assert!(check_mode(good).is_ok(), "{good}");
        }
        let both = MPI_MODE_RDONLY | MPI_MODE_WRONLY;
        for bad in [
            0,
            both,
            MPI_MODE_RDONLY | MPI_MODE_CREATE,
            MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL,
            1 << 20 | MPI_MODE_RDWR,
        ] {
            assert_eq!(check_mode(bad).unwrap_err().class, ErrorClass::AMODE, "{bad}");
        }
    }
}
