//! How many records have each value of a column that was randomized, estimated from how many show
//! it.

use crate::answer::{Estimate, Estimated, VERSION};
use crate::release::{folder, manifest};
use crate::table::columns;
use scumble::catalogue::did_you_mean;
use scumble::exact::Ratio;
use scumble::failure::{Failure, Failures};
use scumble::perturb;
use std::path::Path;

/// Estimates the counts of a column of a release.
pub fn estimate(folder: &Path, column: &str) -> Result<Estimated, Failures> {
    let m = manifest::read(folder)?;
    let note = m.columns.iter().find(|c| c.name == column).ok_or_else(|| {
        Failure::usage("no-such-column", format!("the release has no column `{column}`"))
            .hint(did_you_mean(column, m.columns.iter().map(|c| c.name.as_str())))
    })?;
    let keep =
        note.perturbed.get("keep").and_then(|text| Ratio::parse(text)).filter(|k| k.num() > 0);
    let (Some(keep), Some(drawn_from)) = (keep, note.drawn_from) else {
        let randomized =
            m.columns.iter().filter(|c| c.perturbed.contains_key("keep")).map(|c| c.name.as_str());
        let names: Vec<&str> = randomized.collect();
        let hint = match names[..] {
            [] => "no column of this release is; count its values as they are".into(),
            _ => format!("`{}` is", names.join("`, `")),
        };
        return Err(Failure::usage(
            "not-randomized",
            format!("column `{column}` was not randomized with `keep`"),
        )
        .hint(hint)
        .into());
    };
    let options = manifest::read_options(&m);
    let names = [column.to_owned()];
    let read =
        columns::read(&folder::file(folder, &m.data.file)?, &options, Some(&names), &|_, _| true)?;
    let Some(c) = read.columns.first() else {
        return Err(
            Failure::data("broken-release", format!("the data have no column `{column}`")).into()
        );
    };
    let mut shown = vec![0u64; c.values.len()];
    c.codes.iter().for_each(|&code| shown[code as usize] += 1);
    let mut values: Vec<(String, u64)> =
        c.values.iter().map(str::to_owned).zip(shown).filter(|(v, _)| !v.is_empty()).collect();
    values.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    // A value that nobody shows any more was drawn from all the same.
    let mut counts: Vec<u64> = values.iter().map(|(_, n)| *n).collect();
    counts.resize(counts.len().max(drawn_from), 0);
    let estimates = perturb::estimate(&counts, keep);
    let records: u64 = counts.iter().sum();
    let values = values.into_iter().zip(estimates).map(|((value, shown), estimated)| Estimate {
        value,
        shown,
        estimated,
        error: perturb::standard_error(estimated, records, counts.len(), keep),
    });
    Ok(Estimated {
        version: VERSION,
        column: column.into(),
        keep: keep.into(),
        records,
        values: values.collect(),
    })
}
