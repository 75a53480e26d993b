//! What `check` says to people.

use analysis::loop_stability::Margins;
use model::compensator::Design;
use model::transfer::TransferSystem;
use twinrig::assembly::Assembly;
use twinrig::check::{Check, IterativeCheck, LoopCheck, tables, verdict};
use twinrig::fit::{Cost, Fit, MARGIN, NumericalCost};
use twinrig::forecast::Forecast;
use twinrig::page;
use twinrig::page::text::label;
use twinrig::table::Table;
use twinrig::words::{Words, counted, number};

/// The check in words.
pub(super) fn words(check: &Check, assembly: &Assembly) -> Words {
    match check {
        Check::Loop(found) => of_loop(found, assembly),
        Check::Iterative(found) => of_iterative(found),
    }
}

fn of_iterative(found: &IterativeCheck) -> Words {
    let listed = |values: &[f64]| match values {
        [] => "none".to_owned(),
        values => values.iter().map(|&v| number(v)).collect::<Vec<_>>().join(", ") + " Hz",
    };
    let [low, high] = found.band_hz;
    let rows = [
        ["band", &format!("{} to {} Hz", number(low), number(high))],
        ["natural frequencies in it, for small motions", &listed(&found.modes_in_band_hz)],
        ["interface DOFs", &found.interface_dofs.to_string()],
        ["harmonics matched", &found.harmonics.to_string()],
        ["unknowns", &found.unknowns.to_string()],
        ["evaluations for a Jacobian by differences", &found.unknowns.to_string()],
        ["samples per period", &number(found.samples_per_period)],
        ["the same test with feedback", &found.feedback.words()],
    ];
    let mut words = Words::default();
    words.line(label(&found.title));
    words.line("An iterative test: the loop is cut. `twinrig trace` runs it.\n");
    words.table(Table::new(&["", "value"]).filled(rows.map(|row| row.map(str::to_owned))));
    words
}

fn of_loop(found: &LoopCheck, assembly: &Assembly) -> Words {
    let forecast = &found.forecast;
    let (dofs, mut words) = (found.dof_names.len(), Words::default());
    words.line(label(&found.title));
    words.line(format!(
        "{}, {} at the interface, {} of {} ms\n",
        counted(dofs, "DOF"),
        found.interface_dofs,
        counted(found.ticks, "tick"),
        number(1e3 * forecast.step_s),
    ));
    words.table(plain(&tables::modes(forecast)));
    let more = dofs.saturating_sub(forecast.modes.len());
    if more > 0 {
        words.line(format!("and {}", counted(more, "higher mode")));
    }
    let mut say = |line: String| words.line(line);
    say(verdict(forecast));
    rigid_bodies(forecast).into_iter().for_each(&mut say);
    if !forecast.linear {
        say("this holds for small motions, every nonlinear element at its initial stiffness: \
             rehearse the test for the rest"
            .to_owned());
    }
    if let Some(examined) = &forecast.examined {
        margins(&examined.margins).into_iter().for_each(&mut say);
    }
    if let Some(rates) = &assembly.rates {
        say(format!(
            "a main loop of {} ms, {} for its task; points up to {} ms ahead by {}",
            number(1e3 * forecast.step_s * rates.ratio as f64),
            counted(rates.task_ticks, "tick"),
            number(1e3 * forecast.step_s * (rates.task_ticks + rates.ratio) as f64),
            rates.predictor.name()
        ));
    }
    phases(assembly).into_iter().for_each(&mut say);
    match found.faults {
        0 => {}
        1 => say("1 fault that the file rehearses is not part of this".to_owned()),
        faults => say(format!("{faults} faults that the file rehearses are not part of this")),
    }
    critical(assembly, forecast).into_iter().for_each(&mut say);
    if forecast.samples_per_cycle.is_finite() {
        let samples = number(forecast.samples_per_cycle);
        say(format!("{samples} samples per cycle of the fastest mode"));
    }
    say(fit_words(&forecast.fit));
    if let Some(trials) = forecast.examined.as_ref().and_then(|found| tables::trials(found)) {
        words.line("");
        words.table(plain(&trials));
    }
    if let Some(advice) = &found.advice {
        words.0.extend(tables::cuts(&found.dof_names, advice).0);
    }
    words
}

/// A table of the page, for the terminal.
fn plain(table: &page::Table) -> Table {
    let header: Vec<&str> = table.header.iter().map(String::as_str).collect();
    Table::new(&header).filled(table.rows.iter().cloned())
}

/// What comes before and after the load, and where it comes from.
fn phases(assembly: &Assembly) -> Option<String> {
    let course = assembly.course?;
    let seconds = |ticks: u64| number(assembly.integrator.step_s * ticks as f64);
    let mut words = format!("the load begins after {} s", seconds(assembly.ticks_before()));
    if let Some(plan) = &assembly.stream {
        words += &format!(
            ", once a host has sent {} of its samples, one in {} ticks",
            plan.prefill_samples, plan.ticks_per_sample
        );
    }
    if let Some(plan) = course.completing {
        words += &format!(
            "; after it the loop rings down for up to {} s",
            seconds(plan.ring_down_ticks)
        );
    }
    Some(words)
}

/// A structure without support drifts, in the loop as in truth.
fn rigid_bodies(forecast: &Forecast) -> Option<String> {
    (forecast.rigid_bodies > 0).then(|| {
        let (motion, it) = match forecast.rigid_bodies {
            1 => ("its rigid-body motion neither grows nor decays".to_owned(), "it"),
            count => (format!("its {count} rigid-body motions neither grow nor decay"), "them"),
        };
        format!(
            "the structure has no support: {motion}, and any offset of the measured force lets \
             {it} drift"
        )
    })
}

fn margins(margins: &Margins) -> Vec<String> {
    if !margins.verdict.is_stable() {
        return Vec::new();
    }
    let mut said = Vec::new();
    match margins.verdict.delay_margin {
        Some(delay) => said.push(format!(
            "delay margin {} ms (unstable at {} Hz)",
            number(1e3 * delay.delay_s),
            number(delay.frequency_hz)
        )),
        None => said.push("no further delay makes this loop unstable".to_owned()),
    }
    let mut rest = Vec::new();
    if let Some((factor, hertz)) = margins.gain_above {
        rest.push(format!("loop gain × {} at {} Hz", number(factor), number(hertz)));
    }
    if let Some((factor, hertz)) = margins.gain_below {
        rest.push(format!("loop gain × {} at {} Hz", number(factor), number(hertz)));
    }
    if let Some((phase, hertz)) = margins.phase {
        rest.push(format!("phase {}° at {} Hz", number(phase.to_degrees()), number(hertz)));
    }
    if !rest.is_empty() {
        said.push(format!("margins: {}", rest.join(", ")));
    }
    if let Some(disk) = &margins.disk {
        let (below, above) = disk.gain();
        let named: Vec<String> = (1..)
            .zip(&disk.direction)
            .map(|(dof, part)| format!("{} of interface DOF {dof}", number(*part)))
            .collect();
        said.push(format!(
            "margins if the forces differ: gain × {} to × {}, phase {}° at {} Hz (weakest direction: {})",
            number(below),
            number(above),
            number(disk.phase_rad().to_degrees()),
            number(disk.frequency_hz),
            named.join(", ")
        ));
    }
    said
}

fn critical(assembly: &Assembly, forecast: &Forecast) -> Option<String> {
    let critical = forecast.critical_delay.as_ref()?;
    let rig = &assembly.transfer_system;
    // Dynamics change the gain as well as the time, and a compensator changes both.
    let plain = matches!(rig, TransferSystem::Delay { .. } | TransferSystem::Ideal)
        && forecast.compensator == Design::None;
    Some(if critical.delay_s > 0.0 {
        let has = match plain {
            _ if !forecast.delay_s.is_finite() => String::new(),
            true => {
                format!("; the transfer system has {} ms there", number(1e3 * forecast.delay_s))
            }
            false => format!(
                ", if the loop were late and nothing else; the transfer system alone has {} ms \
                 there",
                number(1e3 * forecast.delay_s)
            ),
        };
        format!(
            "critical delay {} ms at {} Hz{has}",
            number(1e3 * critical.delay_s),
            number(critical.frequency_hz),
        )
    } else if critical.frequency_hz.is_finite() {
        format!(
            "any delay makes this loop unstable: the motion of {} Hz has no damping; give the \
             structure some",
            number(critical.frequency_hz)
        )
    } else {
        "any delay makes this loop unstable: the specimen is heavier than what is simulated at \
         its DOF; give more of the mass to the numerical side"
            .to_owned()
    })
}

/// Whether the loop fits its period here, and what would.
fn fit_words(fit: &Fit) -> String {
    let us = |seconds: f64| number(1e6 * seconds);
    // The slowest of a hundred is what must fit; the median is for comparison.
    let cost = |cost: &Cost| {
        format!("{} µs in 99 of 100 cases (median {} µs)", us(cost.p99_s), us(cost.p50_s))
    };
    let mut costs = format!(
        "after a sleep a tick takes at most {} here: {} % of its period with a margin of {MARGIN}",
        cost(&fit.tick),
        number(100.0 * fit.tick_share()),
    );
    match &fit.numerical {
        NumericalCost::InTick(step) if !fit.fits() => {
            costs += &format!("; the numerical part alone takes {}", cost(step));
        }
        NumericalCost::InTick(_) => {}
        NumericalCost::MainLoop { step, ratio, task_ticks } => {
            costs += &format!(
                "; a step of the main loop (1:{ratio}) takes at most {}: {} % of the {} it has with \
                 the same margin",
                cost(step),
                number(100.0 * fit.main_share().unwrap_or(f64::NAN)),
                counted(*task_ticks as usize, "tick"),
            );
        }
    }
    match (fit.fits(), fit.ratio()) {
        (true, _) => format!("the loop fits its period: {costs}"),
        (false, Some(ratio)) => format!(
            "the loop does NOT fit its period: {costs}; a [main_loop] with ratio and task_ticks of \
             {ratio} or more would fit"
        ),
        (false, None) => format!(
            "the loop does NOT fit its period: {costs}; no [main_loop] helps, choose a lower rate \
             or a smaller model"
        ),
    }
}
