//! All ways to deal the values, counted exactly; where there are few.
//!
//! People of a unit are alike, so a way is a table for each group: how many people of each unit
//! have each label. With prior p/q the likelihood of all people with a label, for an attribute of v
//! cells counted c₁ … c_v, n together, is Π p(p + q)…(p + (cᵢ − 1)q) over vp(vp + q)…(vp + (n −
//! 1)q); everything is brought to whole numbers.

use super::deal::{Deal, Group};
use crate::exact::{Fraction, Ratio};
use dashu_int::UBig;

/// Limit on the steps of the enumeration.
const WORK: usize = 3_000_000;

/// Of more people the whole numbers become too long.
const PEOPLE: u64 = 300;

/// How many people of each unit of a group have each label, and how many ways there are to do it.
struct Table {
    counts: Vec<u64>,
    ways: UBig,
}

/// What is believed, by place; nothing if there are too many ways.
pub fn count(deal: &Deal, prior: Ratio) -> Option<Vec<Fraction>> {
    if (0..deal.units()).map(|unit| deal.people(unit)).sum::<u64>() > PEOPLE {
        return None;
    }
    let each = deal.cells() * deal.labels() + deal.groups.len() + 1;
    let most = WORK / each;
    let mut tables: Vec<Vec<Table>> = Vec::new();
    let mut all = 1usize;
    for group in &deal.groups {
        let found = ways(deal, group, most)?;
        all = all.checked_mul(found.len()).filter(|&all| all <= most)?;
        tables.push(found);
    }
    let mut dealer = Dealer::new(deal, prior, &tables);
    dealer.deal(0, &UBig::ONE);
    let total =
        dealer.sums.first().map_or(UBig::ONE, |sums| sums.iter().fold(UBig::ZERO, |a, b| a + b));
    let mut believed = vec![UBig::ZERO; deal.all_places()];
    for ((group, tables), sums) in deal.groups.iter().zip(&tables).zip(&dealer.sums) {
        let places = group.units.clone().flat_map(|u| deal.places(u));
        let places: Vec<usize> = places.collect();
        for (table, weight) in tables.iter().zip(sums) {
            places.iter().zip(&table.counts).for_each(|(&place, n)| believed[place] += weight * *n);
        }
    }
    let share = |unit: usize| {
        let believed = &believed;
        let all = &total * deal.people(unit);
        deal.places(unit).map(move |place| Fraction::new(believed[place].clone(), all.clone()))
    };
    Some((0..deal.units()).flat_map(share).collect())
}

/// All tables of a group; nothing if there are more than this.
fn ways(deal: &Deal, group: &Group, most: usize) -> Option<Vec<Table>> {
    let mut found = vec![(
        Table { counts: Vec::new(), ways: UBig::ONE },
        group.labels.iter().map(|l| l.1).collect(),
    )];
    for unit in group.units.clone() {
        let mut next = Vec::new();
        for (table, left) in found {
            spread(deal.people(unit), 0, left, &mut |row: &[u64], left: &[u64], ways: UBig| {
                let counts = [&table.counts[..], row].concat();
                next.push((Table { counts, ways: &table.ways * ways }, left.to_vec()));
                next.len() <= most
            })?;
        }
        found = next;
    }
    Some(found.into_iter().map(|(table, _)| table).collect())
}

/// Tells every way to give labels to people of a unit, of the labels that are left; nothing if it
/// is told to stop.
fn spread(
    people: u64,
    label: usize,
    mut left: Vec<u64>,
    tell: &mut impl FnMut(&[u64], &[u64], UBig) -> bool,
) -> Option<()> {
    fn go(
        people: u64,
        label: usize,
        row: &mut Vec<u64>,
        left: &mut Vec<u64>,
        ways: &UBig,
        tell: &mut impl FnMut(&[u64], &[u64], UBig) -> bool,
    ) -> Option<()> {
        if label == left.len() {
            return if people > 0 || tell(row, left, ways.clone()) { Some(()) } else { None };
        }
        let mut choose = UBig::ONE;
        for n in 0..=people.min(left[label]) {
            row.push(n);
            left[label] -= n;
            let found = go(people - n, label + 1, row, left, &(ways * &choose), tell);
            left[label] += n;
            row.pop();
            found?;
            // From people over n to people over n + 1.
            choose = choose * (people - n) / (n + 1);
        }
        Some(())
    }
    go(people, label, &mut Vec::new(), &mut left, &UBig::ONE, tell)
}

/// Goes through all combinations of tables and sums up their weights.
struct Dealer<'a> {
    deal: &'a Deal,
    tables: &'a [Vec<Table>],
    /// How many people have each cell and label, and how many of each label are no strangers.
    counts: Vec<u64>,
    known: Vec<u64>,
    /// By group and table.
    sums: Vec<Vec<UBig>>,
    chosen: Vec<usize>,
    /// p(p + q)…, by number of factors.
    of_cells: Vec<UBig>,
    /// The same from vp, for each attribute; nothing if there are no strangers: then they are the
    /// same in all ways.
    of_attributes: Vec<Vec<UBig>>,
}

impl<'a> Dealer<'a> {
    fn new(deal: &'a Deal, prior: Ratio, tables: &'a [Vec<Table>]) -> Dealer<'a> {
        let people: u64 = (0..deal.units()).map(|u| deal.people(u)).sum();
        let rising = |from: UBig| -> Vec<UBig> {
            let mut products = vec![UBig::ONE];
            for i in 0..people {
                products
                    .push(&products[products.len() - 1] * (&from + UBig::from(prior.den()) * i));
            }
            products
        };
        let strangers = (0..deal.units()).any(|unit| deal.cells_of(unit).is_none());
        let attributes = if strangers { &deal.attributes[..] } else { &[] };
        Dealer {
            deal,
            tables,
            counts: vec![0; deal.cells() * deal.labels()],
            known: vec![0; deal.labels()],
            sums: tables.iter().map(|t| vec![UBig::ZERO; t.len()]).collect(),
            chosen: Vec::new(),
            of_cells: rising(prior.num().into()),
            of_attributes: attributes
                .iter()
                .map(|a| rising(UBig::from(prior.num()) * a.len() as u64))
                .collect(),
        }
    }

    /// Tries all tables of this group and the later ones.
    fn deal(&mut self, group: usize, ways: &UBig) {
        if group == self.tables.len() {
            let weight = ways * self.likelihood();
            for (sums, &chosen) in self.sums.iter_mut().zip(&self.chosen) {
                sums[chosen] += &weight;
            }
            return;
        }
        for table in 0..self.tables[group].len() {
            self.count(group, table, |n, more| *n += more);
            self.chosen.push(table);
            self.deal(group + 1, &(ways * &self.tables[group][table].ways));
            self.chosen.pop();
            self.count(group, table, |n, more| *n -= more);
        }
    }

    fn count(&mut self, group: usize, table: usize, change: fn(&mut u64, u64)) {
        let (deal, labels) = (self.deal, self.deal.labels());
        let (group, counts) = (&deal.groups[group], &self.tables[group][table].counts);
        for (unit, row) in group.units.clone().zip(counts.chunks(group.labels.len())) {
            let Some(cells) = deal.cells_of(unit) else { continue };
            for (&(label, _), &n) in group.labels.iter().zip(row) {
                cells.iter().for_each(|&cell| {
                    change(&mut self.counts[cell as usize * labels + label as usize], n)
                });
                change(&mut self.known[label as usize], n);
            }
        }
    }

    fn likelihood(&self) -> UBig {
        let mut product = UBig::ONE;
        self.counts.iter().filter(|&&n| n > 0).for_each(|&n| product *= &self.of_cells[n as usize]);
        for rising in &self.of_attributes {
            // Over a common denominator: that of everybody.
            let most = &rising[rising.len() - 1];
            self.known.iter().for_each(|&n| product *= most / &rising[n as usize]);
        }
        product
    }
}
