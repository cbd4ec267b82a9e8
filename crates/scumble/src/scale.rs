//! Scales: how the leaves of a taxonomy are related besides the tree, and the language that numbers
//! and dates are published in.
//!
//! A leaf of a number or date scale is a *cell* of the finest unit that the rule declares: a month,
//! an interval of 5, a whole number. Cells are numbered without gaps, so that a range is two
//! numbers, and every text for a range follows from the rule and these two numbers alone, whatever
//! values occur in the data. There is exactly one text for each range.
//!
//! Within a cell, places are counted in the smallest steps that the scale knows (10^-decimals, or
//! days): conditions of queries may cut through cells.

use crate::taxonomy::ROOT;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the leaves of a taxonomy are related to each other besides the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Categories without an order: only nodes of the tree can be published.
    Nominal,
    /// Categories in the order of their file: any run of them can be published as a range.
    Ordinal,
    /// Decimal numbers in cells.
    Number(Grid),
    /// Calendar units from the finest, which are the cells, to the coarsest.
    Date(Vec<Granularity>),
}

impl Scale {
    /// Whether leaves are cells of numbers or dates.
    pub fn has_cells(&self) -> bool {
        matches!(self, Scale::Number(_) | Scale::Date(_))
    }

    /// The cell that a number or date of the data falls into.
    pub fn cell(&self, text: &str) -> Option<i64> {
        match self {
            _ if text.is_empty() => None,
            Scale::Number(grid) => grid.cell(Decimal::parse(text)?),
            Scale::Date(units) => Some(finest(units).cell(parse_date(text)?)),
            Scale::Nominal | Scale::Ordinal => None,
        }
    }

    /// The smallest steps of a cell, from the first to the last. An open cell is taken to be one
    /// cell wide.
    pub fn steps(&self, cell: i64) -> (i64, i64) {
        match self {
            Scale::Number(grid) => (grid.start(cell), grid.start(cell + 1).saturating_sub(1)),
            Scale::Date(units) => (finest(units).start(cell), finest(units).start(cell + 1) - 1),
            Scale::Nominal | Scale::Ordinal => (cell, cell),
        }
    }

    /// The text of a range of cells. Exact numbers are written as the data write them and have no
    /// text of their own.
    pub(crate) fn text(&self, first: i64, last: i64) -> String {
        match self {
            Scale::Number(grid) => grid.text(first, last),
            Scale::Date(units) => calendar_text(units, first, last),
            Scale::Nominal | Scale::Ordinal => ROOT.to_owned(),
        }
    }

    /// The range of cells that a published text stands for. Only the one text that [`Scale::text`]
    /// writes is understood.
    pub(crate) fn parse(&self, text: &str) -> Option<(i64, i64)> {
        let (first, last) = match self {
            Scale::Number(grid) => grid.parse(text)?,
            Scale::Date(units) => parse_calendar(units, text)?,
            Scale::Nominal | Scale::Ordinal => return None,
        };
        let exact = matches!(self, Scale::Number(grid) if grid.exact);
        (first <= last && (exact || self.text(first, last) == text)).then_some((first, last))
    }

    /// The cells of the interval or calendar unit at a level that contains the cell. Level 0 is the
    /// cell itself, the last one (everything) has no ends.
    pub(crate) fn at_level(&self, cell: i64, level: usize) -> Option<(i64, i64)> {
        match self {
            Scale::Number(grid) => grid.at_level(cell, level),
            Scale::Date(units) => {
                let (unit, finest) = (
                    units.get(level).copied().or((level == 0).then_some(Granularity::Day))?,
                    finest(units),
                );
                let coarse = unit.cell(finest.start(cell));
                Some((finest.cell(unit.start(coarse)), finest.cell(unit.start(coarse + 1) - 1)))
            }
            Scale::Nominal | Scale::Ordinal => None,
        }
    }

    /// The cells from the first to the last, where the rule declares both ends.
    pub fn ends(&self) -> Option<(i64, i64)> {
        if let Scale::Number(grid) = self { grid.lowest().zip(grid.highest()) } else { None }
    }

    /// Digits after the decimal point of a smallest step.
    pub fn decimals(&self) -> u32 {
        if let Scale::Number(grid) = self { grid.decimals } else { 0 }
    }
}

/// The cells of a number scale: intervals of one width, and open cells below `low` and from `high`
/// on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Digits after the decimal point: everything below is in units of 10^-decimals.
    pub decimals: u32,
    /// Widths, rising, each a multiple of the one before: of a cell, then of the intervals above.
    pub widths: Vec<i64>,
    /// Numbers below are in one open cell.
    pub low: Option<i64>,
    /// Numbers from here on are in one open cell.
    pub high: Option<i64>,
    /// Whether cells are the values as the data write them: cells of width 1 that are never folded
    /// into open ones.
    pub exact: bool,
}

impl Grid {
    /// Where the numbers in a range of cells begin, and where those above them do, in units of
    /// 10^-decimals; `None` at an open end.
    pub fn bounds(&self, (first, last): (i64, i64)) -> (Option<i64>, Option<i64>) {
        let from = (Some(first) != self.lowest()).then(|| self.start(first));
        let below = (Some(last) != self.highest()).then(|| self.start(last + 1));
        (from, below)
    }

    /// Width of a cell.
    fn width(&self) -> i64 {
        if self.exact { 1 } else { self.widths.first().copied().unwrap_or(1) }
    }

    /// The cell of a number; what is finer than the scale is cut off downwards.
    fn cell(&self, number: Decimal) -> Option<i64> {
        Some(self.cell_of(number.floor(self.decimals)?))
    }

    fn cell_of(&self, place: i64) -> i64 {
        if !self.exact {
            if self.low.is_some_and(|low| place < low) {
                return self.lowest().unwrap_or(i64::MIN);
            }
            if self.high.is_some_and(|high| place >= high) {
                return self.highest().unwrap_or(i64::MAX);
            }
        }
        place.div_euclid(self.width())
    }

    /// The open cell below `low`.
    fn lowest(&self) -> Option<i64> {
        self.low.filter(|_| !self.exact).map(|low| low.div_euclid(self.width()) - 1)
    }

    /// The open cell from `high` on.
    fn highest(&self) -> Option<i64> {
        self.high.filter(|_| !self.exact).map(|high| -(-high).div_euclid(self.width()))
    }

    /// Whether a range of cells has no end on either side.
    pub(crate) fn is_everything(&self, first: i64, last: i64) -> bool {
        Some(first) == self.lowest() && Some(last) == self.highest()
    }

    /// Where a cell begins.
    fn start(&self, cell: i64) -> i64 {
        let width = self.width();
        let start = cell.saturating_mul(width);
        match (self.lowest(), self.highest()) {
            (Some(lowest), _) if cell <= lowest => {
                self.low.unwrap_or(start).saturating_sub((lowest + 1 - cell) * width)
            }
            (Some(lowest), _) if cell == lowest + 1 => self.low.unwrap_or(start),
            (_, Some(highest)) if cell >= highest => {
                self.high.unwrap_or(start).saturating_add((cell - highest) * width)
            }
            _ => start,
        }
    }

    fn at_level(&self, cell: i64, level: usize) -> Option<(i64, i64)> {
        let levels =
            if self.exact { &self.widths[..] } else { self.widths.get(1..).unwrap_or(&[]) };
        let open = |cell: i64| {
            let beyond = self.low.is_some_and(|low| cell < low)
                || self.high.is_some_and(|high| cell >= high);
            if self.exact {
                beyond
            } else {
                Some(cell) == self.lowest() || Some(cell) == self.highest()
            }
        };
        if level == 0 || open(cell) {
            return Some((cell, cell));
        }
        let width = *levels.get(level - 1)?;
        let from = self.start(cell).div_euclid(width) * width;
        let last = from.saturating_add(width - 1);
        let first = self.low.map_or(from, |low| from.max(low));
        Some((self.cell_of(first), self.cell_of(self.high.map_or(last, |high| last.min(high - 1)))))
    }

    /// What an interval at a level is called: half-open, or `<low`, `>=high`.
    pub(crate) fn interval(&self, place: i64, width: i64) -> String {
        if let Some(low) = self.low.filter(|&low| place < low) {
            return format!("<{}", self.show(low));
        }
        if let Some(high) = self.high.filter(|&high| place >= high) {
            return format!(">={}", self.show(high));
        }
        let from = place.div_euclid(width) * width;
        let to = from.saturating_add(width);
        let (from, to) =
            (self.low.map_or(from, |l| from.max(l)), self.high.map_or(to, |h| to.min(h)));
        format!("[{}, {})", self.show(from), self.show(to))
    }

    fn show(&self, units: i64) -> String {
        Decimal::show(units, self.decimals)
    }

    /// Whether cells are written as one number: they are a single step of the scale.
    fn is_pointwise(&self) -> bool {
        self.width() == 1
    }

    fn text(&self, first: i64, last: i64) -> String {
        let (from, to) = (self.start(first), self.start(last + 1));
        match (Some(first) == self.lowest(), Some(last) == self.highest()) {
            (true, true) => return ROOT.to_owned(),
            (true, false) => return format!("<{}", self.show(to)),
            (false, true) => return format!(">={}", self.show(from)),
            (false, false) => (),
        }
        if !self.is_pointwise() {
            return format!("[{}, {})", self.show(from), self.show(to));
        }
        // A whole interval of the rule goes by its own name.
        let whole = |level: &usize| self.at_level(first, *level) == Some((first, last));
        match (first == last, (1..self.widths.len()).find(whole)) {
            (true, _) => self.show(from),
            (false, Some(_)) => format!("[{}, {})", self.show(from), self.show(to)),
            (false, None) => format!("[{}, {}]", self.show(from), self.show(to - 1)),
        }
    }

    /// Whether every interval around the cell can be written so that it is read again: its ends
    /// have no more digits than a number may have.
    pub(crate) fn can_write(&self, cell: i64) -> bool {
        const END: i64 = 10i64.pow(18);
        let start = self.start(cell);
        let widths = self.widths.iter().copied().chain((!self.exact).then(|| self.width()));
        let fits = |width: i64| start.checked_add(width).is_some_and(|end| end < END);
        start > -END && widths.into_iter().all(fits)
    }

    /// The cells of a text; the caller sees to it that it is the one text for them.
    fn parse(&self, text: &str) -> Option<(i64, i64)> {
        let place = |t: &str| Decimal::parse(t)?.units(self.decimals);
        if let Some(end) = text.strip_prefix('<') {
            return Some((self.lowest()?, self.cell_of(place(end)?.checked_sub(1)?)));
        }
        if let Some(start) = text.strip_prefix(">=") {
            return Some((self.cell_of(place(start)?), self.highest()?));
        }
        let Some(inner) = text.strip_prefix('[') else {
            let cell = self.cell_of(place(text)?);
            return Some((cell, cell));
        };
        let (first, last) = inner.strip_suffix([')', ']'])?.split_once(", ")?;
        let before = i64::from(text.ends_with(')'));
        Some((self.cell_of(place(first)?), self.cell_of(place(last)?.checked_sub(before)?)))
    }
}

fn finest(units: &[Granularity]) -> Granularity {
    units.first().copied().unwrap_or(Granularity::Day)
}

fn calendar_text(units: &[Granularity], first: i64, last: i64) -> String {
    let finest = finest(units);
    let (from, to) = (finest.start(first), finest.start(last + 1));
    if first == last {
        return finest.label(from);
    }
    let whole = |unit: &&Granularity| {
        unit.start(unit.cell(from)) == from && unit.start(unit.cell(from) + 1) == to
    };
    match units.iter().skip(1).find(whole) {
        Some(unit) => unit.label(from),
        None => format!("[{}, {}]", finest.label(from), finest.label(to - 1)),
    }
}

fn parse_calendar(units: &[Granularity], text: &str) -> Option<(i64, i64)> {
    let finest = finest(units);
    if let Some(inner) = text.strip_prefix('[') {
        let (first, last) = inner.strip_suffix(']')?.split_once(", ")?;
        return Some((finest.cell(finest.parse(first)?), finest.cell(finest.parse(last)?)));
    }
    let from_unit = |unit: &Granularity| {
        let start = unit.parse(text)?;
        Some((finest.cell(start), finest.cell(unit.start(unit.cell(start) + 1) - 1)))
    };
    from_unit(&finest).or_else(|| units.iter().find_map(from_unit))
}

/// A calendar unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Granularity {
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
}

impl Granularity {
    /// Every unit with its name in a policy, from fine to coarse.
    pub const ALL: [(&'static str, Granularity); 6] = [
        ("day", Granularity::Day),
        ("week", Granularity::Week),
        ("month", Granularity::Month),
        ("quarter", Granularity::Quarter),
        ("year", Granularity::Year),
        ("decade", Granularity::Decade),
    ];

    /// The name in a policy.
    pub fn name(self) -> &'static str {
        Granularity::ALL.iter().find(|(_, g)| *g == self).map_or("", |(name, _)| name)
    }

    /// The unit that the day lies in, as a release shows it.
    pub(crate) fn label(self, day: i64) -> String {
        let (year, month, _) = civil(day);
        match self {
            Granularity::Day => iso_date(day),
            // The Monday that starts the week; unlike a week number it needs no rule about years.
            Granularity::Week => format!("week of {}", iso_date(self.start(self.cell(day)))),
            Granularity::Month => format!("{year:04}-{month:02}"),
            Granularity::Quarter => format!("{year:04}-Q{}", (month - 1) / 3 + 1),
            Granularity::Year => format!("{year:04}"),
            Granularity::Decade => format!("{:04}s", year.div_euclid(10) * 10),
        }
    }

    /// The number of the unit that the day lies in.
    fn cell(self, day: i64) -> i64 {
        let (year, month, _) = civil(day);
        match self {
            Granularity::Day => day,
            Granularity::Week => (day + 3).div_euclid(7),
            Granularity::Month => year * 12 + month - 1,
            Granularity::Quarter => year * 4 + (month - 1) / 3,
            Granularity::Year => year,
            Granularity::Decade => year.div_euclid(10),
        }
    }

    /// The first day of a unit.
    fn start(self, cell: i64) -> i64 {
        match self {
            Granularity::Day => cell,
            Granularity::Week => cell * 7 - 3,
            Granularity::Month => days_from_civil(cell.div_euclid(12), cell.rem_euclid(12) + 1, 1),
            Granularity::Quarter => {
                days_from_civil(cell.div_euclid(4), cell.rem_euclid(4) * 3 + 1, 1)
            }
            Granularity::Year => days_from_civil(cell, 1, 1),
            Granularity::Decade => days_from_civil(cell * 10, 1, 1),
        }
    }

    /// The first day of the unit that a release shows with this text.
    fn parse(self, text: &str) -> Option<i64> {
        let day = match self {
            Granularity::Day => parse_date(text),
            Granularity::Week => parse_date(text.strip_prefix("week of ")?),
            Granularity::Month => parse_date(&format!("{text}-01")),
            Granularity::Quarter => {
                let (year, quarter) = text.split_once("-Q")?;
                let month = quarter.parse::<u32>().ok().filter(|q| (1..=4).contains(q))? * 3 - 2;
                parse_date(&format!("{year}-{month:02}-01"))
            }
            Granularity::Year => parse_date(&format!("{text}-01-01")),
            Granularity::Decade => parse_date(&format!("{}-01-01", text.strip_suffix('s')?)),
        }?;
        (self.label(day) == text).then_some(day)
    }
}

/// A decimal number as written: mantissa · 10^-decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// All digits, signed.
    pub mantissa: i64,
    /// Digits after the point.
    pub decimals: u32,
}

impl Decimal {
    /// Reads `-12`, `3.50`; no exponents, at most 18 digits.
    pub fn parse(text: &str) -> Option<Decimal> {
        let text = text.trim();
        let (sign, digits) = match text.as_bytes().first()? {
            b'-' => (-1, &text[1..]),
            b'+' => (1, &text[1..]),
            _ => (1, text),
        };
        let (mut mantissa, mut decimals, mut point, mut any) = (0i64, 0, false, 0);
        for b in digits.bytes() {
            match b {
                b'0'..=b'9' => {
                    mantissa = mantissa.checked_mul(10)?.checked_add(i64::from(b - b'0'))?;
                    decimals += u32::from(point);
                    any += 1;
                }
                b'.' if !point => point = true,
                _ => return None,
            }
        }
        (any > 0 && any <= 18).then_some(Decimal { mantissa: sign * mantissa, decimals })
    }

    /// The number in units of 10^-decimals; `None` if that does not fit.
    pub fn units(self, decimals: u32) -> Option<i64> {
        self.mantissa.checked_mul(10i64.checked_pow(decimals.checked_sub(self.decimals)?)?)
    }

    /// The number in units of 10^-decimals, rounded down; `None` if that does not fit.
    pub fn floor(self, decimals: u32) -> Option<i64> {
        match self.decimals.checked_sub(decimals) {
            Some(more @ 1..) => Some(self.mantissa.div_euclid(10i64.checked_pow(more)?)),
            _ => self.units(decimals),
        }
    }

    /// The same number without zeros at the end of its decimals.
    pub fn reduced(mut self) -> Decimal {
        while self.decimals > 0 && self.mantissa % 10 == 0 {
            self = Decimal { mantissa: self.mantissa / 10, decimals: self.decimals - 1 };
        }
        self
    }

    /// Writes it as text, all decimals shown.
    pub fn show(units: i64, decimals: u32) -> String {
        if decimals == 0 {
            return units.to_string();
        }
        let (power, sign) = (10u64.pow(decimals), if units < 0 { "-" } else { "" });
        let (int, frac) = (units.unsigned_abs() / power, units.unsigned_abs() % power);
        format!("{sign}{int}.{frac:0width$}", width = decimals as usize)
    }
}

/// Days since 1970-01-01 of `YYYY-MM-DD`; a time of day after it is ignored.
pub fn parse_date(text: &str) -> Option<i64> {
    let text = text.trim();
    let bytes = text.as_bytes();
    let day_only = bytes.len() == 10 || matches!(bytes.get(10), Some(b'T' | b' '));
    if !day_only || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let number = |range: std::ops::Range<usize>| {
        bytes[range]
            .iter()
            .try_fold(0i64, |n, b| b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0')))
    };
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let in_month = *days.get(usize::try_from(month - 1).ok()?)?;
    (1..=in_month).contains(&day).then(|| days_from_civil(year, month, day))
}

/// Days since 1970-01-01 (proleptic Gregorian; Howard Hinnant's method: years start in March, so
/// the leap day is last).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let (era, yoe) = (y.div_euclid(400), y.rem_euclid(400));
    let doy = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468
}

/// Year, month, day of a day number.
fn civil(day: i64) -> (i64, i64, i64) {
    let z = day + 719_468;
    let (era, doe) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + i64::from(month <= 2), month, doy - (153 * mp + 2) / 5 + 1)
}

/// `YYYY-MM-DD` of a day number.
pub fn iso_date(day: i64) -> String {
    let (y, m, d) = civil(day);
    format!("{y:04}-{m:02}-{d:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_know_the_calendar() {
        assert_eq!(parse_date("1970-01-01"), Some(0));
        assert_eq!(parse_date("2000-03-01"), Some(11_017));
        assert_eq!(parse_date("2024-02-29 10:00"), Some(19_782));
        for bad in ["2023-02-29", "2023-13-01", "1.2.2023", "2023-1-1", "", "2023-01-01x"] {
            assert_eq!(parse_date(bad), None, "{bad}");
        }
        for day in -800_000..800_000 {
            assert_eq!(parse_date(&iso_date(day)).unwrap_or(day), day);
        }
        assert_eq!(
            Granularity::Week.label(parse_date("2026-11-15").unwrap()),
            "week of 2026-11-09"
        );
        assert_eq!(Granularity::Quarter.label(parse_date("2026-11-15").unwrap()), "2026-Q4");
    }

    #[test]
    fn decimals_keep_their_places() {
        assert_eq!(Decimal::parse("-3.50"), Some(Decimal { mantissa: -350, decimals: 2 }));
        assert_eq!(Decimal::show(-350, 2), "-3.50");
        assert_eq!(Decimal::show(5, 3), "0.005");
        for bad in ["", "-", ".", "1e5", "1.2.3", "1234567890123456789", "é"] {
            assert_eq!(Decimal::parse(bad), None, "{bad}");
        }
    }
}
