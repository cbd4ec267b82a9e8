//! Progress on a terminal, and what happens on Ctrl-C.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use scumble_io::publisher::Watcher;
use scumble_io::staging::Slot;
use std::time::{Duration, Instant};

/// Short work is not worth a bar that flashes by.
const PATIENCE: Duration = Duration::from_millis(400);

/// A bar on standard error, shown only on a terminal and only if the work takes a while.
pub struct Terminal {
    bar: ProgressBar,
    start: Instant,
}

impl Terminal {
    pub fn new() -> Terminal {
        let bar = ProgressBar::with_draw_target(Some(100), ProgressDrawTarget::stderr_with_hz(8));
        if let Ok(style) = ProgressStyle::with_template("{msg:>26} {wide_bar} {percent:>3}% {elapsed}") {
            bar.set_style(style);
        }
        Terminal { bar, start: Instant::now() }
    }

    /// Takes the bar away before the answer is printed.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watcher for Terminal {
    fn phase(&self, name: &'static str) {
        self.bar.set_message(name);
        self.bar.set_position(0);
    }

    fn at(&self, done: u64, total: u64) {
        if total > 0 && self.start.elapsed() > PATIENCE {
            self.bar.set_length(total);
            self.bar.set_position(done);
        }
    }

    fn note(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{}", crate::terminal::one_line(text)));
    }
}

/// On Ctrl-C or a request to end, removes what is half written and stops.
pub fn clean_up_on_interrupt(slot: &Slot, stop: impl Fn() + Send + 'static) {
    let slot = slot.clone();
    // Without a handler the program still ends, and the next run to the same folder removes what is left.
    let _ = ctrlc::set_handler(move || {
        slot.abandon(|complete| {
            stop();
            eprintln!("interrupted: {}", if complete { "the release is complete" } else { "nothing was published" });
            std::process::exit(130);
        });
    });
}
