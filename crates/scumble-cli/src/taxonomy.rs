//! `scumble taxonomy build` and `check`.

use crate::{Answer, show, to_json};
use clap::Subcommand;
use scumble::encode::encode;
use scumble::failure::{Failure, Failures};
use scumble::policy::read_rule;
use scumble::taxonomy::{Rule, Taxonomy, write_rows};
use scumble_publisher::answer::{Against, BuiltTaxonomy, CheckedTaxonomy, VERSION};
use scumble_publisher::publish::source::read_taxonomy;
use scumble_publisher::table::columns::{self, ReadOptions};
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Subcommand)]
pub enum Command {
    /// Write the taxonomy of a column as an ARX-style CSV (it lists the values of the data)
    Build {
        /// The table
        data: PathBuf,
        /// The column
        #[arg(long)]
        column: String,
        #[command(flatten)]
        rule: RuleArguments,
        /// Where to; standard output unless given
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Check an ARX-style CSV: one root, no value twice, and, with a table, every value covered
    Check {
        /// The taxonomy
        file: PathBuf,
        /// A table that it should cover
        #[arg(long, requires = "column")]
        data: Option<PathBuf>,
        /// The column of the table
        #[arg(long, requires = "data")]
        column: Option<String>,
        /// The order of its lines means something
        #[arg(long)]
        ordered: bool,
        /// List values that are not covered (they are personal data)
        #[arg(long)]
        show_values: bool,
    },
}

#[derive(clap::Args)]
#[group(required = true, multiple = true)]
pub struct RuleArguments {
    /// Numbers in intervals of rising widths
    #[arg(long, value_name = "5,10,20", value_delimiter = ',', conflicts_with_all = ["dates", "prefix", "flat"])]
    intervals: Vec<String>,
    /// With intervals: one group below this
    #[arg(long, requires = "intervals")]
    low: Option<String>,
    /// With intervals: one group from here on
    #[arg(long, requires = "intervals")]
    high: Option<String>,
    /// Dates in calendar units: week, month, quarter, year, decade
    #[arg(long, value_name = "month,year", value_delimiter = ',', conflicts_with_all = ["prefix", "flat"])]
    dates: Vec<String>,
    /// Text masked from the right
    #[arg(long, conflicts_with = "flat")]
    prefix: bool,
    /// With prefix: the number of characters of the longest text there may be
    #[arg(long, requires = "prefix", value_name = "CHARACTERS")]
    length: Option<usize>,
    /// The value or nothing
    #[arg(long)]
    flat: bool,
}

impl RuleArguments {
    /// The rule, read by the parser of policies.
    fn rule(&self, column: &str) -> Result<Rule, Failures> {
        // A list or text of JSON is one of TOML.
        let text = if self.prefix {
            let length = self.length.map(|n| format!(", length = {n}")).unwrap_or_default();
            format!("{{ prefix = true{length} }}")
        } else if self.flat {
            "{ flat = true }".to_owned()
        } else if !self.dates.is_empty() {
            format!("{{ dates = {} }}", json!(self.dates))
        } else {
            let ends = [("low", &self.low), ("high", &self.high)].into_iter();
            let ends =
                ends.filter_map(|(name, end)| Some(format!(", {name} = {}", json!(end.as_ref()?))));
            format!("{{ intervals = {}{} }}", json!(self.intervals), ends.collect::<String>())
        };
        read_rule(column, &text)
    }
}

pub fn run(command: Command) -> Result<Answer, Failures> {
    match command {
        Command::Build { data, column, rule, output } => {
            build(&data, &column, &rule.rule(&column)?, output.as_deref())
        }
        Command::Check { file, data, column, ordered, show_values } => {
            check(&file, data.as_deref().zip(column.as_deref()), ordered, show_values)
        }
    }
}

fn read_column(data: &Path, column: &str) -> Result<columns::Column, Failures> {
    let read =
        columns::read(data, &ReadOptions::default(), Some(&[column.to_owned()]), &|_, _| true)?;
    read.columns.into_iter().next().ok_or_else(|| {
        Failure::usage("no-such-column", format!("`{}` has no column `{column}`", data.display()))
            .into()
    })
}

fn build(
    data: &Path,
    column: &str,
    rule: &Rule,
    output: Option<&Path>,
) -> Result<Answer, Failures> {
    let read = read_column(data, column)?;
    let values: Vec<&str> = read.values.iter().collect();
    if values.iter().all(|v| v.is_empty()) {
        return Err(Failure::data("no-values", format!("column `{column}` has no values")).into());
    }
    let (taxonomy, _) = encode(column, rule, None, &values, &[String::new()])?;
    let text = write_rows(&taxonomy.rows());
    let mut answer = BuiltTaxonomy {
        version: VERSION,
        column: column.to_owned(),
        values: taxonomy.rows().len() as u64,
        levels: taxonomy.levels() as u64,
        file: output.map(|path| path.display().to_string()),
        rows: None,
    };
    let Some(output) = output else {
        answer.rows = Some(taxonomy.rows());
        return Ok(Answer { text, json: to_json(&answer)?, yes: true });
    };
    scumble_publisher::publish::write_whole(output, &text)?;
    let text = format!(
        "Wrote {}: {} values, {} levels above them.\nIt lists values of the data: keep it as safe as the data.\n",
        output.display(),
        show::grouped(answer.values),
        answer.levels
    );
    Ok(Answer { text, json: to_json(&answer)?, yes: true })
}

fn check(
    file: &Path,
    against: Option<(&Path, &str)>,
    ordered: bool,
    show_values: bool,
) -> Result<Answer, Failures> {
    let name = file.display().to_string();
    let taxonomy = Taxonomy::from_rows(&name, read_taxonomy(file, &name)?, ordered, false)?;
    let mut answer = CheckedTaxonomy {
        version: VERSION,
        taxonomy: name,
        values: taxonomy.leaves() as u64,
        levels: taxonomy.levels() as u64,
        root: taxonomy.label(taxonomy.root()).into_owned(),
        against: None,
    };
    let mut text = format!(
        "{}: {} values, {} levels above them, root `{}`\n",
        answer.taxonomy,
        show::grouped(answer.values),
        answer.levels,
        answer.root
    );
    let mut missing: Vec<String> = Vec::new();
    if let Some((data, column)) = against {
        let read = read_column(data, column)?;
        let uncovered = |v: &&str| !v.is_empty() && taxonomy.find(v).is_none();
        missing = read.values.iter().filter(uncovered).map(str::to_owned).collect();
        if missing.is_empty() {
            text.push_str(&format!("covers every value of `{column}` in {}\n", data.display()));
        } else {
            let values = if missing.len() == 1 {
                "one value".into()
            } else {
                format!("{} values", missing.len())
            };
            text.push_str(&format!("misses {values} of `{column}` in {}\n", data.display()));
            if show_values {
                missing.iter().for_each(|v| text.push_str(&format!("  {v}\n")));
            } else {
                text.push_str("  hint: `--show-values` lists them (they are personal data)\n");
            }
        }
        answer.against = Some(Against {
            data: data.display().to_string(),
            column: column.to_owned(),
            missing: missing.len() as u64,
            missing_values: if show_values { missing.clone() } else { Vec::new() },
        });
    }
    Ok(Answer { text, json: to_json(&answer)?, yes: missing.is_empty() })
}
