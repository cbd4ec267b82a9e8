//! How long it takes to publish people again and again.
//!
//! `cargo run --release --example invariance -- PEOPLE RELEASES PERCENT M NAME`: in every release
//! PERCENT (10) of the people leave and as many come, a tenth of them people who had left before;
//! they have five quasi-identifiers and an occupation, as frequent as among Adult. NAME is
//! `m-invariance` (or `history-guided`, or `anatomy`), M its parameter.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use scumble::algorithm::{Algorithm, Goal};
use scumble::catalogue::{ALGORITHMS, Parameters};
use scumble::encode::encode;
use scumble::history::PastGroup;
use scumble::release::{Anatomized, Form};
use scumble::table::{Attribute, Table};
use scumble::taxonomy::Rule;
use std::time::Instant;

/// How often each occupation occurs in Adult.
const OCCUPATIONS: [u32; 14] =
    [4038, 4030, 3992, 3721, 3584, 3212, 1966, 1572, 1350, 989, 912, 644, 143, 9];

/// Domain values of the quasi-identifiers.
const QUASI: [u32; 5] = [74, 100, 16, 41, 2];

/// The release, beginning at 1, and the group in which somebody was last seen.
type Seen = (u32, u32);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut next =
        |default: usize| arguments.next().map_or(default, |a| a.parse().expect("a number"));
    let (people, releases, percent, m) = (next(1_000_000), next(3), next(10), next(5));
    let name = arguments.next().unwrap_or_else(|| "m-invariance".into());
    let how = algorithm(&name, m);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let attributes: Vec<Attribute> =
        QUASI.iter().chain(&[OCCUPATIONS.len() as u32]).map(|&n| attribute(n)).collect();
    let mut records: Vec<[u32; 6]> = Vec::new();
    let mut seen: Vec<Seen> = Vec::new();
    let mut present: Vec<u32> = Vec::new();
    let mut away: Vec<u32> = Vec::new();
    let mut values: Vec<Vec<Vec<(u32, u64)>>> = Vec::new();
    for release in 1..=releases as u32 {
        let (leave, stay): (Vec<u32>, Vec<u32>) =
            present.iter().partition(|_| rng.random_range(0..100) < percent as u32);
        present = stay;
        let back = away.len().min((people - present.len()) / 10);
        present.extend(away.drain(..back));
        away.extend(leave);
        while present.len() < people {
            present.push(records.len() as u32);
            records.push(person(&mut rng));
            seen.push((0, 0));
        }
        let (table, row_of) = table(&attributes, &records, &present, &seen, &values, release);
        let start = Instant::now();
        let form = match how.anonymize(&table, &Goal::new(&table, &[]), 1, &|_, _| true) {
            Ok(Form::Anatomized(form)) => form,
            Ok(Form::Generalized(_)) => panic!("it should make groups"),
            Err(refusal) => panic!("{:?}", refusal.0),
        };
        let seconds = start.elapsed().as_secs_f64();
        let counterfeits: usize = form.counterfeits.iter().map(Vec::len).sum();
        println!(
            "{{\"algorithm\": \"{name}\", \"release\": {release}, \"rows\": {people}, \"distinct\": {}, \"groups\": {}, \
             \"counterfeits\": {counterfeits}, \"seconds\": {seconds:.3}}}",
            table.rows(),
            form.groups.len()
        );
        values.push(remember(&form, &table, &row_of, &present, &mut seen, release));
    }
}

fn algorithm(name: &str, m: usize) -> Box<dyn Algorithm> {
    let entry = ALGORITHMS.iter().find(|e| e.name == name).expect("an algorithm of re-publication");
    let parameter = entry.parameters[0].name.to_owned();
    let parameters =
        Parameters::read(entry.name, entry.parameters, &[(parameter, m.to_string())].into());
    (entry.build)(&parameters.expect("a count")).expect("a count is all it needs")
}

fn attribute(values: u32) -> Attribute {
    let texts: Vec<String> = (0..values).map(|v| format!("{v:03}")).collect();
    let (taxonomy, _) = encode(
        "column",
        &Rule::Flat,
        None,
        &texts.iter().map(String::as_str).collect::<Vec<_>>(),
        &[],
    )
    .expect("flat");
    Attribute::new("column", taxonomy)
}

fn person(rng: &mut ChaCha8Rng) -> [u32; 6] {
    let mut drawn = rng.random_range(0..OCCUPATIONS.iter().sum::<u32>());
    let occupation = OCCUPATIONS.iter().position(|&n| {
        let here = drawn < n;
        drawn = drawn.saturating_sub(n);
        here
    });
    let mut record = [0; 6];
    record.iter_mut().zip(QUASI).for_each(|(code, n)| *code = rng.random_range(0..n));
    record[5] = occupation.expect("below the sum") as u32;
    record
}

fn table(
    attributes: &[Attribute],
    records: &[[u32; 6]],
    present: &[u32],
    seen: &[Seen],
    values: &[Vec<Vec<(u32, u64)>>],
    release: u32,
) -> (Table, Vec<u32>) {
    let codes = (0..6).map(|i| present.iter().map(|&p| records[p as usize][i]).collect()).collect();
    let (quasi, sensitive) = (attributes[..5].to_vec(), attributes[5..].to_vec());
    // All groups of all releases, one after another.
    let mut firsts = vec![0];
    let mut groups = Vec::new();
    for (r, list) in (1u32..).zip(values) {
        groups.extend(list.iter().map(|v| PastGroup {
            values: v.clone(),
            counterfeits: 0,
            newest: r + 1 == release,
        }));
        firsts.push(groups.len() as u32);
    }
    let number = |p: &u32| match seen[*p as usize] {
        (0, _) => 0,
        (r, group) => 1 + firsts[r as usize - 1] + group,
    };
    let group_of = present.iter().map(number).collect();
    Table::collapse_with_past(quasi, sensitive, codes, groups, group_of)
}

/// Notes who was where, and returns what every group showed.
fn remember(
    form: &Anatomized,
    table: &Table,
    row_of: &[u32],
    present: &[u32],
    seen: &mut [Seen],
    release: u32,
) -> Vec<Vec<(u32, u64)>> {
    let mut of_row: Vec<Vec<u32>> = vec![Vec::new(); table.rows()];
    present.iter().zip(row_of).for_each(|(&p, &row)| of_row[row as usize].push(p));
    let mut shown = Vec::with_capacity(form.groups.len());
    for (group, members) in (0u32..).zip(&form.groups) {
        let mut values: Vec<u32> =
            form.counterfeits.get(group as usize).cloned().unwrap_or_default();
        for m in members {
            let queue = &mut of_row[m.row as usize];
            for p in queue.split_off(queue.len() - m.count as usize) {
                seen[p as usize] = (release, group);
            }
            values.extend(std::iter::repeat_n(
                table.sensitive_codes[0][m.row as usize],
                m.count as usize,
            ));
        }
        values.sort_unstable();
        shown.push(values.chunk_by(|a, b| a == b).map(|v| (v[0], v.len() as u64)).collect());
    }
    shown
}
