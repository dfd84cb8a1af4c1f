use super::*;
use crate::events::ArgumentValue;

fn scratch(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("xsim-log-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

fn call<'a>(rank: u32, at: u64, name: &'static str, arguments: &'a [ArgumentValue]) -> Call<'a> {
    Call { rank, function: 0, name, site: 0, entered: Time::from_ps(at), arguments }
}

const DONE: CallReturn = CallReturn { at: Time::from_ps(2_500_000), code: 0, name: Some("MPI_SUCCESS") };

/// Returns the log of calls `(process, rank, entered, name)`, told in this order.
fn log(name: &str, calls: &[(u32, u32, u64, &'static str)], processes: u32) -> String {
    let directory = scratch(name);
    let path = directory.join("log");
    let mut logs: Vec<Log> =
        (0..processes).map(|process| Log::create(&path, RankList::all(), process).unwrap()).collect();
    for &(process, rank, at, name) in calls {
        logs[process as usize].call(&call(rank, at, name, &[]), &DONE);
    }
    logs.iter_mut().for_each(|log| log.end().unwrap());
    logs[0].merge(vec![Vec::new(); processes as usize]).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1, "the parts are gone");
    std::fs::remove_dir_all(directory).unwrap();
    text
}

#[test]
fn lines_come_by_entry_then_rank_then_as_they_returned_whatever_the_processes() {
    let one = log(
        "one",
        &[(0, 0, 7, "A"), (0, 1, 3, "B"), (0, 0, 7, "C"), (0, 2, 7, "D"), (0, 1, 1_000_007, "E")],
        1,
    );
    let two = log(
        "two",
        &[(1, 2, 7, "D"), (1, 1, 3, "B"), (1, 1, 1_000_007, "E"), (0, 0, 7, "A"), (0, 0, 7, "C")],
        2,
    );
    assert_eq!(one, two);
    let names: Vec<_> = one.lines().map(|line| line.split("  ").last().unwrap()).collect();
    assert_eq!(
        names,
        [
            "B() = MPI_SUCCESS",
            "A() = MPI_SUCCESS",
            "C() = MPI_SUCCESS",
            "D() = MPI_SUCCESS",
            "E() = MPI_SUCCESS"
        ]
    );
    assert!(one.starts_with("rank 1  0.000003 us  +2.499997 us  B"), "{one}");
}

#[test]
fn constants_have_their_names_and_memory_has_none() {
    let status = |source, tag| RecordedStatus { source, tag, bytes: 16, cancelled: false };
    for (value, shown) in [
        (Value::Rank(-1), "MPI_ANY_SOURCE"),
        (Value::Tag(-2), "MPI_ANY_TAG"),
        (Value::Rank(-3), "MPI_PROC_NULL"),
        (Value::Buffer(4096), "..."),
        (Value::InPlace, "MPI_IN_PLACE"),
        (Value::Integer(-32766), "MPI_UNDEFINED"),
        (Value::Handle(Class::Request, ObjectArgument::Made { number: 3, slot: 1 }), "request#3"),
        (Value::Handle(Class::Op, ObjectArgument::Named("MPI_SUM")), "MPI_SUM"),
        (Value::Status(status(1, 7)), "{source=1, tag=7, bytes=16}"),
        (Value::Status(status(-1, -2)), "{}"),
        (Value::Text("a\nb".into()), "\"a\\nb\""),
        (
            Value::List(vec![Value::Count(1); 20]),
            "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ... 20 in all]",
        ),
    ] {
        assert_eq!(LoggedValue(&value).to_string(), shown);
    }
}

#[test]
fn ranks_are_listed_as_ranges() {
    let list = RankList::parse("0-3,7").unwrap();
    assert_eq!((0..9).filter(|&rank| list.contains(rank)).collect::<Vec<_>>(), [0, 1, 2, 3, 7]);
    assert_eq!(list.last(), 7);
    for wrong in ["", "3-1", "a", "1,,2", "-1"] {
        assert!(RankList::parse(wrong).unwrap_err().contains("such as 0-3,7"), "{wrong}");
    }
}

#[test]
fn what_a_receive_got_stands_behind_its_call_and_a_call_without_end_says_so() {
    let directory = scratch("received");
    let path = directory.join("log");
    let mut log = Log::create(&path, RankList::all(), 0).unwrap();
    let status = RecordedStatus { source: 1, tag: 7, bytes: 16, cancelled: false };
    log.computed(0, Time::ZERO, Span::from_ps(5));
    log.matched(0, &Matched { request: Some(2), source: Some(5), context: None, status });
    let arguments = [ArgumentValue {
        name: "request",
        value: Value::Handle(Class::Request, ObjectArgument::Made { number: 2, slot: 1 }),
        result: false,
    }];
    log.call(&call(0, 5, "MPI_Wait", &arguments), &DONE);
    log.unfinished(&call(0, 6, "MPI_Recv", &[]));
    log.end().unwrap();
    log.merge(vec![Vec::new()]).unwrap();
    let lines = [
        "rank 0  0.000000 us  +0.000005 us  computes",
        "rank 0  0.000005 us  +2.499995 us  MPI_Wait(request=request#2) = MPI_SUCCESS; request#2 from rank 5",
        "rank 0  0.000006 us  unfinished  MPI_Recv()",
        "",
    ];
    assert_eq!(std::fs::read_to_string(&path).unwrap(), lines.join("\n"));
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_file_that_cannot_be_made_is_named() {
    let why = Log::create("/nonexistent/log".as_ref(), RankList::all(), 0).err().unwrap();
    assert!(why.contains("/nonexistent/log.part0"), "{why}");
}
