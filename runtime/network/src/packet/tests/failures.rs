//! Failed links and routers are gone around.

use crate::packet::failures::{Failed, Failures};
use crate::packet::parse;
use crate::packet::topology::Neighbor;
use crate::traffic::{Pace, Pattern, Traffic};

fn file(name: &str, text: &str) -> String {
    let path = std::env::temp_dir().join(format!("xsim-packet-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn traffic_goes_around_failures_on_every_topology() {
    let cases = [
        ("fattree:m=4,n=3", "link 0 8\nrouter 19\n"),
        ("torus:4x4", "link 0 1\nlink 5 6\nport 10 0 # the link up in dimension 0\n"),
        ("dragonfly:p=2,a=4,h=2", "link 0 1\nport 2 3\n"),
        ("slimfly:q=5,p=1", "port 0 0\nport 7 3\n"),
        ("hyperx:4x4", "link 0 1\n"),
    ];
    for (index, (network, failures)) in cases.into_iter().enumerate() {
        let path = file(&format!("around-{index}"), failures);
        for routing in ["minimal", "valiant", "ugal-l"] {
            let spec = parse(&format!("{network},failures={path},routing={routing},packet=512,buf=1024")).unwrap();
            let traffic = Traffic {
                spec,
                jobs: Vec::new(),
                pattern: Pattern::Uniform,
                grid: None,
                size: 512,
                pace: Pace::Rate(0.9),
                fixed: false,
                packets: 50,
                seed: 1,
                threads: 1,
                margins: (0.0, 0.0),
            };
            let report = traffic.run(&|_, _| ()).unwrap_or_else(|e| panic!("{network} {routing}: {e}"));
            assert_eq!(report.simulated.total.packets, 50 * u64::from(report.simulated.endpoints), "{network}");
            assert!(report.simulated.topology.contains("failed"), "{}", report.simulated.topology);
        }
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn both_ends_of_a_failed_cable_are_gone() {
    let fabric = parse("torus:4x4").unwrap().fabric(None).unwrap();
    let failures = Failures::parse("link 0 1", &*fabric.topology).unwrap();
    let failed = Failed::new(fabric.topology.clone(), failures);
    use crate::packet::topology::Topology;
    assert_eq!((failed.neighbor(0, 0), failed.neighbor(1, 1)), (Neighbor::Nothing, Neighbor::Nothing));
    assert_ne!(failed.neighbor(1, 0), Neighbor::Nothing);
}

#[test]
fn impossible_failures_are_said_with_their_line() {
    let fabric = parse("torus:4x4").unwrap().fabric(None).unwrap();
    for (text, why) in [
        ("link 0 1\nlink 0 9", "line 2: there is no link between routers 0 and 9"),
        ("\nrouter 99", "line 2: there is no router 99"),
        ("router x", "line 1: 'x' is not the number"),
        ("cable 1 2", "line 1: 'cable 1 2' is none of"),
        ("port 0 77", "line 1: router 0 has no port"),
        ("router 3", "endpoint 3 at router 3 is cut off"),
    ] {
        let error = Failures::parse(text, &*fabric.topology).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn failures_that_cut_the_network_are_refused() {
    let path = file("cut", "link 0 1\nlink 1 2\n");
    let error = parse(&format!("mesh:4,failures={path}")).unwrap().build(1).err().unwrap().to_string();
    std::fs::remove_file(path).unwrap();
    assert!(error.contains("disconnected"), "{error}");
}
