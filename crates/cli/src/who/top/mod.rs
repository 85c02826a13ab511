//! `who --top`: the last seconds in a terminal. `window` adds seconds up and `view` makes lines of
//! them, both pure; this module owns the terminal, which is restored at every end (`ui::screen`).

mod view;
mod window;

use crate::ui::out;
use crate::ui::screen::{self, Screen};
use anyhow::{Context, Result, bail};
use clocksmith_measure::interrupt;
use clocksmith_who::account;
use clocksmith_who::calibrate::Costs;
use clocksmith_who::session::Session;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::widgets::Paragraph;
use std::time::{Duration, Instant};
use window::{Second, Window};

/// Time between two looks at the keyboard.
const LOOK: Duration = Duration::from_millis(100);
/// Time between two pictures.
const BEAT: Duration = Duration::from_secs(1);

/// The values that are shown next to the table.
#[derive(Clone, Debug)]
pub(crate) struct About {
    /// The processes that are watched.
    pub(crate) target: String,
    /// The clocksource in use.
    pub(crate) clocksource: String,
    /// Whether colours are wanted.
    pub(crate) colour: bool,
}

/// Shows the last seconds until the user presses q, a signal arrives, or the time is up. Returns whether any samples
/// were shown.
pub(crate) fn run(
    about: &About,
    session: &mut Session,
    costs: &Costs,
    duration: Option<Duration>,
) -> Result<bool> {
    if !out::is_terminal() {
        bail!(
            "--top draws on a terminal, and standard output is not one; without --top there is a \
             report"
        );
    }
    fits()?;
    let mut screen = Screen::take().context("cannot use this terminal")?;
    let begun = Instant::now();
    let (mut window, mut next, mut seen) = (Window::default(), begun + BEAT, false);
    draw(&mut screen, about, &window)?;
    loop {
        let over = session.watch(LOOK, interrupt::wished);
        // The library reads a terminal that has gone for ever.
        if interrupt::wished() || screen::has_gone() {
            return Ok(seen || session.recording().all.samples > 0);
        }
        let mut dirty = false;
        while event::poll(Duration::ZERO).context("cannot read the keyboard")? {
            match event::read().context("cannot read the keyboard")? {
                Event::Key(key) if quits(key) => return Ok(seen),
                Event::Resize(..) => dirty = true,
                _ => {}
            }
        }
        let timed_out = duration.is_some_and(|end| begun.elapsed() >= end);
        if over || timed_out || interrupt::wished() {
            return Ok(seen || session.recording().all.samples > 0);
        }
        if Instant::now() >= next {
            next = Instant::now() + BEAT;
            let recording = session.recording();
            session.forget();
            seen |= recording.all.samples > 0;
            let profile = account::profile(&recording, costs);
            window.push(Second::of(&profile, recording.seconds));
            dirty = true;
        }
        if dirty {
            draw(&mut screen, about, &window)?;
        }
    }
}

fn quits(key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char('q' | 'Q') | KeyCode::Esc => true,
        KeyCode::Char('c') => key.modifiers.contains(KeyModifiers::CONTROL),
        _ => false,
    }
}

/// Checks that the terminal's size is plausible: the library allocates memory for each place, and the other side of a
/// terminal may state any size.
fn fits() -> Result<()> {
    const MOST: u32 = 1_000_000;
    let (width, height) =
        crossterm::terminal::size().context("cannot determine the size of this terminal")?;
    if u32::from(width) * u32::from(height) > MOST {
        bail!(
            "this terminal says that it has {width} columns and {height} lines, which --top cannot draw on"
        );
    }
    Ok(())
}

fn draw(screen: &mut Screen, about: &About, window: &Window) -> Result<()> {
    fits()?;
    let picture = |frame: &mut ratatui::Frame<'_>| {
        let area = frame.area();
        let lines = view::lines(about, window, area.width.into(), area.height.into());
        frame.render_widget(Paragraph::new(lines), area);
    };
    screen.0.draw(picture).context("cannot draw on this terminal")?;
    Ok(())
}
