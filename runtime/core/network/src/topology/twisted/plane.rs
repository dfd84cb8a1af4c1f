//! A twisted torus of two dimensions, of which the first one's wrapping links alone are shifted: its routers,
//! cables and routes.

use super::super::{
    Cabled, Cabling, DetailLevel, KeyKind, Neighbor, OptionKey, Paths, Sizing, Topology, TopologyInput, Wrong,
};
use super::Twisted;

/// `width` x `height` routers; the link from the last column to the first also goes `twist` rows up (Cámara
/// et al., "Twisted torus topologies for enhanced interconnection networks", IEEE TPDS 2010). One endpoint a
/// router unless `concentration` says more.
///
/// Routers are numbered row-major as the sides are given: the row, the second side, varies fastest. Ports:
/// column up, column down, row up, row down, endpoints. The network looks the same from every router, so
/// routes depend on the difference of coordinates alone.
pub(crate) struct TwistedTorus {
    width: u32,
    height: u32,
    twist: u32,
    concentration: u32,
    /// For each difference (column * height + row) the links to pass in either dimension.
    steps: Vec<(i16, i16)>,
}

impl TwistedTorus {
    /// Sides from 3 to 10,000, `twist` below `height`.
    pub(crate) fn new(
        width: u32,
        height: u32,
        twist: u32,
        concentration: u32,
    ) -> Result<TwistedTorus, String> {
        if width < 3 || height < 3 || width > 10_000 || height > 10_000 {
            return Err(format!("the sides of a twisted torus are 3 to 10000, not {width}x{height}"));
        }
        if twist >= height {
            return Err(format!(
                "twist={twist} is not below the second side, {height}; take the remainder {}",
                twist % height
            ));
        }
        if u64::from(width * height) * u64::from(4 + concentration) >= 1 << 29 {
            return Err("this twisted torus needs more than 2^29 ports; make it smaller".to_owned());
        }
        let (w, h, t) = (i64::from(width), i64::from(height), i64::from(twist));
        let mut steps = Vec::with_capacity((width * height) as usize);
        for dx in 0..w {
            for dy in 0..h {
                let ways = (-h..=h).flat_map(|turns| {
                    let rows = (dy - turns * t).rem_euclid(h);
                    [(dx + turns * w, rows), (dx + turns * w, rows - h)]
                });
                // Equal lengths: fewer columns first, which keeps column before row all the way.
                let best =
                    ways.min_by_key(|&(x, y)| (x.abs() + y.abs(), x.abs(), x < 0, y < 0)).unwrap_or((0, 0));
                steps.push((best.0 as i16, best.1 as i16));
            }
        }
        Ok(TwistedTorus { width, height, twist, concentration, steps })
    }

    /// Links to pass from router to router: columns (positive up) and rows.
    pub(crate) fn steps(&self, from: u32, to: u32) -> (i16, i16) {
        let ((x, y), (to_x, to_y)) = (self.place(from), self.place(to));
        let dx = (to_x + self.width - x) % self.width;
        // Going up past the last column shifts the row, so the same column difference means another row
        // difference.
        let shift = if to_x < x { self.height - self.twist } else { 0 };
        let dy = (to_y + self.height - y + shift) % self.height;
        self.steps[(dx * self.height + dy) as usize]
    }

    /// Column and row of a router.
    fn place(&self, router: u32) -> (u32, u32) {
        (router / self.height, router % self.height)
    }
}

impl Topology for TwistedTorus {
    const NAME: &'static str = "twistedtorus";
    const SUMMARY: &'static str = "a torus of two dimensions, the first one's wrapping links shifted";
    const SIZING: Sizing = Sizing::Sides { default_dimensions: 2 };
    const KEYS: &'static [OptionKey] = &[
        OptionKey::new("sides", KeyKind::Size, "columns x rows"),
        OptionKey::new(
            "twist",
            KeyKind::Number(0, u32::MAX),
            "rows that the last column's links go up, half of them by default",
        ),
        OptionKey::new("p", KeyKind::Number(1, u32::MAX), "endpoints of a router, 1 by default").of_routers(),
    ];
    const LEVEL: DetailLevel = DetailLevel::Packet;
    type Shape = TwistedTorus;

    fn build(given: &TopologyInput<'_>) -> Result<TwistedTorus, Wrong> {
        let &[width, height] = given.sides else {
            return Err("a twisted torus has two sides, such as 8x4".to_owned().into());
        };
        let twist = given.options.number("twist", height / 2);
        Ok(TwistedTorus::new(width, height, twist, given.options.number("p", 1))?)
    }
    fn cable(given: &TopologyInput<'_>) -> Result<Cabled<TwistedTorus>, Wrong> {
        Ok(Cabled::new(TwistedTorus::build(given)?, given).with_paths())
    }
}

impl TwistedTorus {
    /// Returns what formulas compute the hops of: the same network without its cables.
    pub(crate) fn formula(given: &TopologyInput<'_>) -> Result<Twisted, Wrong> {
        let torus = TwistedTorus::build(given)?;
        Ok(Twisted::new(given.sides, &[true; 2], 1, &[torus.twist, 0], false)?)
    }
}

impl Cabling for TwistedTorus {
    fn describe(&self) -> String {
        format!(
            "{}x{} torus twisted by {}, {} endpoints a router",
            self.width, self.height, self.twist, self.concentration
        )
    }
    fn routers(&self) -> u32 {
        self.width * self.height
    }
    fn endpoints(&self) -> u32 {
        self.routers() * self.concentration
    }
    fn radix(&self) -> u32 {
        4 + self.concentration
    }
    fn neighbor(&self, router: u32, port: u32) -> Neighbor {
        let (w, h) = (self.width, self.height);
        let (x, y) = self.place(router);
        let (x, y) = match port {
            0 if x + 1 == w => (0, (y + self.twist) % h),
            0 => (x + 1, y),
            1 if x == 0 => (w - 1, (y + h - self.twist) % h),
            1 => (x - 1, y),
            2 => (x, (y + 1) % h),
            3 => (x, (y + h - 1) % h),
            _ => return Neighbor::Endpoint(router * self.concentration + port - 4),
        };
        Neighbor::Router { router: x * h + y, port: port ^ 1 }
    }
    fn attachment(&self, endpoint: u32) -> (u32, u32) {
        (endpoint / self.concentration, 4 + endpoint % self.concentration)
    }
}

impl Paths for TwistedTorus {
    fn distance(&self, from: u32, to: u32) -> u32 {
        let (x, y) = self.steps(from, to);
        u32::from(x.unsigned_abs()) + u32::from(y.unsigned_abs())
    }
    fn diameter(&self) -> u32 {
        self.steps
            .iter()
            .map(|&(x, y)| u32::from(x.unsigned_abs()) + u32::from(y.unsigned_abs()))
            .max()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Hops;
    use super::super::super::OptionValue;
    use super::*;

    #[test]
    fn its_routes_are_as_long_as_the_formulas_hops() {
        for (sides, twist) in [([3, 3], 1), ([4, 6], 2), ([8, 4], 0), ([5, 7], 6), ([8, 16], 8), ([6, 3], 2)]
        {
            let options = [("twist", OptionValue::Number(twist))];
            let routers = TopologyInput::with(&sides, &options, TwistedTorus::build);
            let formula = TopologyInput::with(&sides, &options, TwistedTorus::formula);
            assert_eq!(u64::from(routers.routers()), Hops::endpoints(&formula));
            for (a, b) in (0..routers.routers()).flat_map(|a| (0..routers.routers()).map(move |b| (a, b))) {
                let hops = formula.hops(a, b);
                assert_eq!(routers.distance(a, b), hops, "{sides:?},twist={twist}: {a} to {b}");
            }
        }
    }
}
