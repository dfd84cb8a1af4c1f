//! The simulated machine that a run's options ask for.

use crate::options::Options;
use network::{Built, Machine, PlacementRule};

/// Reads the machine of `-xsim-mn` and lets the options that were given win over what it says itself.
///
/// # Errors
/// A sentence, and for a specification the place in it.
pub fn select(options: &Options) -> Result<Machine, String> {
    let mut machine = Machine::parse(&options.machine).map_err(|why| why.to_string())?;
    if options.given.contains_key("placement") {
        let rule = options.placement.strip_prefix("file:").unwrap_or(&options.placement);
        machine.placement = PlacementRule::from(rule);
    }
    if !options.hostfile.is_empty() {
        if matches!(machine.placement, PlacementRule::File(_)) {
            return Err(format!(
                "the hostfile '{}' and a file of endpoints both say where ranks are; give one of them",
                options.hostfile
            ));
        }
        machine.hostfile = Some((&options.hostfile).into());
    }
    if options.given.contains_key("proc") {
        machine.processor_factor = options.proc;
    }
    if options.given.contains_key("flops") {
        machine.flop_rate = options.flops;
    }
    if options.given.contains_key("eager-limit") {
        machine.overheads.eager_limit = options.eager_limit;
    }
    Ok(machine)
}

/// Returns what a report calls the machine: its specification, after the name if it has one of its own.
pub fn label(options: &Options, specification: &str) -> String {
    let named =
        network::preset_names().any(|name| name == options.machine) || options.machine.ends_with(".toml");
    if named { format!("{} ({specification})", options.machine) } else { specification.to_owned() }
}

/// Selects the machine and builds it for the run's ranks.
///
/// # Errors
/// As [`select`]; also a network smaller than the ranks, and a placement that does not fit.
pub fn build(options: &Options) -> Result<Built, String> {
    select(options)?.build(options.places()).map_err(|why| why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use network::Endpoint;

    fn options(given: &[(&str, &str)]) -> Options {
        let mut options = Options::default();
        for (name, value) in given {
            options.set(crate::options::find(name).unwrap(), value).unwrap();
        }
        options
    }

    #[test]
    fn the_default_machine_is_a_star_that_fits_any_run() {
        let built = build(&options(&[("np", "1000")])).unwrap();
        assert_eq!(built.specification, "star:1000,l=500ns,b=100Gbps");
        assert!(built.network.endpoints() >= 1000);
    }

    #[test]
    fn a_named_machine_is_called_by_its_name() {
        assert_eq!(label(&options(&[("mn", "ethernet")]), "star:2"), "ethernet (star:2)");
        assert_eq!(
            label(&options(&[("mn", "star:l=1us,b=1Gbps")]), "star:2,l=1us,b=1Gbps"),
            "star:2,l=1us,b=1Gbps"
        );
        assert_eq!(Options::default().machine, network::DEFAULT_MACHINE);
    }

    #[test]
    fn options_win_over_the_machine() {
        let machine = select(&options(&[
            ("mn", "star:l=1us,b=1Gbps/rank:proc=3,flops=1G"),
            ("proc", "2"),
            ("eager-limit", "64KiB"),
        ]))
        .unwrap();
        assert_eq!(
            (machine.processor_factor, machine.overheads.eager_limit, machine.flop_rate),
            (2.0, Some(65536), Some(1e9))
        );
        let machine = select(&options(&[("mn", "star/rank:flops=1G"), ("flops", "2.5 Tflops")])).unwrap();
        assert_eq!(machine.flop_rate, Some(2.5e12));
    }

    #[test]
    fn a_placement_file_places_ranks() {
        let path = std::env::temp_dir().join(format!("xsim-placement-{}", std::process::id()));
        std::fs::write(&path, "3\n1\n").unwrap();
        let placement = format!("file:{}", path.display());
        let built =
            build(&options(&[("np", "2"), ("mn", "ring:4,l=1us,b=1Gbps"), ("placement", &placement)]))
                .unwrap();
        assert_eq!([0, 1].map(|rank| built.placement.endpoint(rank)), [Endpoint(3), Endpoint(1)]);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_hostfile_places_ranks_on_nodes_by_slot_node_and_socket() {
        let path = std::env::temp_dir().join(format!("xsim-hosts-{}", std::process::id()));
        std::fs::write(&path, "a slots=2\nb:3\n").unwrap();
        let file = path.display().to_string();
        let placed = |machine: &str, placement: &str| {
            let built = build(&options(&[
                ("np", "5"),
                ("mn", machine),
                ("hostfile", &file),
                ("placement", placement),
            ]))?;
            Ok::<Vec<u32>, String>((0..5).map(|rank| built.placement.endpoint(rank).0).collect())
        };
        assert_eq!(placed("star/star:4", "slot").unwrap(), [0, 1, 4, 5, 6]);
        assert_eq!(placed("star/star:4", "node").unwrap(), [0, 4, 1, 5, 6]);
        assert_eq!(placed("star/star:2/star:2", "socket").unwrap(), [0, 2, 4, 6, 5]);
        assert_eq!(placed("star:n=2,level=flow/star:4", "block").unwrap(), [0, 1, 4, 5, 6]);
        for (machine, placement, why) in [
            ("star:1/star:8", "block", "names 'b' as host 2, but the machine has 1 nodes"),
            ("star/star:2", "block", "gives 'b' 3 slots, but a node of the machine has 2 places"),
            ("star/star:4", "socket", "needs two levels inside the nodes"),
            ("star/star:4", "file:x", "both say where ranks are; give one of them"),
        ] {
            let error = placed(machine, placement).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let few = build(&options(&[("np", "6"), ("mn", "star/star:4"), ("hostfile", &file)])).unwrap_err();
        assert!(few.contains("has 5 slots on 2 hosts for 6 ranks; add hosts or slots"), "{few}");
        std::fs::remove_file(path).unwrap();
        let gone = build(&options(&[("np", "6"), ("hostfile", &file)])).unwrap_err();
        assert!(gone.contains("cannot be read"), "{gone}");
    }

    #[test]
    fn a_network_smaller_than_the_ranks_says_so() {
        let message = build(&options(&[("np", "9"), ("mn", "ring:4,l=1us,b=1Gbps")])).unwrap_err();
        assert!(message.contains('4') && message.contains('9'), "{message}");
    }

    #[test]
    fn an_unreadable_specification_is_pointed_into() {
        let message = select(&options(&[("mn", "star:l=1us,b=1Gbsp")])).unwrap_err();
        assert!(message.contains('^'), "{message}");
    }
}
