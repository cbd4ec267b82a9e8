//! What a policy lets the whole history reveal: `[gate]`.

use super::reader::{Reader, Section, scalar, shown};
use super::source::password;
use crate::catalogue::did_you_mean;
use crate::exact::Ratio;
use crate::failure::Failure;
use crate::gate::{Gate, Panelist, WORK_PER_SECOND};
use toml::Spanned;
use toml::de::DeValue;

impl<'a> Reader<'a> {
    /// Where the ledger is; `None` if the policy does not want one.
    pub(super) fn ledger(&self, root: &Section<'a>) -> Option<String> {
        let Some(value) = root.get("ledger") else { return Some("ledger".into()) };
        match value.get_ref() {
            DeValue::Boolean(false) => None,
            _ => {
                let text = self.text_of(root, "ledger", value)?;
                if let Some(password) = password(&text) {
                    let problem = Failure::policy(
                        "password-in-address",
                        "`ledger` holds a password, and policies are read by many",
                    );
                    self.report(value.span().start + password, problem.hint(
                        "leave it out of the address; give it in the environment variable `PGPASSWORD` or in a `.pgpass` file",
                    ));
                }
                Some(text)
            }
        }
    }

    /// The gate; what is not written stands at its default.
    pub(super) fn gate(&self, root: &Section<'a>) -> Gate {
        let mut gate = Gate::default();
        let Some(section) = self.section(root, "gate") else { return gate };
        gate.written = true;
        let keys = [
            "certain",
            "candidates",
            "posterior",
            "pvp",
            "response_epsilon",
            "panel",
            "coalitions",
            "everybody",
            "remedies",
            "seconds",
        ];
        self.only(&section, &keys);
        let whole = |key: &str, least: u64| {
            let value = section.get(key)?;
            let number =
                scalar(value.get_ref()).and_then(|t| t.parse::<u64>().ok()).filter(|n| *n >= least);
            if number.is_none() {
                self.wrong(&section, key, value, &format!("a whole number of at least {least}"));
            }
            number
        };
        gate.certain = whole("certain", 0).unwrap_or(0);
        gate.candidates = whole("candidates", 2);
        gate.coalitions = whole("coalitions", 1).unwrap_or(1) as usize;
        if let Some(seconds) = whole("seconds", 1) {
            gate.seconds = seconds;
            gate.work = seconds.saturating_mul(WORK_PER_SECOND);
        }
        gate.posterior =
            section.get("posterior").and_then(|v| self.share(&section.path("posterior"), v));
        gate.response_epsilon = section.get("response_epsilon").and_then(|value| {
            let number = scalar(value.get_ref()).and_then(|t| Ratio::parse(&t));
            if number.is_none() {
                self.wrong(&section, "response_epsilon", value, "a number that is not negative");
            }
            number
        });
        gate.everybody = self.flag(&section, "everybody").unwrap_or(true);
        gate.remedies = self.flag(&section, "remedies").unwrap_or(true);
        if let Some(names) = self.texts_at(&section, "panel") {
            gate.panel = self.panel(&section, &names);
        }
        if let Some(levels) = self.section(&section, "pvp") {
            gate.pvp = levels
                .table
                .iter()
                .filter_map(|(key, v)| self.level(&levels, key.get_ref(), v))
                .collect();
        }
        gate
    }

    /// A confidence in per cent and the share of people of whom it may be reached.
    fn level(
        &self,
        of: &Section<'a>,
        key: &str,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Option<(Ratio, Ratio)> {
        let percent = key.parse::<u64>().ok().filter(|p| (1..=100).contains(p));
        if percent.is_none() {
            let problem =
                Failure::policy("wrong-value", format!("`{}` is no confidence", of.path(key)));
            self.report(
                value.span().start,
                problem.hint("write per cents, as in `pvp = { 100 = 0, 50 = 0.01 }`"),
            );
        }
        let share = self.share(&of.path(key), value);
        Some((Ratio::new(percent?.into(), 100), share?))
    }

    fn panel(&self, section: &Section<'a>, names: &[String]) -> Vec<Panelist> {
        let mut panel = Vec::new();
        for name in names {
            match Panelist::ALL.iter().find(|(n, _)| n == name) {
                Some((_, panelist)) => panel.push(*panelist),
                None => {
                    let problem = Failure::policy(
                        "unknown-entry",
                        format!("nobody on the panel is called `{name}`"),
                    );
                    let known = Panelist::ALL.map(|(name, _)| name);
                    self.report(section.at, problem.hint(did_you_mean(name, known)));
                }
            }
        }
        panel
    }

    fn wrong(
        &self,
        section: &Section<'a>,
        key: &str,
        value: &Spanned<DeValue<'a>>,
        expected: &str,
    ) {
        let written = shown(value.get_ref());
        let problem = Failure::policy(
            "wrong-value",
            format!("`{}` must be {expected}, not {written}", section.path(key)),
        );
        self.report(value.span().start, problem);
    }
}
