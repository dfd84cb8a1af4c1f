use super::*;
use crate::nodes::tests::arrivals;
use crate::{Endpoint, Machine, MachineReport, Network, machine_report};
use engine::Time;

#[test]
fn every_preset_builds_and_names_its_source() {
    for preset in presets() {
        let machine = Machine::parse(preset.name).unwrap();
        assert_eq!(machine.name, preset.name);
        assert!(!machine.source.is_empty() && preset.sources.iter().all(|source| !source.is_empty()));
        assert_eq!(machine.build(1000).unwrap().placement.endpoint(999), Endpoint(999), "{}", preset.name);
        assert_eq!(preset_names().filter(|name| *name == preset.name).count(), 1, "{}", preset.name);
    }
}

#[test]
fn the_default_is_first() {
    assert_eq!(preset(DEFAULT_MACHINE), presets().into_iter().next());
    assert_eq!(preset("defaults"), None);
}

#[test]
fn a_preset_has_the_endpoints_of_its_nodes() {
    for preset in presets() {
        let machine = Machine::parse(preset.name).unwrap();
        let built = machine.build(preset.all_ranks()).unwrap();
        let endpoints = built.network.endpoints();
        match preset.nodes {
            Some(nodes) => assert_eq!(endpoints, nodes * u64::from(preset.ranks), "{}", preset.name),
            None => assert!(endpoints >= u64::from(preset.all_ranks()), "{}", preset.name),
        }
        let described = match machine_report(&machine, Some(preset.all_ranks())).unwrap() {
            MachineReport::Formula(report) => report.endpoints,
            MachineReport::Packets(report) => report.endpoints,
        };
        assert_eq!(described, endpoints, "{}", preset.name);
        let node = if preset.ranks == 1 { 1 } else { built.ranks_per_node };
        assert_eq!(node, preset.ranks, "{}", preset.name);
    }
}

#[test]
fn messages_take_the_times_that_sources_state() {
    let mut compared = 0;
    for preset in presets() {
        for PresetPingPong { ranks, bytes, time, basis } in preset.ping_pongs {
            let built = Machine::parse(preset.name)
                .unwrap()
                .build(preset.nodes.map_or(2 * preset.ranks, |nodes| nodes as u32 * preset.ranks));
            let Network::Shared(mut network) = built.unwrap().network else {
                panic!("{} shares nothing", preset.name)
            };
            let found = arrivals(&mut *network, &[(Time::ZERO, ranks[0], ranks[1], bytes)])[0];
            let (found, stated) = (found.as_ps() as f64, time.as_ps() as f64);
            assert!(
                (found / stated - 1.0).abs() < 0.01,
                "{}, {bytes} bytes between {ranks:?}: {found} ps, not {stated} ({basis})",
                preset.name
            );
            compared += 1;
        }
    }
    assert!(compared >= 20, "{compared}");
}

#[test]
fn a_number_without_a_source_is_marked() {
    for preset in presets() {
        let marks = ["derived: ", "assumed: "];
        for fact in preset.assumed {
            assert!(marks.iter().any(|mark| fact.starts_with(mark)), "{}: {fact}", preset.name);
        }
    }
}

#[test]
fn a_description_has_nodes_links_sources_and_assumptions() {
    let text = crate::describe_preset(&preset("frontier").unwrap()).unwrap();
    for part in
        ["nodes      9856", "ranks      8 a node", "200Gbps", "57 %", "assumed: ", "derived: ", "dragonfly:"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}
