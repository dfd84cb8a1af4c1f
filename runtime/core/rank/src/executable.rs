//! An executable's bytes, changed so that the loader takes it beside the program that runs.
//!
//! The loader refuses to load an executable into a process (`DF_1_PIE`), though a position-independent one is
//! nothing but a shared library with an entry point. And it would run the constructors and destructors, which
//! are the ranks' to run. So a copy is loaded in which the flag is clear and those tags of the dynamic
//! section have other numbers ([`MOVED`]), which the loader passes over.

use std::collections::HashMap;

/// Value added to the tags that the loader must not see. No defined tag is near the sums.
pub(crate) const MOVED: usize = 0x6100_0000;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;
const PT_TLS: u32 = 7;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_FLAGS_1: u64 = 0x6fff_fffb;
const DF_1_PIE: u64 = 0x0800_0000;
/// `DT_INIT`, `DT_FINI`, and the arrays of constructors and destructors with their sizes.
const LIVES: [u64; 6] = [12, 13, 25, 26, 27, 28];
/// The library of MPI 5.0's standard ABI, which is this one by another name.
const STANDARD: &[u8] = b"libmpi_abi.so.1";

/// Reads a little-endian number of the file.
fn number(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    let found = bytes.get(at..at.checked_add(len)?)?;
    Some(found.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

struct SegmentHeader {
    kind: u32,
    offset: u64,
    address: u64,
    file: u64,
    memory: u64,
}

fn segments(bytes: &[u8]) -> Option<Vec<SegmentHeader>> {
    let (table, size, count) = (number(bytes, 0x20, 8)?, number(bytes, 0x36, 2)?, number(bytes, 0x38, 2)?);
    let segment = |k: u64| {
        let at = usize::try_from(table.checked_add(k * size)?).ok()?;
        let word = |offset| number(bytes, at.checked_add(offset)?, 8);
        Some(SegmentHeader {
            kind: number(bytes, at, 4)? as u32,
            offset: word(8)?,
            address: word(16)?,
            file: word(32)?,
            memory: word(40)?,
        })
    };
    (0..count).map(segment).collect()
}

/// Makes these bytes of a file loadable; answers its entry point, as linked.
///
/// # Errors
/// Why it is no program that can run beside another one, to go behind its name.
pub(crate) fn prepare(bytes: &mut [u8]) -> Result<usize, String> {
    const X86_64: u64 = 62;
    let is_elf = bytes.starts_with(b"\x7fELF\x02\x01") && number(bytes, 0x12, 2) == Some(X86_64);
    let segments = if is_elf { segments(bytes) } else { None };
    let Some(segments) = segments else {
        return Err(
            "is no program for x86-64 Linux (a script cannot share a process with other ranks)".into()
        );
    };
    let of_kind = |kind| segments.iter().find(|segment| segment.kind == kind);
    if of_kind(PT_INTERP).is_none() {
        return Err("is not linked dynamically".into());
    }
    if number(bytes, 0x10, 2) != Some(3) {
        return Err("is not position-independent: link it with -pie".into());
    }
    if of_kind(PT_TLS).is_some_and(|segment| segment.memory != 0) {
        return Err(
            "has thread-local variables, for which a process has room in the program alone that it was \
             started with"
                .into(),
        );
    }
    let damaged = || "is damaged".to_owned();
    change(bytes, &segments).ok_or_else(damaged)??;
    number(bytes, 0x18, 8).and_then(|entry| usize::try_from(entry).ok()).ok_or_else(damaged)
}

/// Changes the dynamic section; nothing if the file ends too early.
fn change(bytes: &mut [u8], segments: &[SegmentHeader]) -> Option<Result<(), String>> {
    let dynamic = segments.iter().find(|segment| segment.kind == PT_DYNAMIC)?;
    let (start, len) = (usize::try_from(dynamic.offset).ok()?, usize::try_from(dynamic.file).ok()?);
    let places = || (start..start.saturating_add(len)).step_by(16);
    let mut entries = HashMap::new();
    let mut needed = Vec::new();
    for at in places() {
        let (tag, value) = (number(bytes, at, 8)?, number(bytes, at + 8, 8)?);
        match tag {
            0 => break,
            DT_NEEDED => needed.push((at, value)),
            _ => drop(entries.insert(tag, (at, value))),
        }
    }
    let strings = entries.get(&DT_STRTAB)?.1;
    let home =
        segments.iter().find(|s| s.kind == PT_LOAD && (s.address..s.address + s.file).contains(&strings))?;
    let strings = usize::try_from(strings - home.address + home.offset).ok()?;
    let mut is_ours = false;
    let mut moved: Vec<usize> = LIVES.iter().filter_map(|tag| entries.get(tag)).map(|&(at, _)| at).collect();
    for (at, name) in needed {
        let name = bytes.get(strings.checked_add(usize::try_from(name).ok()?)?..)?;
        let name = &name[..name.iter().position(|&byte| byte == 0)?];
        if name == STANDARD {
            // All its symbols are there already.
            moved.push(at);
        } else if name.starts_with(b"libmpi.so") || name.starts_with(b"libmpich.so") {
            let name = String::from_utf8_lossy(name);
            return Some(Err(format!(
                "is linked with {name}, another MPI: build it with xsim's compiler wrapper (xsim cc)"
            )));
        }
        is_ours |= name == STANDARD || name.starts_with(b"libxsim.so");
    }
    if !is_ours {
        return Some(Err(
            "is not linked with libxsim, so that it is no program of MPI that its parents could meet: build \
             it with xsim cc"
                .into(),
        ));
    }
    for at in moved {
        let tag = number(bytes, at, 8)? + MOVED as u64;
        bytes[at..at + 8].copy_from_slice(&tag.to_le_bytes());
    }
    if let Some(&(at, flags)) = entries.get(&DT_FLAGS_1) {
        bytes[at + 8..at + 16].copy_from_slice(&(flags & !DF_1_PIE).to_le_bytes());
    }
    Some(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_program_of_mpi_is_named() {
        assert!(prepare(&mut b"#!/bin/sh\n".to_vec()).unwrap_err().contains("script"));
        let own = std::fs::read("/proc/self/exe").unwrap();
        // A test is a program with thread-local variables.
        assert!(prepare(&mut own.clone()).unwrap_err().contains("thread-local"));
        for len in 0..own.len().min(4096) {
            assert!(prepare(&mut own[..len].to_vec()).is_err());
        }
    }
}
