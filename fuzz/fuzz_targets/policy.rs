//! Any text is a policy or a list of problems, each with its line; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scumble::policy::Policy;

fuzz_target!(|text: &str| {
    match Policy::parse("policy.toml", text) {
        Ok(policy) => {
            assert!(policy.quasi().count() > 0 && !policy.requirements.is_empty());
        }
        Err(problems) => assert!(!problems.0.is_empty() && problems.0.iter().all(|p| p.message.contains("policy.toml"))),
    }
});
