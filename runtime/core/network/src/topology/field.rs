//! Finite fields, for topologies that are made of them.

/// The field of q = p^k elements: polynomials over the integers modulo p of degree below k, modulo one of
/// degree k. An element's number has the coefficients as its digits to base p, the constant last.
pub(crate) struct GaloisField {
    p: u32,
    q: u32,
    /// Powers of a primitive element, from the zeroth to the one of number q-2.
    powers: Vec<u32>,
    /// Exponent of each element but zero, as a power of the primitive element.
    logarithms: Vec<u32>,
}

impl GaloisField {
    /// `None` if `q` is not a power of a prime. Takes time in proportion to q^2 at most.
    pub(crate) fn new(q: u32) -> Option<GaloisField> {
        let p = (2..=q).find(|&d| q.is_multiple_of(d))?;
        let mut rest = q;
        while rest.is_multiple_of(p) {
            rest /= p;
        }
        if rest != 1 {
            return None;
        }
        // In a field of p elements the polynomial is x - r, and x the number r; the least primitive root is
        // taken.
        (1..q).find_map(|low| {
            let powers = powers(p, q, if p == q { q - low } else { low })?;
            let mut logarithms = vec![0; q as usize];
            powers
                .iter()
                .enumerate()
                .for_each(|(exponent, &power)| logarithms[power as usize] = exponent as u32);
            Some(GaloisField { p, q, powers, logarithms })
        })
    }

    /// Returns a power of the primitive element.
    pub(crate) fn power(&self, exponent: u32) -> u32 {
        self.powers[(exponent % (self.q - 1)) as usize]
    }

    pub(crate) fn add(&self, a: u32, b: u32) -> u32 {
        self.digits(a, b, |a, b| (a + b) % self.p)
    }

    pub(crate) fn subtract(&self, a: u32, b: u32) -> u32 {
        self.digits(a, b, |a, b| (a + self.p - b) % self.p)
    }

    pub(crate) fn multiply(&self, a: u32, b: u32) -> u32 {
        if a == 0 || b == 0 {
            0
        } else {
            self.power(self.logarithms[a as usize] + self.logarithms[b as usize])
        }
    }

    /// Returns what `of` gives for each pair of digits.
    fn digits(&self, mut a: u32, mut b: u32, of: impl Fn(u32, u32) -> u32) -> u32 {
        let (mut result, mut place) = (0, 1);
        while place < self.q {
            result += of(a % self.p, b % self.p) * place;
            (a, b, place) = (a / self.p, b / self.p, place * self.p);
        }
        result
    }
}

/// Returns the powers of x modulo x^k + `low` (its lower coefficients as digits), if they are all q - 1
/// elements but zero.
fn powers(p: u32, q: u32, low: u32) -> Option<Vec<u32>> {
    let mut powers = vec![1];
    let mut power = 1;
    loop {
        // Times x: the digits move up, and the one that falls out comes back times -low.
        let (out, mut shifted) = (power / (q / p), power % (q / p) * p);
        let (mut place, mut rest) = (1, low);
        while place < q {
            let digit = shifted / place % p;
            let less = (digit + (p - rest % p) * out) % p;
            shifted = shifted - digit * place + less * place;
            (place, rest) = (place * p, rest / p);
        }
        power = shifted;
        match power {
            0 => return None,
            1 => return (powers.len() == q as usize - 1).then_some(powers),
            _ if powers.len() == q as usize - 1 => return None,
            _ => powers.push(power),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_obey_their_laws() {
        for q in [2, 3, 4, 5, 7, 8, 9, 16, 25, 27, 49, 64] {
            let field = GaloisField::new(q).unwrap();
            for a in 0..q {
                assert_eq!((field.add(a, 0), field.multiply(a, 1), field.subtract(a, a)), (a, a, 0), "q={q}");
                let mut products: Vec<u32> = (0..q).map(|b| field.multiply(a, b)).collect();
                products.sort_unstable();
                assert!(
                    a == 0 || products.into_iter().eq(0..q),
                    "q={q}: multiplying by {a} is not one to one"
                );
                for b in 0..q {
                    assert_eq!(field.add(a, b), field.add(b, a));
                    assert_eq!(field.add(field.subtract(a, b), b), a);
                    assert_eq!(field.multiply(a, b), field.multiply(b, a));
                    let c = (a * 5 + b * 3 + 1) % q;
                    assert_eq!(
                        field.multiply(c, field.add(a, b)),
                        field.add(field.multiply(c, a), field.multiply(c, b)),
                        "q={q}"
                    );
                    assert_eq!(
                        field.multiply(c, field.multiply(a, b)),
                        field.multiply(field.multiply(c, a), b),
                        "q={q}"
                    );
                }
            }
        }
        for q in [0, 1, 6, 12, 15, 100] {
            assert!(GaloisField::new(q).is_none(), "{q}");
        }
    }

    #[test]
    fn a_prime_field_counts_modulo_the_prime() {
        let field = GaloisField::new(13).unwrap();
        // 2 is the least primitive root of 13.
        assert_eq!(field.power(1), 2);
        assert!(
            (0..13)
                .all(|a| (0..13)
                    .all(|b| field.multiply(a, b) == a * b % 13 && field.add(a, b) == (a + b) % 13))
        );
    }
}
