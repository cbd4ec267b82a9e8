//! What of an extract's records is in this process: all of them, or what an engine brought.
//!
//! Everything that differs between the ways in which a table can be here asks this type, so that no
//! function has to know which combinations occur.

use crate::publish::engine::Found;
use crate::publish::levels::Coded;

/// What of an extract's records is in this process.
#[derive(Clone, Debug)]
pub enum Rows {
    /// Every record.
    Here {
        /// The distinct row of each.
        row_of: Vec<u32>,
    },
    /// The distinct rows, which an engine counted. All that is published of a record is in its row.
    Counted,
    /// The distinct rows, which an engine counted. It brings the records, with the columns that pass
    /// through, when they are written.
    Brought(Brought),
    /// The values of each column: how they generalize is known, and the rows of the table mean
    /// nothing. The classes are to be made from counts.
    Values {
        /// The texts of each column.
        texts: Vec<(String, Vec<String>)>,
    },
    /// The classes and their sensitive values, made from counts. The quasi-identifiers of a row stand
    /// for nothing.
    Classes,
}

/// Records that an engine brings when they are written.
#[derive(Clone, Debug)]
pub struct Brought {
    /// The distinct row of every line that was counted: few rows are written in more than one way.
    pub row_of: Vec<u32>,
    /// How many records each line stands for.
    pub weights: Vec<u64>,
    /// The lines as the engine found them.
    pub found: Found,
    /// The quasi-identifiers, if they are too many to be counted and pass through: the table does
    /// without their codes, and they are among the columns that pass through.
    pub quasi: Vec<Coded>,
}

impl Rows {
    /// The distinct row of every record; empty if single records are not here.
    pub fn of_records(&self) -> &[u32] {
        if let Rows::Here { row_of } = self { row_of } else { &[] }
    }

    /// The quasi-identifiers that the table does without.
    pub fn passing_quasi(&self) -> &[Coded] {
        if let Rows::Brought(brought) = self { &brought.quasi } else { &[] }
    }

    /// Whether the table has every record's own values, for figures that compare a release with
    /// what it was made from.
    pub fn has_truth(&self) -> bool {
        match self {
            Rows::Here { .. } | Rows::Counted => true,
            Rows::Brought(brought) => brought.quasi.is_empty(),
            Rows::Values { .. } | Rows::Classes => false,
        }
    }
}
