//! Files: tests/programs/files.c on several machines and rank counts, order and times in files_times.c, wrong
//! calls in files_wrong.c.

mod common;

use common::{Run, scratch};
use std::path::PathBuf;

/// A name for a test's file, which is not there.
fn fresh(case: &str) -> PathBuf {
    static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    scratch(&format!("file-{case}-{number}")).join("data")
}

fn with_file(run: Run, case: &str) -> Run {
    run.arg(case).arg(fresh(case).to_str().unwrap())
}

#[track_caller]
fn holds(case: &str) {
    for count in [1, 2, 7] {
        let overheads = "star:l=1us,b=1Gbps/rank:o_send=1us,o_recv=2us,gap=3us";
        for machine in ["star:l=1us,b=1Gbps", "none", overheads, "star:l=1us,b=1Gbps,level=packet"] {
            with_file(Run::program("files.c"), case).ranks(count).machine(machine).run().ok(count);
        }
    }
}

#[test]
fn what_is_written_at_an_offset_is_read_there_by_all() {
    holds("offsets");
}

#[test]
fn a_view_shows_each_rank_its_part_of_the_file() {
    holds("views");
}

#[test]
fn external32_is_big_endian_whatever_the_datatype() {
    holds("external");
}

#[test]
fn a_representation_without_conversions_is_as_memory() {
    holds("registered");
}

#[test]
fn functions_of_the_program_convert_what_goes_to_a_file_and_comes_from_it() {
    holds("converting");
    with_file(Run::program("files.c").processes("mpich", 2), "converting").ranks(4).run().success();
}

#[test]
fn the_shared_pointer_gives_every_record_a_place_of_its_own() {
    holds("shared");
}

#[test]
fn records_of_any_length_are_whole_where_the_shared_pointer_puts_them() {
    holds("records");
    for processes in [2, 4] {
        with_file(Run::program("files.c").processes("mpich", processes), "records").ranks(7).run().ok(7);
    }
}

#[test]
fn requests_and_split_collectives_complete_with_their_bytes() {
    holds("requests");
}

#[test]
fn atomic_accesses_are_seen_as_a_whole() {
    holds("atomic");
}

#[test]
fn a_file_tells_how_it_was_opened_and_may_go_when_it_is_closed() {
    holds("objects");
}

/// Returns what the ranks said, on one process.
fn timed(run: Run, case: &str, ranks: u32) -> String {
    let output = with_file(run, case).ranks(ranks).machine("star:l=1us,b=8Gbps").run().success();
    output.lines().into_iter().filter(|line| *line != "ok").collect::<Vec<_>>().join("\n")
}

// Two links of 1 us each way; 8 bytes take 8 ns, also to oneself. What the home's own rank asks is there
// after 2 us too.
#[test]
fn the_shared_pointer_is_a_message_there_and_back_and_other_accesses_take_no_time() {
    let expected = "rank 0 shared 2008000\nrank 0 wrote 0\nrank 1 shared 4016000\nrank 1 wrote 0";
    assert_eq!(timed(Run::program("files_times.c"), "pointers", 2), expected);
}

#[test]
fn what_is_done_together_is_over_when_the_last_has_told_and_been_told() {
    let expected = "rank 0 sized 12016000\nrank 1 sized 14016000";
    assert_eq!(timed(Run::program("files_times.c"), "together", 2), expected);
}

#[test]
fn records_and_atomic_accesses_are_in_virtual_order_whoever_ran_first() {
    let records: Vec<String> =
        (0..8).map(|record| format!("record {record} of rank {}", 7 - record)).collect();
    assert_eq!(timed(Run::program("files_times.c"), "order", 8), records.join("\n"));
    let found: Vec<String> = (0..7).map(|rank| format!("rank {rank} found {}", rank + 1)).collect();
    assert_eq!(timed(Run::program("files_times.c"), "atomic", 8), found.join("\n"));
}

const STORAGE: &str = "star:l=1us,b=8Gbps/storage:servers=SERVERS,stripe=1000,b=8Gbps,l=10us";

/// Returns what the ranks said of a machine with so many servers of 1 GB/s, without when the last of what
/// they do ended.
fn served(run: Run, servers: u32, ranks: u32) -> String {
    let output = with_file(run, "servers")
        .ranks(ranks)
        .machine(&STORAGE.replace("SERVERS", &servers.to_string()))
        .run()
        .success();
    output.lines().into_iter().filter(|line| *line != "ok").collect::<Vec<_>>().join("\n")
}

// Requests are at a server 10 us after they were made, are served in their order at 1 ns a byte, and answered
// 10 us later.
#[test]
fn accesses_queue_at_the_servers_that_have_their_bytes() {
    let before_the_end =
        |text: &str| text.lines().filter(|line| !line.contains("ended")).collect::<Vec<_>>().join("\n");
    let one = "rank 0 read 43000000\nrank 0 wrote 21000000\nrank 1 read 45000000\nrank 1 wrote 22000000";
    assert_eq!(before_the_end(&served(Run::program("files_times.c"), 1, 2)), one);
    let two = "rank 0 read 42000000\nrank 0 wrote 21000000\nrank 1 read 43000000\nrank 1 wrote 21000000";
    assert_eq!(before_the_end(&served(Run::program("files_times.c"), 2, 2)), two);
}

#[test]
fn servers_take_the_same_time_on_several_processes() {
    for servers in [1, 3] {
        let one = served(Run::program("files_times.c"), servers, 6);
        for processes in [2, 4] {
            assert_eq!(
                served(Run::program("files_times.c").processes("mpich", processes), servers, 6),
                one,
                "{servers} on {processes}"
            );
        }
    }
}

/// Runs a program's case as [`served`] does, and returns its lines.
fn buffered(run: Run, servers: u32, ranks: u32) -> String {
    let output = with_file(run, "buffered")
        .ranks(ranks)
        .machine(&STORAGE.replace("SERVERS", &servers.to_string()))
        .run()
        .success();
    output.lines().into_iter().filter(|line| *line != "ok").collect::<Vec<_>>().join("\n")
}

// All members meet at 2.016 us and learn of it 16 ns (rank 0) and 2.016 us later. Words of both are in either
// half of the file: 504 and 496 bytes. With rank 1's, which are there last, aggregator 0 has all at 6.528 us,
// and with its own aggregator 1 at 6.032. That one is served from 16.032 to 17.032 and the other one after
// it; 10 us later they know, and tell both ranks, one of which is 2 us away.
//
// The only aggregator with a buffer of 1200 bytes has two rounds, of 600 and 400 bytes for each rank: it is
// asked at 6.032 and 31.832 us, knows at 27.232 and 52.632, and answers with the bytes. Alone rank 0 asks at
// 2.032 us and rank 1 at 4.032, for 1000 bytes each.
#[test]
fn aggregators_ask_the_servers_for_all_whose_bytes_lie_between_each_others() {
    let wanted = [
        "rank 0 read 53032000",
        "rank 0 read alone 2032000",
        "rank 0 wrote 29032000",
        "rank 0 wrote alone 23032000",
        "rank 1 read 55032000",
        "rank 1 read alone 25032000",
        "rank 1 wrote 30032000",
        "rank 1 wrote alone 25032000",
    ];
    assert_eq!(buffered(Run::program("files_times.c"), 1, 2), wanted.join("\n"));
}

#[test]
fn aggregators_take_the_same_time_on_several_processes() {
    for servers in [1, 3] {
        let one = buffered(Run::program("files_times.c"), servers, 6);
        for processes in [2, 4] {
            assert_eq!(
                buffered(Run::program("files_times.c").processes("mpich", processes), servers, 6),
                one,
                "{servers} on {processes}"
            );
        }
    }
}

#[test]
fn aggregators_exchange_bytes_over_packets_and_between_nodes() {
    for machine in [
        "torus:4x2,l=1us,b=8Gbps,level=packet/storage:servers=2,b=8Gbps",
        "star:l=1us,b=8Gbps/mesh:2x2,l=100ns,b=8Gbps/storage:servers=2,b=8Gbps",
    ] {
        with_file(Run::program("files_times.c"), "buffered").ranks(8).machine(machine).run().success();
    }
}

#[test]
fn several_processes_read_and_take_what_one_does() {
    for (case, ranks) in [("pointers", 4), ("order", 8), ("atomic", 8), ("together", 4)] {
        let one = timed(Run::program("files_times.c"), case, ranks);
        for processes in [2, 4] {
            assert_eq!(
                timed(Run::program("files_times.c").processes("mpich", processes), case, ranks),
                one,
                "{case} on {processes}"
            );
        }
    }
}

/// The case gets these classes, one for each rank; with a fatal handler the run ends, saying these things.
#[track_caller]
fn error(case: &str, classes: [&str; 2], parts: &[&str]) {
    let output = with_file(Run::program("files_wrong.c"), case).ranks(2).run().success();
    let mut expected = classes.to_vec();
    expected.sort_unstable();
    assert_eq!(output.lines(), expected, "{case}: {output}");
    with_file(Run::program("files_wrong.c"), case)
        .arg("fatal")
        .ranks(2)
        .run()
        .failure()
        .says(&["rank "])
        .says(parts);
}

#[track_caller]
fn both(case: &str, class: &str, parts: &[&str]) {
    error(case, [class, class], parts);
}

#[test]
fn a_file_that_cannot_be_opened_says_why() {
    both("missing", "MPI_ERR_NO_SUCH_FILE", &["MPI_File_open", ".missing"]);
    both("missing_directory", "MPI_ERR_NO_SUCH_FILE", &["MPI_File_open", "/missing/file"]);
    both("directory", "MPI_ERR_BAD_FILE", &["MPI_File_open", "directory"]);
    both("exists", "MPI_ERR_FILE_EXISTS", &["MPI_File_open", "exists"]);
    both("no_way", "MPI_ERR_AMODE", &["MPI_File_open", "exactly one"]);
    both("two_ways", "MPI_ERR_AMODE", &["MPI_File_open", "exactly one"]);
    both("create_read_only", "MPI_ERR_AMODE", &["MPI_File_open", "MPI_MODE_CREATE"]);
    both("other_modes", "MPI_ERR_NOT_SAME", &["MPI_File_open", "rank 1", "amode"]);
    both("inter", "MPI_ERR_COMM", &["MPI_File_open", "intercommunicator"]);
    both("delete_missing", "MPI_ERR_NO_SUCH_FILE", &["MPI_File_delete", ".missing"]);
}

#[test]
fn a_file_is_accessed_as_it_was_opened_and_while_it_is_open() {
    both("null_file", "MPI_ERR_FILE", &["MPI_File_write_at", "MPI_FILE_NULL"]);
    both("invented_file", "MPI_ERR_FILE", &["MPI_File_write_at", "not valid"]);
    both("closed", "MPI_ERR_FILE", &["MPI_File_write_at", "not valid"]);
    both("write_read_only", "MPI_ERR_READ_ONLY", &["MPI_File_write_at", "MPI_MODE_RDWR"]);
    both("read_write_only", "MPI_ERR_ACCESS", &["MPI_File_read_at", "MPI_MODE_RDWR"]);
    both("seek_sequential", "MPI_ERR_UNSUPPORTED_OPERATION", &["MPI_File_seek", "MPI_MODE_SEQUENTIAL"]);
    both("full_disk", "MPI_ERR_NO_SPACE", &["MPI_File_write_at", "/dev/full"]);
    both("full_disk_shared", "MPI_ERR_NO_SPACE", &["MPI_File_write_shared", "/dev/full"]);
    both("shared_read_only", "MPI_ERR_READ_ONLY", &["MPI_File_write_shared", "MPI_MODE_RDWR"]);
}

#[test]
fn places_counts_and_datatypes_are_looked_at() {
    both("negative_offset", "MPI_ERR_ARG", &["MPI_File_write_at", "offset -1"]);
    both("negative_count", "MPI_ERR_COUNT", &["MPI_File_write_at", "-1"]);
    both("no_datatype", "MPI_ERR_TYPE", &["MPI_File_write_at", "null handle"]);
    both("null_buffer", "MPI_ERR_BUFFER", &["MPI_File_write_at", "null pointer"]);
    both("bad_whence", "MPI_ERR_ARG", &["MPI_File_seek", "whence 7"]);
    both("seek_before", "MPI_ERR_ARG", &["MPI_File_seek", "offset -1"]);
    both("half_an_etype", "MPI_ERR_IO", &["MPI_File_write_at", "4 bytes", "etype's 8"]);
    both("too_wide", "MPI_ERR_CONVERSION", &["MPI_File_write_at", "external32"]);
}

#[test]
fn what_all_do_together_must_be_the_same() {
    both("negative_size", "MPI_ERR_ARG", &["MPI_File_set_size", "size -1"]);
    both("other_sizes", "MPI_ERR_NOT_SAME", &["MPI_File_set_size", "rank 1"]);
    error("one_refused", ["MPI_ERR_ARG", "MPI_ERR_OTHER"], &["MPI_File_set_size"]);
    both("other_calls", "MPI_ERR_NOT_SAME", &["rank 1"]);
    both("other_datareps", "MPI_ERR_NOT_SAME", &["MPI_File_set_view", "rank 1"]);
    both("begun_twice", "MPI_ERR_OTHER", &["MPI_File_write_all_begin", "MPI_File_write_all_end first"]);
    both("not_begun", "MPI_ERR_OTHER", &["MPI_File_read_all_end", "MPI_File_read_all_begin"]);
    both("end_of_another", "MPI_ERR_OTHER", &["MPI_File_write_at_all_end", "before"]);
}

#[test]
fn a_view_that_is_none_is_refused() {
    both("unknown_datarep", "MPI_ERR_UNSUPPORTED_DATAREP", &["MPI_File_set_view", "\"mine\""]);
    both("negative_disp", "MPI_ERR_ARG", &["MPI_File_set_view", "disp -5"]);
    both("current_disp", "MPI_ERR_ARG", &["MPI_File_set_view", "MPI_DISPLACEMENT_CURRENT"]);
    both("odd_filetype", "MPI_ERR_TYPE", &["MPI_File_set_view", "multiple"]);
    both("uncommitted", "MPI_ERR_TYPE", &["MPI_File_set_view", "MPI_Type_commit"]);
}

#[test]
fn a_deadlock_says_who_is_missing_at_a_file() {
    with_file(Run::program("files_wrong.c"), "alone_in_it")
        .ranks(2)
        .run()
        .failure()
        .says(&["deadlock", "MPI_File_sync(rank 1 to call on file"]);
}
