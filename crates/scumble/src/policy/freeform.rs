//! How sensitive and observable the single values of a column are, as a policy says it.

use super::AttributePolicy;
use super::reader::{Reader, Section, scalar, shown};
use crate::exact::Ratio;
use crate::failure::{Action, Failure, Remedy};
use crate::freeform::{Observability, Sensitivity, Specification};
use crate::table::Role;
use crate::taxonomy::Rule;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Keys of a freeform column.
pub(super) const KEYS: [&str; 3] = ["guarding", "sensitivity", "observability"];

impl<'a> Reader<'a> {
    /// What a column says of its values; nothing unless it is freeform.
    pub(super) fn freeform(
        &self,
        section: &Section<'a>,
        name: &str,
        role: Role,
        taxonomy: Option<&Rule>,
    ) -> Option<Specification> {
        let given: Vec<&str> = KEYS.into_iter().filter(|key| section.get(key).is_some()).collect();
        if role != Role::Freeform {
            if !given.is_empty() {
                let keys = given.join("`, `");
                let problem = Failure::policy(
                    "useless-key",
                    format!("column `{name}` is `{}` and has no place for `{keys}`", role.name()),
                );
                self.report(
                    section.at,
                    problem.hint("these are for columns with `role = \"freeform\"`"),
                );
            }
            return None;
        }
        let specification = Specification {
            guarding: self.texts_at(section, "guarding").unwrap_or_default(),
            sensitivity: section
                .get("sensitivity")
                .and_then(|v| self.sensitivity(section, v))
                .unwrap_or_default(),
            observability: section
                .get("observability")
                .and_then(|v| self.observability(section, v))
                .unwrap_or_default(),
        };
        if matches!(specification.sensitivity, Sensitivity::Given(_))
            && section.get("guarding").is_some()
        {
            let problem = format!("column `{name}` says twice which values are sensitive");
            let hint =
                "leave `guarding` out where `sensitivity` gives a number to every sensitive value";
            self.report(section.at, Failure::policy("conflicting-keys", problem).hint(hint));
        }
        let made =
            matches!(taxonomy, Some(rule) if !matches!(rule, Rule::File { .. } | Rule::Nested(_)));
        if made && specification.names_values() {
            let problem = format!(
                "column `{name}` names single values, but its taxonomy is made from the data"
            );
            let remedy = Remedy::words(
                "a recipient must know the values to check the promise: write the taxonomy to a file with ",
            )
            .and_run(Action::BuildTaxonomy)
            .then(", and name the file; `observability = { belief = … }` alone needs none");
            self.report(section.at, Failure::policy("wrong-taxonomy-rule", problem).remedy(remedy));
        }
        Some(specification)
    }

    fn sensitivity(
        &self,
        section: &Section<'a>,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Option<Sensitivity> {
        match value.get_ref() {
            DeValue::Table(table) => {
                Some(Sensitivity::Given(self.shares(&section.path("sensitivity"), table)))
            }
            DeValue::String(word) if *word == "aggregate" => Some(Sensitivity::Aggregate),
            DeValue::String(word) if *word == "non-aggregate" => Some(Sensitivity::NonAggregate),
            other => {
                let problem =
                    format!("`{}` cannot be {}", section.path("sensitivity"), shown(other));
                let hint = "`\"aggregate\"`, `\"non-aggregate\"`, or a number for each sensitive value: `{ AIDS = 1, Flu = 0.2 }`";
                self.report(value.span().start, Failure::policy("wrong-value", problem).hint(hint));
                None
            }
        }
    }

    fn observability(
        &self,
        of: &Section<'a>,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Option<Observability> {
        let at = value.span().start;
        let path = of.path("observability");
        let table = match value.get_ref() {
            DeValue::String(word) if *word == "sensitivity" => {
                return Some(Observability::BySensitivity);
            }
            DeValue::Table(table) => table,
            other => {
                let hint = "`\"sensitivity\"`, or beliefs: `{ belief = 0, alpha = 1 }`";
                self.report(
                    at,
                    Failure::policy("wrong-value", format!("`{path}` cannot be {}", shown(other)))
                        .hint(hint),
                );
                return None;
            }
        };
        let section = Section { path, table, at };
        self.only(&section, &["belief", "alpha", "beliefs"]);
        let beliefs = self
            .section(&section, "beliefs")
            .map_or_else(Vec::new, |s| self.shares(&s.path, s.table));
        let alpha = section.get("alpha").and_then(|v| self.share(&section.path("alpha"), v));
        let Some(belief) = section.get("belief") else {
            let problem =
                Failure::policy("missing-key", format!("`{}` is missing", section.path("belief")));
            self.report(
                at,
                problem.hint("it says how observable the values are that `beliefs` does not name, from 0 to 1"),
            );
            return None;
        };
        let belief = self.share(&section.path("belief"), belief)?;
        Some(Observability::Believed { belief, beliefs, alpha: alpha.unwrap_or(Ratio::whole(0)) })
    }

    /// Names with numbers from 0 to 1.
    fn shares(&self, path: &str, table: &'a DeTable<'a>) -> Vec<(String, Ratio)> {
        let all = table.iter().map(|(key, value)| (key.get_ref().to_string(), value));
        all.filter_map(|(name, value)| {
            Some((name.clone(), self.share(&format!("{path}.{name}"), value)?))
        })
        .collect()
    }

    pub(super) fn share(&self, path: &str, value: &Spanned<DeValue<'a>>) -> Option<Ratio> {
        let share = scalar(value.get_ref())
            .and_then(|t| Ratio::parse(&t))
            .filter(|r| *r <= Ratio::whole(1));
        if share.is_none() {
            let problem =
                format!("`{path}` must be a number from 0 to 1, not {}", shown(value.get_ref()));
            self.report(value.span().start, Failure::policy("wrong-value", problem));
        }
        share
    }

    /// Reports a model about freeform attributes where no value is said to be sensitive: it would
    /// hold for every release.
    pub(super) fn has_something_to_guard(
        &self,
        section: &Section<'a>,
        model: &str,
        generalized: &[&AttributePolicy],
        on: Option<&[usize]>,
    ) {
        let looked_at = (0..generalized.len()).filter(|i| on.is_none_or(|on| on.contains(i)));
        let guards = |i: usize| generalized[i].freeform.as_ref().is_some_and(Specification::guards);
        if !looked_at.into_iter().any(guards) {
            let problem = Failure::policy(
                "nothing-to-guard",
                format!("`{model}` has nothing to guard: no value is said to be sensitive"),
            );
            let hint = "give columns `role = \"freeform\"` and `guarding = [\"…\"]`, the nodes over their sensitive values";
            self.report(section.at, problem.hint(hint));
        }
    }
}
