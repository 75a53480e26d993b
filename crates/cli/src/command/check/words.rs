//! What `check` says to people.

use analysis::loop_stability::Margins;
use model::compensator::Design;
use model::transfer::TransferSystem;
use twinrig::assembly::Assembly;
use twinrig::check::{
    Check, IterativeCheck, LoopCheck, directions, margin_numbers, tables, verdict,
};
use twinrig::fit::{Cost, Fit, MARGIN, MainLoop};
use twinrig::forecast::Forecast;
use twinrig::page::KeyNumber;
use twinrig::page::text::label;
use twinrig::table::Table;
use twinrig::words::{Words, counted, number, rounded};

/// The check in words.
pub(super) fn words(check: &Check, assembly: &Assembly) -> Words {
    match check {
        Check::Loop(found) => of_loop(found, assembly),
        Check::Iterative(found) => of_iterative(found),
    }
}

fn of_iterative(found: &IterativeCheck) -> Words {
    let [low, high] = found.band_hz;
    let modes: Vec<String> = found.modes_in_band_hz.iter().map(|&hertz| number(hertz)).collect();
    let rows = [
        ["band [Hz]", &format!("{} to {}", number(low), number(high))],
        ["natural frequencies in the band, small motions [Hz]", &modes.join(", ")],
        ["interface DOFs", &found.interface_dofs.to_string()],
        ["harmonics matched", &found.harmonics.to_string()],
        ["unknowns, and evaluations for a Jacobian by differences", &found.unknowns.to_string()],
        ["samples per period", &number(found.samples_per_period)],
    ];
    let mut words = Words::from(label(&found.title));
    words.line("An iterative test: the loop is open. `twinrig trace` runs it.\n");
    words.table(Table::new(&["", "value"]).filled(rows.map(|row| row.map(str::to_owned))));
    words.line(format!("the same test with feedback: {}", found.feedback.words()));
    words
}

fn of_loop(found: &LoopCheck, assembly: &Assembly) -> Words {
    let forecast = &found.forecast;
    let (dofs, mut words) = (found.dof_names.len(), Words::from(label(&found.title)));
    words.line(format!(
        "{}, {} at the interface, {} of {} ms\n",
        counted(dofs, "DOF"),
        found.interface_dofs,
        counted(found.ticks, "tick"),
        number(1e3 * forecast.step_s),
    ));
    words.verdict(&found.verdict);
    words.line("");
    words.table(tables::modes(forecast));
    let more = dofs.saturating_sub(forecast.modes.len());
    let samples = forecast.samples_per_cycle;
    let margins = forecast.examined.iter().flat_map(|examined| margins(&examined.margins));
    let margins = margins
        .chain(forecast.period_gain().and_then(|gain| listed(&margin_numbers(&gain.margins))));
    let before = [
        (more > 0).then(|| format!("and {}", counted(more, "higher mode"))),
        Some(verdict(forecast)),
        rigid_bodies(forecast),
        found
            .rehearsal
            .as_ref()
            .filter(|rehearsal| rehearsal.found.is_none())
            .map(|rehearsal| rehearsal.words()),
    ];
    let after = [
        main_loop(assembly, forecast.step_s),
        phases(assembly),
        (found.faults > 0)
            .then(|| format!("not included: {}", counted(found.faults, "rehearsed fault"))),
        critical(assembly, forecast),
        samples
            .is_finite()
            .then(|| format!("{} samples per cycle of the fastest mode", rounded(samples))),
        found.fit.as_ref().map(fit_words),
    ];
    let said = before.into_iter().flatten().chain(margins).chain(after.into_iter().flatten());
    said.for_each(|line| words.line(line));
    if let Some(trials) = forecast.examined.as_ref().and_then(|found| tables::trials(found)) {
        words.line(format!("\n{}\n", trials.title));
        words.table(trials);
    }
    if let Some(advice) = &found.advice {
        words.0.extend(tables::cuts(&found.dof_names, advice).0);
    }
    words
}

fn main_loop(assembly: &Assembly, step_s: f64) -> Option<String> {
    let rates = assembly.rates.as_ref()?;
    let ms = |ticks: usize| rounded(1e3 * step_s * ticks as f64);
    Some(format!(
        "main loop every {} ms, {} for each step; motion extrapolated up to {} ms ahead by {}",
        ms(rates.ratio),
        counted(rates.task_ticks, "tick"),
        ms(rates.task_ticks + rates.ratio),
        rates.predictor.name()
    ))
}

/// What comes before and after the load, and where it comes from.
fn phases(assembly: &Assembly) -> Option<String> {
    let course = assembly.course?;
    let seconds = |ticks: u64| rounded(assembly.integrator.step_s * ticks as f64);
    let mut words = format!("the load begins after {} s", seconds(assembly.ticks_before()));
    if let Some(plan) = &assembly.stream {
        words += &format!(
            ", once a host has sent {} of its samples, one in {} ticks",
            plan.prefill_samples, plan.ticks_per_sample
        );
    }
    if let Some(plan) = course.completing {
        let longest = seconds(plan.ring_down_ticks);
        words += &format!("; after it the structure rings down for up to {longest} s");
    }
    Some(words)
}

/// A structure without support drifts, in the loop as in truth.
fn rigid_bodies(forecast: &Forecast) -> Option<String> {
    let (motions, them) = match forecast.rigid_bodies {
        0 => return None,
        1 => ("its rigid-body motion neither grows nor decays".to_owned(), "it"),
        count => (format!("its {count} rigid-body motions neither grow nor decay"), "them"),
    };
    Some(format!(
        "the structure has no support: {motions}, and any offset of the measured force lets {them} \
         drift"
    ))
}

fn named(of: &KeyNumber) -> String {
    format!("{} {}", of.name.to_lowercase(), of.value)
}

/// Margins in a line, each with its frequency.
fn listed(numbers: &[KeyNumber]) -> Option<String> {
    let said: Vec<String> =
        numbers.iter().map(|of| format!("{} {}", named(of), of.limit)).collect();
    (!said.is_empty()).then(|| said.join(", "))
}

fn margins(margins: &Margins) -> Vec<String> {
    if !margins.verdict.is_stable() {
        return Vec::new();
    }
    let numbers = margin_numbers(margins);
    let (delay, rest) = numbers.split_at(usize::from(margins.verdict.delay_margin.is_some()));
    let mut said = vec![delay.first().map_or_else(
        || "no further delay makes this loop unstable".to_owned(),
        |of| format!("{} ({})", named(of), of.limit),
    )];
    said.extend(listed(rest));
    said.extend(margins.disk.as_ref().map(|disk| {
        let (below, above) = disk.gain();
        format!(
            "if each interface DOF differs: gain ×{} to ×{}, phase {}° at {} Hz (weakest \
             direction: {})",
            rounded(below),
            rounded(above),
            rounded(disk.phase_rad().to_degrees()),
            rounded(disk.frequency_hz),
            directions(&disk.direction)
        )
    }));
    said
}

fn critical(assembly: &Assembly, forecast: &Forecast) -> Option<String> {
    let critical = forecast.critical_delay.as_ref()?;
    let rig = &assembly.transfer_system;
    // Dynamics change the gain as well as the time, and a compensator changes both.
    let plain = matches!(rig, TransferSystem::Delay { .. } | TransferSystem::Ideal)
        && forecast.compensator == Design::None;
    let hertz = rounded(critical.frequency_hz);
    Some(if critical.delay_s > 0.0 {
        let what = if plain { "" } else { " of a pure delay" };
        let rig = forecast.delay_s.is_finite().then(|| {
            let alone = if plain { "" } else { " alone" };
            format!("; the transfer system{alone} has {} ms there", rounded(1e3 * forecast.delay_s))
        });
        let critical_ms = rounded(1e3 * critical.delay_s);
        let estimate = forecast.estimate_s.map_or(String::new(), |estimate_s| {
            format!(" (Gao & You's estimate {} ms)", rounded(1e3 * estimate_s))
        });
        format!(
            "critical delay{what} {critical_ms} ms at {hertz} Hz{estimate}{}",
            rig.unwrap_or_default()
        )
    } else if critical.frequency_hz.is_finite() {
        format!(
            "any delay makes this loop unstable: the motion at {hertz} Hz has no damping; give the \
             structure some"
        )
    } else {
        "any delay makes this loop unstable: the specimen is heavier than what is simulated at \
         its DOF; give more of the mass to the numerical substructure"
            .to_owned()
    })
}

/// Whether the loop fits its period here, and what would.
fn fit_words(fit: &Fit) -> String {
    let us = |seconds: f64| rounded(1e6 * seconds);
    let percent = |share: f64| rounded(100.0 * share);
    // The slowest of a hundred is what must fit; the median is for comparison.
    let cost = |cost: &Cost| format!("{} µs (99 %; median {} µs)", us(cost.p99_s), us(cost.p50_s));
    let share = percent(fit.tick_share());
    let mut costs = format!(
        "a tick takes {}, {share} % of its period with a margin of {MARGIN}",
        cost(&fit.tick)
    );
    match &fit.main_loop {
        None if !fit.fits() => {
            costs += &format!("; the numerical substructure alone takes {}", cost(&fit.step));
        }
        None => {}
        Some(MainLoop { ratio, task_ticks }) => {
            costs += &format!(
                "; a step of the main loop (1:{ratio}) takes {}, {} % of its {} with the same margin",
                cost(&fit.step),
                percent(fit.main_share().unwrap_or(f64::NAN)),
                counted(*task_ticks as usize, "tick"),
            );
        }
    }
    match (fit.fits(), fit.ratio()) {
        (true, _) => format!("fits real time here: {costs}"),
        (false, Some(ratio)) => format!(
            "does NOT fit real time here: {costs}; a [main_loop] with ratio and task_ticks of \
             {ratio} or more would fit"
        ),
        (false, None) => format!(
            "does NOT fit real time here: {costs}; no [main_loop] helps, choose a lower rate or a \
             smaller model"
        ),
    }
}
