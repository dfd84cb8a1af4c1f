//! Encodes traces of Chakra by hand, from the numbers of `et_def.proto`.

#![allow(dead_code, reason = "every test binary uses a part of this")]

/// NodeType.
pub const METADATA: u64 = 1;
pub const MEM_LOAD: u64 = 2;
pub const MEM_STORE: u64 = 3;
pub const COMP: u64 = 4;
pub const SEND: u64 = 5;
pub const RECV: u64 = 6;
pub const COLL: u64 = 7;

/// CollectiveCommType.
pub const ALL_REDUCE: i64 = 0;
pub const ALL_GATHER: i64 = 2;
pub const BROADCAST: i64 = 5;
pub const ALL_TO_ALL: i64 = 6;
pub const REDUCE_SCATTER: i64 = 7;
pub const BARRIER: i64 = 9;

/// A value of an attribute.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    Double(f64),
    Int32(i32),
    Int64(i64),
    Uint64(u64),
    Sint64(i64),
    Fixed32(u32),
    Bool(bool),
    Bools(Vec<bool>),
    Text(String),
}

/// A node.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Node {
    pub id: u64,
    pub name: String,
    pub kind: u64,
    pub ctrl_deps: Vec<u64>,
    pub data_deps: Vec<u64>,
    pub micros: u64,
    pub inputs: Option<String>,
    pub attributes: Vec<(String, Value)>,
    /// Dependencies are numbers one by one, not packed.
    pub is_unpacked: bool,
}

impl Node {
    pub fn new(id: u64, kind: u64) -> Node {
        Node { id, kind, name: format!("node {id}"), ..Node::default() }
    }

    /// Waits for the data of others.
    pub fn after(mut self, ids: &[u64]) -> Node {
        self.data_deps.extend_from_slice(ids);
        self
    }

    /// Waits for the control of others.
    pub fn behind(mut self, ids: &[u64]) -> Node {
        self.ctrl_deps.extend_from_slice(ids);
        self
    }

    pub fn with(mut self, name: &str, value: Value) -> Node {
        self.attributes.push((name.to_owned(), value));
        self
    }

    pub fn lasting(mut self, micros: u64) -> Node {
        self.micros = micros;
        self
    }

    pub fn encoded(&self) -> Vec<u8> {
        let mut out = Vec::new();
        number(&mut out, 1, self.id);
        bytes(&mut out, 2, self.name.as_bytes());
        number(&mut out, 3, self.kind);
        for (field, list) in [(4, &self.ctrl_deps), (5, &self.data_deps)] {
            if self.is_unpacked {
                list.iter().for_each(|&id| always(&mut out, field, id));
            } else if !list.is_empty() {
                let mut packed = Vec::new();
                list.iter().for_each(|&id| varint(&mut packed, id));
                bytes(&mut out, field, &packed);
            }
        }
        // A field that no replay needs: start_time_micros.
        number(&mut out, 6, 77);
        number(&mut out, 7, self.micros);
        if let Some(values) = &self.inputs {
            let mut inputs = Vec::new();
            bytes(&mut inputs, 1, values.as_bytes());
            bytes(&mut inputs, 2, b"[]");
            bytes(&mut out, 8, &inputs);
        }
        for (name, value) in &self.attributes {
            bytes(&mut out, 10, &attribute(name, value));
        }
        out
    }
}

/// A computation with a duration.
pub fn compute(id: u64, micros: u64) -> Node {
    Node::new(id, COMP).lasting(micros)
}

/// A collective of so many bytes on all ranks.
pub fn collective(id: u64, kind: i64, size: i64) -> Node {
    Node::new(id, COLL).with("comm_type", Value::Int64(kind)).with("comm_size", Value::Int64(size))
}

/// A send to a rank.
pub fn send(id: u64, to: i32, size: i64) -> Node {
    Node::new(id, SEND).with("comm_dst", Value::Int32(to)).with("comm_size", Value::Int64(size))
}

/// A receive from a rank.
pub fn receive(id: u64, from: i32, size: i64) -> Node {
    Node::new(id, RECV).with("comm_src", Value::Int32(from)).with("comm_size", Value::Int64(size))
}

/// A file of nodes.
pub fn file(nodes: &[Node]) -> Vec<u8> {
    let mut metadata = Vec::new();
    bytes(&mut metadata, 1, b"0.0.4");
    bytes(&mut metadata, 2, &attribute("schema", &Value::Text("1.0.2-chakra.0.0.4".to_owned())));
    let mut out = message(&metadata);
    nodes.iter().for_each(|node| out.extend(message(&node.encoded())));
    out
}

/// A message behind its length.
pub fn message(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint(&mut out, body.len() as u64);
    out.extend_from_slice(body);
    out
}

fn attribute(name: &str, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    bytes(&mut out, 1, name.as_bytes());
    match value {
        Value::Double(value) => {
            varint(&mut out, 3 << 3 | 1);
            out.extend(value.to_le_bytes());
        }
        Value::Int32(value) => always(&mut out, 7, i64::from(*value) as u64),
        Value::Int64(value) => always(&mut out, 9, *value as u64),
        Value::Uint64(value) => always(&mut out, 13, *value),
        Value::Sint64(value) => always(&mut out, 17, (value << 1 ^ value >> 63) as u64),
        Value::Fixed32(value) => {
            varint(&mut out, 19 << 3 | 5);
            out.extend(value.to_le_bytes());
        }
        Value::Bool(value) => always(&mut out, 27, u64::from(*value)),
        Value::Bools(values) => {
            let packed: Vec<u8> = values.iter().map(|&value| u8::from(value)).collect();
            let mut list = Vec::new();
            bytes(&mut list, 1, &packed);
            bytes(&mut out, 28, &list);
        }
        Value::Text(text) => {
            varint(&mut out, 29 << 3 | 2);
            varint(&mut out, text.len() as u64);
            out.extend(text.as_bytes());
        }
    }
    out
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A number of proto3: 0 is left out.
fn number(out: &mut Vec<u8>, field: u64, value: u64) {
    if value != 0 {
        always(out, field, value);
    }
}

fn always(out: &mut Vec<u8>, field: u64, value: u64) {
    varint(out, field << 3);
    varint(out, value);
}

fn bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    if !value.is_empty() {
        varint(out, field << 3 | 2);
        varint(out, value.len() as u64);
        out.extend_from_slice(value);
    }
}
