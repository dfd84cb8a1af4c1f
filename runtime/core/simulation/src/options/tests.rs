//! Options as users give them.

use super::*;

fn read(args: &[&str], environment: &[(&str, &str)]) -> Result<(Options, Vec<String>), String> {
    let mut args: Vec<OsString> = args.iter().map(OsString::from).collect();
    let environment = environment.iter().map(|(n, v)| (OsString::from(n), OsString::from(v)));
    let options = Options::from_args(&mut args, environment).map_err(|e| e.to_string())?;
    Ok((options, args.into_iter().map(|a| a.into_string().unwrap()).collect()))
}

fn error(args: &[&str], environment: &[(&str, &str)]) -> String {
    read(args, environment).unwrap_err()
}

#[test]
fn the_program_does_not_see_the_options() {
    let (options, args) = read(
        &["ring", "-a", "-xsim-np", "1000", "b", "--xsim-mn=star:l=1us,b=1Gbps", "-xsim-verbose", "--", "-c"],
        &[],
    )
    .unwrap();
    assert_eq!(args, ["ring", "-a", "b", "--", "-c"]);
    assert_eq!((options.np, options.machine.as_str(), options.verbose), (1000, "star:l=1us,b=1Gbps", true));
}

#[test]
fn an_argument_wins_over_the_environment_and_that_over_the_default() {
    assert_eq!(read(&["p"], &[]).unwrap().0.np, 1);
    assert_eq!(read(&["p"], &[("XSIM_NP", "7")]).unwrap().0.np, 7);
    assert_eq!(read(&["p", "-xsim-np=9", "-xsim-np=8"], &[("XSIM_NP", "7")]).unwrap().0.np, 8);
}

#[test]
fn a_flag_can_be_switched_off_again() {
    let (options, args) = read(&["p", "-xsim-quiet=off", "on"], &[("XSIM_QUIET", "1")]).unwrap();
    assert!(!options.quiet);
    assert_eq!(args, ["p", "on"]);
}

#[test]
fn an_unknown_option_names_the_nearest() {
    let message = error(&["p", "-xsim-reprot", "x"], &[]);
    assert!(
        message.contains("-xsim-reprot is not an option") && message.contains("-xsim-report?"),
        "{message}"
    );
    let message = error(&["p", "-xsim-qqqqqqqqqq"], &[]);
    assert!(!message.contains("did you mean") && message.contains("-xsim-help"), "{message}");
}

#[test]
fn an_unknown_variable_names_the_nearest_and_compilers_are_known() {
    let message = error(&["p"], &[("XSIM_COMPUT", "none")]);
    assert!(message.contains("XSIM_COMPUT ") && message.contains("XSIM_COMPUTE?"), "{message}");
    assert!(read(&["p"], &[("XSIM_CC", "gcc"), ("HOME", "/"), ("XSIM_REPORT", "")]).is_ok());
}

#[test]
fn bad_values_say_what_is_possible() {
    for (option, value, why) in [
        ("np", "0", "at least 1"),
        ("np", "many", "whole number"),
        ("np", "-3", "whole number"),
        ("np", "2147483648", "2147483647"),
        ("np", "99999999999999999999999", "2147483647"),
        ("compute", "some", "measured, none or fixed:SPAN"),
        ("compute", "fixed:2", "unit is missing"),
        ("proc", "0", "above 0"),
        ("proc", "nan", "above 0"),
        ("placement", "file:", "file:PATH"),
        ("globals", "both", "auto, none, copy, clone"),
        ("stack", "1", "32KiB"),
        ("stack", "lots", "starts with a whole number"),
        ("stack", "64parsecs", "KiB"),
        ("stack", "99999999999G", "2^64"),
        ("stack-mode", "heap", "auto, own, shared"),
        ("coll", "bcast=nonsense", "nonsense"),
        ("globals-fold", "a,,b", "commas"),
        ("watchdog", "soon", "seconds"),
        ("eager-limit", "x", "whole number"),
        ("verbose", "maybe", "on or off"),
        ("mn", " ", "empty"),
    ] {
        let message = error(&["p", &format!("-xsim-{option}={value}")], &[]);
        assert!(
            message.contains(why) && message.contains(&format!("-xsim-{option} {value}")),
            "{option}={value}: {message}"
        );
        let message = error(&["p"], &[(&variable(option), value)]);
        assert!(message.contains(why) && message.contains(&variable(option)), "{option}={value}: {message}");
    }
}

#[test]
fn a_missing_value_is_asked_for() {
    let message = error(&["p", "-xsim-np"], &[]);
    assert!(message.contains("-xsim-np needs a value: write -xsim-np N"), "{message}");
}

#[test]
fn values_become_typed() {
    let args = [
        "p",
        "-xsim-compute=fixed:2us",
        "-xsim-stack=64KiB",
        "-xsim-coll=openmpi,bcast=linear",
        "-xsim-eager-limit=4k",
        "-xsim-globals-libs=a,b",
    ];
    let (options, _) = read(&args, &[]).unwrap();
    assert_eq!(options.compute, ComputeOption::Fixed(Span::from_ps(2_000_000)));
    assert_eq!((options.stack, options.eager_limit), (Some(65536), Some(4000)));
    assert_eq!(options.coll, "openmpi,bcast=linear".parse().unwrap());
    assert_eq!(options.globals_libs, ["a", "b"]);
    assert_eq!(options.given["coll"], "openmpi,bcast=linear");
}

#[test]
fn the_table_has_no_two_options_of_one_name() {
    let names: Vec<_> = TABLE.iter().flat_map(Row::names).collect();
    let letters: Vec<_> = TABLE.iter().filter_map(|row| row.short).collect();
    assert_eq!(names.iter().collect::<std::collections::HashSet<_>>().len(), names.len());
    assert_eq!(letters.iter().collect::<std::collections::HashSet<_>>().len(), letters.len());
    for row in TABLE {
        assert!(row.help.ends_with('.'), "{} has no sentence", row.name);
    }
}

#[test]
fn the_help_lists_every_option_within_80_columns() {
    let help = help_text();
    for row in TABLE {
        assert!(help.contains(&format!("-xsim-{}", row.name)) && help.contains(&variable(row.name)));
    }
    assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
}

#[test]
fn docs_options_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reference/options.md");
    let file = std::fs::read_to_string(path).unwrap();
    assert!(
        file == markdown(),
        "docs/reference/options.md is not what the table says; run: cargo run --release -- options \
         --markdown > docs/reference/options.md"
    );
}

#[test]
fn bytes_that_are_not_text_pass_through_to_the_program() {
    use std::os::unix::ffi::OsStringExt;
    let raw = OsString::from_vec(vec![0xff, b'x']);
    let mut args = vec!["p".into(), raw.clone()];
    Options::from_args(&mut args, []).unwrap();
    assert_eq!(args, [OsString::from("p"), raw]);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_an_option_panic(name in 0..TABLE.len(), value in ".{0,40}") {
        let mut options = Options::default();
        let _ = options.set(&TABLE[name], &value);
    }

    #[test]
    fn no_argument_makes_reading_panic(argument in "-{1,2}xsim-[a-z=-]{0,12}") {
        let _ = read(&["p", &argument, "value"], &[]);
    }
}
