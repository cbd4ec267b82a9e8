//! What a list of answers costs together.
//!
//! # Method
//!
//! Every answer has a price ([`Spend`]). There are several theorems about what prices come to
//! together, none of them best for all lists, and each holds by itself: so all that apply are
//! computed and the smallest is the answer.
//!
//! | bound | ε for a list of εᵢ at δ | adaptive |
//! | --- | --- | --- |
//! | basic | Σ εᵢ, with Σ δᵢ | yes |
//! | advanced | √(2 ln(1/δ) Σ εᵢ²) + Σ εᵢ(e^εᵢ − 1) | no |
//! | kairouz | √(2 ln(1/δ) Σ εᵢ²) + Σ εᵢ(e^εᵢ − 1)/(e^εᵢ + 1) | no |
//! | zcdp | ρ + 2√(ρ ln(1/δ)), ρ = Σ ρᵢ, where ε-privacy has ρ = ε²/2 | yes |
//! | zcdp-tight | the least over α of (αρ + ln(1/δα)/(α−1) + ln(1 − 1/α)) | yes |
//! | rdp | the same over Rényi orders, each answer with its own curve | yes, at an order fixed beforehand |
//! | optimal | the exact worst case of ε-private answers, by counting | no |
//!
//! *Adaptive* says whether the bound holds when later prices are chosen after seeing earlier
//! answers, as in a budget that lasts; the others hold for a batch whose prices are fixed
//! beforehand. Answers about disjoint sets of persons cost as much as the dearest of them
//! ([`parallel`]).
//!
//! # Guarantee
//!
//! `basic` is computed in fractions. The others are computed in floating point and rounded up by
//! more than the error of the computation, so that a bound is never below the theorem's value.
//! `optimal` rounds prices up to a common grid.
//!
//! # Cost
//!
//! Linear in the number of answers; `optimal` also in the number of grid points, at most 40 000 per
//! answer.
//!
//! # Reference
//!
//! Dwork, Rothblum, Vadhan, *Boosting and differential privacy*, 2010; Kairouz, Oh, Viswanath, *The
//! composition theorem for differential privacy*, 2015; Murtagh, Vadhan, *The complexity of
//! computing the optimal composition*, 2016; Bun, Steinke, *Concentrated differential privacy*,
//! 2016; Mironov, *Rényi differential privacy*, 2017; Canonne, Kamath, Steinke, *The discrete
//! Gaussian for differential privacy*, 2020; Whitehouse, Ramdas, Rogers, Wu, *Fully adaptive
//! composition*, 2023.

use crate::exact::Fraction;

/// The price of one answer, for the privacy unit and neighbour relation of the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spend {
    /// ε-differential privacy.
    Pure {
        /// ε.
        epsilon: Fraction,
    },
    /// Discrete Laplace noise on one whole number that a person changes by at most `sensitivity`: ε
    /// is their quotient, and its Rényi curve is known exactly.
    Laplace {
        /// A whole number.
        sensitivity: Fraction,
        /// Scale of the noise.
        scale: Fraction,
    },
    /// ρ-zero-concentrated differential privacy, as Gaussian noise gives it, and one (ε, δ) that it
    /// is worth.
    Gaussian {
        /// ρ.
        rho: Fraction,
        /// ε.
        epsilon: Fraction,
        /// δ.
        delta: Fraction,
    },
    /// (ε, δ)-differential privacy.
    Approximate {
        /// ε.
        epsilon: Fraction,
        /// δ.
        delta: Fraction,
    },
}

impl Spend {
    /// ε, with [`Spend::delta`].
    pub fn epsilon(&self) -> Fraction {
        match self {
            Spend::Pure { epsilon }
            | Spend::Approximate { epsilon, .. }
            | Spend::Gaussian { epsilon, .. } => epsilon.clone(),
            Spend::Laplace { sensitivity, scale } => sensitivity.over(scale),
        }
    }

    /// The probability with which ε is not promised.
    pub fn delta(&self) -> Fraction {
        match self {
            Spend::Approximate { delta, .. } | Spend::Gaussian { delta, .. } => delta.clone(),
            _ => Fraction::whole(0),
        }
    }

    /// The probability with which not even ρ is promised.
    pub fn slack(&self) -> Fraction {
        match self {
            Spend::Approximate { delta, .. } => delta.clone(),
            _ => Fraction::whole(0),
        }
    }

    /// ρ of zero-concentrated differential privacy; it holds but for [`Spend::slack`].
    pub fn rho(&self) -> Fraction {
        match self {
            Spend::Gaussian { rho, .. } => rho.clone(),
            _ => {
                let epsilon = self.epsilon();
                epsilon.times(&epsilon).times(&Fraction::new(1u8, 2u8))
            }
        }
    }

    /// The Rényi divergence of order α that the price allows.
    pub fn rdp(&self, alpha: f64) -> f64 {
        match self {
            Spend::Gaussian { rho, .. } => alpha * rho.to_f64(),
            Spend::Laplace { sensitivity, scale } => {
                rdp_discrete_laplace(alpha, sensitivity.to_f64(), scale.to_f64())
            }
            Spend::Pure { epsilon } | Spend::Approximate { epsilon, .. } => {
                rdp_pure(alpha, epsilon.to_f64())
            }
        }
    }
}

/// One theorem's word on a list of prices.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Name of the theorem.
    pub name: &'static str,
    /// ε at the δ asked for; nothing if the theorem says nothing about such a list.
    pub epsilon: Option<f64>,
    /// Whether it holds for prices chosen after seeing earlier answers.
    pub adaptive: bool,
}

/// Every theorem's word on a list of prices, at this δ.
pub fn bounds(spends: &[Spend], delta: &Fraction) -> Vec<Bound> {
    let sum = |of: &dyn Fn(&Spend) -> Fraction| {
        spends.iter().fold(Fraction::whole(0), |a, s| a.plus(&of(s)))
    };
    let (given, slack) = (sum(&Spend::delta), sum(&Spend::slack));
    let epsilons: Vec<Fraction> = spends.iter().map(Spend::epsilon).collect();
    let floats: Vec<f64> = epsilons.iter().map(Fraction::to_f64).collect();
    let basic = (given <= *delta).then(|| sum(&Spend::epsilon).to_f64());
    // What is left of δ for the theorem itself.
    let beyond = |spent: &Fraction, bound: &dyn Fn(f64) -> f64| {
        let left = delta.less(spent).to_f64();
        (left > 0.0).then(|| up(bound(left)))
    };
    let rho = sum(&Spend::rho).to_f64();
    let of = |name, epsilon, adaptive| Bound { name, epsilon, adaptive };
    vec![
        of("basic", basic, true),
        of("advanced", beyond(&given, &|d| advanced(&floats, d)), false),
        of("kairouz", beyond(&given, &|d| kairouz(&floats, d)), false),
        of("zcdp", beyond(&slack, &|d| zcdp(rho, d)), true),
        of("zcdp-tight", beyond(&slack, &|d| zcdp_tight(rho, d)), true),
        of("rdp", beyond(&slack, &|d| rdp(spends, d)), false),
        of("optimal", beyond(&given, &|d| optimal(&epsilons, d)), false),
    ]
}

/// The smallest of the bounds, or nothing if none applies (δ is 0 or used up, and something needs
/// one).
pub fn total(spends: &[Spend], delta: &Fraction) -> Option<Bound> {
    let known = bounds(spends, delta).into_iter().filter(|b| b.epsilon.is_some());
    known.min_by(|a, b| {
        a.epsilon.unwrap_or(f64::INFINITY).total_cmp(&b.epsilon.unwrap_or(f64::INFINITY))
    })
}

/// The price of answers about disjoint sets of persons: the dearest ε, δ and ρ of them. Nothing for
/// no answers.
pub fn parallel(spends: &[Spend]) -> Option<Spend> {
    let most = |of: &dyn Fn(&Spend) -> Fraction| spends.iter().map(of).max();
    if let [first, rest @ ..] = spends
        && rest.iter().all(|s| s == first)
    {
        return Some(first.clone());
    }
    let (epsilon, delta) = (most(&Spend::epsilon)?, most(&Spend::delta)?);
    if spends.iter().all(|s| matches!(s, Spend::Gaussian { .. })) {
        return Some(Spend::Gaussian { rho: most(&Spend::rho)?, epsilon, delta });
    }
    Some(if delta.is_zero() {
        Spend::Pure { epsilon }
    } else {
        Spend::Approximate { epsilon, delta }
    })
}

/// A little more than a computed bound: the computations here are wrong by less than one part in
/// 10¹².
fn up(x: f64) -> f64 {
    x * (1.0 + 1e-11)
}

/// Dwork, Rothblum and Vadhan 2010, for different ε.
fn advanced(epsilons: &[f64], delta: f64) -> f64 {
    let squares: f64 = epsilons.iter().map(|e| e * e).sum();
    (2.0 * (1.0 / delta).ln() * squares).sqrt()
        + epsilons.iter().map(|e| e * e.exp_m1()).sum::<f64>()
}

/// Kairouz, Oh and Viswanath 2015, Theorem 3.5 in its closed form.
fn kairouz(epsilons: &[f64], delta: f64) -> f64 {
    let squares: f64 = epsilons.iter().map(|e| e * e).sum();
    let drift: f64 = epsilons.iter().map(|e| e * (e / 2.0).tanh()).sum();
    let log = (1.0 / delta).ln().min((std::f64::consts::E + squares.sqrt() / delta).ln());
    (drift + (2.0 * log * squares).sqrt()).min(epsilons.iter().sum())
}

/// Bun and Steinke 2016, Proposition 1.3.
pub fn zcdp(rho: f64, delta: f64) -> f64 {
    rho + 2.0 * (rho * (1.0 / delta).ln()).sqrt()
}

/// Canonne, Kamath and Steinke 2020, Corollary 13, at the best order that a search finds: every
/// order gives a bound.
pub fn zcdp_tight(rho: f64, delta: f64) -> f64 {
    if rho == 0.0 {
        return 0.0;
    }
    let at = |log: f64| renyi_to_epsilon(1.0 + log.exp(), (1.0 + log.exp()) * rho, delta);
    // The bound falls, then rises, in the logarithm of α − 1.
    let (mut low, mut high) = (-20.0f64, 40.0f64);
    for _ in 0..200 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if at(a) <= at(b) { high = b } else { low = a }
    }
    at((low + high) / 2.0).min(zcdp(rho, delta)).max(0.0)
}

/// The ε that a Rényi divergence of order α means at δ: Canonne, Kamath and Steinke 2020,
/// Proposition 12.
fn renyi_to_epsilon(alpha: f64, divergence: f64, delta: f64) -> f64 {
    divergence + (-1.0 / alpha).ln_1p() - (delta * alpha).ln() / (alpha - 1.0)
}

/// The orders of the Rényi bound.
fn orders() -> impl Iterator<Item = f64> {
    (1..=400).map(|i| 1.0 + (f64::from(i) * 0.04 - 5.0).exp())
}

/// The best order of all, each answer with its own curve.
fn rdp(spends: &[Spend], delta: f64) -> f64 {
    let at = |alpha: f64| {
        let divergence: f64 = spends.iter().map(|s| s.rdp(alpha)).sum();
        renyi_to_epsilon(alpha, divergence, delta)
    };
    orders().map(at).filter(|e| e.is_finite()).fold(f64::INFINITY, f64::min).max(0.0)
}

/// The Rényi divergence of Gaussian noise of deviation σ on a number that changes by 1.
pub fn rdp_gaussian(alpha: f64, sigma: f64) -> f64 {
    alpha / (2.0 * sigma * sigma)
}

/// That of continuous Laplace noise of scale b: Mironov 2017, Table II.
pub fn rdp_laplace(alpha: f64, b: f64) -> f64 {
    let (up, down) = ((alpha - 1.0) / b, -alpha / b);
    let weights = [(alpha / (2.0 * alpha - 1.0)).ln(), ((alpha - 1.0) / (2.0 * alpha - 1.0)).ln()];
    log_sum(&[weights[0] + up, weights[1] + down]) / (alpha - 1.0)
}

/// That of any ε-private answer, which is at most that of randomized response.
pub fn rdp_pure(alpha: f64, epsilon: f64) -> f64 {
    // p^α q^(1−α) + q^α p^(1−α) with p = e^ε / (1 + e^ε).
    let ln_p = -(-epsilon).exp().ln_1p();
    let ln_q = ln_p - epsilon;
    (log_sum(&[alpha * ln_p + (1.0 - alpha) * ln_q, alpha * ln_q + (1.0 - alpha) * ln_p])
        / (alpha - 1.0))
        .max(0.0)
}

/// That of discrete Laplace noise on a whole number that changes by `shift`: the three parts of the
/// sum, below both centres, above both, and between them, are geometric series.
pub fn rdp_discrete_laplace(alpha: f64, shift: f64, scale: f64) -> f64 {
    let rate = 1.0 / scale;
    let below = (alpha - 1.0) * shift * rate;
    let above = -alpha * shift * rate;
    let ends = -(-rate).exp_m1();
    // Σ for k = 1 … shift − 1 of e^(below − (2α−1)·rate·k).
    let step = (2.0 * alpha - 1.0) * rate;
    let between = below - step + ((-(-(shift - 1.0) * step).exp_m1()) / (-(-step).exp_m1())).ln();
    let outer = [below - ends.ln(), above - ends.ln()];
    let sum = if shift > 1.0 { log_sum(&[outer[0], outer[1], between]) } else { log_sum(&outer) };
    let weight = ends.ln() - (-rate).exp().ln_1p();
    ((sum + weight) / (alpha - 1.0)).max(0.0)
}

/// ln Σ e^xᵢ.
fn log_sum(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + logs.iter().map(|x| (x - most).exp()).sum::<f64>().ln()
}

/// Most grid points between 0 and the sum of the prices.
const GRID: f64 = 40_000.0;

/// The smallest ε at which ε-private answers together are (ε, δ)-private in the worst case, which
/// is that all of them are randomized responses: the loss is a sum of ±εᵢ, so its distribution is
/// counted on a grid that holds every εᵢ, or that every εᵢ is rounded up to.
fn optimal(epsilons: &[Fraction], delta: f64) -> f64 {
    let sum = epsilons.iter().fold(Fraction::whole(0), |a, b| a.plus(b));
    if sum.is_zero() {
        return 0.0;
    }
    let denominator = epsilons.iter().fold(1u128, |lcm, e| common(lcm, e).unwrap_or(u128::MAX));
    let exact = Fraction::new(1u8, denominator);
    let fits = sum.over(&exact).to_f64() <= GRID;
    let step = if fits { exact.to_f64() } else { sum.to_f64() / GRID };
    let count = |e: &Fraction| match fits {
        true => e.over(&exact).to_f64().round() as usize,
        false => (e.to_f64() / step * (1.0 + 1e-12)).ceil() as usize,
    };
    let points: Vec<usize> = epsilons.iter().map(count).filter(|&n| n > 0).collect();
    smallest_epsilon(&losses(&points, step), step, delta)
}

/// The least common multiple of a number and the denominator of a fraction, if it is small.
fn common(lcm: u128, e: &Fraction) -> Option<u128> {
    let den = u128::try_from(e.den().clone()).ok()?;
    lcm.checked_mul(den / crate::exact::gcd(lcm, den))
}

/// The distribution of the loss Σ ±nᵢ steps, from −total to total: + with probability e^ε / (1 +
/// e^ε).
fn losses(points: &[usize], step: f64) -> Vec<f64> {
    let total: usize = points.iter().sum();
    // Index i stands for a loss of 2i − total steps: what is added for a plus is nᵢ places.
    let mut chance = vec![0.0f64; total + 1];
    chance[0] = 1.0;
    let mut reach = 0;
    for &n in points {
        let minus = 1.0 / (1.0 + (n as f64 * step).exp());
        let plus = 1.0 - minus;
        for i in (0..=reach).rev() {
            let here = chance[i];
            chance[i] = 0.0;
            // From the top down, so that what is put further up is not moved again.
            chance[i + n] += here * plus;
            chance[i] += here * minus;
        }
        reach += n;
    }
    chance
}

/// The smallest ε with Σ P(loss)·max(0, 1 − e^(ε − loss)) ≤ δ.
fn smallest_epsilon(chance: &[f64], step: f64, delta: f64) -> f64 {
    let total = chance.len() - 1;
    let loss = |i: usize| (2.0 * i as f64 - total as f64) * step;
    let excess = |epsilon: f64| {
        let above = (0..=total).rev().take_while(|&i| loss(i) > epsilon);
        above.map(|i| chance[i] * -(epsilon - loss(i)).exp_m1()).sum::<f64>()
    };
    // The chances are sums of positive products; so many roundings are allowed for.
    let delta = delta * (1.0 - 1e-9);
    let (mut low, mut high) = (0.0, loss(total));
    if excess(low) <= delta {
        return 0.0;
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if excess(middle) <= delta { high = middle } else { low = middle }
    }
    high
}
