//! One worked example: its blocks, and what is expected of it.

use scumble::algorithm::{Goal, Requirement, solutions};
use scumble::attack::{Knowledge, Membership, Report, Scene, on_releases};
use scumble::catalogue::{FREEFORM, METRICS, MODELS, Parameters};
use scumble::class::{EquivalenceClass, Histogram, Run};
use scumble::encode::{encode, encode_guard};
use scumble::exact::{Fraction, Ratio, effective_l};
use scumble::freeform::{self, Breach, attach};
use scumble::history::PastGroup;
use scumble::model::{
    Belief, Concern, Distance, Measured, Reading, Told, beliefs, distance, frontier, smallest_c,
};
use scumble::policy::Policy;
use scumble::publish::{Judgement, Outcome, judge, make};
use scumble::query::Query;
use scumble::register::{Register, RegisterColumn};
use scumble::release::{GroupedRecords, Release, Shape};
use scumble::risk::assess;
use scumble::table::{Attribute, Hidden, Role, Table};
use scumble::taxonomy::{Rule, Taxonomy, parse_rows};
use scumble::utility::Subject;
use std::collections::BTreeMap;
use std::sync::Arc;

type Check = Result<(), String>;
type Rows = Vec<Vec<String>>;

/// The blocks read so far; a later one of the same kind replaces an earlier one.
#[derive(Default)]
pub(super) struct Blocks {
    table: Option<Rows>,
    release: Option<Rows>,
    register: Option<Rows>,
    past: Option<Rows>,
    files: BTreeMap<String, Rows>,
    policy: Option<String>,
}

impl Blocks {
    pub(super) fn take(&mut self, kind: &str, content: String) -> Check {
        let rows = || parse_rows(kind, &content).map_err(|e| e.to_string());
        match kind.split(' ').collect::<Vec<_>>()[..] {
            ["csv"] => *self = Blocks { table: Some(rows()?), ..Blocks::default() },
            ["csv", "release"] => self.release = Some(rows()?),
            ["csv", "register"] => self.register = Some(rows()?),
            ["csv", "past"] => self.past = Some(rows()?),
            ["csv", "taxonomy", name] => drop(self.files.insert(name.into(), rows()?)),
            ["toml"] => self.policy = Some(content),
            _ => return Err(format!("a block of the unknown kind `{kind}`")),
        }
        Ok(())
    }

    pub(super) fn case(&self) -> Result<Case, String> {
        let text = self.policy.as_ref().ok_or("there is no ```toml policy above")?;
        let mut policy = Policy::parse("policy", text).map_err(|e| e.to_string())?;
        for r in policy.requirements.iter_mut().filter(|r| r.parameters.register().is_some()) {
            r.register =
                self.register.as_ref().map(|rows| people(rows).map(Arc::new)).transpose()?;
        }
        let rows = self.table.as_ref().ok_or("there is no ```csv table above")?;
        let (mut attributes, mut codes) = (Vec::new(), Vec::new());
        for a in policy.quasi().chain(policy.sensitive()).chain(policy.guards()) {
            let column = column(rows, &a.name)?;
            let mut values = column.clone();
            if let Some(past) = self.past.as_ref().filter(|_| a.role == Role::Sensitive) {
                // What was published stays a value, also if nobody has it any more.
                values.extend(self::column(past, &a.name)?);
            }
            values.sort_unstable();
            values.dedup();
            let code = |leaves: &[u32]| {
                column
                    .iter()
                    .map(|v| {
                        leaves[values.binary_search(v).unwrap_or_else(|_| unreachable!("its own"))]
                    })
                    .collect()
            };
            if a.role == Role::Guard {
                let (guard, leaves) = encode_guard(&a.name, &values, &policy.missing);
                codes.push(code(&leaves));
                attributes.push(guard);
                continue;
            }
            let rule = a.taxonomy.clone().unwrap_or(Rule::Flat);
            let file = if let Rule::File { path, .. } = &rule {
                self.files.get(path).cloned()
            } else {
                None
            };
            let (taxonomy, leaves) = encode(&a.name, &rule, file, &values, &policy.missing)
                .map_err(|e| e.to_string())?;
            codes.push(code(&leaves));
            let attribute = Attribute { weight: a.weight, ..Attribute::new(&a.name, taxonomy) };
            attributes.push(attach(attribute, a.freeform.as_ref()).map_err(|e| e.to_string())?);
        }
        let sensitive = attributes.split_off(policy.quasi().count());
        let (mut table, _) = match &self.past {
            None => Table::collapse(attributes, sensitive, codes),
            Some(past) => {
                let (groups, group_of) = remembered(past, rows, &sensitive)?;
                Table::collapse_with_past(attributes, sensitive, codes, groups, group_of)
            }
        };
        if policy.joins_sensitive() {
            table.join_sensitive();
        }
        let raw = Release::unchanged(&table);
        let mut of_records = Vec::new();
        let made = match &self.release {
            Some(rows) => Ok(published(&raw, rows)?),
            None => match make(
                &table,
                &*policy.algorithm.algorithm,
                &policy.requirements,
                1,
                &|_, _| true,
            ) {
                Outcome::Made(made) => {
                    let subject =
                        Subject { release: &made.release, k: 1, truth: Some((&table, &made.form)) };
                    let measured = METRICS.iter().map(|m| Some((m.name, (m.measure)(&subject)?)));
                    of_records = measured.flatten().collect();
                    Ok(made.release)
                }
                Outcome::Refused(reasons) => Err(reasons.iter().map(ToString::to_string).collect()),
            },
        };
        Ok(Case { raw, made, of_records, policy, table, register: self.register.clone() })
    }
}

/// The groups of an earlier release, and where everybody was: by the column `was`, which is empty
/// for newcomers.
fn remembered(
    past: &Rows,
    rows: &Rows,
    sensitive: &[Attribute],
) -> Result<(Vec<PastGroup>, Vec<u32>), String> {
    let s = sensitive.first().ok_or("no sensitive attribute")?;
    let (numbers, values) = (column(past, "group")?, column(past, &s.name)?);
    let mut names = numbers.clone();
    names.sort_unstable();
    names.dedup();
    let group = |name: &&str| {
        let shown = numbers.iter().zip(&values).filter(|(number, _)| *number == name);
        let codes = shown
            .map(|(_, value)| s.taxonomy.find(value).map(|code| (code, 1)))
            .collect::<Option<Vec<_>>>();
        let values = Histogram::of(codes.ok_or("a value of the past that is none")?).0;
        Ok(PastGroup { values, counterfeits: 0, newest: true })
    };
    let groups = names.iter().map(group).collect::<Result<_, String>>()?;
    let place = |name: &&str| match *name {
        "" => Ok(0),
        name => names
            .binary_search(&name)
            .map(|at| at as u32 + 1)
            .map_err(|_| format!("no group `{name}` in the past")),
    };
    let group_of = column(rows, "was")?.iter().map(place).collect::<Result<_, String>>()?;
    Ok((groups, group_of))
}

/// A register as the models see it.
fn people(rows: &Rows) -> Result<Register, String> {
    let read = |name: &String| -> Result<RegisterColumn, String> {
        let column = column(rows, name)?;
        let mut texts: Vec<String> = column.iter().map(|&text| text.to_owned()).collect();
        texts.sort_unstable();
        texts.dedup();
        let code = |text: &&str| {
            texts
                .binary_search_by(|t| t.as_str().cmp(text))
                .unwrap_or_else(|_| unreachable!("its own")) as u32
        };
        Ok(RegisterColumn { name: name.clone(), codes: column.iter().map(code).collect(), texts })
    };
    let columns = rows[0].iter().map(read).collect::<Result<_, _>>()?;
    Register::new(columns).map_err(|problem| problem.to_string())
}

fn column<'a>(rows: &'a Rows, name: &str) -> Result<Vec<&'a str>, String> {
    let at = rows[0].iter().position(|h| h == name).ok_or_else(|| format!("no column `{name}`"))?;
    rows[1..]
        .iter()
        .map(|r| r.get(at).map(String::as_str).ok_or_else(|| format!("a short line: {r:?}")))
        .collect()
}

/// A release given as a table of labels, read by the taxonomies of the microdata.
fn published(raw: &Release, rows: &Rows) -> Result<Release, String> {
    let read = |a: &Attribute| -> Result<Vec<Run>, String> {
        let parse = |label: &&str| {
            a.taxonomy.parse(label).ok_or_else(|| format!("`{label}` is no value of `{}`", a.name))
        };
        column(rows, &a.name)?.iter().map(parse).collect()
    };
    let quasi: Vec<Vec<Run>> = raw.quasi.iter().map(read).collect::<Result<_, _>>()?;
    // What is joined is not written; it follows from the others.
    let written = |a: &&Attribute| !matches!(a.hidden, Some(Hidden::Joint(_)));
    let mut sensitive: Vec<Vec<Run>> =
        raw.sensitive.iter().filter(written).map(read).collect::<Result<_, _>>()?;
    if let Some(Hidden::Joint(tuples)) = raw.sensitive.last().and_then(|a| a.hidden.as_ref()) {
        let published = scumble::table::published(&raw.sensitive).len();
        let tuple =
            |i: usize| -> Vec<u32> { sensitive[..published].iter().map(|c| c[i].first).collect() };
        let code = |i: usize| {
            tuples.iter().position(|t| **t == *tuple(i)).map(|c| Run::new(c as u32, c as u32))
        };
        let joint: Option<Vec<Run>> = (0..rows.len() - 1).map(code).collect();
        sensitive
            .push(joint.ok_or("a combination of sensitive values that the microdata do not have")?);
    }
    // Records of a group are told apart by their own values, and their sensitive values are those
    // of the group.
    let groups = column(rows, "group").ok();
    let mut classes: BTreeMap<(Option<&str>, Vec<Run>), EquivalenceClass> = BTreeMap::new();
    for i in 0..rows.len() - 1 {
        let region: Vec<Run> = quasi.iter().map(|c| c[i]).collect();
        let histograms = sensitive.iter().map(|c| Histogram(vec![(c[i].first, 1)])).collect();
        let one = EquivalenceClass { region: region.clone(), count: 1, histograms };
        let key = groups.as_ref().map_or((None, region), |g| (Some(g[i]), Vec::new()));
        classes.entry(key).and_modify(|c| *c = c.merge(&one)).or_insert(one);
    }
    let mut release = Release { classes: classes.values().cloned().collect(), ..raw.clone() };
    if let Some(groups) = groups {
        let record = |i: usize| GroupedRecords {
            group: classes
                .keys()
                .position(|(g, _)| *g == Some(groups[i]))
                .unwrap_or_else(|| unreachable!("its own")) as u32,
            codes: quasi.iter().map(|c| c[i].first).collect(),
            count: 1,
        };
        release.records_by_group =
            GroupedRecords::collapse((0..rows.len() - 1).map(record).collect());
        release.shape = Shape::Groups;
    }
    Ok(release)
}

/// What the lines of an `expect` block are about.
pub(super) struct Case {
    policy: Policy,
    table: Table,
    raw: Release,
    /// What the algorithm made, or why it refused; or the `csv release` above.
    made: Result<Release, Vec<String>>,
    /// What was measured by comparing it with the records.
    of_records: Vec<(&'static str, f64)>,
    register: Option<Rows>,
}

impl Case {
    pub(super) fn line(&self, line: &str) -> Check {
        let (head, tail) = line.split_once(" : ").map_or((line, ""), |(h, t)| (h.trim(), t.trim()));
        let (word, rest) = head.split_once(' ').unwrap_or((head, ""));
        match word {
            "refused" => return self.refused(tail),
            "frontier" => return same(&show_frontier(&counts(rest)?), tail),
            "negate" => return same(&negations(rest)?, tail),
            "force" => return self.force(rest, tail),
            "minimal" => return self.minimal(tail),
            "raw" => return self.about(&self.raw, line.strip_prefix("raw ").unwrap_or(line)),
            // About counts alone, so no release is needed.
            _ if word.starts_with("entropy(") => return self.about(&self.raw, line),
            _ => {}
        }
        let made = self
            .made
            .as_ref()
            .map_err(|why| format!("the algorithm refused: {}", why.join("; ")))?;
        self.about(made, line)
    }

    /// A line about one release.
    fn about(&self, release: &Release, line: &str) -> Check {
        let (head, tail) = line.split_once(" : ").map_or((line, ""), |(h, t)| (h.trim(), t.trim()));
        let (word, rest) = head.split_once(' ').unwrap_or((head, ""));
        match word {
            "class" => same(&show_histograms(release, self.class(release, rest)?), tail),
            "means" => {
                let (column, label) = rest.split_once(' ').ok_or("give a column and a label")?;
                let t = &release.quasi[place(&release.quasi, column)?].taxonomy;
                let run = t.parse(label).ok_or("no such label")?;
                same(
                    &(run.first..=run.last).map(|leaf| t.leaf(leaf)).collect::<Vec<_>>().join(", "),
                    tail,
                )
            }
            "link" => same(&link(release, rest)?, tail),
            "believes" => same(&self.believes(release, rest)?, tail),
            "attack" => self.attack(release, rest, tail),
            "holds" => self.keeps(release, rest, true),
            "breaks" => self.keeps(release, rest, false),
            "worst" => {
                let (what, expected) =
                    rest.rsplit_once(" = ").ok_or("write `worst model(…) = value`")?;
                same(&show_measured(self.judged(release, what)?.measured), expected)
            }
            "witness" => same(&self.witness(release, rest)?, tail),
            "breaches" => same(&breaches(release, rest)?, tail),
            "in" => {
                let class = self.class(release, rest)?.clone();
                // Distances are measured from the whole table, so the class stays in it.
                self.measure(release, &[class], tail)
            }
            _ => self.measure(release, &release.classes, line),
        }
    }

    fn refused(&self, words: &str) -> Check {
        match &self.made {
            Err(why) if why.iter().any(|w| w.contains(words)) => Ok(()),
            Err(why) => Err(format!("it refused because {}", why.join("; "))),
            Ok(_) => Err("it did not refuse".into()),
        }
    }

    /// The class that shows these labels.
    fn class<'a>(
        &self,
        release: &'a Release,
        labels: &str,
    ) -> Result<&'a EquivalenceClass, String> {
        let wanted: Vec<&str> = labels.split('|').map(str::trim).collect();
        let found = release.classes.iter().find(|c| release.labels(c) == wanted);
        let all = || {
            release
                .classes
                .iter()
                .map(|c| release.labels(c).join(" | "))
                .collect::<Vec<_>>()
                .join("; ")
        };
        found.ok_or_else(|| format!("there are only {}", all()))
    }

    /// `holds entropy-l-diversity(l = 1.75) Disease`.
    fn keeps(&self, release: &Release, what: &str, expected: bool) -> Check {
        let judgement = self.judged(release, what)?;
        let word = if judgement.holds { "holds" } else { "breaks" };
        if judgement.holds == expected {
            Ok(())
        } else {
            Err(format!("it {word}: {}", judgement.measured))
        }
    }

    /// How a release stands by a model, written as `entropy-l-diversity(l = 1.75) Disease`.
    fn judged(&self, release: &Release, what: &str) -> Result<Judgement, String> {
        let (call, attribute) = what.rsplit_once(')').ok_or("give parameters in brackets")?;
        let (name, given) = call.split_once('(').ok_or("give parameters in brackets")?;
        let entry =
            MODELS.iter().find(|e| e.name == name).ok_or_else(|| format!("no model `{name}`"))?;
        let parameters = Parameters::read(name, entry.parameters, &named(given)?)
            .map_err(|p| format!("{p:?}"))?;
        let model = (entry.build)(&parameters).map_err(|problem| problem.to_string())?;
        let attribute = match model.promise().concerns {
            Concern::Identity => None,
            Concern::Sensitive => Some(place(&release.sensitive, attribute.trim())?),
            Concern::Joint => Some(release.sensitive.len() - 1),
        };
        let register = self.register.as_ref().filter(|_| parameters.register().is_some());
        let register = register.map(|rows| people(rows).map(Arc::new)).transpose()?;
        let asked =
            Requirement { name: entry.name, parameters, model, attribute, on: None, register };
        let judgements = judge(release, &[asked]).map_err(|unfit| format!("{unfit:?}"))?;
        judgements.into_iter().next().ok_or_else(|| "it was not judged".into())
    }

    /// What comes of an attack: `attack bayes() largest_gain = 1/3` compares a figure, and `attack
    /// definetti() of 1 | yes : cancer 2449/2833, flu 384/2833` what is believed of a person of the
    /// register.
    fn attack(&self, release: &Release, rest: &str, tail: &str) -> Check {
        let (call, asked) = rest.split_once(')').ok_or("give parameters in brackets")?;
        let (name, given) = call.split_once('(').ok_or("give parameters in brackets")?;
        let entry =
            on_releases().find(|e| e.name == name).ok_or_else(|| format!("no attack `{name}`"))?;
        let mut given = named(given)?;
        let membership = match given.remove("register").as_deref() {
            None | Some("members") => Membership::Members,
            Some("population") => Membership::Population,
            Some("some") => Membership::Some,
            Some(other) => return Err(format!("a register is not `{other}`")),
        };
        let parameters =
            Parameters::read(name, entry.parameters, &given).map_err(|p| format!("{p:?}"))?;
        let attack = (entry.build)(&parameters).map_err(|problem| problem.to_string())?;
        let register = self.register.as_ref().map(people).transpose()?;
        let known = register.as_ref().map(|register| Knowledge {
            register,
            membership,
            told: Vec::new(),
            apart: None,
        });
        let attribute = &release.sensitive[0].name;
        let releases = vec![("release".to_owned(), release.clone())];
        let mut scene =
            Scene::new(releases, Some(attribute), known.as_ref(), 1).map_err(|p| p.to_string())?;
        scene.reference =
            register.clone().filter(|r| r.columns.iter().any(|c| c.name == *attribute));
        let report = attack.run(&scene, &|_, _| true).map_err(|problem| problem.to_string())?;
        if let Some(who) = asked.trim().strip_prefix("of ") {
            let row = row_of(release, register.as_ref().ok_or("no register")?, who)?;
            return near(&believed_of(&scene, &report, row)?, tail);
        }
        let figure = |name: &str| {
            report.figures.iter().find(|f| f.name == name).map(|f| Measured::Real(f.value))
        };
        compare(asked.trim(), |name| figure(name).ok_or_else(|| format!("no figure `{name}`")))
    }

    /// What is believed of a person of the register before and after: `believes tuple 75003 | 22 :
    /// Cold 2/5 -> 67/144`.
    fn believes(&self, release: &Release, rest: &str) -> Result<String, String> {
        let (reading, values) = rest.split_once(' ').ok_or("name a reading and a person")?;
        let reading = match reading {
            "tuple" => Reading::Tuple,
            "members" => Reading::Members,
            other => return Err(format!("no reading `{other}`")),
        };
        let values = values.split('|').map(str::trim);
        let who: Vec<Run> = release
            .quasi
            .iter()
            .zip(values)
            .map(|(a, v)| person(a, v))
            .collect::<Result<_, _>>()?;
        let fits =
            |c: &&EquivalenceClass| c.region.iter().zip(&who).all(|(region, p)| region.covers(*p));
        let class = release.classes.iter().find(fits).ok_or("the person fits no class")?;
        let sensitive = &release.sensitive[0];
        let population = people(self.register.as_ref().ok_or("no register")?)?
            .among(&release.quasi, Some(sensitive));
        let places: Vec<u32> = population.known().iter().map(|&i| 2 * who[i].first).collect();
        let Some(Told::Beliefs(found)) = beliefs(&population, class, 0, reading, &[places]).pop()
        else {
            return Err("nothing is believed of such a person".into());
        };
        Ok(found.iter().map(|b| show_belief(sensitive, b)).collect::<Vec<_>>().join(", "))
    }

    /// Of whom a release tells most, and what: `witness bayes-optimal(…) Disease : 75010 | 28 | Flu
    /// 1/3 -> 0`.
    fn witness(&self, release: &Release, what: &str) -> Result<String, String> {
        let w = self.judged(release, what)?.witness.ok_or("there is no witness")?;
        let person: Vec<String> =
            w.words(&release.quasi).into_iter().map(|(_, value)| value).collect();
        Ok(format!("{} | {}", person.join(" | "), show_belief(&release.sensitive[0], &w.belief)))
    }

    /// Levels of all minimal full-domain generalizations that keep the models: `minimal : 0 1, 1
    /// 0`.
    fn minimal(&self, expected: &str) -> Check {
        let goal = Goal::new(&self.table, &self.policy.requirements);
        let found =
            solutions(&self.table, &goal, 0).map_err(|refusal| format!("{:?}", refusal.0))?;
        let show = |levels: &Vec<usize>| {
            levels.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        same(&found.minimal.iter().map(show).collect::<Vec<_>>().join(", "), expected)
    }

    /// What else must be lifted when a leaf is lifted to its parent: `force sub-tree Job Engineer :
    /// Engineer, Lawyer`.
    fn force(&self, rest: &str, expected: &str) -> Check {
        let [scheme, column, leaf] = rest.split(' ').collect::<Vec<_>>()[..] else {
            return Err("three words".into());
        };
        let t = &self.raw.quasi[place(&self.raw.quasi, column)?].taxonomy;
        let run = t.parse(leaf).ok_or("no such value")?;
        let lifted = match scheme {
            "full-domain" => t.root(),
            "sub-tree" => t.at_level(run.first, 1),
            "sibling" => run,
            other => return Err(format!("no scheme `{other}`")),
        };
        let names: Vec<&str> = (lifted.first..=lifted.last).map(|leaf| t.leaf(leaf)).collect();
        same(&names.join(", "), expected)
    }

    /// `MEASURE = VALUE` (to 1e-9) or `MEASURE ~ VALUE` (rounded to the digits given), the worst
    /// over these classes.
    fn measure(&self, release: &Release, classes: &[EquivalenceClass], line: &str) -> Check {
        compare(line, |measure| match measure.strip_prefix("count ") {
            Some(query) => self.count(release, query),
            None => self.found(release, classes, measure),
        })
    }

    /// What a recipient of the release estimates: `count "Age = 38 and Disease = Heart"`.
    fn count(&self, release: &Release, query: &str) -> Result<Measured, String> {
        let text = query
            .strip_prefix('"')
            .and_then(|q| q.strip_suffix('"'))
            .ok_or("write the query in quotes")?;
        let bound =
            Query::parse(text).and_then(|q| q.bind(&self.table.quasi, &self.table.sensitive));
        let bound = bound.map_err(|problem| problem.to_string())?;
        Ok(Measured::Real(bound.translate(&self.table, release).estimate(release)))
    }

    fn found(
        &self,
        release: &Release,
        classes: &[EquivalenceClass],
        measure: &str,
    ) -> Result<Measured, String> {
        let (name, arguments) = match measure.trim().split_once('(') {
            Some((name, rest)) => (name, rest.strip_suffix(')').ok_or("a bracket is open")?),
            None => (measure.trim(), ""),
        };
        let arguments: Vec<&str> =
            arguments.split(',').map(str::trim).filter(|a| !a.is_empty()).collect();
        match self.identity(release, classes, name, &arguments)? {
            Some(found) => Ok(found),
            None => Ok(sensitive(release, classes, name, &arguments)?
                .ok_or(format!("unknown measure `{name}`"))?),
        }
    }

    /// Measures of sizes, risks, losses and taxonomies.
    fn identity(
        &self,
        release: &Release,
        classes: &[EquivalenceClass],
        name: &str,
        arguments: &[&str],
    ) -> Result<Option<Measured>, String> {
        let whole = |n: u64| Measured::Exact(Ratio::whole(n));
        let smallest = |classes: &[EquivalenceClass]| {
            whole(classes.iter().map(|c| c.count).min().unwrap_or(0))
        };
        let k =
            self.policy.k().unwrap_or_else(|| classes.iter().map(|c| c.count).min().unwrap_or(1));
        Ok(Some(match (name, arguments) {
            ("rows", []) => whole(classes.iter().map(|c| c.count).sum()),
            ("classes", []) => whole(classes.len() as u64),
            ("counterfeits", []) => whole(release.counterfeits.iter().sum()),
            ("k", []) => smallest(classes),
            ("k", on) => {
                let on: Vec<usize> =
                    on.iter().map(|name| place(&release.quasi, name)).collect::<Result<_, _>>()?;
                smallest(&release.project(&on))
            }
            ("largest", []) => whole(classes.iter().map(|c| c.count).max().unwrap_or(0)),
            ("loss", [column, label]) => {
                let t = &release.quasi[place(&release.quasi, column)?].taxonomy;
                let run = t.parse(label).ok_or("no such label")?;
                Measured::Exact(Ratio::new(u128::from(t.size(run) - 1), t.size(t.root()).into()))
            }
            ("sensitivity" | "observability", [column, label]) => {
                let attribute = &release.quasi[place(&release.quasi, column)?];
                let run = attribute.taxonomy.parse(label).ok_or("no such label")?;
                let of = if name == "sensitivity" {
                    freeform::sensitivity
                } else {
                    freeform::observability
                };
                Measured::Exact(of(attribute, run))
            }
            ("recodings", [column, scheme]) => {
                let t = &release.quasi[place(&release.quasi, column)?].taxonomy;
                match *scheme {
                    "full-domain" => whole(t.levels() as u64 + 1),
                    "sub-tree" => whole(cuts(t, t.root())),
                    other => return Err(format!("no scheme `{other}`")),
                }
            }
            (name, []) => match name.strip_prefix("risk ") {
                Some(figure) => self.risk(release, figure)?,
                None => match METRICS.iter().find(|m| m.name == name) {
                    Some(metric) => {
                        let alone = (metric.measure)(&Subject { release, k, truth: None });
                        let known = self.of_records.iter().find(|(metric, _)| *metric == name);
                        let measured = alone.or(known.map(|(_, measured)| *measured));
                        Measured::Real(measured.ok_or("it says nothing about this release")?)
                    }
                    None => return Ok(None),
                },
            },
            _ => return Ok(None),
        }))
    }

    /// `prosecutor max` and so on; with a register the population of a class is who of it fits.
    fn risk(&self, release: &Release, figure: &str) -> Result<Measured, String> {
        let population =
            self.register.as_ref().map(|rows| population(release, rows)).transpose()?;
        let risk = assess(release, population.as_deref());
        let (who, which) =
            figure.split_once(' ').ok_or("name an adversary and `max` or `average`")?;
        let of = match who {
            "prosecutor" => risk.prosecutor,
            "journalist" => risk.journalist,
            "marketer" => risk.marketer,
            _ => return Err(format!("no adversary `{who}`")),
        };
        match which {
            "max" => Ok(Measured::Exact(of.max)),
            "average" => Ok(Measured::Real(of.average)),
            _ => Err(format!("no figure `{which}`")),
        }
    }
}

/// Whether a line `WHAT = VALUE` or `WHAT ~ VALUE` is right about what is found.
fn compare(line: &str, find: impl FnOnce(&str) -> Result<Measured, String>) -> Check {
    let (what, exact, expected) = match (line.rsplit_once(" = "), line.rsplit_once(" ~ ")) {
        (Some((m, v)), _) => (m, true, v.trim()),
        (_, Some((m, v))) => (m, false, v.trim()),
        _ => return Err("neither a known word nor `measure = value`".into()),
    };
    let found = find(what.trim())?;
    let right = Ratio::parse(expected);
    let (x, y) = (
        found.to_f64(),
        right.map(Ratio::to_f64).ok_or_else(|| format!("`{expected}` is no number"))?,
    );
    let digits = expected.split_once('.').map_or(0, |(_, frac)| frac.len());
    let near = match (found, right) {
        (Measured::Exact(a), Some(b)) if exact && (digits == 0 || a == b) => a == b,
        _ if exact => (x - y).abs() <= 1e-9,
        _ => (x - y).abs() <= 0.5000001 * 0.1f64.powi(digits as i32),
    };
    if near { Ok(()) } else { Err(format!("it is {found} ({x:.12})")) }
}

/// Parameters as they stand in brackets: `l = 2, values = ["a", "b"]`.
fn named(given: &str) -> Result<BTreeMap<String, String>, String> {
    let pairs = split_list(given).into_iter().filter(|p| !p.trim().is_empty());
    let pair = |p: &str| p.split_once('=').map(|(n, v)| (n.trim().to_owned(), v.trim().to_owned()));
    pairs.map(|p| pair(p).ok_or_else(|| "write `name = value`".to_owned())).collect()
}

/// The row of the register with these values of the quasi-identifiers that it knows.
fn row_of(release: &Release, register: &Register, who: &str) -> Result<usize, String> {
    let column = |a: &Attribute| register.columns.iter().find(|c| c.name == a.name);
    let known: Vec<&RegisterColumn> = release.quasi.iter().filter_map(column).collect();
    let wanted: Vec<&str> = who.split('|').map(str::trim).collect();
    let shows = |row: usize| {
        known.iter().map(|c| c.texts[c.codes[row] as usize].as_str()).eq(wanted.iter().copied())
    };
    let rows = register.columns.first().map_or(0, |c| c.codes.len());
    (0..rows).find(|&row| shows(row)).ok_or_else(|| "no such person in the register".into())
}

/// What an attack believes of a row of the register.
fn believed_of<'a>(
    scene: &'a Scene,
    report: &Report,
    row: usize,
) -> Result<BTreeMap<&'a str, f64>, String> {
    let crowd = report.crowd(scene).ok_or("no people")?;
    let beliefs = report.beliefs.as_ref().ok_or("it believes nothing of people")?;
    let values = beliefs.of(crowd.kind_of[row] as usize).iter().filter(|(_, p)| *p > 0.0);
    Ok(values.map(|&(value, p)| (scene.values[value as usize].as_str(), p)).collect())
}

/// Whether beliefs are these: `cancer 2449/2833, flu 384/2833`, to 1e-9.
fn near(found: &BTreeMap<&str, f64>, expected: &str) -> Check {
    let pair = |text: &str| {
        let (value, p) = text.trim().rsplit_once(' ')?;
        Some((value.to_owned(), Ratio::parse(p)?.to_f64()))
    };
    let expected: Option<BTreeMap<String, f64>> = expected.split(',').map(pair).collect();
    let expected = expected.ok_or("write `value probability, …`")?;
    let same = found.len() == expected.len()
        && found.iter().zip(&expected).all(|((v, p), (w, q))| v == w && (p - q).abs() <= 1e-9);
    if same { Ok(()) } else { Err(format!("it is {found:?}")) }
}

/// Measures of sensitive values: the worst of these classes.
fn sensitive(
    release: &Release,
    classes: &[EquivalenceClass],
    name: &str,
    arguments: &[&str],
) -> Result<Option<Measured>, String> {
    if let ("entropy", counts) = (name, arguments) {
        let counts: Result<Vec<u64>, _> = counts.iter().map(|c| c.parse()).collect();
        return Ok(Some(Measured::Real(effective_l(
            &counts.map_err(|_| "counts are whole numbers")?,
        ))));
    }
    let Some((attribute, more)) = arguments.split_first() else { return Ok(None) };
    let s = place(&release.sensitive, attribute)?;
    let table = &release.distributions()[s];
    let exact = |n: u64| Measured::Exact(Ratio::whole(n));
    let share = |h: &Histogram| {
        Ratio::new(h.counts().into_iter().max().unwrap_or(0).into(), h.total().into())
    };
    let of = |h: &Histogram| -> Result<Option<Measured>, String> {
        Ok(Some(match (name, more) {
            ("distinct-l", []) => exact(h.distinct() as u64),
            ("entropy-l", []) => Measured::Real(effective_l(&h.counts())),
            ("confidence", []) => Measured::Exact(share(h)),
            ("recursive-c", [l]) => {
                smallest_c(&h.counts(), l.parse().map_err(|_| "ℓ is a whole number")?)
            }
            ("t", [which]) => Measured::Exact(distance(ground(which)?, h, table)),
            _ => return Ok(None),
        }))
    };
    if let ("homogeneous", []) = (name, more) {
        let alike = classes.iter().filter(|c| c.histograms[s].distinct() == 1);
        return Ok(Some(exact(alike.map(|c| c.count).sum())));
    }
    let smallest_is_worst = ["distinct-l", "entropy-l"].contains(&name);
    let mut worst: Option<Measured> = None;
    for class in classes {
        let Some(found) = of(&class.histograms[s])? else { return Ok(None) };
        let worse = worst.is_none_or(|w| {
            if smallest_is_worst { found.compare(w).is_lt() } else { found.compare(w).is_gt() }
        });
        worst = if worse { Some(found) } else { worst };
    }
    Ok(worst)
}

fn ground(name: &str) -> Result<Distance, String> {
    match name {
        "equal" => Ok(Distance::Equal),
        "ordered" => Ok(Distance::Ordered),
        "hierarchical" => Ok(Distance::Hierarchical),
        _ => Err(format!("no distance `{name}`")),
    }
}

fn place(attributes: &[Attribute], name: &str) -> Result<usize, String> {
    attributes
        .iter()
        .position(|a| a.name == name)
        .ok_or_else(|| format!("no such attribute `{name}`"))
}

/// Ways to cut the tree below a node so that every leaf has one ancestor in the cut: 1 for the
/// node, or any cut of each child.
fn cuts(t: &Taxonomy, node: Run) -> u64 {
    let children = t.children(node);
    if children.is_empty() {
        1
    } else {
        1 + children.into_iter().map(|c| cuts(t, c)).product::<u64>()
    }
}

/// How many people of the register fit each class.
fn population(release: &Release, rows: &Rows) -> Result<Vec<u64>, String> {
    let mut fit = vec![0; release.classes.len()];
    for i in 0..rows.len() - 1 {
        let person: Vec<Run> = release
            .quasi
            .iter()
            .map(|a| person(a, column(rows, &a.name)?[i]))
            .collect::<Result<_, _>>()?;
        for (class, n) in release.classes.iter().zip(&mut fit) {
            *n += u64::from(class.region.iter().zip(&person).all(|(region, p)| region.covers(*p)));
        }
    }
    Ok(fit)
}

fn person(a: &Attribute, text: &str) -> Result<Run, String> {
    a.taxonomy.parse(text).ok_or_else(|| format!("`{text}` is no value of `{}`", a.name))
}

/// What an adversary finds who looks up a person: the records of all classes that fit, and the
/// shares of their values.
fn link(release: &Release, values: &str) -> Result<String, String> {
    let values: Vec<&str> = values.split('|').map(str::trim).collect();
    if values.len() != release.quasi.len() {
        return Err("one value per quasi-identifier".into());
    }
    let person: Vec<Run> =
        release.quasi.iter().zip(values).map(|(a, v)| person(a, v)).collect::<Result<_, _>>()?;
    let fits =
        |c: &&EquivalenceClass| c.region.iter().zip(&person).all(|(region, p)| region.covers(*p));
    if release.shape == Shape::Groups {
        return Ok(grouped_link(release, &person));
    }
    let found = release.classes.iter().filter(fits).cloned().reduce(|a, b| a.merge(&b));
    let Some(found) = found else { return Ok("0 records".into()) };
    let total = found.count;
    let taxonomy = &release.sensitive[0].taxonomy;
    let share = |&(code, n): &(u32, u64)| {
        format!(", {} {}", taxonomy.leaf(code), Ratio::new(n.into(), total.into()))
    };
    Ok(format!("{total} records{}", found.histograms[0].0.iter().map(share).collect::<String>()))
}

/// The records that show the person's values; each may have any value of its group, by its share
/// there.
fn grouped_link(release: &Release, person: &[Run]) -> String {
    let shows = |r: &&GroupedRecords| r.codes.iter().zip(person).all(|(code, p)| p.contains(*code));
    let found = || release.records_by_group.iter().filter(shows);
    let total: u64 = found().map(|r| r.count).sum();
    let mut shares: BTreeMap<u32, Ratio> = BTreeMap::new();
    for record in found() {
        let group = &release.classes[record.group as usize];
        for &(code, n) in &group.histograms[0].0 {
            let share = Ratio::new(
                u128::from(record.count * n),
                u128::from(total * group.histograms[0].total()),
            );
            let sum = |a: Ratio| {
                Ratio::new(a.num() * share.den() + share.num() * a.den(), a.den() * share.den())
            };
            shares.entry(code).and_modify(|before| *before = sum(*before)).or_insert(share);
        }
    }
    let taxonomy = &release.sensitive[0].taxonomy;
    let shown = |(code, share): (&u32, &Ratio)| format!(", {} {share}", taxonomy.leaf(*code));
    format!("{total} records{}", shares.iter().map(shown).collect::<String>())
}

fn show_histograms(release: &Release, class: &EquivalenceClass) -> String {
    let show = |(a, h): (&Attribute, &Histogram)| {
        let counts: Vec<String> =
            h.0.iter().map(|&(code, n)| format!("{} {n}", a.taxonomy.leaf(code))).collect();
        counts.join(", ")
    };
    release.sensitive.iter().zip(&class.histograms).map(show).collect::<Vec<_>>().join("; ")
}

fn show_belief(sensitive: &Attribute, b: &Belief) -> String {
    let exact = |f: &Fraction| f.ratio().map_or_else(String::new, |r| r.to_string());
    format!("{} {} -> {}", b.name(&sensitive.taxonomy), exact(&b.prior), exact(&b.posterior))
}

/// At the commas that stand in no brackets and no quotes.
fn split_list(text: &str) -> Vec<&str> {
    let (mut depth, mut quote) = (0, None);
    text.split(|c: char| {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            (None, _) => return c == ',' && depth == 0,
        }
        false
    })
    .collect()
}

fn counts(text: &str) -> Result<Vec<u64>, String> {
    text.split(',').map(|c| c.trim().parse().map_err(|_| format!("`{c}` is no count"))).collect()
}

fn show_measured(m: Measured) -> String {
    if let Measured::Exact(r) = m { r.to_string() } else { m.to_string() }
}

fn show_frontier(counts: &[u64]) -> String {
    frontier(counts)
        .into_iter()
        .map(|(l, c)| format!("{l} -> {}", show_measured(c)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Freeform attacks that are breaches, minimal ones first: `breaches observability = 1, threat =
/// 1/2 : M, High -> AIDS 1`.
fn breaches(release: &Release, given: &str) -> Result<String, String> {
    let mut given = named(given)?;
    given.insert("list".into(), "1000".into());
    let parameters = Parameters::read(FREEFORM.name, FREEFORM.parameters, &given)
        .map_err(|p| format!("{p:?}"))?;
    let attack = (FREEFORM.build)(&parameters).map_err(|problem| problem.to_string())?;
    let found = attack.run(release, None).map_err(|problem| problem.to_string())?;
    let label = |&(i, run): &(usize, Run)| release.quasi[i].taxonomy.label(run).into_owned();
    let words = |b: &Breach| {
        let known: Vec<String> = b.known.iter().map(label).collect();
        format!("{} -> {} {}", known.join(", "), label(&b.value), b.threat)
    };
    let all: Vec<String> = found.listed(attack.list).map(words).collect();
    Ok(if all.is_empty() { "none".into() } else { all.join("; ") })
}

/// The largest ℓ that holds with c, for the counts and then with the value of each rank ruled out:
/// `negate 7,6,5,3 c=1 : 3, 2, 2, 2, 2`.
fn negations(rest: &str) -> Result<String, String> {
    let (list, c) = rest.split_once(" c=").ok_or("give `c=`")?;
    let (all, c) = (counts(list)?, Ratio::parse(c).ok_or("c is a number")?);
    let holds =
        |counts: &[u64], l: u64| matches!(smallest_c(counts, l), Measured::Exact(m) if m < c);
    // ℓ = 1 holds by convention.
    let largest =
        |counts: &[u64]| (2..=counts.len() as u64).filter(|&l| holds(counts, l)).max().unwrap_or(1);
    let without = |i: usize| {
        all.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, &c)| c).collect::<Vec<u64>>()
    };
    let found = std::iter::once(largest(&all)).chain((0..all.len()).map(|i| largest(&without(i))));
    Ok(found.map(|l| l.to_string()).collect::<Vec<_>>().join(", "))
}

fn same(found: &str, expected: &str) -> Check {
    if found == expected { Ok(()) } else { Err(format!("it is `{found}`")) }
}
