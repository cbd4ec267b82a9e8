//! What earlier releases said about the people of a table: all that an algorithm of re-publication
//! needs.
//!
//! Who was where is the publisher's memory, kept elsewhere; it comes in with the table as one more
//! column ([`crate::table::Table::collapse_with_past`]). A person whose sensitive value has changed
//! since is a newcomer, and so is whoever was never published: that is decided by whoever makes the
//! column.

/// Where the people of a table were last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The groups of earlier releases that somebody of the table was last seen in; others may be
    /// here as well.
    pub groups: Vec<PastGroup>,
    /// For each distinct row of the table 0 for newcomers, otherwise 1 + the index of the group.
    pub of_row: Vec<u32>,
}

/// A group of the release in which somebody was last seen with the value that she has now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastGroup {
    /// The published values with their counts, counterfeits included: rising leaf codes of the
    /// table's sensitive attribute.
    pub values: Vec<(u32, u64)>,
    /// How many of them stood for nobody.
    pub counterfeits: u64,
    /// Whether it is a group of the newest release; the others are those of people who return.
    pub newest: bool,
}

impl History {
    /// The group in which the people of a row were last seen; none if they are newcomers.
    pub fn group_of(&self, row: usize) -> Option<usize> {
        (self.of_row[row] as usize).checked_sub(1)
    }
}

impl PastGroup {
    /// How many values it showed.
    pub fn size(&self) -> u64 {
        self.values.iter().map(|&(_, n)| n).sum()
    }

    /// How often the commonest of them occurred.
    pub fn most(&self) -> u64 {
        self.values.iter().map(|&(_, n)| n).max().unwrap_or(0)
    }

    /// How often a value occurred.
    pub fn count(&self, value: u32) -> u64 {
        self.values.binary_search_by_key(&value, |&(v, _)| v).map_or(0, |at| self.values[at].1)
    }
}
