use super::*;
use crate::table::arrow::distribute;
use proptest::prelude::*;

const KINDS: [Kind; 13] = [
    Kind::Text,
    Kind::Padded,
    Kind::Bool,
    Kind::Int2,
    Kind::Int4,
    Kind::Int8,
    Kind::Float4,
    Kind::Float8,
    Kind::Numeric(None),
    Kind::Numeric(Some((12, 2))),
    Kind::Date,
    Kind::Timestamp,
    Kind::Instant,
];

/// The texts that a stream is read as, row by row.
fn read(bytes: &[u8], kinds: &[Kind]) -> Result<Vec<Vec<String>>, Fault> {
    let mut stream = Stream::open(bytes, kinds.to_vec())?;
    let mut fault = None;
    let next = || {
        Ok(stream.batch().unwrap_or_else(|f| {
            fault = Some(f);
            None
        }))
    };
    let unwritable = |_, _| scumble::failure::Failure::data("unreadable-value", "no text").into();
    let meter = std::sync::Arc::new(crate::table::guard::Meter::unlimited());
    let coded = distribute(kinds.len(), 2, &meter, next, unwritable);
    if let Some(fault) = fault {
        return Err(fault);
    }
    let Ok((rows, coders)) = coded else { return Err(Fault::Value(0)) };
    let columns: Vec<_> = coders
        .into_iter()
        .zip(kinds)
        .map(|(coder, kind)| coder.column(&arrow_schema::Field::new("x", kind.arrow(), true)))
        .collect();
    let row = |i: usize| columns.iter().map(|c| c.values.get(c.codes[i]).to_owned()).collect();
    Ok((0..rows).map(row).collect())
}

fn write(rows: &[Vec<String>], kinds: &[Kind]) -> Vec<u8> {
    let mut bytes = HEAD.to_vec();
    for row in rows {
        bytes.extend((row.len() as i16).to_be_bytes());
        for (text, kind) in row.iter().zip(kinds) {
            bytes.extend(kind.cell(text).unwrap_or_else(|| panic!("{text} is a {kind:?}")));
        }
    }
    bytes.extend(TAIL);
    bytes
}

/// Values of a kind, as they are written in the end.
fn text(kind: &Kind) -> BoxedStrategy<String> {
    let some = match kind {
        Kind::Text => "[^\\x00]{1,8}".boxed(),
        Kind::Padded => "[^\\x00 ]{1,8}".boxed(),
        Kind::Bool => any::<bool>().prop_map(|b| b.to_string()).boxed(),
        Kind::Int2 => any::<i16>().prop_map(|n| n.to_string()).boxed(),
        Kind::Int4 => any::<i32>().prop_map(|n| n.to_string()).boxed(),
        Kind::Int8 => any::<i64>().prop_map(|n| n.to_string()).boxed(),
        Kind::Float4 => (-1000i32..1000).prop_map(|n| format!("{:?}", n as f32 / 8.0)).boxed(),
        Kind::Float8 => (-1000i32..1000).prop_map(|n| format!("{:?}", f64::from(n) / 10.0)).boxed(),
        Kind::Numeric(None) => "(-[1-9][0-9]{0,30}|0|[1-9][0-9]{0,9})(\\.[0-9]{1,21})?".boxed(),
        Kind::Numeric(Some(_)) => "-?[1-9][0-9]{0,9}\\.[0-9]{2}".boxed(),
        Kind::Date => (0i32..3000, 1u32..13, 1u32..29)
            .prop_map(|(y, m, d)| format!("{y:04}-{m:02}-{d:02}"))
            .boxed(),
        Kind::Timestamp => {
            "(19|20)[0-9]{2}-0[1-9]-1[0-9]T[01][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{2}[1-9])?"
                .boxed()
        }
        Kind::Instant => {
            "(19|20)[0-9]{2}-0[1-9]-1[0-9]T[01][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{5}[1-9])?Z"
                .boxed()
        }
        Kind::Uuid => unreachable!("not written"),
    };
    prop_oneof![1 => Just(String::new()), 4 => some].boxed()
}

fn table() -> impl Strategy<Value = (Vec<Kind>, Vec<Vec<String>>)> {
    prop::collection::vec(prop::sample::select(&KINDS[..]), 0..5).prop_flat_map(|kinds| {
        let row: Vec<_> = kinds.iter().map(text).collect();
        prop::collection::vec(row, 0..8).prop_map(move |rows| (kinds.clone(), rows))
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read((kinds, rows) in table()) {
        prop_assert_eq!(read(&write(&rows, &kinds), &kinds).expect("a stream"), rows);
    }

    #[test]
    fn what_is_cut_off_is_refused((kinds, rows) in table(), at in any::<prop::sample::Index>()) {
        let bytes = write(&rows, &kinds);
        prop_assert!(matches!(read(&bytes[..at.index(bytes.len())], &kinds), Err(Fault::Cut(_))));
    }

    #[test]
    fn what_is_spoilt_does_no_harm(
        (kinds, rows) in table(),
        spoilt in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = write(&rows, &kinds);
        for (at, byte) in spoilt {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read(&bytes, &kinds);
    }

    #[test]
    fn noise_does_no_harm(
        kinds in prop::collection::vec(prop::sample::select(&KINDS[..]), 0..4),
        noise in prop::collection::vec(prop_oneof![Just(0u8), Just(255), any::<u8>()], 0..200),
    ) {
        let _ = read(&noise, &kinds);
        let columns = (kinds.len() as i16).to_be_bytes();
        let _ = read(&[&HEAD[..], &columns, &noise].concat(), &kinds);
        let _ = numeric_text(&noise);
        kinds.iter().for_each(|kind| drop(kind.cell(&String::from_utf8_lossy(&noise))));
    }
}

#[test]
fn numbers_as_the_server_sends_them() {
    let bytes = |words: &[u16]| words.iter().flat_map(|w| w.to_be_bytes()).collect::<Vec<u8>>();
    for (text, words) in [
        ("0", &[0, 0, 0, 0][..]),
        ("0.00", &[0, 0, 0, 2]),
        ("1", &[1, 0, 0, 0, 1]),
        ("10000", &[1, 1, 0, 0, 1]),
        ("-12345.678", &[3, 1, 0x4000, 3, 1, 2345, 6780]),
        ("0.0001", &[1, 0xffff, 0, 4, 1]),
        ("0.00001", &[1, 0xfffe, 0, 5, 1000]),
        ("NaN", &[0, 0, 0xc000, 0]),
    ] {
        assert_eq!(numeric_text(&bytes(words)).as_deref(), Some(text));
        assert_eq!(numeric_bytes(text), Some(bytes(words)), "{text}");
    }
    assert_eq!(numeric_text(&bytes(&[0, 0, 0xd000, 0x20])).as_deref(), Some("Infinity"));
    for wrong in
        [&[1, 0, 0, 0][..], &[0, 0, 1, 0], &[1, 0, 0, 0, 10_000], &[0, 0, 0, 0x4000], &[0, 0, 0]]
    {
        assert_eq!(numeric_text(&bytes(wrong)), None, "{wrong:?}");
    }
    for wrong in ["", ".5", "1e5", "-", "1.2.3", "+1", "one"] {
        assert_eq!(numeric_bytes(wrong), None, "{wrong}");
    }
}

#[test]
fn the_ends_of_time_have_no_text() {
    for (kind, value) in [
        (Kind::Date, i32::MAX.to_be_bytes().to_vec()),
        (Kind::Date, i32::MIN.to_be_bytes().to_vec()),
        (Kind::Timestamp, i64::MAX.to_be_bytes().to_vec()),
        (Kind::Instant, i64::MIN.to_be_bytes().to_vec()),
        (Kind::Timestamp, (i64::MAX - 1).to_be_bytes().to_vec()),
    ] {
        let length = (value.len() as i32).to_be_bytes().to_vec();
        let bytes = [HEAD.to_vec(), vec![0, 1], length, value, TAIL.to_vec()].concat();
        assert!(matches!(read(&bytes, &[kind]), Err(Fault::Value(0))));
    }
}

#[test]
fn declared_precision() {
    let modifier = |precision: i32, scale: i32| (precision << 16 | scale & 0x7ff) + 4;
    assert_eq!(declared(modifier(10, 2)), Some((10, 2)));
    assert_eq!(declared(modifier(38, 38)), Some((38, 38)));
    for other in [-1, 0, modifier(39, 2), modifier(5, -2), modifier(3, 5)] {
        assert_eq!(declared(other), None);
    }
}
