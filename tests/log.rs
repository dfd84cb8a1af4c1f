//! The log of calls: what it says, and that it says the same on any number of processes and changes nothing.

mod common;

use common::{Output, Run, command, compile, root, scratch};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

const MPICH: &str = "mpich";

fn file() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    scratch(&format!("log-{}", NUMBER.fetch_add(1, Ordering::Relaxed))).join("calls.log")
}

/// Runs it with a log: what it printed, and the log.
fn logged(run: Run) -> (Output, String) {
    let path = file();
    let output = run.arg(format!("-xsim-log={}", path.display())).run();
    let log =
        std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}: {output}", path.display()));
    let directory = path.parent().unwrap();
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), 1, "parts of the log are left");
    std::fs::remove_dir_all(directory).unwrap();
    (output, log)
}

fn of_four() -> Run {
    Run::program("logged.c").ranks(4).machine("star:l=1us,b=1Gbps").variable("XSIM_COMPUTE", "none")
}

/// The calls of one rank, without times.
fn calls(log: &str, rank: u32) -> Vec<&str> {
    let mine = log.lines().filter_map(|line| line.strip_prefix(&format!("rank {rank}  ")));
    mine.map(|line| line.splitn(3, "  ").nth(2).unwrap()).collect()
}

#[test]
fn arguments_are_named_and_objects_numbered() {
    let (output, log) = logged(of_four());
    output.success();
    let two = calls(&log, 2);
    let expected = [
        "MPI_Init() = MPI_SUCCESS",
        "MPI_Comm_rank(comm=MPI_COMM_WORLD, rank=2) = MPI_SUCCESS",
        "MPI_Comm_split(comm=MPI_COMM_WORLD, color=1, key=0, newcomm=comm#1) = MPI_SUCCESS",
        "MPI_Comm_rank(comm=comm#1, rank=0) = MPI_SUCCESS",
        "MPI_Type_contiguous(count=2, oldtype=MPI_INT, newtype=datatype#1) = MPI_SUCCESS",
        "MPI_Type_commit(datatype=datatype#1) = MPI_SUCCESS",
        "MPI_Sendrecv(sendbuf=..., sendcount=1, sendtype=datatype#1, dest=1, sendtag=3, recvbuf=..., \
         recvcount=1, recvtype=datatype#1, source=MPI_ANY_SOURCE, recvtag=3, comm=comm#1, \
         status={source=1, tag=3, bytes=8}) = MPI_SUCCESS; from rank 3",
        "MPI_Type_free(datatype=datatype#1) = MPI_SUCCESS",
        "MPI_Allreduce(sendbuf=MPI_IN_PLACE, recvbuf=..., count=1, datatype=MPI_INT, op=MPI_SUM, \
         comm=comm#1) = MPI_SUCCESS",
        "MPI_Gatherv(sendbuf=..., sendcount=1, sendtype=MPI_INT, recvbuf=..., recvcounts=[1, 1, 1, 1], \
         displs=[0, 1, 2, 3], recvtype=MPI_INT, root=2, comm=MPI_COMM_WORLD) = MPI_SUCCESS",
        "MPI_Recv_init(buf=..., count=1, datatype=MPI_INT, source=MPI_PROC_NULL, tag=0, comm=comm#1, \
         request=request#1) = MPI_SUCCESS",
        "MPI_Start(request=request#1) = MPI_SUCCESS",
        "MPI_Test(request=request#1, flag=true, status={source=MPI_PROC_NULL, tag=MPI_ANY_TAG, bytes=0}) = \
         MPI_SUCCESS",
        "MPI_Request_free(request=request#1) = MPI_SUCCESS",
        "MPI_Iprobe(source=MPI_ANY_SOURCE, tag=99, comm=MPI_COMM_WORLD, flag=false, status=?) = MPI_SUCCESS",
        "MPI_Comm_free(comm=comm#1) = MPI_SUCCESS",
        "MPI_Comm_create_keyval(comm_copy_attr_fn=null, comm_delete_attr_fn=..., comm_keyval=",
        "MPI_Comm_set_attr(comm=MPI_COMM_WORLD, comm_keyval=",
        // Within the callback of the call that comes next.
        "MPI_Comm_size(comm=MPI_COMM_WORLD, size=4) = MPI_SUCCESS",
        "MPI_Comm_delete_attr(comm=MPI_COMM_WORLD, comm_keyval=",
        "MPI_Comm_set_errhandler(comm=MPI_COMM_WORLD, errhandler=MPI_ERRORS_RETURN) = MPI_SUCCESS",
        "MPI_Send(buf=..., count=1, datatype=MPI_INT, dest=77, tag=0, comm=MPI_COMM_WORLD) = MPI_ERR_RANK",
        "MPI_Comm_set_name(comm=MPI_COMM_WORLD, comm_name=\"every \\\"one\\\"\") = MPI_SUCCESS",
        "MPI_Finalize() = MPI_SUCCESS",
    ];
    assert_eq!(two.len(), expected.len(), "{two:#?}");
    for (line, expected) in two.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}\nshould begin with\n{expected}");
    }
    assert!(
        calls(&log, 1).iter().any(|line| line.contains("recvcounts=?, displs=?")),
        "counts say something at the root only"
    );
}

#[test]
fn a_wildcard_says_what_it_received_though_its_status_is_ignored() {
    let (_, log) = logged(of_four());
    let zero = calls(&log, 0);
    assert!(
        zero[2].starts_with("MPI_Send(buf=..., count=1, datatype=MPI_INT, dest=1, tag=7,"),
        "by way of PMPI_Send: {}",
        zero[2]
    );
    assert_eq!(
        zero[3],
        "MPI_Recv(buf=..., count=2, datatype=MPI_INT, source=MPI_ANY_SOURCE, tag=MPI_ANY_TAG, \
         comm=MPI_COMM_WORLD, status={source=1, tag=9, bytes=4}) = MPI_SUCCESS; from rank 1"
    );
    let one = calls(&log, 1);
    assert!(
        one[2].ends_with("request=request#1) = MPI_SUCCESS")
            && one[3].ends_with("request=request#2) = MPI_SUCCESS"),
        "{one:#?}"
    );
    assert_eq!(
        one[4],
        "MPI_Waitall(count=2, array_of_requests=[request#1, request#2], \
         array_of_statuses=[{source=0, tag=7, bytes=4}, {}]) = MPI_SUCCESS; request#1 from rank 0"
    );
}

#[test]
fn calls_have_their_times() {
    let (_, log) = logged(of_four());
    // 4 bytes at 1 Gbit/s over two hops of 1 us.
    let wait = log.lines().find(|line| line.contains("MPI_Waitall")).unwrap();
    assert!(wait.starts_with("rank 1  0.000000 us  +2.032000 us  MPI_Waitall"), "{wait}");
    assert!(!log.contains("computes"));
    let (_, log) = logged(of_four().variable("XSIM_COMPUTE", "fixed:3us"));
    let mut lines = log.lines().filter(|line| line.starts_with("rank 2  "));
    assert_eq!(lines.next(), Some("rank 2  0.000000 us  +3.000000 us  computes"));
    assert_eq!(lines.next(), Some("rank 2  3.000000 us  +0.000000 us  MPI_Init() = MPI_SUCCESS"));
}

#[test]
fn a_call_that_never_returns_is_unfinished() {
    let (output, log) = logged(of_four().arg("d"));
    output.failure();
    for rank in 0..4 {
        let line = log.lines().rfind(|line| line.starts_with(&format!("rank {rank}  "))).unwrap();
        let (_, call) = line.split_once("  unfinished  ").unwrap_or_else(|| panic!("{line}"));
        let source = (rank + 1) % 4;
        assert_eq!(
            call,
            format!(
                "MPI_Recv(buf=..., count=1, datatype=MPI_INT, source={source}, tag=5, comm=MPI_COMM_WORLD, \
                 status=?)"
            )
        );
    }
    let (output, log) = logged(of_four().arg("a"));
    output.failure();
    let line = log.lines().rfind(|line| line.starts_with("rank 0  ")).unwrap();
    assert!(line.ends_with("  unfinished  MPI_Abort(comm=MPI_COMM_WORLD, errorcode=3)"), "{line}");
}

#[test]
fn only_the_ranks_that_are_asked_for_are_logged() {
    let (_, all) = logged(of_four());
    let (_, some) = logged(of_four().arg("-xsim-log-ranks=0,2-3"));
    let expected: Vec<_> = all.lines().filter(|line| !line.starts_with("rank 1  ")).collect();
    assert_eq!(some.lines().collect::<Vec<_>>(), expected);
    // A profile wants all ranks.
    let (_, beside) = logged(of_four().arg("-xsim-log-ranks=0,2-3").arg("-xsim-profile"));
    assert_eq!(beside.lines().collect::<Vec<_>>(), expected);
    let wrong = |run: Run, says: &str| drop(run.run().failure().says(&[says]));
    wrong(
        of_four().arg("-xsim-log=x.log").arg("-xsim-log-ranks=2-4"),
        "-xsim-log-ranks names rank 4, but there are ranks 0 to 3 only",
    );
    wrong(of_four().arg("-xsim-log-ranks=2"), "say where it goes, such as -xsim-log calls.log");
    wrong(of_four().arg("-xsim-log=x.log").arg("-xsim-log-ranks=2-"), "such as 0-3,7");
    wrong(of_four().arg("-xsim-log=/nonexistent/x.log"), "cannot write the log /nonexistent/x.log.part0");
}

#[test]
fn it_is_the_same_on_any_number_of_processes() {
    let programs: [fn() -> Run; 4] = [
        of_four,
        || of_four().arg("d"),
        || {
            Run::program("mixture.c")
                .ranks(7)
                .arg("3")
                .machine("torus:4x4,l=1us,b=1Gbps")
                .variable("XSIM_COMPUTE", "none")
        },
        || {
            Run::program("random_program.c")
                .ranks(13)
                .arg("2")
                .arg("20")
                .variable("XSIM_COMPUTE", "fixed:10ns")
        },
    ];
    for program in programs {
        let (_, one) = logged(program());
        assert!(one.lines().count() > 50);
        for count in [2, 4] {
            let (_, several) = logged(program().processes(MPICH, count));
            let differs = one.lines().zip(several.lines()).find(|(one, other)| one != other);
            assert!(one == several, "{count} processes: {differs:#?}");
        }
    }
}

#[test]
fn virtual_times_do_not_depend_on_it() {
    let directory = scratch("log-report");
    for (seed, machine) in
        [(5, "torus:4x4,l=1us,b=1Gbps"), (6, "none"), (7, "torus:4x4,l=1us,b=1Gbps,level=packet")]
    {
        let simulated = |name: &str, log: bool| {
            let path = directory.join(name);
            let run = Run::program("mixture.c")
                .ranks(7)
                .arg(seed.to_string())
                .machine(machine)
                .variable("XSIM_COMPUTE", "none");
            let run = run.arg(format!("-xsim-report={}", path.display()));
            if log { logged(run).0 } else { run.run() }.success();
            std::fs::read_to_string(path).unwrap().split_once("\"host\"").unwrap().0.to_owned()
        };
        assert_eq!(simulated("without", false), simulated("with", true), "seed {seed}");
    }
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn fortran_calls_are_told_once_and_as_fortran_says_them() {
    let program = scratch("log-fortran").join("logged");
    let source = root().join("tests/programs/fortran/logged.f90");
    let status =
        command(&["fc", "-fallow-argument-mismatch", "-o"]).arg(&program).arg(source).status().unwrap();
    assert!(status.success());
    let run = || Run::of(program.clone()).ranks(2).variable("XSIM_COMPUTE", "none");
    let (output, log) = logged(run());
    output.success();
    assert_eq!(
        calls(&log, 1),
        [
            "MPI_Init() = MPI_SUCCESS",
            "MPI_Comm_rank(comm=MPI_COMM_WORLD, rank=1) = MPI_SUCCESS",
            "MPI_Irecv(buf=..., count=2, datatype=MPI_INTEGER, source=MPI_ANY_SOURCE, tag=7, \
             comm=MPI_COMM_WORLD, request=request#1) = MPI_SUCCESS",
            "MPI_Isend(buf=..., count=2, datatype=MPI_INTEGER, dest=0, tag=7, comm=MPI_COMM_WORLD, \
             request=request#2) = MPI_SUCCESS",
            "MPI_Wait(request=request#2, status={}) = MPI_SUCCESS",
            "MPI_Waitany(count=2, array_of_requests=[request#1, MPI_REQUEST_NULL], index=0, \
             status={source=0, tag=7, bytes=8}) = MPI_SUCCESS; request#1 from rank 0",
            "MPI_Allreduce(sendbuf=MPI_IN_PLACE, recvbuf=..., count=4, datatype=MPI_INTEGER, op=MPI_MAX, \
             comm=MPI_COMM_WORLD) = MPI_SUCCESS",
            "MPI_Comm_set_name(comm=MPI_COMM_WORLD, comm_name=\"both\") = MPI_SUCCESS",
            "MPI_Recv(buf=..., count=1, datatype=MPI_INTEGER, source=0, tag=MPI_ANY_TAG, \
             comm=MPI_COMM_WORLD, status={source=0, tag=5, bytes=4}) = MPI_SUCCESS; from rank 0",
            "MPI_Finalize() = MPI_SUCCESS",
        ]
    );
    assert_eq!(log, logged(run().processes(MPICH, 2)).1);
}

#[test]
fn one_rank_a_process_gives_the_log_of_all_ranks_in_one() {
    let run = || {
        Run::of(compile("tests/programs/logged.c", &[]))
            .ranks(4)
            .machine("star:l=1us,b=1Gbps")
            .variable("XSIM_COMPUTE", "none")
    };
    let (_, one) = logged(run());
    let (_, apart) = logged(run().arg("-xsim-one-rank").processes(MPICH, 4));
    assert_eq!(one, apart);
}
