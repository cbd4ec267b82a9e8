//! How sensitive and how observable each single value of an attribute is: what FF-anonymity knows
//! of an attribute instead of a role.
//!
//! A [`Specification`] is what a policy says; with the taxonomy it becomes [`Values`], which know
//! s(a) and o(a) of every node a. A table in these terms is a [`cube::Cube`], on which attacks are
//! searched for.
//!
//! The missing value is no leaf to be counted: it is never sensitive, and as observable as the
//! root. So s and o of a value are the same whether a cell is missing somewhere else or not, and a
//! recipient comes to the same numbers.

mod breaches;
pub mod cube;
mod search;

pub use breaches::{Breach, Breaches};

use crate::catalogue::did_you_mean;
use crate::class::Run;
use crate::exact::{Ratio, gcd};
use crate::failure::{Failure, Failures};
use crate::table::Attribute;
use crate::taxonomy::Taxonomy;
use hashbrown::HashMap;
use std::sync::Arc;

/// What a policy says about the values of an attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Specification {
    /// The highest nodes that cover the sensitive leaves, and nothing else.
    pub guarding: Vec<String>,
    /// How the sensitivity of a node follows from its leaves.
    pub sensitivity: Sensitivity,
    /// How observable values are.
    pub observability: Observability,
}

/// How sensitive a node is: the probability that it stands for a sensitive leaf.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sensitivity {
    /// For any of them: |sensitive leaves| / |leaves|.
    #[default]
    Aggregate,
    /// For a particular one: |sensitive leaves| / |leaves|².
    NonAggregate,
    /// The mean of what is said of its leaves. A name that is a node says it of all leaves below,
    /// of which others may be named by themselves; leaves that are not named are not sensitive.
    Given(Vec<(String, Ratio)>),
}

/// How observable a value is, between 0 and 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Observability {
    /// 0 if all its leaves are sensitive, otherwise 1.
    #[default]
    BySensitivity,
    /// What the publisher believes: of leaves as said, of a node `alpha` more than of its most
    /// observable child.
    Believed {
        /// Of leaves that are not named.
        belief: Ratio,
        /// Of leaves, and of nodes where that is not to follow from their children.
        beliefs: Vec<(String, Ratio)>,
        /// The boost from children to their parent.
        alpha: Ratio,
    },
}

impl Specification {
    /// Whether some value may be sensitive.
    pub fn guards(&self) -> bool {
        match &self.sensitivity {
            Sensitivity::Given(values) => values.iter().any(|(_, s)| s.num() > 0),
            _ => !self.guarding.is_empty(),
        }
    }

    /// Whether it says something of single values or levels, which must then be known.
    pub fn names_values(&self) -> bool {
        let believed = match &self.observability {
            Observability::BySensitivity => false,
            Observability::Believed { beliefs, alpha, .. } => {
                !beliefs.is_empty() || alpha.num() > 0
            }
        };
        self.guards() || believed
    }
}

/// Sensitivity and observability of every value of an attribute.
#[derive(Clone, Debug)]
pub struct Values {
    taxonomy: Arc<Taxonomy>,
    /// Sum of the sensitivities of the leaves before each, in parts of `unit`; and how many of them
    /// there are.
    sums: Vec<(u64, u64)>,
    unit: u64,
    squared: bool,
    /// Whether o follows from s; otherwise the boost from children to parent.
    alpha: Option<Ratio>,
    leaves: Vec<Ratio>,
    nodes: HashMap<Run, Ratio>,
}

/// Numbers are written with at most nine decimals, so that sums of them stay exact.
const UNIT: u128 = 1_000_000_000;

impl Values {
    /// What a specification means on a taxonomy, or everything that is wrong with it.
    pub fn new(
        column: &str,
        of: &Specification,
        taxonomy: &Arc<Taxonomy>,
    ) -> Result<Values, Failures> {
        let mut reader = Names { column, taxonomy, problems: Failures::default() };
        let sensitive = reader.sensitive(of);
        let common = |unit: u128, r: &Ratio| (unit / gcd(unit, r.den())).saturating_mul(r.den());
        let unit = sensitive.iter().fold(1, common);
        let beliefs: Vec<Ratio> = match &of.observability {
            Observability::BySensitivity => Vec::new(),
            Observability::Believed { belief, beliefs, alpha } => {
                [*belief, *alpha].into_iter().chain(beliefs.iter().map(|(_, b)| *b)).collect()
            }
        };
        if unit > UNIT || beliefs.iter().fold(1, common) > UNIT {
            let problem =
                format!("the numbers said of `{column}` are too fine to be added exactly");
            reader.problems.push(
                Failure::policy("wrong-freeform", problem)
                    .hint("write them with at most nine decimals"),
            );
            return Err(reader.problems);
        }
        let mut sums = vec![(0, 0)];
        for (code, s) in (0u32..).zip(&sensitive) {
            let (sum, n) = sums[code as usize];
            let counted = u64::from((code as usize) < taxonomy.real());
            sums.push((sum + counted * (s.num() * (unit / s.den())) as u64, n + counted));
        }
        let mut values = Values {
            taxonomy: taxonomy.clone(),
            sums,
            unit: unit as u64,
            squared: of.sensitivity == Sensitivity::NonAggregate,
            alpha: None,
            leaves: Vec::new(),
            nodes: HashMap::new(),
        };
        if let Observability::Believed { belief, beliefs, alpha } = &of.observability {
            values.alpha = Some(*alpha);
            values.believe(*belief, reader.named("beliefs", beliefs), *alpha, &mut reader);
        }
        reader.problems.or(values)
    }

    /// Beliefs of leaves, then of nodes from the leaves up; a node that is said to be less
    /// observable than a child breaks the Observability Principle.
    fn believe(
        &mut self,
        belief: Ratio,
        named: Vec<(Run, Ratio)>,
        alpha: Ratio,
        reader: &mut Names<'_>,
    ) {
        let taxonomy = self.taxonomy.clone();
        let given: HashMap<Run, Ratio> = named.into_iter().collect();
        let leaf = |code: u32| given.get(&Run::new(code, code)).copied().unwrap_or(belief);
        self.leaves = (0..taxonomy.leaves() as u32).map(leaf).collect();
        taxonomy.visit_nodes(|_, children| {
            let node = Run::new(children[0].first, children[children.len() - 1].last);
            let known = children.iter().filter(|c| (c.first as usize) < taxonomy.real());
            let most = known.map(|&c| (self.observability(c), c)).reduce(|a, b| if b.0 > a.0 { b } else { a });
            let (most, child) = most.unwrap_or((belief, node));
            let o = given.get(&node).copied().unwrap_or_else(|| boosted(most, alpha));
            if o < most {
                let (above, below) = (taxonomy.label(node), taxonomy.label(child));
                let problem = format!(
                    "the observability of `{}` breaks the Observability Principle at `{above}`: {o}, but `{below}` \
                     below it has {most}",
                    reader.column
                );
                let hint = format!(
                    "who observes `{below}` observes `{above}`: give `{above}` at least {most}, or leave it out, then it \
                     is `alpha` more than the most observable value below it"
                );
                reader.problems.push(Failure::policy("wrong-freeform", problem).hint(hint));
            }
            self.nodes.insert(node, o);
        });
        for other in taxonomy.real()..taxonomy.leaves() {
            self.leaves[other] = self.observability(taxonomy.root());
        }
    }

    /// The same of a taxonomy with the same leaves and nodes, which calls them otherwise.
    pub(crate) fn shown_in(&self, taxonomy: &Arc<Taxonomy>) -> Values {
        Values { taxonomy: taxonomy.clone(), ..self.clone() }
    }

    /// The taxonomy whose values these are.
    pub fn taxonomy(&self) -> &Arc<Taxonomy> {
        &self.taxonomy
    }

    /// s: the probability that the value stands for a sensitive leaf.
    pub fn sensitivity(&self, run: Run) -> Ratio {
        let ((low, before), (high, after)) =
            (self.sums[run.first as usize], self.sums[run.last as usize + 1]);
        let leaves = u128::from(after - before);
        if leaves == 0 {
            return Ratio::whole(0);
        }
        let of = u128::from(self.unit) * leaves;
        Ratio::new(u128::from(high - low), if self.squared { of * leaves } else { of })
    }

    /// o: how observable the value is. A range that is no node counts as one that stands above the
    /// nodes within it.
    pub fn observability(&self, run: Run) -> Ratio {
        let Some(alpha) = self.alpha else {
            let ((low, before), (high, after)) =
                (self.sums[run.first as usize], self.sums[run.last as usize + 1]);
            // Every leaf counts up to `unit`; only leaves that surely are sensitive are hard to
            // observe.
            let surely = after > before && high - low == self.unit * (after - before);
            return Ratio::whole(u64::from(!surely));
        };
        if run.first == run.last {
            return self.leaves[run.first as usize];
        }
        if let Some(o) = self.nodes.get(&run) {
            return *o;
        }
        let mut most = self.leaves[run.first as usize];
        let mut at = run.first;
        while at <= run.last {
            let above = self.taxonomy.above(Run::new(at, at));
            let node =
                above.into_iter().rfind(|node| run.covers(*node)).unwrap_or(Run::new(at, at));
            most = most.max(self.observability(node));
            at = node.last + 1;
        }
        boosted(most, alpha).min(self.nodes[&self.taxonomy.node_over(run)])
    }

    /// Whether something of it may be sensitive.
    pub fn guards(&self) -> bool {
        self.sums.last().is_some_and(|(sum, _)| *sum > 0)
    }
}

/// min(1, α + o). Their denominators are at most [`UNIT`], and so are those of sums.
fn boosted(o: Ratio, alpha: Ratio) -> Ratio {
    let den = o.den() / gcd(o.den(), alpha.den()) * alpha.den();
    Ratio::new(o.num() * (den / o.den()) + alpha.num() * (den / alpha.den()), den)
        .min(Ratio::whole(1))
}

/// The attribute with what is said of its values, or everything that is wrong with that.
pub fn attach(
    attribute: Attribute,
    specification: Option<&Specification>,
) -> Result<Attribute, Failures> {
    let values =
        specification.map(|s| Values::new(&attribute.name, s, &attribute.taxonomy)).transpose()?;
    Ok(Attribute { freeform: values.map(Arc::new), ..attribute })
}

/// s of a value; 0 where nothing is said of the attribute.
pub fn sensitivity(of: &Attribute, run: Run) -> Ratio {
    of.freeform.as_ref().map_or(Ratio::whole(0), |v| v.sensitivity(run))
}

/// o of a value; 1 where nothing is said of the attribute.
pub fn observability(of: &Attribute, run: Run) -> Ratio {
    of.freeform.as_ref().map_or(Ratio::whole(1), |v| v.observability(run))
}

/// Names of a specification, and what is wrong with them.
struct Names<'a> {
    column: &'a str,
    taxonomy: &'a Taxonomy,
    problems: Failures,
}

impl Names<'_> {
    /// The runs that names stand for.
    fn named(&mut self, key: &str, names: &[(String, Ratio)]) -> Vec<(Run, Ratio)> {
        let mut runs = Vec::new();
        for (name, value) in names {
            match self.taxonomy.parse(name) {
                Some(run) => runs.push((run, *value)),
                None => {
                    let rows = self.taxonomy.rows();
                    let known = rows.iter().flatten().map(String::as_str);
                    let problem = format!(
                        "`{key}` of `{}` names `{name}`, which its taxonomy does not have",
                        self.column
                    );
                    self.problems.push(
                        Failure::policy("unknown-value", problem).hint(did_you_mean(name, known)),
                    );
                }
            }
        }
        runs
    }

    /// The sensitivity of every leaf.
    fn sensitive(&mut self, of: &Specification) -> Vec<Ratio> {
        let mut runs = match &of.sensitivity {
            Sensitivity::Given(values) => self.named("sensitivity", values),
            _ => {
                let all: Vec<(String, Ratio)> =
                    of.guarding.iter().map(|g| (g.clone(), Ratio::whole(1))).collect();
                self.named("guarding", &all)
            }
        };
        // What is said of fewer leaves counts more.
        runs.sort_by_key(|(run, _)| std::cmp::Reverse(run.width()));
        let mut leaves = vec![Ratio::whole(0); self.taxonomy.leaves()];
        for (run, s) in runs {
            leaves[run.first as usize..=run.last as usize].fill(s);
        }
        leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Rule, Tree};

    fn leaf(label: &str) -> Tree {
        Tree { label: label.into(), children: Vec::new() }
    }

    fn node(label: &str, children: Vec<Tree>) -> Tree {
        Tree { label: label.into(), children }
    }

    fn taxonomy(tree: Tree, missing: bool) -> Arc<Taxonomy> {
        Arc::new(Taxonomy::generate(&Rule::Nested(tree), "t", &[], missing).unwrap())
    }

    fn diseases() -> Arc<Taxonomy> {
        let viral = node("VI", vec![leaf("Flu"), leaf("AIDS")]);
        let bacterial = node("BI", vec![leaf("E.Coli"), leaf("TB")]);
        taxonomy(node("ANY", vec![viral, bacterial]), false)
    }

    fn number(text: &str) -> Ratio {
        Ratio::parse(text).unwrap()
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, Ratio)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), number(value))).collect()
    }

    fn guarding(nodes: &[&str], sensitivity: Sensitivity) -> Specification {
        let guarding = nodes.iter().map(|n| (*n).to_owned()).collect();
        Specification { guarding, sensitivity, ..Specification::default() }
    }

    /// Every label with s and o.
    fn table(of: &Values, labels: &[&str]) -> Vec<String> {
        let run = |label: &str| of.taxonomy().parse(label).unwrap();
        labels
            .iter()
            .map(|l| format!("{l} {} {}", of.sensitivity(run(l)), of.observability(run(l))))
            .collect()
    }

    #[test]
    fn sensitivities_are_those_of_the_examples() {
        let of = |s: &Specification| Values::new("Disease", s, &diseases()).unwrap();
        let labels = ["AIDS", "TB", "Flu", "E.Coli", "VI", "BI", "ANY"];
        let gs1 = guarding(&["AIDS", "TB"], Sensitivity::Aggregate);
        let expected =
            ["AIDS 1 0", "TB 1 0", "Flu 0 1", "E.Coli 0 1", "VI 1/2 1", "BI 1/2 1", "ANY 1/2 1"];
        assert_eq!(table(&of(&gs1), &labels), expected);
        let particular = guarding(&["AIDS", "TB"], Sensitivity::NonAggregate);
        let expected =
            ["AIDS 1 0", "TB 1 0", "Flu 0 1", "E.Coli 0 1", "VI 1/4 1", "BI 1/4 1", "ANY 1/8 1"];
        assert_eq!(table(&of(&particular), &labels), expected);
        let gs2 = guarding(&["AIDS", "BI"], Sensitivity::Aggregate);
        let expected =
            ["AIDS 1 0", "TB 1 0", "Flu 0 1", "E.Coli 1 0", "VI 1/2 1", "BI 1 0", "ANY 3/4 1"];
        assert_eq!(table(&of(&gs2), &labels), expected);
        let given = Sensitivity::Given(pairs(&[("Flu", "0.1"), ("VI", "0.5"), ("TB", "1")]));
        let expected = ["Flu 1/10 1", "AIDS 1/2 1", "VI 3/10 1", "TB 1 0", "ANY 2/5 1"];
        assert_eq!(
            table(&of(&guarding(&[], given)), &["Flu", "AIDS", "VI", "TB", "ANY"]),
            expected
        );
    }

    #[test]
    fn missing_values_change_nothing() {
        let tree = || node("ANY", vec![leaf("a"), leaf("b")]);
        let of = |missing| {
            let spec = Specification {
                observability: Observability::Believed {
                    belief: number("0.2"),
                    beliefs: vec![],
                    alpha: number("0.1"),
                },
                ..guarding(&["a"], Sensitivity::Aggregate)
            };
            Values::new("t", &spec, &taxonomy(tree(), missing)).unwrap()
        };
        assert_eq!(table(&of(false), &["a", "b", "ANY"]), ["a 1 1/5", "b 0 1/5", "ANY 1/2 3/10"]);
        assert_eq!(
            table(&of(true), &["a", "b", "ANY", ""]),
            ["a 1 1/5", "b 0 1/5", "ANY 1/2 3/10", " 0 3/10"]
        );
    }

    fn believed(leaves: [&str; 2], alpha: &str, parent: Option<&str>) -> Result<String, String> {
        let t = taxonomy(node("a", vec![leaf("a1"), leaf("a2")]), false);
        let mut beliefs = pairs(&[("a1", leaves[0]), ("a2", leaves[1])]);
        beliefs.extend(parent.map(|p| ("a".to_owned(), number(p))));
        let observability =
            Observability::Believed { belief: number("0"), beliefs, alpha: number(alpha) };
        let spec = Specification { observability, ..Specification::default() };
        let values = Values::new("A", &spec, &t).map_err(|p| p.0[0].message.clone())?;
        Ok(values.observability(t.root()).to_string())
    }

    #[test]
    fn beliefs_rise_from_children_to_parents() {
        assert_eq!(believed(["0", "0"], "1", None).unwrap(), "1");
        assert_eq!(believed(["0.2", "0.5"], "0.1", None).unwrap(), "3/5");
        assert_eq!(believed(["0.9", "0.95"], "0.2", None).unwrap(), "1");
        assert_eq!(believed(["0.2", "0.5"], "0", Some("0.5")).unwrap(), "1/2");
        let refused = believed(["0.2", "0.5"], "0", Some("0.35")).unwrap_err();
        assert!(
            refused.contains("Observability Principle at `a`: 7/20, but `a2` below it has 1/2"),
            "{refused}"
        );
    }

    #[test]
    fn ranges_lie_between_what_they_hold_and_what_holds_them() {
        let rows: Vec<Vec<String>> = ["1;low;*", "2;low;*", "3;high;*", "4;high;*", "5;high;*"]
            .iter()
            .map(|line| line.split(';').map(str::to_owned).collect())
            .collect();
        let t = Arc::new(Taxonomy::from_rows("t", rows, true, false).unwrap());
        let beliefs = pairs(&[("5", "0.3"), ("low", "0.4")]);
        let observability =
            Observability::Believed { belief: number("0.1"), beliefs, alpha: number("0.2") };
        let values =
            Values::new("t", &Specification { observability, ..Specification::default() }, &t)
                .unwrap();
        let runs: Vec<Run> = (0..5).flat_map(|a| (a..5).map(move |b| Run::new(a, b))).collect();
        for &a in &runs {
            for &b in runs.iter().filter(|b| a.covers(**b)) {
                assert!(values.observability(a) >= values.observability(b), "{a:?} {b:?}");
            }
        }
        assert_eq!(values.observability(Run::new(1, 2)).to_string(), "3/10");
        assert_eq!(values.observability(Run::new(0, 2)).to_string(), "3/5");
    }

    #[test]
    fn unknown_names_are_told() {
        let wrong =
            Values::new("Disease", &guarding(&["Aids", "TB"], Sensitivity::Aggregate), &diseases());
        let problem = &wrong.unwrap_err().0[0];
        assert!(problem.to_string().contains("`guarding` of `Disease` names `Aids`"), "{problem}");
        assert!(problem.to_string().contains("did you mean `AIDS`?"), "{problem}");
    }
}
