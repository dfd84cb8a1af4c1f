//! Failed links and routers are gone around.

use crate::packet::failures::{DegradedTopology, Failures};
use crate::packet::parse;
use crate::topology::Neighbor;
use crate::traffic::{Pace, TrafficPattern, TrafficRun};

fn file(name: &str, text: &str) -> String {
    let path = std::env::temp_dir().join(format!("xsim-packet-{}-{name}", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn traffic_goes_around_failures_on_every_topology() {
    let cases = [
        ("fattree:m=4,n=3", "link 0 8\nrouter 19\n"),
        ("torus:4x4", "link 0 1\nlink 5 6\nport 10 0 # the link up in the last dimension\n"),
        ("dragonfly:p=2,a=4,h=2", "link 0 1\nport 2 3\n"),
        ("slimfly:q=5,p=1", "port 0 0\nport 7 3\n"),
        ("hyperx:4x4", "link 0 1\n"),
    ];
    for (index, (network, failures)) in cases.into_iter().enumerate() {
        let path = file(&format!("around-{index}"), failures);
        for routing in ["minimal", "valiant", "ugal-l"] {
            let spec =
                parse(&format!("{network},failures={path},routing={routing},packet=512,buf=1024")).unwrap();
            let traffic = TrafficRun {
                spec,
                jobs: Vec::new(),
                pattern: TrafficPattern::Uniform,
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
            assert_eq!(
                report.simulated.total.packets,
                50 * u64::from(report.simulated.endpoints),
                "{network}"
            );
            assert!(report.simulated.topology.contains("failed"), "{}", report.simulated.topology);
        }
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn endpoints_that_failed_neither_send_nor_receive() {
    // Endpoints alone, which leaves the topology its own routing; with a router; by the cable to their
    // router.
    let cases = [
        ("torus:4x4", "endpoint 3\nendpoint 9\n", "dor", 2),
        ("fattree:m=4,n=3", "endpoint 15\n", "ecmp", 1),
        ("fattree:m=4,n=3", "router 0\n", "minimal", 2),
        ("dragonfly:p=2,a=4,h=2", "router 5\nlink 0 1\n", "ugal-l", 2),
        ("hyperx:4x4,p=2", "port 0 6\n", "minimal", 1),
    ];
    for (index, (network, failures, routing, failed)) in cases.into_iter().enumerate() {
        let path = file(&format!("endpoints-{index}"), failures);
        let spec = parse(&format!("{network},failures={path},packet=512,l=10ns")).unwrap();
        let texts = [1, 2, 4].map(|threads| {
            let traffic = TrafficRun {
                spec: spec.clone(),
                jobs: Vec::new(),
                pattern: TrafficPattern::Alltoall,
                grid: None,
                size: 512,
                pace: Pace::Rate(0.5),
                fixed: false,
                packets: 0,
                seed: 1,
                threads,
                margins: (0.0, 0.0),
            };
            let endpoints = u64::from(traffic.spec.fabric(None).unwrap().topology.endpoints());
            let report = TrafficRun { packets: endpoints - 1, ..traffic }.run(&|_, _| ()).unwrap();
            let found = &report.simulated;
            let working = endpoints - failed;
            assert_eq!(
                (found.total.packets, found.routing.as_str()),
                (working * (working - 1), routing),
                "{network}"
            );
            assert_eq!(u64::from(found.failed_endpoints), failed, "{network}");
            assert_eq!(
                found.messages_left_out,
                endpoints * (endpoints - 1) - working * (working - 1),
                "{network}"
            );
            serde_json::to_string(found).unwrap() + &report.links_to_csv()
        });
        assert!(
            texts[0] == texts[1] && texts[0] == texts[2],
            "{network}: results differ with the number of threads"
        );
        let error = spec.interfaces(4).err().unwrap().to_string();
        assert!(error.contains("a rank may run there"), "{error}");
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn both_ends_of_a_failed_cable_are_gone() {
    let fabric = parse("torus:4x4").unwrap().fabric(None).unwrap();
    let failures = Failures::parse("link 0 1", &*fabric.topology).unwrap();
    let failed = DegradedTopology::new(fabric.topology.clone(), failures);
    use crate::topology::Cabling;
    assert_eq!((failed.neighbor(0, 0), failed.neighbor(1, 1)), (Neighbor::Nothing, Neighbor::Nothing));
    assert_ne!(failed.neighbor(1, 0), Neighbor::Nothing);
}

#[test]
fn impossible_failures_are_said_with_their_line() {
    let fabric = parse("torus:4x4").unwrap().fabric(None).unwrap();
    let all: String = (0..16).map(|router| format!("router {router}\n")).collect();
    for (text, why) in [
        ("link 0 1\nlink 0 9", "line 2: there is no link between routers 0 and 9"),
        ("\nrouter 99", "line 2: there is no router 99"),
        ("router x", "line 1: 'x' is not the number"),
        ("cable 1 2", "line 1: 'cable 1 2' is none of"),
        ("port 0 77", "line 1: router 0 has no port"),
        ("endpoint 16", "line 1: there is no endpoint 16; the last is 15"),
        ("endpoint one", "line 1: 'one' is not the number of an endpoint"),
        (all.as_str(), "all endpoints have failed"),
    ] {
        let error = Failures::parse(text, &*fabric.topology).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn failures_that_cut_the_network_are_refused() {
    let path = file("cut", "link 0 1\nlink 1 2\n");
    let error = parse(&format!("mesh:4,failures={path}")).unwrap().interfaces(1).err().unwrap().to_string();
    std::fs::remove_file(path).unwrap();
    assert!(error.contains("disconnected"), "{error}");
}
