//! Remedies in the words of the command: arguments as flags, actions as subcommands.

use scumble::failure::{Action, Argument, Failure, Part, Remedy};

/// How the command spells an argument: the flag, and what stands for its value.
fn flag(argument: Argument) -> (&'static str, &'static str) {
    match argument {
        Argument::AllowUnknown => ("--allow-unknown", ""),
        Argument::Attribute => ("--attribute", "NAME"),
        Argument::Cluster => ("--cluster", ""),
        Argument::Delta => ("--delta", ""),
        Argument::Engine => ("--engine", ""),
        Argument::Epsilon => ("--epsilon", ""),
        Argument::Facts => ("--facts", "FILE"),
        Argument::FailOn => ("--fail-on", "CONDITION"),
        Argument::Header => ("--header", ""),
        Argument::In => ("--in", "COLUMN"),
        Argument::Key => ("--key", ""),
        Argument::Ledger => ("--ledger", ""),
        Argument::Mechanism => ("--mechanism", ""),
        Argument::Memory => ("--memory", ""),
        Argument::Metric => ("--metric", ""),
        Argument::Name => ("--name", "COLUMN"),
        Argument::People => ("--people", ""),
        Argument::Picture => ("--picture", ""),
        Argument::Policy => ("--policy", "FILE"),
        Argument::QuasiIdentifiers => ("--quasi-identifiers", "a,b,c"),
        Argument::Query => ("--query", ""),
        Argument::RaiseBudget => ("--raise-budget", ""),
        Argument::Recipient => ("--recipient", "NAME"),
        Argument::Reference => ("--reference", "FILE"),
        Argument::Register => ("--register", "FILE"),
        Argument::RegisterIs => ("--register-is", ""),
        Argument::Release => ("--release", "FOLDER"),
        Argument::Replace => ("--replace", ""),
        Argument::Seed => ("--seed", "NUMBER"),
        Argument::ShowValues => ("--show-values", ""),
        Argument::Spill => ("--spill", "FOLDER"),
        Argument::Statistics => ("--statistics", "FILE"),
        Argument::Table => ("--table", ""),
        Argument::To => ("--to", ""),
        Argument::Top => ("--top", ""),
        Argument::Seconds => ("--seconds", "N"),
        Argument::Truth => ("--truth", "FILE"),
        Argument::With => ("--with", "key=value"),
        Argument::Workload => ("--workload", "FILE"),
    }
}

/// The arguments with which the command does an action.
fn subcommand(action: &Action) -> String {
    match action {
        Action::Inspect => "inspect".into(),
        Action::Publish => "publish".into(),
        Action::BuildTaxonomy => "taxonomy build".into(),
        Action::CheckTaxonomy { column } => {
            format!("taxonomy check … --column {column} --show-values")
        }
        Action::ListLedger => "ledger list".into(),
        Action::ShowLedger => "ledger show".into(),
        Action::WithdrawRelease => "ledger withdraw".into(),
        Action::AddRelease => "ledger add".into(),
        Action::VerifyLedger => "ledger verify".into(),
        Action::RepeatAnswer { entry } => format!("ledger answer {entry}"),
        Action::Explain { topic } => format!("explain {topic}"),
        Action::StartScheduler => "cluster scheduler".into(),
        Action::StartExecutor => "cluster executor".into(),
    }
}

/// A remedy as a sentence.
pub fn words(remedy: &Remedy) -> String {
    remedy.0.iter().map(part).collect()
}

fn part(part: &Part) -> String {
    match part {
        Part::Words(words) => words.clone(),
        Part::Give(argument, Some(value)) => format!("`{} {value}`", flag(*argument).0),
        Part::Give(argument, None) => match flag(*argument) {
            (flag, "") => format!("`{flag}`"),
            (flag, value) => format!("`{flag} {value}`"),
        },
        Part::LeaveOut(argument) => format!("`{}`", flag(*argument).0),
        Part::Set { key, value } => format!("`{key} = {value}`"),
        Part::Run(action) => format!("`scumble {}`", subcommand(action)),
    }
}

/// A failure as text: the message, and the remedy on a line of its own.
pub fn told(failure: &Failure) -> String {
    match &failure.remedy {
        Some(remedy) => format!("{}\n  hint: {}", failure.message, words(remedy)),
        None => failure.message.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn flags_of(command: &clap::Command, found: &mut Vec<String>) {
        found.extend(command.get_arguments().filter_map(|a| a.get_long()).map(str::to_owned));
        command.get_subcommands().for_each(|c| flags_of(c, found));
    }

    #[test]
    fn every_argument_is_a_flag_of_the_command() {
        let mut flags = Vec::new();
        flags_of(&crate::Arguments::command(), &mut flags);
        for &argument in Argument::ALL {
            let name = flag(argument).0.trim_start_matches("--");
            // The flags of engines are there only where one is built in.
            let elsewhere = cfg!(not(feature = "cluster"))
                && matches!(
                    argument,
                    Argument::Engine | Argument::Cluster | Argument::Memory | Argument::Spill
                );
            assert!(elsewhere || flags.iter().any(|f| f == name), "--{name} is no flag");
        }
    }

    #[test]
    fn every_action_is_a_subcommand() {
        let actions = [
            Action::Inspect,
            Action::Publish,
            Action::CheckTaxonomy { column: "zip".into() },
            Action::ListLedger,
            Action::ShowLedger,
            Action::BuildTaxonomy,
            Action::WithdrawRelease,
            Action::AddRelease,
            Action::VerifyLedger,
            Action::RepeatAnswer { entry: 3 },
            Action::Explain { topic: "budget".into() },
            Action::StartScheduler,
            Action::StartExecutor,
        ];
        let command = crate::Arguments::command();
        for action in actions {
            let text = subcommand(&action);
            let mut words = text.split(' ');
            let first = command.find_subcommand(words.next().expect("a word")).expect("a command");
            if first.has_subcommands() {
                let second = words.next().expect("a second word");
                assert!(first.find_subcommand(second).is_some(), "{text}");
            }
        }
    }

    #[test]
    fn a_remedy_is_told_with_flags() {
        let remedy = Remedy::give(Argument::Register)
            .then(", or ")
            .and_give_value(Argument::With, "worlds=no")
            .then("; ")
            .and_run(Action::ListLedger)
            .then(" shows it");
        assert_eq!(
            words(&remedy),
            "give `--register FILE`, or `--with worlds=no`; `scumble ledger list` shows it"
        );
        assert_eq!(
            remedy.to_string(),
            "give `register`, or `with = worlds=no`; listing the ledger shows it"
        );
    }
}
