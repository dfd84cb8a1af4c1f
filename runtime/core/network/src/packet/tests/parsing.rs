//! Specifications and files: what is wrong is said in a sentence, and nothing panics.

use crate::bandwidth::Bandwidth;
use crate::packet::failures::Failures;
use crate::packet::parse;
use crate::topology::Cabling;
use crate::topology::graph::RouterGraph;
use engine::Span;
use proptest::prelude::*;

fn error(spec: &str) -> String {
    match parse(spec).and_then(|spec| spec.interfaces(1)) {
        Ok(_) => panic!("{spec} is accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn impossible_networks_say_why() {
    for (spec, why) in [
        ("fattree:m=7,n=3", "m=7 is impossible: half of a switch's ports go up, so m is even"),
        ("fattree:m=8", "'fattree' needs n= (levels of switches)"),
        ("mesh:4x4,nicq=lifo", "nicq=lifo is neither rr"),
        ("fattree:m=8,n=0", "expected a number of at least 1, but found '0' (n: levels of switches)"),
        ("fattree:m=8,n=3,b=0Gbps", "zero bandwidth"),
        ("fattree:m=8,n=3,x=1", "'x' is not an option of 'fattree'"),
        ("fattree:m=8,n=3,m=4", "'m' is given twice"),
        ("fattree:m=8,n=3,l", "but found 'l'"),
        ("fattree:m=512,n=12", "more than 2^29"),
        ("dragonfly:p=2,a=4,h=2,g=10", "reaches at most a*h+1 = 9 groups, so g=10 leaves groups unreachable"),
        ("dragonfly:p=2,a=4,h=2,routing=minimal,vcs=2", "can deadlock with vcs=2; it needs at least 3"),
        ("slimfly:q=12", "power of a prime"),
        ("slimfly:q=2", "power of a prime"),
        ("slimfly:q=401", "power of a prime"),
        ("taperedtree:down=16x8", "up= is missing"),
        ("taperedtree:down=16x8,up=4x2", "up= has one less"),
        ("torus:8x0", "a size cannot be 0"),
        ("torus:8x", "expected a size, but found ''"),
        ("torus:4x4,buf=4KiB", "cannot hold the two packets"),
        ("mesh:4x4,buf=1KiB", "cannot hold one packet"),
        ("mesh:4x4,routing=ecmp", "'ecmp' is not a routing for mesh; take one of dor, adaptive, minimal"),
        ("mesh:4x4,switching=worm", "neither saf"),
        ("torus:4x4,switching=wormhole", "rings=dateline"),
        ("mesh:4x4,switching=wormhole,routing=adaptive", "take another routing"),
        ("mesh:4x4,switching=wormhole,queue=fifo", "queue=... has no effect"),
        ("mesh:4x4,switching=wormhole,buf=32B", "cannot hold a flit of 64 bytes"),
        ("mesh:4x4,switching=wormhole,speedup=0.5", "from 1 to 64"),
        ("mesh:4x4,speedup=2", "needs switching=wormhole"),
        ("mesh:4x4,classes=9", "between 1 and 8"),
        ("mesh:4x4,crossbar=maybe", "none of no, yes and islip"),
        ("mesh:4x4,queue=lifo", "neither voq"),
        ("mesh:4x4,queue=fifo,crossbar=no", "leave crossbar=no out"),
        ("mesh:4x4,turnaround=1ns", "needs queue=fifo"),
        ("mesh:4x4,cycle=1ns", "needs crossbar=islip"),
        ("mesh:4x4,crossbar=islip,cycle=0ns", "leaves no time"),
        ("mesh:4x4,crossbar=islip,classes=2", "knows no traffic classes"),
        ("mesh:4x4,classes=2", "all messages of MPI programs are of one class"),
        ("mesh:4x4,weights=2:1", "all messages of MPI programs are of one class"),
        ("mesh:4x4,bias=100", "add routing=ugal-l"),
        ("hyperx:4x4,routing=ugal-l,bias=many", "bias=many"),
        ("mesh:4x4,ejection=0Gbps", "zero bandwidth"),
        ("mesh:4x4,weights=1:0", "weights=1:0"),
        ("moebius:4", "'moebius' is not a packet network"),
        ("graph:file=/nonexistent", "cannot be read"),
        ("graph:", "'graph' needs file="),
        ("torus:512x512x512", "2^29 ports"),
        ("twistedtorus:8x4,twist=4", "twist=4 is not below"),
        ("star:n=200000000,vcs=100", "GiB"),
    ] {
        let error = error(spec);
        assert!(error.contains(why), "{spec}: {error}");
    }
    let open = parse("torus:4xn").unwrap().fabric(None).err().unwrap().to_string();
    assert!(open.contains("the size of 'torus' comes from the number of ranks"), "{open}");
    let few = parse("torus:4x4").unwrap().interfaces(17).err().unwrap().to_string();
    assert!(few.contains("has 16 endpoints, too few for 17"), "{few}");
}

fn graph(text: &str) -> Result<RouterGraph, String> {
    RouterGraph::parse(text, Span::from_ns(10), Bandwidth::from_gbps(100)).map(|(graph, _)| graph)
}

#[test]
fn graph_files_are_read_with_names_latencies_and_bandwidths() {
    let text = "# two switches\n\
        router a endpoints=2\n\
        router b endpoints=1\n\
        router c\n\
        link a c l=5ns b=40Gbps\n\
        link c b\n\n";
    let (graph, links) = RouterGraph::parse(text, Span::from_ns(10), Bandwidth::from_gbps(100)).unwrap();
    assert_eq!((graph.routers(), graph.endpoints(), links.len()), (3, 3, 2));
    assert_eq!(graph.link(0, 0), 1);
    assert_eq!(links[1].latency, Span::from_ns(5));
}

#[test]
fn malformed_graph_files_are_said_with_their_line() {
    for (text, why) in [
        ("router a endpoints=1\nlink a b", "line 2: router b is not known"),
        ("router a endpoints=x", "line 1: 'x' is not a number of endpoints"),
        ("router a\nrouter a", "line 2: router a is there already"),
        ("router a\nlink a a", "line 2: a link from a to itself"),
        ("router a\nrouter b\nlink a b b=fast", "line 3: b=fast"),
        ("rooter a", "line 1: 'rooter a' is neither"),
        ("router a", "no router has an endpoint"),
    ] {
        let error = graph(text).err().unwrap();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn a_disconnected_graph_is_refused() {
    let path = std::env::temp_dir().join(format!("xsim-graph-{}", std::process::id()));
    std::fs::write(&path, "router a endpoints=1\nrouter b endpoints=1\n").unwrap();
    let error = error(&format!("graph:file={}", path.display()));
    std::fs::remove_file(path).unwrap();
    assert!(error.contains("no way from endpoint 1 to endpoint 0"), "{error}");
}

proptest! {
    #[test]
    fn no_specification_panics(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "fattree:",
                "torus:",
                "mesh:",
                "dragonfly:",
                "dragonflyplus:",
                "slimfly:",
                "hyperx:",
                "star:",
                "twistedtorus:",
                "taperedtree:",
                "graph:",
                "m=4",
                "n=3",
                "m=3",
                "8x8",
                "4x",
                "x",
                ",",
                "=",
                ":",
                "l=",
                "b=",
                "1ns",
                "100Gbps",
                "0",
                "vcs=",
                "buf=",
                "64KiB",
                "p=1",
                "a=2",
                "h=1",
                "g=3",
                "q=5",
                "routing=",
                "minimal",
                "valiant",
                "dor",
                "switching=cut",
                "switching=wormhole",
                "speedup=2",
                "bias=",
                "classes=2",
                "queue=fifo",
                "crossbar=islip",
                "turnaround=",
                "cycle=",
                "weights=",
                "3:1",
                "4294967295",
                "é",
                " ",
                "down=4x2",
                "up=2",
                "twist=1",
            ]),
            0..12,
        ),
    ) {
        if let Ok(spec) = parse(&pieces.concat()) {
            // Building takes memory by the sizes given; those in the pieces are small, but not concatenated.
            if !spec.text().contains("4294967295") && spec.text().len() < 60 {
                let _ = spec.fabric(Some(1));
            }
        }
    }

    #[test]
    fn no_text_panics_the_readers(text in "(router|link|port|#| |\n\
        |[ab0-9=]|endpoints=|l=|b=|ns|Gbps|é){0,40}") {
        let _ = graph(&text);
        let fabric = parse("torus:4x4").unwrap().fabric(None).unwrap();
        let _ = Failures::parse(&text, &*fabric.topology);
        let _ = parse(&text);
    }
}
