//! Slim fly: a graph of diameter two with almost the most routers that its degree allows.

use super::{Neighbor, Topology};

/// Besta and Hoefler, "Slim Fly: a cost effective low-diameter network topology" (SC 2014), section II-B: the McKay-Miller-Širáň
/// graphs for a prime q = 4w + d, d = 1 or -1, with 2q^2 routers of degree (3q - d)/2.
///
/// Router (s, x, y) is number s*q^2 + x*q + y. (0,x,y)-(0,x,y') if y-y' in X; (1,m,c)-(1,m,c') if c-c' in X';
/// (0,x,y)-(1,m,c) if y = mx + c. Ports: the members of X (or X') ascending, q across, then `p` endpoints.
pub(crate) struct SlimFly {
    q: u32,
    p: u32,
    generators: [Vec<u32>; 2],
}

impl SlimFly {
    /// The error is a sentence about `q`.
    pub(crate) fn new(q: u32, p: Option<u32>) -> Result<SlimFly, String> {
        let is_prime = q > 2 && (2..q).take_while(|d| d * d <= q).all(|d| !q.is_multiple_of(d));
        if !is_prime || q > 400 {
            return Err(format!(
                "a slim fly needs an odd prime q below 400 (prime powers are not supported), not {q}; take for example 5, 7, 11, 13, 17 or 19"
            ));
        }
        let order = |x: u32| {
            (1..q)
                .scan(1u32, |power, _| {
                    *power = *power * x % q;
                    Some(*power)
                })
                .position(|power| power == 1)
        };
        let root = (2..q).find(|&x| order(x) == Some(q as usize - 2)).ok_or_else(|| format!("{q} has no primitive root"))?;
        let power = |e: u32| (0..e).fold(1u32, |value, _| value * root % q);
        let collect = |exponents: &mut dyn Iterator<Item = u32>| {
            let mut members: Vec<u32> = exponents.map(power).collect();
            members.sort_unstable();
            members
        };
        let generators = if q % 4 == 1 {
            [collect(&mut (0..q - 1).step_by(2)), collect(&mut (1..q - 1).step_by(2))]
        } else {
            let w = (q + 1) / 4;
            [
                collect(&mut (0..w).map(|i| 2 * i).chain((0..w).map(|i| 2 * w - 1 + 2 * i))),
                collect(&mut (0..w).map(|i| 2 * i + 1).chain((0..w).map(|i| 2 * w + 2 * i))),
            ]
        };
        let degree = q + generators[0].len() as u32;
        let p = p.unwrap_or(degree.div_ceil(2));
        if u64::from(2 * q * q) * u64::from(degree + p) >= 1 << 29 {
            return Err("this slim fly needs more than 2^29 ports; use fewer endpoints a router".to_owned());
        }
        Ok(SlimFly { q, p, generators })
    }

    fn degree(&self) -> u32 {
        self.q + self.generators[0].len() as u32
    }
}

impl Topology for SlimFly {
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
            let back = members.binary_search(&(q - step)).expect("the generator sets are symmetric");
            return Neighbor::Router { router: router - y + (y + step) % q, port: back as u32 };
        }
        let index = port - members.len() as u32;
        if index < q {
            // For side 0, `index` is m and the other end (1, m, y - mx); for side 1 it is x and the other end (0, x, mx + c).
            let product = index * x % q;
            let other = if side == 0 { (y + q - product) % q } else { (y + product) % q };
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
