//! `scumble taxonomy build` and `check`.

use crate::{Answer, show, to_json, watch};
use clap::Subcommand;
use scumble::catalogue::did_you_mean;
use scumble::failure::{Failure, Failures};
use scumble::policy::Source;
use scumble::policy::spec::{Number, PrefixSpec, TaxonomySpec, True};
use scumble::taxonomy::{Granularity, write_rows};
use scumble_publisher::answer::{Against, BuiltTaxonomy, CheckedTaxonomy};
use scumble_publisher::inspect::taxonomies::{BuildTaxonomyRequest, CheckTaxonomyRequest};
use scumble_publisher::publisher::Publisher;
use scumble_publisher::table::columns::ReadOptions;
use std::path::PathBuf;

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
    /// The rule as it stands in a policy.
    fn rule(&self) -> Result<TaxonomySpec, Failures> {
        if self.prefix {
            let length = self.length.map(|n| Number::read(&n.to_string()));
            return Ok(TaxonomySpec::Prefix { prefix: PrefixSpec::Every(True), length });
        }
        if self.flat {
            return Ok(TaxonomySpec::flat());
        }
        if !self.dates.is_empty() {
            return Ok(TaxonomySpec::dates(Failures::all(self.dates.iter().map(|u| unit(u)))?));
        }
        let number = |text: &String| Number::read(text);
        Ok(TaxonomySpec::Intervals {
            intervals: self.intervals.iter().map(number).collect(),
            low: self.low.as_ref().map(number),
            high: self.high.as_ref().map(number),
            unit: None,
        })
    }
}

fn unit(name: &str) -> Result<Granularity, Failures> {
    let found = Granularity::ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, unit)| *unit).ok_or_else(|| {
        Failure::usage("wrong-value", format!("there is no calendar unit `{name}`"))
            .hint(did_you_mean(name, Granularity::ALL.map(|(known, _)| known)))
            .into()
    })
}

pub fn run(command: Command) -> Result<Answer, Failures> {
    let observer = watch::Terminal::new();
    let publisher = Publisher::observed_by(&observer);
    match command {
        Command::Build { data, column, rule, output } => {
            let request = BuildTaxonomyRequest {
                data: Source::from(data.as_path()),
                read: ReadOptions::default(),
                column,
                rule: rule.rule()?,
                to: output,
            };
            let answer = publisher.build_taxonomy(&request);
            observer.clear();
            let answer = answer?;
            Ok(Answer { text: built(&answer), json: to_json(&answer)?, yes: true })
        }
        Command::Check { file, data, column, ordered, show_values } => {
            let against = data.map(|data| Source::from(data.as_path())).zip(column);
            let read = ReadOptions::default();
            let request = CheckTaxonomyRequest { file, against, read, ordered, show_values };
            let answer = publisher.check_taxonomy(&request);
            observer.clear();
            let answer = answer?;
            let yes = answer.against.as_ref().is_none_or(|against| against.missing == 0);
            Ok(Answer { text: checked(&answer), json: to_json(&answer)?, yes })
        }
    }
}

fn built(answer: &BuiltTaxonomy) -> String {
    let Some(file) = &answer.file else {
        return write_rows(answer.rows.as_deref().unwrap_or_default());
    };
    format!(
        "Wrote {file}: {} values, {} levels above them.\nIt lists values of the data: keep it as safe as the data.\n",
        show::grouped(answer.values),
        answer.levels
    )
}

fn checked(answer: &CheckedTaxonomy) -> String {
    let mut text = format!(
        "{}: {} values, {} levels above them, root `{}`\n",
        answer.taxonomy,
        show::grouped(answer.values),
        answer.levels,
        answer.root
    );
    let Some(Against { data, column, missing, missing_values }) = &answer.against else {
        return text;
    };
    if *missing == 0 {
        text.push_str(&format!("covers every value of `{column}` in {data}\n"));
        return text;
    }
    let values = if *missing == 1 { "one value".into() } else { format!("{missing} values") };
    text.push_str(&format!("misses {values} of `{column}` in {data}\n"));
    missing_values.iter().for_each(|value| text.push_str(&format!("  {value}\n")));
    if missing_values.is_empty() {
        text.push_str("  hint: `--show-values` lists them (they are personal data)\n");
    }
    text
}
