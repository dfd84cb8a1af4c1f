//! The simulated machine whose times the lines are.

use crate::fit::{Estimate, Fit};
use crate::rendezvous::{Delays, Levels};
use engine::Span;
use network::{Bandwidth, Machine};

/// Messages inside a node: their lines, and the number of ranks of a node.
pub struct Inside<'a> {
    /// Lines through times between two ranks of a node.
    pub fit: &'a Fit,
    /// Ranks of a node.
    pub ranks: u32,
}

/// A machine, as `-xsim-mn` takes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Calibrated {
    /// The network and what ranks pay: `star:l=1.5us,b=10Gbps/rank:gap=50ns`.
    pub specification: String,
    pub(crate) network: String,
    pub(crate) gap: Option<Span>,
    pub(crate) eager_limit: Option<u64>,
    /// Bytes that a reduction combines in a second: `9.4GB/s`.
    pub(crate) reduce: Option<String>,
    /// A sentence on each cost that the tables cannot separate or the machine cannot have.
    pub notes: Vec<String>,
    /// Properties, each with how well the tables determine it.
    pub determined: Vec<Determined>,
}

/// A property of the machine and how well the tables determine it.
#[derive(Clone, PartialEq, Debug)]
pub struct Determined {
    /// The key in a specification.
    pub key: &'static str,
    /// The number, of the smallest messages where it depends on the size.
    pub value: f64,
    /// The most that it may be off, in proportion; 0 for a size of the tables.
    pub within: f64,
    /// `s`, `B` or `B/s`.
    pub unit: &'static str,
    /// The measurement that it follows from.
    pub from: &'static str,
}

impl Determined {
    pub(crate) fn new(
        key: &'static str,
        value: f64,
        within: f64,
        unit: &'static str,
        from: &'static str,
    ) -> Determined {
        Determined { key, value, within, unit, from }
    }
}

impl Calibrated {
    /// Returns the text of the machine's file, with a name and where the times are from.
    pub fn file(&self, name: &str, source: &str) -> String {
        let text = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let mut file =
            format!("name = {}\nsource = {}\nnetwork = {}\n", text(name), text(source), text(&self.network));
        if self.gap.is_some() || self.eager_limit.is_some() || self.reduce.is_some() {
            file += "\n[overheads]\n";
        }
        file += &self.gap.map_or(String::new(), |gap| format!("gap = \"{gap}\"\n"));
        file += &self.reduce.as_ref().map_or(String::new(), |rate| format!("reduce = \"{rate}\"\n"));
        file + &self.eager_limit.map_or(String::new(), |bytes| format!("eager_limit = {bytes}\n"))
    }
}

/// The least part of the smallest messages' time that another line may have as the network's latency.
const MIN_LATENCY_PART: f64 = 0.5;

/// Times that scatter by more have a note.
const MAX_SCATTER: f64 = 0.05;

/// Returns the shortest decimal within the interval, of 3 to 6 digits: what was measured of a round number is
/// that number.
fn rounded(estimate: Estimate) -> f64 {
    let with =
        |digits: usize| format!("{:.*e}", digits - 1, estimate.value).parse().unwrap_or(estimate.value);
    (3..6)
        .map(with)
        .find(|value: &f64| (value - estimate.value).abs() <= estimate.within)
        .unwrap_or_else(|| with(6))
}

/// Returns a time of a machine; picoseconds are the finest that it has.
pub fn span(seconds: f64) -> Span {
    Span::from_ps((seconds.max(0.0) * 1e12).round() as u64)
}

/// Returns the bandwidth of a level, `b`: that of the line of largest messages, or of one whose messages are
/// surely faster. What other lines take more is a cost by size.
fn bandwidth(fit: &Fit) -> Result<String, String> {
    let last = fit.segments.last().ok_or("there is no line")?;
    let Estimate { value, within } = last.per_byte;
    if value <= within {
        return Err(format!(
            "the times of {} to {} bytes do not grow with the size for sure ({:.3e} s for a byte, within \
            {within:.1e}): measure larger messages",
            last.from, last.until, value
        ));
    }
    let is_sure = |estimate: &&Estimate| estimate.value > 4.0 * estimate.within && estimate.value < value;
    let slopes = fit.segments.iter().map(|segment| &segment.per_byte).filter(is_sure);
    let fastest = slopes.min_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or(&last.per_byte);
    let Estimate { value, within } = *fastest;
    // Bits in a second, whose interval is that of the time for a byte in proportion.
    let rate = rounded(Estimate { value: 8.0 / value, within: 8.0 / value * (within / value) });
    let (scale, unit) = if rate >= 1e9 { (1e9, "Gbps") } else { (1e6, "Mbps") };
    // Again with the digits of the interval, which a quotient of doubles does not end at.
    Ok(format!("{}{unit}", format!("{:.5e}", rate / scale).parse::<f64>().unwrap_or(rate / scale)))
}

/// Returns the time of an empty message: that of the smallest messages, or of a line which surely begins
/// lower, though not below half of that.
fn latency(fit: &Fit) -> Result<Estimate, String> {
    let Estimate { value, within } = fit.segments.first().ok_or("there is no line")?.latency;
    if value <= 0.0 {
        return Err(format!(
            "the line through the smallest messages is at {value:.3e} s for no bytes: measure smaller \
            messages"
        ));
    }
    let is_lower = |other: &Estimate| {
        other.value + other.within < value - within && other.value > MIN_LATENCY_PART * value
    };
    let lower = fit.segments.iter().map(|segment| segment.latency).filter(is_lower);
    Ok(lower.min_by(|a, b| a.value.total_cmp(&b.value)).unwrap_or(Estimate { value, within }))
}

/// Returns a sentence on times that scatter so much that steps are lost in it.
pub(crate) fn scatter_note(scatter: f64) -> Option<String> {
    (scatter > MAX_SCATTER).then(|| {
        format!(
            "from size to size the times scatter by {:.0} %, which is more than the smaller steps of a \
            network: measure with more repetitions, or give tables of several runs",
            scatter * 100.0
        )
    })
}

/// Returns the machine of a ping-pong between two nodes, if given with one inside a node, and with many
/// messages in a row.
///
/// A star has two links between any two ranks, and two more inside the nodes where these are stars
/// themselves. What a rank spends on a message is a part of that: a ping-pong cannot tell it apart, and the
/// sum is right.
///
/// # Errors
/// A sentence, if latency or bandwidth do not follow from the lines.
pub fn calibrate(fit: &Fit, inside: Option<&Inside<'_>>, stream: Option<&Fit>) -> Result<Calibrated, String> {
    let mut notes = Vec::new();
    let whole = latency(fit)?;
    let half = |estimate: Estimate| {
        span(rounded(Estimate { value: estimate.value / 2.0, within: estimate.within / 2.0 }))
    };
    let mut outside = half(whole);
    let wide = bandwidth(fit)?;
    let mut inner_links = None;
    if let Some(Inside { fit: inner, ranks }) = inside {
        let part = latency(inner)?;
        if part.value >= whole.value {
            return Err(format!(
                "an empty message inside a node takes {} and one between nodes {}: are the two tables the \
                wrong way round?",
                span(part.value),
                span(whole.value)
            ));
        }
        outside = half(Estimate { value: whole.value - part.value, within: whole.within + part.within });
        let narrow = bandwidth(inner)?;
        let rate = |text: &str| text.parse::<Bandwidth>().map_or(0.0, Bandwidth::as_bits_per_second);
        if rate(&narrow) < rate(&wide) {
            notes.push(format!(
                "messages between nodes go through the nodes' own links, which are narrower \
                ({narrow} against {wide}): the machine gives them {narrow}"
            ));
        }
        inner_links = Some(format!("star:{ranks},l={},b={narrow}", half(part)));
    }
    let links = format!("star:l={outside},b={wide}");
    let levels = Levels { fit, links: &links, inside, inner_links: inner_links.as_deref() };
    let Delays { outer, inner, eager_limit, notes: more } = levels.delays(whole.value)?;
    notes.extend(more);
    notes.extend(scatter_note(fit.scatter));
    let node = inner_links.map_or(String::new(), |links| format!("/{links}{inner}"));
    let network = format!("{links}{outer}{node}");
    let gap = stream.map(latency).transpose()?.map(|gap| span(rounded(gap)));
    if stream.is_none() {
        notes.push(
            "what a rank itself spends on a message is a part of the latency: a table of osu_bw \
            beside this one tells the gap between messages"
                .to_owned(),
        );
    }
    let settings: Vec<String> = gap
        .map(|gap| format!("gap={gap}"))
        .into_iter()
        .chain(eager_limit.map(|bytes| format!("eager={bytes}")))
        .collect();
    let specification =
        if settings.is_empty() { network.clone() } else { format!("{network}/rank:{}", settings.join(",")) };
    Machine::parse(&specification)
        .map_err(|why| format!("the machine would be {specification}, which cannot be: {why}"))?;
    let determined = Vec::new();
    Ok(Calibrated { specification, network, gap, eager_limit, reduce: None, notes, determined })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::fit;
    use crate::prediction::{Prediction, predict};
    use crate::table::Row;

    /// Returns a table with four decimals of microseconds, as a program would print it.
    fn rows(time: impl Fn(f64) -> f64) -> Vec<Row> {
        let sizes = std::iter::once(0).chain((0..23).map(|power| 1u64 << power));
        let row = |(at, bytes): (usize, u64)| Row {
            bytes,
            seconds: (time(bytes as f64) * 1e10).round() * 1e-10,
            resolution: 1e-10,
            file: 0,
            line: at + 1,
        };
        sizes.enumerate().map(row).collect()
    }

    fn line(latency: f64, gbps: f64) -> Fit {
        fit(&rows(|bytes| latency + bytes * 8e-9 / gbps)).unwrap()
    }

    #[test]
    fn the_machine_of_a_line_has_its_numbers() {
        assert_eq!(calibrate(&line(3e-6, 10.0), None, None).unwrap().specification, "star:l=1.5us,b=10Gbps");
        assert_eq!(calibrate(&line(50e-6, 0.8), None, None).unwrap().specification, "star:l=25us,b=800Mbps");
        let machine = calibrate(&line(3e-6, 10.0), None, Some(&line(0.2e-6, 10.0))).unwrap();
        assert_eq!(machine.specification, "star:l=1.5us,b=10Gbps/rank:gap=200ns");
        assert_eq!(
            machine.file("a \"b\"", "c"),
            "name = 'a \"b\"'\nsource = \"c\"\nnetwork = \"star:l=1.5us,b=10Gbps\"\n\n[overheads]\ngap = \
            \"200ns\"\n"
        );
    }

    #[test]
    fn links_inside_nodes_are_told_apart() {
        let (near, far) = (line(0.6e-6, 80.0), line(3e-6, 10.0));
        let machine = calibrate(&far, Some(&Inside { fit: &near, ranks: 4 }), None).unwrap();
        assert_eq!(machine.specification, "star:l=1.2us,b=10Gbps/star:4,l=300ns,b=80Gbps");
        let row = |bytes| Row { bytes, seconds: 3e-6, resolution: 0.0, file: 0, line: 1 };
        let of = |to| predict(&machine.specification, to, &[row(0)]).unwrap()[0].seconds;
        assert_eq!(((of(1) * 1e9).round(), (of(4) * 1e9).round()), (600.0, 3000.0));
        let why = calibrate(&near, Some(&Inside { fit: &far, ranks: 4 }), None).unwrap_err();
        assert!(why.contains("the wrong way round"), "{why}");
    }

    #[test]
    fn a_jump_becomes_the_eager_limit_and_delay_is_what_its_handshake_leaves() {
        let machine = |jump: f64| {
            let time = |bytes: f64| if bytes <= 8192.0 { 2e-6 } else { 2e-6 + jump } + bytes * 1e-10;
            calibrate(&fit(&rows(time)).unwrap(), None, None).unwrap()
        };
        let machine_of = machine(5e-6);
        assert_eq!(machine_of.specification, "star:l=1us,b=80Gbps,delay=0;8193:1us/rank:eager=8192");
        let note = &machine_of.notes[0];
        assert!(note.contains("beyond 8192 bytes a message takes 5us longer"), "{note}");
        assert!(note.contains("request and answer take 4us"), "{note}");
        // Request and answer are all of it.
        assert_eq!(machine(4e-6).specification, "star:l=1us,b=80Gbps/rank:eager=8192");
    }

    #[test]
    fn a_jump_that_is_shorter_than_the_handshake_is_a_delay_without_an_eager_limit() {
        let time = |bytes: f64| if bytes <= 8192.0 { 2e-6 } else { 5e-6 } + bytes * 1e-10;
        let machine = calibrate(&fit(&rows(time)).unwrap(), None, None).unwrap();
        assert_eq!(machine.specification, "star:l=1us,b=80Gbps,delay=0;8193:3us");
        assert!(machine.notes[0].contains("delay and no eager limit"), "{:?}", machine.notes);
        // Inside a node nothing waits, and an eager limit is one of all levels.
        let time = |bytes: f64| if bytes <= 8192.0 { 2e-6 } else { 7e-6 } + bytes * 1e-10;
        let inside = Inside { fit: &line(0.6e-6, 80.0), ranks: 4 };
        let machine = calibrate(&fit(&rows(time)).unwrap(), Some(&inside), None).unwrap();
        assert_eq!(machine.eager_limit, None, "{}", machine.specification);
        let inner = |bytes: f64| if bytes <= 8192.0 { 0.6e-6 } else { 2e-6 } + bytes * 1e-10;
        let inside = Inside { fit: &fit(&rows(inner)).unwrap(), ranks: 4 };
        let machine = calibrate(&fit(&rows(time)).unwrap(), Some(&inside), None).unwrap();
        assert_eq!(
            machine.specification,
            "star:l=700ns,b=80Gbps,delay=0;8193:1us/star:4,l=300ns,b=80Gbps,delay=0;8193:200ns\
            /rank:eager=8192"
        );
    }

    #[test]
    fn a_jump_below_a_way_of_the_network_is_no_eager_limit() {
        // Inline sends end at 128 bytes; the rendezvous begins beyond 8192, if there is one.
        let inline = |bytes: f64| if bytes <= 128.0 { 1.6e-6 } else { 2.1e-6 } + bytes * 1e-10;
        let machine = calibrate(&fit(&rows(inline)).unwrap(), None, None).unwrap();
        assert_eq!(machine.specification, "star:l=800ns,b=80Gbps,delay=0;129:500ns");
        assert!(
            machine.notes[0].contains("beyond 128 bytes a message takes 500ns longer, less than"),
            "{:?}",
            machine.notes
        );
        let both = |bytes: f64| inline(bytes) + if bytes > 8192.0 { 3.5e-6 } else { 0.0 };
        let machine = calibrate(&fit(&rows(both)).unwrap(), None, None).unwrap();
        let delay = "0;129:500ns;8193:800ns";
        assert_eq!(machine.specification, format!("star:l=800ns,b=80Gbps,delay={delay}/rank:eager=8192"));
    }

    #[test]
    fn what_the_sizes_do_not_tell_is_refused() {
        let short: Vec<Row> =
            rows(|bytes| 1e-6 * if bytes as u64 % 3 == 1 { 1.01 } else { 1.0 }).into_iter().take(8).collect();
        let why = calibrate(&fit(&short).unwrap(), None, None).unwrap_err();
        assert!(why.contains("measure larger messages"), "{why}");
        let long: Vec<Row> = rows(|bytes| bytes * 1e-9 - 1e-5).into_iter().skip(18).collect();
        let why = calibrate(&fit(&long).unwrap(), None, None).unwrap_err();
        assert!(why.contains("measure smaller messages"), "{why}");
    }

    #[test]
    fn times_that_scatter_are_said_with_the_remedy() {
        let noisy = rows(|bytes| {
            (2e-6 + bytes * 1e-10) * if (bytes.log2() as u64).is_multiple_of(2) { 1.2 } else { 1.0 }
        });
        let machine = calibrate(&fit(&noisy).unwrap(), None, None).unwrap();
        assert_eq!(machine.eager_limit, None);
        assert!(!machine.specification.contains("delay"), "{}", machine.specification);
        let is_said = |note: &String| note.contains("the times scatter by") && note.contains("repetitions");
        assert!(machine.notes.iter().any(is_said), "{:?}", machine.notes);
        assert!(!calibrate(&line(3e-6, 10.0), None, None).unwrap().notes.iter().any(is_said));
    }

    #[test]
    fn errors_have_signs() {
        let row = |seconds| Row { bytes: 1000, seconds, resolution: 0.0, file: 0, line: 1 };
        let errors: Vec<f64> = predict("star:l=1us,b=8Gbps", 1, &[row(2e-6), row(4e-6)])
            .unwrap()
            .iter()
            .map(Prediction::error)
            .collect();
        assert!((errors[0] - 0.5).abs() < 1e-9 && (errors[1] + 0.25).abs() < 1e-9, "{errors:?}");
    }
}
