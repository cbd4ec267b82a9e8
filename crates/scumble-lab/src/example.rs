//! The example: a fictional city, its two hospitals, and the policies they publish by.
//!
//! A newcomer needs data that may be looked at, attacked and passed on, so nobody in it exists; and
//! it has to behave like a hospital's, or the attacks find nothing. So the files are drawn from a
//! seed, with the dependencies that real discharge tables have and that adversaries use: diagnosis
//! on age, sex, season and occupation; length of stay on diagnosis and age; cost on both;
//! occupation on age and sex; nationality on the district. Two further things are made for the
//! adversary. The city's register names nearly every patient with the same quasi-identifiers, which
//! is what linkage needs, and a second hospital treats many of the same people for the same
//! disease, which is what composition needs.
//!
//! The same seed gives the same bytes on every platform. Every draw is integer arithmetic on the
//! generator's own 64-bit words, not a distribution of `rand`, whose sampling may change from
//! version to version.
//!
//! "Age" here is the age a person reaches in 2026. It does not change between two admissions, so
//! what is possible at one hospital is possible at the other; the limits in the tables below leave
//! a year of room for it.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// One file of the example: its path relative to the example's folder, and its text.
pub struct File {
    /// Where it goes, relative to the example's folder, with `/` between folders.
    pub path: &'static str,
    /// What it contains: UTF-8, lines ended by LF.
    pub text: String,
}

/// The example hospital: extract, register, second hospital, taxonomies, policies.
///
/// The extract has `patients` rows, the second hospital two fifths as many, the register three
/// times as many.
pub fn files(seed: u64, patients: usize) -> Vec<File> {
    let mut city = City { draw: Draw(ChaCha8Rng::seed_from_u64(seed)), ssns: BTreeSet::new() };
    let general_people = city.people(patients, HOSPITAL_AGES);
    let general: Vec<Case> =
        general_people.iter().map(|person| Case::new(&mut city.draw, person)).collect();
    let clinic_people = city.people(patients / 5, HOSPITAL_AGES);
    let mut clinic = second_cases(&mut city.draw, &general, patients * 2 / 5 - patients / 5);
    clinic.extend(clinic_people.iter().map(|person| Case::new(&mut city.draw, person)));

    let treated = general_people.iter().chain(&clinic_people);
    let mut registered: Vec<&Person> = treated.filter(|_| city.draw.percent(95)).collect();
    let others = city.people((patients * 3).saturating_sub(registered.len()), CITY_AGES);
    registered.extend(&others);

    vec![
        File { path: "patients.csv", text: cases_csv(general) },
        File { path: "register.csv", text: register_csv(registered) },
        File { path: "clinic.csv", text: cases_csv(clinic) },
        File { path: "taxonomies/diagnosis.csv", text: diagnosis_taxonomy() },
        File { path: "taxonomies/occupation.csv", text: occupation_taxonomy() },
        File { path: "taxonomies/nationality.csv", text: nationality_taxonomy() },
        File { path: "policy.toml", text: POLICY.to_owned() },
        File { path: "clinic.toml", text: CLINIC_POLICY.to_owned() },
        File { path: "strict.toml", text: STRICT_POLICY.to_owned() },
        File { path: "questions.toml", text: QUESTIONS.to_owned() },
    ]
}

/// Draws from the seeded generator.
struct Draw(ChaCha8Rng);

impl Draw {
    /// A number from 0 to `n` - 1. The bias of multiplying is below 2⁻⁵⁰ for every `n` used here.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    fn percent(&mut self, p: u64) -> bool {
        self.below(100) < p
    }

    /// One of `items`, as often as its weight says.
    fn pick<'a, T>(&mut self, items: &'a [T], weight: impl Fn(&T) -> u64) -> &'a T {
        let total = items.iter().map(&weight).sum();
        let mut left = self.below(total);
        let chosen = items.iter().find(|item| {
            let weight = weight(item);
            let found = left < weight;
            left = left.saturating_sub(weight);
            found
        });
        chosen.expect("some item has a weight")
    }

    /// One word of a list of words, the early ones more often, as with names in any country.
    fn word(&mut self, words: &'static str) -> &'static str {
        let n = words.split_whitespace().count() as u64;
        let i = self.below(n).min(self.below(n));
        words.split_whitespace().nth(i as usize).expect("the list has n words")
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Sex {
    Female,
    Male,
}

impl Sex {
    /// The entry for this sex in a pair of one for women and one for men.
    fn of<T: Copy>(self, [women, men]: [T; 2]) -> T {
        match self {
            Sex::Female => women,
            Sex::Male => men,
        }
    }
}

struct Person {
    name: String,
    ssn: String,
    zip: String,
    birth_date: String,
    age: u64,
    sex: Sex,
    nationality: &'static str,
    occupation: &'static str,
}

/// Where people come from; it remembers the numbers it gave out.
struct City {
    draw: Draw,
    ssns: BTreeSet<u64>,
}

impl City {
    fn people(&mut self, n: usize, ages: &[AgeBand]) -> Vec<Person> {
        (0..n).map(|_| self.person(ages)).collect()
    }

    fn person(&mut self, ages: &[AgeBand]) -> Person {
        let ssn = self.ssn();
        let draw = &mut self.draw;
        let sex = draw.pick(&[Sex::Female, Sex::Male], |sex| {
            ages.iter().map(|band| sex.of(band.people)).sum()
        });
        let band = draw.pick(ages, |band| sex.of(band.people));
        let age = band.from + draw.below(band.to - band.from + 1);
        let year = 2026 - age;
        let birth_date = iso_date(year, draw.below(if leap(year) { 366 } else { 365 }));
        let district = draw.pick(DISTRICTS, |district| district.people);
        let zip = zip(draw, district);
        let country = draw
            .pick(COUNTRIES, |c| c.people * if c.name == HOME { 100 } else { district.foreign });
        let name = name(draw, country, *sex);
        // A value nobody recorded is unknown to the hospitals and to the register alike, so that a
        // missing value links as well, or as badly, as any other.
        let nationality = if draw.percent(1) { "" } else { country.name };
        let occupation = occupation(draw, age, *sex);
        let occupation = if draw.percent(1) { "" } else { occupation };
        Person { name, ssn, zip, birth_date, age, sex: *sex, nationality, occupation }
    }

    /// A social security number not given out before, of the form 9dd-01-dddd to 9dd-49-dddd: the
    /// American numbers these look like never begin so, which keeps ours from being anyone's.
    fn ssn(&mut self) -> String {
        let mut n = self.draw.below(100 * 49 * 10_000);
        while !self.ssns.insert(n) {
            n = self.draw.below(100 * 49 * 10_000);
        }
        format!("{}-{:02}-{:04}", 900 + n / 490_000, 1 + n / 10_000 % 49, n % 10_000)
    }
}

fn zip(draw: &mut Draw, district: &District) -> String {
    // The smaller of two draws: the first zips of a district are its crowded ones.
    let i = draw.below(district.zips).min(draw.below(district.zips));
    format!("{}{:02}", district.prefix, 1 + 3 * i)
}

/// First name and surname, both of the country's pool except for the one in eight whose family came
/// from elsewhere.
fn name(draw: &mut Draw, country: &Country, sex: Sex) -> String {
    let pool = if country.name == HOME && draw.percent(12) {
        draw.pick(NAMES, |_| 1)
    } else {
        &NAMES[country.names]
    };
    let first = draw.word(sex.of([pool.women, pool.men]));
    let surname = draw.word(pool.surnames);
    if draw.percent(4) {
        let second = draw.word(pool.surnames);
        if second != surname {
            return format!("{first} {surname}-{second}");
        }
    }
    format!("{first} {surname}")
}

fn occupation(draw: &mut Draw, age: u64, sex: Sex) -> &'static str {
    let retired = match age {
        0..=54 => 0,
        55..=62 => 7,
        63..=66 => 50,
        67..=74 => 95,
        _ => 100,
    };
    match age {
        0..=6 => "Preschool child",
        7..=16 => "Pupil",
        17..=18 => draw.pick(&[("Pupil", 70), ("Apprentice", 30)], |(_, weight)| *weight).0,
        19..=22 if draw.percent(70) => {
            draw.pick(&[("Student", 65), ("Apprentice", 35)], |(_, weight)| *weight).0
        }
        23..=27 if draw.percent(40) => "Student",
        _ if draw.percent(retired) => "Retired",
        _ => {
            draw.pick(OCCUPATIONS, |job| if age >= job.from_age { sex.of(job.people) } else { 0 })
                .name
        }
    }
}

/// One stay of one person in a hospital.
struct Case<'a> {
    person: &'a Person,
    diagnosis: &'static Diagnosis,
    /// Days since 1 January 2026.
    admission: u64,
    /// Length of stay in days.
    stay: u64,
    cost: u64,
}

impl<'a> Case<'a> {
    fn new(draw: &mut Draw, person: &'a Person) -> Self {
        let admission = admission(draw);
        let diagnosis = draw.pick(DIAGNOSES, |diagnosis| weight(diagnosis, person, admission));
        Case::of(draw, person, diagnosis, admission)
    }

    fn of(
        draw: &mut Draw,
        person: &'a Person,
        diagnosis: &'static Diagnosis,
        admission: u64,
    ) -> Self {
        let [days, fixed, daily] = diagnosis.care;
        // The product of two draws gives the long right tail of stays; its mean is one, its least
        // two fifths. From fifty on every year of age adds a hundredth.
        let spread = 40 + draw.below(100) * draw.below(100) / 40;
        let stay =
            ((days * spread * (100 + person.age.saturating_sub(50)) + 5_000) / 10_000).max(1);
        let cost = (fixed + daily * stay) * (92 + draw.below(17)) / 100;
        Case { person, diagnosis, admission, stay, cost: (cost + 5) / 10 * 10 }
    }
}

/// A day from 1 January to 30 September 2026, at a weekend half as often.
fn admission(draw: &mut Draw) -> u64 {
    loop {
        let day = draw.below(ADMISSION_DAYS);
        // 1 January 2026 was a Thursday; 0 is a Monday.
        let weekend = (day + 3) % 7 >= 5;
        if !weekend || draw.percent(50) {
            return day;
        }
    }
}

/// How much more or less often than others this person is admitted for `diagnosis` on this day.
fn weight(diagnosis: &Diagnosis, person: &Person, admission: u64) -> u64 {
    if !diagnosis.ages.contains(&person.age) {
        return 0;
    }
    let band = LIFE_BANDS.iter().filter(|&&from| from <= person.age).count() - 1;
    let risk =
        RISKS.iter().find(|risk| risk.0 == diagnosis.code() && risk.1.contains(&person.occupation));
    person.sex.of(diagnosis.sexes)
        * diagnosis.by_age[band]
        * season(diagnosis, admission)
        * risk.map_or(100, |risk| risk.2)
}

/// The season's percentage for a diagnosis on a day.
fn season(diagnosis: &Diagnosis, admission: u64) -> u64 {
    let (month, _) = month_and_day(2026, admission);
    SEASONS
        .iter()
        .find(|season| season.0 == diagnosis.code())
        .map_or(100, |season| season.1[month - 1])
}

/// Stays in the second hospital of `n` people who were in the first: for six in seven of them the
/// same diagnosis on another day, for the rest another disease.
///
/// People whose diagnosis does not come back within the year (a delivery, an appendix) are left
/// out.
fn second_cases<'a>(draw: &mut Draw, first: &[Case<'a>], n: usize) -> Vec<Case<'a>> {
    let mut again: Vec<&Case<'a>> = first.iter().filter(|case| case.diagnosis.recurs()).collect();
    let n = n.min(again.len());
    for i in 0..n {
        let j = i + draw.below((again.len() - i) as u64) as usize;
        again.swap(i, j);
    }
    again.truncate(n);
    again.into_iter().map(|case| second_case(draw, case)).collect()
}

fn second_case<'a>(draw: &mut Draw, first: &Case<'a>) -> Case<'a> {
    let same = draw.below(7) < 6;
    loop {
        let case = Case::new(draw, first.person);
        if case.admission == first.admission {
            continue;
        }
        if !same && case.diagnosis.code() != first.diagnosis.code() {
            return case;
        }
        // Thinning by the season keeps influenza in the winter here too; no season is above 400 %.
        if same && draw.below(400) < season(first.diagnosis, case.admission) {
            return Case::of(draw, first.person, first.diagnosis, case.admission);
        }
    }
}

fn leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// Month (1 to 12) and day of the month of a day of the year, counted from 0.
fn month_and_day(year: u64, mut day: u64) -> (usize, u64) {
    let february = if leap(year) { 29 } else { 28 };
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    (month, day + 1)
}

fn iso_date(year: u64, day: u64) -> String {
    let (month, day) = month_and_day(year, day);
    format!("{year}-{month:02}-{day:02}")
}

/// A hospital's table, by day of admission.
fn cases_csv(mut cases: Vec<Case>) -> String {
    cases.sort_by(|a, b| (a.admission, &a.person.ssn).cmp(&(b.admission, &b.person.ssn)));
    let header = "name,ssn,zip,birth_date,sex,nationality,occupation,admission_date,diagnosis,length_of_stay,cost";
    let rows = cases.iter().map(|Case { person, diagnosis, admission, stay, cost }| {
        let Person { name, ssn, zip, birth_date, sex, nationality, occupation, .. } = person;
        let (sex, admission, diagnosis) = (sex.of(["F", "M"]), iso_date(2026, *admission), diagnosis.name);
        format!(
            "{name},{ssn},{zip},{birth_date},{sex},{nationality},{occupation},{admission},{diagnosis},{stay},{cost}"
        )
    });
    lines(std::iter::once(header.to_owned()).chain(rows))
}

/// The register, sorted by what it says of people, so that its order does not tell who was a
/// patient.
fn register_csv(people: Vec<&Person>) -> String {
    let mut rows: Vec<String> = people
        .into_iter()
        .map(|Person { name, zip, birth_date, sex, nationality, occupation, .. }| {
            format!("{name},{zip},{birth_date},{},{nationality},{occupation}", sex.of(["F", "M"]))
        })
        .collect();
    rows.sort();
    lines(std::iter::once("name,zip,birth_date,sex,nationality,occupation".to_owned()).chain(rows))
}

fn diagnosis_taxonomy() -> String {
    lines(DIAGNOSES.iter().map(|diagnosis| {
        let (block, chapter) = diagnosis.block();
        format!("{};{block};{chapter};*", diagnosis.name)
    }))
}

fn occupation_taxonomy() -> String {
    lines(OCCUPATIONS.iter().map(|job| {
        let work = if NOT_IN_WORK.contains(&job.sector) { "Not in work" } else { "In work" };
        format!("{};{};{work};*", job.name, job.sector)
    }))
}

fn nationality_taxonomy() -> String {
    lines(
        COUNTRIES
            .iter()
            .map(|country| format!("{};{};{};*", country.name, country.region, country.continent)),
    )
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| line + "\n").collect()
}

/// The days on which people were admitted: 1 January to 30 September.
const ADMISSION_DAYS: u64 = 273;

/// A run of ages and how many women and men are of it.
struct AgeBand {
    from: u64,
    to: u64,
    people: [u64; 2],
}

const fn ages(from: u64, to: u64, women: u64, men: u64) -> AgeBand {
    AgeBand { from, to, people: [women, men] }
}

/// The city: per thousand or so. Nobody is born in 2026, so that everybody is older than every
/// admission.
const CITY_AGES: &[AgeBand] = &[
    ages(1, 5, 24, 25),
    ages(6, 10, 23, 24),
    ages(11, 17, 33, 35),
    ages(18, 22, 29, 30),
    ages(23, 29, 45, 46),
    ages(30, 39, 67, 68),
    ages(40, 49, 64, 64),
    ages(50, 59, 77, 76),
    ages(60, 69, 67, 62),
    ages(70, 79, 46, 38),
    ages(80, 84, 20, 14),
    ages(85, 89, 13, 7),
    ages(90, 94, 6, 2),
    ages(95, 99, 2, 0),
];

/// The people in hospital: small children, women of the age to give birth, and above all the old.
const HOSPITAL_AGES: &[AgeBand] = &[
    ages(1, 5, 27, 33),
    ages(6, 10, 12, 14),
    ages(11, 17, 18, 18),
    ages(18, 22, 20, 15),
    ages(23, 29, 48, 23),
    ages(30, 39, 72, 38),
    ages(40, 49, 42, 43),
    ages(50, 59, 64, 72),
    ages(60, 69, 73, 86),
    ages(70, 79, 80, 86),
    ages(80, 84, 45, 40),
    ages(85, 89, 34, 22),
    ages(90, 94, 17, 7),
    ages(95, 99, 5, 1),
];

/// A part of the city: the first three digits of its zips, how many zips, its size, and its share
/// of people of other nationalities in percent of the city's.
struct District {
    prefix: &'static str,
    zips: u64,
    people: u64,
    foreign: u64,
}

const fn district(prefix: &'static str, zips: u64, people: u64, foreign: u64) -> District {
    District { prefix, zips, people, foreign }
}

/// No German zip begins with 43, so these are nobody's.
const DISTRICTS: &[District] = &[
    district("431", 9, 30, 110), // Old Town
    district("432", 8, 24, 190), // Harbour
    district("433", 6, 14, 130), // University
    district("435", 9, 20, 70),  // Northfields
    district("438", 5, 9, 40),   // Hills
    district("439", 3, 3, 25),   // villages
];

/// The nationality of most; its share does not depend on the district.
const HOME: &str = "Germany";

struct Country {
    name: &'static str,
    region: &'static str,
    continent: &'static str,
    people: u64,
    /// Index into [`NAMES`].
    names: usize,
}

const fn country(
    [name, region, continent]: [&'static str; 3],
    people: u64,
    names: usize,
) -> Country {
    Country { name, region, continent, people, names }
}

const COUNTRIES: &[Country] = &[
    country([HOME, "Western Europe", "Europe"], 760, GERMAN),
    country(["Austria", "Western Europe", "Europe"], 9, GERMAN),
    country(["France", "Western Europe", "Europe"], 6, ROMANCE),
    country(["Netherlands", "Western Europe", "Europe"], 6, GERMAN),
    country(["Ireland", "Northern Europe", "Europe"], 3, ENGLISH),
    country(["Sweden", "Northern Europe", "Europe"], 2, GERMAN),
    country(["United Kingdom", "Northern Europe", "Europe"], 5, ENGLISH),
    country(["Croatia", "Southern Europe", "Europe"], 10, SLAVIC),
    country(["Greece", "Southern Europe", "Europe"], 9, ROMANCE),
    country(["Italy", "Southern Europe", "Europe"], 18, ROMANCE),
    country(["Spain", "Southern Europe", "Europe"], 7, ROMANCE),
    country(["Poland", "Eastern Europe", "Europe"], 26, SLAVIC),
    country(["Romania", "Eastern Europe", "Europe"], 20, ROMANCE),
    country(["Ukraine", "Eastern Europe", "Europe"], 22, SLAVIC),
    country(["Iraq", "Western Asia", "Asia"], 7, ARABIC),
    country(["Syria", "Western Asia", "Asia"], 20, ARABIC),
    country(["Turkey", "Western Asia", "Asia"], 38, TURKISH),
    country(["Afghanistan", "Southern Asia", "Asia"], 9, ARABIC),
    country(["India", "Southern Asia", "Asia"], 6, ASIAN),
    country(["China", "Eastern Asia", "Asia"], 4, ASIAN),
    country(["Vietnam", "Eastern Asia", "Asia"], 4, ASIAN),
    country(["Morocco", "Northern Africa", "Africa"], 5, ARABIC),
    country(["Tunisia", "Northern Africa", "Africa"], 2, ARABIC),
    country(["Ghana", "Western Africa", "Africa"], 3, ENGLISH),
    country(["Nigeria", "Western Africa", "Africa"], 3, ENGLISH),
    country(["Brazil", "South America", "Americas"], 3, ROMANCE),
    country(["Colombia", "South America", "Americas"], 2, ROMANCE),
    country(["United States", "Northern America", "Americas"], 5, ENGLISH),
];

const GERMAN: usize = 0;
const ENGLISH: usize = 1;
const ROMANCE: usize = 2;
const SLAVIC: usize = 3;
const TURKISH: usize = 4;
const ARABIC: usize = 5;
const ASIAN: usize = 6;

/// First names and surnames that go together.
struct Names {
    women: &'static str,
    men: &'static str,
    surnames: &'static str,
}

const NAMES: &[Names] = &[
    Names {
        women: "Anna Maria Ursula Monika Petra Elisabeth Sabine Renate Helga Karin Brigitte Ingrid Erika Andrea \
                Gisela Claudia Susanne Gabriele Christa Christine Hildegard Anja Barbara Katharina Birgit Stefanie \
                Julia Nicole Martina Heike Lena Laura Sophie Emma Mia Hannah Lea Käthe Jördis Frieda Charlotte \
                Johanna Clara Ida Lotte Annegret Wiebke Dörte Greta Mathilda",
        men: "Peter Michael Thomas Andreas Wolfgang Klaus Jürgen Günter Stefan Christian Uwe Werner Horst Frank \
              Dieter Manfred Gerhard Hans Bernd Thorsten Matthias Helmut Walter Heinz Martin Jörg Rolf Jens Sven \
              Alexander Jan Rainer Holger Karl Dirk Lukas Leon Finn Paul Jonas Felix Maximilian Emil Anton Götz \
              Björn Konrad Ludwig Theo Ruben",
        surnames: "Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schäfer Koch Bauer \
                   Richter Klein Wolf Schröder Neumann Schwarz Zimmermann Braun Krüger Hofmann Hartmann Lange \
                   Schmitt Werner Krause Meier Lehmann Schmid Schulze Maier Köhler Herrmann König Walter Mayer \
                   Huber Kaiser Fuchs Peters Lang Scholz Möller Weiß Jung Hahn Schubert Vogel Friedrich Keller \
                   Günther Frank Berger Winkler Roth Beck Lorenz Baumann Franke Albrecht Schuster Simon Ludwig \
                   Böhm Winter Kraus Martin Schumacher Krämer Vogt Stein Jäger Otto Sommer Groß Seidel Heinrich \
                   Brandt Haas Schreiber Graf Dietrich Ziegler Kuhn Kühn Pohl Engel Horn Busch Bergmann Voigt \
                   Sauer Arnold Wolff Pfeiffer",
    },
    Names {
        women: "Mary Sarah Emily Grace Aoife Niamh Olivia Charlotte Abigail Esther Jessica Ruth Siobhán Blessing \
                Joy",
        men: "John James William Daniel Patrick Seán Samuel Oliver David Joseph Emmanuel Kevin Liam George Kwame",
        surnames: "Smith Jones O'Brien Taylor Brown Murphy Kelly O'Connor Wilson Walsh Davies Mensah Okafor Evans \
                   Johnson O'Neill Adeyemi Boateng Clarke Byrne Owusu Ryan Wright Eze McCarthy",
    },
    Names {
        women: "Giulia Sofia Elena Carmen Francesca Ioana Chiara Lucía Camille Ana Paola Mariana Élodie Eleni \
                Beatriz",
        men: "Marco Antonio Giuseppe José Andrei Luca Nikos Pierre Carlos Ștefan Matteo Rafael Gaël Ion Miguel",
        surnames: "Rossi Russo Popescu Ferrari García Papadopoulos Esposito Ionescu Martínez Bianchi Dubois Silva \
                   Popa Romano Fernández Lefèvre Georgiou Stan Conti Muñoz Santos Dumitru Greco Moreau Țurcanu",
    },
    Names {
        women: "Agnieszka Katarzyna Olena Małgorzata Oksana Ivana Joanna Natalia Zofia Iryna Marija Ewa Kateryna \
                Vesna",
        men: "Piotr Krzysztof Oleksandr Tomasz Ivan Andrzej Marko Dmytro Paweł Łukasz Josip Serhii Jakub Zoran",
        surnames: "Nowak Kovačić Shevchenko Wójcik Horvat Bondarenko Kamiński Lewandowski Kovalenko Zieliński \
                   Babić Tkachenko Szymański Marić Woźniak Kravchenko Dąbrowski Jurić Melnyk Kozłowski Novak Boyko",
    },
    Names {
        women: "Fatma Ayşe Emine Elif Zeynep Hatice Merve Gülsüm Esra Büşra Defne Çiğdem Sevgi Nur",
        men: "Mehmet Mustafa Ahmet Ali Hüseyin Emre İbrahim Murat Yusuf Can Ömer Burak Kerem Çağlar",
        surnames: "Yılmaz Kaya Demir Çelik Şahin Yıldız Öztürk Aydın Arslan Doğan Kılıç Aslan Çetin Kara Koç Kurt \
                   Özdemir Şimşek Polat Güneş",
    },
    Names {
        women: "Fatima Maryam Aisha Layla Zahra Noor Amina Yasmin Salma Rania Hanan Samira Huda Khadija",
        men: "Mohammed Ahmad Omar Hassan Ali Khaled Ibrahim Yousef Karim Mahmoud Samir Tarek Bilal Reza",
        surnames: "Haddad Khalil Hussein Rahimi Mansour Nasser Ahmadi Saleh Alaoui Hamdan Karimi Darwish Benali \
                   Aziz Trabelsi Najjar Sharif Mousa Noori Bakir",
    },
    Names {
        women: "Priya Linh Mei Ananya Lan Xiu Kavya Hoa Ying Deepa Thảo Lakshmi",
        men: "Minh Wei Rahul Arjun Hùng Jun Vikram Đức Ming Anil Nam Rohan",
        surnames: "Nguyễn Wang Sharma Trần Li Patel Zhang Lê Singh Chen Phạm Kumar Liu Reddy Vũ Huang Iyer Đặng",
    },
];

struct Occupation {
    name: &'static str,
    sector: &'static str,
    /// The least age to work in it.
    from_age: u64,
    /// Women and men of working age in it; 0 where age alone decides.
    people: [u64; 2],
}

const fn job(
    name: &'static str,
    sector: &'static str,
    from_age: u64,
    people: [u64; 2],
) -> Occupation {
    Occupation { name, sector, from_age, people }
}

/// The sectors that are none.
const NOT_IN_WORK: [&str; 2] = ["In education", "At home"];

const OCCUPATIONS: &[Occupation] = &[
    job("Preschool child", "In education", 0, [0, 0]),
    job("Pupil", "In education", 0, [0, 0]),
    job("Apprentice", "In education", 0, [0, 0]),
    job("Student", "In education", 0, [0, 0]),
    job("Retired", "At home", 0, [0, 0]),
    job("Homemaker", "At home", 19, [70, 6]),
    job("Unemployed", "At home", 19, [50, 60]),
    job("Care assistant", "Health and teaching", 19, [75, 18]),
    job("Nurse", "Health and teaching", 21, [85, 18]),
    job("Physician", "Health and teaching", 26, [18, 18]),
    job("Childcare worker", "Health and teaching", 20, [50, 5]),
    job("Teacher", "Health and teaching", 25, [60, 26]),
    job("Accountant", "Office", 22, [36, 22]),
    job("Civil servant", "Office", 21, [60, 52]),
    job("Lawyer", "Office", 27, [9, 11]),
    job("Office clerk", "Office", 19, [150, 60]),
    job("Engineer", "Technology", 24, [18, 70]),
    job("Software developer", "Technology", 22, [14, 55]),
    job("Technician", "Technology", 20, [14, 55]),
    job("Carpenter", "Production", 19, [2, 32]),
    job("Electrician", "Production", 19, [3, 48]),
    job("Factory worker", "Production", 19, [40, 105]),
    job("Mechanic", "Production", 19, [3, 50]),
    job("Farmer", "Production", 19, [5, 10]),
    job("Cleaner", "Services", 19, [62, 12]),
    job("Cook", "Services", 19, [30, 28]),
    job("Driver", "Services", 21, [6, 68]),
    job("Salesperson", "Services", 19, [120, 56]),
    job("Warehouse worker", "Services", 19, [20, 66]),
];

/// A reason to be in hospital, and who has it how often.
struct Diagnosis {
    /// ICD-10 category and a short name, as the tables write it.
    name: &'static str,
    /// Weights for women and men.
    sexes: [u64; 2],
    /// Who can have it at all.
    ages: RangeInclusive<u64>,
    /// Weights by age, per band of [`LIFE_BANDS`].
    by_age: [u64; 7],
    /// Mean stay in days of people up to fifty, fixed cost, cost per day.
    care: [u64; 3],
}

impl Diagnosis {
    fn code(&self) -> &'static str {
        &self.name[..3]
    }

    fn recurs(&self) -> bool {
        !self.code().starts_with('O') && self.code() != "K35"
    }

    /// The block whose range contains the code, and the block's chapter.
    fn block(&self) -> (&'static str, &'static str) {
        let block =
            BLOCKS.iter().find(|(block, _)| (&block[..3]..=&block[4..7]).contains(&self.code()));
        *block.expect("every diagnosis has a block")
    }
}

const fn dx(
    name: &'static str,
    sexes: [u64; 2],
    ages: RangeInclusive<u64>,
    by_age: [u64; 7],
    care: [u64; 3],
) -> Diagnosis {
    Diagnosis { name, sexes, ages, by_age, care }
}

/// Where the bands of [`Diagnosis::by_age`] begin.
const LIFE_BANDS: [u64; 7] = [0, 6, 18, 35, 50, 65, 80];

/// Names and blocks are those of the ICD-10 of the World Health Organization, shortened; the
/// numbers are invented, in the order of size of European discharge statistics.
const DIAGNOSES: &[Diagnosis] = &[
    dx("A04 Bacterial enteritis", [10, 10], 0..=120, [30, 14, 14, 10, 8, 10, 14], [5, 500, 430]),
    dx("A09 Gastroenteritis", [11, 10], 0..=120, [190, 80, 50, 30, 22, 26, 36], [3, 350, 410]),
    dx("A41 Sepsis", [9, 11], 0..=120, [8, 3, 5, 9, 24, 44, 60], [13, 3200, 900]),
    dx(
        "B20 HIV disease with infections",
        [4, 16],
        18..=120,
        [0, 0, 6, 12, 9, 3, 0],
        [14, 3600, 610],
    ),
    dx("B24 HIV disease", [5, 15], 18..=120, [0, 0, 10, 14, 10, 3, 0], [6, 1900, 460]),
    dx("C18 Colon cancer", [9, 11], 30..=120, [0, 0, 3, 10, 32, 50, 46], [13, 7200, 560]),
    dx("C25 Pancreatic cancer", [10, 10], 35..=120, [0, 0, 0, 4, 16, 26, 18], [14, 8600, 590]),
    dx("C34 Lung cancer", [8, 13], 35..=120, [0, 0, 0, 8, 48, 58, 26], [9, 4600, 560]),
    dx("C50 Breast cancer", [200, 2], 25..=120, [0, 0, 1, 5, 8, 7, 4], [5, 4800, 540]),
    dx("C61 Prostate cancer", [0, 20], 48..=120, [0, 0, 0, 3, 36, 52, 28], [7, 5400, 520]),
    dx("C91 Lymphoid leukaemia", [9, 11], 0..=120, [18, 10, 3, 3, 8, 12, 10], [15, 8200, 690]),
    dx("E10 Type 1 diabetes", [10, 10], 0..=120, [16, 44, 18, 12, 8, 5, 3], [6, 500, 400]),
    dx("E11 Type 2 diabetes", [9, 11], 30..=120, [0, 0, 4, 18, 38, 44, 36], [9, 500, 400]),
    dx("E86 Dehydration", [12, 9], 0..=120, [32, 8, 4, 4, 8, 28, 80], [4, 300, 370]),
    dx("F10 Alcohol use disorder", [5, 16], 15..=120, [0, 18, 60, 105, 84, 22, 4], [9, 250, 300]),
    dx("F11 Opioid use disorder", [5, 15], 18..=120, [0, 0, 22, 24, 8, 1, 0], [12, 300, 310]),
    dx("F20 Schizophrenia", [9, 11], 16..=120, [0, 5, 40, 34, 16, 6, 2], [26, 300, 290]),
    dx("F32 Depressive episode", [13, 8], 12..=120, [0, 46, 56, 58, 46, 20, 12], [22, 250, 280]),
    dx("G40 Epilepsy", [9, 11], 0..=120, [56, 42, 18, 16, 18, 20, 20], [5, 600, 450]),
    dx(
        "G45 Transient ischaemic attack",
        [10, 10],
        30..=120,
        [0, 0, 2, 8, 26, 46, 60],
        [4, 900, 470],
    ),
    dx("I10 Hypertension", [14, 7], 25..=120, [0, 0, 4, 18, 32, 46, 56], [4, 300, 380]),
    dx("I20 Angina pectoris", [8, 12], 30..=120, [0, 0, 1, 16, 54, 62, 40], [4, 1900, 480]),
    dx(
        "I21 Acute myocardial infarction",
        [7, 13],
        30..=120,
        [0, 0, 2, 24, 70, 74, 64],
        [7, 4200, 720],
    ),
    dx("I48 Atrial fibrillation", [10, 10], 25..=120, [0, 0, 4, 14, 46, 82, 76], [4, 1500, 460]),
    dx("I50 Heart failure", [10, 10], 30..=120, [0, 0, 1, 8, 34, 100, 190], [10, 800, 430]),
    dx("I63 Cerebral infarction", [10, 10], 25..=120, [0, 0, 3, 12, 42, 80, 110], [11, 2600, 600]),
    dx("J03 Acute tonsillitis", [10, 10], 0..=70, [80, 66, 44, 12, 4, 1, 0], [3, 300, 380]),
    dx(
        "J06 Upper respiratory infection",
        [9, 11],
        0..=120,
        [180, 44, 10, 6, 5, 5, 6],
        [3, 250, 380],
    ),
    dx("J10 Influenza", [10, 10], 0..=120, [66, 34, 12, 12, 16, 26, 38], [5, 400, 430]),
    dx("J18 Pneumonia", [9, 11], 0..=120, [120, 34, 16, 22, 44, 86, 140], [8, 900, 450]),
    dx("J44 COPD", [9, 12], 40..=120, [0, 0, 0, 16, 62, 78, 44], [8, 600, 420]),
    dx("J45 Asthma", [10, 10], 0..=120, [60, 44, 14, 10, 10, 6, 4], [4, 350, 400]),
    dx("K35 Acute appendicitis", [9, 11], 3..=120, [24, 150, 90, 42, 22, 10, 4], [4, 2300, 430]),
    dx("K40 Inguinal hernia", [2, 18], 0..=120, [44, 14, 24, 38, 58, 52, 22], [2, 1900, 410]),
    dx("K70 Alcoholic liver disease", [6, 14], 28..=120, [0, 0, 3, 24, 42, 16, 3], [10, 1100, 430]),
    dx("K80 Gallstones", [13, 8], 16..=120, [0, 6, 50, 58, 62, 52, 42], [5, 2500, 440]),
    dx("M16 Hip arthrosis", [11, 9], 38..=120, [0, 0, 0, 10, 46, 66, 30], [9, 6600, 420]),
    dx("M17 Knee arthrosis", [12, 8], 38..=120, [0, 0, 0, 8, 50, 70, 22], [8, 6900, 420]),
    dx("M51 Disc disorder", [9, 11], 18..=120, [0, 0, 34, 72, 56, 26, 10], [6, 2400, 430]),
    dx("M54 Back pain", [12, 9], 16..=120, [0, 6, 36, 62, 56, 36, 36], [5, 300, 370]),
    dx("N20 Kidney stone", [7, 13], 16..=120, [0, 3, 42, 56, 48, 26, 8], [3, 1500, 430]),
    dx(
        "N39 Urinary tract infection",
        [14, 7],
        0..=120,
        [56, 26, 22, 14, 18, 36, 80],
        [5, 300, 400],
    ),
    dx("N40 Prostatic hyperplasia", [0, 20], 47..=120, [0, 0, 0, 8, 30, 56, 42], [6, 2300, 420]),
    dx("O80 Spontaneous delivery", [20, 0], 17..=48, [0, 40, 520, 150, 0, 0, 0], [3, 1500, 440]),
    dx("O82 Caesarean delivery", [20, 0], 17..=48, [0, 12, 180, 80, 0, 0, 0], [5, 2700, 460]),
    dx("S06 Intracranial injury", [9, 12], 0..=120, [190, 140, 42, 24, 26, 34, 70], [2, 700, 520]),
    dx("S52 Forearm fracture", [11, 10], 0..=120, [76, 130, 26, 24, 36, 34, 36], [3, 2100, 420]),
    dx("S72 Femur fracture", [14, 7], 0..=120, [12, 10, 7, 7, 18, 54, 150], [13, 5600, 450]),
    dx("S82 Lower leg fracture", [10, 11], 0..=120, [20, 46, 44, 46, 46, 30, 18], [6, 2900, 430]),
];

/// The blocks of the ICD-10 in use, each with its chapter. The range at the front decides what
/// belongs to it.
const BLOCKS: &[(&str, &str)] = &[
    ("A00-A09 Intestinal infections", "I Infectious"),
    ("A30-A49 Other bacterial diseases", "I Infectious"),
    ("B20-B24 HIV disease", "I Infectious"),
    ("C15-C26 Cancers of digestive organs", "II Neoplasms"),
    ("C30-C39 Cancers of respiratory organs", "II Neoplasms"),
    ("C50-C50 Cancers of the breast", "II Neoplasms"),
    ("C60-C63 Cancers of male genital organs", "II Neoplasms"),
    ("C81-C96 Cancers of blood and lymph", "II Neoplasms"),
    ("E10-E14 Diabetes mellitus", "IV Endocrine and metabolic"),
    ("E70-E90 Metabolic disorders", "IV Endocrine and metabolic"),
    ("F10-F19 Disorders due to substance use", "V Mental"),
    ("F20-F29 Schizophrenia and delusional disorders", "V Mental"),
    ("F30-F39 Mood disorders", "V Mental"),
    ("G40-G47 Episodic and paroxysmal disorders", "VI Nervous system"),
    ("I10-I15 Hypertensive diseases", "IX Circulatory"),
    ("I20-I25 Ischaemic heart diseases", "IX Circulatory"),
    ("I30-I52 Other heart diseases", "IX Circulatory"),
    ("I60-I69 Cerebrovascular diseases", "IX Circulatory"),
    ("J00-J06 Acute upper respiratory infections", "X Respiratory"),
    ("J09-J18 Influenza and pneumonia", "X Respiratory"),
    ("J40-J47 Chronic lower respiratory diseases", "X Respiratory"),
    ("K35-K38 Diseases of the appendix", "XI Digestive"),
    ("K40-K46 Hernia", "XI Digestive"),
    ("K70-K77 Diseases of the liver", "XI Digestive"),
    ("K80-K87 Diseases of gallbladder and pancreas", "XI Digestive"),
    ("M15-M19 Arthrosis", "XIII Musculoskeletal"),
    ("M50-M54 Dorsopathies", "XIII Musculoskeletal"),
    ("N20-N23 Urolithiasis", "XIV Genitourinary"),
    ("N30-N39 Other diseases of the urinary system", "XIV Genitourinary"),
    ("N40-N51 Diseases of male genital organs", "XIV Genitourinary"),
    ("O80-O84 Delivery", "XV Pregnancy and childbirth"),
    ("S00-S09 Injuries to the head", "XIX Injury"),
    ("S50-S59 Injuries to the forearm", "XIX Injury"),
    ("S70-S79 Injuries to the hip and thigh", "XIX Injury"),
    ("S80-S89 Injuries to the lower leg", "XIX Injury"),
];

/// What comes and goes with the months from January to September, in percent; at most 400.
const SEASONS: &[(&str, [u64; 9])] = &[
    ("A09", [140, 130, 120, 100, 80, 80, 90, 90, 80]),
    ("E86", [70, 70, 80, 90, 100, 140, 180, 170, 100]),
    ("J06", [180, 180, 150, 110, 80, 60, 50, 50, 90]),
    ("J10", [360, 400, 220, 50, 10, 3, 3, 3, 10]),
    ("J18", [160, 160, 140, 110, 85, 70, 60, 60, 80]),
    ("S52", [120, 110, 80, 90, 110, 120, 110, 110, 100]),
    ("S82", [150, 140, 100, 80, 90, 100, 100, 100, 90]),
];

/// Which occupations have a diagnosis how much more often, in percent.
const RISKS: &[(&str, &[&str], u64)] = &[
    ("F10", &["Unemployed"], 260),
    ("F11", &["Unemployed"], 400),
    ("F20", &["Unemployed"], 300),
    ("F32", &["Unemployed", "Student", "Teacher"], 160),
    ("J44", &["Factory worker", "Carpenter", "Farmer"], 170),
    ("K70", &["Unemployed", "Cook"], 200),
    ("M51", &["Care assistant", "Nurse", "Carpenter", "Warehouse worker", "Factory worker"], 190),
    ("M54", &["Care assistant", "Cleaner", "Driver", "Warehouse worker"], 180),
    ("S52", &["Carpenter", "Electrician", "Farmer", "Mechanic"], 180),
];

const POLICY: &str = r#"# What General Hospital promises the patients whose discharges it publishes, and how.
# Read this file from top to bottom, then run:  scumble publish policy.toml

publisher  = "General Hospital"
source     = "patients.csv"          # one row per patient, 1 January to 30 September 2026
recipients = ["university"]          # who gets it; stands in the manifest

# What each column is to an adversary:
#   identifier        says who it is; never leaves the house
#   quasi-identifier  others know it too (neighbours, an employer, register.csv); published coarser, by its taxonomy
#   sensitive         what must not be learnt about a person; published as it is, protected by the models below
#   insensitive       published as it is, protected by nothing: only for what nobody knows and what betrays nothing
[attributes]
name           = { role = "identifier" }
ssn            = { role = "identifier", person = true }   # person: rows with the same number are the same patient
zip            = { role = "quasi-identifier", taxonomy = { prefix = true, length = 5 } }   # 43101, 4310*, 431**, ...
birth_date     = { role = "quasi-identifier", taxonomy = { dates = ["month", "quarter", "year", "decade"] } }
sex            = { role = "quasi-identifier", taxonomy = { flat = true } }                 # F or M, or not told
# public: everybody has these lists of codes. Without it only the part that is published goes with the release.
nationality    = { role = "quasi-identifier", taxonomy = { file = "taxonomies/nationality.csv", public = true } } # country, region, continent
occupation     = { role = "quasi-identifier", taxonomy = { file = "taxonomies/occupation.csv", public = true } } # occupation, sector
admission_date = { role = "quasi-identifier", taxonomy = { dates = ["month", "quarter"] } }
diagnosis      = { role = "sensitive", taxonomy = { file = "taxonomies/diagnosis.csv", public = true } } # ICD-10 category

# Length of stay looks harmless and is not. Colleagues and neighbours know how long somebody was away, so an exact
# number of days helps to pick out the row; and four weeks point to psychiatry, three days to a delivery. As a
# quasi-identifier it is published as a range, the same for everybody in a group of look-alikes, so that it tells no
# more about a diagnosis than the group does.
length_of_stay = { role = "quasi-identifier", taxonomy = { intervals = [7, 14, 28] } }

# Cost is the diagnosis in other words: a fixed price per treatment plus a price per day. Each row would carry its own
# amount beside the few diagnoses of its group, and mostly one diagnosis fits the amount. The university did not ask
# for costs, so the column is dropped, which is what `identifier` does. For a recipient who does need them, publish
# the mean cost of each diagnosis as a table of its own.
cost           = { role = "identifier" }

# The promises. Each is checked on every group of look-alike rows, whatever the algorithm says.

# Nobody can be narrowed down to fewer than five rows.
[[models]]
name = "k-anonymity"
k = 5

# And those rows do not all tell the same: at least three different diagnoses in each group. Also to be had:
# "entropy-l-diversity" (l), "recursive-l-diversity" (c, l), "t-closeness" (t, distance); strict.toml uses two of them.
[[models]]
name = "distinct-l-diversity"
l = 3
attribute = "diagnosis"

# How the groups are made. Mondrian halves the table along one column after another as long as the promises hold.
[algorithm]
name = "mondrian"

[release]
to = "releases/2026-q3"
format = "csv"
"#;

const QUESTIONS: &str = r#"# What may be asked of the patients' data themselves: answers get noise and are paid from a budget that lasts.
# Try:  scumble query --dp questions.toml "SELECT sex, AVG(length_of_stay) FROM patients GROUP BY sex" --epsilon 0.1

source     = "patients.csv"
recipients = ["university", "ministry"]

[queries]
person = "ssn"                                # whose privacy it is: all rows with the same number
rows_per_person = 1                           # further rows of a person are left out
budget = { epsilon = 3, delta = 1e-6 }        # for everybody together, for ever
each   = { epsilon = 2, delta = 1e-6 }        # for one recipient
# Asked together by `scumble query --dp questions.toml` when no question is given.
ask = [
    { sql = "SELECT sex, COUNT(*), AVG(length_of_stay) FROM patients GROUP BY sex", epsilon = 0.3 },
    { sql = "SELECT diagnosis, COUNT(*) FROM patients GROUP BY diagnosis", epsilon = 0.5, delta = 1e-7 },
]

# What is public about columns, known without looking at the data: bounds of numbers, in units; lists of keys.
[queries.columns]
sex            = { keys = ["F", "M"] }
length_of_stay = { bounds = [0, 60] }
cost           = { bounds = [0, 50000], unit = 10 }

# A table of made-up patients:  scumble synthesize questions.toml
[queries.synthetic]
columns = ["sex", "length_of_stay", "cost"]
widths  = { cost = 1000 }                     # as ranges; a number of the range is written
epsilon = 1
to      = "releases/synthetic"
"#;

const CLINIC_POLICY: &str = r#"# St. Anne Clinic, the city's second hospital, publishes to the same university.
# Run it after policy.toml:  scumble publish clinic.toml
#
# Taken alone this release is as safe as General Hospital's. Taken together they are not: about half of the clinic's
# patients were in General Hospital too, most of them with the same disease. Somebody who knows that a neighbour was in
# both looks up the neighbour's group in each release and keeps the diagnoses that occur in both groups. For most such
# neighbours one or two are left. This is a composition attack, and no promise about one table alone prevents it.

publisher  = "St. Anne Clinic"
source     = "clinic.csv"            # the columns of patients.csv
recipients = ["university"]          # the same recipient: that is what makes the two releases one problem

# The reasons for each role stand in policy.toml.
[attributes]
name           = { role = "identifier" }
ssn            = { role = "identifier", person = true }   # the same person has the same number in both hospitals
zip            = { role = "quasi-identifier", taxonomy = { prefix = true, length = 5 } }
birth_date     = { role = "quasi-identifier", taxonomy = { dates = ["month", "quarter", "year", "decade"] } }
sex            = { role = "quasi-identifier", taxonomy = { flat = true } }
nationality    = { role = "quasi-identifier", taxonomy = { file = "taxonomies/nationality.csv", public = true } }
occupation     = { role = "quasi-identifier", taxonomy = { file = "taxonomies/occupation.csv", public = true } }
admission_date = { role = "quasi-identifier", taxonomy = { dates = ["month", "quarter"] } }
diagnosis      = { role = "sensitive", taxonomy = { file = "taxonomies/diagnosis.csv", public = true } }
length_of_stay = { role = "quasi-identifier", taxonomy = { intervals = [7, 14, 28] } }
cost           = { role = "identifier" }                  # dropped: it tells the diagnosis

[[models]]
name = "k-anonymity"
k = 5

[[models]]
name = "distinct-l-diversity"
l = 3
attribute = "diagnosis"

[algorithm]
name = "mondrian"

[release]
to = "releases/clinic-2026-q3"
format = "csv"
"#;

const STRICT_POLICY: &str = r#"# General Hospital's table for everybody. A university signs a contract; the public does
# not, and cannot be asked to give it back. So this policy promises more than policy.toml, and its table is coarser.
# Run:  scumble publish strict.toml

publisher  = "General Hospital"
source     = "patients.csv"
recipients = ["public"]

# As in policy.toml, where the reasons stand, but for two columns.
[attributes]
name           = { role = "identifier" }
ssn            = { role = "identifier", person = true }
zip            = { role = "quasi-identifier", taxonomy = { prefix = true, length = 5 } }
birth_date     = { role = "quasi-identifier", taxonomy = { dates = ["month", "quarter", "year", "decade"] } }
sex            = { role = "quasi-identifier", taxonomy = { flat = true } }
nationality    = { role = "identifier" }     # dropped: most countries have few people here, who would stand out
occupation     = { role = "quasi-identifier", taxonomy = { file = "taxonomies/occupation.csv", public = true } }
admission_date = { role = "quasi-identifier", taxonomy = { dates = ["month", "quarter"] } }
diagnosis      = { role = "sensitive", taxonomy = { file = "taxonomies/diagnosis.csv", public = true } }
length_of_stay = { role = "identifier" }     # dropped: it follows the diagnosis, which is what t-closeness is to hide
cost           = { role = "identifier" }     # dropped: it tells the diagnosis

# Nobody can be narrowed down to fewer than ten rows.
[[models]]
name = "k-anonymity"
k = 10

# Three different diagnoses are little if one of them has nine rows in ten. Entropy counts a rare diagnosis for less:
# each group is at least as undecided as four equally frequent diagnoses.
[[models]]
name = "entropy-l-diversity"
l = 4
attribute = "diagnosis"

# And knowing somebody's group tells little that the whole table does not: the diagnoses of each group are spread
# nearly as in the table. 0 would be exactly, 1 anything. By the hierarchical distance a shift within a block, from
# angina to infarction, counts for less than one from chapter to chapter. Expect groups that mix ages: deliveries and
# infarctions keep to their own, and this promise is that one cannot tell.
[[models]]
name = "t-closeness"
t = 0.4
distance = "hierarchical"
attribute = "diagnosis"

[algorithm]
name = "mondrian"

[release]
to = "releases/2026-q3-public"
format = "csv"
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    const PATIENTS: usize = 3_000;

    /// The rows of a file of the example, without the header if it has one.
    fn rows(files: &[File], path: &str) -> Vec<Vec<String>> {
        let text =
            &files.iter().find(|file| file.path == path).expect("the example has the file").text;
        let (separator, header) = if path.starts_with("taxonomies/") { (';', 0) } else { (',', 1) };
        text.lines()
            .skip(header)
            .map(|line| line.split(separator).map(str::to_owned).collect())
            .collect()
    }

    /// Completed years of age at a date.
    fn age(birth_date: &str, date: &str) -> u64 {
        let year = |date: &str| date[..4].parse::<u64>().expect("a date begins with a year");
        year(date) - year(birth_date) - u64::from(date[4..] < birth_date[4..])
    }

    fn column(rows: &[Vec<String>], i: usize) -> BTreeSet<&str> {
        rows.iter().map(|row| row[i].as_str()).collect()
    }

    #[test]
    fn a_seed_gives_the_same_files_and_another_seed_gives_others() {
        let text = |seed| files(seed, 200).into_iter().map(|file| file.text).collect::<Vec<_>>();
        assert!(text(1) == text(1));
        assert!(text(1)[..3] != text(2)[..3]);
        assert!(text(1)[3..] == text(2)[3..], "taxonomies and policies do not depend on the seed");
    }

    #[test]
    fn the_folder_in_the_repository_is_what_this_file_makes() {
        let folder =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hospital");
        for file in files(2026, 10_000) {
            let text = std::fs::read_to_string(folder.join(file.path)).unwrap_or_default();
            assert!(
                text == file.text,
                "`examples/hospital/{}` is out of date; write it again",
                file.path
            );
        }
    }

    #[test]
    fn even_a_tiny_example_can_be_made() {
        for patients in 0..12 {
            assert_eq!(rows(&files(7, patients), "patients.csv").len(), patients);
        }
    }

    #[test]
    fn sizes_and_overlaps() {
        let files = files(7, PATIENTS);
        let (general, clinic, register) = (
            rows(&files, "patients.csv"),
            rows(&files, "clinic.csv"),
            rows(&files, "register.csv"),
        );
        assert_eq!(general.len(), PATIENTS);
        assert_eq!(clinic.len(), PATIENTS * 2 / 5);
        assert_eq!(register.len(), PATIENTS * 3);
        assert!(
            general.iter().chain(&clinic).all(|row| row.len() == 11)
                && register.iter().all(|row| row.len() == 6)
        );
        assert!((35..=40).contains(&column(&general, 2).len()));

        let registered: BTreeSet<_> = register.iter().cloned().collect();
        let known = |row: &&Vec<String>| {
            let person = [0, 2, 3, 4, 5, 6].map(|i| row[i].clone());
            registered.contains(person.as_slice())
        };
        let share = general.iter().filter(known).count() * 100 / PATIENTS;
        assert!((93..=97).contains(&share), "{share} % of the patients are in the register");

        let by_ssn: BTreeMap<_, _> = general.iter().map(|row| (&row[1], row)).collect();
        let both: Vec<_> = clinic
            .iter()
            .filter_map(|row| by_ssn.get(&row[1]).map(|first| (*first, row)))
            .collect();
        assert_eq!(both.len(), PATIENTS / 5);
        assert!(both.iter().all(|(a, b)| a[..7] == b[..7] && a[7] != b[7]));
        let same = both.iter().filter(|(a, b)| a[8] == b[8]).count() * 100 / both.len();
        assert!((80..=92).contains(&same), "{same} % have the same diagnosis in both hospitals");
    }

    #[test]
    fn nobody_is_twice_in_a_hospital() {
        let files = files(7, PATIENTS);
        for path in ["patients.csv", "clinic.csv"] {
            let rows = rows(&files, path);
            assert_eq!(column(&rows, 1).len(), rows.len());
        }
    }

    #[test]
    fn every_value_is_in_its_taxonomy_and_few_are_missing() {
        let files = files(7, PATIENTS);
        for (column, taxonomy, may_miss) in
            [(5, "nationality", true), (6, "occupation", true), (8, "diagnosis", false)]
        {
            let taxonomy = rows(&files, &format!("taxonomies/{taxonomy}.csv"));
            let leaves = self::column(&taxonomy, 0);
            for path in ["patients.csv", "clinic.csv"] {
                let rows = rows(&files, path);
                let missing = rows.iter().filter(|row| row[column].is_empty()).count();
                assert!(
                    rows.iter()
                        .all(|row| row[column].is_empty() || leaves.contains(row[column].as_str()))
                );
                assert!(if may_miss {
                    (1..rows.len() / 33).contains(&missing)
                } else {
                    missing == 0
                });
            }
        }
    }

    #[test]
    fn taxonomies_are_trees_of_even_height() {
        for path in
            ["taxonomies/diagnosis.csv", "taxonomies/occupation.csv", "taxonomies/nationality.csv"]
        {
            let rows = rows(&files(7, 0), path);
            assert!(rows.iter().all(|row| row.len() == 4 && row[3] == "*"), "{path}");
            assert_eq!(column(&rows, 0).len(), rows.len(), "{path} has a leaf twice");
            // A label is one node: it has one level and one parent.
            let mut parents = BTreeMap::new();
            for row in &rows {
                for level in 0..3 {
                    let parent = (level, &row[level + 1]);
                    assert_eq!(
                        *parents.entry(&row[level]).or_insert(parent),
                        parent,
                        "{path}: `{}`",
                        row[level]
                    );
                }
            }
        }
    }

    #[test]
    fn diagnoses_keep_to_sex_and_age() {
        let files = files(7, PATIENTS);
        for row in rows(&files, "patients.csv").iter().chain(&rows(&files, "clinic.csv")) {
            let age = age(&row[3], &row[7]);
            let possible = match &row[8][..3] {
                "O80" | "O82" => row[4] == "F" && (16..=48).contains(&age),
                "N40" | "C61" => row[4] == "M" && age > 45,
                "I21" => age >= 29,
                _ => true,
            };
            assert!(possible, "{} at {age}, {}", row[8], row[4]);
            assert!(("2026-01-01"..="2026-09-30").contains(&row[7].as_str()) && row[3] < row[7]);
        }
    }

    #[test]
    fn every_risk_and_season_names_something_that_exists() {
        let codes: BTreeSet<_> = DIAGNOSES.iter().map(Diagnosis::code).collect();
        let jobs: BTreeSet<_> = OCCUPATIONS.iter().map(|job| job.name).collect();
        assert!(
            RISKS
                .iter()
                .all(|risk| codes.contains(risk.0) && risk.1.iter().all(|job| jobs.contains(job)))
        );
        assert!(SEASONS.iter().all(
            |season| codes.contains(season.0) && season.1.iter().all(|&percent| percent <= 400)
        ));
        assert!(
            BLOCKS
                .iter()
                .all(|block| DIAGNOSES.iter().any(|diagnosis| diagnosis.block() == *block))
        );
    }

    #[test]
    fn calendar() {
        assert_eq!(iso_date(2026, 0), "2026-01-01");
        assert_eq!(iso_date(2026, ADMISSION_DAYS - 1), "2026-09-30");
        assert_eq!(iso_date(2000, 59), "2000-02-29");
        assert_eq!(iso_date(1999, 364), "1999-12-31");
    }
}
