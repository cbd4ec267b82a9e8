//! A policy text that can be changed and keeps what its steward wrote around the values.
//!
//! A [`PolicyDocument`] is a text and the [`PolicySpec`] that it says. [`PolicyDocument::apply`]
//! writes the difference between that spec and another into the text: values that stay the same
//! keep their spelling, and comments, blank lines, order and the form of tables stay where they
//! are. Only what is removed goes, with the comment right above it.
//!
//! The edited text is read again and compared with the wanted spec. A section that cannot be
//! edited in place, such as one whose columns stand partly on lines and partly under headings of
//! their own and should change their order, is written anew; all others stay as they are.

use super::spec::{PolicySpec, Setting};
use super::{PolicyKey, tree};
use crate::failure::{Failure, Failures};
use std::fmt;
use toml::value::{Table as Tree, Value};
use toml_edit::{Array, ArrayOfTables, Decor, DocumentMut, Item, Table, TableLike};

/// A policy as text, with comments, and as data.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyDocument {
    name: String,
    text: String,
    spec: PolicySpec,
}

impl PolicyDocument {
    /// Reads the text of a policy. `name` is the file's name, for messages.
    pub fn parse(name: &str, text: impl Into<String>) -> Result<PolicyDocument, Failures> {
        let text = text.into();
        let spec = PolicySpec::parse(name, &text)?;
        Ok(PolicyDocument { name: name.into(), text, spec })
    }

    /// A policy that is in no file.
    pub fn of_spec(spec: &PolicySpec) -> PolicyDocument {
        PolicyDocument { name: "policy".into(), text: spec.to_string(), spec: spec.clone() }
    }

    /// What the text says, as data.
    pub fn spec(&self) -> &PolicySpec {
        &self.spec
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Changes one value.
    pub fn set(&mut self, key: &PolicyKey, value: Setting) -> Result<(), Failures> {
        let mut spec = self.spec.clone();
        spec.set(key, value)?;
        self.apply(&spec)
    }

    /// Removes one value, or a whole table.
    pub fn remove(&mut self, key: &PolicyKey) -> Result<(), Failures> {
        let mut spec = self.spec.clone();
        spec.remove(key)?;
        self.apply(&spec)
    }

    /// Makes the text say `wanted`, and changes nothing else in it.
    pub fn apply(&mut self, wanted: &PolicySpec) -> Result<(), Failures> {
        let (old, new) = (tree::full(&self.spec), tree::full(wanted));
        if same(&old, &new) {
            return Ok(());
        }
        let lines = LineEnds::of(&self.text);
        let mut document: DocumentMut = lines
            .plain(&self.text)
            .parse()
            .map_err(|e| internal(&format!("the policy cannot be edited: {e}")))?;
        let written = tree::written(wanted);
        let change = Change { old: &old, new: &new, written: &written };
        let changed = change.keys().into_iter().filter(|key| !change.is_same(key));
        for key in changed {
            let mut editor = Editor::default();
            let is_first = document.iter().next().is_some_and(|(first, _)| first == key);
            let next = next_key(&document, &key);
            let root = Place { path: &[], form: Form::Headed };
            editor.key(document.as_table_mut(), root, &key, change.of(&key));
            editor.give_back(&mut document, next.as_deref(), is_first);
        }
        // What could not be edited in place is written anew.
        let read = self.read(&lines, &document);
        let read = read.map_or_else(|_| Value::Table(Tree::new()), |(_, spec)| tree::full(&spec));
        let wrong = Change { old: &read, new: &new, written: &written };
        for key in wrong.keys().into_iter().filter(|key| !wrong.is_same(key)) {
            rewrite(&mut document, &key, written.get(&key));
        }
        let (text, spec) = self.read(&lines, &document)?;
        if !same(&tree::full(&spec), &new) {
            return Err(internal("the changed policy does not say what it should").into());
        }
        (self.text, self.spec) = (text, spec);
        Ok(())
    }

    fn read(
        &self,
        lines: &LineEnds,
        document: &DocumentMut,
    ) -> Result<(String, PolicySpec), Failures> {
        let text = lines.restore(document.to_string());
        let spec = PolicySpec::parse(&self.name, &text)?;
        Ok((text, spec))
    }
}

impl fmt::Display for PolicyDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn internal(what: &str) -> Failure {
    Failure::bug("internal", what)
}

/// Whether two trees say the same, in the same order. Tables are equal in any order, but the order
/// of columns and of steps means something.
fn same(a: &Value, b: &Value) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

/// How the lines of a text end, which the editor does not keep.
struct LineEnds {
    mark: bool,
    carriage_returns: bool,
    last_is_open: bool,
}

impl LineEnds {
    fn of(text: &str) -> LineEnds {
        let lines = text.matches('\n').count();
        LineEnds {
            mark: text.starts_with('\u{feff}'),
            carriage_returns: lines > 0 && text.matches("\r\n").count() == lines,
            last_is_open: !text.is_empty() && !text.ends_with('\n'),
        }
    }

    fn plain(&self, text: &str) -> String {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if self.carriage_returns { text.replace("\r\n", "\n") } else { text.into() }
    }

    fn restore(&self, mut text: String) -> String {
        if self.last_is_open && text.ends_with('\n') {
            text.pop();
        }
        if self.carriage_returns {
            text = text.replace('\n', "\r\n");
        }
        if self.mark {
            text.insert(0, '\u{feff}');
        }
        text
    }
}

/// A value before and after, and as it is written anew: with short forms.
#[derive(Clone, Copy)]
struct Change<'a> {
    old: &'a Value,
    new: &'a Value,
    written: &'a Value,
}

/// What became of the value of a key: absent before, absent after, or changed.
#[derive(Clone, Copy)]
struct Entry<'a> {
    old: Option<&'a Value>,
    new: Option<(&'a Value, &'a Value)>,
}

impl<'a> Change<'a> {
    /// The keys of both, the old ones first.
    fn keys(&self) -> Vec<String> {
        let all = [self.old, self.new].into_iter().filter_map(Value::as_table);
        let mut keys: Vec<String> = Vec::new();
        for key in all.flat_map(Tree::keys) {
            if !keys.contains(key) {
                keys.push(key.clone());
            }
        }
        keys
    }

    fn is_same(&self, key: &str) -> bool {
        match (self.old.get(key), self.new.get(key)) {
            (Some(old), Some(new)) => same(old, new),
            (old, new) => old.is_none() && new.is_none(),
        }
    }

    fn of(&self, key: &str) -> Entry<'a> {
        let new = self.new.get(key).map(|new| (new, self.written.get(key).unwrap_or(new)));
        Entry { old: self.old.get(key), new }
    }
}

/// How a table is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Under a heading.
    Headed,
    /// As dotted keys of another.
    Dotted,
    /// In braces.
    Inline,
}

impl Form {
    fn of(item: &Item) -> Form {
        match item {
            Item::Table(table) if table.is_dotted() => Form::Dotted,
            Item::Table(_) => Form::Headed,
            _ => Form::Inline,
        }
    }
}

/// The way to a table, and how it is written.
#[derive(Clone, Copy)]
struct Place<'a> {
    path: &'a [&'a str],
    form: Form,
}

/// Edits a document, and collects comments that stood above what was removed but not right above
/// it.
#[derive(Default)]
struct Editor {
    homeless: String,
}

impl Editor {
    /// Changes what stands under a key of a table.
    fn key(&mut self, table: &mut dyn TableLike, at: Place<'_>, key: &str, entry: Entry<'_>) {
        let Some((new, written)) = entry.new else {
            if entry.old.is_some() {
                self.remove(table, at.form, key);
            }
            return;
        };
        let inner: Vec<&str> = at.path.iter().copied().chain([key]).collect();
        if let Some(item) = table.get_mut(key) {
            // An empty table or list may be written where the spec has none.
            let empty = match new {
                Value::Table(_) => Value::Table(Tree::new()),
                _ => Value::Array(Vec::new()),
            };
            let change = Change { old: entry.old.unwrap_or(&empty), new, written };
            if self.item(item, &inner, change) {
                return;
            }
        }
        let item = match (at.path, at.form) {
            ([], _) => tree::item("", key, written),
            ([section], Form::Headed) => tree::item(section, key, written),
            _ => Item::Value(tree::value(written)),
        };
        let end = last_suffix(table, at.form);
        table.remove(key);
        table.insert(key, item);
        set_last_suffix(table, end);
    }

    /// Changes an item in place, if that is possible.
    fn item(&mut self, item: &mut Item, path: &[&str], change: Change<'_>) -> bool {
        match (change.old, change.new) {
            (Value::Table(_), Value::Table(_)) => {
                let form = Form::of(item);
                match item.as_table_like_mut() {
                    Some(table) => self.table(table, Place { path, form }, change),
                    None => return replace(item, change.written),
                }
                true
            }
            (Value::Array(old), Value::Array(new)) => {
                let written = change.written.as_array().map_or(&new[..], |w| &w[..]);
                match item {
                    Item::ArrayOfTables(tables) => self.tables(tables, path, (old, new)),
                    Item::Value(toml_edit::Value::Array(array)) => {
                        self.array(array, path, (old, new, written));
                        true
                    }
                    _ => false,
                }
            }
            _ => replace(item, change.written),
        }
    }

    fn table(&mut self, table: &mut dyn TableLike, at: Place<'_>, change: Change<'_>) {
        let path = at.path;
        for key in change.keys().into_iter().filter(|key| !change.is_same(key)) {
            self.key(table, at, &key, change.of(&key));
        }
        let Some(wanted) = change.new.as_table().filter(|_| order_matters(path)) else { return };
        let wanted: Vec<&str> =
            wanted.keys().map(String::as_str).filter(|key| !is_field(path, key)).collect();
        let present: Vec<String> = table
            .iter()
            .map(|(key, _)| key.to_owned())
            .filter(|key| wanted.contains(&key.as_str()))
            .collect();
        if present != wanted {
            sort(table, at.form, &wanted);
        }
    }

    fn tables(
        &mut self,
        tables: &mut ArrayOfTables,
        path: &[&str],
        (old, new): (&[Value], &[Value]),
    ) -> bool {
        if tables.len() != old.len() {
            return false;
        }
        let mut present: Vec<Option<Table>> = tables.iter().cloned().map(Some).collect();
        let mut made: Vec<Table> = Vec::new();
        for (from, wanted) in align(old, new).into_iter().zip(new) {
            let kept = from.and_then(|i| Some((i, present.get_mut(i)?.take()?)));
            let Some(values) = wanted.as_table() else { return false };
            made.push(match kept {
                Some((i, mut table)) => {
                    let change = Change { old: &old[i], new: wanted, written: wanted };
                    let inner: Vec<&str> = path.iter().copied().chain(["*"]).collect();
                    let at = Place { path: &inner, form: Form::Headed };
                    self.table(&mut table, at, change);
                    table
                }
                None => tree::table(path.last().copied().unwrap_or_default(), values),
            });
        }
        for gone in present.iter().flatten() {
            self.keep_detached(gone.decor());
        }
        let mut places: Vec<isize> = made.iter().filter_map(Table::position).collect();
        places.sort_unstable();
        let with_place = made.iter_mut().filter(|table| table.position().is_some());
        with_place.zip(places).for_each(|(table, place)| table.set_position(Some(place)));
        *tables = made.into_iter().collect();
        true
    }

    fn array(
        &mut self,
        array: &mut Array,
        path: &[&str],
        (old, new, written): (&[Value], &[Value], &[Value]),
    ) {
        let mut present: Vec<Option<toml_edit::Value>> = array.iter().cloned().map(Some).collect();
        let steps =
            if present.len() == old.len() { align(old, new) } else { vec![None; new.len()] };
        let inner: Vec<&str> = path.iter().copied().chain(["*"]).collect();
        let line = new_line(array);
        let end = array.iter().last().map(|last| suffix(last.decor())).filter(|s| is_blank(s));
        let mut made = Array::new();
        for ((from, wanted), written) in steps.into_iter().zip(new).zip(written) {
            let kept = from.and_then(|i| Some((i, present.get_mut(i)?.take()?)));
            let value = match kept {
                Some((i, value)) => {
                    let mut item = Item::Value(value);
                    self.item(&mut item, &inner, Change { old: &old[i], new: wanted, written });
                    item.into_value().unwrap_or_else(|_| tree::value(written))
                }
                None => {
                    let mut value = tree::value(written);
                    let first = if made.is_empty() { "" } else { " " };
                    value.decor_mut().set_prefix(line.as_deref().unwrap_or(first));
                    value
                }
            };
            made.push_formatted(value);
        }
        // The space before the closing bracket belongs to the last value, whichever that is.
        if let Some(end) = end {
            let last = made.len().saturating_sub(1);
            for (i, value) in made.iter_mut().enumerate() {
                if i == last {
                    value.decor_mut().set_suffix(&end);
                } else if is_blank(&suffix(value.decor())) {
                    value.decor_mut().set_suffix("");
                }
            }
        }
        *made.decor_mut() = array.decor().clone();
        made.set_trailing_comma(array.trailing_comma());
        made.set_trailing(array.trailing().clone());
        *array = made;
    }

    fn remove(&mut self, table: &mut dyn TableLike, form: Form, key: &str) {
        let decor = match table.get(key) {
            Some(Item::Table(table)) if !table.is_dotted() => Some(table.decor().clone()),
            Some(Item::ArrayOfTables(all)) => all.iter().next().map(|t| t.decor().clone()),
            Some(Item::Value(_)) if form == Form::Headed => {
                table.key(key).map(|key| key.leaf_decor().clone())
            }
            _ => None,
        };
        if let Some(decor) = decor {
            self.keep_detached(&decor);
        }
        let end = last_suffix(table, form);
        table.remove(key);
        set_last_suffix(table, end);
    }

    /// Keeps comments that a blank line separates from what is removed.
    fn keep_detached(&mut self, decor: &Decor) {
        let prefix = prefix(decor);
        if let Some(at) = prefix.rfind("\n\n")
            && prefix[..at].contains('#')
        {
            self.homeless.push_str(&prefix[..at + 2]);
        }
    }

    /// Puts kept comments above what stood next in the document, or at its end.
    fn give_back(self, document: &mut DocumentMut, next: Option<&str>, was_first: bool) {
        if self.homeless.is_empty() {
            return;
        }
        let comments = if was_first {
            self.homeless.trim_start_matches('\n').to_owned()
        } else {
            self.homeless
        };
        let Some(next) = next else {
            let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
            document.set_trailing(comments + &trailing);
            return;
        };
        let decor = match document.get_mut(next) {
            Some(Item::Table(table)) if !table.is_dotted() => Some(table.decor_mut()),
            Some(Item::ArrayOfTables(all)) => all.iter_mut().next().map(Table::decor_mut),
            _ => None,
        };
        match decor {
            Some(decor) => put_above(decor, &comments),
            None => {
                if let Some(mut key) = document.as_table_mut().key_mut(next) {
                    put_above(key.leaf_decor_mut(), &comments);
                }
            }
        }
    }
}

fn put_above(decor: &mut Decor, comments: &str) {
    let below = prefix(decor);
    decor.set_prefix(format!("{comments}{}", below.trim_start_matches('\n')));
}

/// The key that stands after another in a document.
fn next_key(document: &DocumentMut, key: &str) -> Option<String> {
    let mut keys = document.iter().map(|(key, _)| key);
    keys.find(|k| *k == key)?;
    keys.next().map(str::to_owned)
}

/// Writes what stands under a key of a document anew.
fn rewrite(document: &mut DocumentMut, key: &str, written: Option<&Value>) {
    document.remove(key);
    if let Some(written) = written {
        document.insert(key, tree::item("", key, written));
    }
}

/// Puts a value in the place of another, with the space and the comment beside it. Whether there
/// was one.
fn replace(item: &mut Item, written: &Value) -> bool {
    let Item::Value(value) = item else { return false };
    let mut new = tree::value(written);
    *new.decor_mut() = value.decor().clone();
    *value = new;
    true
}

/// The space before the closing bracket of a table on one line, which belongs to its last value.
fn last_suffix(table: &mut dyn TableLike, form: Form) -> Option<String> {
    if form != Form::Inline {
        return None;
    }
    let (_, last) = table.iter_mut().last()?;
    let decor = last.as_value_mut()?.decor_mut();
    let end = suffix(decor);
    if !is_blank(&end) {
        return None;
    }
    decor.set_suffix("");
    Some(end)
}

fn set_last_suffix(table: &mut dyn TableLike, end: Option<String>) {
    let Some(end) = end else { return };
    if let Some((_, last)) = table.iter_mut().last()
        && let Some(value) = last.as_value_mut()
    {
        value.decor_mut().set_suffix(end);
    }
}

/// Where another value of a list begins, if its values stand on lines of their own.
fn new_line(array: &Array) -> Option<String> {
    let before = prefix(array.iter().last()?.decor());
    let at = before.rfind('\n')?;
    Some(before[at..].to_owned())
}

fn prefix(decor: &Decor) -> String {
    decor.prefix().and_then(|raw| raw.as_str()).unwrap_or_default().to_owned()
}

fn suffix(decor: &Decor) -> String {
    decor.suffix().and_then(|raw| raw.as_str()).unwrap_or_default().to_owned()
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Whether the order of the keys of a table means something, or is at least kept.
fn order_matters(path: &[&str]) -> bool {
    matches!(
        path,
        ["attributes"]
            | ["attributes", _, "perturb" | "sensitivity"]
            | ["attributes", _, "observability", "beliefs"]
            | ["attributes", _, "taxonomy", "nested", ..]
            | ["models", _]
            | ["algorithm"]
            | ["gate", "pvp"]
            | ["history", "columns" | "values"]
            | ["history", "values", _]
            | ["queries", "columns"]
            | ["queries", "synthetic", "widths"]
    )
}

/// Whether a key of a method is not one of its parameters.
fn is_field(path: &[&str], key: &str) -> bool {
    match path {
        ["models", _] => matches!(key, "name" | "attribute" | "on"),
        ["algorithm"] => matches!(key, "name" | "seconds"),
        _ => false,
    }
}

/// Sorts the keys of a table; those that are not named stand first.
fn sort(table: &mut dyn TableLike, form: Form, wanted: &[&str]) {
    let place = |key: &str| wanted.iter().position(|w| *w == key).map_or(0, |i| i + 1);
    let mut entries: Vec<(toml_edit::Key, Item)> = Vec::new();
    let keys: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
    let end = last_suffix(table, form);
    for key in keys {
        let formatted = table.key(&key).cloned();
        if let (Some(formatted), Some(item)) = (formatted, table.remove(&key)) {
            entries.push((formatted, item));
        }
    }
    let mut places: Vec<isize> = Vec::new();
    entries.iter().for_each(|(_, item)| positions(item, &mut places));
    entries.sort_by_key(|(key, _)| place(key.get()));
    places.sort_unstable();
    let mut places = places.into_iter();
    for (key, mut item) in entries {
        set_positions(&mut item, &mut places);
        table.entry_format(&key).or_insert(item);
    }
    set_last_suffix(table, end);
}

/// The places of the headings of an item in its document.
fn positions(item: &Item, places: &mut Vec<isize>) {
    let Item::Table(table) = item else { return };
    places.extend(table.position());
    table.iter().for_each(|(_, item)| positions(item, places));
}

fn set_positions(item: &mut Item, places: &mut impl Iterator<Item = isize>) {
    let Item::Table(table) = item else { return };
    if table.position().is_some() {
        table.set_position(places.next());
    }
    table.iter_mut().for_each(|(_, item)| set_positions(item, places));
}

/// For each new entry of a list the old one that it is or was made of: equal ones first, as many as
/// possible in order, then equal ones elsewhere, then those with the same name between the same
/// neighbours.
fn align(old: &[Value], new: &[Value]) -> Vec<Option<usize>> {
    let mut lengths = vec![vec![0usize; new.len() + 1]; old.len() + 1];
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            lengths[i][j] = if same(a, b) {
                lengths[i + 1][j + 1] + 1
            } else {
                lengths[i + 1][j].max(lengths[i][j + 1])
            };
        }
    }
    let mut from: Vec<Option<usize>> = vec![None; new.len()];
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        if same(&old[i], &new[j]) {
            from[j] = Some(i);
            (i, j) = (i + 1, j + 1);
        } else if lengths[i + 1][j] >= lengths[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    type Alike = fn(&Value, &Value) -> bool;
    let alike: [Alike; 2] =
        [same, |a, b| a.get("name").is_none() || a.get("name") == b.get("name")];
    for alike in alike {
        for j in 0..new.len() {
            if from[j].is_none() {
                let free = |i: &usize| !from.contains(&Some(*i)) && alike(&old[*i], &new[j]);
                from[j] = (0..old.len()).find(free);
            }
        }
    }
    from
}
