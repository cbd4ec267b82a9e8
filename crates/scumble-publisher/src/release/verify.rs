//! Checks the certificate of a release from its folder alone: `scumble verify`.
//!
//! What it proves: the files are those of the certificate, nothing else lies beside them, and every
//! figure follows from the published texts under the roles that are shown. What it cannot prove:
//! that the roles are right, who made the certificate, and that the records are true. Whoever can
//! rewrite the data can also rewrite manifest and certificate, and call a column insensitive so
//! that no figure looks at it; so roles are shown, and a column that looks as if it named people is
//! not vouched for. Models that take something that is not published cannot be checked, and are not
//! passed over.

use super::certificate::{self, Certificate, ColumnRole, Measured};
use super::manifest::{self, Manifest};
use super::reader::Meaning;
use super::recipient::nothing_else;
use super::{folder, reader};
use crate::answer::{CheckedClaim, Model, Number, VERSION, Verified, VerifyOutcome};
use crate::observer::Observer;
use crate::observer::Phase;
use crate::publisher::Publisher;
use crate::{inspect, table::columns};
use scumble::algorithm::Requirement;
use scumble::failure::Failures;
use scumble::publish::judge;
use scumble::release::Release;
use scumble::table::Role;
use std::path::Path;

/// Checks the certificate of a release from its folder alone.
pub(crate) fn verify(folder: &Path, publisher: &Publisher<'_>) -> Result<Verified, Failures> {
    reader::must_be_release(folder)?;
    let certificate = Certificate::read(folder)?;
    let manifest = manifest::read(folder)?;
    let mut checked = Vec::new();
    check_files(folder, &certificate, publisher.observer, &mut checked)?;
    check_manifest(&manifest, &certificate, &mut checked);
    let mut unchecked = Vec::new();
    // A folder whose files are not the certified ones is not read further: what it says of itself
    // means nothing.
    if checked.iter().all(|c| c.holds) {
        let (release, requirements) = read(folder, &manifest, publisher, &mut unchecked)?;
        publisher.observer.go_on()?;
        check_models(&certificate, &release, &requirements, &mut checked, &mut unchecked)?;
        compare(&certificate.measured, &Measured::of(&release), &mut checked);
    }
    let mut word = Vec::new();
    if certificate.linkability.is_some() {
        word.push("what it tells together with earlier releases".to_owned());
    }
    let holds = checked.iter().all(|c| c.holds);
    let outcome = match (holds, unchecked.is_empty()) {
        (false, _) => VerifyOutcome::False,
        (true, false) => VerifyOutcome::Incomplete,
        (true, true) => VerifyOutcome::Verified,
    };
    Ok(Verified {
        version: VERSION,
        outcome,
        release: folder.display().to_string(),
        holds: outcome == VerifyOutcome::Verified,
        columns: ColumnRole::all(&manifest),
        checked,
        unchecked,
        word,
        certificate,
    })
}

/// Whether the files are those that are certified, and no others.
fn check_files(
    folder: &Path,
    certificate: &Certificate,
    observer: &dyn Observer,
    checked: &mut Vec<CheckedClaim>,
) -> Result<(), Failures> {
    for (name, said) in &certificate.files {
        let found = folder::file(folder, name)
            .and_then(|path| columns::sha256(&path, &|| !observer.cancelled()));
        observer.go_on()?;
        let found = found.unwrap_or_else(|problems| {
            problems.0.first().map_or_else(String::new, |p| p.message.clone())
        });
        checked.push(claim(format!("file {name}"), said, &found));
    }
    for item in folder::items(folder)? {
        let listed = item.name == certificate::FILE || certificate.files.contains_key(&item.name);
        if !listed || !item.is_file {
            let found = if item.is_file {
                "a file that is not certified"
            } else {
                "a link, a device or a pipe"
            };
            checked.push(claim(format!("file {}", item.name), "nothing", found));
        }
    }
    Ok(())
}

/// Whether manifest and certificate say the same about roles and promises.
fn check_manifest(manifest: &Manifest, certificate: &Certificate, checked: &mut Vec<CheckedClaim>) {
    let mut each = |what: &str, said: String, found: String| {
        checked.push(claim(what.to_owned(), &said, &found))
    };
    each("release", format!("{:?}", certificate.release), format!("{:?}", manifest.id));
    let roles = |list: &[ColumnRole]| {
        list.iter().map(|c| format!("{} {}", c.name, c.role)).collect::<Vec<_>>().join(", ")
    };
    each("roles", roles(&certificate.columns), roles(&ColumnRole::all(manifest)));
    let method = |name: &str, parameters: &_| format!("{name} {parameters:?}");
    let (a, b) = (&certificate.algorithm, &manifest.algorithm);
    each("algorithm", method(&a.name, &a.parameters), method(&b.name, &b.parameters));
    // All of a promise: parameters, what is required and what was measured.
    let promises =
        |models: &[Model]| models.iter().map(|m| format!("{m:?}")).collect::<Vec<_>>().join("\n");
    let same = promises(&certificate.models) == promises(&manifest.models);
    let names = |models: &[Model]| models.iter().map(promise).collect::<Vec<_>>().join("; ");
    let (said, found) = (names(&certificate.models), names(&manifest.models));
    let found = if same || said != found { found } else { format!("{found}, with other figures") };
    checked.push(CheckedClaim {
        claim: "promises of the manifest".into(),
        said,
        found,
        holds: same,
    });
    let listed = |name: &&str| !certificate.files.contains_key(*name);
    let mut files = manifest.files().into_iter().map(|(name, _)| name).chain(manifest.taxonomies());
    if let Some(name) = files.find(listed) {
        checked.push(claim(format!("file {name}"), "nothing", "a file that is not certified"));
    }
}

/// Reads the release as every recipient does.
fn read(
    folder: &Path,
    manifest: &Manifest,
    publisher: &Publisher<'_>,
    unchecked: &mut Vec<String>,
) -> Result<(Release, Vec<Requirement>), Failures> {
    let mut plan = reader::from_manifest(manifest, folder)?;
    let insensitive = manifest.columns.iter().filter(|c| c.role == Role::Insensitive.name());
    plan.beside = insensitive.map(|c| c.name.clone()).collect();
    publisher.observer.phase(Phase::Read);
    let files = reader::read_tables(&plan, publisher)?;
    let meaning = Meaning { matters: true, together: false, named: &nothing_else };
    let release = reader::understand(&plan, &plan.requirements, &files, &meaning)?;
    let rows = files.records.rows as u64;
    let columns =
        files.records.columns.into_iter().filter(|c| plan.beside.contains(&c.name)).collect();
    for name in inspect::identifiers(columns, rows) {
        unchecked.push(format!(
            "column `{name}` is called insensitive, and its values look as if they named people"
        ));
    }
    Ok((release, plan.requirements))
}

/// Whether every promise is kept with the figure that is certified.
fn check_models(
    certificate: &Certificate,
    release: &Release,
    requirements: &[Requirement],
    checked: &mut Vec<CheckedClaim>,
    unchecked: &mut Vec<String>,
) -> Result<(), Failures> {
    let judgements = judge(release, requirements).map_err(Failures)?;
    let found: Vec<Model> =
        requirements.iter().zip(&judgements).map(|(r, j)| Model::of(release, r, j)).collect();
    for said in &certificate.models {
        let same = |m: &&Model| {
            (&m.name, &m.attribute, &m.on, &m.parameters)
                == (&said.name, &said.attribute, &said.on, &said.parameters)
        };
        let Some(m) = found.iter().find(same) else {
            unchecked.push(format!(
                "{}: it takes a register or guards, which are not published",
                promise(said)
            ));
            continue;
        };
        let alike = same_number(&said.measured, &m.measured)
            && said.holds == m.holds
            && m.holds == Some(true);
        let alike = alike
            && said.required == m.required
            && said.must_be == m.must_be
            && said.worst == m.worst;
        checked.push(CheckedClaim {
            claim: promise(said),
            said: told(said),
            found: told(m),
            holds: alike,
        });
    }
    Ok(())
}

fn claim(claim: String, said: &str, found: &str) -> CheckedClaim {
    CheckedClaim { claim, said: said.to_owned(), found: found.to_owned(), holds: said == found }
}

/// A promise in words: the model, what it is about, and its parameters.
fn promise(m: &Model) -> String {
    let about = m.attribute.as_ref().map_or(String::new(), |a| format!(" of {a}"));
    let on = m.on.as_ref().map_or(String::new(), |on| format!(" on {}", on.join(", ")));
    let parameters: Vec<String> =
        m.parameters.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    format!("{}{about}{on} with {}", m.name, parameters.join(", "))
}

fn told(m: &Model) -> String {
    format!("{}, {}", number(&m.measured), if m.holds == Some(true) { "kept" } else { "broken" })
}

/// A number as claims write it; one that is not rational with twelve digits, the rest being a
/// matter of the machine.
fn number(n: &Number) -> String {
    n.exact.clone().or_else(|| n.value.map(|v| format!("{v:.12}"))).unwrap_or_default()
}

/// Whether two figures are the same: exactly where they are rational, otherwise but for the last
/// digits, which depend on how logarithms are computed and how JSON is read. What holds is judged
/// exactly in either case.
fn same_number(a: &Number, b: &Number) -> bool {
    match (a, b) {
        (Number { exact: None, value: Some(x) }, Number { exact: None, value: Some(y) }) => {
            (x - y).abs() <= 1e-12 * x.abs().max(y.abs())
        }
        _ => a.exact == b.exact,
    }
}

fn compare(said: &Measured, found: &Measured, checked: &mut Vec<CheckedClaim>) {
    let (a, b) = (&said.singling_out, &found.singling_out);
    let mut each = |what: &str, a: String, b: String| checked.push(claim(what.to_owned(), &a, &b));
    each("records", a.records.to_string(), b.records.to_string());
    each("singling out: classes", a.classes.to_string(), b.classes.to_string());
    each("singling out: smallest class", a.smallest.to_string(), b.smallest.to_string());
    each("singling out: records alone", a.alone.to_string(), b.alone.to_string());
    each("singling out: highest risk", number(&a.highest), number(&b.highest));
    each("singling out: average risk", number(&a.average), number(&b.average));
    each(
        "inference: attributes",
        said.inference.len().to_string(),
        found.inference.len().to_string(),
    );
    for (a, b) in said.inference.iter().zip(&found.inference) {
        let name = |what: &str| format!("inference about {}: {what}", a.attribute);
        let mut each = |what: &str, x: String, y: String| checked.push(claim(name(what), &x, &y));
        each("attribute", a.attribute.clone(), b.attribute.clone());
        each(
            "records by possible values",
            format!("{:?}", a.possible),
            format!("{:?}", b.possible),
        );
        each("excluded", a.excluded.to_string(), b.excluded.to_string());
        each("highest belief", number(&a.highest), number(&b.highest));
        each("class with the fewest values", format!("{:?}", a.fewest), format!("{:?}", b.fewest));
        let (x, y) = (&a.average, &b.average);
        checked.push(CheckedClaim {
            claim: name("average belief"),
            said: number(x),
            found: number(y),
            holds: same_number(x, y),
        });
    }
}
