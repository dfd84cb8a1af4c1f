//! Files of hosts, in the forms of Open MPI and MPICH, and the nodes and slots that ranks take by them.

use super::{PlaceSizes, Placement, PlacementRule, socket_index};
use crate::machine::MachineError;
use crate::message::Endpoint;
use rustc_hash::FxHashMap;
use std::path::Path;

/// The ranks of a run on the hosts of a file.
pub(crate) struct PlacedHosts<'a> {
    path: &'a Path,
    rule: &'a PlacementRule,
    hosts: HostList,
    /// Endpoints of a node.
    node: u32,
    /// The node and the slot of each rank.
    dealt: Vec<(u32, u32)>,
}

impl<'a> PlacedHosts<'a> {
    /// Reads the file at a path, and gives `ranks` ranks slots of nodes with `node` endpoints by a rule.
    ///
    /// # Errors
    /// A file that cannot be read or is wrong, too few slots, more slots than a node has endpoints.
    pub(crate) fn read(
        path: &'a Path,
        rule: &'a PlacementRule,
        ranks: u32,
        node: u32,
    ) -> Result<PlacedHosts<'a>, MachineError> {
        let text = engine::text::read(path, engine::text::LIST)
            .map_err(|why| about(path, &format!("cannot be read: {why}")))?;
        let hosts = HostList::parse(&text).map_err(|why| about(path, &why))?;
        let dealt = hosts.deal(ranks, node, *rule == PlacementRule::RoundRobin);
        let dealt = dealt.map_err(|why| about(path, &why))?;
        Ok(PlacedHosts { path, rule, hosts, node, dealt })
    }

    /// Returns how many endpoints the ranks need: more than the ranks where slots stay empty.
    pub(crate) fn endpoints(&self) -> Result<u32, MachineError> {
        let last = self.dealt.iter().map(|&(node, _)| node).max().unwrap_or(0);
        u32::try_from((u64::from(last) + 1) * u64::from(self.node))
            .map_err(|_| about(self.path, "needs more than 2^32 endpoints; name fewer hosts"))
    }

    /// Places the ranks on the endpoints of a machine, whose nodes have the size that they were dealt for.
    pub(crate) fn build(&self, sizes: PlaceSizes) -> Result<Placement, MachineError> {
        let nodes = sizes.endpoints / u64::from(self.node);
        if let Some((node, _)) = self.dealt.iter().find(|(node, _)| u64::from(*node) >= nodes) {
            let why = format!(
                "names '{}' as host {}, but the machine has {nodes} nodes; make the machine larger, or \
                 leave hosts out",
                self.hosts.name(*node),
                node + 1
            );
            return Err(about(self.path, &why));
        }
        let in_node = match self.rule {
            PlacementRule::Socket => Some(socket_index(sizes)?),
            _ => None,
        };
        let index = |slot| in_node.as_ref().map_or(slot, |index| index(slot));
        let places = self.dealt.iter().map(|&(node, slot)| Endpoint(node * self.node + index(slot)));
        Ok(Placement::Table(places.collect()))
    }
}

fn about(path: &Path, why: &str) -> MachineError {
    MachineError::new(format!("the hostfile '{}' {why}", path.display()))
}

/// The hosts of a file, in order: each is a node of the machine.
#[derive(Clone, PartialEq, Eq, Debug)]
struct HostList {
    hosts: Vec<HostSlots>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct HostSlots {
    name: String,
    /// Ranks at most; `None` as many as the node has endpoints.
    slots: Option<u32>,
}

impl HostList {
    /// Reads lines such as `node1 slots=4`, `node1:4` or `node1`. Hosts named again have more slots: those
    /// stated, or one for each time.
    ///
    /// # Errors
    /// Continues "the hostfile X ...".
    fn parse(text: &str) -> Result<HostList, String> {
        let mut hosts: Vec<HostSlots> = Vec::new();
        let mut known: FxHashMap<String, usize> = FxHashMap::default();
        let mut repeated = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let mut words = line.split('#').next().unwrap_or("").split_whitespace();
            let Some(first) = words.next() else { continue };
            let (name, slots) = host(first, words).map_err(|why| format!("{why} in line {number}"))?;
            let index = *known.entry(name.to_owned()).or_insert(hosts.len());
            match hosts.get_mut(index) {
                None => {
                    hosts.push(HostSlots { name: name.to_owned(), slots });
                    repeated.push(1u32);
                }
                Some(host) => {
                    repeated[index] = repeated[index].saturating_add(1);
                    let before = host.slots.unwrap_or(repeated[index] - 1);
                    host.slots = Some(before.saturating_add(slots.unwrap_or(1)));
                }
            }
        }
        if hosts.is_empty() {
            return Err("names no host; write one a line, such as 'node1 slots=4' or 'node1:4'".to_owned());
        }
        Ok(HostList { hosts })
    }

    /// Returns the node and the slot of each rank, on nodes of `places` places: hosts fill up in order,
    /// or take a rank each, then a second.
    ///
    /// # Errors
    /// Too few slots, or more slots than a node has endpoints. Continues "the hostfile X ...".
    fn deal(&self, ranks: u32, places: u32, by_node: bool) -> Result<Vec<(u32, u32)>, String> {
        if let Some(host) = self.hosts.iter().find(|host| host.slots.is_some_and(|slots| slots > places)) {
            return Err(format!(
                "gives '{}' {} slots, but a node of the machine has {places} {}; lower the slots, or \
                 add places to the nodes (/star:N after the network)",
                host.name,
                host.slots.unwrap_or(0),
                if places == 1 { "place" } else { "places" },
            ));
        }
        let slots = |host: &HostSlots| host.slots.unwrap_or(places);
        let all: u64 = self.hosts.iter().map(|host| u64::from(slots(host))).sum();
        if all < u64::from(ranks) {
            return Err(format!(
                "has {all} slots on {} hosts for {ranks} ranks; add hosts or slots, or start fewer ranks",
                self.hosts.len()
            ));
        }
        let mut dealt = Vec::with_capacity(ranks as usize);
        let each = |index: usize| (index as u32, slots(&self.hosts[index]));
        if by_node {
            let most = self.hosts.iter().map(slots).max().unwrap_or(0);
            let free = (0..most).flat_map(|slot| {
                (0..self.hosts.len())
                    .map(each)
                    .filter(move |&(_, slots)| slot < slots)
                    .map(move |(node, _)| (node, slot))
            });
            dealt.extend(free.take(ranks as usize));
        } else {
            let free = (0..self.hosts.len())
                .map(each)
                .flat_map(|(node, slots)| (0..slots).map(move |slot| (node, slot)));
            dealt.extend(free.take(ranks as usize));
        }
        Ok(dealt)
    }

    /// Returns the name of a node's host, if the file has one.
    fn name(&self, node: u32) -> &str {
        self.hosts.get(node as usize).map_or("", |host| &host.name)
    }
}

/// Reads the words of a line: a host's name and its slots.
fn host<'a>(first: &'a str, words: impl Iterator<Item = &'a str>) -> Result<(&'a str, Option<u32>), String> {
    let count = |text: &str| {
        let count = text.parse::<u32>().ok().filter(|&count| count > 0);
        count.ok_or_else(|| format!("has '{text}', which is not a number of slots above 0,"))
    };
    let (name, mut slots) = match first.split_once(':') {
        None => (first, None),
        Some((name, slots)) => (name, Some(count(slots)?)),
    };
    if name.is_empty() {
        return Err(format!("has '{first}', which names no host,"));
    }
    for word in words {
        match word.split_once('=') {
            Some(("slots", number)) => {
                if slots.replace(count(number)?).is_some() {
                    return Err(format!("gives the slots of '{name}' twice"));
                }
            }
            // How far a launcher may oversubscribe a host, and what it binds to.
            Some(("max_slots" | "max-slots" | "ifhn" | "binding" | "user", _)) => {}
            _ => {
                return Err(format!(
                    "has '{word}' after a host, where slots=N can be (a host is written \
                     'node1 slots=4' or 'node1:4'),"
                ));
            }
        }
    }
    Ok((name, slots))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dealt(text: &str, ranks: u32, places: u32, by_node: bool) -> Vec<(u32, u32)> {
        HostList::parse(text).unwrap().deal(ranks, places, by_node).unwrap()
    }

    const SIX: [(u32, u32); 6] = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0)];

    #[test]
    fn both_launchers_forms_say_the_same() {
        assert_eq!(dealt("a slots=2\nb slots=3 max_slots=8\nc slots=4\n", 6, 4, false), SIX);
        assert_eq!(dealt("# hosts\na:2\n\nb:3 # the large one\nc:4", 6, 4, false), SIX);
        assert_eq!(dealt("a\na\nb:2\nb\nc", 6, 4, false), SIX, "a host named again has more slots");
    }

    #[test]
    fn hosts_take_a_rank_each_by_node() {
        assert_eq!(dealt("a:2\nb:3\nc:1", 6, 4, true), [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (1, 2)]);
    }

    #[test]
    fn a_host_without_a_count_has_all_places_of_its_node() {
        assert_eq!(dealt("a\nb", 5, 4, false), [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]);
    }

    #[test]
    fn files_that_do_not_fit_say_what_to_do() {
        for (text, why) in [
            ("", "names no host; write one a line"),
            ("# a\n", "names no host"),
            ("a slots=0", "'0', which is not a number of slots above 0, in line 1"),
            ("a\nb:x", "'x', which is not a number of slots above 0, in line 2"),
            ("a slots=-1", "'-1', which is not"),
            ("a:4294967296", "'4294967296', which is not"),
            (":3", "names no host, in line 1"),
            ("a cores=4", "'cores=4' after a host, where slots=N can be"),
            ("a:2 slots=2", "gives the slots of 'a' twice in line 1"),
        ] {
            let error = HostList::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        let few = HostList::parse("a:2\nb:2").unwrap().deal(5, 4, false).unwrap_err();
        assert!(few.contains("has 4 slots on 2 hosts for 5 ranks; add hosts or slots"), "{few}");
        let many = HostList::parse("a:5").unwrap().deal(5, 4, false).unwrap_err();
        assert!(many.contains("gives 'a' 5 slots, but a node of the machine has 4 places"), "{many}");
        let endless = "a:4294967295\n".repeat(3);
        assert!(HostList::parse(&endless).unwrap().deal(1, 4, true).is_err());
    }
}
