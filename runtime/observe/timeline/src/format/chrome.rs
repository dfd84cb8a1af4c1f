//! Chrome's JSON: complete events for calls, flow events for messages ("Trace Event Format", Google, 2016).
//! Times are microseconds with all their picoseconds.

use super::{Counter, Output, TimelineEvent, TimelineHeader};
use std::fmt::{self, Display};
use std::io::{self, Write};

pub struct Chrome<W> {
    out: W,
    /// Functions as JSON.
    functions: Vec<String>,
    sites: Vec<String>,
    regions: Vec<String>,
}

struct Micro(u64);

impl Display for Micro {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

impl<W: Write> Chrome<W> {
    /// Writes the names of ranks, which are the threads of one process.
    pub fn begin(mut out: W, head: &TimelineHeader) -> io::Result<Chrome<W>> {
        let json = |names: &[String]| {
            names.iter().map(|name| serde_json::Value::from(name.as_str()).to_string()).collect()
        };
        out.write_all(
            b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n\
                {\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"ranks\"}}",
        )?;
        for rank in &head.ranks {
            write!(
                out,
                ",\n\
                 {{\"ph\":\"M\",\"pid\":0,\"tid\":{rank},\"name\":\"thread_name\",\"args\":{{\"name\":\"rank \
                 {rank}\"}}}}"
            )?;
            write!(
                out,
                ",\n\
                 {{\"ph\":\"M\",\"pid\":0,\"tid\":{rank},\"name\":\"thread_sort_index\",\
                 \"args\":{{\"sort_index\":{rank}}}}}"
            )?;
        }
        Ok(Chrome {
            out,
            functions: json(&head.functions),
            sites: json(&head.sites),
            regions: json(&head.regions),
        })
    }
}

impl<W: Write> Output for Chrome<W> {
    fn event(&mut self, event: &TimelineEvent) -> io::Result<()> {
        let out = &mut self.out;
        match *event {
            TimelineEvent::Entered { rank, at, call } => {
                let (name, site) = (&self.functions[call.function as usize], &self.sites[call.site as usize]);
                write!(
                    out,
                    ",\n{{\"ph\":\"X\",\"pid\":0,\"tid\":{rank},\"ts\":{},\"dur\":{},",
                    Micro(at),
                    Micro(call.left - at)
                )?;
                write!(out, "\"cat\":\"MPI\",\"name\":{name},\"args\":{{\"site\":{site}")?;
                if call.bytes > 0 {
                    write!(out, ",\"bytes\":{}", call.bytes)?;
                }
                if call.wait > 0 {
                    write!(out, ",\"wait_us\":{}", Micro(call.wait))?;
                }
                if !call.returned {
                    write!(out, ",\"unfinished\":true")?;
                }
                out.write_all(b"}}")
            }
            TimelineEvent::Began { rank, at, region } => {
                write!(
                    out,
                    ",\n{{\"ph\":\"B\",\"pid\":0,\"tid\":{rank},\"ts\":{},\"cat\":\"region\",",
                    Micro(at)
                )?;
                write!(out, "\"name\":{}}}", self.regions[region as usize])
            }
            TimelineEvent::Ended { rank, at, region } => {
                write!(out, ",\n{{\"ph\":\"E\",\"pid\":0,\"tid\":{rank},\"ts\":{},", Micro(at))?;
                write!(out, "\"name\":{}}}", self.regions[region as usize])
            }
            TimelineEvent::Sent { rank, at, message } => {
                let (id, to, bytes, tag) = (message.id, message.to, message.bytes, message.tag);
                write!(
                    out,
                    ",\n\
                     {{\"ph\":\"s\",\"pid\":0,\"tid\":{rank},\"ts\":{},\"cat\":\"message\",\
                     \"name\":\"message\",",
                    Micro(at)
                )?;
                // A text: a number this large is not exact in JavaScript.
                write!(out, "\"id\":\"{id:#x}\",\"args\":{{\"to\":{to},\"tag\":{tag},\"bytes\":{bytes}}}}}")
            }
            TimelineEvent::Received { rank, at, id, from } => {
                write!(
                    out,
                    ",\n{{\"ph\":\"f\",\"bp\":\"e\",\"pid\":0,\"tid\":{rank},\"ts\":{},\"cat\":\"message\",",
                    Micro(at)
                )?;
                write!(out, "\"name\":\"message\",\"id\":\"{id:#x}\",\"args\":{{\"from\":{from}}}}}")
            }
            TimelineEvent::Counted { counter, at, value } => {
                let unit = if counter == Counter::Waiting { "ranks" } else { "messages" };
                let name = counter.name();
                write!(
                    out,
                    ",\n\
                     {{\"ph\":\"C\",\"pid\":0,\"ts\":{},\"name\":\"{name}\",\
                     \"args\":{{\"{unit}\":{value}}}}}",
                    Micro(at)
                )
            }
            TimelineEvent::Left { .. }
            | TimelineEvent::Waits { .. }
            | TimelineEvent::Waited { .. }
            | TimelineEvent::Computes { .. }
            | TimelineEvent::Computed { .. } => Ok(()),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n]}\n")?;
        self.out.flush()
    }
}
