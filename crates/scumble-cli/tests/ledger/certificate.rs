//! Certificates are true of what was published.

use crate::place::{Place, people};

/// Postal codes are masked more or less, whatever else is published: an outsider reads the same
/// from them.
#[test]
fn what_was_published_is_as_certified() {
    for rows in [9, 20, 60, 150, 400] {
        let place = Place::new("ledger = false");
        place.put("data.csv", people(rows));
        place.expect(0, &["publish", "policy.toml"]);
        let text = place.expect(0, &["verify", "out/release"]);
        assert!(text.starts_with("True"), "{text}");
    }
}
