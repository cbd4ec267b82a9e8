//! Releases with counterfeits on disk: written, read back, and told from edited ones.

use super::*;
use crate::check::CheckRequest;
use crate::policy_file::PolicyFile;
use crate::publish::{Carried, How, PublishRequest, Repair, carry_out};
use crate::publisher::{Publisher, Task};
use scumble::history::{History, PastGroup};
use scumble::publish::{Outcome, make};

const POLICY: &str = r#"
source = "patients.csv"

[attributes]
name    = { role = "identifier", person = true }
age     = { role = "quasi-identifier", taxonomy = { number = true } }
disease = { role = "sensitive", taxonomy = { nested = { Lung = ["Asthma", "Flu"], Other = ["Diabetes", "HIV"] } } }
ward    = "insensitive"

[[models]]
name = "distinct-l-diversity"
l = 3

[algorithm]
name = "m-invariance"
m = 3

[release]
to = "release"
"#;

/// Publishes four people of whom three were in groups of Asthma, Diabetes and Flu before.
fn published(folder: &Path, format: &str) -> PathBuf {
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).expect("a temporary folder")
    };
    write(
        "patients.csv",
        "name,age,disease,ward\nAnn,30,Flu,A\nBob,40,Diabetes,B\nCat,50,Flu,C\nDan,60,Flu,D\n",
    );
    write("policy.toml", &format!("{POLICY}format = \"{format}\"\n"));
    let path = folder.join("policy.toml");
    let policy = PolicyFile::read(&path).and_then(|p| p.policy()).unwrap_or_else(|e| panic!("{e}"));
    let mut clock = Clock::new();
    let refused = carry_out(
        policy,
        &How {
            base: folder,
            seed: Some(1),
            all: false,
            keeper: None,
            engine: None,
            publisher: &Publisher::default(),
        },
        &mut clock,
    );
    let refused = refused.unwrap_or_else(|e| panic!("{e}"));
    assert!(refused.made.is_none(), "without a past three people with Flu cannot be hidden");
    let Carried { policy, mut extract, .. } = refused;
    let code =
        |text: &str| extract.table.sensitive[0].taxonomy.find(text).expect("in the taxonomy");
    let mut values: Vec<(u32, u64)> = ["Asthma", "Diabetes", "Flu"].map(|v| (code(v), 1)).to_vec();
    values.sort_unstable();
    let group = |newest| PastGroup { values: values.clone(), counterfeits: 0, newest };
    let groups = vec![group(true), group(true), group(false)];
    // By row, which is by record: nobody is like another. Bob was with Ann; Dan returns.
    extract.table.past = Some(History { groups, of_row: vec![1, 1, 2, 3] });
    let outcome =
        make(&extract.table, &*policy.algorithm.algorithm, &policy.requirements, 1, &|_, _| true);
    assert!(matches!(outcome, Outcome::Made(_)), "it is possible with counterfeits");
    let carried = Carried::new(policy, extract, outcome, 1, false, &crate::observer::Silent)
        .unwrap_or_else(|e| panic!("{e}"));
    let (publisher, request) = (
        Publisher::default(),
        PublishRequest { seed: Some(1), repair: Repair::Off, ..PublishRequest::default() },
    );
    let options = Task { publisher: &publisher, request: &request };
    let Carried { policy, extract, made: Some(made), read: Some(read), answer, .. } = &carried
    else {
        panic!("it was made")
    };
    let (utility, gate) = (&answer.utility, &answer.gate);
    let utility = utility.iter().map(|(name, loss)| (name.clone(), loss.value)).collect();
    let job =
        Job { policy, extract, made, expected: read, utility: &utility, gate, id: None, options };
    let target = folder.join("release");
    std::fs::create_dir(&target).expect("a temporary folder is writable");
    job.write(&target, 1, &mut clock).unwrap_or_else(|e| panic!("{e}"));
    target
}

fn checked(folder: &Path) -> Result<crate::answer::Checked, Failures> {
    Publisher::default().check(&folder.into(), &CheckRequest::default())
}

#[test]
fn counterfeits_are_written_read_back_and_not_to_be_edited() {
    for format in ["csv", "parquet"] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let target = published(folder.path(), format);
        let file = target.join(format!("counterfeits.{format}"));
        assert!(file.is_file());
        let answer = checked(&target).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(answer.keeps, Some(true), "{:?}", answer.reasons);
        let groups = answer.groups.expect("anatomized");
        // Three groups of Asthma, Diabetes and Flu for four people.
        assert_eq!((groups.number, groups.counterfeits, answer.rows), (3, 5, 4));
        if format == "csv" {
            let text = std::fs::read_to_string(&file).expect("just written");
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!((lines[0], lines.len()), ("group,count", 4));
            // The same in another writing is another file; another number does not fit.
            std::fs::write(&file, text.replace(",2", ",02")).expect("writable");
            let answer = checked(&target).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(answer.keeps, Some(false));
            std::fs::write(&file, text.replace(",2", ",1")).expect("writable");
            let problems = checked(&target).expect_err("another number").to_string();
            assert!(
                problems.contains(
                    "another number of records and counterfeits than of sensitive values"
                ),
                "{problems}"
            );
            assert!(problems.contains("its hash differs"), "{problems}");
        }
        std::fs::remove_file(&file).expect("is there");
        let problems = checked(&target).expect_err("a file is missing").to_string();
        assert!(problems.contains("counterfeits"), "{problems}");
    }
}
