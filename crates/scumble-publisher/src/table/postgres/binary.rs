//! The binary format of COPY: rows as arrays, and texts as cells.
//!
//! What comes from the server becomes Arrow arrays of the types that a Parquet file would have, and
//! these become text where those of files do (`arrow.rs`): the same value is the same text whatever
//! it is kept in. Whatever bytes come, nothing here panics.
//!
//! After a head of 19 bytes every row is the number of its cells (16 bits) and for each cell its
//! length (32 bits, −1 for NULL) and so many bytes; −1 instead of a number of cells ends it.
//! Numbers begin with their highest byte. Dates are days, and moments microseconds, since the year
//! 2000.

use arrow_array::builder::StringBuilder;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float32Array, Float64Array, Int16Array, Int32Array,
    Int64Array, TimestampMicrosecondArray,
};
use arrow_cast::parse::Parser;
use arrow_schema::{DataType, TimeUnit};
use postgres::types::{Kind as Family, Type};
use std::io::{BufRead, ErrorKind, Read};
use std::sync::Arc;

/// What begins a copy: the signature, no flags, no extension.
pub(super) const HEAD: [u8; 19] = *b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// What ends it.
pub(super) const TAIL: [u8; 2] = (-1i16).to_be_bytes();

/// Rows in a batch, and the bytes after which it ends all the same.
const BATCH: usize = 1 << 16;
const BATCH_BYTES: u64 = 1 << 26;
/// From 1970 to 2000.
const DAYS: i32 = 10_957;
const MICROSECONDS: i64 = DAYS as i64 * 86_400_000_000;

/// How a column is read and written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// Text of a fixed length, whose spaces at the end mean nothing.
    Padded,
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    /// With precision and scale, where they are declared and Arrow has such a type.
    Numeric(Option<(u8, i8)>),
    Date,
    /// A moment without a time zone.
    Timestamp,
    /// A moment.
    Instant,
    Uuid,
}

/// What is wrong with a stream.
#[derive(Debug)]
pub(super) enum Fault {
    /// It ends too early, or the server says what went wrong.
    Cut(std::io::Error),
    /// It is no such stream.
    Damaged,
    /// The column with this index has a value that has no text.
    Value(usize),
}

impl From<std::io::Error> for Fault {
    fn from(e: std::io::Error) -> Fault {
        Fault::Cut(e)
    }
}

impl Kind {
    /// Of a column with this type and modifier; nothing for types that are not read.
    pub fn of(of: &Type, modifier: i32) -> Option<Kind> {
        Some(match *of {
            Type::TEXT | Type::VARCHAR | Type::NAME | Type::UNKNOWN => Kind::Text,
            Type::BPCHAR => Kind::Padded,
            Type::BOOL => Kind::Bool,
            Type::INT2 => Kind::Int2,
            Type::INT4 => Kind::Int4,
            Type::INT8 => Kind::Int8,
            Type::FLOAT4 => Kind::Float4,
            Type::FLOAT8 => Kind::Float8,
            Type::NUMERIC => Kind::Numeric(declared(modifier)),
            Type::DATE => Kind::Date,
            Type::TIMESTAMP => Kind::Timestamp,
            Type::TIMESTAMPTZ => Kind::Instant,
            Type::UUID => Kind::Uuid,
            _ => match of.kind() {
                Family::Enum(_) => Kind::Text,
                Family::Domain(base) => Kind::of(base, modifier)?,
                _ if of.name() == "citext" => Kind::Text,
                _ => return None,
            },
        })
    }

    /// For the values of a column that has this type in its file; text, if it has none.
    pub fn for_column(of: Option<&DataType>) -> Kind {
        match of {
            Some(DataType::Dictionary(_, value)) => Kind::for_column(Some(value)),
            Some(DataType::Boolean) => Kind::Bool,
            Some(DataType::Int8 | DataType::Int16 | DataType::UInt8) => Kind::Int2,
            Some(DataType::Int32 | DataType::UInt16) => Kind::Int4,
            Some(DataType::Int64 | DataType::UInt32) => Kind::Int8,
            Some(DataType::Float16 | DataType::Float32) => Kind::Float4,
            Some(DataType::Float64) => Kind::Float8,
            Some(
                DataType::Decimal32(p, s) | DataType::Decimal64(p, s) | DataType::Decimal128(p, s),
            ) if *s >= 0 => Kind::Numeric(Some((*p, *s))),
            Some(kind) if *kind == DataType::UInt64 || kind.is_decimal() => Kind::Numeric(None),
            Some(DataType::Date32) => Kind::Date,
            Some(DataType::Timestamp(_, None) | DataType::Date64) => Kind::Timestamp,
            Some(DataType::Timestamp(_, Some(_))) => Kind::Instant,
            _ => Kind::Text,
        }
    }

    /// The type that the column would have in a Parquet file.
    pub fn arrow(&self) -> DataType {
        match self {
            Kind::Text | Kind::Padded | Kind::Uuid | Kind::Numeric(None) => DataType::Utf8,
            Kind::Bool => DataType::Boolean,
            Kind::Int2 => DataType::Int16,
            Kind::Int4 => DataType::Int32,
            Kind::Int8 => DataType::Int64,
            Kind::Float4 => DataType::Float32,
            Kind::Float8 => DataType::Float64,
            Kind::Numeric(Some((precision, scale))) => DataType::Decimal128(*precision, *scale),
            Kind::Date => DataType::Date32,
            Kind::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            Kind::Instant => DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
        }
    }

    /// The type in SQL.
    pub fn sql(&self) -> String {
        match self {
            Kind::Text | Kind::Padded => "text".into(),
            Kind::Bool => "boolean".into(),
            Kind::Int2 => "smallint".into(),
            Kind::Int4 => "integer".into(),
            Kind::Int8 => "bigint".into(),
            Kind::Float4 => "real".into(),
            Kind::Float8 => "double precision".into(),
            Kind::Numeric(None) => "numeric".into(),
            Kind::Numeric(Some((precision, scale))) => format!("numeric({precision}, {scale})"),
            Kind::Date => "date".into(),
            Kind::Timestamp => "timestamp".into(),
            Kind::Instant => "timestamptz".into(),
            Kind::Uuid => "uuid".into(),
        }
    }

    /// A text as a cell with its length; the empty one is NULL. Nothing if it is no value of this
    /// kind.
    pub fn cell(&self, text: &str) -> Option<Vec<u8>> {
        if text.is_empty() {
            return Some((-1i32).to_be_bytes().to_vec());
        }
        let bytes = match self {
            Kind::Text | Kind::Padded => text.as_bytes().to_vec(),
            Kind::Bool => vec![u8::from(text.parse::<bool>().ok()?)],
            Kind::Int2 => text.parse::<i16>().ok()?.to_be_bytes().to_vec(),
            Kind::Int4 => text.parse::<i32>().ok()?.to_be_bytes().to_vec(),
            Kind::Int8 => text.parse::<i64>().ok()?.to_be_bytes().to_vec(),
            Kind::Float4 => text.parse::<f32>().ok()?.to_be_bytes().to_vec(),
            Kind::Float8 => text.parse::<f64>().ok()?.to_be_bytes().to_vec(),
            Kind::Numeric(_) => numeric_bytes(text)?,
            Kind::Date => Date32Type::parse(text)?.checked_sub(DAYS)?.to_be_bytes().to_vec(),
            Kind::Timestamp | Kind::Instant => TimestampMicrosecondType::parse(text)?
                .checked_sub(MICROSECONDS)?
                .to_be_bytes()
                .to_vec(),
            Kind::Uuid => return None,
        };
        let mut cell = i32::try_from(bytes.len()).ok()?.to_be_bytes().to_vec();
        cell.extend(bytes);
        Some(cell)
    }
}

/// Precision and scale of a numeric, if they are declared.
fn declared(modifier: i32) -> Option<(u8, i8)> {
    let both = modifier.checked_sub(4).filter(|m| *m >= 0)?;
    let (precision, scale) = (both >> 16 & 0xffff, ((both & 0x7ff) ^ 0x400) - 0x400);
    ((1..=38).contains(&precision) && (0..=precision).contains(&scale))
        .then_some((precision as u8, scale as i8))
}

/// The cells of a column in the current batch.
enum Cells {
    Texts(StringBuilder),
    Whole(Vec<Option<i64>>),
    Real(Vec<Option<f64>>),
}

impl Cells {
    fn new(kind: &Kind) -> Cells {
        match kind {
            Kind::Text | Kind::Padded | Kind::Numeric(_) | Kind::Uuid => {
                Cells::Texts(StringBuilder::new())
            }
            Kind::Float4 | Kind::Float8 => Cells::Real(Vec::new()),
            _ => Cells::Whole(Vec::new()),
        }
    }

    fn null(&mut self) {
        match self {
            Cells::Texts(texts) => texts.append_null(),
            Cells::Whole(numbers) => numbers.push(None),
            Cells::Real(numbers) => numbers.push(None),
        }
    }

    /// Adds a value of the kind; nothing if its bytes are none.
    fn add(&mut self, kind: &Kind, bytes: &[u8]) -> Option<Wrong> {
        match self {
            Cells::Texts(texts) => match kind {
                Kind::Numeric(_) => texts.append_value(match numeric_text(bytes) {
                    Some(text) => text,
                    None => return Some(Wrong::Bytes),
                }),
                Kind::Uuid => texts.append_value(match <[u8; 16]>::try_from(bytes) {
                    Ok(bytes) => uuid(bytes),
                    Err(_) => return Some(Wrong::Bytes),
                }),
                _ => match std::str::from_utf8(bytes) {
                    Ok(text) if *kind == Kind::Padded => {
                        texts.append_value(text.trim_end_matches(' '))
                    }
                    Ok(text) => texts.append_value(text),
                    Err(_) => return Some(Wrong::Value),
                },
            },
            Cells::Real(numbers) => numbers.push(Some(match (kind, bytes) {
                (Kind::Float4, &[a, b, c, d]) => f32::from_be_bytes([a, b, c, d]).into(),
                (Kind::Float8, &[a, b, c, d, e, f, g, h]) => {
                    f64::from_be_bytes([a, b, c, d, e, f, g, h])
                }
                _ => return Some(Wrong::Bytes),
            })),
            Cells::Whole(numbers) => match whole(kind, bytes) {
                Ok(number) => numbers.push(Some(number)),
                Err(wrong) => return Some(wrong),
            },
        }
        None
    }

    fn array(self, kind: &Kind) -> ArrayRef {
        match self {
            Cells::Texts(mut texts) => Arc::new(texts.finish()),
            Cells::Real(numbers) if *kind == Kind::Float4 => {
                Arc::new(numbers.into_iter().map(|n| n.map(|n| n as f32)).collect::<Float32Array>())
            }
            Cells::Real(numbers) => Arc::new(Float64Array::from(numbers)),
            Cells::Whole(numbers) => {
                let small = numbers.iter().map(|n| n.map(|n| n as i32));
                match kind {
                    Kind::Bool => {
                        Arc::new(small.map(|n| n.map(|n| n != 0)).collect::<BooleanArray>())
                    }
                    Kind::Int2 => {
                        Arc::new(small.map(|n| n.map(|n| n as i16)).collect::<Int16Array>())
                    }
                    Kind::Int4 => Arc::new(small.collect::<Int32Array>()),
                    Kind::Date => Arc::new(small.collect::<Date32Array>()),
                    Kind::Timestamp => Arc::new(TimestampMicrosecondArray::from(numbers)),
                    Kind::Instant => {
                        Arc::new(TimestampMicrosecondArray::from(numbers).with_timezone("+00:00"))
                    }
                    _ => Arc::new(Int64Array::from(numbers)),
                }
            }
        }
    }
}

/// What is wrong with a cell: it is none of its kind, or a value that has no text.
enum Wrong {
    Bytes,
    Value,
}

fn whole(kind: &Kind, bytes: &[u8]) -> Result<i64, Wrong> {
    let number = match (kind, bytes) {
        (Kind::Bool, &[a @ 0..=1]) => a.into(),
        (Kind::Int2, &[a, b]) => i16::from_be_bytes([a, b]).into(),
        (Kind::Int4 | Kind::Date, &[a, b, c, d]) => i32::from_be_bytes([a, b, c, d]).into(),
        (Kind::Int8 | Kind::Timestamp | Kind::Instant, &[a, b, c, d, e, f, g, h]) => {
            i64::from_be_bytes([a, b, c, d, e, f, g, h])
        }
        _ => return Err(Wrong::Bytes),
    };
    // The ends of the range mean the ends of time.
    match kind {
        Kind::Date if [i32::MIN, i32::MAX].map(i64::from).contains(&number) => Err(Wrong::Value),
        Kind::Date => {
            i32::try_from(number + i64::from(DAYS)).map(i64::from).map_err(|_| Wrong::Value)
        }
        Kind::Timestamp | Kind::Instant if [i64::MIN, i64::MAX].contains(&number) => {
            Err(Wrong::Value)
        }
        Kind::Timestamp | Kind::Instant => number.checked_add(MICROSECONDS).ok_or(Wrong::Value),
        _ => Ok(number),
    }
}

fn uuid(bytes: [u8; 16]) -> String {
    let all = crate::table::columns::hex(&bytes);
    [&all[..8], &all[8..12], &all[12..16], &all[16..20], &all[20..]].join("-")
}

/// A number as the server would print it. Its bytes are how many digits of base 10 000 there are,
/// the power of the first, the sign, how many decimals are shown, and the digits; each 16 bits.
fn numeric_text(bytes: &[u8]) -> Option<String> {
    let words: Vec<u16> = bytes.chunks_exact(2).map(|b| u16::from_be_bytes([b[0], b[1]])).collect();
    let &[count, first, sign, scale, ref digits @ ..] = words.as_slice() else { return None };
    let whole = bytes.len() == 8 + 2 * usize::from(count) && digits.iter().all(|&d| d < 10_000);
    if !whole || scale > 0x3fff {
        return None;
    }
    let mut text = match sign {
        0 => String::new(),
        0x4000 => "-".to_owned(),
        0xc000 => return Some("NaN".into()),
        0xd000 => return Some("Infinity".into()),
        0xf000 => return Some("-Infinity".into()),
        _ => return None,
    };
    let first = i32::from(first as i16);
    let digit = |power: i32| {
        usize::try_from(first - power).ok().and_then(|i| digits.get(i)).copied().unwrap_or(0)
    };
    let before: String =
        (0..=first.max(0)).rev().map(|power| format!("{:04}", digit(power))).collect();
    let before = before.trim_start_matches('0');
    text.push_str(if before.is_empty() { "0" } else { before });
    if scale > 0 {
        let groups = i32::from(scale).div_euclid(4) + 1;
        let after: String = (1..=groups).map(|place| format!("{:04}", digit(-place))).collect();
        text.push('.');
        text.push_str(&after[..usize::from(scale)]);
    }
    Some(text)
}

/// The same the other way.
fn numeric_bytes(text: &str) -> Option<Vec<u8>> {
    let (sign, plain) = text.strip_prefix('-').map_or((0, text), |plain| (0x4000, plain));
    if text == "NaN" {
        return Some([0, 0, 0xc000, 0].iter().flat_map(|w: &u16| w.to_be_bytes()).collect());
    }
    let (before, after) = plain.split_once('.').unwrap_or((plain, ""));
    let is_number = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit());
    if before.is_empty()
        || !is_number(before)
        || !is_number(after)
        || before.len() > 100_000
        || after.len() > 0x3fff
    {
        return None;
    }
    // Whole groups of four on both sides of the point.
    let padded = format!("{}{before}{after}{}", "0".repeat(before.len().wrapping_neg() % 4), {
        "0".repeat(after.len().wrapping_neg() % 4)
    });
    let digits: Vec<u16> = padded
        .as_bytes()
        .chunks(4)
        .map(|c| c.iter().fold(0, |n, b| n * 10 + u16::from(b - b'0')))
        .collect();
    let leading = digits.iter().take_while(|d| **d == 0).count();
    let first = before.len().div_ceil(4) as i32 - 1 - leading as i32;
    let kept =
        &digits[leading..digits.iter().rposition(|d| *d != 0).map_or(leading, |last| last + 1)];
    let (first, sign) = if kept.is_empty() { (0, 0) } else { (first as i16, sign) };
    let head = [kept.len() as u16, first as u16, sign, after.len() as u16];
    Some(head.iter().chain(kept).flat_map(|w| w.to_be_bytes()).collect())
}

/// Rows as they come.
pub(super) struct Stream<R> {
    from: R,
    kinds: Vec<Kind>,
    cell: Vec<u8>,
    bytes: u64,
    ended: bool,
}

impl<R: BufRead> Stream<R> {
    pub fn open(from: R, kinds: Vec<Kind>) -> Result<Stream<R>, Fault> {
        let mut stream = Stream { from, kinds, cell: Vec::new(), bytes: 0, ended: false };
        let head: [u8; 15] = stream.take()?;
        // The lower flags may be ignored, the higher ones may not.
        if head[..11] != HEAD[..11] || head[11] != 0 || head[12] != 0 {
            return Err(Fault::Damaged);
        }
        let extension = u32::from_be_bytes(stream.take()?);
        stream.fill(extension.into())?;
        Ok(stream)
    }

    /// How many bytes came so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next rows, how many and the columns; nothing after the last.
    pub fn batch(&mut self) -> Result<Option<(usize, Vec<ArrayRef>)>, Fault> {
        let mut cells: Vec<Cells> = self.kinds.iter().map(Cells::new).collect();
        let (mut rows, before) = (0, self.bytes);
        while !self.ended && rows < BATCH && self.bytes - before < BATCH_BYTES {
            let columns = i16::from_be_bytes(self.take()?);
            if columns == -1 {
                self.ended = true;
                // Now the server says whether all went well.
                if !self.from.fill_buf()?.is_empty() {
                    return Err(Fault::Damaged);
                }
            } else if usize::try_from(columns) != Ok(cells.len()) {
                return Err(Fault::Damaged);
            } else {
                self.row(&mut cells)?;
                rows += 1;
            }
        }
        let arrays = cells.into_iter().zip(&self.kinds).map(|(cells, kind)| cells.array(kind));
        Ok((rows > 0).then(|| (rows, arrays.collect())))
    }

    fn row(&mut self, cells: &mut [Cells]) -> Result<(), Fault> {
        for (i, cells) in cells.iter_mut().enumerate() {
            let length = i32::from_be_bytes(self.take()?);
            if length == -1 {
                cells.null();
                continue;
            }
            let length = usize::try_from(length).map_err(|_| Fault::Damaged)?;
            // A row mostly comes as one piece; then nothing is copied.
            let wrong = match self.from.fill_buf()?.get(..length) {
                Some(bytes) => {
                    let wrong = cells.add(&self.kinds[i], bytes);
                    self.from.consume(length);
                    self.bytes += length as u64;
                    wrong
                }
                None => {
                    self.fill(length as u64)?;
                    cells.add(&self.kinds[i], &self.cell)
                }
            };
            match wrong {
                None => (),
                Some(Wrong::Bytes) => return Err(Fault::Damaged),
                Some(Wrong::Value) => return Err(Fault::Value(i)),
            }
        }
        Ok(())
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes)?;
        self.bytes += N as u64;
        Ok(bytes)
    }

    /// Reads so many bytes into the cell. No room is made for more than what comes.
    fn fill(&mut self, length: u64) -> Result<(), Fault> {
        self.cell.clear();
        let read = self.from.by_ref().take(length).read_to_end(&mut self.cell)? as u64;
        self.bytes += read;
        if read < length {
            return Err(Fault::Cut(ErrorKind::UnexpectedEof.into()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
