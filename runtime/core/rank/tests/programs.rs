//! Real programs on ranks: what is private, what is printed, how they end.

mod support;

use support::{Link, check, compile, run};

#[test]
fn globals_are_private() {
    let runs = check("globals.c", &[], &[], 7);
    assert_eq!(runs[0].out.lines().count(), 7);
}

#[test]
fn shared_globals_are_constructed_once() {
    let program = compile("exits.c", Link::Pie, &[]);
    let result = run(&program, &[("RANKS", "3"), ("GLOBALS", "none")], &["return"], "");
    assert_eq!(result.out.matches("begin").count(), 1, "{}", result.out);
    assert_eq!(result.out.matches("end").count(), 1, "{}", result.out);
}

#[test]
fn cpp_statics_and_exceptions_belong_to_a_rank() {
    let runs = check("statics.cc", &[], &[], 4);
    let out = &runs[0].out;
    for rank in 0..4 {
        for name in ["global", "inline", "lazy"] {
            assert_eq!(out.matches(&format!("rank {rank} constructs {name}\n")).count(), 1, "{out}");
        }
        assert!(out.contains(&format!("rank {rank} destroys global with {}\n", 1 + rank)), "{out}");
        assert!(out.contains(&format!("rank {rank} destroys lazy with {}\n", 1 + 3 * rank)), "{out}");
        assert!(out.contains(&format!("rank {rank} says this\n")), "{out}");
    }
}

#[test]
fn every_way_to_end_ends_the_rank_alone() {
    for link in [Link::Pie, Link::NoPie] {
        let program = compile("exits.c", link, &[]);
        for stack in ["own", "shared"] {
            let lines = |way: &str| {
                let result = run(&program, &[("RANKS", "3"), ("STACK", stack)], &[way], "");
                assert_eq!((result.status, result.error.as_str()), (Some(5), ""), "{way}");
                let of_rank_1 =
                    result.out.lines().filter(|l| l.starts_with("rank 1")).map(|l| l[8..].to_owned());
                of_rank_1.collect::<Vec<_>>().join(",")
            };
            assert_eq!(lines("return"), "begin 2 return,status 4 argument,second,first,end");
            assert_eq!(lines("exit"), "begin 2 exit,status 4 argument,second,first,end");
            assert_eq!(lines("_exit"), "begin 2 _exit");
            assert_eq!(lines("quick"), "begin 2 quick,quick");
        }
    }
}

#[test]
fn the_c_library_keeps_state_for_each_rank() {
    check("libc_state.c", &[], &["-ab", "value", "-ca", "rest"], 5);
}

#[test]
fn clocks_are_virtual() {
    check("clocks.c", &[], &[], 1);
}

#[test]
fn blocked_stacks_keep_their_data() {
    check("depths.c", &[], &["depths"], 50);
}

fn with_library(source: &str, user: &str) -> Vec<support::Run> {
    let name = format!("lib{}-of-test.so", user.replace('.', "-"));
    let library = compile(source, Link::Pie, &["-shared", "-fPIC", &format!("-Wl,-soname,{name}")]);
    let file = library.with_file_name(&name);
    std::fs::copy(&library, &file).unwrap();
    let directory = file.parent().unwrap().display().to_string();
    let flags = [file.display().to_string(), format!("-Wl,-rpath,{directory}"), "-fPIC".to_owned()];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut runs = Vec::new();
    for link in [Link::Pie, Link::NoPie] {
        let program = compile(user, link, if link == Link::Pie { &flags } else { &flags[..2] });
        for (_, mut settings) in support::private_ways().into_iter().filter(|(way, _)| *way == link) {
            settings.push(("RANKS", "4"));
            let result = run(&program, &settings, &[], "");
            assert_eq!(
                (result.status, result.error.as_str()),
                (Some(0), ""),
                "{link:?} {settings:?}\n{}",
                result.out
            );
            runs.push(result);
        }
    }
    runs
}

#[test]
fn own_libraries_are_private() {
    with_library("library.c", "uses_library.c");
}

#[test]
fn own_cpp_libraries_are_constructed_in_each_rank() {
    for result in with_library("library.cc", "uses_cpp_library.c") {
        for rank in 0..4 {
            assert!(
                result.out.contains(&format!("rank {rank} is done\nrank {rank} destroys 51 lines\n")),
                "{}",
                result.out
            );
        }
    }
}

#[test]
fn output_is_whole_lines_and_input_is_rank_0s() {
    for link in [Link::Pie, Link::NoPie] {
        let program = compile("printing.c", link, &[]);
        let result = run(&program, &[("RANKS", "2")], &[], "first\nsecond\n");
        let expected = "part 0 end\n\
            raw: yes\n\
            part 1 end\n\
            raw: yes\n\
            before and after\n\
            rank 0 read first\n\
            before and after\n\
            rank 0 read second\n\
            no newline 0\n\
            no newline 1\n";
        assert_eq!((result.out.as_str(), result.status), (expected, Some(0)));
        let perror = "perror: No such file or directory";
        assert_eq!(result.error, format!("error 0 end\n{perror}\nerror()\nerror 1 end\n{perror}\nerror()\n"));
        let alone = run(&program, &[("RANKS", "1")], &[], "");
        assert!(alone.out.ends_with("no newline 0"), "{}", alone.out);
    }
}

#[test]
fn more_output_than_any_buffer_keeps_its_order() {
    let program = compile("printing.c", Link::Pie, &[]);
    let result = run(&program, &[("RANKS", "2")], &["large"], "");
    let long: Vec<usize> =
        result.out.lines().enumerate().filter(|(_, l)| l.len() == 6_000_000).map(|(k, _)| k).collect();
    assert_eq!(long.len(), 2);
    assert!(long.iter().all(|&k| result.out.lines().nth(k + 1) == Some("after")));
}

#[test]
fn a_reopened_stream_is_the_ranks_own() {
    let program = compile("printing.c", Link::Pie, &[]);
    let name = program.with_extension("out");
    let result = run(&program, &[("RANKS", "2")], &["x", name.to_str().unwrap()], "");
    assert_eq!(result.status, Some(0));
    for rank in 0..2 {
        let file = format!("{}.{rank}", name.display());
        assert_eq!(std::fs::read_to_string(file).unwrap(), format!("to file {rank}\nmore {rank}\n"));
    }
}

#[test]
fn many_ranks_print_a_line_each() {
    let program = compile("globals.c", Link::Pie, &[]);
    let result = run(&program, &[("RANKS", "3000"), ("GLOBALS", "copy")], &[], "");
    assert_eq!(result.out.lines().count(), 3000);
}

#[test]
fn folded_globals_are_shared() {
    let program = compile("folded.c", Link::Pie, &[]);
    let result = run(&program, &[("RANKS", "4"), ("FOLD", "scratch,small")], &[], "");
    assert_eq!((result.status, result.error.as_str()), (Some(0), ""));
    let result = run(&program, &[("FOLD", "absent")], &[], "");
    assert!(result.error.contains("no variable absent"), "{}", result.error);
}

#[test]
fn what_cannot_be_cloned_says_why() {
    let refuse = |source, link, reason: &str| {
        let result = run(&compile(source, link, &[]), &[("GLOBALS", "clone")], &[], "");
        assert!(result.status == Some(2) && result.error.contains(reason), "{}", result.error);
    };
    refuse("globals.c", Link::NoPie, "not position-independent");
    refuse("statics.cc", Link::Pie, "-fPIC");
}

#[test]
fn fortran_state_units_and_lines_belong_to_a_rank() {
    if std::process::Command::new("gfortran").arg("--version").output().is_err() {
        eprintln!("skipped: no gfortran");
        return;
    }
    for link in [Link::Pie, Link::NoPie] {
        let program = compile("fortran.f90", link, &[]);
        for (_, settings) in support::private_ways().into_iter().filter(|(way, _)| *way == link) {
            let directory =
                program.with_extension(settings.iter().map(|s| s.1).collect::<Vec<_>>().join("-"));
            std::fs::create_dir_all(&directory).unwrap();
            let mut all = vec![("RANKS", "4")];
            all.extend(settings);
            let result = run(&program, &all, &[directory.to_str().unwrap()], "");
            assert_eq!(
                (result.status, result.error.as_str()),
                (Some(3), "STOP 3\n"),
                "{all:?}\n{}",
                result.out
            );
            assert_eq!(result.out.lines().count(), 4 * 100 + 4);
            for (k, line) in result.out.lines().take(400).enumerate() {
                assert_eq!(line, format!("rank {} step {}", k % 4, k / 4 + 1));
            }
            for rank in 0..4 {
                let text = std::fs::read_to_string(directory.join(format!("unit.{rank}"))).unwrap();
                assert_eq!(text, format!(" first {rank}\n again {rank}\n"));
            }
        }
    }
}
