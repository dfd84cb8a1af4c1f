//! Machines as a user names and describes them: presets, hostfiles, and numbers that cannot be.

mod common;

use common::{command, compile, scratch};
use std::process::Output;

#[track_caller]
fn refused(output: Output, status: i32, parts: &[&str]) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{error}");
    for part in parts {
        assert!(error.contains(part), "'{part}' is missing: {error}");
    }
}

#[track_caller]
fn accepted(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_preset_is_described_with_sources_and_assumptions() {
    let text = accepted(command(&["presets", "--describe", "dgx-h100"]).output().unwrap());
    for part in
        ["nodes      128", "ranks      8 a node", "400Gbps", "nics=8", "source     NVIDIA", "assumed: "]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let wrong = command(&["presets", "--describe", "fronteer"]).output().unwrap();
    refused(wrong, 2, &["'fronteer' is not the name of a preset", "'frontier' perhaps"]);
}

#[test]
fn a_hostfile_places_ranks_or_is_refused() {
    let hosts = scratch("hostfile").join("hosts");
    std::fs::write(&hosts, "a slots=2\nb:2\n").unwrap();
    let ring = compile("examples/c/ring.c", &[]);
    let run = |machine: &str, ranks: &str| {
        command(&["run", "-q", "-n", ranks, "--mn", machine, "--hostfile"])
            .args([&hosts, &ring])
            .output()
            .unwrap()
    };
    accepted(run("star/star:4", "4"));
    refused(run("star/star:4", "5"), 2, &["has 4 slots on 2 hosts for 5 ranks", "add hosts or slots"]);
    refused(run("star:1/star:4", "4"), 2, &["names 'b' as host 2", "make the machine larger"]);
    refused(run("star", "4"), 2, &["gives 'a' 2 slots", "has 1 place", "/star:N"]);
}

#[test]
fn capacities_and_routes_that_cannot_be_say_what_can() {
    for (machine, parts) in [
        ("star:b=0GB/s", &["zero bandwidth would never deliver a byte", "12.5GB/s"][..]),
        ("star:nic=0GB/s", &["zero bandwidth", "12.5GB/s"]),
        ("star:mem=0GB/s", &["zero bandwidth", "12.5GB/s"]),
        ("fattree:m=4,n=2,b=0bps,level=flow", &["zero bandwidth", "12.5GB/s"]),
        ("fattree:m=4,n=2,nic=0GB/s,level=packet", &["zero bandwidth", "12.5GB/s"]),
        ("star:nic=99999999TB/s/star:4", &["too small, too large or too fine", "12.5GB/s"]),
        ("star:nic=0.0000000001bps/star:4", &["too small, too large or too fine", "12.5GB/s"]),
        ("star:b=99999999999999999TB/s", &["too many digits", "12.5GB/s"]),
        ("star:rate=0", &["not a number of messages a second such as 50M"]),
        ("star:rail=peer", &["needs several interfaces; add nics=2"]),
        ("fattree:m=4,n=2,level=flow,rail=peer", &["needs several interfaces a node; add nics=2"]),
        ("fattree:m=4,n=2,level=flow,nics=0", &["not a number from 1 to 64"]),
        ("torus:4x4,routing=ecmp,level=flow", &["not a routing for torus; take one of dor"]),
        ("dragonfly:p=1,a=2,h=1,g=9,level=flow", &["at most a*h+1 = 3 groups"]),
    ] {
        refused(command(&["topology", machine, "-n", "8"]).output().unwrap(), 2, parts);
    }
}
