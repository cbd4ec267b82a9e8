//! Sources in an object store: a small one that speaks as much of S3 as is asked for, on loopback.

use crate::{Cluster, DATAFUSION, Place, printed, to_parquet};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::sync::{Arc, Mutex};

const KEY: &str = "AKIATESTKEY";
const SECRET: &str = "a-secret-that-nobody-may-see";

/// A bucket called `hospital`.
struct Store {
    port: u16,
    /// What was asked, as method, path and range.
    asked: Arc<Mutex<Vec<String>>>,
}

type Objects = Arc<BTreeMap<String, Vec<u8>>>;

impl Store {
    /// Serves these objects until the test ends.
    fn start(objects: BTreeMap<String, Vec<u8>>) -> Store {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (objects, asked) = (Arc::new(objects), Arc::new(Mutex::new(Vec::new())));
        let seen = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (objects, seen) = (objects.clone(), seen.clone());
                std::thread::spawn(move || while answer(&stream, &objects, &seen).is_some() {});
            }
        });
        Store { port, asked }
    }

    /// The environment of whoever reads from it.
    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port)),
            ("AWS_ALLOW_HTTP", "true".into()),
            ("AWS_ACCESS_KEY_ID", KEY.into()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.into()),
            ("AWS_REGION", "eu-test-1".into()),
            // Those of others.
            ("REGION", "somewhere-else".into()),
            ("TOKEN", "of-somebody-else".into()),
            ("AWS_BUCKET", "another".into()),
        ]
    }
}

/// Answers a request; nothing if the connection is over.
fn answer(stream: &TcpStream, objects: &Objects, seen: &Mutex<Vec<String>>) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let request = lines.next()?.ok()?;
    let mut headers = BTreeMap::new();
    for line in lines.by_ref() {
        let line = line.ok()?;
        let Some((name, value)) = line.split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let mut words = request.split(' ');
    let (method, address) = (words.next()?, words.next()?);
    let range = headers.get("range").cloned();
    seen.lock()
        .expect("nobody panicked")
        .push(format!("{method} {address} {}", range.as_deref().unwrap_or("")));
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let signed =
        headers.get("authorization").is_some_and(|a| a.contains(&format!("Credential={KEY}/")));
    let (status, body, total) = match (signed, path.trim_matches('/').split_once('/')) {
        // As Amazon does, with the key in the answer.
        (false, _) => {
            let given = headers.get("authorization").map_or("", String::as_str);
            (403, error("InvalidAccessKeyId", given), None)
        }
        (true, None) if path.trim_matches('/') == "hospital" => (200, list(objects, query), None),
        (true, Some(("hospital", key))) => match objects.get(key) {
            Some(bytes) => part(bytes, range.as_deref()),
            None => (404, error("NoSuchKey", key), None),
        },
        _ => (404, error("NoSuchBucket", path), None),
    };
    let mut head =
        format!("HTTP/1.1 {status} OK\r\nContent-Length: {}\r\nETag: \"1\"\r\n", body.len());
    head += "Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n";
    if let Some((from, to, all)) = total {
        head += &format!("Content-Range: bytes {from}-{to}/{all}\r\n");
    }
    let mut stream = stream;
    stream.write_all(format!("{head}\r\n").as_bytes()).ok()?;
    if method != "HEAD" {
        stream.write_all(&body).ok()?;
    }
    Some(())
}

fn error(code: &str, about: &str) -> Vec<u8> {
    format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{about}</Message></Error>")
        .into_bytes()
}

/// The part of an object that is asked for.
fn part(bytes: &[u8], range: Option<&str>) -> (u16, Vec<u8>, Option<(usize, usize, usize)>) {
    let Some((from, to)) = range.and_then(|r| r.strip_prefix("bytes=")?.split_once('-')) else {
        return (200, bytes.to_vec(), None);
    };
    let all = bytes.len();
    let (from, to) = match (from.parse::<usize>(), to.parse::<usize>()) {
        (Ok(from), Ok(to)) => (from, to.min(all - 1)),
        (Ok(from), Err(_)) => (from, all - 1),
        (Err(_), Ok(last)) => (all.saturating_sub(last), all - 1),
        _ => (0, all - 1),
    };
    (206, bytes[from..=to].to_vec(), Some((from, to, all)))
}

/// ListObjectsV2, all at once.
fn list(objects: &Objects, query: &str) -> Vec<u8> {
    let prefix =
        query.split('&').find_map(|p| p.strip_prefix("prefix=")).unwrap_or("").replace("%2F", "/");
    let mut text = String::from(
        "<?xml version=\"1.0\"?><ListBucketResult><Name>hospital</Name><IsTruncated>false</IsTruncated>",
    );
    for (key, bytes) in objects.iter().filter(|(key, _)| key.starts_with(&prefix)) {
        text += &format!(
            "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>\"1\"</ETag>\
             <Size>{}</Size></Contents>",
            bytes.len()
        );
    }
    (text + "</ListBucketResult>").into_bytes()
}

/// The hospital's table as one CSV object, as CSV objects below a prefix, and both as Parquet.
fn stored(place: &Place) -> Store {
    let table = fs::read_to_string(place.path("patients.csv")).expect("a table");
    let (head, lines) = table.split_once('\n').expect("a header");
    let lines: Vec<&str> = lines.lines().collect();
    let mut objects = BTreeMap::from([("patients.csv".to_owned(), table.clone().into_bytes())]);
    let parquet = |text: &str| {
        place.write("part.csv", text);
        to_parquet(&place.path("part.csv"), &place.path("part.parquet"), &["length_of_stay"]);
        fs::read(place.path("part.parquet")).expect("a file")
    };
    objects.insert("patients.parquet".into(), parquet(&table));
    for (i, part) in lines.chunks(250).enumerate() {
        let text = format!("{head}\n{}\n", part.join("\n"));
        objects.insert(format!("csv/{i}.csv"), text.clone().into_bytes());
        objects.insert(format!("2026/parts/{i}.parquet"), parquet(&text));
    }
    Store::start(objects)
}

impl Place {
    /// Runs with the credentials of a store; nothing that is printed or written may tell them.
    fn run_with(&self, variables: &[(&'static str, String)], arguments: &[&str]) -> Output {
        let mut command = self.command(arguments);
        let output = command
            .envs(variables.iter().map(|(k, v)| (k, v)))
            .output()
            .expect("the command starts");
        let text = printed(&output);
        assert!(!text.contains(SECRET) && !text.contains(KEY), "{text}");
        output
    }

    fn publishes_with(
        &self,
        variables: &[(&'static str, String)],
        from: &str,
        to: &str,
        how: &[&str],
    ) {
        let policy = fs::read_to_string(self.path("original.toml")).expect("a policy");
        self.write("policy.toml", &policy.replace("\"patients.csv\"", &format!("\"{from}\"")));
        let publish = ["publish", "policy.toml", "--seed", "1", "--to", to];
        let output = self.run_with(variables, &[&publish, how].concat());
        assert_eq!(output.status.code(), Some(0), "{from}: {}", printed(&output));
        let manifest = fs::read_to_string(self.path(to).join("manifest.json")).expect("a manifest");
        assert!(!manifest.contains(SECRET) && !manifest.contains(KEY));
    }
}

fn hospital() -> Place {
    // With a column that passes through, for which the source is read a second time.
    let place = Place::hospital(900, |p| {
        p.replace(
            "role = \"quasi-identifier\", taxonomy = { intervals = [7, 14, 28] }",
            "role = \"insensitive\"",
        )
    });
    place.write("original.toml", &fs::read_to_string(place.path("policy.toml")).expect("a policy"));
    place
}

const SOURCES: [&str; 4] = [
    "s3://hospital/patients.csv",
    "s3://hospital/csv/",
    "s3://hospital/patients.parquet",
    "s3://hospital/2026/parts/",
];

#[test]
fn objects_are_published_and_checked() {
    let place = hospital();
    place.publish("a", &[]);
    let store = stored(&place);
    let variables = store.variables();
    for (i, source) in SOURCES.iter().enumerate() {
        let to = format!("r{i}");
        place.publishes_with(&variables, source, &to, &DATAFUSION);
        place.same("a", &to);
        let check = ["check", source, "--quasi-identifiers", "zip,sex", "--sensitive", "diagnosis"];
        let there = place.run_with(&variables, &[&check[..], &DATAFUSION].concat());
        let here = place.run(&[
            "check",
            "patients.csv",
            "--quasi-identifiers",
            "zip,sex",
            "--sensitive",
            "diagnosis",
        ]);
        assert_eq!(there.stdout, here.stdout, "{}", printed(&there));
    }
    let asked = store.asked.lock().expect("nobody panicked").join("\n");
    assert!(asked.contains("GET /hospital?") && asked.contains("list-type=2"), "{asked}");
    assert!(asked.contains("parquet bytes="), "Parquet is read in parts: {asked}");
}

#[test]
fn a_cluster_reads_objects() {
    let place = hospital();
    place.publish("a", &[]);
    let store = stored(&place);
    let variables = store.variables();
    let borrowed: Vec<(&str, &str)> = variables.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let cluster = Cluster::start_with(&borrowed);
    let how = cluster.how();
    let how: Vec<&str> = how.iter().map(String::as_str).collect();
    place.publishes_with(&variables, SOURCES[3], "b", &how);
    place.same("a", "b");
    place.publishes_with(&variables, SOURCES[0], "c", &how);
    place.same("a", "c");
    for log in ["scheduler.log", "executor-0.log", "executor-1.log"] {
        let text = fs::read_to_string(cluster.folder.path().join(log)).expect("a log");
        assert!(!text.contains(SECRET) && !text.contains(KEY), "{log}: {text}");
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let place = hospital();
    let store = stored(&place);
    let refuses = |variables: &[(&'static str, String)], source: &str, words: &[&str]| {
        let check = ["check", source, "--quasi-identifiers", "zip", "--engine", "datafusion"];
        let output = place.run_with(variables, &check);
        let text = printed(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(words.iter().all(|w| text.contains(w)) && text.contains(source), "{text}");
    };
    let right = store.variables();
    refuses(&right, "s3://hospital/nobody.csv", &["not there", "check the bucket and the name"]);
    refuses(&right, "s3://hospital/nothing/", &["not there", "check the bucket and the name"]);
    refuses(&right, "s3://elsewhere/patients.csv", &["not there", "check the bucket and the name"]);
    let mut wrong = store.variables();
    wrong
        .iter_mut()
        .filter(|(k, _)| *k == "AWS_ACCESS_KEY_ID")
        .for_each(|(_, v)| *v = format!("{KEY}-not"));
    refuses(&wrong, "s3://hospital/patients.csv", &["may not be read", "AWS_ACCESS_KEY_ID"]);
    refuses(&wrong, "s3://hospital/csv/", &["may not be read", "AWS_ACCESS_KEY_ID"]);
}
