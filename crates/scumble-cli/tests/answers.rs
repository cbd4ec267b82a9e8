//! Answers as JSON: they can be read back to equal values, they keep their schemas, and they say
//! everything that the text says.

#[path = "answers/schema.rs"]
mod schema;
#[path = "answers/text.rs"]
mod text;

use scumble_publisher::answer::{
    Answered, AttackTarget, Attacked, Better, BuiltTaxonomy, Checked, CheckedTaxonomy, Compared,
    Estimated, Experiments, Explained, Headroom, Inspection, Listed, Loaded, Noted,
    PrivatelyAnswered, Published, ShownRelease, Synthesized, Verified, VerifiedLedger,
    schema::Schemas,
};
use scumble_publisher::attack::AttackAnswer;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder twice: in one commands answer with text, in the other with JSON. So both publish the
/// same for the first time.
struct Worlds {
    text: PathBuf,
    json: PathBuf,
    _scratch: tempfile::TempDir,
}

impl Worlds {
    fn new(fixture: &str) -> Worlds {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let (text, json) = (scratch.path().join("text"), scratch.path().join("json"));
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture);
        copy(&fixture, &text);
        copy(&fixture, &json);
        Worlds { text, json, _scratch: scratch }
    }

    fn write(&self, name: &str, contents: &str) {
        for folder in [&self.text, &self.json] {
            fs::write(folder.join(name), contents).expect("a file is written");
        }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.json.join(name)).expect("a file is there")
    }

    /// Runs a command that writes, in both.
    fn writes<T>(&self, schema: &str, arguments: &str) -> T
    where
        T: Serialize + DeserializeOwned + PartialEq + Debug,
    {
        let text = run(&self.text, arguments, &[]);
        answered(schema, arguments, &text, &run(&self.json, arguments, &["--json"]))
    }

    /// Runs a command that only reads, where the ledger and the releases are the same for both.
    fn reads<T>(&self, schema: &str, arguments: &str) -> T
    where
        T: Serialize + DeserializeOwned + PartialEq + Debug,
    {
        let text = run(&self.json, arguments, &[]);
        answered(schema, arguments, &text, &run(&self.json, arguments, &["--json"]))
    }
}

/// Arguments are separated by spaces; `~` stands for one within an argument.
fn run(folder: &Path, arguments: &str, more: &[&str]) -> String {
    let arguments: Vec<String> = arguments.split(' ').map(|a| a.replace('~', " ")).collect();
    let output = Command::new(env!("CARGO_BIN_EXE_scumble"))
        .current_dir(folder)
        .args(&arguments)
        .args(more)
        .output()
        .expect("scumble runs");
    let status = output.status.code();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(status, Some(0 | 1)), "{arguments:?}: {status:?} {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// Reads an answer back, holds it against its schema, and against the text.
fn answered<T>(schema: &str, arguments: &str, text: &str, json: &str) -> T
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let value: Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(value["version"], 2, "{arguments}");
    let typed: T =
        serde_json::from_str(json).unwrap_or_else(|e| panic!("{arguments}: {e}\n{json}"));
    let again = serde_json::to_string(&typed).expect("JSON");
    assert_eq!(serde_json::from_str::<Value>(&again).expect("JSON"), value, "{arguments}");
    assert_eq!(serde_json::from_str::<T>(&again).expect("the same type"), typed, "{arguments}");
    let wrong = schema::violations(schema, &value);
    assert!(wrong.is_empty(), "{arguments}: {wrong:#?}");
    let missing = text::missing(arguments, text, &value);
    assert!(missing.is_empty(), "{arguments}: the JSON lacks {missing:?}\n{text}\n{json}");
    typed
}

const CLINIC: &str = "tests/sessions/clinic";
const REPUBLISHED: &str = "../../examples/republished";
const FREEFORM: &str = "../../examples/freeform";

#[test]
fn of_publishing() {
    let worlds = Worlds::new(CLINIC);
    let policy = worlds.read("policy.toml");
    worlds.write("impossible.toml", &policy.replace("k = 3", "k = 13"));
    let sex = "role = \"quasi-identifier\", taxonomy = { flat = true }";
    let coins = "role = \"insensitive\", perturb = { keep = 0.5 }";
    worlds.write("coins.toml", &policy.replace(sex, coins));
    worlds.reads::<Inspection>("inspect", "inspect patients.csv");
    worlds.reads::<Published>("publish", "publish policy.toml --seed 1 --dry-run");
    let published: Published = worlds.writes("publish", "publish policy.toml --seed 1");
    assert_eq!(published.outcome.word(), "published");
    let refused: Published =
        worlds.reads("publish", "publish impossible.toml --seed 1 --to nowhere");
    assert_eq!(refused.outcome.word(), "refused");
    worlds.reads::<Checked>("check", "check release");
    worlds.reads::<Checked>("check", "check patients.csv --policy policy.toml");
    worlds.reads::<Checked>(
        "check",
        "check patients.csv --quasi-identifiers age,sex --sensitive illness --population 1000",
    );
    worlds.reads::<Compared>("compare", "compare policy.toml impossible.toml --seed 1");
    worlds.reads::<Answered>("query", "query release age~in~[30,~40]~and~illness~=~flu");
    worlds.reads::<Verified>("verify", "verify release");
    worlds.writes::<Loaded>("load", "load release --into clinic.db --table patients");
    worlds.reads::<Listed>("ledger-list", "ledger list");
    worlds.reads::<ShownRelease>("ledger-show", "ledger show release");
    worlds.reads::<VerifiedLedger>("ledger-verify", "ledger verify");
    worlds.reads::<Headroom>("headroom", "ledger headroom policy.toml --seed 2 --most 2");
    worlds.reads::<Published>("publish", "publish policy.toml --seed 2 --to second --dry-run");
    worlds.writes::<Noted>("ledger-note", "ledger withdraw release --because recalled");
    worlds.writes::<Published>("publish", "publish coins.toml --seed 7 --to coins --ledger other");
    worlds.reads::<Estimated>("estimate", "estimate coins sex");
}

#[test]
fn of_attacks() {
    let worlds = Worlds::new(REPUBLISHED);
    let both = "--release first --release second --register people.csv --name patient";
    worlds.reads::<Attacked>("attack", &format!("attack {both} --show-values"));
    worlds.reads::<Attacked>(
        "attack",
        "attack --release first --release second --truth truth.csv --name patient --fail-on certain~>~0",
    );
    let attacked: AttackAnswer = worlds.reads("attack", "attack --release first");
    let AttackAnswer::Releases(attacked) = attacked else { panic!("{attacked:?}") };
    assert_eq!(attacked.target, AttackTarget::Releases);
    let figures = attacked.attacks.iter().flat_map(|a| &a.figures);
    assert!(figures.into_iter().any(|f| f.better == Some(Better::Lower)));
    worlds.reads::<Explained>("why", &format!("why 10 {both}"));
    let explained: Explained = worlds.reads("why", &format!("why 14 --value Flu {both}"));
    assert!(!explained.inferences.is_empty());
    let worlds = Worlds::new(CLINIC);
    worlds.write(
        "statistics.csv",
        "statistic,of,over,value\nmean,days,*,6.25\nmean,days,age < 73,6.00\ncount,flu,job = nurse,2\n",
    );
    let attacked: AttackAnswer = worlds.reads(
        "attack-statistics",
        "attack --statistics statistics.csv --register patients.csv --name name",
    );
    assert!(matches!(attacked, AttackAnswer::Statistics(_)), "{attacked:?}");
    worlds
        .reads::<Attacked>("attack", "attack minimality --policy policy.toml --attribute illness");
}

#[test]
fn of_freeform() {
    let worlds = Worlds::new(FREEFORM);
    let checked: Checked =
        worlds.reads("check", "check patients.csv --policy policy.toml --show-values");
    assert!(!checked.freeform.is_empty());
    worlds.writes::<Published>("publish", "publish policy.toml --seed 1");
    worlds.reads::<Attacked>("attack", "attack freeform --release releases/minimal");
}

#[test]
fn of_private_queries() {
    let worlds = Worlds::new(CLINIC);
    for folder in [&worlds.text, &worlds.json] {
        run(folder, "example hospital", &[]);
    }
    let ask = "query --dp hospital/questions.toml --recipient university";
    worlds.reads::<PrivatelyAnswered>("private-query", &format!("{ask} --dry-run"));
    worlds.writes::<PrivatelyAnswered>("private-query", &format!("{ask} --seed 1"));
    let make = "synthesize hospital/questions.toml --recipient university";
    worlds.reads::<Synthesized>("synthesize", &format!("{make} --dry-run"));
    worlds.writes::<Synthesized>("synthesize", &format!("{make} --seed 1"));
}

#[test]
fn of_the_rest() {
    let worlds = Worlds::new(CLINIC);
    let check = "taxonomy check jobs.csv --data patients.csv --column job";
    worlds.reads::<CheckedTaxonomy>("taxonomy-check", check);
    let build = "taxonomy build patients.csv --column visit --dates month,quarter,year";
    worlds.reads::<BuiltTaxonomy>("taxonomy-build", build);
    worlds.writes::<BuiltTaxonomy>("taxonomy-build", &format!("{build} --output visits.csv"));
    worlds.reads::<Experiments>("reproduce-list", "reproduce --list");
    worlds.reads::<Schemas>("schemas", "schema");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder is made");
    for item in fs::read_dir(from).expect("a folder is there") {
        let item = item.expect("an item");
        let to = to.join(item.file_name());
        if item.path().is_dir() {
            copy(&item.path(), &to);
        } else {
            fs::copy(item.path(), to).expect("a file is copied");
        }
    }
}

/// The checks above notice what they are for.
#[test]
fn what_is_missing_is_noticed() {
    let json = serde_json::json!({ "share": 0.254, "name": "pvp_100", "people": 1234 });
    assert!(text::missing("attack", "25.4 % pvp_100, 1 234 people", &json).is_empty());
    assert_eq!(
        text::missing("attack", "25.5 % of 1 235, pvp_25", &json),
        ["25.5", "1235", "pvp_25"]
    );
    let list = serde_json::json!({ "version": 2, "schemas": [{ "name": 1 }], "more": true });
    let wrong = schema::violations("schemas", &list);
    assert_eq!(wrong.len(), 3, "{wrong:?}");
}
