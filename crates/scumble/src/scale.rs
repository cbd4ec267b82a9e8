//! Scales: how the leaves of a taxonomy are related besides the tree, and the numbers and dates on them.
//!
//! A place on a scale is a whole number: units of 10^-decimals, or days. Nothing is rounded, so a range that is published
//! has exactly the ends that were cut.

/// How the leaves of a taxonomy are related to each other besides the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Categories without an order: only nodes of the tree can be published.
    Nominal,
    /// Categories in the order of their file: any run of them can be published as a range.
    Ordinal,
    /// Decimal numbers; positions are in units of 10^-decimals.
    Number {
        /// Digits after the decimal point.
        decimals: u32,
    },
    /// Calendar days.
    Date,
}
/// A calendar unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Granularity {
    Week,
    Month,
    Quarter,
    Year,
    Decade,
}

impl Granularity {
    /// Every unit with its name in a policy, from fine to coarse.
    pub const ALL: [(&'static str, Granularity); 5] = [
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
            // The Monday that starts the week; unlike a week number it needs no rule about years.
            Granularity::Week => format!("week of {}", iso_date(day - (day + 3).rem_euclid(7))),
            Granularity::Month => format!("{year:04}-{month:02}"),
            Granularity::Quarter => format!("{year:04}-Q{}", (month - 1) / 3 + 1),
            Granularity::Year => format!("{year:04}"),
            Granularity::Decade => format!("{:04}s", year.div_euclid(10) * 10),
        }
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
        bytes[range].iter().try_fold(0i64, |n, b| b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0')))
    };
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let in_month = *days.get(usize::try_from(month - 1).ok()?)?;
    (1..=in_month).contains(&day).then(|| days_from_civil(year, month, day))
}

/// Days since 1970-01-01 (proleptic Gregorian; Howard Hinnant's method: years start in March, so the leap day is last).
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
        assert_eq!(Granularity::Week.label(parse_date("2026-11-15").unwrap()), "week of 2026-11-09");
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
