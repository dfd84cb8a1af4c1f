//! Machines known by name, each with the source of its numbers.

/// A named machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preset {
    /// Name that `-xsim-mn` and `Machine::parse` accept.
    pub name: &'static str,
    /// The specification that it stands for.
    pub specification: &'static str,
    /// Source of the numbers.
    pub source: &'static str,
}

/// The machine of a run that names none.
pub const DEFAULT_MACHINE: &str = "default";

const TABLE: &str = "Jones and Engelmann, \"Simulation of Large-Scale HPC Architectures\", Table I";
const OWN: &str = "round numbers of a switched cluster, 1 us and 100 Gbps between any two ranks; not \
    measured on any machine";

macro_rules! presets {
    ($($name:literal = $specification:literal, $source:expr;)*) => {
        &[$(Preset { name: $name, specification: $specification, source: $source }),*]
    };
}

/// All presets, the default first. Table I leaves the cores per processor, the width of the 2-D mesh and the
/// third side of the 3-D networks open; the values here are those of the paper's figures 16 to 18.
pub static PRESETS: &[Preset] = presets! {
    "default" = "star:l=0.5us,b=100Gbps", OWN;
    "none" = "none", TABLE;
    "ethernet" = "star:l=25us,b=1Gbps", TABLE;
    "ethernet-2core" = "star:l=25us,b=1Gbps/star:2,l=0.32us,b=12Gbps", TABLE;
    "ethernet-4core" = "star:l=25us,b=1Gbps/star:4,l=0.32us,b=12Gbps", TABLE;
    "ethernet-8core" = "star:l=25us,b=1Gbps/star:8,l=0.32us,b=12Gbps", TABLE;
    "ethernet-16core" = "star:l=25us,b=1Gbps/star:16,l=0.32us,b=12Gbps", TABLE;
    "mesh-32" = "mesh:32xn,l=7us,b=8.8Gbps", TABLE;
    "mesh-64" = "mesh:64xn,l=7us,b=8.8Gbps", TABLE;
    "mesh-128" = "mesh:128xn,l=7us,b=8.8Gbps", TABLE;
    "mesh-dualcore" = "mesh:8x8xn,l=7us,b=8.8Gbps/star:2,l=0.32us,b=9.6Gbps", TABLE;
    "torus-dualcore" = "torus:8x8xn,l=7us,b=8.8Gbps/star:2,l=0.32us,b=9.6Gbps", TABLE;
    "twisted-dualcore" = "twisted:8x8xn,degree=1,jump=1x1x1,l=7us,b=8.8Gbps/star:2,l=0.32us,b=9.6Gbps", TABLE;
};

/// The preset of this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;

    #[test]
    fn every_preset_builds_and_names_its_source() {
        for preset in PRESETS {
            let machine = Machine::parse(preset.name).unwrap();
            assert_eq!((machine.name.as_str(), machine.source.as_str()), (preset.name, preset.source));
            assert!(machine.build(1000).unwrap().placement.endpoint(999).0 == 999);
            assert_eq!(
                PRESETS.iter().filter(|other| other.name == preset.name).count(),
                1,
                "{}",
                preset.name
            );
        }
    }

    #[test]
    fn the_default_is_there() {
        assert_eq!(preset(DEFAULT_MACHINE), PRESETS.first());
    }
}
