//! `scumble reproduce`: the worked examples and experiments of the literature, again.

use crate::show::{grouped, table};
use crate::{Answer, to_json, watch};
use scumble::failure::{Failure, Failures};
use scumble_lab::papers::{self, PAPERS};
use scumble_lab::reproduce::{Options, examples, experiments as known, reproduce};
use scumble_publisher::answer::{
    Experiment, Experiments, Item, Reproduced, Reproduction, VERSION, WorkedPage, WorkedValue,
};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What is reproduced, with what.
#[derive(clap::Args)]
pub struct Arguments {
    /// Experiments, or `examples` for the worked examples; all of them if none is named
    names: Vec<String>,
    /// A folder that has `adult/adult.csv` and `adult/hierarchies/`; without it the example
    /// hospital is used
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
pub fn run(arguments: &Arguments) -> Result<Answer, Failures> {
    if arguments.list {
        return listed();
    }
    let examples = arguments.names.is_empty() || arguments.names.iter().any(|n| n == EXAMPLES);
    let only: Vec<String> = arguments.names.iter().filter(|n| *n != EXAMPLES).cloned().collect();
    let mut answer = Reproduction {
        version: VERSION,
        examples: Vec::new(),
        items: Vec::new(),
        experiments: None,
    };
    let mut text = String::new();
    if examples {
        text.push_str(&worked(&mut answer)?);
    }
    if arguments.names.is_empty() || !only.is_empty() {
        let reproduced = experiments(arguments, only)?;
        text.push_str(&shown(&reproduced));
        answer.experiments = Some(reproduced);
    }
    Ok(Answer { text, json: to_json(&answer)?, yes: answer.holds() })
}

fn listed() -> Result<Answer, Failures> {
    let mut experiments = vec![Experiment {
        name: EXAMPLES.to_owned(),
        about: "worked examples of the papers, with exact values".to_owned(),
    }];
    for (name, about) in known() {
        experiments.push(Experiment { name: name.to_owned(), about: about.to_owned() });
    }
    let rows: Vec<Vec<String>> =
        experiments.iter().map(|e| vec![e.name.clone(), e.about.clone()]).collect();
    let json = to_json(&Experiments { version: VERSION, experiments })?;
    Ok(Answer { text: table(&rows), json, yes: true })
}

/// Runs the pages of `papers/`.
fn worked(answer: &mut Reproduction) -> Result<String, Failures> {
    let mut rows = Vec::new();
    for (name, text) in PAPERS {
        let checks = papers::run(text);
        let wrong = checks.iter().filter(|c| c.wrong.is_some()).count();
        let title = text.lines().next().unwrap_or_default().trim_start_matches("# ");
        let verdict = if wrong == 0 {
            "all as the paper has them, or as corrected".into()
        } else {
            format!("{wrong} WRONG")
        };
        rows.push(vec![format!("{} values", checks.len()), title.to_owned(), verdict]);
        for check in checks.iter().filter(|c| c.wrong.is_some()) {
            let wrong = check.wrong.as_deref().unwrap_or_default();
            rows.push(vec![
                String::new(),
                format!("{name}, line {}: {}", check.line, check.text),
                wrong.to_owned(),
            ]);
        }
        let values = checks.into_iter().map(|c| WorkedValue {
            line: c.line,
            expected: c.text,
            holds: c.wrong.is_none(),
            found: c.wrong,
        });
        answer.examples.push(WorkedPage {
            page: (*name).to_owned(),
            title: title.to_owned(),
            values: values.collect(),
        });
    }
    answer.items = examples()?;
    Ok(format!("Worked examples\n\n{}\n{}", table(&rows), items_shown(&answer.items)))
}

fn experiments(arguments: &Arguments, only: Vec<String>) -> Result<Reproduced, Failures> {
    let observer = watch::Terminal::new();
    // What the policies name is written where it can be read, and removed again.
    let scratch = Scratch::new()?;
    let (policy, data) = match &arguments.data {
        Some(folder) => (scratch.adult(folder)?, "Adult"),
        None => (scratch.hospital()?, "the example hospital"),
    };
    let (base, pictures) = (scratch.0.clone(), arguments.pictures.clone());
    let options = Options {
        policy,
        base,
        data: data.into(),
        only,
        pictures,
        seed: arguments.seed,
        observer: &observer,
    };
    let answer = reproduce(&options);
    observer.clear();
    answer
}

/// A folder that goes when it is no longer needed.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, Failure> {
        let folder = std::env::temp_dir().join(format!("scumble-reproduce-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|e| {
            Failure::io(
                "cannot-write",
                format!(
                    "`{}` cannot be made: {}",
                    folder.display(),
                    scumble_publisher::describe(&e)
                ),
            )
        })?;
        Ok(Scratch(folder))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.0.join(name);
        path.parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|e| {
                Failure::io(
                    "cannot-write",
                    format!(
                        "`{}` cannot be written: {}",
                        path.display(),
                        scumble_publisher::describe(&e)
                    ),
                )
            })
    }

    /// The paper's attributes of Adult: seven quasi-identifiers, whose values stand in an order
    /// without meaning, as codes do, and occupation. Returns a policy.
    fn adult(&self, folder: &Path) -> Result<String, Failure> {
        let source = folder.join("adult/adult.csv");
        let read = |path: &Path| {
            std::fs::read_to_string(path).map_err(|e| {
                Failure::io("cannot-read", format!("`{}` cannot be read: {}", path.display(), scumble_publisher::describe(&e)))
                    .hint("give a folder with `adult/adult.csv` and `adult/hierarchies/`, or leave out `--data`")
            })
        };
        self.write("adult.csv", &read(&source)?)?;
        let mut policy = String::from("source = \"adult.csv\"\n[attributes]\n");
        for column in ["sex", "race", "marital-status", "education", "native-country", "workclass"]
        {
            let taxonomy =
                read(&folder.join(format!("adult/hierarchies/adult_hierarchy_{column}.csv")))?;
            let leaves = taxonomy
                .lines()
                .filter_map(|l| l.split(';').next())
                .filter(|l| !l.trim().is_empty());
            self.write(
                &format!("{column}.csv"),
                &leaves.map(|l| format!("{l};*\n")).collect::<String>(),
            )?;
            let how = format!("{{ file = \"{column}.csv\", ordered = true }}");
            let _ =
                writeln!(policy, "{column} = {{ role = \"quasi-identifier\", taxonomy = {how} }}");
        }
        policy.push_str(
            "age = { role = \"quasi-identifier\", taxonomy = { number = true } }\noccupation = { role = \"sensitive\" }\n\
             salary-class = { role = \"identifier\" }\n[[models]]\nname = \"k-anonymity\"\nk = 5\n[algorithm]\n\
             name = \"mondrian\"\n[release]\nto = \"nowhere\"\n",
        );
        Ok(policy)
    }

    /// Writes the hospital; returns a policy for the experiments.
    fn hospital(&self) -> Result<String, Failure> {
        for file in scumble_lab::example::files(2026, 10_000) {
            self.write(file.path, &file.text)?;
        }
        let policy = self.0.join("policy.toml");
        std::fs::read_to_string(&policy).map_err(|e| {
            Failure::io(
                "cannot-read",
                format!(
                    "`{}` cannot be read: {}",
                    policy.display(),
                    scumble_publisher::describe(&e)
                ),
            )
        })
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
