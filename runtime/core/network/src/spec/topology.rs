//! Reads a topology's size and options, for all levels of detail, and builds it.

use super::size::Size;
use super::text::{Item, Level, Piece};
use crate::bandwidth::ParseBandwidthError;
use crate::machine::{MachineError, MachineText};
use crate::topology::{
    AnyTopology, DetailLevel, KeyKind, LinkKind, OptionKey, OptionValue, Options, RoutedTopology, Sizing,
    TOPOLOGIES, TopologyInput, TopologyRow, Wrong,
};
use engine::ParseSpanError;

/// A topology as specified: its row, size and options.
#[derive(Clone, Debug)]
pub(crate) struct TopologySpec {
    pub(crate) row: &'static TopologyRow,
    pub(super) size: Size,
    pub(crate) options: Options,
}

impl PartialEq for TopologySpec {
    fn eq(&self, other: &TopologySpec) -> bool {
        (self.row.name, &self.size, &self.options) == (other.row.name, &other.size, &other.options)
    }
}

/// Returns the topology of a name.
pub(crate) fn topology_row(name: &str) -> Option<&'static TopologyRow> {
    TOPOLOGIES.iter().find(|row| row.name == name)
}

/// Returns the topologies of networks of routers.
pub(crate) fn routed_topologies() -> impl Iterator<Item = &'static str> {
    TOPOLOGIES.iter().filter(|row| row.routers.is_some()).map(|row| row.name)
}

/// Returns the topologies that are formulas where a network gives no level of detail.
pub(super) fn formula_topologies() -> impl Iterator<Item = &'static str> {
    TOPOLOGIES.iter().filter(|row| row.level == DetailLevel::Formula).map(|row| row.name)
}

/// Reader of one topology, into whose text errors point.
struct TopologyReader<'a> {
    row: &'static TopologyRow,
    source: &'a MachineText,
}

impl TopologySpec {
    /// Reads size and options of a level. Returns them and the items that are not the topology's at this
    /// level of detail, in their order.
    pub(crate) fn read<'a>(
        row: &'static TopologyRow,
        level: &Level<'a>,
        detail: DetailLevel,
        source: &MachineText,
    ) -> Result<(TopologySpec, Vec<Item<'a>>), MachineError> {
        let reader = TopologyReader { row, source };
        let key =
            |item: &Item<'_>| row.keys.iter().find(|key| key.name == item.name.text && key.level <= detail);
        let is_size = |item: &&Item<'a>| key(item).is_some_and(|key| matches!(key.kind, KeyKind::Size));
        let sizes: Vec<&Item<'a>> = level.items.iter().filter(is_size).collect();
        let size = match (level.size, &sizes[..]) {
            (None, []) if row.sizing == Sizing::Options => Size::ByOptions,
            (None, []) => Size::Open,
            // A colon and nothing: what is missing says more.
            (Some(Piece { text: "", .. }), []) if row.sizing == Sizing::Options => Size::ByOptions,
            (Some(size), []) => reader.size(size)?,
            (None, [item]) => reader.size(item.value)?,
            (_, [.., item]) => return Err(reader.twice(item.name)),
        };
        let (mut options, mut rest) = (Options::default(), Vec::new());
        for &item in &level.items {
            match key(&item) {
                None => rest.push(item),
                Some(OptionKey { kind: KeyKind::Size, .. }) => {}
                Some(key) if options.get(key.name).is_some() => return Err(reader.twice(item.name)),
                Some(key) => {
                    let value = reader.value(item.value, key, size.dimensions(row.sizing))?;
                    options.push(key.name, value, item.value.at);
                }
            }
        }
        Ok((TopologySpec { row, size, options }, rest))
    }

    /// Refuses a topology without options that it needs, and names all of them.
    pub(crate) fn check_required(&self) -> Result<(), MachineError> {
        let name = self.row.name;
        let missing =
            self.row.keys.iter().filter(|key| key.is_required && self.options.get(key.name).is_none());
        let missing: Vec<String> = missing.map(|key| format!("{}= ({})", key.name, key.meaning)).collect();
        match &missing[..] {
            [] => Ok(()),
            [one] => Err(MachineError::new(format!("'{name}' needs {one}"))),
            [most @ .., last] => {
                Err(MachineError::new(format!("'{name}' needs {} and {last}", most.join(", "))))
            }
        }
    }

    /// Returns size and options as specifications write them.
    pub(super) fn items(&self) -> Vec<String> {
        let size = Some(self.size.to_string()).filter(|size| !size.is_empty());
        size.into_iter().chain(self.options.iter().map(|(name, value)| format!("{name}={value}"))).collect()
    }

    /// Builds what formulas take.
    pub(super) fn formula(&self, sides: &[u32], link: LinkKind) -> Result<AnyTopology, Wrong> {
        (self.row.formula)(&TopologyInput { sides, options: &self.options, link })
    }

    /// Builds what packets and flows take, with room for `ranks` endpoints where the size is open. Only
    /// topologies with routers are read at those levels.
    pub(crate) fn routers(&self, ranks: Option<u64>, link: LinkKind) -> Result<RoutedTopology, Wrong> {
        let name = self.row.name;
        let each = u64::from(self.options.number("p", 1));
        let count = match (self.size.is_open(), ranks) {
            (false, _) => 1,
            (true, Some(ranks)) => u32::try_from(ranks.div_ceil(each)).unwrap_or(u32::MAX).max(1),
            (true, None) => {
                return Err(format!(
                    "the size of '{name}' comes from the number of ranks, which is not known here; give it a \
                     size or say how many ranks there are"
                )
                .into());
            }
        };
        let sides = self.size.sides(self.row.sizing, count);
        let product = sides.iter().try_fold(1u64, |product, &side| product.checked_mul(u64::from(side)));
        if product.is_none_or(|product| product > u64::from(u32::MAX)) {
            return Err(format!("'{name}' has more than 2^32 - 1 routers; make it smaller").into());
        }
        let routers = self.row.routers.expect("a topology without routers is a formula");
        routers(&TopologyInput { sides: &sides, options: &self.options, link })
    }
}

impl TopologyReader<'_> {
    fn error(&self, piece: Piece<'_>, sentence: impl Into<String>) -> MachineError {
        self.source.error(piece.at, sentence)
    }

    fn twice(&self, name: Piece<'_>) -> MachineError {
        self.error(name, format!("'{}' is given twice for one level", name.text))
    }

    fn value(
        &self,
        piece: Piece<'_>,
        key: &OptionKey,
        dimensions: usize,
    ) -> Result<OptionValue, MachineError> {
        let expected = |what: String| {
            self.error(
                piece,
                format!("expected {what}, but found '{}' ({}: {})", piece.text, key.name, key.meaning),
            )
        };
        let each = |found: usize, what: &str| {
            (found == dimensions)
                .then_some(())
                .ok_or_else(|| expected(format!("{what} for each of the {dimensions} dimensions")))
        };
        let numbers = |example: &str| {
            let numbers: Option<Vec<u32>> = piece.text.split('x').map(number).collect();
            numbers.ok_or_else(|| expected(format!("numbers joined by x, as in {example}")))
        };
        match key.kind {
            KeyKind::Number(least, most) => match number(piece.text).filter(|n| (least..=most).contains(n)) {
                Some(n) => Ok(OptionValue::Number(n)),
                None if most == u32::MAX => Err(expected(format!("a number of at least {least}"))),
                None => Err(expected(format!("a number from {least} to {most}"))),
            },
            KeyKind::Bits => {
                let bits: Option<Vec<bool>> =
                    piece.text.chars().map(|c| "01".find(c).map(|bit| bit == 1)).collect();
                let bits = bits.ok_or_else(|| expected("digits 0 and 1 only".to_owned()))?;
                each(bits.len(), "a 0 or 1")?;
                Ok(OptionValue::Bits(bits))
            }
            KeyKind::PerDimension => {
                let numbers = numbers("1x1x2")?;
                each(numbers.len(), "a number")?;
                Ok(OptionValue::Numbers(numbers))
            }
            KeyKind::List => {
                let numbers = numbers("16x8")?;
                if numbers.iter().any(|&number| number == 0 || number > 1 << 20) {
                    return Err(expected("numbers from 1 to 1048576".to_owned()));
                }
                Ok(OptionValue::Numbers(numbers))
            }
            KeyKind::Word(words) => {
                let word = words.iter().find(|&&word| word == piece.text);
                word.map(|word| OptionValue::Word(word))
                    .ok_or_else(|| expected(format!("one of {}", words.join(", "))))
            }
            KeyKind::Text => Ok(OptionValue::Text(piece.text.to_owned())),
            KeyKind::Span => {
                let span = piece.text.parse();
                span.map(OptionValue::Span).map_err(|why: ParseSpanError| self.error(piece, why.to_string()))
            }
            KeyKind::Bandwidth => {
                let bandwidth = piece.text.parse().map(OptionValue::Bandwidth);
                bandwidth.map_err(|why: ParseBandwidthError| self.error(piece, why.to_string()))
            }
            KeyKind::Size => unreachable!("the size is read before"),
        }
    }

    fn size(&self, piece: Piece<'_>) -> Result<Size, MachineError> {
        let row = self.row;
        let many = match row.sizing {
            Sizing::Count => false,
            Sizing::Sides { .. } => true,
            Sizing::Options => {
                let keys: Vec<String> = row.keys.iter().map(|key| format!("{}=", key.name)).collect();
                let why = format!("'{}' has no sides; its size is in {}", row.name, keys.join(", "));
                return Err(self.error(piece, why));
            }
        };
        let example = if many { "8x8x8, 8x8xn or 3d" } else { "16" };
        let wrong = |piece: Piece<'_>, why: String| {
            self.error(piece, format!("{why}; the size of '{}' looks like {example}", row.name))
        };
        if let Some(dimensions) = piece.text.strip_suffix('d').and_then(number).filter(|_| many) {
            if !(1..=32).contains(&dimensions) {
                return Err(wrong(piece, format!("{dimensions} dimensions are not possible, only 1 to 32")));
            }
            return Ok(Size::Dimensions(dimensions));
        }
        let mut sides = Vec::new();
        for part in piece.split('x') {
            let side = match part.text {
                "n" | "*" if many => None,
                text => Some(
                    number(text)
                        .ok_or_else(|| wrong(part, format!("expected a size, but found '{text}'")))?,
                ),
            };
            if side == Some(0) {
                return Err(wrong(part, "a size cannot be 0".to_owned()));
            }
            if side.is_none() && sides.contains(&None) {
                return Err(wrong(part, "only one side can be left open".to_owned()));
            }
            if !many && !sides.is_empty() {
                return Err(wrong(part, format!("'{}' has no dimensions", row.name)));
            }
            sides.push(side);
        }
        Ok(Size::Sides(sides))
    }
}

/// Reads a plain decimal number, without a sign.
pub(super) fn number(text: &str) -> Option<u32> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}
