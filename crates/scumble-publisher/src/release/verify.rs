//! Checks the certificate of a release from its folder alone: `scumble verify`.
//!
//! What it proves: the files are those of the certificate, nothing else lies beside them, and every
//! figure follows from the published texts under the roles that are shown. Manifest and certificate
//! are computed again and compared leaf by leaf, so that nothing in them is believed but what is
//! told as the publisher's word. What it cannot prove:
//! that the roles are right, who made the certificate, and that the records are true. Whoever can
//! rewrite the data can also rewrite manifest and certificate, and call a column insensitive so
//! that no figure looks at it; so roles are shown, and a column that looks as if it named people is
//! not vouched for. Models that take something that is not published cannot be checked, and are not
//! passed over.

use super::account::{Account, rounded};
use super::certificate::{self, Certificate, ColumnRole, Linkability, Measured};
use super::manifest::{self, Anatomized, ColumnNote, Counterfeits, Data, Manifest, TaxonomyNote};
use super::reader::{Files, Meaning};
use super::recipient::nothing_else;
use super::{folder, reader, writer};
use crate::answer::{
    CheckedClaim, Groups, Model, Number, PublishersWord, VERSION, Verified, VerifyOutcome,
};
use crate::observer::Observer;
use crate::observer::Phase;
use crate::publisher::Publisher;
use crate::{inspect, table::columns};
use scumble::algorithm::Requirement;
use scumble::failure::{Failure, Failures};
use scumble::publish::judge;
use scumble::release::{Release, Shape};
use scumble::table::Role;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// What manifest and certificate say and no folder can prove, with what it is about. Everything
/// else in them is computed again by [`expected_manifest`] and [`expected_certificate`], which copy
/// what is listed here and nothing else.
const WORD: &[(&str, &str)] = &[
    ("manifest.json/made_by", "which program made it"),
    ("manifest.json/id", "what the publisher's ledger calls it"),
    ("manifest.json/publisher", "who publishes"),
    ("manifest.json/recipients/*", "for whom"),
    ("manifest.json/shape", "whether values contain a person's or stand for them"),
    ("manifest.json/columns/*/role", "what an adversary knows and wants: the roles"),
    ("manifest.json/columns/*/taxonomy/**", "how values generalize, and over which domain"),
    ("manifest.json/columns/*/level", "the level that values are shown at"),
    ("manifest.json/columns/*/exceptions/**", "what labels do not stand for"),
    ("manifest.json/columns/*/perturbed/*", "how values were changed"),
    ("manifest.json/columns/*/drawn_from", "how many values randomized response drew from"),
    ("manifest.json/columns/*/freeform/**", "which values are secret, and which observable"),
    ("manifest.json/privacy_unit", "that a person has one record, or may have several"),
    ("manifest.json/algorithm/**", "how the release was made"),
    ("manifest.json/suppressed", "how many records were suppressed; figures of loss count them"),
    (
        "manifest.json/utility/gcp",
        "the loss over all values of a taxonomy, of which a part is here",
    ),
    ("manifest.json/seeded", "that the randomness came from a given seed"),
    ("manifest.json/notes/*", "notes beside those that every such release has"),
    ("certificate.json/linkability/panel/*", "who was on the panel"),
    ("certificate.json/linkability/thresholds/*", "what the publisher allowed"),
    ("certificate.json/linkability/adversaries/**", "what it tells together with earlier releases"),
];

/// What was said and what was found, side by side.
#[derive(Default)]
struct Findings {
    checked: Vec<CheckedClaim>,
    unchecked: Vec<String>,
    word: Vec<PublishersWord>,
}

/// Checks the certificate of a release from its folder alone.
pub(crate) fn verify(folder: &Path, publisher: &Publisher<'_>) -> Result<Verified, Failures> {
    reader::must_be_release(folder)?;
    let certificate = Certificate::read(folder)?;
    let manifest = manifest::read(folder)?;
    let mut found = Findings::default();
    check_files(folder, &certificate, publisher.observer, &mut found.checked)?;
    check_manifest(&manifest, &certificate, &mut found.checked);
    // A folder whose files are not the certified ones is not read further: what it says of itself
    // means nothing.
    if found.holds() {
        let (mut release, requirements, files) =
            read(folder, &manifest, publisher, &mut found.unchecked)?;
        release.suppressed = manifest.suppressed;
        publisher.observer.go_on()?;
        let models = check_models(&certificate, &release, &requirements, &mut found)?;
        let expected =
            expected_manifest(&manifest, &certificate, &release, &requirements, &files, models);
        let certified = expected_certificate(&certificate, &expected, &release);
        let documents = [
            (manifest::FILE, document(folder, manifest::FILE)?, value(&expected)?),
            (certificate::FILE, document(folder, certificate::FILE)?, value(&certified)?),
        ];
        for (file, said, computed) in &documents {
            compare(file, said, computed, &mut found.checked);
        }
        let said = documents.into_iter().map(|(file, said, _)| (file.to_owned(), said)).collect();
        found.word = words(&Value::Object(said), &manifest, &release);
    }
    let outcome = match (found.holds(), found.unchecked.is_empty()) {
        (false, _) => VerifyOutcome::False,
        (true, false) => VerifyOutcome::Incomplete,
        (true, true) => VerifyOutcome::Verified,
    };
    let Findings { checked, unchecked, word } = found;
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

impl Findings {
    /// Whether nothing is false so far.
    fn holds(&self) -> bool {
        self.checked.iter().all(|c| c.holds)
    }
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
        list.iter().map(|c| format!("{} {}", c.name, c.role.name())).collect::<Vec<_>>().join(", ")
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
    let mut named: Vec<&str> =
        manifest.files().into_iter().map(|(name, _)| name).chain(manifest.taxonomies()).collect();
    named.push(manifest::FILE);
    for name in named.iter().filter(|name| !certificate.files.contains_key(**name)) {
        checked.push(claim(format!("file {name}"), "nothing", "a file that is not certified"));
    }
    for name in certificate.files.keys().filter(|name| !named.contains(&name.as_str())) {
        checked.push(claim(format!("file {name}"), "a file of the release", "one without a use"));
    }
    for c in manifest.columns.iter().filter(|c| !c.is_published()) {
        let found = "a column that is published";
        checked.push(claim(format!("role of {}", c.name), c.role.name(), found));
    }
}

/// Reads the release as every recipient does.
fn read(
    folder: &Path,
    manifest: &Manifest,
    publisher: &Publisher<'_>,
    unchecked: &mut Vec<String>,
) -> Result<(Release, Vec<Requirement>, Files), Failures> {
    let mut plan = reader::from_manifest(manifest, folder)?;
    let insensitive = manifest.columns.iter().filter(|c| c.role == Role::Insensitive);
    plan.beside = insensitive.map(|c| c.name.clone()).collect();
    publisher.observer.phase(Phase::Read);
    let files = reader::read_tables(&plan, publisher)?;
    let meaning = Meaning { matters: true, together: false, named: &nothing_else };
    let release = reader::understand(&plan, &plan.requirements, &files, &meaning)?;
    let rows = files.records.rows as u64;
    let columns =
        (files.records.columns.iter()).filter(|c| plan.beside.contains(&c.name)).cloned().collect();
    for name in inspect::identifiers(columns, rows) {
        unchecked.push(format!(
            "column `{name}` is called insensitive, and its values look as if they named people"
        ));
    }
    Ok((release, plan.requirements, files))
}

/// Whether every promise is kept with the figure that is certified. Returns the promises with what
/// was found; those that cannot be checked as they are said.
fn check_models(
    certificate: &Certificate,
    release: &Release,
    requirements: &[Requirement],
    into: &mut Findings,
) -> Result<Vec<Model>, Failures> {
    let judgements = judge(release, requirements).map_err(Failures)?;
    let mut found: Vec<Model> = Vec::new();
    for (r, j) in requirements.iter().zip(&judgements) {
        found.push(Model::of(release, r, j).public());
    }
    let mut models = Vec::new();
    for said in &certificate.models {
        let same = |m: &&Model| {
            (&m.name, &m.attribute, &m.on, &m.parameters)
                == (&said.name, &said.attribute, &said.on, &said.parameters)
        };
        let Some(m) = found.iter().find(same) else {
            into.unchecked.push(format!(
                "{}: it takes a register or guards, which are not published",
                promise(said)
            ));
            models.push(said.clone());
            continue;
        };
        into.checked.push(CheckedClaim {
            claim: promise(said),
            said: told(said),
            found: told(m),
            holds: m.holds == Some(true) && told(said) == told(m),
        });
        models.push(m.clone());
    }
    Ok(models)
}

/// The manifest that this build writes for such a release. What is copied from the one that is
/// there is listed in [`WORD`].
fn expected_manifest(
    said: &Manifest,
    certificate: &Certificate,
    release: &Release,
    requirements: &[Requirement],
    files: &Files,
    models: Vec<Model>,
) -> Manifest {
    // Hashes of the certificate were compared with the files before.
    let hash = |file: &String| certificate.files.get(file).cloned().unwrap_or_default();
    let lines = |file: &Option<columns::Columns>| file.as_ref().map_or(0, |f| f.records());
    let format = Path::new(&said.data.file).extension().unwrap_or_default().to_string_lossy();
    // One character, by which the columns were read.
    let delimiter = said.data.delimiter.as_ref().and_then(|d| d.chars().next()).unwrap_or(',');
    let data = Data {
        file: said.data.file.clone(),
        delimiter: (format == "csv").then(|| delimiter.to_string()),
        format: format.into_owned(),
        rows: files.records.records(),
        sha256: hash(&said.data.file),
    };
    let anatomized = said.anatomized.as_ref().map(|a| Anatomized {
        file: a.file.clone(),
        rows: lines(&files.told),
        sha256: hash(&a.file),
        group: a.group.clone(),
        count: a.count.clone(),
        groups: Groups::of(release).unwrap_or(a.groups),
        counterfeits: a.counterfeits.as_ref().map(|c| Counterfeits {
            file: c.file.clone(),
            rows: lines(&files.counterfeits),
            sha256: hash(&c.file),
        }),
    });
    let units = ["person", "row"];
    let unit = units.iter().find(|unit| **unit == said.privacy_unit).unwrap_or(&units[0]);
    let mut notes = said.notes.clone();
    let required = writer::required_notes(anatomized.as_ref());
    notes.extend(required.into_iter().filter(|note| !said.notes.contains(note)));
    Manifest {
        version: manifest::VERSION,
        made_by: said.made_by.clone(),
        id: said.id.clone(),
        publisher: said.publisher.clone(),
        recipients: said.recipients.clone(),
        data,
        shape: Some(manifest::shape_name(release.shape)),
        anatomized,
        columns: said.columns.clone(),
        missing: writer::MISSING.into(),
        privacy_unit: (*unit).to_owned(),
        algorithm: said.algorithm.clone(),
        classes: release.sizes().iter().map(|(_, n)| n).sum(),
        suppressed: said.suppressed,
        models,
        utility: expected_utility(said, release, requirements),
        seeded: said.seeded.as_ref().map(|_| writer::SEEDED.to_owned()),
        notes,
    }
}

/// The figures of loss, as they are said where they differ by no more than the rounding of sums.
fn expected_utility(
    said: &Manifest,
    release: &Release,
    requirements: &[Requirement],
) -> BTreeMap<String, f64> {
    let asked = requirements.iter().filter(|r| r.name == "k-anonymity" && r.on.is_none());
    let k = asked.map(|r| r.parameters.count("k")).max();
    let mut utility = BTreeMap::new();
    for (name, found) in Account::losses(release, k) {
        let near = [found, found * (1.0 - 1e-9), found * (1.0 + 1e-9)].map(rounded);
        let figure = said.utility.get(name).filter(|&figure| {
            near.contains(figure) || name == "gcp" && has_untold_values(&said.columns)
        });
        utility.insert(name.to_owned(), figure.copied().unwrap_or(near[0]));
    }
    utility
}

/// Whether a label of a quasi-identifier may stand for values that the folder does not tell: of a
/// file a part may be here, and of siblings only those that are shown by themselves.
fn has_untold_values(columns: &[ColumnNote]) -> bool {
    let untold = |c: &ColumnNote| {
        matches!(c.taxonomy, Some(TaxonomyNote::File { .. })) || !c.exceptions.is_empty()
    };
    columns.iter().filter(|c| c.is_generalized()).any(untold)
}

/// The certificate that this build writes for such a release and manifest.
fn expected_certificate(said: &Certificate, manifest: &Manifest, release: &Release) -> Certificate {
    Certificate {
        version: certificate::VERSION,
        made_by: manifest.made_by.clone(),
        statement: certificate::STATEMENT.into(),
        release: manifest.id.clone(),
        files: said.files.clone(),
        columns: ColumnRole::all(manifest),
        algorithm: manifest.algorithm.clone(),
        models: manifest.models.clone(),
        measured: Measured::of(release),
        linkability: said.linkability.as_ref().map(|l| Linkability {
            note: certificate::NOTE.into(),
            panel: l.panel.clone(),
            thresholds: l.thresholds.clone(),
            adversaries: l.adversaries.clone(),
        }),
    }
}

/// A file of the release as it stands there, with everything that it says.
fn document(folder: &Path, name: &str) -> Result<Value, Failures> {
    let path = folder::file(folder, name)?;
    let text = std::fs::read_to_string(&path).map_err(|e| {
        let message = format!("`{}` cannot be read: {}", path.display(), crate::describe(&e));
        Failures::from(Failure::io("cannot-read", message))
    })?;
    serde_json::from_str(&text).map_err(|e| {
        let message = format!("`{}`, line {}: not JSON: {e}", path.display(), e.line());
        Failure::data("broken-release", message).into()
    })
}

fn value(document: &impl Serialize) -> Result<Value, Failures> {
    serde_json::to_value(document)
        .map_err(|e| Failure::bug("not-json", format!("it cannot be written: {e}")).into())
}

/// Compares a document with what it should say: a claim for every field that is right, and for
/// every leaf that is not. A field that this build does not write is not right.
fn compare(file: &str, said: &Value, computed: &Value, checked: &mut Vec<CheckedClaim>) {
    let (Value::Object(fields), Value::Object(others)) = (said, computed) else { return };
    let more = others.keys().filter(|name| !fields.contains_key(*name));
    for name in fields.keys().chain(more) {
        let mut wrong = Vec::new();
        let path = format!("{file}/{name}");
        differences(&path, fields.get(name), others.get(name), &mut wrong);
        if wrong.is_empty() {
            let text = shown(fields.get(name));
            wrong.push(CheckedClaim { claim: path, said: text.clone(), found: text, holds: true });
        }
        checked.append(&mut wrong);
    }
}

/// The leaves in which two values differ.
fn differences(
    path: &str,
    said: Option<&Value>,
    computed: Option<&Value>,
    wrong: &mut Vec<CheckedClaim>,
) {
    match (said, computed) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            if same_figure(a, b) {
                return;
            }
            let more = b.keys().filter(|name| !a.contains_key(*name));
            for name in a.keys().chain(more) {
                differences(&format!("{path}/{name}"), a.get(name), b.get(name), wrong);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for i in 0..a.len().max(b.len()) {
                differences(&format!("{path}/{i}"), a.get(i), b.get(i), wrong);
            }
        }
        _ if said == computed => (),
        _ => wrong.push(CheckedClaim {
            claim: path.to_owned(),
            said: shown(said),
            found: shown(computed),
            holds: false,
        }),
    }
}

/// Whether both are the same figure that is not rational: the last digits depend on how logarithms
/// are computed. What holds is judged exactly.
fn same_figure(a: &serde_json::Map<String, Value>, b: &serde_json::Map<String, Value>) -> bool {
    let figure = |fields: &serde_json::Map<String, Value>| match fields.get("value") {
        Some(value) if fields.len() == 1 => value.as_f64(),
        _ => None,
    };
    let near = |(x, y): (f64, f64)| (x - y).abs() <= 1e-12 * x.abs().max(y.abs());
    figure(a).zip(figure(b)).is_some_and(near)
}

/// A value as claims write it.
fn shown(value: Option<&Value>) -> String {
    match value {
        None => "nothing".into(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// What of these documents is the publisher's word.
fn words(documents: &Value, manifest: &Manifest, release: &Release) -> Vec<PublishersWord> {
    let required = writer::required_notes(manifest.anatomized.as_ref());
    let is_word = |path: &str| match path {
        // The tables show it.
        "manifest.json/shape" => release.shape != Shape::Groups,
        "manifest.json/utility/gcp" => has_untold_values(&manifest.columns),
        "manifest.json/notes/*" => manifest.notes.iter().any(|note| !required.contains(note)),
        _ => true,
    };
    let mut words = Vec::new();
    for (path, about) in WORD.iter().filter(|(path, _)| is_word(path)) {
        let parts: Vec<&str> = path.split('/').collect();
        if says(documents, &parts) {
            words.push(PublishersWord { path: (*path).into(), about: (*about).into() });
        }
    }
    words
}

/// Whether something stands at a place: see [`PublishersWord::path`].
fn says(value: &Value, path: &[&str]) -> bool {
    let Some((name, rest)) = path.split_first() else { return true };
    match (*name, value) {
        ("**", _) => true,
        ("*", Value::Array(list)) => list.iter().any(|v| says(v, rest)),
        ("*", Value::Object(fields)) => fields.values().any(|v| says(v, rest)),
        (name, Value::Object(fields)) => fields.get(name).is_some_and(|v| says(v, rest)),
        _ => false,
    }
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
