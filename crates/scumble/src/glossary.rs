//! The words of the field, each with a plain definition: what `scumble explain WORD` prints and
//! `docs/glossary.md` lists.
//!
//! A word that is also the name of a method is explained by both: its definition here and the
//! method's manual page.

use crate::catalogue::{self, did_you_mean};
use std::fmt::Write;

/// A word and what it means here.
pub struct Word {
    /// The word.
    pub name: &'static str,
    /// Other words for it.
    pub also: &'static [&'static str],
    /// What it means; the first sentence stands for itself.
    pub definition: &'static str,
    /// Where one meets it.
    pub place: &'static str,
    /// Words that belong to it.
    pub related: &'static [&'static str],
    /// Methods of the catalogue that are about it.
    pub manual: &'static [&'static str],
    /// Pages of `docs/`.
    pub docs: &'static [&'static str],
}

/// What is known about a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// The name as it is listed, not as it was asked for.
    pub name: String,
    /// `word`, or the kind of method; both if it is both.
    pub kinds: Vec<&'static str>,
    /// The text about it.
    pub page: String,
    /// Words that belong to it.
    pub related: Vec<&'static str>,
    /// Methods that are about it.
    pub manual: Vec<&'static str>,
}

/// What is known about a word or the name of a method, however its words are joined. Of the name of
/// a kind of methods, such as `model`, also which there are.
pub fn topic(asked: &str) -> Option<Topic> {
    let wanted = normal(asked);
    let word = find(&wanted);
    let everything = catalogue::everything();
    let method = everything.iter().find(|(_, name, _)| normal(name) == wanted);
    let kind: Vec<_> = everything.iter().filter(|(kind, _, _)| normal(kind) == wanted).collect();
    let mut topic = Topic {
        name: String::new(),
        kinds: Vec::new(),
        page: String::new(),
        related: word.map_or(Vec::new(), |w| w.related.to_vec()),
        manual: word.map_or(Vec::new(), |w| w.manual.to_vec()),
    };
    if let Some(word) = word {
        topic.kinds.push("word");
        topic.name = word.name.into();
        topic.page = word.page();
    }
    if !kind.is_empty() {
        topic.name = kind[0].0.into();
        topic.page.push_str("\n# Which there are\n\n");
        for (_, name, summary) in &kind {
            let _ = writeln!(topic.page, "{name}: {summary}");
        }
    }
    if let Some((kind, name, _)) = method {
        topic.kinds.push(kind);
        topic.name = (*name).into();
        if !topic.page.is_empty() {
            topic.page.push('\n');
        }
        topic.page.push_str(&catalogue::explain(name)?);
    }
    (!topic.page.is_empty()).then_some(topic)
}

/// `hint` text for a name that nothing is known about.
pub fn suggestion(asked: &str) -> String {
    let methods = catalogue::everything().into_iter().map(|(_, name, _)| name);
    let words = WORDS.iter().flat_map(|w| std::iter::once(w.name).chain(w.also.iter().copied()));
    let all: Vec<&str> = methods.chain(words).collect();
    match catalogue::nearest(asked, all.iter().copied()) {
        Some(_) => did_you_mean(asked, all),
        None => "without a name, everything that can be explained is listed".into(),
    }
}

fn find(wanted: &str) -> Option<&'static Word> {
    let called =
        |w: &&Word| std::iter::once(&w.name).chain(w.also).any(|name| normal(name) == wanted);
    WORDS.iter().find(called).or_else(|| {
        // One of several.
        let singular = wanted.strip_suffix('s')?;
        WORDS.iter().find(|w| normal(w.name) == singular)
    })
}

/// A name without regard to case and to how its words are joined.
fn normal(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '_'], "-")
}

impl Word {
    /// The first sentence of the definition.
    pub fn summary(&self) -> &'static str {
        self.definition.split_inclusive(". ").next().unwrap_or(self.definition).trim_end()
    }

    /// The page that is printed.
    pub fn page(&self) -> String {
        let mut page = format!("# {}\n\n{}\n\n", self.name, self.definition);
        for (heading, list) in [("Also called", self.also), ("See also", self.related)] {
            if !list.is_empty() {
                let _ = writeln!(page, "{heading}: {}", list.join(", "));
            }
        }
        let _ = writeln!(page, "Where: {}", self.place);
        if !self.manual.is_empty() {
            let _ = writeln!(page, "Manual pages: {}", self.manual.join(", "));
        }
        if !self.docs.is_empty() {
            let docs: Vec<String> = self.docs.iter().map(|d| format!("docs/{d}")).collect();
            let _ = writeln!(page, "Read: {}", docs.join(", "));
        }
        page
    }

    fn markdown(&self) -> String {
        let mut text = format!("## {}\n\n{}\n\n", self.name, self.definition);
        if !self.also.is_empty() {
            let _ = writeln!(text, "- Also called: {}", self.also.join(", "));
        }
        let _ = writeln!(text, "- Where: {}", self.place);
        if !self.related.is_empty() {
            let links: Vec<String> =
                self.related.iter().map(|r| format!("[{r}](#{})", normal(r))).collect();
            let _ = writeln!(text, "- See also: {}", links.join(", "));
        }
        if !self.manual.is_empty() {
            let pages: Vec<String> =
                self.manual.iter().map(|m| format!("`scumble explain {m}`")).collect();
            let _ = writeln!(text, "- Manual pages: {}", pages.join(", "));
        }
        if !self.docs.is_empty() {
            let docs: Vec<String> = self.docs.iter().map(|d| format!("[{d}]({d})")).collect();
            let _ = writeln!(text, "- Read: {}", docs.join(", "));
        }
        text
    }
}

/// The text of `docs/glossary.md`.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Glossary\n\nThe words of the field as scumble uses them. `scumble explain WORD` prints the same, and the \
         manual page of every\nmethod. This page is made from `crates/scumble/src/glossary.rs` by its test.\n",
    );
    for word in WORDS {
        text.push('\n');
        text.push_str(&word.markdown());
    }
    text
}

/// The words in alphabetical order.
#[rustfmt::skip]
pub const WORDS: &[Word] = &[
    Word {
        name: "adversary",
        also: &["attacker"],
        definition: "Somebody who holds a release, knows something about people, and tries to find out more. What she is taken to know decides which model is needed.",
        place: "attacks, the gate",
        related: &["background knowledge", "recipient", "register", "coalition"],
        manual: &["record-linkage", "inference"],
        docs: &["attacks.md"],
    },
    Word {
        name: "algorithm",
        also: &[],
        definition: "The method that turns an extract into a release which satisfies the models of a policy with as little loss as it can find.",
        place: "`[algorithm]` in a policy",
        related: &["model", "loss", "generalization", "suppression"],
        manual: &["mondrian", "lattice"],
        docs: &["policy.md"],
    },
    Word {
        name: "anatomy",
        also: &["anatomized release", "bucketization"],
        definition: "A release in two tables: quasi-identifiers as they are with the number of a group, and the sensitive values of every group. Who is in the table is shown; who has which value of the group is not.",
        place: "manifest, `check`, `query`",
        related: &["equivalence class", "m-invariance series", "sensitive attribute"],
        manual: &["anatomy", "m-invariance"],
        docs: &["policy.md"],
    },
    Word {
        name: "attack",
        also: &[],
        definition: "A computation that plays the adversary on releases and says what she learns.",
        place: "`scumble attack`, `scumble why`",
        related: &["adversary", "posterior belief", "linkage"],
        manual: &["attribute-linkage", "inference"],
        docs: &["attacks.md"],
    },
    Word {
        name: "attribute",
        also: &["column"],
        definition: "A column of the table, with a role.",
        place: "`[attributes]` in a policy",
        related: &["role", "quasi-identifier", "sensitive attribute"],
        manual: &[],
        docs: &["policy.md"],
    },
    Word {
        name: "attribute disclosure",
        also: &[],
        definition: "Learning a sensitive value of a person, with or without knowing which record is hers.",
        place: "`check`, attacks",
        related: &["identity disclosure", "sensitive attribute", "posterior belief"],
        manual: &["attribute-linkage", "distinct-l-diversity", "t-closeness"],
        docs: &["attacks.md"],
    },
    Word {
        name: "background knowledge",
        also: &[],
        definition: "What an adversary knows before she sees a release: quasi-identifiers of people, facts such as \"she has no cancer\", or how values are distributed.",
        place: "`--facts`, models",
        related: &["adversary", "register", "posterior belief"],
        manual: &["ck-safety", "privacy-skyline"],
        docs: &["attacks.md"],
    },
    Word {
        name: "bound",
        also: &["bounds", "certain bounds"],
        definition: "The least and the most that a count can be in any table from which a release can have been made. Unlike an estimate it assumes nothing.",
        place: "`query`: at least, at most",
        related: &["estimate", "COUNT query"],
        manual: &[],
        docs: &["json.md"],
    },
    Word {
        name: "budget",
        also: &["privacy budget"],
        definition: "The most privacy loss that all private answers about one set of data may cost together. Every answer is recorded as spent before it is shown.",
        place: "`[queries]` in a policy, `ledger show`",
        related: &["epsilon", "ledger", "composition", "mechanism"],
        manual: &["accountant"],
        docs: &["dp.md"],
    },
    Word {
        name: "cell",
        also: &[],
        definition: "The smallest piece of a number or date scale that may be published: a month, an interval of 5, a whole number. Declared by the taxonomy, never taken from the data.",
        place: "taxonomies of numbers and dates",
        related: &["taxonomy", "level", "unit"],
        manual: &[],
        docs: &["policy.md"],
    },
    Word {
        name: "certificate",
        also: &[],
        definition: "The file of a release that states what was measured of it, so that anybody can measure it again from the folder alone.",
        place: "`certificate.json`, `scumble verify`",
        related: &["manifest", "release", "model"],
        manual: &[],
        docs: &["ledger.md"],
    },
    Word {
        name: "churn",
        also: &[],
        definition: "People who come into and leave a table between two releases. It tells about them unless the algorithm takes care.",
        place: "series of releases",
        related: &["republication", "m-invariance series"],
        manual: &["mondrian", "m-invariance"],
        docs: &["ledger.md"],
    },
    Word {
        name: "coalition",
        also: &[],
        definition: "Recipients who put their releases together. The gate judges what each coalition named in the policy learns.",
        place: "`[gate]` in a policy",
        related: &["recipient", "gate", "release"],
        manual: &["inference"],
        docs: &["ledger.md"],
    },
    Word {
        name: "code list",
        also: &[],
        definition: "A public list of all codes that a masked text may stand for, such as the postcodes of a country. With it a recipient spreads `43***` over real codes only.",
        place: "`codes` of a `prefix` taxonomy",
        related: &["prefix", "estimate", "taxonomy"],
        manual: &[],
        docs: &["policy.md"],
    },
    Word {
        name: "composition",
        also: &[],
        definition: "What follows from several releases or answers together. Releases that are safe one by one may disclose together; prices of private answers add up.",
        place: "the gate, budgets",
        related: &["gate", "budget", "intersection"],
        manual: &["intersection", "inference", "accountant"],
        docs: &["ledger.md"],
    },
    Word {
        name: "confidence interval",
        also: &[],
        definition: "The interval that contains the true answer with a stated probability, over the noise that a mechanism added.",
        place: "private answers",
        related: &["mechanism", "epsilon"],
        manual: &[],
        docs: &["dp.md"],
    },
    Word {
        name: "COUNT query",
        also: &["query"],
        definition: "How many records meet conditions on quasi-identifiers and sensitive attributes. The measure of what a recipient can still do with a release.",
        place: "`scumble query`, `scumble compare --workload`",
        related: &["estimate", "bound", "utility", "workload"],
        manual: &[],
        docs: &["json.md"],
    },
    Word {
        name: "counterfeit",
        also: &[],
        definition: "A sensitive value of a group that stands for nobody, added so that a group keeps the same values from release to release.",
        place: "anatomized releases of a series",
        related: &["m-invariance series", "anatomy"],
        manual: &["m-invariance"],
        docs: &["ledger.md"],
    },
    Word {
        name: "delta",
        also: &["δ"],
        definition: "The probability, beside epsilon, with which the guarantee of differential privacy may fail. It should be far below one in the number of people.",
        place: "private answers",
        related: &["epsilon", "differential privacy"],
        manual: &["gaussian"],
        docs: &["dp.md"],
    },
    Word {
        name: "dictionary",
        also: &[],
        definition: "The distinct values of a column with a number each: how a table is held in memory.",
        place: "reading tables",
        related: &["extract"],
        manual: &[],
        docs: &["sources.md"],
    },
    Word {
        name: "differential privacy",
        also: &["dp"],
        definition: "A guarantee about a randomized answer: it is nearly as likely with any one person as without. Holds whatever an adversary knows.",
        place: "`query --dp`, `synthesize`",
        related: &["epsilon", "delta", "mechanism", "budget", "sensitivity"],
        manual: &["laplace", "gaussian"],
        docs: &["dp.md"],
    },
    Word {
        name: "draft policy",
        also: &[],
        definition: "A policy that `inspect` writes from what it sees in a table: a beginning that a person must correct.",
        place: "`scumble inspect --draft`",
        related: &["policy", "role"],
        manual: &[],
        docs: &["policy.md"],
    },
    Word {
        name: "dry run",
        also: &[],
        definition: "Everything that `publish` does except writing and recording.",
        place: "`publish --dry-run`, `compare`",
        related: &["policy", "release"],
        manual: &[],
        docs: &["policy.md"],
    },
    Word {
        name: "engine",
        also: &[],
        definition: "What counts a table that one machine cannot hold: DataFusion in process, or a Ballista cluster.",
        place: "`--engine`, `scumble cluster`",
        related: &["extract"],
        manual: &[],
        docs: &["cluster.md"],
    },
    Word {
        name: "epsilon",
        also: &["ε"],
        definition: "The privacy loss of a differentially private answer: how much likelier, as a logarithm, one person can make any answer. Small is private.",
        place: "prices and budgets",
        related: &["differential privacy", "budget", "delta", "posterior belief"],
        manual: &["laplace", "randomized-response"],
        docs: &["dp.md"],
    },
    Word {
        name: "equivalence class",
        also: &["class"],
        definition: "The records that a release shows with the same quasi-identifiers, so that nobody can tell them apart by these.",
        place: "`check`, every model",
        related: &["quasi-identifier", "k-anonymity set", "generalization"],
        manual: &["k-anonymity"],
        docs: &["policy.md"],
    },
    Word {
        name: "estimate",
        also: &[],
        definition: "What a recipient expects a count to be, if records are spread evenly over what their published values may stand for.",
        place: "`scumble query`, `scumble estimate`",
        related: &["bound", "COUNT query", "code list"],
        manual: &[],
        docs: &["json.md"],
    },
    Word {
        name: "extract",
        also: &[],
        definition: "The records that were read from a source for one publication, with identifiers taken out.",
        place: "`publish`",
        related: &["source", "table"],
        manual: &[],
        docs: &["sources.md"],
    },
    Word {
        name: "fact",
        also: &[],
        definition: "A statement about the people of releases that an adversary has: from a release, or given beside it.",
        place: "`--facts`, `why`",
        related: &["background knowledge", "witness"],
        manual: &["inference"],
        docs: &["attacks.md"],
    },
    Word {
        name: "failure",
        also: &[],
        definition: "An answer that something could not be done, with a kind, a stable code, a subject and a remedy.",
        place: "exit status 2, `--json`",
        related: &["remedy", "refusal"],
        manual: &[],
        docs: &["failures.md"],
    },
    Word {
        name: "freeform attribute",
        also: &[],
        definition: "A column whose values are partly sensitive and partly observable, so that it is both quasi-identifier and sensitive attribute.",
        place: "role `freeform`",
        related: &["role", "sensitive attribute", "quasi-identifier"],
        manual: &["ff-anonymity", "freeform", "specialize"],
        docs: &["policy.md"],
    },
    Word {
        name: "full-domain recoding",
        also: &["global recoding"],
        definition: "Generalization in which every value of a column is shown at the same level of its taxonomy.",
        place: "`lattice`, `incognito`, `samarati`, `datafly`",
        related: &["local recoding", "level", "generalization"],
        manual: &["lattice", "incognito", "samarati", "datafly"],
        docs: &["policy.md"],
    },
    Word {
        name: "gate",
        also: &[],
        definition: "The judge between an extract and its release who lets every recipient put the new release together with all earlier ones, and refuses what would let too much be known.",
        place: "`[gate]` in a policy",
        related: &["ledger", "coalition", "posterior belief", "remedy"],
        manual: &["inference"],
        docs: &["ledger.md"],
    },
    Word {
        name: "generalization",
        also: &["recoding"],
        definition: "Replacing a value by a coarser one of its taxonomy: 43101 by 431**, 34 by [30, 40).",
        place: "every release of regions",
        related: &["taxonomy", "level", "suppression", "full-domain recoding", "local recoding"],
        manual: &["mondrian"],
        docs: &["policy.md"],
    },
    Word {
        name: "group",
        also: &[],
        definition: "Records of an anatomized release that share a table of sensitive values.",
        place: "anatomized releases",
        related: &["anatomy", "equivalence class"],
        manual: &["anatomy"],
        docs: &["policy.md"],
    },
    Word {
        name: "guard",
        also: &[],
        definition: "A column that names what a person wants protected, used by a model and never published.",
        place: "role `guard`",
        related: &["role", "sensitive attribute"],
        manual: &["personalized-privacy"],
        docs: &["policy.md"],
    },
    Word {
        name: "head",
        also: &[],
        definition: "The last entry of a ledger, noted elsewhere so that a ledger whose tail was cut off is noticed.",
        place: "`ledger verify`, `[ledger]`",
        related: &["ledger", "pseudonym"],
        manual: &[],
        docs: &["ledger.md"],
    },
    Word {
        name: "headroom",
        also: &[],
        definition: "How many further releases of the same kind the gate would still let pass.",
        place: "`ledger headroom`",
        related: &["gate", "ledger"],
        manual: &[],
        docs: &["ledger.md"],
    },
    Word {
        name: "identifier",
        also: &["direct identifier"],
        definition: "A column that names a person by itself: name, number, address. Never published.",
        place: "role `identifier`",
        related: &["quasi-identifier", "pseudonym", "role"],
        manual: &[],
        docs: &["policy.md"],
    },
    Word {
        name: "identity disclosure",
        also: &["re-identification"],
        definition: "Learning which record of a release is a person's.",
        place: "`check`, attacks",
        related: &["singling out", "linkage", "prosecutor risk"],
        manual: &["record-linkage", "k-anonymity"],
        docs: &["attacks.md"],
    },
    Word {
        name: "inference",
        also: &[],
        definition: "Working out from facts what every world that agrees with them has in common, and what most of them have.",
        place: "the gate, `attack inference`, `why`",
        related: &["possible world", "posterior belief", "witness", "maximum entropy"],
        manual: &["inference"],
        docs: &["attacks.md"],
    },
    Word {
        name: "insensitive attribute",
        also: &[],
        definition: "A column that is published as it is and protects nobody and nothing.",
        place: "role `insensitive`",
        related: &["role", "quasi-identifier"],
        manual: &[],
        docs: &["policy.md"],
    },
    Word {
        name: "intersection",
        also: &[],
        definition: "Finding a person in several releases and keeping only the values that all of them allow.",
        place: "attacks on series",
        related: &["composition", "republication"],
        manual: &["intersection"],
        docs: &["attacks.md"],
    },
    Word {
        name: "journalist risk",
        also: &[],
        definition: "The probability of naming the right person for a record, for an adversary who knows a register of the population but not who is in the release.",
        place: "`check --register`",
        related: &["prosecutor risk", "marketer risk", "register"],
        manual: &["k-map", "average-risk"],
        docs: &["attacks.md"],
    },
    Word {
        name: "k-anonymity set",
        also: &["anonymity set"],
        definition: "The records among which a person cannot be told apart.",
        place: "`check`",
        related: &["equivalence class"],
        manual: &["k-anonymity"],
        docs: &["policy.md"],
    },
    Word {
        name: "lattice of levels",
        also: &["generalization lattice"],
        definition: "All combinations of one level per quasi-identifier, ordered by coarser: the search space of full-domain recoding.",
        place: "`lattice`, `incognito`",
        related: &["level", "full-domain recoding"],
        manual: &["lattice", "incognito"],
        docs: &["policy.md"],
    },
    Word {
        name: "ledger",
        also: &[],
        definition: "The record of every release and every private answer, in a chain of entries that cannot be changed unnoticed. The gate and budgets are judged by it.",
        place: "`scumble ledger`, `ledger` in a policy",
        related: &["gate", "budget", "pseudonym", "head"],
        manual: &[],
        docs: &["ledger.md"],
    },
    Word {
        name: "level",
        also: &[],
        definition: "How far values are generalized: level 0 is the value, the last one `*`. A step of a taxonomy.",
        place: "taxonomies, manifest",
        related: &["taxonomy", "full-domain recoding", "cell"],
        manual: &[],
        docs: &["policy.md"],
    },
    Word {
        name: "linkage",
        also: &["linking"],
        definition: "Joining a release with what is known about people by the columns that both have.",
        place: "attacks",
        related: &["quasi-identifier", "register", "identity disclosure"],
        manual: &["record-linkage", "attribute-linkage", "table-linkage"],
        docs: &["attacks.md"],
    },
    Word {
        name: "local recoding",
        also: &[],
        definition: "Generalization in which equal values may be shown differently from class to class.",
        place: "`mondrian`, `local`",
        related: &["full-domain recoding", "generalization"],
        manual: &["mondrian", "local"],
        docs: &["policy.md"],
    },
    Word {
        name: "loss",
        also: &["information loss"],
        definition: "What generalization and suppression take from a release, on a scale from 0 (nothing) to 1 (everything).",
        place: "`publish`, `compare`",
        related: &["utility", "metric", "generalization"],
        manual: &["loss", "gcp"],
        docs: &["policy.md"],
    },
    Word {
        name: "m-invariance series",
        also: &[],
        definition: "Releases of a changing table in which the group of a person always has the same set of sensitive values.",
        place: "series of releases",
        related: &["counterfeit", "churn", "republication"],
        manual: &["m-invariance", "history-guided"],
        docs: &["ledger.md"],
    },
    Word {
        name: "manifest",
        also: &[],
        definition: "The file of a release that says what its columns mean: roles, taxonomies, models, algorithm, files with their hashes.",
        place: "`manifest.json`",
        related: &["certificate", "release"],
        manual: &[],
        docs: &["json.md"],
    },
    Word {
        name: "marketer risk",
        also: &[],
        definition: "The mean probability of naming the right person, over all records.",
        place: "`check`",
        related: &["prosecutor risk", "journalist risk"],
        manual: &["average-risk"],
        docs: &["attacks.md"],
    },
    Word {
        name: "masking",
        also: &[],
        definition: "Hiding the last characters of a text: 431**.",
        place: "`prefix` taxonomies",
        related: &["prefix", "generalization", "code list"],
        manual: &[],
        docs: &["policy.md"],
    },
    Word {
        name: "maximum entropy",
        also: &[],
        definition: "The belief that follows from facts if nothing else is assumed: of all distributions that agree with them, the most even one.",
        place: "beliefs of the gate and of attacks",
        related: &["posterior belief", "inference", "possible world"],
        manual: &["inference"],
        docs: &["attacks.md"],
    },
    Word {
        name: "mechanism",
        also: &[],
        definition: "A randomized computation whose answer is differentially private, with a price.",
        place: "`query --dp`",
        related: &["differential privacy", "epsilon", "sensitivity"],
        manual: &["laplace", "gaussian", "exponential"],
        docs: &["dp.md"],
    },
    Word {
        name: "membership disclosure",
        also: &["presence"],
        definition: "Learning that a person is in a table, which may be what she wants hidden.",
        place: "`check --register`, attacks",
        related: &["adversary", "register"],
        manual: &["delta-presence", "table-linkage"],
        docs: &["attacks.md"],
    },
    Word {
        name: "metric",
        also: &[],
        definition: "A figure for how much a release says less than its extract.",
        place: "`metric` in a policy, `compare`",
        related: &["loss", "utility"],
        manual: &["gcp", "discernibility"],
        docs: &["policy.md"],
    },
    Word {
        name: "microaggregation",
        also: &["microaggregated release"],
        definition: "A release whose numbers are means of groups of at least k records.",
        place: "`microaggregation`",
        related: &["representative", "equivalence class"],
        manual: &["microaggregation"],
        docs: &["policy.md"],
    },
    Word {
        name: "microdata",
        also: &[],
        definition: "A table with one record per person or per event, as opposed to counts.",
        place: "what is published",
        related: &["record", "statistic"],
        manual: &[],
        docs: &[],
    },
    Word {
        name: "model",
        also: &["privacy model"],
        definition: "A property of a release that says what an adversary of a stated kind cannot learn, with parameters. A policy promises models.",
        place: "`[[models]]` in a policy",
        related: &["policy", "adversary", "monotonicity"],
        manual: &["k-anonymity", "distinct-l-diversity", "t-closeness"],
        docs: &["policy.md"],
    },
    Word {
        name: "monotonicity",
        also: &[],
        definition: "A model is monotone if joining classes never breaks it. Algorithms that search from fine to coarse rely on it.",
        place: "manual pages of models",
        related: &["model", "lattice of levels"],
        manual: &["lattice", "incognito"],
        docs: &["policy.md"],
    },
    Word {
        name: "observable value",
        also: &[],
        definition: "A value that others can see of a person, such as her age, as opposed to one she can keep to herself.",
        place: "freeform columns",
        related: &["freeform attribute", "quasi-identifier"],
        manual: &["ff-anonymity"],
        docs: &["policy.md"],
    },
    Word {
        name: "outlier",
        also: &[],
        definition: "A record that is alike to few others. Generalizing it costs much, so algorithms may suppress it.",
        place: "algorithms",
        related: &["suppression", "uniqueness"],
        manual: &[],
        docs: &[],
    },
    Word {
        name: "perturbation",
        also: &[],
        definition: "Changing values at random, or by rounding, before anything else is done.",
        place: "`perturb` in a policy",
        related: &["randomized response", "estimate"],
        manual: &["noise", "keep", "swap"],
        docs: &["policy.md"],
    },
    Word {
        name: "policy",
        also: &[],
        definition: "What a publisher promises and how: source, roles, taxonomies, models, algorithm, recipients, gate, budget. A TOML file, or data of a program.",
        place: "`scumble publish POLICY`",
        related: &["model", "role", "taxonomy", "gate"],
        manual: &[],
        docs: &["policy.md"],
    },
    Word {
        name: "population",
        also: &[],
        definition: "All people whom a release may be about, of whom the extract has some.",
        place: "registers, estimators",
        related: &["register", "uniqueness"],
        manual: &["population-uniqueness", "k-map"],
        docs: &["attacks.md"],
    },
    Word {
        name: "possible world",
        also: &["world"],
        definition: "One way the original tables may have been: a table that agrees with everything published and known.",
        place: "attacks, the gate",
        related: &["inference", "posterior belief"],
        manual: &["inference"],
        docs: &["attacks.md"],
    },
    Word {
        name: "posterior belief",
        also: &["belief"],
        definition: "The probability that an adversary gives to a statement about a person after seeing releases.",
        place: "the gate, attacks, private answers",
        related: &["prior belief", "maximum entropy", "adversary"],
        manual: &["inference", "bayes"],
        docs: &["attacks.md"],
    },
    Word {
        name: "prefix",
        also: &[],
        definition: "A taxonomy of texts that are masked from the right.",
        place: "`prefix` in a policy",
        related: &["masking", "code list", "taxonomy"],
        manual: &[],
        docs: &["policy.md"],
    },
    Word {
        name: "price",
        also: &[],
        definition: "What a private answer costs of a budget, in the units of its accountant.",
        place: "`query --dp`, `ledger show`",
        related: &["budget", "epsilon", "composition"],
        manual: &["accountant"],
        docs: &["dp.md"],
    },
    Word {
        name: "prior belief",
        also: &[],
        definition: "The probability that an adversary gives to a statement before she sees a release.",
        place: "attacks",
        related: &["posterior belief", "background knowledge"],
        manual: &["bayes", "beta-likeness"],
        docs: &["attacks.md"],
    },
    Word {
        name: "prosecutor risk",
        also: &[],
        definition: "The probability of naming the right record of a person who is known to be in the release: one in the size of her class.",
        place: "`check`",
        related: &["journalist risk", "marketer risk", "equivalence class"],
        manual: &["record-linkage", "k-anonymity"],
        docs: &["attacks.md"],
    },
    Word {
        name: "pseudonym",
        also: &[],
        definition: "A keyed hash of an identifier by which the ledger recognises a person from release to release without holding her name.",
        place: "ledger",
        related: &["ledger", "identifier"],
        manual: &[],
        docs: &["ledger.md"],
    },
    Word {
        name: "public",
        also: &[],
        definition: "Known to everybody anyway, so that it may go with a release whole: a taxonomy file declared `public`.",
        place: "`public = true` in a policy",
        related: &["taxonomy", "code list"],
        manual: &[],
        docs: &["policy.md"],
    },
    Word {
        name: "quasi-identifier",
        also: &["key variable", "qi"],
        definition: "A column that others may know of a person and that, with more such columns, may tell who she is: age, postcode, sex.",
        place: "role `quasi-identifier`",
        related: &["identifier", "sensitive attribute", "linkage", "equivalence class"],
        manual: &["k-anonymity", "record-linkage"],
        docs: &["policy.md"],
    },
    Word {
        name: "randomized response",
        also: &[],
        definition: "Keeping a value with a stated probability and drawing it at random otherwise, so that nobody's value is certain and counts can be estimated.",
        place: "`perturb = { keep = … }`, `scumble estimate`",
        related: &["perturbation", "estimate", "epsilon"],
        manual: &["keep"],
        docs: &["policy.md"],
    },
    Word {
        name: "recipient",
        also: &[],
        definition: "Who gets a release. The gate remembers who has which.",
        place: "`recipients` in a policy",
        related: &["coalition", "adversary", "gate"],
        manual: &[],
        docs: &["ledger.md"],
    },
    Word {
        name: "record",
        also: &["row"],
        definition: "A row of a table.",
        place: "everywhere",
        related: &["microdata", "extract"],
        manual: &[],
        docs: &[],
    },
    Word {
        name: "refusal",
        also: &[],
        definition: "The answer that nothing was published because a promise could not be kept: exit status 1, an answer and not an error.",
        place: "`publish`",
        related: &["remedy", "gate", "failure"],
        manual: &[],
        docs: &["ledger.md"],
    },
    Word {
        name: "region",
        also: &[],
        definition: "What a class shows of its quasi-identifiers: one generalized value for each. Its records lie somewhere in it.",
        place: "releases",
        related: &["equivalence class", "generalization"],
        manual: &["mondrian"],
        docs: &["policy.md"],
    },
    Word {
        name: "register",
        also: &["population register"],
        definition: "A table of people whom an adversary may look for, with the quasi-identifiers she knows.",
        place: "`--register`, models",
        related: &["adversary", "population", "linkage"],
        manual: &["k-map", "delta-presence", "record-linkage"],
        docs: &["attacks.md"],
    },
    Word {
        name: "release",
        also: &[],
        definition: "What recipients get: the published table, its manifest, its certificate, and the taxonomies that explain it.",
        place: "the folder that `publish` writes",
        related: &["manifest", "certificate", "recipient", "extract"],
        manual: &[],
        docs: &["json.md"],
    },
    Word {
        name: "remedy",
        also: &[],
        definition: "What to do about a failure or a refusal, as data, which a front end shows as a command, a button or an argument.",
        place: "`hint:` lines, `--repair`",
        related: &["refusal", "failure"],
        manual: &[],
        docs: &["failures.md"],
    },
    Word {
        name: "representative",
        also: &["centroid"],
        definition: "A value that stands for those of a class and need not be any of them, such as a mean.",
        place: "microaggregated releases",
        related: &["microaggregation", "region"],
        manual: &["microaggregation"],
        docs: &["policy.md"],
    },
    Word {
        name: "republication",
        also: &[],
        definition: "Publishing a table again after it changed. What stayed and what changed tells about people.",
        place: "series of releases",
        related: &["churn", "composition", "gate"],
        manual: &["m-invariance", "history-guided", "inference"],
        docs: &["ledger.md"],
    },
    Word {
        name: "role",
        also: &[],
        definition: "What a column is to the publication: identifier, quasi-identifier, sensitive, freeform, guard or insensitive.",
        place: "`[attributes]` in a policy",
        related: &["identifier", "quasi-identifier", "sensitive attribute", "freeform attribute", "guard", "insensitive attribute"],
        manual: &[],
        docs: &["policy.md"],
    },
    Word {
        name: "seed",
        also: &[],
        definition: "The number that makes randomness repeatable, for tests. A release made with one says so.",
        place: "`--seed`",
        related: &["release"],
        manual: &[],
        docs: &[],
    },
    Word {
        name: "sensitive attribute",
        also: &["confidential attribute"],
        definition: "A column whose values must not be learnt about a person: diagnosis, income.",
        place: "role `sensitive`",
        related: &["attribute disclosure", "quasi-identifier"],
        manual: &["distinct-l-diversity", "t-closeness"],
        docs: &["policy.md"],
    },
    Word {
        name: "sensitivity",
        also: &[],
        definition: "The most that one person can change the answer to a question, which decides how much noise it needs.",
        place: "private answers",
        related: &["mechanism", "differential privacy"],
        manual: &["laplace"],
        docs: &["dp.md"],
    },
    Word {
        name: "similarity attack",
        also: &[],
        definition: "Learning that a value is one of a few alike ones, although which of them is not known.",
        place: "attacks",
        related: &["attribute disclosure"],
        manual: &["t-closeness"],
        docs: &["attacks.md"],
    },
    Word {
        name: "singling out",
        also: &[],
        definition: "Finding a combination of values that one record has alone.",
        place: "`inspect`",
        related: &["uniqueness", "quasi-identifier", "identity disclosure"],
        manual: &["population-uniqueness"],
        docs: &["attacks.md"],
    },
    Word {
        name: "sink",
        also: &[],
        definition: "Where a release goes: a folder, a database, or batches in memory.",
        place: "`[release]`, `scumble load`",
        related: &["source", "release"],
        manual: &[],
        docs: &["sources.md"],
    },
    Word {
        name: "source",
        also: &[],
        definition: "Where a table comes from: files, folders, PostgreSQL, SQLite, or batches in memory.",
        place: "`source` in a policy",
        related: &["extract", "sink"],
        manual: &[],
        docs: &["sources.md"],
    },
    Word {
        name: "statistic",
        also: &[],
        definition: "A published count, sum or mean, as opposed to microdata. Many of them together may tell single records.",
        place: "`attack differencing`",
        related: &["microdata"],
        manual: &[],
        docs: &["attacks.md"],
    },
    Word {
        name: "suppression",
        also: &[],
        definition: "Leaving a record out of a release, or showing `*` in place of a value.",
        place: "`suppress` of algorithms",
        related: &["generalization", "outlier"],
        manual: &["mondrian", "lattice"],
        docs: &["policy.md"],
    },
    Word {
        name: "synthetic data",
        also: &[],
        definition: "A table of records drawn from noisy counts of the data. No record is a person's.",
        place: "`scumble synthesize`",
        related: &["differential privacy", "mechanism"],
        manual: &[],
        docs: &["dp.md"],
    },
    Word {
        name: "table",
        also: &[],
        definition: "The records of an extract as algorithms see them.",
        place: "everywhere",
        related: &["extract", "record"],
        manual: &[],
        docs: &[],
    },
    Word {
        name: "taxonomy",
        also: &["hierarchy", "generalization hierarchy"],
        definition: "How the values of a column generalize: a tree from single values to `*`. Given as a file, or made by a rule.",
        place: "`taxonomy` in a policy, `scumble taxonomy`",
        related: &["level", "generalization", "prefix", "cell"],
        manual: &[],
        docs: &["policy.md"],
    },
    Word {
        name: "uniqueness",
        also: &[],
        definition: "Being alone with one's quasi-identifiers, in a sample or in the population.",
        place: "`check`, `inspect`",
        related: &["singling out", "population"],
        manual: &["population-uniqueness"],
        docs: &["attacks.md"],
    },
    Word {
        name: "unit",
        also: &[],
        definition: "The finest step in which numbers of a column may be published.",
        place: "`unit` in a policy",
        related: &["cell", "taxonomy"],
        manual: &[],
        docs: &["policy.md"],
    },
    Word {
        name: "utility",
        also: &[],
        definition: "What a release is still good for. Measured by metrics, and by how near counts come to the truth.",
        place: "`compare`",
        related: &["metric", "loss", "COUNT query"],
        manual: &["gcp"],
        docs: &["policy.md"],
    },
    Word {
        name: "witness",
        also: &[],
        definition: "A smallest set of published facts from which a conclusion about a person follows, which can be checked by hand.",
        place: "`scumble why`, refusals",
        related: &["fact", "inference"],
        manual: &["inference"],
        docs: &["attacks.md"],
    },
    Word {
        name: "workload",
        also: &[],
        definition: "A file of COUNT queries, one a line.",
        place: "`query --workload`, `compare --workload`",
        related: &["COUNT query", "utility"],
        manual: &[],
        docs: &["policy.md"],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Made from the table; `SCUMBLE_OVERWRITE=1` writes it.
    #[test]
    fn the_page_is_current() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let page = docs.join("glossary.md");
        if std::env::var_os("SCUMBLE_OVERWRITE").is_some() {
            std::fs::write(&page, markdown()).expect("the page is written");
        }
        let kept = std::fs::read_to_string(&page).unwrap_or_default();
        assert!(kept == markdown(), "docs/glossary.md is stale; SCUMBLE_OVERWRITE=1 writes it");
    }

    #[test]
    fn every_word_is_listed_once_and_every_link_leads_somewhere() {
        assert!(WORDS.len() >= 50);
        let names: Vec<String> = WORDS.iter().map(|w| normal(w.name)).collect();
        assert!(names.is_sorted(), "in alphabetical order");
        let every = WORDS.iter().flat_map(|w| std::iter::once(&w.name).chain(w.also));
        let mut seen = BTreeSet::new();
        for name in every {
            assert!(seen.insert(normal(name)), "`{name}` is explained twice");
        }
        let methods: Vec<&str> = catalogue::everything().into_iter().map(|(_, n, _)| n).collect();
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        for word in WORDS {
            for related in word.related {
                assert!(names.contains(&normal(related)), "{}: `{related}`", word.name);
                assert_ne!(*related, word.name);
            }
            for name in word.manual {
                assert!(methods.contains(name), "{}: no manual page `{name}`", word.name);
            }
            for page in word.docs {
                assert!(docs.join(page).exists(), "{}: no page `{page}`", word.name);
            }
            assert!(word.summary().ends_with('.') || word.summary() == word.definition);
        }
    }

    #[test]
    fn a_word_is_found_however_it_is_written() {
        let name = |asked: &str| topic(asked).map(|t| t.name);
        for asked in ["quasi-identifier", "Quasi Identifier", "quasi_identifiers", "QI"] {
            assert_eq!(name(asked).as_deref(), Some("quasi-identifier"), "{asked}");
        }
        assert_eq!(name("hierarchy").as_deref(), Some("taxonomy"));
        assert_eq!(topic("anatomy").map(|t| t.kinds), Some(vec!["word", "algorithm"]));
        assert!(
            topic("models").is_some() && topic("model").is_some_and(|t| t.page.contains("k-map:"))
        );
        assert_eq!(topic("quasi"), None);
        assert_eq!(suggestion("equivalance class"), "did you mean `equivalence class`?");
        assert_eq!(suggestion("k-anonimity"), "did you mean `k-anonymity`?");
    }

    /// Everything that can be looked up has a page, and its own.
    #[test]
    fn every_name_has_its_page() {
        for (kind, name, _) in catalogue::everything() {
            let found = topic(name).unwrap_or_else(|| panic!("{name}"));
            assert!(found.name == name && found.kinds.contains(&kind), "{name}: {found:?}");
        }
        for word in WORDS {
            assert!(topic(word.name).is_some_and(|t| t.page.contains(word.definition)));
        }
    }
}
