//! Compiles small programs against the test library and runs them on ranks.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Returns the directory with `libranktest.so`, built once.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // The test itself is in <target>/<profile>/deps.
        let profile = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned();
        let name = match profile.file_name().unwrap().to_str().unwrap() {
            "debug" => "dev",
            name => name,
        }
        .to_owned();
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--package", "xsim-rank-testlib", "--profile", &name, "--target-dir"])
            .arg(profile.parent().unwrap())
            .status()
            .unwrap();
        assert!(built.success(), "the test library does not build");
        profile
    })
}

/// Kind of executable as which a program is linked.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Link {
    Pie,
    NoPie,
}

/// Compiles `tests/programs/<source>`; `extra` are arguments behind the source.
pub fn compile(source: &str, link: Link, extra: &[&str]) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let out = library().join("rank-programs");
    std::fs::create_dir_all(&out).unwrap();
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let unique = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let program = out.join(format!("{}-{link:?}-{unique}", source.replace('.', "-")));
    let compiler = match source.rsplit('.').next() {
        Some("cc") => "c++",
        Some("f90") => "gfortran",
        _ => "cc",
    };
    // gfortran writes module files into its working directory.
    let made = Command::new(compiler)
        .current_dir(&out)
        .args(["-g", "-O1", "-pthread"])
        .args(if link == Link::Pie { ["-fPIE", "-pie"] } else { ["-fno-pie", "-no-pie"] })
        .arg("-o")
        .arg(&program)
        .arg(sources.join(source))
        .args(extra)
        .arg("-L")
        .arg(library())
        .args(["-lranktest", &format!("-Wl,-rpath,{}", library().display())])
        .output()
        .expect("a C compiler");
    assert!(made.status.success(), "{source}: {}", String::from_utf8_lossy(&made.stderr));
    program
}

/// Output and exit status of a run.
pub struct Run {
    pub out: String,
    pub error: String,
    pub status: Option<i32>,
}

/// Runs a program on ranks; `settings` are the test library's environment.
pub fn run(program: &Path, settings: &[(&str, &str)], arguments: &[&str], input: &str) -> Run {
    use std::io::Write;
    let mut child = Command::new(program)
        .args(arguments)
        .envs(settings.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    Run {
        out: String::from_utf8(stdout).unwrap(),
        error: String::from_utf8(stderr).unwrap(),
        status: status.code(),
    }
}

/// Returns every way to run that keeps globals private.
pub fn private_ways() -> Vec<(Link, Vec<(&'static str, &'static str)>)> {
    let mut ways = Vec::new();
    for link in [Link::Pie, Link::NoPie] {
        for stack in ["own", "shared"] {
            for globals in ["copy", "clone", "auto"] {
                if link == Link::Pie || globals != "clone" {
                    ways.push((link, vec![("STACK", stack), ("GLOBALS", globals)]));
                }
            }
        }
    }
    ways
}

/// Runs a program that checks itself in every private way: it must return 0 and print nothing on
/// standard error.
pub fn check(source: &str, extra: &[&str], arguments: &[&str], ranks: u32) -> Vec<Run> {
    let ranks = ranks.to_string();
    let programs = [Link::Pie, Link::NoPie].map(|link| {
        let mut flags = extra.to_vec();
        if link == Link::Pie {
            flags.insert(0, "-fPIC");
        }
        compile(source, link, &flags)
    });
    let runs = private_ways().into_iter().map(|(link, mut settings)| {
        settings.push(("RANKS", &ranks));
        let result = run(&programs[usize::from(link == Link::NoPie)], &settings, arguments, "");
        assert_eq!(
            (result.status, result.error.as_str()),
            (Some(0), ""),
            "{source} {link:?} {settings:?}\n{}",
            result.out
        );
        result
    });
    let runs: Vec<Run> = runs.collect();
    for other in &runs[1..] {
        assert_eq!(runs[0].out, other.out, "{source} prints the same in every way");
    }
    runs
}
