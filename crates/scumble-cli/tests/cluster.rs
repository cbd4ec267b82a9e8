//! The same job on DataFusion: in this process, and on a cluster of real processes.
//! `tests/cluster/run` builds and runs it.

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[path = "cluster/attacks.rs"]
mod attacks;
#[path = "cluster/interrupt.rs"]
mod interrupt;
#[path = "cluster/messages.rs"]
mod messages;
#[path = "cluster/objects.rs"]
mod objects;
#[path = "cluster/stock.rs"]
mod stock;

const DATAFUSION: [&str; 2] = ["--engine", "datafusion"];

/// A folder with a table and a policy.
struct Place(#[allow(dead_code)] tempfile::TempDir, PathBuf);

impl Place {
    /// The folder is not there yet.
    fn new() -> Place {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("place");
        Place(folder, path)
    }

    /// The example hospital, without a ledger; `change` edits its policy.
    fn hospital(patients: u32, change: impl Fn(String) -> String) -> Place {
        let place = Place::new();
        let mut command = Command::new(env!("CARGO_BIN_EXE_scumble"));
        let made =
            command.args(["example", "--patients", &patients.to_string()]).arg(&place.1).output();
        assert!(made.expect("the command starts").status.success());
        let policy = fs::read_to_string(place.path("policy.toml")).expect("a policy");
        place.write("policy.toml", &change(format!("ledger = false\n{policy}")));
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.1.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a temporary folder");
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scumble"));
        command.args(arguments).current_dir(&self.1);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the command starts")
    }

    /// Runs to this exit status; what was printed.
    fn expect(&self, status: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", printed(&output));
        printed(&output)
    }

    fn publish(&self, to: &str, how: &[&str]) -> String {
        let publish = ["publish", "policy.toml", "--seed", "1", "--to", to];
        self.expect(0, &[&publish, how].concat())
    }

    /// The records of a release, in an order of their own. The order in the file is another one on
    /// another engine.
    fn records(&self, release: &str) -> Vec<String> {
        let text =
            fs::read_to_string(self.path(release).join("data.csv")).expect("the data of a release");
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        assert!(lines.len() > 1);
        lines[1..].sort_unstable();
        lines
    }

    /// How many neighbours in the file begin with the same three cells.
    fn alike(&self, release: &str) -> usize {
        let text =
            fs::read_to_string(self.path(release).join("data.csv")).expect("the data of a release");
        let begins: Vec<Vec<&str>> =
            text.lines().skip(1).map(|line| line.split(',').take(3).collect()).collect();
        begins.windows(2).filter(|w| w[0] == w[1]).count()
    }

    /// That both releases have the same classes with the same sensitive values, and both are what
    /// they promise.
    fn same(&self, a: &str, b: &str) {
        assert!(self.records(a) == self.records(b), "{a} and {b} differ");
        self.expect(0, &["check", a]);
        self.expect(0, &["check", b]);
        self.expect(0, &["verify", a]);
        self.expect(0, &["verify", b]);
    }

    /// That nothing was published, and nothing is left.
    fn nothing_but(&self, before: &[String]) {
        assert_eq!(self.names(), before, "something was left");
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.1).expect("the folder");
        let mut names: Vec<String> = entries
            .map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort_unstable();
        names
    }
}

fn printed(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// The policy with another algorithm.
fn with_algorithm(policy: &str, algorithm: &str) -> String {
    assert!(policy.contains("name = \"mondrian\""));
    policy.replace("name = \"mondrian\"", algorithm)
}

/// A table as Parquet; columns of whole numbers as such.
fn to_parquet(csv: &Path, parquet: &Path, numbers: &[&str]) {
    let text = fs::read_to_string(csv).expect("a table");
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().expect("a header");
    let rows: Vec<Vec<&str>> = lines.collect();
    let column = |(i, name): (usize, &&str)| -> (String, ArrayRef, bool) {
        let cells = rows.iter().map(|r| Some(r[i]).filter(|c| !c.is_empty()));
        let array: ArrayRef = if numbers.contains(name) {
            Arc::new(
                cells
                    .map(|c| c.map(|c| c.parse::<i32>().expect("a number")))
                    .collect::<Int32Array>(),
            )
        } else {
            Arc::new(cells.collect::<StringArray>())
        };
        ((*name).to_owned(), array, true)
    };
    let batch = RecordBatch::try_from_iter_with_nullable(names.iter().enumerate().map(column))
        .expect("columns");
    let file = File::create(parquet).expect("a file");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("rows");
    writer.close().expect("an end");
}

#[test]
fn every_algorithm_makes_the_same_classes() {
    for algorithm in ["mondrian", "top-down", "datafly", "samarati"] {
        let place =
            Place::hospital(600, |p| with_algorithm(&p, &format!("name = \"{algorithm}\"")));
        let refused =
            place.run(&["publish", "policy.toml", "--seed", "1", "--to", "a"]).status.code();
        if refused == Some(0) {
            let text = place.publish("b", &DATAFUSION);
            assert!(text.contains("engine: datafusion, 600 records in 3 passes"), "{text}");
            place.same("a", "b");
        } else {
            let publish =
                [&["publish", "policy.toml", "--seed", "1", "--to", "b"], &DATAFUSION[..]].concat();
            assert_eq!(place.run(&publish).status.code(), refused, "{algorithm}");
        }
    }
}

#[test]
fn random_algorithms_keep_their_promises_and_the_seed() {
    for algorithm in ["name = \"anatomy\"\nl = 3", "name = \"mondrian\"\npartition = \"relaxed\""] {
        let place = Place::hospital(600, |p| {
            let policy = with_algorithm(&p, algorithm).replace(
                "role = \"quasi-identifier\", taxonomy = { flat = true }",
                "role = \"insensitive\"",
            );
            // Anatomy shows quasi-identifiers as they are, so k-anonymity cannot be asked.
            if algorithm.contains("anatomy") {
                policy.replace(
                    "name = \"k-anonymity\"\nk = 5",
                    "name = \"distinct-l-diversity\"\nl = 2\nattribute = \"diagnosis\"",
                )
            } else {
                policy
            }
        });
        let text = place.publish("a", &DATAFUSION);
        assert!(text.contains("in 4 passes"), "{text}");
        place.publish("b", &DATAFUSION);
        let bytes =
            |release: &str| fs::read(place.path(release).join("data.csv")).expect("the data");
        assert!(bytes("a") == bytes("b"), "the same seed writes the same bytes");
        place.expect(0, &["check", "a"]);
        place.publish("c", &[]);
        let (mine, theirs) = (place.records("a"), place.records("c"));
        assert_eq!(mine.len(), theirs.len());
        // What passes through is the same for everybody, whatever the classes are.
        let place_of = mine[0].split(',').position(|n| n == "sex").expect("a column");
        let sexes = |lines: &[String]| {
            let mut cells: Vec<String> = lines[1..]
                .iter()
                .map(|l| l.split(',').nth(place_of).unwrap_or("").to_owned())
                .collect();
            cells.sort_unstable();
            cells
        };
        if !mine[1].contains('"') {
            assert!(sexes(&mine) == sexes(&theirs));
        }
    }
}

#[test]
fn columns_pass_through_from_parquet_and_from_folders() {
    let place = Place::hospital(900, |p| {
        p.replace(
            "role = \"quasi-identifier\", taxonomy = { intervals = [7, 14, 28] }",
            "role = \"insensitive\"",
        )
    });
    place.publish("a", &[]);
    place.publish("b", &DATAFUSION);
    place.same("a", "b");
    // Classes of at least five do not stand together.
    let (mine, theirs) = (place.alike("a"), place.alike("b"));
    assert!(theirs < 2 * mine + 90, "{theirs} neighbours are alike, {mine} on the default engine");
    fs::create_dir(place.path("parts")).expect("a folder");
    let table = fs::read_to_string(place.path("patients.csv")).expect("a table");
    let (head, lines) = table.split_once('\n').expect("a header");
    let lines: Vec<&str> = lines.lines().collect();
    for (i, part) in lines.chunks(400).enumerate() {
        place.write("part.csv", &format!("{head}\n{}\n", part.join("\n")));
        to_parquet(
            &place.path("part.csv"),
            &place.path(&format!("parts/{i}.parquet")),
            &["length_of_stay"],
        );
    }
    let policy = fs::read_to_string(place.path("policy.toml")).expect("a policy");
    for (source, to) in [("parts", "c"), ("parts/*.parquet", "d")] {
        place.write("policy.toml", &policy.replace("\"patients.csv\"", &format!("\"{source}\"")));
        place.publish(to, &DATAFUSION);
        place.same("a", to);
    }
}

#[test]
fn check_says_the_same() {
    let place = Place::hospital(600, |p| p);
    place.publish("a", &[]);
    let answer = |arguments: &[&str]| {
        let output = place.run(&[&["check", "--json"], arguments].concat());
        let mut json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let answer = json.as_object_mut().expect("an answer");
        answer.remove("seconds");
        // Of several classes that are equally bad either may be shown.
        for model in answer.get_mut("models").and_then(|m| m.as_array_mut()).expect("models") {
            model.as_object_mut().expect("a model").remove("worst");
        }
        // An engine counts no persons, and says so.
        let counted = answer.remove("persons").is_some();
        let warnings = answer.get_mut("warnings").and_then(|w| w.as_array_mut()).expect("warnings");
        let all = warnings.len();
        warnings
            .retain(|w| !w.as_str().is_some_and(|w| w.contains("an engine does not count them")));
        let persons = counted || warnings.len() < all;
        (output.status.code(), persons, json)
    };
    for arguments in [
        &["a"][..],
        &["patients.csv", "--policy", "policy.toml"],
        &["patients.csv", "--quasi-identifiers", "zip,sex", "--sensitive", "diagnosis"],
    ] {
        assert_eq!(answer(arguments), answer(&[arguments, &DATAFUSION].concat()), "{arguments:?}");
    }
    // What was changed after it was published is found here too.
    let data = fs::read_to_string(place.path("a/data.csv")).expect("the data");
    let first = data.lines().nth(1).expect("a record").to_owned();
    place.write("a/data.csv", &format!("{data}{first}\n"));
    assert!(
        place.expect(1, &["check", "a", "--engine", "datafusion"]).contains("its hash differs")
    );
}

#[test]
fn what_does_not_fit_is_refused_before_it_starts() {
    let place = Place::hospital(600, |p| p.replace("ledger = false\n", ""));
    let before = place.names();
    let refuses = |arguments: &[&str], words: &str| {
        let text = place.expect(2, &[&["publish", "policy.toml"], arguments].concat());
        assert!(text.contains(words), "{text}");
        place.nothing_but(&before);
    };
    refuses(&DATAFUSION, "say `ledger = false` in the policy");
    refuses(&["--engine", "datafusion", "--memory", "1MB"], "not enough");
    refuses(&["--memory", "1GB"], "add `--engine datafusion`");
    refuses(&["--cluster", "10.0.0.1"], "must be the address of a scheduler");
}

/// Adult with its taxonomies, if it is there.
fn adult() -> Option<Place> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var_os("SCUMBLE_DATA")
        .map_or_else(|| PathBuf::from(beside), PathBuf::from)
        .join("adult");
    if !folder.join("adult.csv").is_file() {
        println!("skipped: there are no data at {}", folder.display());
        return None;
    }
    let place = Place::new();
    fs::create_dir(&place.1).expect("a folder");
    let text = fs::read_to_string(folder.join("adult.csv")).expect("a table");
    let names: Vec<&str> = text.lines().next().expect("a header").split(';').collect();
    let mut policy =
        format!("source = {:?}\nledger = false\n[attributes]\n", folder.join("adult.csv"));
    for name in names {
        let file = folder.join(format!("hierarchies/adult_hierarchy_{name}.csv"));
        let role = match name {
            "occupation" => "role = \"sensitive\"".to_owned(),
            "salary-class" => "role = \"insensitive\"".to_owned(),
            _ => format!(
                "role = \"quasi-identifier\", taxonomy = {{ file = {file:?}, public = true }}"
            ),
        };
        policy.push_str(&format!("{name} = {{ {role} }}\n"));
    }
    policy.push_str(
        "[[models]]\nname = \"k-anonymity\"\nk = 10\n[[models]]\nname = \"distinct-l-diversity\"\nl = 3\nattribute = \
         \"occupation\"\n[algorithm]\nname = \"mondrian\"\n[release]\nto = \"release\"\nformat = \"csv\"\n",
    );
    place.write("policy.toml", &policy);
    Some(place)
}

#[test]
fn adult_in_process() {
    let Some(place) = adult() else { return };
    place.publish("a", &[]);
    place.publish("b", &[&DATAFUSION[..], &["--memory", "128MB"]].concat());
    place.same("a", "b");
}

/// A policy without columns that pass through.
fn nothing_passes(place: &Place) {
    let policy = fs::read_to_string(place.path("policy.toml")).expect("a policy");
    place.write("policy.toml", &policy.replace("role = \"insensitive\"", "role = \"identifier\""));
}

#[test]
fn level_by_level_makes_the_same_classes() {
    for recoding in ["tight", "region"] {
        let mondrian = format!("name = \"mondrian\"\nrecoding = \"{recoding}\"");
        let mut places = vec![(Place::hospital(700, |p| with_algorithm(&p, &mondrian)), "60")];
        places.extend(adult().map(|place| (place, "2000")));
        for (place, rows) in places {
            nothing_passes(&place);
            place.publish("a", &[]);
            let text = place.publish("b", &[&DATAFUSION[..], &["--rows-at-once", rows]].concat());
            assert!(text.contains("level by level"), "{text}");
            place.same("a", "b");
        }
    }
}

#[test]
fn the_best_levels_are_found_from_counts() {
    for how in
        ["suppress = 0.05", "suppress = 0.02\nmetric = \"entropy\"", "metric = \"discernibility\""]
    {
        let lattice = format!("name = \"lattice\"\n{how}");
        // The more quasi-identifiers, the more combinations must be looked at.
        let few = |policy: String| {
            let hospital = ["nationality", "occupation", "admission_date", "length_of_stay"];
            let adult = ["race", "marital-status", "native-country", "workclass"];
            let left_out = [hospital, adult].concat();
            let is_left_out = |line: &str| {
                line.contains("quasi-") && left_out.iter().any(|n| line.starts_with(n))
            };
            let line = |line: &str| match is_left_out(line) {
                true => format!(
                    "{} = \"identifier\"\n",
                    line.split_whitespace().next().unwrap_or_default()
                ),
                false => format!("{line}\n"),
            };
            policy.lines().map(line).collect::<String>()
        };
        let mut places =
            vec![(Place::hospital(2000, |p| few(with_algorithm(&p, &lattice))), "1600")];
        places.extend(adult().map(|place| {
            let policy = fs::read_to_string(place.path("policy.toml")).expect("a policy");
            place.write("policy.toml", &few(with_algorithm(&policy, &lattice)));
            (place, "5000")
        }));
        for (place, rows) in places {
            nothing_passes(&place);
            place.publish("a", &[]);
            let text = place.publish("b", &[&DATAFUSION[..], &["--rows-at-once", rows]].concat());
            assert!(text.contains("level by level"), "{text}");
            place.same("a", "b");
            let too_few = [
                &["publish", "policy.toml", "--to", "c"],
                &DATAFUSION[..],
                &["--rows-at-once", "1"],
            ]
            .concat();
            let text = place.expect(1, &too_few);
            assert!(
                text.contains("cannot be found out here") && text.contains("--memory"),
                "{text}"
            );
        }
    }
}

/// A policy for anatomy: nothing that looks at quasi-identifiers.
fn anatomized(policy: &str) -> String {
    with_algorithm(policy, "name = \"anatomy\"\nl = 3").replace(
        "name = \"k-anonymity\"\nk = 5",
        "name = \"distinct-l-diversity\"\nl = 2\nattribute = \"diagnosis\"",
    )
}

/// What a release says of itself that does not depend on chance.
fn told(place: &Place, release: &str) -> serde_json::Value {
    let read = |name: &str| -> serde_json::Value {
        let text =
            fs::read_to_string(place.path(release).join(name)).expect("a file of the release");
        serde_json::from_str(&text).expect("JSON")
    };
    let (manifest, certificate) = (read("manifest.json"), read("certificate.json"));
    assert!(certificate["singling_out"]["classes"].as_u64() > Some(1), "{certificate}");
    serde_json::json!([
        manifest["classes"],
        manifest["columns"],
        manifest["data"]["rows"],
        certificate["singling_out"]
    ])
}

#[test]
fn anatomy_does_without_the_quasi_identifiers() {
    for format in ["csv", "parquet"] {
        let place = Place::hospital(600, |p| {
            anatomized(&p).replace("format = \"csv\"", &format!("format = \"{format}\""))
        });
        let few = [&DATAFUSION[..], &["--rows-at-once", "50"]].concat();
        place.publish("a", &[]);
        let text = place.publish("b", &few);
        assert!(text.contains("pass through as they are"), "{text}");
        assert_eq!(told(&place, "a"), told(&place, "b"));
        for release in ["a", "b"] {
            place.expect(0, &["check", release]);
            place.expect(0, &["verify", release]);
        }
        place.publish("c", &few);
        let bytes = |release: &str| {
            fs::read(place.path(release).join(format!("data.{format}"))).expect("the data")
        };
        assert!(bytes("b") == bytes("c"), "the same seed writes the same bytes");
        if format == "csv" {
            // Everybody's quasi-identifiers are there; the last column is the group.
            let without_group = |release: &str| -> Vec<String> {
                let cut = |line: &String| line.rsplit_once(',').expect("columns").0.to_owned();
                let mut lines: Vec<String> = place.records(release).iter().map(cut).collect();
                lines.sort_unstable();
                lines
            };
            assert!(without_group("a") == without_group("b"));
        }
        let policy = fs::read_to_string(place.path("policy.toml")).expect("a policy");
        place.write(
            "policy.toml",
            &format!("{policy}\n[[models]]\nname = \"k-anonymity\"\nk = 2\n"),
        );
        let text = place.expect(2, &[&["publish", "policy.toml", "--to", "d"], &few[..]].concat());
        assert!(text.contains("distinct rows, which need about"), "{text}");
    }
}

#[test]
fn what_cannot_be_divided_is_refused() {
    let refuses = |place: &Place| {
        let before = place.names();
        let text = place.expect(
            2,
            &["publish", "policy.toml", "--engine", "datafusion", "--rows-at-once", "50"],
        );
        assert!(text.contains("distinct rows, which need about"), "{text}");
        place.nothing_but(&before);
    };
    refuses(&Place::hospital(300, |p| with_algorithm(&p, "name = \"datafly\"")));
    refuses(&Place::hospital(300, |p| {
        with_algorithm(&p, "name = \"mondrian\"\npartition = \"relaxed\"")
    }));
    refuses(&Place::hospital(300, |p| {
        p.replace(
            "role = \"quasi-identifier\", taxonomy = { flat = true }",
            "role = \"insensitive\"",
        )
    }));
}

/// A process that ends with the test.
struct Process(Child);

impl Process {
    /// Ends it as a lost machine would.
    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A scheduler and two executors.
struct Cluster {
    scheduler: Process,
    executors: Vec<Process>,
    address: String,
    folder: tempfile::TempDir,
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Starts one of our binaries, which says what it does in a file.
fn started(
    program: impl AsRef<std::ffi::OsStr>,
    arguments: &[&str],
    variables: Variables<'_>,
    log: &Path,
) -> Process {
    let log = File::create(log).expect("a log");
    let mut command = Command::new(program);
    let command = command
        .args(arguments)
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    Process(command.spawn().expect("the command starts"))
}

/// Waits until somebody listens.
fn wait_for(port: u16) {
    let begun = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody listens on {port}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Variables of the environment.
type Variables<'a> = &'a [(&'a str, &'a str)];

const SCUMBLE: &str = env!("CARGO_BIN_EXE_scumble");

impl Cluster {
    fn start() -> Cluster {
        Cluster::start_with(&[])
    }

    /// With these variables in the environment of all.
    fn start_with(variables: Variables<'_>) -> Cluster {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let port = free_port();
        let bind = format!("127.0.0.1:{port}");
        let role = ["cluster", "scheduler", "--bind", &bind];
        // It tells what jobs it has.
        let telling = [&[("SCUMBLE_LOG", "info")], variables].concat();
        let scheduler = started(SCUMBLE, &role, &telling, &folder.path().join("scheduler.log"));
        wait_for(port);
        let address = format!("df://{bind}");
        let mut executors = Vec::new();
        for i in 0..2 {
            let (data, orders) = (free_port(), free_port());
            let spill = folder.path().join(format!("executor-{i}")).display().to_string();
            let (data_text, orders_text) = (data.to_string(), orders.to_string());
            let role = [
                "cluster",
                "executor",
                "--scheduler",
                &address,
                "--port",
                &data_text,
                "--orders-port",
            ];
            let rest =
                [orders_text.as_str(), "--cores", "2", "--memory", "512MB", "--spill", &spill];
            let log = folder.path().join(format!("executor-{i}.log"));
            executors.push(started(SCUMBLE, &[&role[..], &rest[..]].concat(), variables, &log));
            wait_for(data);
        }
        Cluster { scheduler, executors, address, folder }
    }

    fn how(&self) -> Vec<String> {
        let spill = self.folder.path().join("shared").display().to_string();
        vec!["--cluster".into(), self.address.clone(), "--spill".into(), spill]
    }
}

#[test]
fn a_cluster_makes_the_same_classes() {
    let cluster = Cluster::start();
    let how = cluster.how();
    let how: Vec<&str> = how.iter().map(String::as_str).collect();
    let hospital = Place::hospital(900, |p| {
        p.replace(
            "role = \"quasi-identifier\", taxonomy = { intervals = [7, 14, 28] }",
            "role = \"insensitive\"",
        )
    });
    let places = [Some((hospital, "400")), adult().map(|place| (place, "6000"))];
    for (place, rows) in places.into_iter().flatten() {
        place.publish("a", &[]);
        let text = place.publish("b", &how);
        assert!(text.contains("engine: ballista"), "{text}");
        place.same("a", "b");
        place.expect(0, &[&["check", "b"], &how[..2]].concat());
        nothing_passes(&place);
        place.publish("c", &[]);
        let text = place.publish("d", &[&how[..2], &["--rows-at-once", rows]].concat());
        assert!(text.contains("level by level"), "{text}");
        place.same("c", "d");
    }
    let left: Vec<_> =
        fs::read_dir(cluster.folder.path().join("shared")).expect("the folder").collect();
    assert!(left.is_empty(), "what was shared with the executors is gone: {left:?}");
}

/// A table of so many people in Parquet, its policy, and columns that pass through.
fn crowd(rows: u32) -> Place {
    let place = Place::new();
    fs::create_dir(&place.1).expect("a folder");
    let file = File::create(place.path("people.parquet")).expect("a file");
    let mut writer: Option<ArrowWriter<File>> = None;
    let mut file = Some(file);
    let mut state = 1u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let diseases =
        ["flu", "cold", "cancer", "asthma", "hepatitis", "none", "diabetes", "gastritis"];
    for from in (0..rows).step_by(1 << 17) {
        let n = (rows - from).min(1 << 17);
        let ages: Int32Array = (0..n).map(|_| Some(random(90) as i32)).collect();
        let zips: Int32Array = (0..n).map(|_| Some(10_000 + random(200) as i32)).collect();
        let sexes: StringArray =
            (0..n).map(|_| Some(if random(2) == 0 { "f" } else { "m" })).collect();
        let disease: StringArray = (0..n).map(|_| Some(diseases[random(8) as usize])).collect();
        let visit: StringArray =
            (0..n).map(|i| Some(format!("{:08}-{:06}", from + i, random(1_000_000)))).collect();
        let columns: [(&str, ArrayRef); 5] = [
            ("age", Arc::new(ages)),
            ("zip", Arc::new(zips)),
            ("sex", Arc::new(sexes)),
            ("disease", Arc::new(disease)),
            ("visit", Arc::new(visit)),
        ];
        let batch = RecordBatch::try_from_iter(columns).expect("columns");
        let writer = writer.get_or_insert_with(|| {
            ArrowWriter::try_new(file.take().expect("once"), batch.schema(), None)
                .expect("a writer")
        });
        writer.write(&batch).expect("rows");
    }
    writer.expect("rows").close().expect("an end");
    place.write(
        "policy.toml",
        r#"source = "people.parquet"
ledger = false
[attributes]
age     = { role = "quasi-identifier", taxonomy = { intervals = [5, 10, 30] } }
zip     = { role = "quasi-identifier", taxonomy = { prefix = true, length = 5 } }
sex     = { role = "quasi-identifier", taxonomy = { flat = true } }
disease = { role = "sensitive" }
visit   = "insensitive"
[[models]]
name = "k-anonymity"
k = 50
[[models]]
name = "distinct-l-diversity"
l = 3
attribute = "disease"
[algorithm]
name = "mondrian"
[release]
to = "release"
format = "parquet"
"#,
    );
    place
}

/// What came of a command, which must not wait for ever whatever is lost. It prints little, so that
/// nobody need read meanwhile.
fn ended(mut child: Child) -> Output {
    let begun = Instant::now();
    while child.try_wait().expect("a process").is_none() {
        if begun.elapsed() > Duration::from_secs(300) {
            let _ = child.kill();
            panic!("it hangs");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.wait_with_output().expect("it has ended")
}

/// Whatever becomes of a cluster, there is a whole release or none.
fn whole_or_nothing(place: &Place, before: &[String], output: &Output) {
    let text = printed(output);
    match output.status.code() {
        Some(0) => {
            place.expect(0, &["check", "release"]);
        }
        Some(2) => {
            assert!(text.contains("cluster at df://"), "{text}");
            place.nothing_but(before);
        }
        other => panic!("{other:?}: {text}"),
    }
}

#[test]
fn an_executor_is_killed() {
    let place = crowd(400_000);
    let before = place.names();
    for wait in [300, 1500, 4000] {
        let mut cluster = Cluster::start();
        let how = cluster.how();
        let mut command = place.command(&["publish", "policy.toml", "--seed", "1"]);
        let child = command
            .args(&how)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_millis(wait));
        cluster.executors[0].kill();
        let output = ended(child);
        whole_or_nothing(&place, &before, &output);
        println!("killed after {wait} ms: exit status {:?}", output.status.code());
        let _ = fs::remove_dir_all(place.path("release"));
    }
}

#[test]
fn the_scheduler_is_lost() {
    let place = crowd(200_000);
    let before = place.names();
    let mut cluster = Cluster::start();
    let how = cluster.how();
    let mut command = place.command(&["publish", "policy.toml", "--seed", "1"]);
    let child = command
        .args(&how)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    std::thread::sleep(Duration::from_millis(700));
    cluster.scheduler.kill();
    whole_or_nothing(&place, &before, &ended(child));
    let _ = fs::remove_dir_all(place.path("release"));
    let mut publish = vec!["publish", "policy.toml"];
    publish.extend(how.iter().map(String::as_str));
    let text = place.expect(2, &publish);
    assert!(text.contains("does not answer"), "{text}");
    place.nothing_but(&before);
}

/// The most memory that a process has had, in MB, while it runs.
fn watched(child: &mut Child) -> u64 {
    let file = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().expect("a process").is_none() {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let line = text.lines().find(|l| l.starts_with("VmHWM:"));
        let kilobytes =
            line.and_then(|l| l.split_whitespace().nth(1)).and_then(|n| n.parse::<u64>().ok());
        peak = peak.max(kilobytes.unwrap_or(0) / 1024);
        std::thread::sleep(Duration::from_millis(100));
    }
    peak
}

#[test]
#[ignore = "takes minutes; tests/cluster/run runs it"]
fn ten_million_rows_in_256_mb() {
    let place = crowd(10_000_000);
    let arguments = [
        "publish",
        "policy.toml",
        "--seed",
        "1",
        "--engine",
        "datafusion",
        "--memory",
        "256MB",
        "--json",
    ];
    let begun = Instant::now();
    let mut child = place
        .command(&arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let peak = watched(&mut child);
    let output = child.wait_with_output().expect("it ends");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(output.status.code(), Some(0), "{json:#}");
    println!(
        "{:.0} s, at most {peak} MB, engine: {}",
        begun.elapsed().as_secs_f64(),
        json["engine"]
    );
    assert_eq!(json["rows"], 10_000_000);
    assert!(
        json["engine"]["spilled"].as_u64().expect("a number") > 100 << 20,
        "{}",
        json["engine"]
    );
    assert!(peak < 1024, "{peak} MB");
    place.expect(0, &["check", "release", "--engine", "datafusion", "--memory", "256MB"]);
}
