//! # parallel
//!
//! Questions about different people cost as much as the dearest of them.
//!
//! ## Method
//! Two questions of a batch are about different rows if both ask for something of one column that
//! no value meets: other values (`ward = 'A'` and `ward = 'B'`), ranges that do not meet (`age <
//! 40` and `age >= 40`), a value and none. Only conditions that every row of a question meets are
//! looked at: what stands below `OR` and `NOT` is not. Questions that are pairwise so are paid
//! once, measurement by measurement the dearest.
//!
//! ## Guarantee
//! Where every row is a person, adding or removing her changes the answer to one question at most
//! of those that are paid together, so what they tell is bounded by the dearest price. Where a
//! person may have several rows, her rows may meet different questions, and everything is paid.
//!
//! ## Cost
//! Quadratic in the number of questions of a batch.
//!
//! ## Reference
//! McSherry, *Privacy integrated queries*, 2009, Theorem 4.

use super::accountant::{Spend, parallel};
use super::query::{Filter, Is, Literal, Plan, Question, Test, compare_numbers};
use std::cmp::Ordering;

/// What a batch costs, and which of its questions are paid together.
#[derive(Clone, Debug, PartialEq)]
pub struct Bill {
    /// The prices.
    pub spends: Vec<Spend>,
    /// Numbers of questions that are about different people and paid once, where there are several.
    pub together: Vec<Vec<usize>>,
}

/// The bill for a batch. `rows` says whether every row is a person.
pub fn bill(plans: &[Plan], rows: bool) -> Bill {
    let mut sets: Vec<Vec<usize>> = Vec::new();
    for (i, plan) in plans.iter().enumerate() {
        let apart = |set: &&mut Vec<usize>| {
            set.iter().all(|&j| disjoint(&plans[j].question, &plan.question))
        };
        match sets.iter_mut().filter(|_| rows).find(apart) {
            Some(set) => set.push(i),
            None => sets.push(vec![i]),
        }
    }
    let spends = sets
        .iter()
        .flat_map(|set| dearest(&set.iter().map(|&i| plans[i].spends()).collect::<Vec<_>>()));
    Bill {
        spends: spends.collect(),
        together: sets.into_iter().filter(|set| set.len() > 1).collect(),
    }
}

/// Prices of which every list is worth at most as much, measurement by measurement.
fn dearest(lists: &[Vec<Spend>]) -> Vec<Spend> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let at = |i: usize| lists.iter().filter_map(|list| list.get(i).cloned()).collect::<Vec<_>>();
    (0..longest).filter_map(|i| parallel(&at(i))).collect()
}

/// Whether it is certain that no row meets both questions.
pub fn disjoint(a: &Question, b: &Question) -> bool {
    let tests = |q: &Question| {
        q.filter.as_ref().map_or_else(Vec::new, |f| certain(f).into_iter().cloned().collect())
    };
    let (left, right): (Vec<Test>, Vec<Test>) = (tests(a), tests(b));
    left.iter().any(|x| {
        right.iter().any(|y| a.columns[x.column] == b.columns[y.column] && exclude(&x.is, &y.is))
    })
}

/// Tests that every row meets which meets the filter.
fn certain(filter: &Filter) -> Vec<&Test> {
    match filter {
        Filter::And(all) => all.iter().flat_map(certain).collect(),
        Filter::Test(test) => vec![test],
        Filter::Or(_) | Filter::Not(_) => Vec::new(),
    }
}

/// Whether no value meets both.
fn exclude(a: &Is, b: &Is) -> bool {
    match (a, b) {
        (Is::Missing, other) | (other, Is::Missing) => *other != Is::Missing,
        _ => {
            few(a).is_some_and(|list| none_meets(&list, b))
                || few(b).is_some_and(|list| none_meets(&list, a))
                || apart(a, b)
        }
    }
}

/// The values that meet it, if they are few.
fn few(is: &Is) -> Option<Vec<&Literal>> {
    match is {
        Is::In(list) => Some(list.iter().collect()),
        Is::Ordered(orders, literal) if orders[..] == [Ordering::Equal] => Some(vec![literal]),
        _ => None,
    }
}

fn none_meets(list: &[&Literal], is: &Is) -> bool {
    let meets =
        |order: Option<Ordering>, orders: &[Ordering]| order.is_none_or(|o| orders.contains(&o));
    let against = |literal: &Literal| match is {
        Is::Missing => false,
        Is::Ordered(orders, other) => meets(order(literal, other), orders),
        Is::In(others) => {
            others.iter().any(|other| meets(order(literal, other), &[Ordering::Equal]))
        }
    };
    !list.iter().any(|literal| against(literal))
}

/// Whether all values of one are above all of the other.
fn apart(a: &Is, b: &Is) -> bool {
    let (Is::Ordered(low, x), Is::Ordered(high, y)) = (a, b) else { return false };
    let below = |orders: &[Ordering]| !orders.contains(&Ordering::Greater);
    let above = |orders: &[Ordering]| !orders.contains(&Ordering::Less);
    // Texts and numbers stand in different orders.
    if std::mem::discriminant(x) != std::mem::discriminant(y) {
        return false;
    }
    let touch = low.contains(&Ordering::Equal) && high.contains(&Ordering::Equal);
    match order(x, y) {
        Some(Ordering::Less) => below(low) && above(high),
        Some(Ordering::Greater) => above(low) && below(high),
        Some(Ordering::Equal) => !touch && (below(low) && above(high) || above(low) && below(high)),
        None => false,
    }
}

/// How a literal compares with another as a value of the data would; unknown between a number,
/// which may be written in many ways, and a text.
fn order(value: &Literal, other: &Literal) -> Option<Ordering> {
    match (value, other) {
        (Literal::Text(a), Literal::Text(b)) => Some(a.cmp(b)),
        (Literal::Text(a), Literal::Number(_)) => other.compare(a),
        (Literal::Number(a), Literal::Number(b)) => compare_numbers(*a, *b),
        (Literal::Number(_), Literal::Text(_)) => None,
    }
}
