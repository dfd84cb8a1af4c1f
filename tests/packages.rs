//! Packages of this build have what an installation needs, and run where they are unpacked.
//! `packaging/test.sh` goes further, in an empty root.

mod common;

use common::{clean, root, scratch};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Runs a command and returns its standard output.
fn printed(command: &mut Command) -> String {
    let output = clean(command).output().unwrap_or_else(|why| panic!("{command:?}: {why}"));
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{command:?}: {}\n{out}\n{err}", output.status);
    out
}

/// Returns the directory with the packages, made once.
fn packages() -> &'static Path {
    static PACKAGES: OnceLock<PathBuf> = OnceLock::new();
    PACKAGES.get_or_init(|| {
        let directory = scratch("packages");
        let mut build = Command::new("python3");
        build.arg(root().join("packaging/build")).args(["--dirty", "--built"]);
        build.arg(common::xsim().parent().unwrap()).arg("-o").arg(&directory);
        printed(build.args(["tarball", "wheel"]));
        directory
    })
}

/// Returns the package whose name ends so.
fn package(end: &str) -> PathBuf {
    let entries = std::fs::read_dir(packages()).unwrap().map(|entry| entry.unwrap().path());
    let mut found = entries.filter(|path| path.to_string_lossy().ends_with(end));
    found.next().unwrap_or_else(|| panic!("no package ends with {end}"))
}

#[test]
fn the_tarball_runs_where_it_is_unpacked() {
    let directory = scratch("unpacked tarball");
    printed(Command::new("tar").arg("-xf").arg(package(".tar.gz")).arg("-C").arg(&directory));
    let prefix = std::fs::read_dir(&directory).unwrap().next().unwrap().unwrap().path();
    let run = |arguments: &[&str]| {
        printed(Command::new(prefix.join("bin/xsim")).args(arguments).current_dir(&directory))
    };
    assert!(run(&["demo"]).contains("times as fast"));
    assert!(run(&["help", "first-run"]).starts_with("# "));
    // The manual's paths of examples lead to those of the package, where the directory has none.
    run(&["cc", "examples/c/hello.c", "-o", "hello"]);
    assert_eq!(run(&["run", "-n", "3", "-q", "examples/c/hello.c"]).lines().count(), 3);
    assert_eq!(run(&["run", "-n", "4", "-q", "./hello"]).lines().count(), 4);
    for (file, up) in
        [("lib/pkgconfig/xsim.pc", "/../.."), ("lib/xsim/lib/pkgconfig/mpi-c.pc", "/../../../..")]
    {
        let text = std::fs::read_to_string(prefix.join(file)).unwrap();
        assert!(text.starts_with(&format!("prefix=${{pcfiledir}}{up}\n")), "{file}: {text}");
    }
    for file in ["share/man/man1/xsim-run.1", "share/xsim/THIRD-PARTY", "share/xsim/fortran/mpi_f08.f90"] {
        assert!(prefix.join(file).is_file(), "no {file}");
    }
}

#[test]
fn the_wheel_records_its_files_and_keeps_binaries_executable() {
    let check = "
import base64, csv, hashlib, io, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
record = next(name for name in wheel.namelist() if name.endswith('/RECORD'))
rows = {row[0]: row[1] for row in csv.reader(io.TextIOWrapper(wheel.open(record)))}
assert set(rows) == set(wheel.namelist()), set(rows) ^ set(wheel.namelist())
for name, digest in rows.items():
    found = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).rstrip(b'=').decode()
    assert name == record or digest == 'sha256=' + found, name
for name in ('bin/xsim', 'lib/libxsim.so', 'lib/libmpi_abi.so.1'):
    assert wheel.getinfo('xsim/prefix/' + name).external_attr >> 16 & 0o111, name
assert {'xsim/py.typed', 'xsim/__init__.py', 'xsim/prefix/include/xsim/mpi.h'} <= set(rows), rows
print('right')
";
    let wheel = package("_x86_64.whl");
    assert!(wheel.to_string_lossy().contains("-py3-none-manylinux_2_"), "{}", wheel.display());
    assert_eq!(printed(Command::new("python3").args(["-c", check]).arg(&wheel)), "right\n");
}

#[test]
fn what_cannot_be_packaged_is_a_sentence() {
    for (arguments, sentence) in [
        (["--dirty", "rpm"], "rpm is no kind of package: name tarball, deb, wheel"),
        (["--dirty", "--mpi=lam"], "--mpi=lam is not known: name mpich or openmpi"),
    ] {
        let mut build = Command::new("python3");
        let output = build.arg(root().join("packaging/build")).args(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains(sentence), "{error}");
    }
}
