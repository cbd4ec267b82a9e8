//! The people that statistics are over: named one by one, or by conditions on a register.

use crate::catalogue::did_you_mean;
use crate::failure::{Argument, Failure, Remedy};
use crate::query::Query;
use crate::register::Register;
use hashbrown::HashMap;

/// What stands for everybody in a register.
const EVERYBODY: &str = "*";

/// People who can be looked up.
#[derive(Clone, Debug, Default)]
pub struct People {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    register: Option<Register>,
    /// Conditions that were looked up.
    known: HashMap<String, Vec<u32>>,
}

impl People {
    /// Whoever the statistics name.
    pub fn named() -> People {
        People::default()
    }

    /// The people of a register; a column may give their names.
    pub fn of_register(register: Register, name: Option<&str>) -> Result<People, Failure> {
        if !register.weights.is_empty() {
            return Err(Failure::data(
                "wrong-register",
                "a row of the register must be one person, but it has a column `people`",
            )
            .hint("write out the people, or name the column differently"));
        }
        let mut people = People::default();
        if let Some(name) = name {
            let column = register.columns.iter().find(|c| c.name == name).ok_or_else(|| {
                Failure::usage("no-such-column", format!("the register has no column `{name}`"))
                    .hint(did_you_mean(name, register.columns.iter().map(|c| c.name.as_str())))
            })?;
            people.names =
                column.codes.iter().map(|&code| column.texts[code as usize].clone()).collect();
            let numbered = people.names.iter().cloned().zip(0..);
            people.numbers = numbered.collect();
            let repeated = people.names.len() - people.numbers.len();
            if repeated > 0 {
                return Err(Failure::data(
                    "repeated-name",
                    format!("column `{name}` names people, but {repeated} of its values repeat"),
                )
                .hint("give a column that is different for everybody"));
            }
        }
        Ok(People { register: Some(register), ..people })
    }

    /// What somebody is called.
    pub fn label(&self, person: u32) -> String {
        self.names.get(person as usize).cloned().unwrap_or_else(|| format!("row {}", person + 1))
    }

    /// Looks people up: what is written in its normal form, and their numbers, rising.
    pub(super) fn find(&mut self, over: &str) -> Result<(String, Vec<u32>), Failure> {
        let normal = normal(over)?;
        if let Some(found) = self.known.get(&normal) {
            return Ok((normal, found.clone()));
        }
        let found = if is_condition(over) { self.meeting(over)? } else { self.listed(over)? };
        self.known.insert(normal.clone(), found.clone());
        Ok((normal, found))
    }

    fn meeting(&self, over: &str) -> Result<Vec<u32>, Failure> {
        let register = self.register.as_ref().ok_or_else(|| {
            Failure::usage(
                "needs-register",
                format!("`{over}` is a condition, and there is nobody to look up"),
            )
            .remedy(
                Remedy::words("give the people with ")
                    .and_give(Argument::Register)
                    .then(", or name them one by one"),
            )
        })?;
        let query = if over.trim() == EVERYBODY {
            Query { conditions: Vec::new() }
        } else {
            Query::parse(over)?
        };
        let met = register.meeting(&query)?;
        let found: Vec<u32> = (0..).zip(met).filter(|(_, met)| *met).map(|(row, _)| row).collect();
        if found.is_empty() {
            return Err(Failure::data(
                "nobody-meant",
                format!("nobody of the register meets `{over}`"),
            )
            .hint("compare the condition with the register's columns and their values"));
        }
        Ok(found)
    }

    fn listed(&mut self, over: &str) -> Result<Vec<u32>, Failure> {
        if self.register.is_some() && self.names.is_empty() {
            return Err(Failure::usage(
                "needs-names",
                "people are named, but no column of the register names them",
            )
            .remedy(
                Remedy::words("say which column does with ")
                    .and_give(Argument::Name)
                    .then(", or write a condition such as `age > 30`"),
            ));
        }
        let mut found = Vec::new();
        for name in words(over)? {
            let number = match self.numbers.get(&name) {
                Some(&number) => number,
                None if self.register.is_some() => {
                    return Err(Failure::data("unknown-person", format!("`{name}` is not in the register"))
                        .hint("write names as the register does, those with spaces in quotes, as in 'Ann Lee'"));
                }
                None => {
                    self.names.push(name.clone());
                    self.numbers.insert(name, self.names.len() as u32 - 1);
                    self.names.len() as u32 - 1
                }
            };
            found.push(number);
        }
        let named = found.len();
        found.sort_unstable();
        found.dedup();
        if found.len() < named {
            return Err(Failure::data("wrong-statistic", "somebody is named twice")
                .hint("name everybody once"));
        }
        Ok(found)
    }
}

/// Whether it is a condition, not names.
fn is_condition(over: &str) -> bool {
    over.trim() == EVERYBODY || over.contains(['=', '<', '>', '[', '('])
}

/// The same text for the same condition or the same names.
pub(super) fn normal(over: &str) -> Result<String, Failure> {
    let over = over.trim();
    if over.is_empty() {
        return Err(Failure::data("wrong-statistic", "it is not said who the statistic is over").hint(
            "name people, or write a condition such as `job = Engineer`, in the column `over`; `*` is everybody",
        ));
    }
    if over == EVERYBODY {
        return Ok(over.into());
    }
    if is_condition(over) {
        let text = Query::parse(over)?.to_string();
        return Ok(text.strip_prefix("COUNT ").unwrap_or(&text).to_owned());
    }
    let mut names = words(over)?;
    names.sort_unstable();
    Ok(names.join(" "))
}

/// Words between spaces; one in quotes may hold spaces itself.
fn words(text: &str) -> Result<Vec<String>, Failure> {
    let (mut words, mut rest) = (Vec::new(), text.trim_start());
    while let Some(first) = rest.chars().next() {
        let (word, after) = if first == '"' || first == '\'' {
            let open = Failure::data("wrong-statistic", "a quote is not closed")
                .hint("write names with spaces as 'Ann Lee'");
            rest[1..].split_once(first).ok_or(open)?
        } else {
            rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()))
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    Ok(words)
}
