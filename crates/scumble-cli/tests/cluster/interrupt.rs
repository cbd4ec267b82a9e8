//! Ctrl-C, as the scheduler and the executors see it.

use crate::stock::ballista;
use crate::{Cluster, crowd, ended, printed};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

impl Cluster {
    /// The jobs that the scheduler has had, in their order.
    fn jobs(&self) -> Vec<String> {
        let log = fs::read_to_string(self.folder.path().join("scheduler.log")).expect("a log");
        let job =
            |line: &str| Some(line.split_once("Job submitted: [")?.1.split_once(']')?.0.to_owned());
        log.lines().filter_map(job).collect()
    }

    /// What the scheduler says of a job.
    fn says_of(&self, job: &str) -> String {
        let port = self.address.rsplit(':').next().expect("a port");
        let output = Command::new(ballista())
            .args(["job", port, job])
            .output()
            .expect("the example is built");
        assert!(output.status.success(), "{}", printed(&output));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// How long the executors have worked, in hundredths of a second.
    fn worked(&self) -> u64 {
        let of_one = |id: u32| -> u64 {
            let text = fs::read_to_string(format!("/proc/{id}/stat")).expect("a running process");
            let fields: Vec<&str> =
                text.rsplit(')').next().expect("fields").split_whitespace().collect();
            [11, 12].iter().map(|&i: &usize| fields[i].parse::<u64>().expect("a number")).sum()
        };
        self.executors.iter().map(|e| of_one(e.0.id())).sum()
    }
}

fn wait_until(seconds: u64, what: &str, mut is_so: impl FnMut() -> bool) -> Duration {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(seconds), "not within {seconds} s: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
    begun.elapsed()
}

#[test]
fn ctrl_c_ends_the_job() {
    let place = crowd(3_000_000);
    let before = place.names();
    let cluster = Cluster::start();
    let mut command = place.command(&["publish", "policy.toml"]);
    let command = command.args(cluster.how()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    // After the estimate and the counts comes the longest job, which sorts all records.
    wait_until(300, "the third job", || cluster.jobs().len() == 3);
    let job = cluster.jobs().pop().expect("a job");
    std::thread::sleep(Duration::from_millis(1000));
    assert_eq!(cluster.says_of(&job), "running");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(sent.success());
    let output = ended(child);
    assert_eq!(output.status.code(), Some(130), "{}", printed(&output));
    assert!(printed(&output).contains("nothing was published"), "{}", printed(&output));
    place.nothing_but(&before);
    let shared = cluster.folder.path().join("shared");
    assert!(!shared.exists() || fs::read_dir(shared).expect("the folder").next().is_none());
    // The scheduler has ended the job, begins no other, and nobody works on it any more.
    wait_until(5, "the job is cancelled", || cluster.says_of(&job).starts_with("failed: "));
    assert!(cluster.says_of(&job).contains("Cancelled"), "{}", cluster.says_of(&job));
    let mut last = cluster.worked();
    let rest = wait_until(6, "the executors rest", || {
        std::thread::sleep(Duration::from_millis(1000));
        let now = cluster.worked();
        let idle = now - last < 10;
        last = now;
        idle
    });
    println!("the executors rested after {:.1} s", rest.as_secs_f64());
    assert_eq!(cluster.jobs().len(), 3);
}
