//! Columns that a release shows and nothing protected when it was published. The ledger keeps what
//! was shown of them, for the case that a later release protects one: then the gate puts it together
//! with what was given away before.
//!
//! Kept are the rows of all columns together, by group and without people, which are no more than
//! what is published; and for everybody a keyed tag of each value, which tells whether it is still
//! the same. Nothing of it is read before a column is protected that an earlier release shows.

use super::entry::{OpenColumn, Shown};
use super::files::{Counts, Groups, Members};
use super::shows::{Label, Shows};
use super::{Ledger, Recorded};
use hashbrown::HashMap;
use scumble::failure::Failures;
use scumble::policy::HistoryPolicy;

/// What a release shows of all its columns.
pub(crate) struct Open {
    /// The columns that it does not protect.
    pub columns: Vec<OpenColumn>,
    /// Rows of the columns that can be judged: of protected ones, which come first, and of these.
    pub table: Counts,
    /// Who is in which of its groups, with the tags of open columns.
    pub members: Members,
}

impl Open {
    /// Its rows as a file, of a release that shows these protected columns.
    pub fn write(&self, protected: &Shows) -> Result<Vec<u8>, Failures> {
        let columns = protected.attributes.len() + self.columns.len();
        Counts::write(std::slice::from_ref(&self.table), columns)
    }
}

/// A column that is protected, and that an earlier release showed without protecting it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Openly {
    /// What the column is called now.
    pub column: String,
    /// What the release is called, and the number of its entry.
    pub release: (String, u64),
    /// Who was given it; everybody, if empty.
    pub recipients: Vec<String>,
    /// The role that the column had; nothing if it is not known whether it was shown.
    pub role: Option<String>,
    /// Whether what it showed can be judged.
    pub judged: bool,
}

impl Openly {
    /// What the steward should know.
    pub fn warning(&self) -> String {
        let (name, number) = &self.release;
        let column = &self.column;
        let Some(role) = &self.role else {
            return format!(
                "`{column}` is protected now, and the ledger does not know whether `{name}` (entry {number}) showed it: \
                 if it did, that is not judged together with this release"
            );
        };
        let to = match &self.recipients[..] {
            [] => "everybody".to_owned(),
            names => format!("`{}`", names.join("`, `")),
        };
        let judged = match self.judged {
            true => "",
            false => {
                "; the ledger does not know what it showed, so that is not judged together with this release"
            }
        };
        format!(
            "`{column}` is protected now and was published openly, as {role}, in `{name}` (entry {number}) to {to}: what \
             that release already gave away cannot be taken back{judged}"
        )
    }
}

/// The open columns of a release that are to be judged.
pub(super) struct Taken {
    shown: Vec<(String, Shown)>,
    /// Their indices among the open columns.
    at: Vec<usize>,
    /// Names of all open columns that make groups, with their indices.
    labels: Vec<usize>,
    protected: usize,
    table: Counts,
    members: Members,
}

/// Names of the columns that a release shows openly, as they are called now; `None` if it is not
/// known which these are.
pub(super) fn names(recorded: &Recorded, history: &HistoryPolicy) -> Option<Vec<String>> {
    let open = recorded.described.open.as_ref()?;
    Some(open.iter().map(|c| history.column_now(&c.name).to_owned()).collect())
}

/// Which of these columns a release showed openly, or may have shown.
pub(super) fn shown_openly(
    recorded: &Recorded,
    protected: &[String],
    columns: &[String],
    history: &HistoryPolicy,
    taken: Option<&Taken>,
) -> Vec<Openly> {
    let described = &recorded.described;
    let open = names(recorded, history);
    let role = |column: &str| {
        let at = open.as_ref()?.iter().position(|name| name == column)?;
        Some(described.open.as_ref()?[at].shown.role.clone())
    };
    let about = |column: &&String| {
        !protected.contains(column) && open.as_ref().is_none_or(|open| open.contains(column))
    };
    let judged =
        |column: &str| taken.is_some_and(|t| t.shown.iter().any(|(name, _)| name == column));
    let openly = |column: &String| Openly {
        column: column.clone(),
        release: (described.name.clone(), recorded.number),
        recipients: described.recipients.clone(),
        role: role(column),
        judged: judged(column),
    };
    columns.iter().filter(about).map(openly).collect()
}

/// Reads what a release shows of its open columns that are among these; `None` if there is nothing
/// that could be judged.
pub(super) fn take(
    ledger: &mut Ledger,
    recorded: &Recorded,
    columns: &[String],
    history: &HistoryPolicy,
    (members, groups): (&Members, usize),
) -> Result<Option<Taken>, Failures> {
    let described = &recorded.described;
    let (Some(open), Some(names), Some(rows), Some(tags)) = (
        &described.open,
        names(recorded, history),
        &described.kept.open,
        &described.kept.open_members,
    ) else {
        return Ok(None);
    };
    let wanted = |name: &String| columns.contains(name);
    if !names.iter().any(wanted) {
        return Ok(None);
    }
    let members = Members::read_open(ledger.kept(tags)?, open.len(), members.people.clone())?;
    let protected = described.attributes.len();
    let last = members.places.iter().max().map_or(0, |&place| place as usize + 1);
    let groups = groups.max(last);
    let tables = Counts::read(ledger.kept(rows)?, protected + open.len(), groups)?;
    let Some(table) = tables.into_iter().next() else { return Ok(None) };
    let tabled = |at: &usize| table.columns.contains(&(protected + at));
    let at: Vec<usize> =
        (0..open.len()).filter(|&at| wanted(&names[at])).filter(|at| tabled(at)).collect();
    let shown = |&at: &usize| (names[at].clone(), Shown { open: true, ..open[at].shown.clone() });
    let shown: Vec<(String, Shown)> = at.iter().map(shown).collect();
    let labels =
        (0..open.len()).filter(|&at| open[at].shown.makes_groups()).filter(tabled).collect();
    Ok((!at.is_empty()).then_some(Taken { shown, labels, at, protected, table, members }))
}

impl Taken {
    /// Adds the columns to what a release shows of protected ones. Where these are shown apart, as
    /// in an anatomized release, gives back what it shows besides, with who is where.
    pub fn join(self, shows: &mut Shows, members: &mut Members) -> Option<(Shows, Members)> {
        let tags = self.at.iter().map(|&at| self.members.tags[at].clone());
        if self.together() {
            let old = (0..shows.attributes.len()).map(|at| (at, at));
            let first = shows.attributes.len();
            let new = self.at.iter().zip(first..).map(|(at, number)| (self.protected + at, number));
            let columns: Vec<(usize, usize)> = old.chain(new).collect();
            let labels = shows.shown.iter().chain(self.shown.iter().map(|(_, shown)| shown));
            if labels.into_iter().any(Shown::makes_groups) {
                shows.groups.rest = self.rest();
            }
            shows.tables = vec![self.table.project(&columns)];
            members.tags.extend(tags);
            for (name, shown) in self.shown {
                shows.attributes.push(name);
                shows.shown.push(shown);
            }
            return None;
        }
        let columns: Vec<(usize, usize)> =
            self.at.iter().enumerate().map(|(number, at)| (self.protected + at, number)).collect();
        let sizes: Vec<u64> =
            self.table.groups.iter().map(|rows| rows.iter().map(|(_, n)| n).sum()).collect();
        let groups = Groups {
            labels: self.rest().into_iter().map(|rest| format!("records {rest}")).collect(),
            counterfeits: vec![0; sizes.len()],
            rest: self.rest(),
            sizes,
        };
        let (attributes, shown) = self.shown.iter().cloned().unzip();
        let tables = vec![self.table.project(&columns)];
        let apart = Shows { attributes, shown, groups, tables, leaves: HashMap::new() };
        Some((apart, Members { tags: tags.collect(), ..self.members.clone() }))
    }

    /// Whether rows show open columns beside the protected ones. An anatomized release shows the
    /// latter by group, in a table of their own, so its rows have none of them.
    fn together(&self) -> bool {
        self.protected == 0 || (0..self.protected).any(|at| self.table.columns.contains(&at))
    }

    /// What each group shows in the columns that are not taken.
    fn rest(&self) -> Vec<String> {
        let others: Vec<usize> =
            self.labels.iter().copied().filter(|at| !self.at.contains(at)).collect();
        let rest = |group: usize| {
            let label = |at: &usize| self.table.label(self.protected + at, group);
            let texts = others.iter().filter_map(label).map(|text| Label::read(text).observed());
            texts.collect::<Vec<String>>().join(" · ")
        };
        (0..self.table.groups.len()).map(rest).collect()
    }
}
