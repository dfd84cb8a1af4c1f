//! `xsim aspen` as its user meets it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs in the directory of the examples. The command alone is enough: it never uses the library.
fn aspen(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xsim"));
    command
        .arg("aspen")
        .args(args)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/aspen"))
        .output()
        .unwrap()
}

/// An empty directory of a test's own.
fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn accepted(args: &[&str]) -> String {
    let output = aspen(args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[track_caller]
fn refused(args: &[&str], status: i32, parts: &[&str]) {
    let output = aspen(args);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{error}");
    for part in parts {
        assert!(error.contains(part), "'{part}' is missing: {error}");
    }
}

#[test]
fn models_are_checked_and_what_is_wrong_is_shown() {
    let shown = accepted(&["check", "stencil.aspen", "cluster.aspen"]);
    assert_eq!(
        shown,
        "stencil.aspen: model stencil, 2 kernels\ncluster.aspen: machine cluster, 6 components\n"
    );
    let path = scratch("aspen-check").join("wrong.aspen");
    std::fs::write(&path, "model m {\n  kernel main { execute { flops [m] } }\n}\n").unwrap();
    let path = path.to_str().unwrap();
    refused(
        &["check", "stencil.aspen", path],
        1,
        &["wrong.aspen:2:34: nothing is called 'm' here\n", "\n                                   ^"],
    );
    refused(&["check", "no-such.aspen"], 1, &["no-such.aspen cannot be read"]);
    refused(&["check"], 2, &["FILE"]);
}

#[test]
fn models_are_formatted() {
    let path = scratch("aspen-format").join("model.aspen");
    std::fs::write(&path, "model m { // a model\nkernel main{execute{flops[1+2]}}}").unwrap();
    let name = path.to_str().unwrap();
    refused(&["format", "--check", name], 1, &["is not formatted"]);
    let expected = "model m { // a model\n  kernel main { execute { flops [1 + 2] } } }\n";
    assert_eq!(accepted(&["format", name]), expected);
    assert_eq!(accepted(&["format", "--in-place", name]), "");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
    assert_eq!(accepted(&["format", "--check", name, "lulesh.aspen"]), "");
}

#[test]
fn models_are_listed_with_their_control_flow() {
    let shown = accepted(&["list", "stencil.aspen", "--param", "n=2"]);
    for part in [
        "n       256  in 16 .. 4096",
        "old  134217728 bytes",
        "iterate [100]",
        "execute [8] \"points\": loads [56]; flops [8] as dp, simd",
    ] {
        assert!(shown.contains(part), "'{part}' is missing: {shown}");
    }
    assert!(accepted(&["list", "cluster.aspen"]).contains("16 x node box"));
}

#[test]
fn models_are_evaluated_on_machines() {
    let shown = accepted(&["eval", "stencil.aspen", "cluster.aspen", "--param", "n=100"]);
    for part in ["flops as dp, simd       800000000", "on socket cpu:", "runtime         0.005 s"] {
        assert!(shown.contains(part), "'{part}' is missing: {shown}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&accepted(&["eval", "cg.aspen", "--json", "--symbolic", "rows"])).unwrap();
    assert_eq!(json["totals"]["flops"], "3200 * rows");
    let clock = accepted(&["eval", "cg.aspen", "cluster.aspen", "--param", "bandwidth=4*giga", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&clock).unwrap();
    assert!(json["runtimes"][0]["seconds"].as_f64().unwrap() > 0.1, "{json}");
    refused(&["eval", "cg.aspen", "cluster.aspen", "--socket", "gpu"], 1, &["no socket 'gpu'", "it has cpu"]);
    refused(&["eval", "cg.aspen", "--param", "row=3"], 1, &["no parameter 'row'", "did you mean 'rows'?"]);
    refused(&["eval", "cg.aspen", "--param", "rows"], 2, &["NAME=FORMULA"]);
    refused(&["eval", "cluster.aspen"], 1, &["is a machine"]);
    refused(&["eval", "cg.aspen", "--kernel", "layer"], 1, &["there is no kernel 'layer'"]);
    refused(
        &["eval", "stencil.aspen", "--explicit", "--param", "sweeps=1e12"],
        1,
        &["stencil.aspen:20:", "leave --explicit away"],
    );
}

#[test]
fn a_quantity_is_plotted_over_a_range() {
    let shown =
        accepted(&["eval", "stencil.aspen", "cluster.aspen", "--plot", "n=10..1000", "--points", "3"]);
    for part in [
        "n  runtime on cpu\n",
        "            10         5.12e-6\n",
        "           100           0.005\n",
        "          1000               5\n",
        "1.000e1",
        "1.000e3",
    ] {
        assert!(shown.contains(part), "'{part}' is missing: {shown}");
    }
    let file = scratch("aspen-plot").join("runtime.svg");
    let drawn = accepted(&[
        "eval",
        "stencil.aspen",
        "cluster.aspen",
        "--plot",
        "n=10..1000",
        "--draw",
        file.to_str().unwrap(),
    ]);
    assert!(drawn.ends_with("          1000               5\n"), "the table alone: {drawn}");
    let svg = std::fs::read_to_string(&file).unwrap();
    assert!(
        svg.starts_with("<svg") && svg.contains("runtime [s]") && svg.contains("runtime on cpu"),
        "{svg}"
    );
    refused(
        &["eval", "stencil.aspen", "--plot", "n=1..9", "--draw", "/nonexistent/a.svg"],
        1,
        &["/nonexistent/a.svg"],
    );
    refused(&["eval", "stencil.aspen", "--draw", "a.svg"], 2, &["--plot"]);
    refused(
        &["eval", "stencil.aspen", "--plot", "n=10..1000", "--of", "intops"],
        2,
        &["uses no such resource"],
    );
    refused(&["eval", "stencil.aspen", "--plot", "n=10"], 2, &["NAME=LEAST..MOST"]);
}

#[test]
fn communication_is_listed_with_its_bytes() {
    let shown = accepted(&["comm", "lulesh.aspen", "-n", "64", "--rank", "0"]);
    for part in [
        "nn3d, face: 45 of 24 bytes",
        "10 times, 2880 messages, 139968000 bytes, 273600 packets in all",
        "10 times, 4680 messages, 151079040 bytes, 298440 packets in all",
        "rank 0 sends 48600 bytes to 16",
    ] {
        assert!(shown.contains(part), "'{part}' is missing: {shown}");
    }
    refused(&["comm", "lulesh.aspen", "-n", "14"], 1, &["14 ranks make no grid", "12 or 18 do"]);
    refused(&["comm", "lulesh.aspen", "-n", "64", "--rank", "64"], 2, &["0 to 63"]);
}
