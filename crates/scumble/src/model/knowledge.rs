//! Pieces of an adversary's knowledge spread over the classes of a release: what
//! [`super::ck_safety`] and [`super::privacy_skyline`] have in common.
//!
//! Both ask for the largest probability that a target has a sensitive value, over everything that
//! an adversary of a given strength may know. It is 1 / (1 + ρ), ρ the least odds against it. The
//! target is in one class, the knowledge may be about people of any class, and classes are
//! independent: ρ is the least product of one factor for each class.

use crate::exact::{Fraction, Ratio};

/// How many pieces of knowledge there are, of two kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pieces {
    pub known: usize,
    pub implied: usize,
}

impl Pieces {
    /// Number of amounts up to this.
    fn amounts(self) -> usize {
        (self.known + 1) * (self.implied + 1)
    }

    /// Every amount up to this, in the order of a [`Share`]'s factors.
    pub fn up_to(self) -> impl Iterator<Item = Pieces> {
        (0..=self.known)
            .flat_map(move |known| (0..=self.implied).map(move |implied| Pieces { known, implied }))
    }

    fn index(self, of: Pieces) -> usize {
        of.known * (self.implied + 1) + of.implied
    }
}

/// The factors of a class, for every amount of knowledge about its people.
#[derive(Clone, Debug)]
pub(super) struct Share {
    /// If the target is in it: least odds, the chance that the implied are all false included.
    pub target: Vec<Fraction>,
    /// If the target is elsewhere: least chance that the implied are all false.
    pub other: Vec<Fraction>,
}

/// The largest disclosure for every amount of knowledge up to `pieces`, in the order of
/// [`Pieces::up_to`]: over all ways to spread the pieces and to choose the target's class. None if
/// there is no class.
pub(super) fn disclosures(
    shares: impl IntoIterator<Item = Share>,
    pieces: Pieces,
) -> Vec<Fraction> {
    least_odds(shares, pieces).iter().flatten().map(disclosure).collect()
}

/// The least odds for every amount.
fn least_odds(shares: impl IntoIterator<Item = Share>, pieces: Pieces) -> Vec<Option<Fraction>> {
    let less = |best: &mut Option<Fraction>, found: Fraction| {
        if best.as_ref().is_none_or(|b| found < *b) {
            *best = Some(found);
        }
    };
    // By the amount that the classes so far may use: without the target, and with it.
    let mut without = vec![Fraction::whole(1); pieces.amounts()];
    let mut with: Vec<Option<Fraction>> = vec![None; pieces.amounts()];
    for share in shares {
        let (mut next_without, mut next_with) =
            (vec![None; pieces.amounts()], vec![None; pieces.amounts()]);
        for all in pieces.up_to() {
            let to = pieces.index(all);
            for here in all.up_to() {
                let rest =
                    Pieces { known: all.known - here.known, implied: all.implied - here.implied };
                let (here, before) = (pieces.index(here), pieces.index(rest));
                less(&mut next_without[to], without[before].times(&share.other[here]));
                less(&mut next_with[to], without[before].times(&share.target[here]));
                if let Some(with) = &with[before] {
                    less(&mut next_with[to], with.times(&share.other[here]));
                }
            }
        }
        without = next_without.into_iter().flatten().collect();
        with = next_with;
    }
    with
}

/// The probability that goes with the odds against it.
pub(super) fn disclosure(odds: &Fraction) -> Fraction {
    Fraction::whole(1).over(&odds.plus(&Fraction::whole(1)))
}

/// What single classes must do so that the whole release stays below a disclosure c.
///
/// Let ρ* = (1 − c)/c be the odds that must be exceeded and x any number. If in every class the
/// implied of j pieces are all false with a chance above xʲ, and the odds of a target in it, with j
/// of the m pieces, exceed ρ* / x^(m−j), then every product of one target's factor and factors of
/// other classes exceeds ρ*. The best x is that of equal classes in which every piece is about
/// another class, x^(m+1)/(1 − x) = ρ*; it is taken a little larger, as a fraction.
#[derive(Clone, Debug)]
pub(super) struct Part {
    implied: usize,
    c: Ratio,
    /// ρ*; nothing if c is 0, which no class can stay below.
    odds: Option<Fraction>,
    x: Fraction,
}

/// Denominator of x.
const STEPS: u64 = 1 << 10;

impl Part {
    pub fn new(c: Ratio, implied: usize) -> Part {
        let one = Fraction::whole(1);
        let odds = (c.num() > 0).then(|| one.less(&c.into()).over(&c.into()));
        let enough = |step: u64| {
            let x = Fraction::new(step, STEPS);
            odds.as_ref().is_none_or(|odds| x.power(implied + 1) >= odds.times(&one.less(&x)))
        };
        let (mut low, mut high) = (0, STEPS);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if enough(middle) { high = middle } else { low = middle }
        }
        Part { implied, c, odds, x: Fraction::new(high, STEPS) }
    }

    /// What a class may be blamed for: below c exactly if it does its part. The factors are by the
    /// number of implied.
    pub fn disclosure(&self, target: &[Fraction], other: &[Fraction]) -> Fraction {
        let last = self.implied;
        let least = match &self.odds {
            // Certainty must be excluded, or cannot be asked for: no class may have a factor of 0.
            None => target[last].clone(),
            Some(odds) if odds.is_zero() => target[last].clone().min(other[last].clone()),
            Some(odds) => {
                let here = (0..=last).map(|j| target[j].times(&self.x.power(last - j)));
                let elsewhere = (1..=last).map(|j| odds.times(&other[j]).over(&self.x.power(j)));
                here.chain(elsewhere).min().unwrap_or_else(|| Fraction::whole(0))
            }
        };
        disclosure(&least)
    }

    pub fn allows(&self, disclosure: &Fraction) -> bool {
        *disclosure < self.c.into()
    }
}
