//! The host's files: opened once a process, read and written at places of their own, so that no pointer of
//! the host's is shared.

use objects::abi::{MPI_MODE_RDONLY, MPI_MODE_WRONLY};
use objects::error::{ErrorClass, Failure, Result};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

/// A file of the host, open.
pub(crate) struct HostFile {
    file: File,
    name: String,
}

/// Returns MPI's class for the host's error (MPI 5.0 section 14.7).
fn class(why: &io::Error) -> ErrorClass {
    use io::ErrorKind::*;
    match why.kind() {
        NotFound => ErrorClass::NO_SUCH_FILE,
        AlreadyExists => ErrorClass::FILE_EXISTS,
        PermissionDenied => ErrorClass::ACCESS,
        ReadOnlyFilesystem => ErrorClass::READ_ONLY,
        StorageFull => ErrorClass::NO_SPACE,
        QuotaExceeded => ErrorClass::QUOTA,
        ResourceBusy | ExecutableFileBusy => ErrorClass::FILE_IN_USE,
        IsADirectory | NotADirectory | InvalidFilename | InvalidInput => ErrorClass::BAD_FILE,
        _ => ErrorClass::IO,
    }
}

/// Returns the failure of something done to a file of the host.
#[cold]
pub(crate) fn failed(what: &str, name: &str, why: &io::Error) -> Box<Failure> {
    Failure::new(class(why), format!("file \"{name}\" cannot be {what}: {why}"))
}

/// Returns the name that the host knows a file by: without the name of a file system before it, which ROMIO
/// takes (`ufs:`, `nfs:`).
pub(crate) fn plain_name(name: &str) -> &str {
    ["ufs:", "nfs:", "lustre:", "gpfs:", "xfs:"]
        .iter()
        .find_map(|system| name.strip_prefix(system))
        .unwrap_or(name)
}

/// Returns how the host opens a file of this access mode.
pub(crate) fn options(amode: i32) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(amode & MPI_MODE_WRONLY == 0).write(amode & MPI_MODE_RDONLY == 0);
    options
}

impl HostFile {
    /// Opens a file that is there.
    ///
    /// # Errors
    /// What the host says.
    pub(crate) fn open(name: &str, amode: i32) -> Result<HostFile> {
        let file = options(amode).open(name).map_err(|why| failed("opened", name, &why))?;
        Ok(HostFile { file, name: name.to_owned() })
    }

    /// Returns the bytes in it.
    pub(crate) fn size(&self) -> Result<u64> {
        Ok(self.file.metadata().map_err(|why| failed("looked at", &self.name, &why))?.len())
    }

    /// Cuts it, or lets it grow by zeros that take no room.
    pub(crate) fn set_size(&self, size: u64) -> Result {
        self.file.set_len(size).map_err(|why| failed("resized", &self.name, &why))
    }

    /// Reads from byte `at` on, up to the end of the file: how many bytes there were.
    pub(crate) fn read(&self, mut at: u64, mut out: &mut [u8]) -> Result<usize> {
        let wanted = out.len();
        while !out.is_empty() {
            match self.file.read_at(out, at) {
                Ok(0) => break,
                Ok(count) => {
                    at += count as u64;
                    out = &mut out[count..];
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Err(failed("read", &self.name, &why)),
            }
        }
        Ok(wanted - out.len())
    }

    /// Writes from byte `at` on.
    pub(crate) fn write(&self, at: u64, bytes: &[u8]) -> Result {
        self.file.write_all_at(bytes, at).map_err(|why| failed("written", &self.name, &why))
    }
}
