//! Draws: the number of a parameter in a run is a function of seed, name and run, and of nothing else.
//!
//! So another parameter changes no column, and any run can be made again alone, on any machine, in any order. The bits come from
//! Philox 4×32 with ten rounds (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011); elementary
//! functions are the project's own, so that the same draw has the same bits everywhere.

use leastaction_core::scalar::elementary::{exp, ln};

/// How the values of a parameter are spread.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// Between two numbers, all alike.
    Uniform(f64, f64),
    /// Mean and standard deviation.
    Normal(f64, f64),
    /// Between two numbers greater than zero; the logarithm is uniform.
    LogUniform(f64, f64),
    /// One of these.
    Values(Vec<f64>),
    /// One of so many equidistant numbers from the first to the second.
    Linspace(f64, f64, u64),
}

impl Law {
    /// Number of values, where they can be counted.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        match self {
            Self::Values(list) => Some(list.len() as u64),
            Self::Linspace(_, _, n) => Some(*n),
            _ => None,
        }
    }

    /// The value of that number; not a number for laws that can't be counted.
    #[must_use]
    pub fn at(&self, index: u64) -> f64 {
        match *self {
            Self::Values(ref list) => list.get(index as usize).copied().unwrap_or(f64::NAN),
            // The last one as it was written.
            Self::Linspace(_, to, n) if n > 1 && index + 1 == n => to,
            Self::Linspace(from, to, n) => from + (to - from) * (index as f64 / (n.max(2) - 1) as f64),
            _ => f64::NAN,
        }
    }

    /// What comes of 53 random bits.
    fn of_bits(&self, bits: u64) -> f64 {
        let unit = bits as f64 * UNIT;
        match *self {
            Self::Uniform(from, to) => (from + (to - from) * unit).min(to),
            Self::Normal(mean, deviation) => mean + deviation * normal_quantile((bits as f64 + 0.5) * UNIT),
            Self::LogUniform(from, to) => exp(ln(from) + (ln(to) - ln(from)) * unit).clamp(from, to),
            Self::Values(_) | Self::Linspace(..) => {
                let n = self.count().unwrap_or(1);
                self.at(((unit * n as f64) as u64).min(n.saturating_sub(1)))
            }
        }
    }
}

/// 2⁻⁵³.
const UNIT: f64 = 1.0 / 9007199254740992.0;

/// The number of parameter `name` in a run.
#[must_use]
pub fn draw(seed: u64, name: &str, run: u64, law: &Law) -> f64 {
    #[cfg(feature = "sabotage")]
    let seed = if leastaction_core::sabotage::chosen(leastaction_core::sabotage::Fault::DrawCount) {
        static DRAWN: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        seed + DRAWN.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    } else {
        seed
    };
    law.of_bits(bits(seed, name, run))
}

/// 53 random bits: the seed is the key; run and name are the counter.
fn bits(seed: u64, name: &str, run: u64) -> u64 {
    let name = super::hash(name.as_bytes());
    let halves = |x: u64| [x as u32, (x >> 32) as u32];
    let [r0, r1] = halves(run);
    let [n0, n1] = halves(name);
    let out = philox([r0, r1, n0, n1], halves(seed));
    ((u64::from(out[0]) << 32) | u64::from(out[1])) >> 11
}

/// Philox 4×32-10.
fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    let product = |a: u32, b: u32| {
        let wide = u64::from(a) * u64::from(b);
        ((wide >> 32) as u32, wide as u32)
    };
    for round in 0..10 {
        if round > 0 {
            key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
        }
        let (high0, low0) = product(0xD251_1F53, counter[0]);
        let (high1, low1) = product(0xCD9E_8D57, counter[2]);
        counter = [high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0];
    }
    counter
}

/// Inverse of the normal distribution, to about 16 digits: rational functions of Wichura, "Algorithm AS 241: the percentage
/// points of the normal distribution", Applied Statistics 37 (1988), whose coefficients these are.
fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 8] = [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ];
    const B: [f64; 8] = [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ];
    const C: [f64; 8] = [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        7.745_450_142_783_414e-4,
    ];
    const D: [f64; 8] = [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ];
    const E: [f64; 8] = [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ];
    const F: [f64; 8] = [
        1.0,
        0.599832206555888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.0442631033899397e-15,
    ];
    let value = |c: &[f64; 8], x: f64| c.iter().rev().fold(0.0, |sum, c| sum * x + c);
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * value(&A, r) / value(&B, r);
    }
    let r = (-ln(if q < 0.0 { p } else { 1.0 - p })).sqrt();
    let size = if r <= 5.0 {
        value(&C, r - 1.6) / value(&D, r - 1.6)
    } else {
        value(&E, r - 5.0) / value(&F, r - 5.0)
    };
    if q < 0.0 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers of the authors' Random123 library.
    #[test]
    fn philox_gives_the_known_answers_of_its_authors() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            philox([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    /// The file is made by `tests/draws.py`, which shares nothing with this program.
    #[test]
    fn the_first_hundred_draws_equal_those_of_another_program() {
        let laws = [
            ("uniform", Law::Uniform(-0.3, 0.3)),
            ("normal", Law::Normal(1.0, 0.1)),
            ("log_uniform", Law::LogUniform(0.5, 2.0)),
            ("values", Law::Values(vec![0.0, 1.0, 2.0])),
            ("linspace", Law::Linspace(-9.9, -9.7, 3)),
        ];
        let text = include_str!("../../tests/draws.csv");
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("run,uniform,normal,log_uniform,values,linspace"));
        for (run, line) in lines.enumerate() {
            let mut cells = line.split(',').skip(1).map(|cell| cell.parse::<f64>().unwrap());
            for (name, law) in &laws {
                let (ours, theirs) = (draw(7, name, run as u64, law), cells.next().unwrap());
                // Uniform draws and choices are exact; logarithms of another library differ in the last digits.
                let allowed = if matches!(law, Law::Normal(..) | Law::LogUniform(..)) { 4e-15 } else { 0.0 };
                assert!((ours - theirs).abs() <= allowed * ours.abs(), "{name} {run}: {ours} {theirs}");
            }
        }
        assert_eq!(text.lines().count(), 101);
    }

    /// Largest distance of the empirical distribution from the true one, times √n.
    fn kolmogorov(law: &Law, distribution: impl Fn(f64) -> f64, n: u64) -> f64 {
        let mut drawn: Vec<f64> = (0..n).map(|run| draw(42, "bodies.pole.mass", run, law)).collect();
        drawn.sort_by(f64::total_cmp);
        let far = drawn.iter().enumerate().map(|(i, x)| {
            let (below, above) = (i as f64 / n as f64, (i + 1) as f64 / n as f64);
            let p = distribution(*x);
            (p - below).abs().max((above - p).abs())
        });
        far.fold(0.0, f64::max) * (n as f64).sqrt()
    }

    /// Kolmogorov's limit for p = 1e-4 is 2.225.
    #[test]
    fn a_million_draws_are_spread_as_their_law_says() {
        let n = 1_000_000;
        assert!(kolmogorov(&Law::Uniform(-1.0, 3.0), |x| (x + 1.0) / 4.0, n) < 2.225);
        let log = |x: f64| (x / 0.5).ln() / 4f64.ln();
        assert!(kolmogorov(&Law::LogUniform(0.5, 2.0), log, n) < 2.225);
        // The normal distribution by its own inverse: halving an interval that brackets the probability.
        let normal = |x: f64| {
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..40 {
                let middle = 0.5 * (low + high);
                if normal_quantile(middle) < x { low = middle } else { high = middle }
            }
            0.5 * (low + high)
        };
        assert!(kolmogorov(&Law::Normal(0.0, 1.0), normal, 100_000) < 2.225);
        let law = Law::Values(vec![0.0, 1.0, 2.0]);
        let mut counts = [0.0; 3];
        (0..n).for_each(|run| counts[draw(42, "inputs.push", run, &law) as usize] += 1.0);
        let third = n as f64 / 3.0;
        let chi: f64 = counts.iter().map(|c| (c - third) * (c - third) / third).sum();
        assert!(chi < 18.4, "{counts:?}");
    }

    #[test]
    fn grids_hit_their_ends_and_names_do_not_share_draws() {
        let law = Law::Linspace(-9.9, -9.7, 3);
        assert_eq!([0, 1, 2].map(|i| law.at(i)), [-9.9, -9.8, -9.7]);
        assert_eq!(Law::Linspace(0.3, 0.1, 7).at(6), 0.1);
        assert_ne!(bits(1, "a", 0), bits(1, "b", 0));
        assert_ne!(bits(1, "a", 0), bits(2, "a", 0));
        assert_ne!(bits(1, "a", 0), bits(1, "a", 1));
    }

    #[test]
    fn quantiles_are_those_of_tables() {
        for (p, x) in
            [(0.5, 0.0), (0.975, 1.959963984540054), (1e-10, -6.361340902404056), (0.001, -3.090232306167813)]
        {
            assert!((normal_quantile(p) - x).abs() < 2e-15 * x.abs().max(1.0), "{p}");
        }
        assert!(normal_quantile(0.5 * UNIT).is_finite() && normal_quantile(1.0 - UNIT).is_finite());
    }
}
