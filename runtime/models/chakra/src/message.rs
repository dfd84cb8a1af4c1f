//! Messages of a file, as MLCommons' `et_def.proto` defines them: each behind its length, a GlobalMetadata
//! and then Nodes. Fields that no replay needs are skipped.

use crate::fault::{ChakraFault, ChakraFaultKind};
use std::io::{ErrorKind, Read};

/// Longest message that is read, in bytes; the longest of PyTorch's have some kilobytes.
pub const MAX_MESSAGE_BYTES: u64 = 64 << 20;

/// The value of an attribute.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum ChakraValue {
    /// A double.
    #[prost(double, tag = "3")]
    Double(f64),
    /// A float.
    #[prost(float, tag = "5")]
    Float(f32),
    /// An int32.
    #[prost(int32, tag = "7")]
    Int32(i32),
    /// An int64.
    #[prost(int64, tag = "9")]
    Int64(i64),
    /// A uint32.
    #[prost(uint32, tag = "11")]
    Uint32(u32),
    /// A uint64.
    #[prost(uint64, tag = "13")]
    Uint64(u64),
    /// A sint32.
    #[prost(sint32, tag = "15")]
    Sint32(i32),
    /// A sint64.
    #[prost(sint64, tag = "17")]
    Sint64(i64),
    /// A fixed32.
    #[prost(fixed32, tag = "19")]
    Fixed32(u32),
    /// A fixed64.
    #[prost(fixed64, tag = "21")]
    Fixed64(u64),
    /// A sfixed32.
    #[prost(sfixed32, tag = "23")]
    Sfixed32(i32),
    /// A sfixed64.
    #[prost(sfixed64, tag = "25")]
    Sfixed64(i64),
    /// A bool.
    #[prost(bool, tag = "27")]
    Bool(bool),
    /// A list of bools.
    #[prost(message, tag = "28")]
    BoolList(BoolListMessage),
    /// A string.
    #[prost(string, tag = "29")]
    Text(String),
}

/// A list of bools.
#[derive(Clone, PartialEq, prost::Message)]
pub struct BoolListMessage {
    /// Elements of the list.
    #[prost(bool, repeated, tag = "1")]
    pub values: Vec<bool>,
}

/// An attribute of a node.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AttributeMessage {
    /// Name of the attribute.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Value of the attribute.
    #[prost(oneof = "ChakraValue", tags = "3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 28, 29")]
    pub value: Option<ChakraValue>,
}

/// Inputs or outputs of a node.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorsMessage {
    /// Text of the values.
    #[prost(string, tag = "1")]
    pub values: String,
}

/// A node.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeMessage {
    /// Id within the file.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Type: Chakra's NodeType.
    #[prost(int32, tag = "3")]
    pub kind: i32,
    /// Ids of the nodes before it in the order of control.
    #[prost(uint64, repeated, tag = "4")]
    pub ctrl_deps: Vec<u64>,
    /// Ids of the nodes whose data it needs.
    #[prost(uint64, repeated, tag = "5")]
    pub data_deps: Vec<u64>,
    /// Duration in microseconds; 0 if none was recorded.
    #[prost(uint64, tag = "7")]
    pub duration_micros: u64,
    /// Inputs.
    #[prost(message, optional, tag = "8")]
    pub inputs: Option<TensorsMessage>,
    /// Attributes.
    #[prost(message, repeated, tag = "10")]
    pub attributes: Vec<AttributeMessage>,
}

/// The first message of a file.
#[derive(Clone, PartialEq, prost::Message)]
pub struct MetadataMessage {
    /// Version of the protocol.
    #[prost(string, tag = "1")]
    pub version: String,
    /// Attributes.
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<AttributeMessage>,
    /// The type of a node: a GlobalMetadata has none.
    #[prost(int32, optional, tag = "3")]
    pub node_kind: Option<i32>,
}

/// Reads messages one by one, with memory for one.
pub struct MessageReader<R> {
    input: R,
    offset: u64,
    buffer: Vec<u8>,
}

impl<R: Read> MessageReader<R> {
    /// Returns a reader at the first byte of a file.
    pub fn new(input: R) -> MessageReader<R> {
        MessageReader { input, offset: 0, buffer: Vec::new() }
    }

    /// Returns the offset of the next message's length.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads the first message.
    ///
    /// # Errors
    /// A fault with its byte.
    pub fn metadata(&mut self) -> Result<MetadataMessage, ChakraFault> {
        let none = |byte, reason: &str| ChakraFault::at(ChakraFaultKind::NoMetadata, byte, reason);
        let first = self.next::<MetadataMessage>().map_err(|fault| match fault.kind {
            ChakraFaultKind::Undecodable => ChakraFault {
                kind: ChakraFaultKind::NoMetadata,
                reason: format!("the first message is no GlobalMetadata of Chakra: {}", fault.reason),
                ..fault
            },
            _ => fault,
        })?;
        match first {
            None => Err(none(0, "the file is empty: a Chakra trace begins with a GlobalMetadata")),
            Some(first) if first.node_kind.is_some() => {
                Err(none(0, "the first message is a node: a Chakra trace begins with a GlobalMetadata"))
            }
            Some(first) => Ok(first),
        }
    }

    /// Reads the next message; `None` at the end of the file.
    ///
    /// # Errors
    /// A fault with its byte.
    pub fn next<M: prost::Message + Default>(&mut self) -> Result<Option<M>, ChakraFault> {
        let Some(length) = self.length()? else { return Ok(None) };
        let start = self.offset;
        self.buffer.clear();
        let found = (&mut self.input).take(length).read_to_end(&mut self.buffer);
        found.map_err(|why| self.unreadable(&why))?;
        self.offset += self.buffer.len() as u64;
        if (self.buffer.len() as u64) < length {
            let (found, at) = (self.buffer.len(), start);
            let reason = format!("the file ends after {found} of the {length} bytes of the message here");
            return Err(ChakraFault::at(ChakraFaultKind::Truncated, at, reason));
        }
        let mut rest = self.buffer.as_slice();
        match M::decode(&mut rest) {
            Ok(message) => Ok(Some(message)),
            Err(why) => {
                let why = why.to_string();
                let why = why.strip_prefix("failed to decode Protobuf message: ").unwrap_or(&why);
                // Names of our types are no names of Chakra's.
                let why = why.replace("NodeMessage", "Node").replace("MetadataMessage", "GlobalMetadata");
                let why = why.replace("AttributeMessage", "AttributeProto").replace("Node.kind", "Node.type");
                let at = start + length - rest.len() as u64;
                let reason = format!("{why}, in the message of {length} bytes at byte {start}");
                Err(ChakraFault::at(ChakraFaultKind::Undecodable, at, reason))
            }
        }
    }

    /// Reads the length of a message.
    fn length(&mut self) -> Result<Option<u64>, ChakraFault> {
        let (start, mut length, mut shift) = (self.offset, 0u64, 0);
        loop {
            let mut byte = [0];
            match self.input.read(&mut byte) {
                Ok(0) if self.offset == start => return Ok(None),
                Ok(0) => {
                    let reason = "the file ends within the length of a message";
                    return Err(ChakraFault::at(ChakraFaultKind::Truncated, start, reason));
                }
                Ok(_) => {}
                Err(why) if why.kind() == ErrorKind::Interrupted => continue,
                Err(why) => return Err(self.unreadable(&why)),
            }
            self.offset += 1;
            length |= u64::from(byte[0] & 0x7f) << shift;
            shift += 7;
            let ends = byte[0] & 0x80 == 0;
            if length > MAX_MESSAGE_BYTES || (!ends && shift > 28) {
                let reason = format!(
                    "a message of more than {MAX_MESSAGE_BYTES} bytes begins here, which no trace of Chakra \
                     has: the file is none, or is damaged before this byte"
                );
                return Err(ChakraFault::at(ChakraFaultKind::TooLong, start, reason));
            }
            if ends {
                return Ok(Some(length));
            }
        }
    }

    fn unreadable(&self, why: &std::io::Error) -> ChakraFault {
        ChakraFault::at(ChakraFaultKind::Unreadable, self.offset, format!("cannot be read: {why}"))
    }
}
