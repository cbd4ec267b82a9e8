//! The door to the terminal: everything that is printed goes through here.
//!
//! Names of columns, values, files and tables come from files that somebody else may have written.
//! An escape sequence in one of them could clear the screen, change what was printed before it, or
//! set the title; a mark of writing direction could turn a line around. So control characters are
//! written as `\u{…}`, and nothing that is printed needs them.

use crate::remedy;
use scumble::failure::Failures;
use std::borrow::Cow;
use std::io::Write;

/// Prints text to standard output. A reader that closed the pipe early got what it wanted; every
/// other failure is told.
pub fn print(text: &str) -> std::io::Result<()> {
    written(&escaped(text, '\n'))
}

/// Prints JSON, in which what is no ASCII control character is escaped as JSON does it.
pub fn print_json(json: &serde_json::Value) -> std::io::Result<()> {
    let text = format!("{json:#}\n");
    if !text.contains(|c| is_control(c) && c != '\n') {
        return written(&text);
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if is_control(c) && c != '\n' => safe.push_str(&format!("\\u{:04x}", c as u32)),
            c => safe.push(c),
        }
    }
    written(&safe)
}

fn written(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(e),
        _ => Ok(()),
    }
}

/// Prints problems to standard error. A proof in a message has several lines.
pub fn problems(problems: &Failures) {
    let mut err = std::io::stderr().lock();
    for problem in &problems.0 {
        let _ = writeln!(err, "error: {}", escaped(&problem.message, '\n'));
        if let Some(remedy) = &problem.remedy {
            let _ = writeln!(err, "  hint: {}", escaped(&remedy::words(remedy), '\n'));
        }
    }
}

/// Text without any control character: for a cell or a name.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, '\0')
}

/// Text whose control characters but `allowed` are written as `\u{…}`.
fn escaped(text: &str, allowed: char) -> Cow<'_, str> {
    let stays = |c: char| !is_control(c) || (c == allowed && c != '\0');
    if text.chars().all(stays) {
        return text.into();
    }
    let escape = |c: char| if stays(c) { c.to_string() } else { c.escape_unicode().to_string() };
    text.chars().map(escape).collect()
}

/// Control characters, and marks that change the direction in which the line is shown.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_passes() {
        let all: String = (0..0x3000).filter_map(char::from_u32).collect();
        assert!(one_line(&all).chars().all(|c| !is_control(c)));
        assert!(escaped(&all, '\n').chars().all(|c| !is_control(c) || c == '\n'));
        assert_eq!(one_line("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert!(matches!(one_line("plain ℓ text"), Cow::Borrowed(_)));
    }
}
