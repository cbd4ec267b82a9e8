//! Slow twins of what the crate computes cleverly: nothing here shares code with it, apart from the
//! ladder of the taxonomy (`at_level`), on which the taxonomy's own laws are checked.

use super::cases::Case;
use scumble::algorithm::{Goal, Requirement};
use scumble::class::{EquivalenceClass, Histogram, Run};
use scumble::exact::Ratio;
use scumble::table::{Distribution, Table};
use scumble::taxonomy::Taxonomy;
use std::collections::BTreeMap;

/// A natural number of any size: base 2^32, lowest digit first.
#[derive(PartialEq, Eq)]
pub struct Big(Vec<u32>);

impl Big {
    pub fn product(factors: impl IntoIterator<Item = u64>) -> Big {
        let mut digits = vec![1u32];
        for factor in factors {
            let mut carry = 0u128;
            for d in &mut digits {
                let x = u128::from(*d) * u128::from(factor) + carry;
                *d = x as u32;
                carry = x >> 32;
            }
            while carry > 0 {
                digits.push(carry as u32);
                carry >>= 32;
            }
        }
        while digits.last() == Some(&0) {
            digits.pop();
        }
        Big(digits)
    }

    pub fn at_least(&self, other: &Big) -> bool {
        (self.0.len(), self.0.iter().rev().collect::<Vec<_>>())
            >= (other.0.len(), other.0.iter().rev().collect::<Vec<_>>())
    }
}

/// Entropy at least ln(p/q), as (q·n)ⁿ ≥ pⁿ·Π cᶜ written out factor by factor.
pub fn entropy_at_least(counts: &[u64], p: u64, q: u64) -> bool {
    let n: u64 = counts.iter().sum();
    let times = |x: u64, n: u64| (0..n).map(move |_| x);
    let left = Big::product(times(q, n).chain(times(n, n)));
    let right = Big::product(times(p, n).chain(counts.iter().flat_map(|&c| times(c, c))));
    left.at_least(&right)
}

/// The cheapest way to carry supplies to demands (equal in sum): successive shortest paths, Bellman
/// and Ford.
pub fn transport(supply: &[i64], demand: &[i64], cost: impl Fn(usize, usize) -> i64) -> i64 {
    let n = supply.len();
    let (source, sink, nodes) = (2 * n, 2 * n + 1, 2 * n + 2);
    let mut edges: Vec<(usize, usize, i64, i64)> = Vec::new(); // from, to, room, cost; the next one is its reverse
    let mut edge =
        |from, to, room, cost: i64| edges.extend([(from, to, room, cost), (to, from, 0, -cost)]);
    for i in 0..n {
        edge(source, i, supply[i], 0);
        edge(n + i, sink, demand[i], 0);
        (0..n).for_each(|j| edge(i, n + j, i64::MAX / 4, cost(i, j)));
    }
    let mut paid = 0;
    loop {
        let mut best: Vec<Option<(i64, usize)>> = vec![None; nodes]; // price and last edge of the cheapest way there
        best[source] = Some((0, usize::MAX));
        for _ in 0..nodes {
            for (e, &(from, to, room, cost)) in edges.iter().enumerate() {
                if let Some((price, _)) = best[from].filter(|_| room > 0)
                    && best[to].is_none_or(|(p, _)| price + cost < p)
                {
                    best[to] = Some((price + cost, e));
                }
            }
        }
        let Some((price, _)) = best[sink] else { return paid };
        let mut path = Vec::new();
        let mut at = sink;
        while at != source {
            let (_, e) = best[at].expect("on the path");
            path.push(e);
            at = edges[e].0;
        }
        let flow = path.iter().map(|&e| edges[e].2).min().expect("a path has edges");
        for e in path {
            edges[e].2 -= flow;
            edges[e ^ 1].2 += flow;
        }
        paid += flow * price;
    }
}

/// The lowest level at which all these leaves are under one node.
pub fn meeting_level(taxonomy: &Taxonomy, leaves: &[u32]) -> usize {
    (0..=taxonomy.levels())
        .find(|&l| {
            leaves.windows(2).all(|w| taxonomy.at_level(w[0], l) == taxonomy.at_level(w[1], l))
        })
        .expect("all leaves meet at the root")
}

/// Earth mover's distance as a fraction, by solving the transport problem.
pub fn earth_mover(
    distance: &str,
    class: &BTreeMap<u32, u64>,
    table: &Distribution,
) -> (u128, u128) {
    let codes: Vec<u32> =
        (0..table.counts.len() as u32).filter(|&c| table.counts[c as usize] > 0).collect();
    let in_class = |c: &u32| class.get(c).copied().unwrap_or(0) as i64;
    let (n, total): (u64, u64) = (class.values().sum(), table.counts.iter().sum());
    let supply: Vec<i64> = codes.iter().map(|c| in_class(c) * total as i64).collect();
    let demand: Vec<i64> = codes.iter().map(|&c| (table.counts[c as usize] * n) as i64).collect();
    let (unit, cost) = match distance {
        "equal" => (1, transport(&supply, &demand, |i, j| i64::from(i != j))),
        "ordered" => {
            (codes.len().max(2) - 1, transport(&supply, &demand, |i, j| i.abs_diff(j) as i64))
        }
        "hierarchical" => {
            let apart =
                |i: usize, j: usize| meeting_level(&table.taxonomy, &[codes[i], codes[j]]) as i64;
            (table.taxonomy.levels(), transport(&supply, &demand, apart))
        }
        other => panic!("no twin of the distance `{other}`"),
    };
    (cost as u128, u128::from(n) * u128::from(total) * unit as u128)
}

/// Whether records (rows with counts) keep a requirement as one class. Models without a twin judge
/// themselves.
pub fn keeps(r: &Requirement, table: &Table, region: &[Run], rows: &[(u32, u64)]) -> bool {
    let size: u64 = rows.iter().map(|(_, n)| n).sum();
    let mut histogram: BTreeMap<u32, u64> = BTreeMap::new();
    for &(row, n) in rows {
        let code = table.sensitive_codes[r.attribute.unwrap_or(0)][row as usize];
        *histogram.entry(code).or_default() += n;
    }
    let mut counts: Vec<u64> = histogram.values().copied().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    match r.name {
        "k-anonymity" => size >= r.parameters.count("k"),
        "distinct-l-diversity" => counts.len() as u64 >= r.parameters.count("l"),
        "entropy-l-diversity" => {
            let (p, q) = fraction(r.parameters.number("l"));
            entropy_at_least(&counts, p, q)
        }
        "recursive-l-diversity" => {
            let (p, q) = fraction(r.parameters.number("c"));
            let rest: u64 = counts.iter().skip(r.parameters.count("l") as usize - 1).sum();
            counts[0] * q < p * rest
        }
        "t-closeness" => {
            let (p, q) = fraction(r.parameters.number("t"));
            let whole = &table.distributions()[r.attribute.unwrap_or(0)];
            let (cost, unit) = earth_mover(r.parameters.word("distance"), &histogram, whole);
            cost * u128::from(q) <= u128::from(p) * unit
        }
        "k-map" => candidates(r, table, region, size) >= r.parameters.count("k"),
        "delta-presence" => {
            let (f, people) = (u128::from(size), u128::from(candidates(r, table, region, size)));
            let (min, max) = (r.parameters.number("min"), r.parameters.number("max"));
            let outside = people_of(r, table).iter().any(|(who, _)| !fits(table, region, who));
            f * max.den() <= people * max.num()
                && f * min.den() >= people * min.num()
                && (min.num() == 0 || !outside)
        }
        "average-risk" => {
            let (p, q) = fraction(r.parameters.number("threshold"));
            q <= p * candidates(r, table, region, size)
        }
        "population-uniqueness" => size > 1 || r.parameters.number("threshold") == Ratio::whole(1),
        "bayes-optimal" => largest_change(r, table, region, &histogram)
            .is_some_and(|change| change <= r.parameters.number("theta")),
        "alpha-k-anonymity" => {
            let (p, q) = fraction(r.parameters.number("alpha"));
            let listed = r.parameters.list("values");
            let limited = |code: &u32| listed.is_empty() || named(r, table, *code, listed);
            size >= r.parameters.count("k")
                && histogram.iter().all(|(code, n)| !limited(code) || n * q <= p * size)
        }
        "beta-likeness" | "delta-disclosure" => {
            is_like(r, &histogram, &table.distributions()[r.attribute.unwrap_or(0)])
        }
        "positive-disclosure-recursive-l-diversity" => positive(r, table, &histogram),
        "negative-positive-disclosure-recursive-l-diversity" => {
            let (p, q) = fraction(r.parameters.number("c2"));
            let listed = r.parameters.list("forbidden");
            let of = |value: &String| {
                let found = histogram
                    .iter()
                    .find(|(code, _)| named(r, table, **code, std::slice::from_ref(value)));
                found.map_or(0, |(_, n)| *n)
            };
            positive(r, table, &histogram) && listed.iter().all(|value| of(value) * q >= p * size)
        }
        "multi-attribute-l-diversity" => {
            let columns = &table.sensitive_codes[..table.published_sensitive().len()];
            (0..columns.len()).all(|i| {
                let mut parts: BTreeMap<Vec<u32>, BTreeMap<u32, u64>> = BTreeMap::new();
                for &(row, n) in rows {
                    let others =
                        (0..columns.len()).filter(|&j| j != i).map(|j| columns[j][row as usize]);
                    *parts
                        .entry(others.collect())
                        .or_default()
                        .entry(columns[i][row as usize])
                        .or_default() += n;
                }
                parts
                    .values()
                    .all(|part| is_diverse(r, &part.values().copied().collect::<Vec<_>>()))
            })
        }
        "negation-robustness" => subsets(counts.len()).into_iter().all(|out| {
            let left: Vec<u64> =
                (0..counts.len()).filter(|&i| !out.contains(&i)).map(|i| counts[i]).collect();
            out.len() as u64 > r.parameters.count("j") || left.is_empty() || is_diverse(r, &left)
        }),
        "ff-anonymity" => does_its_part(r, table, region),
        // The drawn expression; others are in `predicates.rs`.
        "predicate" => counts.len() >= 3 && 2 * counts[0] <= size,
        "personalized-privacy" => {
            let (p, q) = fraction(r.parameters.number("breach"));
            let guard = table
                .sensitive
                .iter()
                .position(|a| a.name == r.parameters.text("guard"))
                .expect("is there");
            let (values, wishes) =
                (&table.sensitive_codes[r.attribute.unwrap_or(0)], &table.sensitive_codes[guard]);
            let t = &table.sensitive[r.attribute.unwrap_or(0)].taxonomy;
            let above = |leaf: u32, node: &str| {
                node == "*"
                    || (0..=t.levels()).any(|level| t.label(t.at_level(leaf, level)) == node)
            };
            rows.iter().all(|&(row, _)| {
                let node = table.sensitive[guard].taxonomy.leaf(wishes[row as usize]);
                let under = rows.iter().filter(|(other, _)| above(values[*other as usize], node));
                node.is_empty() || under.map(|(_, n)| n).sum::<u64>() * q <= p * size
            })
        }
        _ => {
            let of = |codes: &Vec<u32>| {
                scumble::class::Histogram::of(rows.iter().map(|&(row, n)| (codes[row as usize], n)))
            };
            let histograms = table.sensitive_codes.iter().map(of).collect();
            let class = EquivalenceClass { region: region.to_vec(), count: size, histograms };
            Goal::new(table, std::slice::from_ref(r)).judge(0, &class).holds
        }
    }
}

/// Whether nothing that the region shows, and nothing above it, can be attacked: what is not
/// observable is not too sensitive. Sensitivity and observability themselves have their laws in
/// `freeform.rs`.
fn does_its_part(r: &Requirement, table: &Table, region: &[Run]) -> bool {
    let (observable, threat) =
        (r.parameters.number("observability"), r.parameters.number("threat"));
    (0..region.len()).filter(|d| r.on.as_ref().is_none_or(|on| on.contains(d))).all(|d| {
        let (attribute, run) = (&table.quasi[d], region[d]);
        let t = &attribute.taxonomy;
        let nodes = (0..=t.levels())
            .map(|level| t.at_level(run.first, level))
            .filter(|node| node.covers(run));
        let hidden = nodes
            .chain([run])
            .filter(|&v| scumble::freeform::observability(attribute, v) < observable);
        hidden.into_iter().all(|v| scumble::freeform::sensitivity(attribute, v) <= threat)
    })
}

/// The people of a requirement's register by their leaf on each quasi-identifier, with how many
/// they are. The registers of the laws know all columns and no other values.
fn people_of(r: &Requirement, table: &Table) -> Vec<(Vec<u32>, u64)> {
    let register = r.register.as_ref().expect("a register");
    let leaf = |a: &scumble::table::Attribute, row: usize| {
        let column = register.columns.iter().find(|c| c.name == a.name).expect("every column");
        a.taxonomy.find(&column.texts[column.codes[row] as usize]).expect("a leaf")
    };
    let who = |row: usize| table.quasi.iter().map(|a| leaf(a, row)).collect();
    (0..register.weights.len()).map(|row| (who(row), register.weights[row])).collect()
}

fn fits(table: &Table, region: &[Run], who: &[u32]) -> bool {
    let inside =
        |d: usize| region[d] == table.quasi[d].taxonomy.root() || region[d].contains(who[d]);
    (0..who.len()).all(inside)
}

/// How many people a record of the region may belong to.
fn candidates(r: &Requirement, table: &Table, region: &[Run], size: u64) -> u64 {
    if r.register.is_none() {
        return size;
    }
    let people = people_of(r, table);
    people.iter().filter(|(who, _)| fits(table, region, who)).map(|(_, n)| n).sum::<u64>().max(size)
}

/// What is believed of a person about a value: the person's leaves, the value, the prior and the
/// posterior.
pub type Told = (Vec<u32>, u32, Ratio, Ratio);

/// The largest change of a belief that a class brings about, by the definition; nothing if there is
/// none.
fn largest_change(
    r: &Requirement,
    table: &Table,
    region: &[Run],
    class: &BTreeMap<u32, u64>,
) -> Option<Ratio> {
    told(r, table, region, class)?.iter().map(change).max()
}

/// |α − β|.
pub fn change((_, _, prior, posterior): &Told) -> Ratio {
    let (a, b) = (prior.num() * posterior.den(), posterior.num() * prior.den());
    Ratio::new(a.abs_diff(b), prior.den() * posterior.den())
}

/// Everything that is believed of everybody who fits a class; nothing if the class cannot be
/// judged.
pub fn told(
    r: &Requirement,
    table: &Table,
    region: &[Run],
    class: &BTreeMap<u32, u64>,
) -> Option<Vec<Told>> {
    let register = r.register.as_ref().expect("a register");
    let sensitive = &table.sensitive[r.attribute.expect("about an attribute")];
    let column = register.columns.iter().find(|c| c.name == sensitive.name).expect("every column");
    let mut people: BTreeMap<Vec<u32>, BTreeMap<u32, u128>> = BTreeMap::new();
    let mut all: BTreeMap<u32, u128> = BTreeMap::new();
    for (row, (who, n)) in
        people_of(r, table).into_iter().enumerate().filter(|(_, (who, _))| fits(table, region, who))
    {
        let value =
            sensitive.taxonomy.find(&column.texts[column.codes[row] as usize]).expect("a leaf");
        *people.entry(who).or_default().entry(value).or_default() += u128::from(n);
        *all.entry(value).or_default() += u128::from(n);
    }
    let likely = if r.parameters.word("reading") == "members" {
        members_likely(&people, all.values().sum(), class)?
    } else {
        // n_s / f(s, q*) over the product of all f(s, q*), so that everything stays whole.
        if class.keys().any(|s| !all.contains_key(s)) {
            return None;
        }
        let rest = |s: &u32| class.keys().filter(|x| *x != s).map(|x| all[x]).product::<u128>();
        let likely = |(s, n): (&u32, &u128)| {
            (*s, class.get(s).map_or(0, |&in_class| u128::from(in_class) * n * rest(s)))
        };
        people.values().map(|f| f.iter().map(likely).collect()).collect()
    };
    let mut told = Vec::new();
    for ((who, f), likely) in people.iter().zip(&likely) {
        let (total, sum) = (f.values().sum::<u128>(), likely.values().sum::<u128>());
        if sum == 0 {
            return None;
        }
        let belief = |s: &u32| Ratio::new(likely.get(s).copied().unwrap_or(0), sum);
        told.extend(f.iter().map(|(s, n)| (who.clone(), *s, Ratio::new(*n, total), belief(s))));
    }
    (!told.is_empty()).then_some(told)
}

/// The weights of the values of everybody if the members of the class are known: every way to deal
/// the values to them is tried.
fn members_likely(
    people: &BTreeMap<Vec<u32>, BTreeMap<u32, u128>>,
    all: u128,
    class: &BTreeMap<u32, u64>,
) -> Option<Vec<BTreeMap<u32, u128>>> {
    let n: u64 = class.values().sum();
    // People of whom the same is believed are alike.
    let shares = |f: &BTreeMap<u32, u128>| {
        let total: u128 = f.values().sum();
        f.iter().map(|(&s, &n)| (s, Ratio::new(n, total))).collect::<Vec<_>>()
    };
    let mut alike: BTreeMap<Vec<(u32, Ratio)>, BTreeMap<u32, u128>> = BTreeMap::new();
    for f in people.values() {
        let sum = alike.entry(shares(f)).or_default();
        f.iter().for_each(|(&s, n)| *sum.entry(s).or_default() += n);
    }
    let (mut members, mut which) = (Vec::new(), Vec::new());
    for (shares, f) in &alike {
        let times = u128::from(n) * f.values().sum::<u128>();
        if times % all != 0 {
            return None;
        }
        members.extend((0..times / all).map(|_| f));
        which.extend((0..times / all).map(|_| shares));
    }
    // belief[i][s]: weight of the worlds in which member i has s.
    let mut belief: Vec<BTreeMap<u32, u128>> = vec![BTreeMap::new(); members.len()];
    deal(&members, &mut class.clone(), 1, &mut Vec::new(), &mut belief);
    let of = |f: &BTreeMap<u32, u128>| {
        Some(belief[which.iter().position(|same| **same == shares(f))?].clone())
    };
    people.values().map(of).collect()
}

fn deal(
    members: &[&BTreeMap<u32, u128>],
    left: &mut BTreeMap<u32, u64>,
    weight: u128,
    dealt: &mut Vec<u32>,
    belief: &mut [BTreeMap<u32, u128>],
) {
    let Some(f) = members.get(dealt.len()) else {
        dealt.iter().zip(belief).for_each(|(s, belief)| *belief.entry(*s).or_default() += weight);
        return;
    };
    for (&s, n) in *f {
        if left.get(&s).is_some_and(|&n| n > 0) {
            left.entry(s).and_modify(|n| *n -= 1);
            dealt.push(s);
            deal(members, left, weight * n, dealt, belief);
            dealt.pop();
            left.entry(s).and_modify(|n| *n += 1);
        }
    }
}

fn fraction(r: Ratio) -> (u64, u64) {
    (u64::try_from(r.num()).expect("small"), u64::try_from(r.den()).expect("small"))
}

/// Whether a list names the value; the drawn lists name no nodes.
fn named(r: &Requirement, table: &Table, code: u32, listed: &[String]) -> bool {
    let text = table.sensitive[r.attribute.expect("about one")].taxonomy.leaf(code);
    listed.iter().any(|l| l == text)
}

/// Every set of the numbers below n.
fn subsets(n: usize) -> Vec<Vec<usize>> {
    (0u32..1 << n).map(|bits| (0..n).filter(|i| bits >> i & 1 == 1).collect()).collect()
}

/// ℓ-diversity of counts as `kind`, `l` and `c` ask for it.
fn is_diverse(r: &Requirement, counts: &[u64]) -> bool {
    let (p, q) = fraction(r.parameters.number("l"));
    match r.parameters.word("kind") {
        "distinct" => counts.len() as u64 * q >= p,
        "entropy" => entropy_at_least(counts, p, q),
        _ => {
            let mut counts = counts.to_vec();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            let (c, d) = fraction(r.parameters.number("c"));
            counts[0] * d < c * counts.iter().skip(p.div_ceil(q) as usize - 1).sum::<u64>()
        }
    }
}

/// Whether these classes keep a wide requirement as a whole; nothing for models without a twin
/// here.
pub fn keeps_as_a_whole(
    r: &Requirement,
    table: &Table,
    classes: &[EquivalenceClass],
) -> Option<bool> {
    let candidates = |c: &EquivalenceClass| candidates(r, table, &c.region, c.count);
    match r.name {
        "average-risk" => {
            let t = r.parameters.number("threshold").to_f64();
            let records: u64 = classes.iter().map(|c| c.count).sum();
            let mean = classes.iter().map(|c| c.count as f64 / candidates(c) as f64).sum::<f64>()
                / records as f64;
            ((mean - t).abs() > 1e-9).then_some(mean < t)
        }
        "delta-presence" => {
            let (min, max) = (r.parameters.number("min"), r.parameters.number("max"));
            let inside = |c: &EquivalenceClass| {
                let presence = Ratio::new(c.count.into(), candidates(c).into());
                min <= presence && presence <= max
            };
            let found = |who: &[u32]| classes.iter().any(|c| fits(table, &c.region, who));
            Some(
                classes.iter().all(inside) && people_of(r, table).iter().all(|(who, _)| found(who)),
            )
        }
        _ => None,
    }
}

/// Positive disclosure by what the adversary does: no set of ℓ − 2 other values can be ruled out so
/// that some value that is not harmless has too much of the rest.
fn positive(r: &Requirement, table: &Table, histogram: &BTreeMap<u32, u64>) -> bool {
    let (p, q) = fraction(r.parameters.number("c"));
    let values: Vec<(u32, u64)> = histogram.iter().map(|(code, n)| (*code, *n)).collect();
    subsets(values.len()).iter().filter(|out| out.len() as u64 + 2 <= r.parameters.count("l")).all(
        |out| {
            let left = || (0..values.len()).filter(|i| !out.contains(i));
            left().all(|s| {
                let rest: u64 = left().filter(|&i| i != s).map(|i| values[i].1).sum();
                let harmless = named(r, table, values[s].0, r.parameters.list("harmless"));
                harmless && p > 0 || !harmless && values[s].1 * q < p * rest
            })
        },
    )
}

/// β-likeness and δ-disclosure in floating point, which decides all but ties; where p = q no
/// logarithm is needed.
fn is_like(r: &Requirement, class: &BTreeMap<u32, u64>, table: &Distribution) -> bool {
    let (n, total) = (class.values().sum::<u64>() as f64, table.counts.iter().sum::<u64>() as f64);
    (0u32..).zip(&table.counts).filter(|(_, all)| **all > 0).all(|(code, &all)| {
        let (p, q) = (class.get(&code).copied().unwrap_or(0) as f64 / n, all as f64 / total);
        if r.name == "delta-disclosure" {
            return p > 0.0 && (p / q).ln().abs() < r.parameters.number("delta").to_f64();
        }
        let gain = p / q - 1.0;
        let enhanced = r.parameters.word("kind") == "enhanced";
        gain <= 1e-12
            || gain <= r.parameters.number("beta").to_f64() + 1e-12
                && (!enhanced || gain <= -q.ln())
    })
}

/// The class of some rows, with what covers them as its region.
pub fn class(table: &Table, rows: &[u32]) -> EquivalenceClass {
    let histogram = |codes: &Vec<u32>| {
        Histogram::of(rows.iter().map(|&r| (codes[r as usize], table.counts[r as usize].into())))
    };
    let region = |(a, codes): (&scumble::table::Attribute, &Vec<u32>)| {
        let codes = || rows.iter().map(|&r| codes[r as usize]);
        cover(&a.taxonomy, codes().min().expect("rows"), codes().max().expect("rows"))
    };
    EquivalenceClass {
        region: table.quasi.iter().zip(&table.quasi_codes).map(region).collect(),
        count: rows.iter().map(|&r| u64::from(table.counts[r as usize])).sum(),
        histograms: table.sensitive_codes.iter().map(histogram).collect(),
    }
}

/// The smallest publishable run over these codes.
pub fn cover(taxonomy: &Taxonomy, first: u32, last: u32) -> Run {
    if !taxonomy.is_ordered() {
        return taxonomy.at_level(first, meeting_level(taxonomy, &[first, last]));
    }
    match taxonomy.missing() {
        Some(m) if last == m && first != m => Run { first: 0, last: m },
        _ => Run { first, last },
    }
}

/// Strict Mondrian after its manual page: lists of rows, no threads, every cut tried by judging
/// both sides.
pub struct Mondrian<'a> {
    pub table: &'a Table,
    pub requirements: &'a [Requirement],
    pub median: bool,
    pub tight: bool,
}

/// Region of a class to the records in it by row.
pub type Classes = BTreeMap<Vec<Run>, BTreeMap<u32, u64>>;

impl Mondrian<'_> {
    /// The classes, or nothing if the whole table does not keep the requirements.
    pub fn run(&self) -> Option<Classes> {
        let all: Vec<u32> = (0..self.table.rows() as u32).collect();
        if !self.possible(&all) {
            return None;
        }
        let mut classes = Classes::new();
        self.divide(all, self.table.top(), &mut classes);
        self.confirmed(&classes).then_some(classes)
    }

    /// Whether all rows as one class keep the requirements, those about the release as a whole by
    /// themselves.
    fn possible(&self, all: &[u32]) -> bool {
        let whole = class(self.table, all);
        let rows: Vec<(u32, u64)> = all.iter().map(|&r| (r, self.count(r))).collect();
        self.requirements.iter().all(|r| {
            if !r.model.promise().wide {
                return keeps(r, self.table, &whole.region, &rows);
            }
            let classes = std::slice::from_ref(&whole);
            let judged = || {
                let goal = Goal::new(self.table, std::slice::from_ref(r));
                r.model.judge_all(&goal.context(0), classes).is_some_and(|v| v.holds)
            };
            keeps_as_a_whole(r, self.table, classes).unwrap_or_else(judged)
        })
    }

    /// Whether what came out keeps the requirements that merging may break, on their columns.
    fn confirmed(&self, classes: &Classes) -> bool {
        self.requirements.iter().filter(|r| !r.model.promise().monotone).all(|r| {
            let shown = |region: &Vec<Run>, d: usize| match &r.on {
                Some(on) if !on.contains(&d) => self.table.quasi[d].taxonomy.root(),
                _ => region[d],
            };
            let mut groups = Classes::new();
            for (region, rows) in classes {
                let key = (0..region.len()).map(|d| shown(region, d)).collect();
                groups.entry(key).or_default().extend(rows);
            }
            let pairs = |rows: &BTreeMap<u32, u64>| {
                rows.iter().map(|(&row, &n)| (row, n)).collect::<Vec<_>>()
            };
            if !r.model.promise().wide {
                return groups
                    .iter()
                    .all(|(region, rows)| keeps(r, self.table, region, &pairs(rows)));
            }
            let class = |(region, rows): (&Vec<Run>, &BTreeMap<u32, u64>)| {
                let rows: Vec<u32> = rows.keys().copied().collect();
                EquivalenceClass { region: region.clone(), ..class(self.table, &rows) }
            };
            keeps_as_a_whole(r, self.table, &groups.iter().map(class).collect::<Vec<_>>())
                != Some(false)
        })
    }

    fn allowed(&self, rows: &[u32]) -> bool {
        let region = class(self.table, rows).region;
        let rows: Vec<(u32, u64)> = rows.iter().map(|&r| (r, self.count(r))).collect();
        self.requirements.iter().all(|r| keeps(r, self.table, &region, &rows))
    }

    fn count(&self, row: u32) -> u64 {
        u64::from(self.table.counts[row as usize])
    }

    fn code(&self, dim: usize, row: u32) -> u32 {
        self.table.quasi_codes[dim][row as usize]
    }

    fn range(&self, dim: usize, rows: &[u32]) -> Run {
        let codes = || rows.iter().map(|&r| self.code(dim, r));
        Run {
            first: codes().min().expect("a part has rows"),
            last: codes().max().expect("a part has rows"),
        }
    }

    fn divide(&self, rows: Vec<u32>, region: Vec<Run>, classes: &mut Classes) {
        let mut dims: Vec<usize> = (0..region.len()).collect();
        let width = |&dim: &usize| {
            let t = &self.table.quasi[dim].taxonomy;
            let (part, all) = (t.size(self.range(dim, &rows)) - 1, (t.size(t.root()) - 1).max(1));
            std::cmp::Reverse(Ratio::new(part.into(), all.into()))
        };
        dims.sort_by_key(width);
        for dim in dims {
            if let Some(pieces) = self.cut(dim, &rows, region[dim]) {
                for (piece, run) in pieces {
                    let mut region = region.clone();
                    region[dim] = run;
                    self.divide(piece, region, classes);
                }
                return;
            }
        }
        let shown = |dim: usize| {
            let run = if self.tight { self.range(dim, &rows) } else { region[dim] };
            cover(&self.table.quasi[dim].taxonomy, run.first, run.last)
        };
        let class = classes.entry((0..region.len()).map(shown).collect()).or_default();
        rows.iter().for_each(|&r| *class.entry(r).or_default() += self.count(r));
    }

    fn cut(&self, dim: usize, rows: &[u32], region: Run) -> Option<Vec<(Vec<u32>, Run)>> {
        let range = self.range(dim, rows);
        if range.first == range.last {
            return None;
        }
        if !self.table.quasi[dim].taxonomy.is_ordered() {
            let pieces = self.children(dim, rows);
            return pieces.iter().all(|(piece, _)| self.allowed(piece)).then_some(pieces);
        }
        let total: u64 = rows.iter().map(|&r| self.count(r)).sum();
        let mut places: Vec<u32> = rows.iter().map(|&r| self.code(dim, r)).collect();
        places.sort_unstable();
        places.dedup();
        places.pop();
        let left = |cut: u32| {
            rows.iter().filter(|&&r| self.code(dim, r) <= cut).map(|&r| self.count(r)).sum::<u64>()
        };
        if self.median {
            places = places.into_iter().find(|&cut| 2 * left(cut) >= total).into_iter().collect();
        } else {
            places.sort_by_key(|&cut| (2 * left(cut)).abs_diff(total));
        }
        // Records without a value are parted from the others before anything else is tried.
        let missing = self.table.quasi[dim].taxonomy.missing().filter(|&m| m == range.last);
        missing.map(|m| m - 1).into_iter().chain(places).find_map(|cut| {
            let (a, b): (Vec<u32>, Vec<u32>) =
                rows.iter().partition(|&&r| self.code(dim, r) <= cut);
            (self.allowed(&a) && self.allowed(&b)).then(|| {
                vec![
                    (a, Run { first: region.first, last: cut }),
                    (b, Run { first: cut + 1, last: region.last }),
                ]
            })
        })
    }

    /// The rows under each child of the lowest node over all of them.
    fn children(&self, dim: usize, rows: &[u32]) -> Vec<(Vec<u32>, Run)> {
        let taxonomy = &self.table.quasi[dim].taxonomy;
        let codes: Vec<u32> = rows.iter().map(|&r| self.code(dim, r)).collect();
        let level = meeting_level(taxonomy, &codes);
        let mut pieces: BTreeMap<Run, Vec<u32>> = BTreeMap::new();
        for &row in rows {
            pieces.entry(taxonomy.at_level(self.code(dim, row), level - 1)).or_default().push(row);
        }
        pieces.into_iter().map(|(run, piece)| (piece, run)).collect()
    }

    /// Whether some cut of these rows leaves only pieces that keep the requirements, whatever its
    /// place.
    pub fn can_be_cut(&self, rows: &[u32]) -> bool {
        (0..self.table.quasi.len()).any(|dim| self.cut(dim, rows, self.range(dim, rows)).is_some())
    }
}

/// How many records stand at the most frequent point of the quasi-identifiers.
pub fn largest_point(case: &Case) -> u64 {
    let mut points: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
    for record in 0..case.records[0].len() {
        let point =
            case.records[..case.table.quasi.len()].iter().map(|codes| codes[record]).collect();
        *points.entry(point).or_default() += 1;
    }
    points.into_values().max().unwrap_or(0)
}
