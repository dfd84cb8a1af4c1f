//! Windows and files of ranks without a program, as a damaged trace may ask for them: what is wrong ends the
//! run with a sentence.

use engine::Span;
use mpi::rma::AccessKind;
use mpi::win::Flavor;
use mpi::wire::Wire;
use mpi::{Mpi, Setup};
use network::Machine;
use std::rc::Rc;
use workload::{
    Answer, Call, Caller, FileAction, FileCall, FileView, Machines, NAMES, TypeCall, TypeLayout, TypeName,
    TypeShape, WindowAccess, WindowAction, WindowCall, Workload,
};

/// All ranks make the calls of a list.
struct List(Vec<Call>);

impl Workload for List {
    type Cursor = usize;
    fn next(&mut self, _: &Caller, cursor: &mut usize, _: &Answer) -> (Span, Call) {
        *cursor += 1;
        (Span::ZERO, self.0.get(*cursor - 1).cloned().unwrap_or(Call::End))
    }
    fn function(&self, _: &usize, call: &Call) -> Option<u16> {
        (!matches!(call, Call::End)).then_some(0)
    }
}

/// Returns what two ranks that make these calls are refused with; nothing if they are not.
fn refused(calls: Vec<Call>) -> String {
    let built = Machine::parse("star:l=1us,b=8Gbps").unwrap().build(2).unwrap();
    let mpi = Mpi::new(Setup { payloads: false, ..Setup::new(2, Wire::new(built, 1), &NAMES) });
    Machines::new(&mpi, List(calls)).run(&mut |_| {}).messages.join("\n")
}

fn window(win: u32, does: WindowAction) -> Call {
    Call::Window(Box::new(WindowCall { win, does }))
}

fn put(win: u32, displacement: i64, bytes: u64) -> Call {
    let access = WindowAccess { kind: AccessKind::Put, rank: 1, displacement, bytes, extent: bytes };
    window(win, WindowAction::Access(access, None))
}

fn file(file: u32, does: FileAction) -> Call {
    Call::File(Box::new(FileCall { file, does }))
}

fn opened(name: &str, amode: i32) -> Call {
    let hints = Rc::default();
    file(3, FileAction::Open { comm: Call::WORLD, name: name.into(), amode, size: 0, hints, failure: None })
}

#[test]
fn accesses_outside_of_a_window_are_refused() {
    let made = |size: i64, unit: i64, more: Call| {
        let make = window(0, WindowAction::Make(Flavor::Allocate, size, unit, Call::WORLD));
        refused(vec![make, window(0, WindowAction::Fence(0)), more])
    };
    assert_eq!(made(64, 8, put(0, 7, 8)), "");
    for (size, unit, call, why) in [
        (64, 8, put(0, 7, 9), "the access is to bytes 56 to 64 of rank 1's window, which has 64"),
        (64, 8, put(0, i64::MAX, 8), "is no place in a window"),
        (64, 8, put(0, -1, 8), "target_disp -1 is no place in a window"),
        (64, 8, put(5, 0, 8), "the rank has not made a window with the number 5"),
        (-64, 8, put(0, 0, 8), "size -64 is negative"),
        (64, 0, put(0, 0, 8), "disp_unit 0 is no unit"),
        (64, 8, window(0, WindowAction::Lock(7, 1, 0)), "lock_type 7 is none"),
        (64, 8, window(0, WindowAction::Unlock(1)), "rank 1 is not locked"),
    ] {
        let said = made(size, unit, call);
        assert!(said.contains(why), "'{why}' is missing: {said}");
    }
}

#[test]
fn calls_on_files_and_datatypes_that_are_not_there_are_refused() {
    let [read, create] = [mpi::abi::MPI_MODE_RDONLY, mpi::abi::MPI_MODE_RDWR | mpi::abi::MPI_MODE_CREATE];
    let view = |filetype| {
        let datarep = "native".into();
        let etype = TypeName::Predefined(mpi::abi::MPI_BYTE);
        file(3, FileAction::View(FileView { disp: 0, etype, filetype, datarep, hints: Rc::default() }))
    };
    let vector = |numbers: &[i64]| {
        let numbers = numbers.iter().map(|&number| [number].into()).collect();
        let of = [TypeName::Predefined(mpi::abi::MPI_BYTE)].into();
        let made = Some(TypeLayout { shape: TypeShape::Vector, numbers, of });
        Call::Type(Box::new(TypeCall { number: 2, made }))
    };
    let made = TypeName::Made(2);
    assert_eq!(refused(vec![vector(&[2, 1, 4]), opened("/nonexistent/file", create), view(made)]), "");
    for (calls, why) in [
        (vec![file(4, FileAction::Sync)], "the rank has not opened a file with the number 4"),
        (vec![opened("file", 0)], "amode 0 is not allowed"),
        (vec![opened("file", read), file(3, FileAction::SetSize(8))], "MPI_MODE_RDONLY"),
        (vec![opened("file", create), file(3, FileAction::SetSize(-8))], "-8"),
        (vec![opened("file", create), view(made)], "datatype#2 was made by a call that the trace"),
        (vec![vector(&[2, 1])], "an argument of its datatype is not in the trace"),
        (vec![vector(&[2, -1, 4])], "-1"),
    ] {
        let said = refused(calls);
        assert!(said.contains(why), "'{why}' is missing: {said}");
    }
}
