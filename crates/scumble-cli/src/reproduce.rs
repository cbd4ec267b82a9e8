//! `scumble reproduce`: the worked examples and experiments of the literature, again.

use crate::show::{grouped, table};
use crate::{Answer, example, to_json, watch};
use scumble::papers::{self, PAPERS};
use scumble::problem::{Problem, Problems};
use scumble_io::reproduce::{Item, Options, Reproduced, examples, experiments as known, reproduce};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What is reproduced, with what.
#[derive(clap::Args)]
pub struct Arguments {
    /// Experiments, or `examples` for the worked examples; all of them if none is named
    names: Vec<String>,
    /// A folder that has `adult/adult.csv` and `adult/hierarchies/`; without it the example hospital is used
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Draw the figures as SVG into this folder
    #[arg(long, value_name = "FOLDER")]
    pictures: Option<PathBuf>,
    /// Other random samples
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// List the experiments and do nothing
    #[arg(long)]
    list: bool,
}

/// The name of the worked examples among the experiments.
const EXAMPLES: &str = "examples";

/// Carries out what is asked for.
pub fn run(arguments: &Arguments) -> Result<Answer, Problems> {
    if arguments.list {
        return Ok(listed());
    }
    let examples = arguments.names.is_empty() || arguments.names.iter().any(|n| n == EXAMPLES);
    let only: Vec<String> = arguments.names.iter().filter(|n| *n != EXAMPLES).cloned().collect();
    let mut answer = Answer { text: String::new(), json: serde_json::json!({ "version": 1 }), yes: true };
    if examples {
        worked(&mut answer)?;
    }
    if arguments.names.is_empty() || !only.is_empty() {
        let reproduced = experiments(arguments, only)?;
        answer.yes &= reproduced.items.iter().all(|i| i.holds != Some(false));
        answer.text.push_str(&shown(&reproduced));
        answer.json["experiments"] = to_json(&reproduced)?;
    }
    Ok(answer)
}

fn listed() -> Answer {
    let rows = known().map(|(name, about)| (name.to_owned(), about.to_owned()));
    let rows = std::iter::once((EXAMPLES.to_owned(), "worked examples of the papers, with exact values".to_owned()))
        .chain(rows);
    let rows: Vec<Vec<String>> = rows.map(|(name, about)| vec![name, about]).collect();
    let json = rows.iter().map(|r| serde_json::json!({ "name": r[0], "about": r[1] })).collect();
    Answer { text: table(&rows), json, yes: true }
}

/// Runs the pages of `papers/`.
fn worked(answer: &mut Answer) -> Result<(), Problems> {
    let mut pages = Vec::new();
    let mut rows = Vec::new();
    for (name, text) in PAPERS {
        let checks = papers::run(text);
        let wrong = checks.iter().filter(|c| c.wrong.is_some()).count();
        answer.yes &= wrong == 0;
        let title = text.lines().next().unwrap_or_default().trim_start_matches("# ");
        let verdict =
            if wrong == 0 { "all as the paper has them, or as corrected".into() } else { format!("{wrong} WRONG") };
        rows.push(vec![format!("{} values", checks.len()), title.to_owned(), verdict]);
        for check in checks.iter().filter(|c| c.wrong.is_some()) {
            let wrong = check.wrong.as_deref().unwrap_or_default();
            rows.push(vec![String::new(), format!("{name}, line {}: {}", check.line, check.text), wrong.to_owned()]);
        }
        let checks = checks.iter().map(
            |c| serde_json::json!({ "line": c.line, "expected": c.text, "holds": c.wrong.is_none(), "found": c.wrong }),
        );
        pages.push(serde_json::json!({ "page": name, "title": title, "values": checks.collect::<Vec<_>>() }));
    }
    let _ = writeln!(answer.text, "Worked examples\n\n{}", table(&rows));
    answer.json["examples"] = pages.into();
    let items = examples()?;
    answer.yes &= items.iter().all(|i| i.holds != Some(false));
    answer.text.push_str(&items_shown(&items));
    answer.json["items"] = to_json(&items)?;
    Ok(())
}

fn experiments(arguments: &Arguments, only: Vec<String>) -> Result<Reproduced, Problems> {
    let watcher = watch::Terminal::new();
    // What the policies name is written where it can be read, and removed again.
    let scratch = Scratch::new()?;
    let (policy, data) = match &arguments.data {
        Some(folder) => (scratch.adult(folder)?, "Adult"),
        None => (scratch.hospital()?, "the example hospital"),
    };
    let (base, pictures) = (scratch.0.clone(), arguments.pictures.clone());
    let options = Options { policy, base, data: data.into(), only, pictures, seed: arguments.seed, watcher: &watcher };
    let answer = reproduce(&options);
    watcher.clear();
    answer
}

/// A folder that goes when it is no longer needed.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, Problem> {
        let folder = std::env::temp_dir().join(format!("scumble-reproduce-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|e| {
            Problem::new(format!("`{}` cannot be made: {}", folder.display(), scumble_io::describe(&e)))
        })?;
        Ok(Scratch(folder))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Problem> {
        let path = self.0.join(name);
        path.parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|e| Problem::new(format!("`{}` cannot be written: {}", path.display(), scumble_io::describe(&e))))
    }

    /// The paper's attributes of Adult: seven quasi-identifiers, whose values stand in an order without meaning, as codes
    /// do, and occupation. Returns a policy.
    fn adult(&self, folder: &Path) -> Result<String, Problem> {
        let source = folder.join("adult/adult.csv");
        let read = |path: &Path| {
            std::fs::read_to_string(path).map_err(|e| {
                Problem::new(format!("`{}` cannot be read: {}", path.display(), scumble_io::describe(&e)))
                    .hint("give a folder with `adult/adult.csv` and `adult/hierarchies/`, or leave out `--data`")
            })
        };
        self.write("adult.csv", &read(&source)?)?;
        let mut policy = String::from("source = \"adult.csv\"\n[attributes]\n");
        for column in ["sex", "race", "marital-status", "education", "native-country", "workclass"] {
            let taxonomy = read(&folder.join(format!("adult/hierarchies/adult_hierarchy_{column}.csv")))?;
            let leaves = taxonomy.lines().filter_map(|l| l.split(';').next()).filter(|l| !l.trim().is_empty());
            self.write(&format!("{column}.csv"), &leaves.map(|l| format!("{l};*\n")).collect::<String>())?;
            let how = format!("{{ file = \"{column}.csv\", ordered = true }}");
            let _ = writeln!(policy, "{column} = {{ role = \"quasi-identifier\", taxonomy = {how} }}");
        }
        policy.push_str(
            "age = { role = \"quasi-identifier\", taxonomy = { number = true } }\noccupation = { role = \"sensitive\" }\n\
             salary-class = { role = \"identifier\" }\n[[models]]\nname = \"k-anonymity\"\nk = 5\n[algorithm]\n\
             name = \"mondrian\"\n[release]\nto = \"nowhere\"\n",
        );
        Ok(policy)
    }

    /// Writes the hospital; returns a policy for the experiments.
    fn hospital(&self) -> Result<String, Problem> {
        for file in example::files(2026, 10_000) {
            self.write(file.path, &file.text)?;
        }
        let policy = self.0.join("policy.toml");
        std::fs::read_to_string(&policy)
            .map_err(|e| Problem::new(format!("`{}` cannot be read: {}", policy.display(), scumble_io::describe(&e))))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn shown(r: &Reproduced) -> String {
    let mut text = format!("Experiments with {}, {} records\n\n", r.data, grouped(r.records));
    text.push_str(&items_shown(&r.items));
    for picture in &r.pictures {
        let _ = writeln!(text, "drawn: {picture}");
    }
    text
}

/// Values side by side, in blocks of the same settings.
fn items_shown(items: &[Item]) -> String {
    let mut text = String::new();
    let row = |i: &Item| {
        let verdict = match i.holds {
            Some(true) => "as expected",
            Some(false) => "NOT AS EXPECTED",
            None => "",
        };
        vec![i.id.to_owned(), i.what.clone(), i.paper.clone(), i.ours.clone(), verdict.to_owned()]
    };
    let mut settings = "";
    let mut rows = Vec::new();
    for item in items {
        if item.settings != settings {
            settings = &item.settings;
            text.push_str(&block(&mut rows));
            let _ = writeln!(text, "{settings}:");
        }
        rows.push(row(item));
    }
    text.push_str(&block(&mut rows));
    text
}

/// The rows so far as a table; none are left.
fn block(rows: &mut Vec<Vec<String>>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let head = ["", "what", "paper", "here", ""].map(str::to_owned).to_vec();
    table(&std::iter::once(head).chain(rows.drain(..)).collect::<Vec<_>>()) + "\n"
}
