//! Whether the first line of a file is a person's record and not a header.
//!
//! The names of columns are the only texts of a file that an inspection shows unasked. Where a file
//! has no header they are the first person's values, so they are looked at before anything is said.
//! Any one sign is enough: to ask the steward costs less than to show somebody's record.

use crate::table::columns::Column;
use scumble::failure::{Argument, Failure, Remedy};
use scumble::taxonomy::{Decimal, parse_date};

/// The problem that the first line looks like a record; by the positions of its cells, because the
/// cells may be somebody's values.
pub(super) fn doubtful(source: &str, columns: &[Column]) -> Option<Failure> {
    let positions: Vec<String> = (1..)
        .zip(columns)
        .filter(|(_, column)| looks_like_data(column))
        .map(|(position, _)| position.to_string())
        .collect();
    let (what, like) = match positions.len() {
        0 => return None,
        1 => ("column", "a value"),
        _ => ("columns", "values"),
    };
    let message = format!(
        "the first line of `{source}` may be a record and no header: {what} {} would be called like {like}",
        super::profile::some(&positions)
    );
    let remedy = Remedy::words("put a line with the names of the columns first; if there is one, ")
        .and_give(Argument::Header);
    Some(Failure::data("wrong-header", message).remedy(remedy))
}

/// Whether the name of a column is a value rather than a name.
fn looks_like_data(column: &Column) -> bool {
    let name = column.name.trim();
    let is_email = name.split_once('@').is_some_and(|(_, host)| host.contains('.'));
    let is_number = Decimal::parse(name).is_some();
    is_email
        || is_number
        || is_date(name)
        || column.values.find(&column.name).is_some()
        || is_written_alike(name, column)
}

/// Whether it is a date, in any common way to write one.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split(['-', '/', '.']).collect();
    let digits = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    parse_date(text).is_some() || parts.len() == 3 && parts.iter().all(digits)
}

/// Whether nearly all values are letters and digits in the same places as the name, which has a
/// digit: `P0042` among patient numbers.
fn is_written_alike(name: &str, column: &Column) -> bool {
    if name.len() < 3 || !name.bytes().any(|b| b.is_ascii_digit()) || column.values.len() < 2 {
        return false;
    }
    let pattern = pattern(name);
    let alike = column.values.iter().filter(|value| self::pattern(value) == pattern).count();
    10 * alike >= 9 * column.values.len()
}

/// A text with every letter and every digit replaced by one.
fn pattern(text: &str) -> String {
    let class = |c: char| match c {
        c if c.is_alphabetic() => 'a',
        c if c.is_numeric() => '9',
        c => c,
    };
    text.chars().map(class).collect()
}
