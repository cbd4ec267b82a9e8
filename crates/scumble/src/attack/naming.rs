//! What people, values and groups are called in an explanation.

use super::{Scene, View};
use crate::inference::Located;
use crate::inference::sentences::Names;
use crate::release::Shape;

/// The names of a scene: people by name or row, groups by number or by what they show.
pub struct Naming<'a> {
    scene: &'a Scene,
    /// Rows of the register by kind: where those of each kind begin.
    first: Vec<u32>,
    rows: Vec<u32>,
}

impl<'a> Naming<'a> {
    /// Prepares to name everybody.
    pub fn new(scene: &'a Scene) -> Naming<'a> {
        let kind_of = scene.people.as_ref().map_or(&[][..], |c| &c.kind_of);
        let kinds = scene.people.as_ref().map_or(0, |c| c.kinds.len());
        let mut first = vec![0u32; kinds + 1];
        kind_of.iter().for_each(|&k| first[k as usize + 1] += 1);
        for i in 0..kinds {
            first[i + 1] += first[i];
        }
        let mut next = first.clone();
        let mut rows = vec![0; kind_of.len()];
        for (row, &kind) in (0u32..).zip(kind_of) {
            rows[next[kind as usize] as usize] = row;
            next[kind as usize] += 1;
        }
        Naming { scene, first, rows }
    }
}

impl Naming<'_> {
    /// The rows of the register that are people of a kind; none for kinds that are not the
    /// register's.
    pub fn rows(&self, kind: u32) -> &[u32] {
        let ends = self.first.get(kind as usize).zip(self.first.get(kind as usize + 1));
        ends.map_or(&[][..], |(&from, &to)| &self.rows[from as usize..to as usize])
    }
}

impl Names for Naming<'_> {
    fn person(&self, kind: u32, number: u32) -> String {
        let kind = kind as usize;
        if kind + 1 >= self.first.len() {
            return "somebody else".into();
        }
        let rows = &self.rows[self.first[kind] as usize..self.first[kind + 1] as usize];
        // A row may stand for several people.
        let row = rows[(number as usize).min(rows.len().saturating_sub(1))];
        (self.scene.name)(row as usize)
    }

    fn value(&self, value: u32) -> String {
        match self.scene.values.get(value as usize) {
            Some(text) if text.is_empty() => "a missing value".into(),
            Some(text) => text.clone(),
            None => "an unknown value".into(),
        }
    }

    fn release(&self, release: u32) -> String {
        if self.scene.releases.len() == 1 {
            "the release".into()
        } else {
            format!("release {}", release + 1)
        }
    }

    fn group(&self, release: u32, group: u32) -> String {
        let View { release: published, .. } = &self.scene.releases[release as usize];
        let of = self.release(release);
        if published.shape == Shape::Groups {
            return format!("{of}, group {}", group + 1);
        }
        let labels = published.labels(&published.classes[group as usize]);
        format!("{of}, class {}", labels.join(" · "))
    }

    fn known(&self, statement: u32) -> String {
        self.scene.statements.get(statement as usize).cloned().unwrap_or_default()
    }

    fn located(&self, kind: u32) -> Vec<Located> {
        self.scene.located(kind as usize)
    }

    fn order(&self, kind: u32) -> u32 {
        let kinds = self.scene.people.as_ref().map_or(&[][..], |c| &c.kinds);
        kinds.get(kind as usize).map_or(u32::MAX, |alike| alike.row)
    }
}
