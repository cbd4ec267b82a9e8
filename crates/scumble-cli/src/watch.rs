//! Progress on a terminal, and what happens on Ctrl-C.
//!
//! The first Ctrl-C, or a request to end, cancels the run: [`Terminal`] answers so when it is
//! asked, the run returns soon and leaves nothing behind. The second one ends the process at once;
//! what is half written then is removed by the next run to the same folder.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use scumble_publisher::observer::{Event, Observer};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// Short work is not worth a bar that flashes by.
const PATIENCE: Duration = Duration::from_millis(400);

/// A phase whose end is known: how much is done, and about how long the rest takes.
const KNOWN: &str = "{msg:>26} {wide_bar} {percent:>3}% {elapsed}, about {eta} left";
/// A phase whose end is not known.
const UNKNOWN: &str = "{msg:>26} {spinner} {elapsed}";
/// How often the spinner turns.
const TURN: Duration = Duration::from_millis(125);

/// Whether the user wants the run to end.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// What else must be told then.
static STOP: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);

/// A bar on standard error, shown only on a terminal and only if the work takes a while.
pub struct Terminal {
    bar: ProgressBar,
    start: Instant,
    /// Whether the end of the phase is known.
    known: Mutex<bool>,
}

impl Terminal {
    /// Shows the progress of a run that Ctrl-C cancels.
    pub fn new() -> Terminal {
        cancel_on_interrupt();
        let bar = ProgressBar::with_draw_target(Some(100), ProgressDrawTarget::stderr_with_hz(8));
        let terminal = Terminal { bar, start: Instant::now(), known: Mutex::new(true) };
        terminal.style(false);
        terminal
    }

    /// Takes the bar away before the answer is printed.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Shows a bar where the end is known, otherwise a spinner.
    fn style(&self, known: bool) {
        let mut now = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *now, known) == known {
            return;
        }
        if let Ok(style) = ProgressStyle::with_template(if known { KNOWN } else { UNKNOWN }) {
            self.bar.set_style(style);
        }
    }

    /// Whether the work takes so long that it is shown.
    fn takes_long(&self) -> bool {
        !self.bar.is_hidden() && self.start.elapsed() > PATIENCE
    }
}

impl Observer for Terminal {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::Phase(phase) => {
                self.bar.set_message(phase.words());
                self.bar.reset();
                self.style(false);
                // Turns by itself, also where nothing is told for a while.
                self.bar.enable_steady_tick(TURN);
            }
            Event::Progress { done, total } => {
                if !self.takes_long() {
                    return;
                }
                self.style(total > 0);
                if total > 0 {
                    self.bar.set_length(total);
                    self.bar.set_position(done);
                }
            }
            Event::Note(text) => {
                self.bar.suspend(|| eprintln!("{}", crate::terminal::one_line(text)))
            }
        }
    }

    fn cancelled(&self) -> bool {
        interrupted()
    }
}

/// Whether the user wants the run to end.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Tells somebody else, such as an engine, when the run is cancelled.
pub fn also_stop(stop: impl Fn() + Send + 'static) {
    *STOP.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(stop));
}

/// Cancels the run on Ctrl-C or a request to end, and ends the process on the second.
pub fn cancel_on_interrupt() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Without a handler the program still ends, and the next run to the same folder removes
        // what is left.
        let _ = ctrlc::set_handler(|| {
            if INTERRUPTED.swap(true, Ordering::Relaxed) {
                eprintln!("interrupted again: what is half written is removed by the next run");
                std::process::exit(130);
            }
            if let Some(stop) = &*STOP.lock().unwrap_or_else(PoisonError::into_inner) {
                stop();
            }
        });
    });
}
