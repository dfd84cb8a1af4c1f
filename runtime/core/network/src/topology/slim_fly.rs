//! Slim fly: a graph of diameter two with almost the most routers that its degree allows.

use super::field::GaloisField;
use super::{Cabling, DetailLevel, KeyKind, Neighbor, OptionKey, Sizing, Topology, TopologyInput, Wrong};

/// Besta and Hoefler, "Slim Fly: a cost effective low-diameter network topology" (SC 2014), section II-B.
/// These are the McKay-Miller-Širáň graphs for a power of a prime q = 4w + d, d = 1, 0 or -1, with 2q^2
/// routers of degree (3q - d)/2. For d = 0 see Hafner, "Geometric realisation of the graphs of
/// McKay-Miller-Širáň" (J. Comb. Theory B 90, 2004). Sums and products are those of the field of q elements.
///
/// Router (s, x, y) is number s*q^2 + x*q + y. (0,x,y)-(0,x,y') if y-y' in X; (1,m,c)-(1,m,c') if c-c' in X';
/// (0,x,y)-(1,m,c) if y = mx + c. Ports: the members of X (or X') ascending, q across, then `p` endpoints.
pub(crate) struct SlimFly {
    field: GaloisField,
    q: u32,
    p: u32,
    generators: [Vec<u32>; 2],
}

impl SlimFly {
    /// The error is a sentence about `q`.
    pub(crate) fn new(q: u32, p: Option<u32>) -> Result<SlimFly, String> {
        let field = (3..=400).contains(&q).then(|| GaloisField::new(q)).flatten().ok_or_else(|| {
            format!(
                "a slim fly needs a power of a prime from 3 to 400, not {q}; take for example 5, 7, 8, 9, \
                 11, 13, 16, 17, 19, 25 or 27"
            )
        })?;
        let collect = |exponents: &mut dyn Iterator<Item = u32>| {
            let mut members: Vec<u32> = exponents.map(|exponent| field.power(exponent)).collect();
            members.sort_unstable();
            members
        };
        let generators = match q % 4 {
            0 => [collect(&mut (0..q).step_by(2)), collect(&mut (1..q).step_by(2))],
            1 => [collect(&mut (0..q - 1).step_by(2)), collect(&mut (1..q - 1).step_by(2))],
            _ => {
                let w = (q + 1) / 4;
                [
                    collect(&mut (0..w).map(|i| 2 * i).chain((0..w).map(|i| 2 * w - 1 + 2 * i))),
                    collect(&mut (0..w).map(|i| 2 * i + 1).chain((0..w).map(|i| 2 * w + 2 * i))),
                ]
            }
        };
        let degree = q + generators[0].len() as u32;
        let p = p.unwrap_or(degree.div_ceil(2));
        if u64::from(2 * q * q) * u64::from(degree + p) >= 1 << 29 {
            return Err("this slim fly needs more than 2^29 ports; use fewer endpoints a router".to_owned());
        }
        Ok(SlimFly { field, q, p, generators })
    }

    fn degree(&self) -> u32 {
        self.q + self.generators[0].len() as u32
    }
}

impl Topology for SlimFly {
    const NAME: &'static str = "slimfly";
    const SUMMARY: &'static str = "routers at most two links apart, with almost as few links as that takes";
    const SIZING: Sizing = Sizing::Options;
    const KEYS: &'static [OptionKey] = &[
        OptionKey::new("q", KeyKind::Number(1, u32::MAX), "a power of a prime: 2q^2 routers").required(),
        OptionKey::new(
            "p",
            KeyKind::Number(1, u32::MAX),
            "endpoints of a router, half its links to routers by default",
        ),
    ];
    const LEVEL: DetailLevel = DetailLevel::Packet;
    type Shape = SlimFly;

    fn build(given: &TopologyInput<'_>) -> Result<SlimFly, Wrong> {
        let p = Some(given.options.number("p", 0)).filter(|&p| p > 0);
        Ok(SlimFly::new(given.options.required("q"), p)?)
    }
}

impl Cabling for SlimFly {
    fn describe(&self) -> String {
        format!("slim fly q={} with {} endpoints a router", self.q, self.p)
    }
    fn routers(&self) -> u32 {
        2 * self.q * self.q
    }
    fn endpoints(&self) -> u32 {
        self.routers() * self.p
    }
    fn radix(&self) -> u32 {
        self.degree() + self.p
    }
    fn neighbor(&self, router: u32, port: u32) -> Neighbor {
        let q = self.q;
        let (side, x, y) = (router / (q * q), router / q % q, router % q);
        let members = &self.generators[side as usize];
        if let Some(&step) = members.get(port as usize) {
            let back = members
                .binary_search(&self.field.subtract(0, step))
                .expect("the generator sets are symmetric");
            return Neighbor::Router { router: router - y + self.field.add(y, step), port: back as u32 };
        }
        let index = port - members.len() as u32;
        if index < q {
            // For side 0, `index` is m and the other end (1, m, y - mx); for side 1 it is x and the other end
            // (0, x, mx + c).
            let product = self.field.multiply(index, x);
            let other = if side == 0 { self.field.subtract(y, product) } else { self.field.add(y, product) };
            return Neighbor::Router {
                router: (1 - side) * q * q + index * q + other,
                port: self.generators[1 - side as usize].len() as u32 + x,
            };
        }
        if index - q < self.p { Neighbor::Endpoint(router * self.p + index - q) } else { Neighbor::Nothing }
    }
    fn attachment(&self, endpoint: u32) -> (u32, u32) {
        (endpoint / self.p, self.degree() + endpoint % self.p)
    }
}
