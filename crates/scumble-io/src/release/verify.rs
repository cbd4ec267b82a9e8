//! Checks the certificate of a release from its folder alone: `scumble verify`.

use super::certificate::{Certificate, Measured};
use super::{manifest, reader};
use crate::answer::{Model, Number, VERSION};
use crate::check;
use crate::columns::ReadOptions;
use crate::ledger::hex;
use crate::publisher::Watcher;
use scumble::problem::Problems;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::path::Path;

/// Answer of `verify`.
#[derive(Clone, Debug, Serialize)]
pub struct Verified {
    /// [`VERSION`].
    pub version: u32,
    /// The release's folder.
    pub release: String,
    /// Whether every claim that can be checked is true.
    pub holds: bool,
    /// Claims that were checked.
    pub checked: Vec<Checked>,
    /// Claims that cannot be checked from the release: the publisher's word.
    pub unchecked: Vec<String>,
    /// The certificate.
    pub certificate: Certificate,
}

/// A claim that was checked.
#[derive(Clone, Debug, Serialize)]
pub struct Checked {
    /// What is claimed.
    pub claim: String,
    /// What the certificate says.
    pub said: String,
    /// What was found.
    pub found: String,
    /// Whether it is true.
    pub holds: bool,
}

/// Checks the certificate of a release from its folder alone.
pub fn verify(folder: &Path, watcher: &dyn Watcher) -> Result<Verified, Problems> {
    reader::must_be_release(folder)?;
    let certificate = Certificate::read(folder)?;
    let mut checked = Vec::new();
    for (name, said) in &certificate.files {
        let found = std::fs::read(folder.join(name)).map(|bytes| hex(&Sha256::digest(bytes)));
        let found = found.unwrap_or_else(|e| crate::describe(&e));
        checked.push(claim(format!("file {name}"), said, &found));
    }
    let mut unchecked = Vec::new();
    let options = check::Options {
        quasi: Vec::new(),
        sensitive: Vec::new(),
        policy: None,
        register: None,
        population: None,
        picture: None,
        read: ReadOptions::default(),
        show_values: false,
        engine: None,
        watcher,
    };
    let found = check::check(&folder.into(), &options)?;
    for said in &certificate.models {
        let same = |m: &&Model| (&m.name, &m.attribute, &m.on) == (&said.name, &said.attribute, &said.on);
        let same = |m: &&Model| same(m) && m.parameters == said.parameters;
        match found.promises.iter().find(same) {
            Some(m) => checked.push(claim(model_name(said), &told(said), &told(m))),
            None => unchecked.push(format!("{}: it takes something that is not published", model_name(said))),
        }
    }
    let (release, _) = reader::open(folder, &|_, _, _| Vec::new(), watcher)?;
    compare(&certificate.measured, &Measured::of(&release), &mut checked);
    if certificate.linkability.is_some() {
        unchecked.push("what it tells together with earlier releases".into());
    }
    let id = manifest::read(folder)?.id;
    checked.push(claim("release".into(), &format!("{:?}", certificate.release), &format!("{id:?}")));
    let holds = checked.iter().all(|c| c.holds);
    Ok(Verified { version: VERSION, release: folder.display().to_string(), holds, checked, unchecked, certificate })
}

fn claim(claim: String, said: &str, found: &str) -> Checked {
    Checked { claim, said: said.to_owned(), found: found.to_owned(), holds: said == found }
}

fn model_name(m: &Model) -> String {
    let about = m.attribute.as_ref().map_or(String::new(), |a| format!(" of {a}"));
    let on = m.on.as_ref().map_or(String::new(), |on| format!(" on {}", on.join(", ")));
    format!("{}{about}{on}", m.name)
}

fn told(m: &Model) -> String {
    let measured = m.measured.exact.clone().or_else(|| m.measured.value.map(|v| v.to_string())).unwrap_or_default();
    format!("{measured}, {}", if m.holds == Some(true) { "kept" } else { "broken" })
}

fn number(n: &Number) -> String {
    n.exact.clone().or_else(|| n.value.map(|v| v.to_string())).unwrap_or_default()
}

fn compare(said: &Measured, found: &Measured, checked: &mut Vec<Checked>) {
    let (a, b) = (&said.singling_out, &found.singling_out);
    let mut each = |what: &str, a: String, b: String| checked.push(claim(what.to_owned(), &a, &b));
    each("records", a.records.to_string(), b.records.to_string());
    each("singling out: classes", a.classes.to_string(), b.classes.to_string());
    each("singling out: smallest class", a.smallest.to_string(), b.smallest.to_string());
    each("singling out: records alone", a.alone.to_string(), b.alone.to_string());
    each("singling out: highest risk", number(&a.highest), number(&b.highest));
    each("singling out: average risk", number(&a.average), number(&b.average));
    each("inference: attributes", said.inference.len().to_string(), found.inference.len().to_string());
    for (a, b) in said.inference.iter().zip(&found.inference) {
        let mut each =
            |what: &str, x: String, y: String| each(&format!("inference about {}: {what}", a.attribute), x, y);
        each("attribute", a.attribute.clone(), b.attribute.clone());
        each("records by possible values", format!("{:?}", a.possible), format!("{:?}", b.possible));
        each("excluded", a.excluded.to_string(), b.excluded.to_string());
        each("highest belief", number(&a.highest), number(&b.highest));
        each("average belief", number(&a.average), number(&b.average));
        each("class with the fewest values", format!("{:?}", a.fewest), format!("{:?}", b.fewest));
    }
}
