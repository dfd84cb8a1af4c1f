//! The arguments of a call as C has them.

use crate::Datatypes;
use crate::attributes::{KEYS, function, small};
use crate::call::{CallArgument, GeneratedCall, Refusal};
use crate::memory::{self, BufferContents};
use crate::numbers::{NumberByRank, Vectors};
use crate::signature::{ParameterIntent, ParameterKind, constant};
use recorder::Class;
use trace::template::{Field, Whose};

/// Constants of the standard that are plain numbers, by the arguments that they stand in; the ABI's values
/// are other implementations' not.
const CONSTANTS: &[(&str, &str)] = &[
    ("required", "MPI_THREAD_"),
    ("split_type", "MPI_COMM_TYPE_"),
    ("order", "MPI_ORDER_"),
    ("array_of_distribs", "MPI_DISTRIBUTE_"),
    ("typeclass", "MPI_TYPECLASS_"),
];
/// `MPI_DISTRIBUTE_DFLT_DARG`.
const DEFAULT_DARG: i64 = 19;
/// `MPI_UNDEFINED`.
const UNDEFINED: i64 = -32766;

/// The greatest numbers of objects, and how long arrays of answers are.
#[derive(Default)]
pub struct ObjectCounts {
    /// By class.
    objects: [i64; Class::ALL.len()],
    pub answers: u64,
}

impl ObjectCounts {
    /// Returns the length of the array of a class: there is one more, for what is none.
    pub fn of(&self, class: Class) -> i64 {
        self.objects[class as usize] + 1
    }
}

/// Returns what stands for weights of a graph where there are none.
fn no_weights(call: &GeneratedCall, argument: CallArgument) -> Option<&'static str> {
    // Only of an address is there a number that may be one of these.
    if *argument.field != Field::Address {
        return None;
    }
    let NumberByRank::Same(value @ 1..4096) = call.number(argument.at) else { return None };
    Some(constant("MPI_UN", value).or(constant("MPI_WEIGHTS", value)).unwrap_or("NULL"))
}

/// A call in C.
pub struct Spelled {
    pub arguments: Vec<String>,
    /// Statements before and behind it.
    pub before: Vec<String>,
    pub after: Vec<String>,
    /// The C expression for the first of its requests, if it has several.
    pub requests: Option<String>,
}

/// Spells arguments, and keeps what they refer to.
#[derive(Default)]
pub struct Speller {
    pub vectors: Vectors,
    pub sizes: ObjectCounts,
    /// `true` if the program looks at statuses.
    pub keeps_statuses: bool,
    /// The most neighbours of a rank in a topology.
    pub degree: i64,
    /// `true` if matched probes are for any source or tag.
    pub opens_probes: bool,
}

/// Returns `true` if a call is a matched probe.
fn is_matched_probe(call: &GeneratedCall) -> bool {
    matches!(call.signature.name, "MPI_Mprobe" | "MPI_Improbe")
}

/// Returns the array that objects of a class are in.
fn array_of(class: Class) -> Result<&'static str, Refusal> {
    Ok(match class {
        Class::Comm => "comms",
        Class::Datatype => "types",
        Class::Op => "ops",
        Class::Request => "requests",
        Class::Group => "groups",
        Class::Info => "infos",
        Class::Errhandler => "errhandlers",
        Class::Message => "messages",
        Class::Win | Class::File | Class::Session | Class::Tool => {
            return Err(format!("a {} is not generated", class.name()));
        }
    })
}

/// Returns the class and the name of an object.
fn object(field: &Field) -> Option<(Class, Option<u32>)> {
    match field {
        Field::Comm(name) => Some((Class::Comm, *name)),
        Field::Datatype(name) => Some((Class::Datatype, *name)),
        Field::Handle(class, name) => Some((*class, *name)),
        _ => None,
    }
}

impl Speller {
    /// Spells a call in C.
    ///
    /// # Errors
    /// Why the call cannot be written.
    pub fn spell(&mut self, call: &GeneratedCall) -> Result<Spelled, Refusal> {
        let mut spelled =
            Spelled { arguments: Vec::new(), before: Vec::new(), after: Vec::new(), requests: None };
        if call.signature.parameters.iter().any(|parameter| parameter.types[0] == "MPI_Win") {
            return Err("one-sided communication is not generated".to_owned());
        }
        if call.signature.name.starts_with("MPI_Comm_idup")
            && call.argument("newcomm").is_none_or(|made| *made.field != Field::Comm(None))
        {
            return Err(
                "which communicator it made is ambiguous: it is in a loop, or its communicator is not used; \
                 let the program call MPI_Comm_dup"
                    .to_owned(),
            );
        }
        let is_large = call.is_large();
        for parameter in call.signature.parameters {
            if parameter.large_only && !is_large {
                continue;
            }
            let text = match (parameter.kind, call.argument(parameter.name)) {
                (ParameterKind::Status, Some(_)) if self.opens_probes && is_matched_probe(call) => {
                    self.probed(call, &mut spelled)?
                }
                (ParameterKind::Number, Some(_)) if parameter.name == "count" && self.opens_probes => {
                    self.count(call, usize::from(is_large))?
                }
                (ParameterKind::Main, _) => format!("&{}", parameter.name),
                (_, None) => return Err(format!("its argument {} is not in the trace", parameter.name)),
                (ParameterKind::Handle, Some(argument))
                    if parameter.types[0] == "MPI_Request" && parameter.is_array =>
                {
                    self.requests(call, argument, &mut spelled)?
                }
                (_, Some(argument)) => self.argument(call, argument, usize::from(is_large))?,
            };
            // `MPI_Comm_get_errhandler` gives a handle that its program frees beside the first one: what is
            // freed is a copy, so that the other one stays.
            let text = match text.strip_prefix('&') {
                Some(handler) if call.signature.name == "MPI_Errhandler_free" => {
                    format!("(MPI_Errhandler[1]){{{handler}}}")
                }
                _ => text,
            };
            spelled.arguments.push(text);
        }
        Ok(spelled)
    }

    /// Returns where a matched probe puts its status, by which the message is received.
    fn probed(&mut self, call: &GeneratedCall, spelled: &mut Spelled) -> Result<String, Refusal> {
        let Some(message) = call.argument("message").filter(|made| made.field.numbers() == Some(1)) else {
            return Ok("MPI_STATUS_IGNORE".to_owned());
        };
        let message = self.vectors.number(&call.number(message.at));
        if self.keeps_statuses {
            spelled.after.push(format!("statuses[0] = probed[{message}];"));
        }
        Ok(format!("&probed[{message}]"))
    }

    /// Returns the count of a call: a message that was probed may be another than in the recording.
    fn count(&mut self, call: &GeneratedCall, form: usize) -> Result<String, Refusal> {
        let argument = call.argument("count").ok_or("its argument count is not in the trace")?;
        let count = self.argument(call, argument, form)?;
        match self.received(call)? {
            Some((message, kind)) => {
                let count_type = argument.parameter.types[form];
                Ok(format!("({count_type})probed_count({count}, {message}, {kind})"))
            }
            None => Ok(count),
        }
    }

    /// Returns the number of the message that a call receives, and the datatype; `None` if it receives none
    /// that was probed for any source or tag.
    fn received(&mut self, call: &GeneratedCall) -> Result<Option<(String, String)>, Refusal> {
        let message = call.argument("message").filter(|_| matches!(call.base().as_str(), "mrecv" | "imrecv"));
        let Some(message) = message.filter(|told| self.opens_probes && told.field.numbers() == Some(1))
        else {
            return Ok(None);
        };
        let Some(kind) = call.argument("datatype") else { return Ok(None) };
        let kind = self.handle(call, kind)?;
        Ok(Some((self.vectors.number(&call.number(message.at)), kind)))
    }

    fn argument(
        &mut self,
        call: &GeneratedCall,
        argument: CallArgument,
        form: usize,
    ) -> Result<String, Refusal> {
        let parameter = argument.parameter;
        let name = parameter.name;
        let is_result = parameter.direction == ParameterIntent::Out;
        match parameter.kind {
            ParameterKind::Buffer => self.buffer(call, argument),
            // Of no requests a trace has whether there was room for statuses, and nothing else.
            ParameterKind::Status if is_result && matches!(argument.field, Field::Address) => {
                Ok("no_statuses".to_owned())
            }
            ParameterKind::Status
                if is_result
                    && name == "array_of_statuses"
                    && matches!(argument.field, Field::List(runs) if runs.is_empty()) =>
            {
                Ok("statuses".to_owned())
            }
            ParameterKind::Status if is_result => {
                Ok(match (name.starts_with("array_of"), self.keeps_statuses) {
                    (true, false) => "no_statuses".to_owned(),
                    (false, false) => "MPI_STATUS_IGNORE".to_owned(),
                    (true, true) => "statuses".to_owned(),
                    (false, true) => "&statuses[0]".to_owned(),
                })
            }
            ParameterKind::Status
                if parameter.direction == ParameterIntent::In && *argument.field == Field::Status =>
            {
                let source = self.peer(call, argument.at);
                let tag = self.tag(call, argument.at + 1);
                Ok(format!("status_of({source}, {tag})"))
            }
            ParameterKind::Handle => self.handle(call, argument),
            ParameterKind::Text if is_result => Ok("text".to_owned()),
            ParameterKind::Text => match argument.field {
                Field::Text(_) if call.options.obfuscates => Ok("\"name\"".to_owned()),
                Field::Text(text) => Ok(format!("\"{}\"", quoted(&call.trace().names[*text as usize]))),
                Field::Null => Ok("NULL".to_owned()),
                _ => Err(format!("its argument {name} is not in the trace")),
            },
            ParameterKind::Function("MPI_User_function") if form == 0 => Ok("combine".to_owned()),
            ParameterKind::Function(of) => match function(of, small(call, argument)) {
                Some(known) => Ok(known.to_owned()),
                None => Err(format!("its argument {name} is of the program and not in the trace")),
            },
            ParameterKind::Other if is_result => Ok("&address".to_owned()),
            ParameterKind::Other if matches!(name, "attribute_val" | "extra_state") => {
                Ok(match small(call, argument) {
                    Some(0) => "NULL".to_owned(),
                    Some(number) => format!("(void *){number}"),
                    None => "&address".to_owned(),
                })
            }
            ParameterKind::Other if name == "ranges" => self.ranges(call, argument, form),
            ParameterKind::Number if KEYS.contains(&name) => Ok(self.key(call, argument)),
            ParameterKind::Number | ParameterKind::Rank | ParameterKind::Tag | ParameterKind::Weight
                if is_result =>
            {
                self.answer(call, argument, form)
            }
            ParameterKind::Number | ParameterKind::Rank | ParameterKind::Tag | ParameterKind::Weight
                if parameter.is_array =>
            {
                self.array(call, argument, form)
            }
            ParameterKind::Number | ParameterKind::Rank | ParameterKind::Tag | ParameterKind::Weight => {
                let number = self.number(call, argument);
                Ok(if parameter.direction == ParameterIntent::InOut {
                    format!("({}[]){{{number}}}", parameter.types[form])
                } else {
                    number
                })
            }
            ParameterKind::Status | ParameterKind::Other | ParameterKind::Main => {
                Err(format!("its argument {name} is of the program and not in the trace"))
            }
        }
    }

    /// A place for what nobody reads.
    fn answer(
        &mut self,
        call: &GeneratedCall,
        argument: CallArgument,
        form: usize,
    ) -> Result<String, Refusal> {
        let parameter = argument.parameter;
        if parameter.is_array {
            let told = call.elements(argument).map_or(0, |elements| elements.len() as u64);
            // Where the trace leaves the answer out, a number among the arguments bounds it.
            let bounds = call.arguments.iter().filter(|other| {
                other.parameter.kind == ParameterKind::Number
                    && other.parameter.direction == ParameterIntent::In
            });
            let bound = bounds
                .filter(|other| other.field.numbers() == Some(1))
                .map(|other| call.number(other.at).most().clamp(0, 1 << 20))
                .max();
            self.sizes.answers = self.sizes.answers.max(told).max(bound.unwrap_or(0) as u64);
        }
        // A call may answer several, and must not be given one place for two of them.
        let place = call
            .arguments
            .iter()
            .filter(|other| {
                other.parameter.direction == ParameterIntent::Out
                    && other.parameter.is_array == parameter.is_array
            })
            .position(|other| other.at == argument.at && other.parameter.name == parameter.name)
            .unwrap_or(0);
        if parameter.is_array {
            if let Some(constant) = no_weights(call, argument) {
                return Ok(constant.to_owned());
            }
            return match (parameter.name, parameter.types[form]) {
                ("array_of_indices", _) => Ok("indices".to_owned()),
                (_, "int") => Ok(format!("answers[{place}]")),
                _ => Err(format!("nothing takes its answer {}", parameter.name)),
            };
        }
        Ok(match (parameter.name, parameter.types[form]) {
            ("flag", "int") => "&flag".to_owned(),
            ("outcount" | "index", "int") => "&done".to_owned(),
            (_, "int") => format!("&answer[{place}]"),
            (_, "MPI_Aint") => format!("&answer_aint[{place}]"),
            (_, "MPI_Count") => format!("&answer_count[{place}]"),
            (_, "MPI_Offset") => format!("&answer_offset[{place}]"),
            (_, other) => return Err(format!("nothing takes its answer {} of type {other}", parameter.name)),
        })
    }

    /// Returns a number that a call is given.
    fn number(&mut self, call: &GeneratedCall, argument: CallArgument) -> String {
        if !matches!(
            argument.field,
            Field::Count | Field::Integer | Field::Logical | Field::Rank | Field::Tag
        ) {
            // Of a buffer that is MPI_IN_PLACE, which MPI does not look at.
            return "0".to_owned();
        }
        match argument.parameter.kind {
            ParameterKind::Rank => self.peer(call, argument.at),
            ParameterKind::Tag => self.tag(call, argument.at),
            _ => {
                let value = self.plain(call, argument.parameter.name, argument.at, None);
                self.named(argument.parameter.name, &value)
            }
        }
    }

    /// Returns a number; what is told in bytes, times the size of the elements that it counts, whose datatype
    /// may be one of many.
    fn plain(
        &self,
        call: &GeneratedCall,
        name: &str,
        at: usize,
        of_many: Option<(&Field, usize)>,
    ) -> NumberByRank {
        let kind = of_many.or_else(|| call.type_of(name).map(|kind| (kind.field, kind.at)));
        match kind {
            Some((field, kind)) if call.is_told_in_bytes(field) => {
                // Displacements count extents, counts sizes.
                let factor = kind + if name.contains("displ") { 2 } else { 1 };
                call.map(&[at, factor], false, |_, numbers| numbers[0].saturating_mul(numbers[1]))
            }
            _ => call.number(at),
        }
    }

    fn named(&mut self, name: &str, value: &NumberByRank) -> String {
        if let NumberByRank::Same(same) = value {
            if let Some((_, prefix)) = CONSTANTS.iter().find(|(known, _)| *known == name)
                && let Some(constant) = constant(prefix, *same)
            {
                return constant.to_owned();
            }
            match (name, *same) {
                ("array_of_dargs", DEFAULT_DARG) => return "MPI_DISTRIBUTE_DFLT_DARG".to_owned(),
                ("color" | "split_type", UNDEFINED) => return "MPI_UNDEFINED".to_owned(),
                _ => {}
            }
        }
        let number = self.vectors.number(value);
        if name == "color" && value.least() == UNDEFINED { format!("constant({number})") } else { number }
    }

    fn tag(&mut self, call: &GeneratedCall, at: usize) -> String {
        match call.number(at) {
            NumberByRank::Same(-2) => "MPI_ANY_TAG".to_owned(),
            value if value.least() >= 0 => self.vectors.number(&value),
            value => format!("constant({})", self.vectors.number(&value)),
        }
    }

    /// Returns the communicator that ranks are of, as `peer` takes it.
    fn whose(&mut self, call: &GeneratedCall) -> String {
        match call.template.whose() {
            Whose::Made(place) => {
                let number = call.number(place);
                self.use_object(Class::Comm, &number);
                self.vectors.number(&number)
            }
            _ => "WORLD".to_owned(),
        }
    }

    fn peer(&mut self, call: &GeneratedCall, at: usize) -> String {
        let is_own = matches!(
            call.template.whose(), Whose::Named(name) if call.trace().names[name as usize] == "MPI_COMM_SELF"
        );
        let told = call.number(at);
        // Its communicator is there after the call alone.
        let function = &call.trace().functions[call.template.function as usize].name;
        let is_made = function == "MPI_Intercomm_create_from_groups";
        if told.all(|number| number & 1 == 0) && !is_own && !is_made {
            let distance = call.map(&[at], false, |_, numbers| numbers[0] >> 1);
            let comm = self.whose(call);
            return format!("peer({comm}, {})", self.vectors.number(&distance));
        }
        let absolute = call.absolute(at);
        match &absolute {
            NumberByRank::Same(number @ ..0) => trace::text::rank(*number as i32),
            value if value.least() >= 0 => self.vectors.number(value),
            value => format!("constant({})", self.vectors.number(value)),
        }
    }

    /// Returns an array of numbers that a call is given.
    pub fn array(
        &mut self,
        call: &GeneratedCall,
        argument: CallArgument,
        form: usize,
    ) -> Result<String, Refusal> {
        let parameter = argument.parameter;
        let Some(elements) = call.elements(argument) else {
            return Ok(match argument.field {
                Field::Address => match no_weights(call, argument) {
                    Some(constant) => constant.to_owned(),
                    None => return Err(format!("its argument {} is not in the trace", parameter.name)),
                },
                // Of other members than the root, which MPI does not look at.
                Field::Unknown if parameter.types[form] == "int" => "answers[0]".to_owned(),
                _ => "NULL".to_owned(),
            });
        };
        let types = call.type_of(parameter.name).and_then(|types| call.elements(types));
        let mut values = Vec::new();
        for (place, &(field, at)) in elements.iter().enumerate() {
            if field.numbers() != Some(1) {
                return Err(format!(
                    "element {place} of its argument {} is not in the trace",
                    parameter.name
                ));
            }
            values.push(match parameter.kind {
                ParameterKind::Rank => call.absolute(at),
                // Where each block has a datatype, displacements are bytes already.
                _ if types.is_some() && parameter.name.contains("displ") => call.number(at),
                _ => self.plain(
                    call,
                    parameter.name,
                    at,
                    types.as_ref().and_then(|types| types.get(place).copied()),
                ),
            });
        }
        let is_named = parameter.name == "array_of_distribs" || parameter.name == "array_of_dargs";
        if parameter.kind == ParameterKind::Rank && values.iter().any(|value| value.least() < 0) || is_named {
            let texts: Vec<String> = values
                .iter()
                .map(|value| match (is_named, value) {
                    (true, value) => self.named(parameter.name, value),
                    (false, NumberByRank::Same(number @ ..0)) => trace::text::rank(*number as i32),
                    (false, value) => format!("constant({})", self.vectors.number(value)),
                })
                .collect();
            return Ok(format!("(const int[]){{{}}}", texts.join(", ")));
        }
        Ok(self.vectors.array(&values, parameter.types[form], parameter.direction == ParameterIntent::In))
    }

    fn use_object(&mut self, class: Class, number: &NumberByRank) {
        let most = &mut self.sizes.objects[class as usize];
        *most = (*most).max(number.most());
    }

    /// Returns an object by number.
    fn element(&mut self, call: &GeneratedCall, class: Class, at: usize) -> Result<String, Refusal> {
        let number = call.number(at);
        self.use_object(class, &number);
        Ok(format!("{}[{}]", array_of(class)?, self.vectors.number(&number)))
    }

    fn handle(&mut self, call: &GeneratedCall, argument: CallArgument) -> Result<String, Refusal> {
        let parameter = argument.parameter;
        let kind = parameter.types[0];
        if parameter.is_array {
            let Some(elements) = call.elements(argument) else { return Ok("NULL".to_owned()) };
            let mut texts = Vec::new();
            for (field, at) in elements {
                texts.push(self.object(call, field, at, kind)?);
            }
            let inside = if texts.is_empty() { "0".to_owned() } else { texts.join(", ") };
            return Ok(format!("(const {kind}[]){{{inside}}}"));
        }
        match (object(argument.field), parameter.direction) {
            (_, ParameterIntent::In) => self.object(call, argument.field, argument.at, kind),
            (Some((class, None)), _) => Ok(format!("&{}", self.element(call, class, argument.at)?)),
            (Some((Class::Comm, Some(_))), ParameterIntent::Out) => Ok("&no_comm".to_owned()),
            (Some((Class::Request, Some(_))), ParameterIntent::Out) => Err("it made no request".to_owned()),
            (Some((class, Some(_))), ParameterIntent::Out) => Ok(format!("&{}[0]", array_of(class)?)),
            (Some((Class::Request, Some(_))), _) => Ok("&requests[0]".to_owned()),
            (Some((_, Some(name))), _) => Ok(format!(
                "&({kind}){{{}}}",
                call.trace().names[self.name_of(call, argument.field, name) as usize]
            )),
            (None, ParameterIntent::Out) => Ok(if kind == "MPI_Comm" {
                "&no_comm".to_owned()
            } else {
                return Err(format!("its argument {} is not in the trace", parameter.name));
            }),
            (None, _) => Err(format!("its argument {} is not in the trace", parameter.name)),
        }
    }

    /// Returns the place of a name among the names: datatypes have it in their own dictionary.
    fn name_of(&self, call: &GeneratedCall, field: &Field, name: u32) -> u32 {
        if matches!(field, Field::Datatype(_)) { call.trace().types[name as usize].name } else { name }
    }

    /// Returns an object that a call is given.
    fn object(
        &mut self,
        call: &GeneratedCall,
        field: &Field,
        at: usize,
        kind: &str,
    ) -> Result<String, Refusal> {
        Ok(match object(field) {
            Some(_) if call.is_told_in_bytes(field) => "MPI_BYTE".to_owned(),
            Some((class, Some(name))) => {
                array_of(class)?;
                call.trace().names[self.name_of(call, field, name) as usize].clone()
            }
            Some((class, None)) => self.element(call, class, at)?,
            // Of a buffer that is MPI_IN_PLACE.
            None => format!("{}_NULL", kind.to_uppercase()),
        })
    }

    /// Requests that lie side by side, or are picked.
    fn requests(
        &mut self,
        call: &GeneratedCall,
        argument: CallArgument,
        spelled: &mut Spelled,
    ) -> Result<String, Refusal> {
        let elements = call.elements(argument).unwrap_or_default();
        let mut numbers = Vec::new();
        for (field, at) in elements {
            numbers.push(match field {
                Field::Handle(Class::Request, None) => call.number(at),
                Field::Handle(Class::Request, Some(_)) => NumberByRank::Same(0),
                _ => return Err(format!("its argument {} is not in the trace", argument.parameter.name)),
            });
        }
        numbers.iter().for_each(|number| self.use_object(Class::Request, number));
        // Arrays of requests are as long as the longest list of them, whatever their numbers are.
        self.use_object(Class::Request, &NumberByRank::Same(numbers.len() as i64));
        let same: Option<Vec<i64>> = numbers
            .iter()
            .map(|number| if let NumberByRank::Same(number) = number { Some(*number) } else { None })
            .collect();
        let first = match &same {
            Some(same) if same.windows(2).all(|pair| pair[1] == pair[0] + 1) => {
                same.first().map_or("requests".to_owned(), |&first| format!("requests + {first}"))
            }
            _ => {
                let array = self.vectors.array(&numbers, "int", true);
                spelled.before.push(format!("pick({}, {array});", numbers.len()));
                if argument.parameter.direction == ParameterIntent::InOut {
                    spelled.after.push("put_back();".to_owned());
                }
                "picked".to_owned()
            }
        };
        spelled.requests = Some(first.clone());
        Ok(first)
    }

    fn buffer(&mut self, call: &GeneratedCall, argument: CallArgument) -> Result<String, Refusal> {
        let name = argument.parameter.name;
        let is_made = |types: &CallArgument| matches!(types.field, Field::Datatype(None));
        match argument.field {
            Field::InPlace => return Ok("MPI_IN_PLACE".to_owned()),
            // MPI_BOTTOM, with a datatype of addresses.
            Field::Null
                if matches!(name, "buf" | "buffer")
                    && call.argument("datatype").as_ref().is_some_and(is_made) => {}
            Field::Null => return Ok("NULL".to_owned()),
            _ => {}
        }
        match call.base().as_str() {
            "get_address" => return Ok("text".to_owned()),
            "buffer_attach" | "comm_attach_buffer" => {
                let bytes = call.scalar("size").map_or(0, |size| size.most());
                return Ok(format!("attached({bytes})"));
            }
            _ => {}
        }
        let request = match call.argument("request") {
            Some(request) if matches!(request.field, Field::Handle(_, None)) => {
                let number = call.number(request.at);
                self.use_object(Class::Request, &number);
                self.vectors.number(&number)
            }
            _ => "0".to_owned(),
        };
        if let Some((message, kind)) = self.received(call)? {
            let count = call.scalar("count").ok_or("its argument count is not in the trace")?;
            let count = self.vectors.number(&count);
            let count = format!("(size_t)probed_count({count}, {message}, {kind})");
            return Ok(format!("in({request}, span({count}, {kind}))"));
        }
        let bytes = match memory::need(call, name, self.degree)? {
            BufferContents::Bytes(bytes) => bytes.to_string(),
            BufferContents::Elements(count, types) => {
                let kind = self.object(call, types.field, types.at, "MPI_Datatype")?;
                format!("span({count}, {kind})")
            }
            BufferContents::Blocks([lengths, places, types]) => {
                let count = call.elements(lengths).map_or(0, |lengths| lengths.len());
                let values: Vec<NumberByRank> = call
                    .elements(places)
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(_, at)| call.number(at))
                    .collect();
                let places = self.vectors.array(&values, "MPI_Aint", true);
                format!(
                    "spans({count}, {}, {places}, {})",
                    self.array(call, lengths, 0)?,
                    self.handle(call, types)?
                )
            }
        };
        let side = if argument.parameter.direction == ParameterIntent::In { "out" } else { "in" };
        Ok(format!("{side}({request}, {bytes})"))
    }

    /// Requests that were complete when the trace was recorded: how many, and an array of their indices.
    pub fn completed(&mut self, call: &GeneratedCall) -> Option<(usize, String)> {
        if let Some(index) = call.argument("index") {
            let index = matches!(index.field, Field::Integer).then(|| call.number(index.at))?;
            return (index.least() >= 0).then(|| (1, self.vectors.array(&[index], "int", true)));
        }
        let elements = call.elements(call.argument("array_of_indices")?)?;
        let values: Vec<NumberByRank> = elements
            .iter()
            .filter(|(field, _)| field.numbers() == Some(1))
            .map(|&(_, at)| call.number(at))
            .collect();
        (!values.is_empty()).then(|| (values.len(), self.vectors.array(&values, "int", true)))
    }
}

/// Returns `true` if the options leave a call out: they name it, or it makes datatypes where messages have
/// their sizes in bytes.
pub fn is_left_out(name: &str, options: &crate::Options) -> bool {
    options.without.iter().any(|left| left == name)
        || options.datatypes == Datatypes::Size && name.starts_with("MPI_Type_")
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => out += &format!("\\{}", byte as char),
            b' '..=b'~' => out.push(byte as char),
            // Three octal digits end by themselves, where hexadecimal ones would take what follows.
            _ => out += &format!("\\{byte:03o}"),
        }
    }
    out
}
