//! The use of links over time: in equal stretches of virtual time, which are doubled whenever the run gets
//! longer than they reach.

/// Stretches.
// A kilobyte a port: fewer than ranks' series have, because the busiest link of a stretch needs all stretches
// of all links.
const BINS: usize = 128;
/// The first stretches have 2 to this power picoseconds, 66 ns: shorter ones would be of single packets.
const SHORTEST: u32 = 16;
/// Ports whose stretches are kept one by one: 64 MiB if all of them send.
const PORTS: usize = 1 << 16;

/// The use of links over virtual time, in ten-thousandths of each stretch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkSeries {
    /// The length of a stretch in picoseconds; the last ends with the run.
    pub bin_ps: u64,
    /// Share of each stretch that links were busy, averaged over all directions of all cables.
    pub mean: Vec<u16>,
    /// The link that was busy longest in that stretch; nothing of networks with more than 65,536 ports.
    pub most: Vec<u16>,
}

/// Picoseconds that links were busy.
pub(crate) struct OverTime {
    width: u32,
    /// By port and stretch; of too many ports that of all together.
    busy: Vec<u64>,
    /// `true` for each port that has sent anything; the rows of the others are never touched.
    used: Vec<bool>,
}

impl OverTime {
    /// Creates a record of `ports` ports, all idle. More than `PORTS` ports share one row.
    pub(crate) fn new(ports: usize) -> OverTime {
        let rows = if ports <= PORTS { ports } else { 1 };
        OverTime { width: SHORTEST, busy: vec![0; rows * BINS], used: vec![false; rows] }
    }

    fn has_each(&self) -> bool {
        self.used.len() > 1
    }

    /// Counts the link behind a port as busy from `from` on for `span` picoseconds; O(stretches that it
    /// reaches over).
    pub(crate) fn add(&mut self, port: u32, from: u64, span: u64) {
        if span == 0 {
            return;
        }
        let last = from + span - 1;
        while last >> self.width >= BINS as u64 {
            self.double();
        }
        let row = if self.has_each() { port as usize } else { 0 };
        self.used[row] = true;
        for bin in from >> self.width..=last >> self.width {
            let begin = (bin << self.width).max(from);
            // The last instant of the stretch, since its end may be that of time.
            let end = ((bin << self.width) | ((1 << self.width) - 1)).min(last);
            self.busy[row * BINS + bin as usize] += end - begin + 1;
        }
    }

    /// Counts the link behind a port as busy for `span` picoseconds, spread evenly between two times;
    /// O(stretches between them).
    pub(crate) fn spread(&mut self, port: u32, (from, to): (u64, u64), span: u64) {
        let length = to.saturating_sub(from);
        if span >= length {
            return self.add(port, from, span.min(u64::MAX - from));
        }
        while (to - 1) >> self.width >= BINS as u64 {
            self.double();
        }
        let row = if self.has_each() { port as usize } else { 0 };
        self.used[row] = true;
        let until = |time: u64| (u128::from(span) * u128::from(time - from) / u128::from(length)) as u64;
        for bin in from >> self.width..=(to - 1) >> self.width {
            let begin = (bin << self.width).max(from);
            let end = ((bin << self.width) | ((1 << self.width) - 1)).min(to - 1) + 1;
            self.busy[row * BINS + bin as usize] += until(end) - until(begin);
        }
    }

    fn double(&mut self) {
        for (row, _) in self.busy.chunks_exact_mut(BINS).zip(&self.used).filter(|(_, used)| **used) {
            for half in 0..BINS / 2 {
                row[half] = row[2 * half] + row[2 * half + 1];
            }
            row[BINS / 2..].fill(0);
        }
        self.width += 1;
    }

    /// Shares of the stretches up to `end` picoseconds, of so many links.
    pub(crate) fn series(&self, links: usize, end: u64) -> LinkSeries {
        // A run that goes on without packets has as many stretches as one with them: several are one then.
        let more = (0..).find(|more| end.div_ceil(1 << (self.width + more)) <= BINS as u64).unwrap_or(0);
        let width = self.width + more;
        let bins = end.div_ceil(1 << width);
        let length = |bin: u64| u128::from((1u64 << width).min(end - (bin << width)));
        // What is on a link ahead of its time at the run's end is not above all of it.
        let share = |ps: u128, whole: u128| ((ps * 10_000 + whole / 2) / whole.max(1)).min(10_000) as u16;
        let column = |bin: u64| {
            let within = (bin << more) as usize..(((bin + 1) << more) as usize).min(BINS);
            let rows = self.busy.chunks_exact(BINS).zip(&self.used).filter(|(_, used)| **used);
            rows.map(move |(row, _)| row.get(within.clone()).map_or(0, |ps| ps.iter().sum::<u64>()))
        };
        let mean = |bin: u64| share(column(bin).map(u128::from).sum(), length(bin) * links as u128);
        let most = |bin: u64| share(column(bin).max().unwrap_or(0).into(), length(bin));
        let all = |of: &dyn Fn(u64) -> u16| (0..bins).map(of).collect();
        LinkSeries {
            bin_ps: 1 << width,
            mean: all(&mean),
            most: if self.has_each() { all(&most) } else { Vec::new() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS: u64 = 1000;

    #[test]
    fn a_stretch_has_the_mean_of_all_links_and_the_busiest() {
        let mut links = OverTime::new(4);
        let bin = 1 << SHORTEST;
        // Two of four links: one all of the first stretch and half of the second, one a quarter of the
        // second.
        links.add(1, 0, bin + bin / 2);
        links.add(3, bin, bin / 4);
        let series = links.series(4, 2 * bin);
        assert_eq!((series.bin_ps, series.mean, series.most), (bin, vec![2500, 1875], vec![10_000, 5000]));
        assert_eq!(links.series(4, bin + bin / 2).mean, [2500, 3750], "the last stretch ends with the run");
        assert!(links.series(4, 0).mean.is_empty());
    }

    #[test]
    fn a_longer_run_has_longer_stretches() {
        let mut links = OverTime::new(2);
        links.add(0, 0, 100 * NS);
        links.add(0, 20_000 * NS, 400 * NS);
        let series = links.series(2, 78 << 18);
        // 128 stretches of 131 ns do not reach to 20.4 us, those of 262 ns do.
        assert_eq!((series.bin_ps, series.mean.len()), (262_144, 78));
        // 100 of 262.144 ns; the second packet begins in the middle of a stretch and ends in the next but
        // one.
        assert_eq!((series.most[0], series.most[1]), (3815, 0));
        let busy: f64 = series.most.iter().map(|&part| f64::from(part) * 26.2144).sum();
        assert!((busy - 500_000.0).abs() < 100.0, "{busy}");
    }

    #[test]
    fn what_follows_without_packets_is_there_too() {
        let mut links = OverTime::new(2);
        links.add(0, 0, 1 << SHORTEST);
        let series = links.series(2, 200 << SHORTEST);
        assert_eq!(
            (series.bin_ps, series.most.len(), &series.most[..2]),
            (2 << SHORTEST, 100, &[5000, 0][..])
        );
    }

    #[test]
    fn of_very_many_ports_there_is_the_mean_alone() {
        let mut links = OverTime::new(PORTS + 1);
        (0..PORTS as u32 + 1).for_each(|port| links.add(port, 0, 1 << (SHORTEST - 1)));
        let series = links.series(PORTS + 1, 1 << SHORTEST);
        assert_eq!((series.mean, series.most), (vec![5000], vec![]));
    }

    #[test]
    fn what_is_spread_adds_up() {
        let mut links = OverTime::new(2);
        let bin = 1 << SHORTEST;
        links.spread(0, (bin / 2, 2 * bin + bin / 2), bin);
        links.spread(1, (0, 10), 10);
        assert_eq!(links.busy[..3], [bin / 4, bin / 2, bin / 4]);
        assert_eq!(links.busy[BINS], 10);
    }

    #[test]
    fn the_end_of_time_is_within() {
        let mut links = OverTime::new(2);
        links.add(0, u64::MAX - 5, 5);
        assert_eq!((links.width, links.busy[BINS - 1]), (57, 5));
    }
}
