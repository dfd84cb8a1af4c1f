//! Traces of Chakra, files of ranks behind each other with their lengths: a fault that names a byte, or an
//! execution to its end or to a deadlock.
#![no_main]

use chakra::{ChakraGraph, DependencyKinds, RankGraph, RankOf, WorkRates};
use libfuzzer_sys::fuzz_target;
use network::Machine;

/// Returns the files: each has its length in two bytes before it; the last one goes to the end.
fn files(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut files = Vec::new();
    while let Some((&[low, high], rest)) = bytes.split_first_chunk() {
        let (file, rest) = rest.split_at(usize::from(u16::from_le_bytes([low, high])).min(rest.len()));
        files.push(file);
        bytes = rest;
        if bytes.is_empty() {
            break;
        }
    }
    files
}

fuzz_target!(|bytes: &[u8]| {
    let files = files(bytes);
    let ranks = files.len() as u32;
    let read = |(file, rank): (&&[u8], u32)| {
        let of = RankOf { rank, ranks, dependencies: DependencyKinds::All };
        let graph = RankGraph::read(*file, "x.et", of);
        graph.map_err(|fault| assert!(fault.byte.unwrap() <= file.len() as u64, "{fault}"))
    };
    let Ok(graphs) = files.iter().zip(0..).map(read).collect::<Result<Vec<_>, _>>() else { return };
    let Ok(graph) = ChakraGraph::new(graphs, &Default::default()) else { return };
    if ranks == 0 || ranks > 64 {
        return;
    }
    let rates = WorkRates { flops: Some(1e9), memory: Some("1GB/s".parse().unwrap()) };
    for machine in ["star:l=1us,b=8Gbps/rank:eager=100,o_send=1us", "star:n=64,level=flow"] {
        let mut built = Machine::parse(machine).unwrap().build(ranks).unwrap();
        let run = engine::EndOfTime::catch(|| chakra::run(&graph, &mut built, &rates, &Default::default()));
        let Ok(Ok(run)) = run else { continue };
        assert!(run.deadlock.is_some() || run.times.iter().flatten().all(Option::is_some));
    }
});
