//! Files of hosts, in the forms of Open MPI and MPICH, and the nodes and slots that ranks take by them.

use crate::machine::MachineError;
use rustc_hash::FxHashMap;
use std::path::Path;

/// The hosts of a file, in order: each is a node of the machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HostList {
    hosts: Vec<HostSlots>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct HostSlots {
    name: String,
    /// Ranks at most; `None` as many as the node has endpoints.
    slots: Option<u32>,
}

impl HostList {
    /// Reads the file at a path.
    pub(crate) fn read(path: &Path) -> Result<HostList, MachineError> {
        let about = |why: String| MachineError::new(format!("the hostfile '{}' {why}", path.display()));
        let text = engine::text::read(path, engine::text::LIST)
            .map_err(|why| about(format!("cannot be read: {why}")))?;
        HostList::parse(&text).map_err(about)
    }

    /// Reads lines such as `node1 slots=4`, `node1:4` or `node1`. Hosts named again have more slots: those
    /// stated, or one for each time.
    ///
    /// # Errors
    /// Continues "the hostfile X ...".
    pub(crate) fn parse(text: &str) -> Result<HostList, String> {
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
    pub(crate) fn deal(&self, ranks: u32, places: u32, by_node: bool) -> Result<Vec<(u32, u32)>, String> {
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
    pub(crate) fn name(&self, node: u32) -> &str {
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
