//! What is wrong with an input, told to a person: the thing that is wrong and the remedy.
//!
//! A parser or check collects every [`Problem`] it finds and returns them together, so that a policy with three
//! mistakes is corrected in one round.

use std::fmt;

/// One mistake in what the user gave: the message names the thing, the hint says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong; names file, line, column or policy key. No full stop at the end of a single sentence.
    pub message: String,
    /// What the user can do about it.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem without a remedy to offer.
    pub fn new(message: impl Into<String>) -> Problem {
        Problem { message: message.into(), hint: None }
    }

    /// The same problem with a remedy.
    pub fn hint(mut self, hint: impl Into<String>) -> Problem {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

/// All problems found in one go; never empty when returned as an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// Adds one.
    pub fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    /// `Ok(value)` if nothing was found.
    pub fn or<T>(self, value: T) -> Result<T, Problems> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Problems {
        Problems(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
