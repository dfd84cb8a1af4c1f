//! Readers of the formats that know nothing of who writes them: from the description of each, the protobuf by
//! its wire format.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// A call of a rank; picoseconds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Slice {
    pub rank: u32,
    pub from: u64,
    pub until: u64,
    pub name: String,
}

/// A message.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Link {
    pub sent: u64,
    pub from: u32,
    pub to: u32,
    pub received: u64,
}

/// The contents that a viewer would show: calls by rank, messages by time.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Timeline {
    pub ranks: Vec<String>,
    pub slices: Vec<Slice>,
    pub links: Vec<Link>,
    pub counters: BTreeMap<String, Vec<(u64, i64)>>,
}

/// Reads a file by its suffix.
pub fn read(path: &Path) -> Timeline {
    let bytes = std::fs::read(path).unwrap();
    let text = || String::from_utf8(bytes.clone()).unwrap();
    let mut timeline = match path.extension().and_then(|suffix| suffix.to_str()) {
        Some("json") => json(&text()),
        Some("pftrace") => perfetto(&bytes),
        Some("paje") => paje(&text()),
        Some("otf2") => otf2(path),
        _ => paraver(path, &text()),
    };
    timeline.slices.sort_by_key(|slice| slice.rank);
    timeline.links.sort();
    timeline
}

/// Picoseconds of a number with a decimal point, whose unit is so many.
fn ps(number: &str, unit: u64) -> u64 {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = unit.ilog10() as usize;
    assert!(fraction.len() <= digits, "{number} has parts of a picosecond");
    whole.parse::<u64>().unwrap() * unit + format!("{fraction:0<digits$}").parse::<u64>().unwrap()
}

fn json(text: &str) -> Timeline {
    let file: serde_json::Value = serde_json::from_str(text).unwrap();
    let mut timeline = Timeline::default();
    let mut starts = HashMap::new();
    let mut regions: HashMap<u32, Vec<(String, u64)>> = HashMap::new();
    for event in file["traceEvents"].as_array().unwrap() {
        // Numbers have at most 15 digits here, which a double keeps.
        let time = |name: &str| (event[name].as_f64().unwrap() * 1e6).round() as u64;
        let rank = event["tid"].as_u64().unwrap_or(0) as u32;
        let name = event["name"].as_str().unwrap().to_owned();
        match event["ph"].as_str().unwrap() {
            "M" if name == "thread_name" => {
                timeline.ranks.push(event["args"]["name"].as_str().unwrap().to_owned())
            }
            "M" => {}
            "X" => {
                timeline.slices.push(Slice { rank, name, from: time("ts"), until: time("ts") + time("dur") })
            }
            "B" => regions.entry(rank).or_default().push((name, time("ts"))),
            "E" => {
                let (name, from) = regions.get_mut(&rank).and_then(Vec::pop).expect("a region that began");
                timeline.slices.push(Slice { rank, name, from, until: time("ts") });
            }
            "s" => assert!(
                starts.insert(event["id"].as_str().unwrap(), (rank, time("ts"))).is_none(),
                "an id comes twice"
            ),
            "f" => {
                let (from, sent) =
                    starts.remove(event["id"].as_str().unwrap()).expect("a message that was sent");
                timeline.links.push(Link { sent, from, to: rank, received: time("ts") });
            }
            "C" => {
                let value = event["args"].as_object().unwrap().values().next().unwrap().as_i64().unwrap();
                timeline.counters.entry(name).or_default().push((time("ts"), value));
            }
            other => panic!("{other}"),
        }
    }
    assert!(starts.is_empty(), "messages that nobody received");
    timeline
}

/// A field of a protobuf message: its number, and a number or bytes.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn varint(&mut self) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (&byte, rest) = self.0.split_first().unwrap();
            self.0 = rest;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                break;
            }
        }
        value
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Value<'a>);

    fn next(&mut self) -> Option<(u64, Value<'a>)> {
        if self.0.is_empty() {
            return None;
        }
        let key = self.varint();
        let value = match key & 7 {
            0 => Value::Number(self.varint()),
            1 => {
                let (number, rest) = self.0.split_first_chunk::<8>().unwrap();
                self.0 = rest;
                Value::Number(u64::from_le_bytes(*number))
            }
            2 => {
                let length = self.varint() as usize;
                let (bytes, rest) = self.0.split_at(length);
                self.0 = rest;
                Value::Bytes(bytes)
            }
            other => panic!("wire type {other}"),
        };
        Some((key >> 3, value))
    }
}

/// All numbers and all bytes of a message, by field.
#[derive(Default)]
struct Message<'a> {
    numbers: HashMap<u64, Vec<u64>>,
    bytes: HashMap<u64, Vec<&'a [u8]>>,
}

impl<'a> Message<'a> {
    fn of(bytes: &'a [u8]) -> Message<'a> {
        let mut message = Message::default();
        for (field, value) in Fields(bytes) {
            match value {
                Value::Number(number) => message.numbers.entry(field).or_default().push(number),
                Value::Bytes(bytes) => message.bytes.entry(field).or_default().push(bytes),
            }
        }
        message
    }
    /// 0 where there is none, as protobuf has it.
    fn number(&self, field: u64) -> u64 {
        self.numbers.get(&field).map_or(0, |all| all[0])
    }
    fn messages(&self, field: u64) -> impl Iterator<Item = Message<'a>> {
        self.bytes.get(&field).into_iter().flatten().map(|bytes| Message::of(bytes))
    }
    fn text(&self, field: u64) -> String {
        String::from_utf8(self.bytes[&field][0].to_vec()).unwrap()
    }
}

fn perfetto(bytes: &[u8]) -> Timeline {
    let mut timeline = Timeline::default();
    let (mut tracks, mut names) = (HashMap::new(), HashMap::new());
    let mut open: HashMap<u64, Vec<Slice>> = HashMap::new();
    let mut starts = HashMap::new();
    for packet in Message::of(bytes).messages(1) {
        assert_eq!(packet.number(10), 1, "all packets are of one sequence");
        for interned in packet.messages(12) {
            names.extend(interned.messages(2).map(|name| (name.number(1), name.text(2))));
        }
        for track in packet.messages(60) {
            let name = track.text(2);
            if name.starts_with("rank ") {
                timeline.ranks.push(name.clone());
            }
            tracks.insert(track.number(1), name);
        }
        let at = packet.number(8) * 1000;
        for event in packet.messages(11) {
            let track = event.number(11);
            let rank = || tracks[&track].strip_prefix("rank ").unwrap().parse::<u32>().unwrap();
            match event.number(9) {
                1 => {
                    let slice =
                        Slice { rank: rank(), name: names[&event.number(10)].clone(), from: at, until: at };
                    open.entry(track).or_default().push(slice);
                }
                2 => timeline.slices.push(Slice {
                    until: at,
                    ..open.get_mut(&track).and_then(Vec::pop).expect("a slice that began")
                }),
                3 if event.numbers.contains_key(&47) => drop(starts.insert(event.number(47), (rank(), at))),
                3 => {
                    assert!(!open[&track].is_empty(), "a message is received in a call");
                    let (from, sent) = starts.remove(&event.number(48)).expect("a message that was sent");
                    timeline.links.push(Link { sent, from, to: rank(), received: at });
                }
                4 => timeline
                    .counters
                    .entry(tracks[&track].clone())
                    .or_default()
                    .push((at, event.number(30) as i64)),
                other => panic!("{other}"),
            }
        }
    }
    timeline
}

/// Words, of which those between quotes are one.
fn words(line: &str) -> Vec<String> {
    let parts = line.split('"').enumerate();
    parts
        .flat_map(|(odd, part)| {
            if odd % 2 == 1 {
                vec![part.to_owned()]
            } else {
                part.split_whitespace().map(str::to_owned).collect()
            }
        })
        .collect()
}

fn paje(text: &str) -> Timeline {
    let mut timeline = Timeline::default();
    let mut definitions: HashMap<String, (String, Vec<String>)> = HashMap::new();
    let (mut number, mut names): (String, HashMap<String, String>) = Default::default();
    let mut stacks: HashMap<(String, String), Vec<(String, u64)>> = HashMap::new();
    let mut starts = HashMap::new();
    let mut last = 0;
    for line in text.lines() {
        let words = words(line);
        if let Some(rest) = line.strip_prefix("%EventDef ") {
            number = rest.split(' ').nth(1).unwrap().to_owned();
            definitions.insert(number.clone(), (rest.split(' ').next().unwrap().to_owned(), Vec::new()));
            continue;
        }
        if line.starts_with('%') {
            definitions.get_mut(&number).unwrap().1.extend(words.get(1).filter(|_| words[0] == "%").cloned());
            continue;
        }
        let (event, fields) = &definitions[&words[0]];
        assert_eq!(fields.len(), words.len() - 1, "{line}");
        let field = |name: &str| words[1 + fields.iter().position(|field| field == name).unwrap()].clone();
        let rank = |container: &str| names[container].strip_prefix("rank ").unwrap().parse::<u32>().unwrap();
        let at = if fields[0] == "Time" { ps(&field("Time"), 1_000_000_000_000) } else { 0 };
        assert!(at >= last, "{line} is before what is above it");
        last = at;
        match event.as_str() {
            "PajeCreateContainer" => {
                names.insert(field("Alias"), field("Name"));
                timeline.ranks.extend(Some(field("Name")).filter(|name| name.starts_with("rank ")));
            }
            "PajeDefineEntityValue" | "PajeDefineVariableType" => {
                drop(names.insert(field("Alias"), field("Name")))
            }
            "PajePushState" => stacks
                .entry((field("Container"), field("Type")))
                .or_default()
                .push((names[&field("Value")].clone(), at)),
            "PajePopState" => {
                let (name, from) = stacks
                    .get_mut(&(field("Container"), field("Type")))
                    .and_then(Vec::pop)
                    .expect("a state that began");
                if name != "computing" {
                    timeline.slices.push(Slice { rank: rank(&field("Container")), name, from, until: at });
                }
            }
            "PajeSetVariable" => {
                timeline
                    .counters
                    .entry(names[&field("Type")].clone())
                    .or_default()
                    .push((at, field("Value").parse().unwrap()));
            }
            "PajeStartLink" => drop(starts.insert(field("Key"), (rank(&field("StartContainer")), at))),
            "PajeEndLink" => {
                let (from, sent) = starts.remove(&field("Key")).expect("a message that was sent");
                timeline.links.push(Link { sent, from, to: rank(&field("EndContainer")), received: at });
            }
            _ => {}
        }
    }
    timeline
}

/// By the crate that writes it, which reads what Score-P writes as well.
fn otf2(path: &Path) -> Timeline {
    use ::otf2::{Archive, ArchiveFiles, Event};
    let archive = Archive::open(ArchiveFiles::of(path)).unwrap();
    assert_eq!(archive.definitions.ticks, 1_000_000_000_000);
    let (mut timeline, locations) = (Timeline::default(), archive.definitions.ranks());
    let mut messages: HashMap<(u32, u32, u32), Vec<u64>> = HashMap::new();
    let mut received = Vec::new();
    for (rank, &location) in (0u32..).zip(&locations) {
        timeline.ranks.push(format!("rank {location}"));
        let (mut events, mut stack) = (archive.events(location).unwrap(), Vec::new());
        while let Some((at, _, event)) = events.next().unwrap() {
            match event {
                Event::Enter(region) => stack.push((region, at)),
                Event::Leave(region) => {
                    let (entered, from) = stack.pop().expect("a region that began");
                    assert_eq!(entered, region);
                    let name = archive.definitions.region(region).unwrap().to_owned();
                    timeline.slices.push(Slice { rank, name, from, until: at });
                }
                Event::Send(message) => {
                    messages.entry((rank, message.peer, message.tag)).or_default().push(at)
                }
                Event::Recv(message) => received.push(((message.peer, rank, message.tag), at)),
                other => panic!("{other:?}"),
            }
        }
        assert!(stack.is_empty());
    }
    for ((from, to, tag), at) in received {
        let sent = messages.get_mut(&(from, to, tag)).expect("a message that was sent").remove(0);
        timeline.links.push(Link { sent, from, to, received: at });
    }
    timeline
}

/// Names of the values of a `.pcf`, by type.
fn names(path: &Path) -> HashMap<(u64, u64), String> {
    let text = std::fs::read_to_string(path.with_extension("pcf")).unwrap();
    let (mut types, mut names, mut in_values) = (Vec::new(), HashMap::new(), false);
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("EVENT_TYPE") => (in_values, types) = (false, Vec::new()),
            // States have no type.
            Some("STATES") => (in_values, types) = (true, vec![0]),
            Some("VALUES") => in_values = true,
            Some(value) if in_values => {
                let name = line[value.len()..].trim().to_owned();
                names.extend(types.iter().map(|&kind| ((kind, value.parse().unwrap()), name.clone())));
            }
            Some("9") => types.push(words.next().unwrap().parse().unwrap()),
            _ => {}
        }
    }
    names
}

/// Records of a `.prv`, in the order of time, the header left out.
fn records(path: &Path) -> Vec<Vec<u64>> {
    let text = std::fs::read_to_string(path).unwrap();
    let records =
        text.lines().skip(1).map(|line| line.split(':').map(|number| number.parse().unwrap()).collect());
    let records: Vec<Vec<u64>> = records.collect();
    assert!(records.is_sorted_by_key(|record: &Vec<u64>| record[5]), "records are in the order of time");
    records
}

/// A rank's states: rank, begin, end, name; by rank and time.
pub fn states(path: &Path) -> Vec<(u32, u64, u64, String)> {
    let names = names(path);
    let of = |record: &Vec<u64>| {
        (record[3] as u32 - 1, record[5] * 1000, record[6] * 1000, names[&(0, record[7])].clone())
    };
    let mut all: Vec<_> = records(path).iter().filter(|record| record[0] == 1).map(of).collect();
    all.sort();
    all
}

fn paraver(path: &Path, text: &str) -> Timeline {
    let mut timeline = Timeline::default();
    let header = text.lines().next().unwrap();
    assert!(header.starts_with("#Paraver (") && header.contains("_ns:1("), "{header}");
    let rows = std::fs::read_to_string(path.with_extension("row")).unwrap();
    timeline.ranks = rows
        .lines()
        .skip_while(|line| !line.starts_with("LEVEL THREAD"))
        .skip(1)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect();
    let names = names(path);
    let mut open: HashMap<u32, (String, u64)> = HashMap::new();
    for record in records(path) {
        let (rank, at) = (record[3] as u32 - 1, record[5] * 1000);
        match record[0] {
            1 => {}
            2 => {
                // The call, and its place in the program.
                let (kind, value) = (record[6], record[7]);
                if value == 0 {
                    let (name, from) = open.remove(&rank).expect("a call that began");
                    timeline.slices.push(Slice { rank, name, from, until: at });
                } else {
                    open.insert(rank, (names[&(kind, value)].clone(), at));
                }
            }
            3 => timeline.links.push(Link {
                sent: at,
                from: rank,
                to: record[9] as u32 - 1,
                received: record[11] * 1000,
            }),
            other => panic!("{other}"),
        }
    }
    timeline
}
