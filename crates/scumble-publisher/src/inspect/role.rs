//! What a column may be to an adversary: judged by its name, then by the shape of its values, then
//! by whom it singles out.
//!
//! Names are compared by their parts, whatever the case and the separators, so `birth_date`,
//! `BirthDate` and `date-of-birth` are the same to us. Words of up to four letters, and those that
//! end with a point in the tables, must be whole parts; longer ones may begin a part
//! (`occupation-code`); words of at least seven letters may stand anywhere (`custbirthdate`). The
//! order of the tables decides between two that match: what names a person goes before what is
//! sensitive, and that before what others know.

use super::profile::{Profile, some};
use crate::answer::Kind;
use scumble::table::Role;

/// What the values of a column mean, where the name tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sense {
    /// Numbers are quantities.
    Quantity,
    /// Numbers are only names for something: the state with number 5 is not between 4 and 6.
    Name,
    /// Codes whose beginning is a region.
    Postal,
}

/// What a name says.
pub(super) struct Hint {
    pub role: Role,
    pub sense: Sense,
    topic: &'static str,
    why: &'static str,
    words: &'static [&'static str],
}

/// A suggested role.
pub(super) struct Suggestion {
    pub role: Role,
    pub basis: Basis,
    pub reason: String,
}

/// Where a suggestion comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    Name,
    Content,
    /// Neither name nor content say anything.
    Unknown,
}

const NAMES_PEOPLE: &str = "it says who somebody is and must not be published";
const PRIVATE: &str = "it is what others should not learn about a person";
const MONEY: &str = "amounts are private, and they may betray other things, such as a treatment";
const KNOWN: &str = "neighbours, colleagues or registers know it";

const fn hint(
    role: Role,
    sense: Sense,
    topic: &'static str,
    why: &'static str,
    words: &'static [&'static str],
) -> Hint {
    Hint { role, sense, topic, why, words }
}

#[rustfmt::skip]
const HINTS: &[Hint] = &[
    hint(Role::Identifier, Sense::Name, "a person's name", NAMES_PEOPLE, &[
        "surname", "lastname", "firstname", "fullname", "forename", "givenname", "familyname", "middlename",
        "maidenname", "username", "nickname", "vorname", "nachname", "familienname", "geburtsname", "nom", "prenom",
        "nombre", "apellido", "fname", "lname",
    ]),
    hint(Role::Identifier, Sense::Name, "an official number or document", NAMES_PEOPLE, &[
        "ssn", "socialsecurity", "nationalid", "passport", "driverlicense", "driverslicense", "drivinglicence",
        "licenseplate", "licenceplate", "taxid", "taxnumber", "mrn", "medicalrecord", "nhs", "insurancenumber",
        "insuranceid", "policynumber", "ausweis", "reisepass", "versicherungsnummer", "sozialversicherung", "svnr",
        "steuernummer", "steuerid", "kennzeichen", "passeport", "numerosecu", "securitesociale", "nir", "dni", "nie",
        "nif", "pasaporte", "seguridadsocial", "cpf", "vin", "imei",
    ]),
    hint(Role::Identifier, Sense::Name, "a way to reach a person", NAMES_PEOPLE, &[
        "email", "mail", "phone", "telephone", "mobile.", "cellphone", "fax", "tel", "telefon", "handy", "handynummer",
        "courriel", "portable.", "correo", "telefono", "movil.", "street", "strasse", "hausnummer", "housenumber",
        "calle", "ipaddress", "ip", "macaddress", "url", "website",
    ]),
    hint(Role::Identifier, Sense::Name, "an account", NAMES_PEOPLE, &[
        "iban", "accountnumber", "accountno", "accountid", "creditcard", "cardnumber", "kontonummer", "kreditkarte",
        "login", "deviceid", "cookie", "fingerprint", "signature", "photo", "numerocompte", "cuenta",
    ]),
    hint(Role::Sensitive, Sense::Name, "a state of health", PRIVATE, &[
        "diagnos", "disease", "illness", "icd", "condition", "symptom", "health", "hiv", "aids", "cancer", "injur",
        "disab", "allerg", "pregnan", "mental", "psych", "comorbid", "causeofdeath", "deathcause", "outcome",
        "severity", "krankheit", "befund", "verletzung", "behinderung", "symptome", "todesursache", "maladie",
        "blessure", "handicap", "enfermedad", "lesion", "discapacidad", "blood", "bloodtype", "genotype", "genetic",
        "drg",
    ]),
    hint(Role::Sensitive, Sense::Name, "a treatment or a finding", PRIVATE, &[
        "medication", "drug", "prescription", "treatment", "therapy", "procedure", "surgery", "testresult", "result",
        "labvalue", "medikament", "behandlung", "therapie", "operation", "medicament", "traitement", "medicamento",
        "tratamiento",
    ]),
    hint(Role::Sensitive, Sense::Quantity, "income or means", PRIVATE, &[
        "income", "salary", "wage", "earning", "pay", "wealth", "debt", "loan", "credit", "balance", "pension",
        "benefit", "einkommen", "gehalt", "lohn", "vermogen", "vermoegen", "schulden", "rente", "revenu", "salaire",
        "salario", "sueldo", "ingresos",
    ]),
    hint(Role::Sensitive, Sense::Quantity, "an amount of money", MONEY, &[
        "cost", "charge", "charges", "amount", "payment", "expense", "price", "kosten", "betrag", "montant", "cout",
        "coste", "costo", "importe",
    ]),
    hint(Role::Sensitive, Sense::Name, "a belief or an opinion", PRIVATE, &[
        "religio", "faith", "confession", "party.", "politic", "vote", "voting", "tradeunion", "opinion", "konfession",
        "partei", "gewerkschaft", "syndicat", "partido",
    ]),
    hint(Role::Sensitive, Sense::Name, "sexual life", PRIVATE, &["sexual", "orientation", "sexuell", "sexuel"]),
    hint(Role::Sensitive, Sense::Name, "an offence", PRIVATE, &[
        "crime", "criminal", "offence", "offense", "conviction", "arrest", "sentence.", "straftat", "delikt",
        "vorstrafe", "delit", "infraction", "delito", "condena",
    ]),
    hint(Role::QuasiIdentifier, Sense::Postal, "a postal code", KNOWN, &[
        "zip", "zipcode", "postcode", "postalcode", "postal.", "plz", "postleitzahl", "codepostal", "cp", "codigopostal",
    ]),
    hint(Role::QuasiIdentifier, Sense::Quantity, "birth or age", KNOWN, &[
        "birth", "dob", "yob", "age", "birthday", "birthdate", "dateofbirth", "alter.", "geburt", "geboren", "naissance",
        "edad", "nacimiento", "agegroup",
    ]),
    hint(Role::QuasiIdentifier, Sense::Name, "sex", KNOWN, &[
        "sex", "gender", "geschlecht", "sexe", "sexo", "genero", "genre.",
    ]),
    hint(Role::QuasiIdentifier, Sense::Name, "origin", KNOWN, &[
        "nationality", "country", "citizen", "race", "ethnic", "hispanic", "latino", "birthplace", "native",
        "language", "immigra", "migration", "nationalit", "staatsangehorigkeit", "staatsangehoerigkeit",
        "staatsburger", "herkunft", "sprache", "pays", "langue", "pais", "nacionalidad", "raza", "etnia", "idioma",
        "ancestry",
    ]),
    hint(Role::QuasiIdentifier, Sense::Name, "family", KNOWN, &[
        "marital", "civilstatus", "familystatus", "married", "familienstand", "etatcivil", "situationfamiliale",
        "estadocivil", "relationship", "spouse",
    ]),
    hint(Role::QuasiIdentifier, Sense::Quantity, "household", KNOWN, &[
        "children", "household", "familysize", "kinder", "haushalt", "enfants", "hijos", "hogar",
    ]),
    hint(Role::QuasiIdentifier, Sense::Quantity, "education", KNOWN, &[
        "education", "edu", "school", "degree", "qualification", "bildung", "schulabschluss", "abschluss", "diplome",
        "educacion", "estudios",
    ]),
    hint(Role::QuasiIdentifier, Sense::Name, "work", KNOWN, &[
        "occupation", "job", "profession", "workclass", "employ", "industry", "jobtitle", "company", "beruf",
        "arbeitgeber", "branche", "firma", "metier", "employeur", "entreprise", "ocupacion", "profesion", "empleo",
        "empresa", "oficio",
    ]),
    hint(Role::QuasiIdentifier, Sense::Name, "a place", KNOWN, &[
        "city", "town", "village", "region", "state.", "statenum", "statecode", "statename", "stateid", "statefips",
        "fips", "county", "district", "province", "municipality", "neighbourhood", "neighborhood", "location", "place",
        "residence", "ort", "wohnort", "stadt", "gemeinde", "kreis", "bundesland", "land", "ville", "commune",
        "departement", "ciudad", "provincia", "municipio", "localidad", "hospital", "clinic",
    ]),
    hint(Role::QuasiIdentifier, Sense::Quantity, "a position on the map", KNOWN, &[
        "latitude", "longitude", "lat", "lon", "lng", "gps", "coordinate",
    ]),
    hint(Role::QuasiIdentifier, Sense::Quantity, "when or how long something happened",
        "who knows of the event knows its time", &[
        "admission", "admit", "discharge", "visit", "appointment", "arrival", "departure", "deathmon", "deathday",
        "deathdate", "deathyear", "dateofdeath", "lengthofstay", "los", "staydays", "duration", "date", "timestamp",
        "datetime", "datum", "aufnahme", "entlassung", "verweildauer", "aufenthalt", "besuch", "fecha", "ingreso.",
        "alta", "jour", "hospitalisation", "sejour", "eventdate", "year", "month", "day",
    ]),
    hint(Role::Identifier, Sense::Name, "an address", NAMES_PEOPLE, &[
        "address", "addr", "adresse", "anschrift", "direccion", "account", "konto", "compte",
    ]),
    hint(Role::Identifier, Sense::Name, "a name", NAMES_PEOPLE, &["name", "fullname"]),
];

/// Words that, followed by one of [`NUMBERS`], are the number of a person.
#[rustfmt::skip]
const PEOPLE: &[&str] = &[
    "patient", "person", "customer", "client", "user", "member", "employee", "staff", "student", "pupil", "subject",
    "participant", "respondent", "citizen", "voter", "donor", "visitor", "case", "record", "kunde", "mitarbeiter",
    "schuler", "schueler", "nutzer", "mitglied", "fall", "paciente", "cliente", "usuario", "empleado", "alumno",
    "utilisateur", "salarie", "dossier", "resident", "tenant", "subscriber", "policyholder", "insured", "personal",
];

const NUMBERS: &[&str] = &[
    "id", "no", "nr", "num", "number", "nummer", "numero", "key", "uid", "uuid", "ref", "kennung",
];

/// The lower-case parts of a name, without accents.
fn parts(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let (mut parts, mut part) = (Vec::new(), String::new());
    for (i, &c) in chars.iter().enumerate() {
        let before = if i == 0 { ' ' } else { chars[i - 1] };
        let small_after = chars.get(i + 1).is_some_and(|n| n.is_lowercase());
        let hump =
            c.is_uppercase() && (before.is_lowercase() || before.is_uppercase() && small_after);
        let edge = hump
            || before.is_alphabetic() && c.is_ascii_digit()
            || before.is_ascii_digit() && c.is_alphabetic();
        if edge || !c.is_alphanumeric() {
            parts.push(std::mem::take(&mut part));
        }
        if c.is_alphanumeric() {
            c.to_lowercase().for_each(|c| push_plain(&mut part, c));
        }
    }
    parts.push(part);
    parts.retain(|p| !p.is_empty());
    parts
}

fn push_plain(text: &mut String, c: char) {
    match c {
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' => text.push('a'),
        'è' | 'é' | 'ê' | 'ë' => text.push('e'),
        'ì' | 'í' | 'î' | 'ï' => text.push('i'),
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' => text.push('o'),
        'ù' | 'ú' | 'û' | 'ü' => text.push('u'),
        'ç' => text.push('c'),
        'ñ' => text.push('n'),
        'ß' => text.push_str("ss"),
        // What a capital I with a dot decomposes to.
        '\u{307}' => (),
        c => text.push(c),
    }
}

/// Whether a word stands in a name, by the rules at the top.
fn has(parts: &[String], word: &str) -> bool {
    let whole = word.len() <= 4 || word.ends_with('.');
    let word = word.trim_end_matches('.');
    if !whole && word.len() >= 7 && parts.concat().contains(word) {
        return true;
    }
    (0..parts.len()).any(|from| {
        let mut joined = String::new();
        parts[from..].iter().any(|part| {
            joined.push_str(part);
            let plural = joined.strip_suffix('s').unwrap_or(&joined);
            joined == word || plural == word || !whole && joined.starts_with(word)
        })
    })
}

/// `patient_id`, `KundenNummer`: a person word at the start of a part and a number word at the end
/// of the name.
fn numbers_people(parts: &[String]) -> bool {
    let whole = parts.concat();
    let ends = parts.last().is_some_and(|last| NUMBERS.contains(&last.as_str()))
        || ["number", "nummer", "numero"].iter().any(|n| whole.ends_with(n))
        || PEOPLE.iter().any(|p| NUMBERS.iter().any(|n| whole == format!("{p}{n}")));
    ends && PEOPLE.iter().any(|p| parts.iter().any(|part| part.starts_with(p)))
}

static NUMBER_OF_A_PERSON: Hint =
    hint(Role::Identifier, Sense::Name, "the number of a person", NAMES_PEOPLE, &[]);
static KEY: Hint = hint(
    Role::Identifier,
    Sense::Name,
    "a key",
    "whoever has the key's table knows the person",
    &[],
);

fn hint_of(parts: &[String]) -> Option<&'static Hint> {
    if numbers_people(parts) {
        return Some(&NUMBER_OF_A_PERSON);
    }
    if let [only] = parts
        && ["id", "key", "uid", "uuid", "guid", "pid", "rowid", "nr", "no", "number", "nummer"]
            .contains(&only.as_str())
    {
        return Some(&KEY);
    }
    HINTS.iter().find(|hint| hint.words.iter().any(|word| has(parts, word)))
}

/// What each name says. Where all names begin with the same letter (`iage`, `isex`, …) that says
/// nothing, so it is left away if the name is not understood with it.
pub(super) fn hints(names: &[String]) -> Vec<Option<&'static Hint>> {
    let first = |name: &String| name.chars().next();
    let same = names.len() >= 3 && names.iter().all(|n| first(n) == first(&names[0]));
    let without = |name: &String| parts(&name.chars().skip(1).collect::<String>());
    let find = |name: &String| {
        hint_of(&parts(name)).or_else(|| if same { hint_of(&without(name)) } else { None })
    };
    names.iter().map(find).collect()
}

/// Suggests a role by name and content.
pub(super) fn suggest(p: &Profile, rows: u64) -> Suggestion {
    if let Some(hint) = p.hint {
        let mut reason = format!("its name says {}: {}", hint.topic, hint.why);
        if hint.role == Role::Sensitive && !p.varies() {
            reason += "; all rows have the same value, so it is known of everybody who is known to be in the table";
        }
        let role = if p.kind == Kind::Empty { Role::Insensitive } else { hint.role };
        if role == Role::Insensitive {
            reason = "it has no values".into();
        }
        return Suggestion { role, basis: Basis::Name, reason };
    }
    let content =
        |role, reason: &str| Suggestion { role, basis: Basis::Content, reason: reason.into() };
    let present = rows - p.missing;
    let nearly_unique = present >= 20 && p.distinct as f64 >= 0.9 * present as f64;
    let textual = matches!(p.kind, Kind::Text | Kind::Code);
    match p.kind {
        Kind::Empty => content(Role::Insensitive, "it has no values"),
        Kind::Constant => content(
            Role::Insensitive,
            "all rows have the same value, so it tells nobody from another",
        ),
        _ if p.shape.emails => content(Role::Identifier, "its values look like e-mail addresses"),
        _ if textual && p.shape.mean_length >= 40.0 && p.distinct * 2 >= present => content(
            Role::Identifier,
            "it looks like free text, which may name people and cannot be made coarser",
        ),
        _ if textual && nearly_unique => content(
            Role::Identifier,
            "nearly every row has a value of its own, as names and keys do",
        ),
        Kind::Number if nearly_unique && is_key(p, present) => content(
            Role::Identifier,
            "nearly every row has a whole number of its own, as keys and row numbers do",
        ),
        _ if p.shape.icd => {
            content(Role::Sensitive, "its values look like codes of diseases (ICD)")
        }
        Kind::Date => {
            content(Role::QuasiIdentifier, "it is a date: who knows of the event knows its time")
        }
        _ => Suggestion { role: Role::Insensitive, basis: Basis::Unknown, reason: String::new() },
    }
}

/// Whole numbers that count the rows, or that are all equally long and long enough for a key.
fn is_key(p: &Profile, present: u64) -> bool {
    let Some(numbers) = p.shape.numbers.as_ref().filter(|n| n.decimals == 0) else { return false };
    let dense =
        p.distinct == present && numbers.greatest.abs_diff(numbers.least) < present + present / 10;
    dense || p.shape.even.is_some_and(|length| length >= 6)
}

/// Decides about the columns that neither name nor content explained, and makes sure that there is
/// a quasi-identifier.
pub(super) fn settle(
    suggestions: &mut [Suggestion],
    profiles: &[Profile],
    found: &[(Vec<usize>, u64)],
    max_columns: usize,
) {
    for (i, s) in suggestions.iter_mut().enumerate().filter(|(_, s)| s.basis == Basis::Unknown) {
        // The sets are sorted, so this is one with the fewest columns.
        let Some((set, people)) = found.iter().find(|(set, _)| set.contains(&i)) else {
            let columns = if max_columns == 1 {
                "it alone does not single".into()
            } else {
                format!("no set of up to {max_columns} columns with it was found to single")
            };
            s.reason = format!(
                "its name and values say nothing, and {columns} anybody out; others may know it all the same"
            );
            continue;
        };
        let others: Vec<String> =
            set.iter().filter(|&&o| o != i).map(|&o| format!("`{}`", profiles[o].name)).collect();
        let with = if others.is_empty() {
            "it alone".into()
        } else {
            format!("together with {} it", others.join(" and "))
        };
        let people = if *people == 1 { "one row".into() } else { format!("{people} rows") };
        s.role = Role::QuasiIdentifier;
        s.reason = format!("its name and values say nothing, but {with} singles out {people}");
    }
    if suggestions.iter().any(|s| s.role == Role::QuasiIdentifier) {
        return;
    }
    // A policy needs one. What is published unchanged anyway comes first; a sensitive column only
    // if there is no other.
    let rank = |i: usize| match suggestions[i].role {
        Role::Insensitive if profiles[i].varies() => 3,
        Role::Insensitive => 2,
        Role::Identifier => 1,
        _ => 0,
    };
    let telling = |i: usize| (profiles[i].unique, profiles[i].effective);
    let better = |a: &usize, b: &usize| {
        let ((au, ae), (bu, be)) = (telling(*a), telling(*b));
        rank(*a).cmp(&rank(*b)).then(au.cmp(&bu)).then(ae.total_cmp(&be)).then(b.cmp(a))
    };
    if let Some(best) = (0..suggestions.len()).max_by(better) {
        let s = &mut suggestions[best];
        s.role = Role::QuasiIdentifier;
        s.reason = "no column looks like something that others know of a person, and a policy needs at least one; of \
                    those that could be it, this one tells the rows best apart"
            .into();
    }
}

/// The identifier that is best taken for the person: all values differ, and its name says so.
pub(super) fn person(suggestions: &[Suggestion], profiles: &[Profile], rows: u64) -> Option<usize> {
    let fits = |i: &usize| {
        let (s, p) = (&suggestions[*i], &profiles[*i]);
        s.role == Role::Identifier && p.missing == 0 && p.distinct == rows && rows > 0
    };
    // Numbers are given out so that they differ; that names differ is luck.
    let rank = |i: &usize| match (suggestions[*i].basis, profiles[*i].kind) {
        _ if profiles[*i].hint.is_some_and(|h| h.topic == "the number of a person") => 5,
        (Basis::Name, Kind::Code | Kind::Number) => 4,
        (Basis::Content, Kind::Code | Kind::Number) => 3,
        (Basis::Name, _) => 2,
        _ => 1,
    };
    (0..suggestions.len()).filter(fits).max_by_key(|i| (rank(i), std::cmp::Reverse(*i)))
}

/// What the steward should think about. `unchanged` rows are unique on the columns that are
/// published as they are.
pub(super) fn concerns(
    suggestions: &[Suggestion],
    profiles: &[Profile],
    person: Option<usize>,
    rows: u64,
    unchanged: u64,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let names = |wanted: &dyn Fn(&Suggestion, &Profile) -> bool| -> Vec<String> {
        let pairs = suggestions.iter().zip(profiles).filter(|(s, p)| wanted(s, p));
        pairs.map(|(_, p)| format!("`{}`", p.name)).collect()
    };
    if rows == 0 {
        warnings.push("there are no rows, so the suggestions rest on names alone".into());
    }
    if person.is_none() {
        warnings
            .push("no column tells persons apart: every row is taken for another person".into());
    }
    if names(&|s, _| s.role == Role::Sensitive).is_empty() {
        warnings.push(
            "no column looks sensitive: if one is, give it `role = \"sensitive\"` and a model such as \
             `distinct-l-diversity`, since k-anonymity does not protect what all members of a class share"
                .into(),
        );
    }
    let same = names(&|s, p| s.role == Role::Sensitive && !p.varies());
    if !same.is_empty() {
        warnings
            .push(format!("everybody has the same value in {}: no model can hide it", some(&same)));
    }
    let unknown =
        names(&|s, p| s.basis == Basis::Unknown && s.role == Role::Insensitive && p.varies());
    if !unknown.is_empty() {
        let alone = match unchanged {
            0 => String::new(),
            1 => "; for whoever knows them they single out one row".into(),
            n => format!("; for whoever knows them they single out {n} rows"),
        };
        warnings.push(format!(
            "published unchanged because nothing speaks against it: {}; think about who knows it, and what it betrays{alone}",
            some(&unknown)
        ));
    }
    let dates = names(&|s, p| s.role != Role::Identifier && p.shape.other_dates);
    if !dates.is_empty() {
        warnings.push(format!(
            "{} holds dates that are not written as YYYY-MM-DD: rewrite them, so that they can be published as months or years",
            some(&dates)
        ));
    }
    let odd = names(&|s, p| s.role != Role::Identifier && p.shape.odd > 0);
    if !odd.is_empty() {
        warnings.push(format!(
            "{} holds numbers except for a few values: correct these, or list them under `missing`, so that it can be \
             published in intervals",
            some(&odd)
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(name: &str) -> Option<(&'static str, &'static str)> {
        hint_of(&parts(name)).map(|h| (h.role.name(), h.topic))
    }

    #[test]
    fn names_are_read_by_their_parts() {
        assert_eq!(parts("DateOfBirth"), ["date", "of", "birth"]);
        assert_eq!(parts("patientID"), ["patient", "id"]);
        assert_eq!(parts("ICD10Code"), ["icd", "10", "code"]);
        assert_eq!(parts("native-country"), ["native", "country"]);
        assert_eq!(parts("Straße Nr."), ["strasse", "nr"]);
        assert_eq!(parts("Prénom"), ["prenom"]);
        assert!(parts("—").is_empty());
    }

    #[test]
    fn names_in_four_languages() {
        let check = |role: &str, names: &[&str]| {
            for name in names {
                assert_eq!(says(name).map(|s| s.0), Some(role), "{name}");
            }
        };
        check(
            "identifier",
            &[
                "name",
                "Surname",
                "last_name",
                "SSN",
                "e-mail",
                "EmailAddress",
                "phone_number",
                "home address",
                "patient_id",
                "PatientID",
                "customer no",
                "Kundennummer",
                "Vorname",
                "nom",
                "Prénom",
                "apellidos",
                "DNI",
                "teléfono",
                "id",
                "Passport No",
                "account",
                "Straße",
                "user_name",
                "doctor_name",
            ],
        );
        check(
            "quasi-identifier",
            &[
                "zip",
                "ZIP_CODE",
                "PLZ",
                "code postal",
                "birth_date",
                "DateOfBirth",
                "custbirthdate",
                "age",
                "Age at visit",
                "sex",
                "Geschlecht",
                "sexe",
                "género",
                "native-country",
                "country_code",
                "Nationalität",
                "race",
                "marital-status",
                "Familienstand",
                "estado civil",
                "education-num",
                "occupation",
                "workclass",
                "job title",
                "city_name",
                "state",
                "Wohnort",
                "admission_date",
                "length_of_stay",
                "employer",
                "fecha de ingreso",
                "edad",
            ],
        );
        check(
            "sensitive",
            &[
                "diagnosis",
                "Diagnose",
                "disease",
                "ICD10",
                "condition",
                "INCOME",
                "salary-class",
                "religion",
                "party",
                "sexual_orientation",
                "cost",
                "medication",
                "drug_name",
                "test result",
                "hiv",
                "crime",
                "Einkommen",
                "maladie",
                "enfermedad",
                "hourly_wage",
            ],
        );
        for name in
            ["page", "usage", "statement", "alternative", "trace", "embargo", "RAMNTALL", "x1", "—"]
        {
            assert_eq!(says(name), None, "{name}");
        }
    }

    #[test]
    fn a_letter_before_every_name_is_left_away() {
        let names =
            ["iage", "isex", "istatenum", "iinjury", "ideathmon", "ihispanic"].map(String::from);
        let roles: Vec<_> = hints(&names).iter().map(|h| h.map(|h| h.role.name())).collect();
        let quasi = Some("quasi-identifier");
        assert_eq!(roles, [quasi, quasi, quasi, Some("sensitive"), quasi, quasi]);
        let one = hints(&["iage".into(), "sex".into(), "zip".into()]);
        assert!(one[0].is_none());
    }
}
