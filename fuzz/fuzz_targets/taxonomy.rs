//! Any text is a taxonomy whose labels can be read back, or a list of problems; and so are values
//! under every rule.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scumble::class::Run;
use scumble::taxonomy::{Decimal, Granularity, Intervals, Prefix, Rule, Taxonomy, parse_rows};

fuzz_target!(|text: &str| {
    for ordered in [false, true] {
        if let Ok(rows) = parse_rows("t", text)
            && let Ok(taxonomy) = Taxonomy::from_rows("t", rows, ordered, text.len() % 2 == 0)
        {
            probe(&taxonomy);
        }
    }
    let mut values: Vec<&str> = text.lines().filter(|l| !l.is_empty()).collect();
    values.sort_unstable();
    values.dedup();
    if values.is_empty() {
        return;
    }
    let widths = ["2", "10"].iter().filter_map(|w| Decimal::parse(w)).collect();
    for rule in [
        Rule::Flat,
        Rule::Prefix(Prefix::default()),
        Rule::Prefix(Prefix { keep: vec![2, 1], length: Some(4) }),
        Rule::Intervals(Intervals { widths, ..Intervals::default() }),
        Rule::Dates(vec![Granularity::Month, Granularity::Year]),
    ] {
        if let Ok(taxonomy) = Taxonomy::generate(&rule, "c", &values, text.len() % 2 == 0) {
            probe(&taxonomy);
        }
    }
});

fn probe(t: &Taxonomy) {
    let last = t.leaves() as u32 - 1;
    for leaf in [0, last / 2, last] {
        for level in 0..=t.levels() {
            assert!(t.at_level(leaf, level).contains(leaf));
        }
        let cover = t.cover(Run::new(leaf.min(last / 2), leaf.max(last / 2)));
        assert!(cover.contains(leaf) && t.size(cover) >= 1);
        assert_eq!(t.cover(cover), cover);
    }
}
