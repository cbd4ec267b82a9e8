//! An attack as a test: what continuous integration reads.

use super::conditions::Figures;
use crate::answer::Tested;
use crate::publish::write_whole;
use scumble::failure::Failures;
use scumble::picture::escape;
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;

/// Attacks that were carried out, as tests.
pub struct Tests<'a> {
    /// What was attacked: folders of releases, a policy, a file of statistics.
    pub attacked: Vec<String>,
    /// Figures by attack.
    pub figures: Vec<Figures<'a>>,
    /// Conditions with the figures that they were held against.
    pub conditions: &'a [Tested],
}

impl Tests<'_> {
    /// Writes the files that are wanted.
    pub fn write(&self, junit: Option<&PathBuf>, sarif: Option<&PathBuf>) -> Result<(), Failures> {
        junit.map_or(Ok(()), |file| write_whole(file, &self.junit()))?;
        sarif.map_or(Ok(()), |file| write_whole(file, &self.sarif()))
    }

    /// The conditions as a JUnit test suite, a test for each figure that one is held against;
    /// without conditions a test for each attack, which passes because it was carried out.
    fn junit(&self) -> String {
        let failures = self.conditions.iter().filter(|t| t.met).count();
        let tests =
            if self.conditions.is_empty() { self.figures.len() } else { self.conditions.len() };
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = writeln!(
            out,
            "<testsuite name=\"attack on {}\" tests=\"{tests}\" failures=\"{failures}\">",
            escape(&self.attacked.join(", "))
        );
        for t in self.conditions {
            let (attack, name) = (escape(&t.attack), escape(&t.condition));
            let _ = write!(out, "  <testcase classname=\"scumble.{attack}\" name=\"{name}\"");
            if t.met {
                let _ = writeln!(
                    out,
                    ">\n    <failure message=\"{}\"/>\n  </testcase>",
                    escape(&t.words())
                );
            } else {
                out.push_str("/>\n");
            }
        }
        for (attack, _) in self.figures.iter().filter(|_| self.conditions.is_empty()) {
            let _ = writeln!(
                out,
                "  <testcase classname=\"scumble.{0}\" name=\"{0}\"/>",
                escape(attack)
            );
        }
        out.push_str("  <system-out>\n");
        self.lines().lines().for_each(|line| out.push_str(&format!("{}\n", escape(line))));
        out.push_str("  </system-out>\n");
        out.push_str("</testsuite>\n");
        out
    }

    /// The conditions that are met as results in the Static Analysis Results Interchange Format.
    fn sarif(&self) -> String {
        let rule = |(attack, _): &Figures<'_>| {
            json!({
                "id": attack,
                "shortDescription": { "text": format!("{attack} attack") },
                "help": { "text": format!("the manual page of scumble on `{attack}`") },
            })
        };
        let place = |release: &String| json!({ "physicalLocation": { "artifactLocation": { "uri": release } } });
        let result = |t: &Tested| {
            json!({
                "ruleId": t.attack,
                "level": "error",
                "message": { "text": t.words() },
                "locations": self.attacked.iter().map(place).collect::<Vec<_>>(),
            })
        };
        let report = json!({
            "$schema": "sarif-schema-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "scumble",
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": self.figures.iter().map(rule).collect::<Vec<_>>(),
                }},
                "results": self.conditions.iter().filter(|t| t.met).map(result).collect::<Vec<_>>(),
            }],
        });
        format!("{report:#}\n")
    }

    /// All figures, a line each.
    fn lines(&self) -> String {
        let line = |(attack, figures): &Figures<'_>| -> String {
            figures.iter().map(|f| format!("{attack}.{} = {}\n", f.name, f.value)).collect()
        };
        self.figures.iter().map(line).collect()
    }
}
