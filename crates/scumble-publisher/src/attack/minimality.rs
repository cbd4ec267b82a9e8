//! The minimality attack on what a policy makes of its data.

use crate::answer::{
    Adversary, AttackOutcome, AttackTarget, Attacked, RegisterIs, Tested, VERSION,
};
use crate::attack::{AttackRequest, conditions, given, test};
use crate::observer::Phase;
use crate::publish::{Carried, Clock, How, carry_out, write_whole};
use crate::publisher::Task;
use crate::table::write::{Rows, quoted};
use hashbrown::HashMap;
use scumble::attack::Figure;
use scumble::attack::minimality::{
    Belief, Maker, Minimality, Options as Runs, Suspects, minimality,
};
use scumble::catalogue::{MINIMALITY, Parameters, did_you_mean};
use scumble::failure::{Argument, Failure, Failures, Remedy};
use scumble::release::Form;
use scumble::table::published;
use std::fmt::Write;

/// Carries out a policy as a dry run, and attacks what it would publish.
pub(crate) fn attack(options: Task<'_, AttackRequest>) -> Result<Attacked, Failures> {
    let mut clock = Clock::new();
    let limits = conditions(&options.fail_on)?;
    let mut problems = Failures::default();
    let texts =
        given(&options.with, || MINIMALITY.parameters.iter().map(|p| p.name), &mut problems);
    problems.or(())?;
    let parameters =
        Parameters::read(MINIMALITY.name, MINIMALITY.parameters, &texts).map_err(Failures)?;
    let runs = (MINIMALITY.build)(&parameters)?;
    let seed = options.seed.unwrap_or(1);
    let Some(file) = &options.policy else {
        return Err(Failures::from(
            Failure::usage(
                "needs-policy",
                "`minimality` runs the algorithm again, so it needs the policy",
            )
            .remedy(Remedy::give(Argument::Policy)),
        ));
    };
    let (base, publisher) = (&file.base, options.publisher);
    let how = How { base, seed: Some(seed), all: false, keeper: None, engine: None, publisher };
    let carried = carry_out(file.policy()?, &how, &mut clock)?;
    let table = &carried.extract.table;
    let Some(made) = &carried.made else {
        let reasons = carried.answer.reasons.iter().map(Failure::from);
        return Err(Failures(reasons.collect()));
    };
    let names: Vec<&str> = published(&table.sensitive).iter().map(|a| a.name.as_str()).collect();
    let attribute = match (&options.attribute, &names[..]) {
        (Some(name), _) => names.iter().position(|n| n == name).ok_or_else(|| {
            Failure::usage(
                "unknown-attribute",
                format!("`{name}` is not a sensitive attribute of the policy"),
            )
            .hint(did_you_mean(name, names.iter().copied()))
        })?,
        (None, [_]) => 0,
        (None, []) => {
            return Err(Failure::policy(
                "no-sensitive-attribute",
                "the policy has no sensitive attribute",
            )
            .into());
        }
        (None, _) => {
            return Err(Failure::usage("which-attribute", "which sensitive attribute?")
                .remedy(Remedy::words("say ").and_give(Argument::Attribute))
                .into());
        }
    };
    options.publisher.observer.phase(Phase::Run("minimality"));
    let maker = Maker {
        algorithm: &*carried.policy.algorithm.algorithm,
        requirements: &carried.policy.requirements,
        seed,
    };
    let how = Runs { attribute, seed, ..runs };
    let found = minimality(table, &made.form, &maker, &how, &|done, all| {
        options.publisher.observer.at(done, all)
    })?;
    options.publisher.observer.go_on()?;
    clock.lap("minimality");
    if let Some(file) = &options.people {
        write_whole(file, &everybody(&found, &carried, &made.form, attribute))?;
    }
    let outcome = AttackOutcome {
        attack: MINIMALITY.name.into(),
        adversary: Adversary {
            knows: table.quasi.iter().map(|a| a.name.clone()).collect(),
            register_is: Some(RegisterIs::Members),
            releases: 1,
            facts: 0,
            parameters: parameters.texts(),
        },
        people: Some(found.people.iter().map(|s| u64::from(s.people)).sum()),
        figures: figures(&found).into_iter().map(Into::into).collect(),
        top: Vec::new(),
        findings: findings(
            &found,
            |code| table.sensitive[attribute].taxonomy.leaf(code),
            options.show_values,
        ),
        breaches: Vec::new(),
        notes: notes(&found),
    };
    let conditions = test(&limits, &[(MINIMALITY.name, outcome.figures.as_slice())])?;
    Ok(Attacked {
        version: VERSION,
        target: AttackTarget::Policy,
        releases: vec![file.name.clone()],
        attribute: names[attribute].to_owned(),
        attacks: vec![outcome],
        failed: conditions.iter().filter(|t| t.met).map(Tested::words).collect(),
        conditions,
        warnings: carried.answer.warnings.clone(),
        engine: None,
        seconds: clock.seconds,
    })
}

fn figures(found: &Minimality) -> Vec<Figure> {
    let best = |posterior: bool| {
        let belief = |b: &scumble::attack::minimality::Belief| match posterior {
            true => b.posterior.as_ref().map_or(0.0, |p| p.to_f64()),
            false => b.random_worlds.to_f64(),
        };
        found.people.iter().flat_map(|s| s.values.iter().map(belief)).fold(0.0, f64::max)
    };
    let certain = found.people.iter().filter(|s| {
        s.values.iter().any(|b| b.posterior.as_ref().is_some_and(|p| p.to_f64() == 1.0))
    });
    let error =
        found.people.iter().flat_map(|s| s.values.iter().map(|b| b.error)).fold(0.0, f64::max);
    let mut figures = Vec::new();
    // Where no world was kept there is nothing to say about beliefs.
    if let Some((_, most)) = found.largest_gain() {
        let certain = certain.map(|s| u64::from(s.people)).sum();
        figures.push(Figure::share(
            "gain",
            most.gain(),
            "the largest gain over the share of a class",
        ));
        figures.push(Figure::share(
            "worst",
            best(true),
            "the strongest belief, knowing the algorithm",
        ));
        figures.push(Figure::count(
            "certain",
            certain,
            "people whose value is the same in all worlds kept",
        ));
        let about = "largest standard error of a belief; 0 if all worlds were tried";
        figures.push(Figure::number("sampling_error", error, about).descriptive());
    }
    figures.push(Figure::share(
        "worst_before",
        best(false),
        "the strongest belief without knowing the algorithm",
    ));
    figures.push(
        Figure::count("runs", found.runs, "worlds that the algorithm was run on").descriptive(),
    );
    figures.push(
        Figure::count("kept", found.reproduced, "of them made this release again").descriptive(),
    );
    figures
}

/// One line for every record of the extract: the strongest belief about its person, knowing the
/// algorithm. Of suppressed records nothing is believed.
fn everybody(found: &Minimality, carried: &Carried, form: &Form, attribute: usize) -> String {
    let extract = &carried.extract;
    let of: HashMap<(usize, &[u32]), &Suspects> =
        found.people.iter().map(|s| ((s.class, s.codes.as_slice()), s)).collect();
    let class_of = Rows::new(extract, form, &extract.layout, carried.seed).class_of();
    let names = extract.persons.as_ref().map(|persons| persons.column());
    let mut text = String::from("attack,row");
    names.iter().for_each(|names| text += &format!(",{}", quoted(&names.name, b',')));
    text += ",risk,estimator,certain,values\n";
    let taxonomy = &extract.table.sensitive[attribute].taxonomy;
    for (record, (&class, &row)) in class_of.iter().zip(extract.rows.of_records()).enumerate() {
        let codes: Vec<u32> =
            extract.table.quasi_codes.iter().map(|column| column[row as usize]).collect();
        let known =
            |b: &Belief| Some((taxonomy.leaf(b.value).to_owned(), b.posterior.as_ref()?.to_f64()));
        let suspects = of.get(&(class as usize, &codes[..]));
        let mut values: Vec<(String, f64)> =
            suspects.map_or(&[][..], |s| &s.values).iter().filter_map(known).collect();
        values.retain(|(_, p)| *p > 0.0);
        values.sort_by(|a, b| b.1.total_cmp(&a.1));
        let name = names.map_or(String::new(), |names| {
            format!(",{}", quoted(names.values.get(names.codes[record]), b','))
        });
        let told = values.first().map_or_else(
            || ",,".to_owned(),
            |(_, p)| {
                let certain = if found.exact && values.len() == 1 { "yes" } else { "no" };
                format!("{p:.6},by the worlds that make this release again,{certain}")
            },
        );
        let values: Vec<String> = values.iter().map(|(v, p)| format!("{v} {p:.6}")).collect();
        let (row, values) = (record + 1, quoted(&values.join("; "), b','));
        let _ = writeln!(text, "{},{row}{name},{told},{values}", MINIMALITY.name);
    }
    text
}

/// Who gains most, in words.
fn findings<'a>(
    found: &Minimality,
    value: impl Fn(u32) -> &'a str,
    show_values: bool,
) -> Vec<String> {
    let Some((suspects, belief)) = found.largest_gain().filter(|(_, b)| b.gain() > 0.0) else {
        return Vec::new();
    };
    let named = if show_values { format!("`{}`", value(belief.value)) } else { "a value".into() };
    let show = |f: &scumble::exact::Fraction| {
        f.ratio().map_or_else(|| format!("{:.4}", f.to_f64()), |r| r.to_string())
    };
    let after = belief.posterior.as_ref().map_or_else(String::new, show);
    vec![format!(
        "{} people of one class: {named} is believed with {after} instead of {}",
        suspects.people,
        show(&belief.random_worlds)
    )]
}

fn notes(found: &Minimality) -> Vec<String> {
    let mut notes = vec![
        "the adversary also knows the algorithm, its parameters, the seed and the models"
            .to_owned(),
    ];
    if !found.exact {
        notes.push(format!("there are too many worlds to try: {} were drawn", found.runs));
    }
    if found.reproduced == 0 && !found.exact {
        notes.push(
            "no world that was drawn made this release again: nothing was learnt, not that nothing can be".into(),
        );
    }
    notes
}
