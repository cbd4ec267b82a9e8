//! Exact measurements of a table: one pass over the rows for each question.

use super::identity::Traits;
use crate::publisher::Publisher;
use crate::table::columns::{Column, ReadOptions};
use dashu_int::IBig;
use hashbrown::HashMap;
use rand::RngExt;
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;
use scumble::dp::dice::Dice;
use scumble::dp::query::{Filter, Keys, Measure, Noise, Plan, Scale};
use scumble::failure::{Failure, Failures};
use scumble::policy::{Queries, Source};
use scumble::taxonomy::Decimal;

/// What was measured for a question. It is exact, so it does not leave this crate.
pub(super) struct Measured {
    pub groups: Vec<GroupValues>,
}

/// The measurements of a group.
pub(super) struct GroupValues {
    pub keys: Vec<Key>,
    pub values: Vec<Exact>,
}

/// A key of a group.
pub(super) enum Key {
    Text(String),
    /// Number of a bin.
    Number(usize),
}

/// An exact measurement.
pub(super) enum Exact {
    Number(IBig),
    /// The places of values on a quantile's grid of so many.
    Places(Vec<u32>, usize),
}

impl Exact {
    /// With noise.
    pub fn draw(&self, noise: &Noise, dice: &mut dyn Dice) -> IBig {
        match (self, noise) {
            (Exact::Number(value), noise) => noise.draw(value, dice),
            (Exact::Places(places, size), Noise::Quantile(quantile)) => {
                let mut counts = vec![0u64; *size];
                places.iter().for_each(|&place| counts[place as usize] += 1);
                quantile.draw(&counts, dice).into()
            }
            (Exact::Places(..), _) => unreachable!("a quantile has the noise of a quantile"),
        }
    }
}

/// What a measurement is, in words.
pub(super) fn words(measure: &Measure, columns: &[String]) -> String {
    match measure {
        Measure::Count(None) => "rows".into(),
        Measure::Count(Some(c)) => format!("rows with `{}`", columns[*c]),
        Measure::Numbers(c) => format!("numbers in `{}`", columns[*c]),
        Measure::Persons => "persons".into(),
        Measure::Sum { column, power: 1, .. } => format!("sum of `{}`", columns[*column]),
        Measure::Sum { column, .. } => format!("sum of squares of `{}`", columns[*column]),
        Measure::Quantile { column, at, .. } => format!("quantile {at} of `{}`", columns[*column]),
    }
}

/// Reads what the questions need and measures it; with what the data are recognised by.
pub(super) fn measure(
    (source, read): (&Source, &ReadOptions),
    (queries, plans): (&Queries, &[Plan]),
    random: &mut ChaCha20Rng,
    publisher: &Publisher<'_>,
) -> Result<(Vec<Measured>, Traits), Failures> {
    let mut wanted: Vec<String> = queries.person.iter().cloned().collect();
    wanted.extend(plans.iter().flat_map(|p| p.question.columns.clone()));
    wanted.sort();
    wanted.dedup();
    if wanted.is_empty() {
        // COUNT(*) without a person column: any column counts rows.
        wanted.extend(publisher.header(source, read)?.into_iter().take(1));
    }
    let table = publisher.read(source, read, Some(&wanted))?;
    let table = Table { rows: table.rows, columns: &table.columns, missing: &queries.missing };
    let person = queries.person.as_ref().map(|name| table.column(name)).transpose()?;
    let measured = plans
        .iter()
        .enumerate()
        .map(|(i, plan)| {
            publisher.observer.at(i as u64, plans.len() as u64);
            publisher.observer.go_on()?;
            table.measure(plan, person, random)
        })
        .collect::<Result<_, _>>()?;
    Ok((measured, Traits::of(source, person)?))
}

struct Table<'a> {
    rows: usize,
    columns: &'a [Column],
    missing: &'a [String],
}

/// No group, or not a public key.
pub(super) const NOWHERE: u32 = u32::MAX;

impl<'a> Table<'a> {
    fn column(&self, name: &str) -> Result<&'a Column, Failures> {
        let found = self.columns.iter().find(|c| c.name == name);
        found
            .ok_or_else(|| Failure::bug("internal", format!("column `{name}` was not read")).into())
    }

    fn texts<'c>(&self, column: &'c Column) -> Vec<Option<&'c str>> {
        texts(column, self.missing)
    }

    fn measure(
        &self,
        plan: &Plan,
        person: Option<&Column>,
        random: &mut ChaCha20Rng,
    ) -> Result<Measured, Failures> {
        let question = &plan.question;
        let columns: Vec<&Column> =
            question.columns.iter().map(|n| self.column(n)).collect::<Result<_, _>>()?;
        let mut counted = self.filtered(question.filter.as_ref(), &columns);
        if let Some(person) = person {
            bound(&mut counted, person, plan.rows, random);
        }
        let (group_of, keys) = self.grouped(plan, &columns, &counted)?;
        let measured: Vec<Vec<Exact>> = question
            .measures
            .iter()
            .map(|m| self.values(m, &columns, &counted, &group_of, keys.len(), person))
            .collect();
        let mut groups: Vec<GroupValues> =
            keys.into_iter().map(|keys| GroupValues { keys, values: Vec::new() }).collect();
        for values in measured {
            groups.iter_mut().zip(values).for_each(|(group, value)| group.values.push(value));
        }
        Ok(Measured { groups })
    }

    /// Which rows meet the condition.
    fn filtered(&self, filter: Option<&Filter>, columns: &[&Column]) -> Vec<bool> {
        let Some(filter) = filter else { return vec![true; self.rows] };
        let tests: Vec<(&Column, Vec<Option<bool>>)> = filter
            .tests()
            .iter()
            .map(|test| {
                let column = columns[test.column];
                (column, self.texts(column).into_iter().map(|v| test.holds(v)).collect())
            })
            .collect();
        let holds = |row: usize| {
            let mut next =
                tests.iter().map(|(column, results)| results[column.codes[row] as usize]);
            filter.holds(&mut || next.next().flatten()) == Some(true)
        };
        (0..self.rows).into_par_iter().map(holds).collect()
    }

    /// The group of every row, and the keys of the groups.
    fn grouped(
        &self,
        plan: &Plan,
        columns: &[&Column],
        counted: &[bool],
    ) -> Result<(Vec<u32>, Vec<Vec<Key>>), Failures> {
        let groups = &plan.question.groups;
        let maps: Vec<KeyMap<'_>> = groups
            .iter()
            .map(|g| key_map(columns[g.column], &self.texts(columns[g.column]), &g.keys))
            .collect();
        let sizes: Vec<u64> = maps.iter().map(|m| m.size as u64).collect();
        let all = sizes.iter().try_fold(1u64, |a, b| a.checked_mul(*b));
        let Some(all) = all else {
            return Err(Failure::refused(
                "too-many-keys",
                "the columns to group by have too many values together",
            )
            .into());
        };
        let number = |row: usize| {
            let digit =
                |m: &KeyMap<'_>| Some(m.of[m.column.codes[row] as usize]).filter(|&d| d != NOWHERE);
            maps.iter().try_fold(0u64, |n, m| Some(n * m.size as u64 + u64::from(digit(m)?)))
        };
        let keys_of = |mut n: u64| -> Vec<Key> {
            let mut keys: Vec<Key> = maps
                .iter()
                .rev()
                .map(|m| {
                    let digit = (n % m.size as u64) as usize;
                    n /= m.size as u64;
                    m.key(digit)
                })
                .collect();
            keys.reverse();
            keys
        };
        if plan.threshold.is_none() {
            let group_of =
                (0..self.rows).into_par_iter().map(|row| number(row).map_or(NOWHERE, |n| n as u32));
            return Ok((group_of.collect(), (0..all).map(keys_of).collect()));
        }
        // Only groups that some counted row is in.
        let mut places: HashMap<u64, u32> = HashMap::new();
        let mut keys = Vec::new();
        let mut group_of = vec![NOWHERE; self.rows];
        for row in (0..self.rows).filter(|&row| counted[row]) {
            let Some(n) = number(row) else { continue };
            group_of[row] = *places.entry(n).or_insert_with(|| {
                keys.push(keys_of(n));
                keys.len() as u32 - 1
            });
        }
        Ok((group_of, keys))
    }

    /// One measurement of every group.
    fn values(
        &self,
        measure: &Measure,
        columns: &[&Column],
        counted: &[bool],
        group_of: &[u32],
        groups: usize,
        person: Option<&Column>,
    ) -> Vec<Exact> {
        let rows = || (0..self.rows).filter(|&row| counted[row] && group_of[row] != NOWHERE);
        let numbers = |sums: Vec<i128>| sums.into_iter().map(|n| Exact::Number(n.into())).collect();
        let mut sums = vec![0i128; groups];
        match measure {
            Measure::Count(None) => rows().for_each(|row| sums[group_of[row] as usize] += 1),
            Measure::Count(Some(c)) | Measure::Numbers(c) => {
                let number = matches!(measure, Measure::Numbers(_));
                let there =
                    |t: &Option<&str>| t.is_some_and(|t| !number || Decimal::parse(t).is_some());
                let there: Vec<bool> = self.texts(columns[*c]).iter().map(there).collect();
                for row in rows().filter(|&row| there[columns[*c].codes[row] as usize]) {
                    sums[group_of[row] as usize] += 1;
                }
            }
            Measure::Persons => {
                let Some(person) = person else { return numbers(sums) };
                let mut pairs: Vec<(u32, u32)> =
                    rows().map(|row| (group_of[row], person.codes[row])).collect();
                pairs.par_sort_unstable();
                pairs.dedup();
                pairs.iter().for_each(|(group, _)| sums[*group as usize] += 1);
            }
            Measure::Sum { column, scale, center, power } => {
                let column = columns[*column];
                let term = |t: Option<&str>| {
                    let away = i128::from(scale.units(t?)?) - i128::from(*center);
                    Some(if *power == 1 { away } else { away * away })
                };
                // A text that is no number counts as missing, and adds nothing.
                let terms: Vec<i128> =
                    self.texts(column).into_iter().map(|t| term(t).unwrap_or(0)).collect();
                rows().for_each(|row| {
                    sums[group_of[row] as usize] += terms[column.codes[row] as usize]
                });
            }
            Measure::Quantile { column, scale, .. } => {
                let column = columns[*column];
                let place = |t: Option<&str>| {
                    t.and_then(|t| scale.units(t)).map(|u| (u - scale.low) as u32)
                };
                let places: Vec<Option<u32>> = self.texts(column).into_iter().map(place).collect();
                let mut found: Vec<Vec<u32>> = vec![Vec::new(); groups];
                for row in rows() {
                    found[group_of[row] as usize].extend(places[column.codes[row] as usize]);
                }
                let size = (scale.high - scale.low) as usize + 1;
                return found.into_iter().map(|places| Exact::Places(places, size)).collect();
            }
        }
        numbers(sums)
    }
}

/// The value of each code; nothing where it is missing.
pub(super) fn texts<'c>(column: &'c Column, missing: &[String]) -> Vec<Option<&'c str>> {
    column.values.iter().map(|v| (!missing.iter().any(|m| m == v)).then_some(v)).collect()
}

/// Which key every code of a column is.
pub(super) fn key_map<'c>(column: &'c Column, texts: &[Option<&str>], keys: &Keys) -> KeyMap<'c> {
    let place = |n: Option<usize>| n.map_or(NOWHERE, |n| n as u32);
    match keys {
        Keys::Public(list) => KeyMap {
            column,
            of: texts
                .iter()
                .map(|t| place(list.iter().position(|k| k == t.unwrap_or(""))))
                .collect(),
            size: list.len(),
            names: Some(list.clone()),
        },
        Keys::Unknown => KeyMap {
            column,
            of: (0..column.values.len() as u32).collect(),
            size: column.values.len().max(1),
            names: Some(column.values.iter().map(str::to_owned).collect()),
        },
        Keys::Bins { low, width, count, scale } => KeyMap {
            column,
            of: texts.iter().map(|t| place(t.and_then(|t| bin(t, scale, *low, *width)))).collect(),
            size: *count,
            names: None,
        },
    }
}

/// The key of every code of a column.
pub(super) struct KeyMap<'a> {
    column: &'a Column,
    pub of: Vec<u32>,
    size: usize,
    /// What keys are called; bins have numbers.
    names: Option<Vec<String>>,
}

impl KeyMap<'_> {
    fn key(&self, digit: usize) -> Key {
        self.names.as_ref().map_or(Key::Number(digit), |names| Key::Text(names[digit].clone()))
    }
}

fn bin(text: &str, scale: &Scale, low: i64, width: i64) -> Option<usize> {
    usize::try_from((scale.units(text)? - low) / width).ok()
}

/// Leaves of every person at most so many rows, drawn evenly. Whose rows are left depends on nobody
/// else's.
pub(super) fn bound(counted: &mut [bool], person: &Column, most: u64, random: &mut ChaCha20Rng) {
    let mut seen = vec![0u64; person.values.len()];
    for (row, _) in counted.iter().enumerate().filter(|(_, c)| **c) {
        seen[person.codes[row] as usize] += 1;
    }
    if seen.iter().all(|&n| n <= most) {
        return;
    }
    // Reservoir sampling, for the persons who have more.
    let mut kept: HashMap<u32, (u64, Vec<usize>)> = HashMap::new();
    for row in 0..counted.len() {
        let code = person.codes[row];
        if !counted[row] || seen[code as usize] <= most {
            continue;
        }
        let (before, rows) = kept.entry(code).or_default();
        *before += 1;
        if (rows.len() as u64) < most {
            rows.push(row);
            continue;
        }
        counted[row] = false;
        let place = random.random_range(0..*before);
        if place < most {
            counted[std::mem::replace(&mut rows[place as usize], row)] = false;
            counted[row] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use scumble::dp::query::{NoiseKind, Price};
    use scumble::dp::sql;
    use scumble::exact::Fraction;
    use std::collections::BTreeMap;

    const POLICY: &str = "source = \"people.csv\"\n[queries]\nperson = \"id\"\nrows_per_person = 3\n\
                          budget = { epsilon = 1 }\n[queries.columns]\nx = { bounds = [-3, 10] }\n\
                          key = { keys = [\"a\", \"b\"] }\n";
    const SQL: &str = "SELECT key, COUNT(*), COUNT(x), COUNT(DISTINCT id), SUM(x), AVG(x), VARIANCE(x), MEDIAN(x) \
                       FROM people WHERE key <> 'z' GROUP BY key";

    /// A person, a key and a value that may be missing or no number.
    type Row = (u8, char, String);

    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let value = prop_oneof![
            (-9i32..20).prop_map(|n| n.to_string()),
            Just(String::new()),
            Just("?".to_owned())
        ];
        prop::collection::vec(
            (0u8..8, prop::sample::select(vec!['a', 'b', 'c', 'z']), value),
            1..20,
        )
        .prop_map(|all| {
            // At most three rows each, so that nothing is left out at random.
            let mut seen = BTreeMap::new();
            let keep = |row: &Row| {
                let n = seen.entry(row.0).or_insert(0);
                *n += 1;
                *n <= 3
            };
            all.into_iter().filter(keep).collect()
        })
    }

    /// Every measurement, by what it is and by group, and how much a person may change it.
    fn measured(rows: &[Row]) -> Vec<(Vec<f64>, f64)> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("people.csv");
        // A row of nobody's, left out by the condition, so that there is a table.
        let lines: String = rows.iter().map(|(id, key, x)| format!("p{id},{key},{x}\n")).collect();
        std::fs::write(&file, format!("id,key,x\nnobody,z,0\n{lines}")).unwrap();
        let queries = Queries::parse("policy.toml", POLICY).unwrap();
        let names = ["id", "key", "x"].map(str::to_owned);
        let price = Price {
            epsilon: Fraction::whole(1),
            delta: Fraction::whole(0),
            noise: NoiseKind::Laplace,
        };
        let plan = sql::parse(SQL, &queries, &names).unwrap().plan(&price, &queries).unwrap();
        let mut random = ChaCha20Rng::seed_from_u64(1);
        let read = ReadOptions::default();
        let all = measure(
            (&Source::File(file.clone()), &read),
            (&queries, std::slice::from_ref(&plan)),
            &mut random,
            &Publisher::default(),
        )
        .unwrap()
        .0;
        let number = |exact: &Exact| match exact {
            Exact::Number(n) => vec![n.to_f64().value()],
            Exact::Places(places, size) => (0..*size)
                .map(|p| places.iter().filter(|&&at| at as usize == p).count() as f64)
                .collect(),
        };
        let of = |(i, m): (usize, &Measure)| {
            let values = all[0].groups.iter().flat_map(|g| number(&g.values[i])).collect();
            let quantile = matches!(m, Measure::Quantile { .. });
            (values, if quantile { 3.0 } else { m.sensitivity(3, true).to_f64().value() })
        };
        plan.question.measures.iter().enumerate().map(of).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn a_person_changes_a_measurement_by_at_most_its_sensitivity(rows in rows(), person in 0u8..8) {
            let without: Vec<Row> = rows.iter().filter(|r| r.0 != person).cloned().collect();
            for ((a, most), (b, _)) in measured(&rows).iter().zip(&measured(&without)) {
                let apart: f64 = a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum();
                prop_assert!(apart <= *most, "{apart} {most}");
            }
        }

        #[test]
        fn measurements_are_those_of_a_naive_count(rows in rows()) {
            let found = measured(&rows);
            for (g, key) in ['a', 'b'].into_iter().enumerate() {
                let group: Vec<&Row> = rows.iter().filter(|r| r.1 == key).collect();
                let numbers: Vec<f64> = group.iter().filter_map(|r| r.2.parse::<f64>().ok()).map(|x| x.clamp(-3.0, 10.0)).collect();
                let mut people: Vec<u8> = group.iter().map(|r| r.0).collect();
                people.sort_unstable();
                people.dedup();
                let filled = group.iter().filter(|r| !r.2.is_empty()).count();
                // Rows, rows with a value, persons, sum, distances from the middle, numbers, their
                // squares.
                let expected = [
                    group.len() as f64,
                    filled as f64,
                    people.len() as f64,
                    numbers.iter().sum(),
                    numbers.iter().map(|x| x - 3.0).sum(),
                    numbers.len() as f64,
                    numbers.iter().map(|x| (x - 3.0).powi(2)).sum(),
                ];
                for (m, expected) in expected.iter().enumerate() {
                    prop_assert_eq!(found[m].0[g], *expected, "measurement {} of {}", m, key);
                }
                prop_assert_eq!(found[7].0[g * 14..(g + 1) * 14].iter().sum::<f64>(), numbers.len() as f64);
            }
        }
    }

    #[test]
    fn rows_of_a_person_are_left_out_evenly() {
        let mut values = crate::table::dictionary::Dictionary::new();
        let codes = ["a", "b", "a", "a", "c", "a"].map(|p| values.intern(p)).to_vec();
        let person = Column { name: "id".into(), values, codes, arrow: None };
        let mut random = ChaCha20Rng::seed_from_u64(7);
        let mut kept = [0u32; 6];
        for _ in 0..4000 {
            let mut counted = vec![true; 6];
            bound(&mut counted, &person, 2, &mut random);
            assert_eq!(counted.iter().filter(|c| **c).count(), 4);
            kept.iter_mut().zip(&counted).for_each(|(k, c)| *k += u32::from(*c));
        }
        assert!(kept[1] == 4000 && kept[4] == 4000);
        // Each of the four rows in half the cases: 2000 ± 5 standard deviations.
        assert!([0, 2, 3, 5].iter().all(|&row| kept[row].abs_diff(2000) < 160), "{kept:?}");
    }
}
