// @ts-check
/** State, clock and controls of a test. */
import { h, plain, say, verdictChip } from "../dom.js";
import { post } from "../api.js";
import { inControl } from "../lease.js";
import { live, takeRun } from "../live.js";
import { attempt, confirm } from "../notice.js";
import { on, state } from "../state.js";

const STATES = { starting: ["Starting", ""], armed: ["Armed", "doubtful"], running: ["Running", "good"], held: ["Held", "doubtful"],
  stopping: ["Stopping", "doubtful"], over: ["Over", ""], lost: ["Lost", "bad"] };

const CONTROLS = [
  { name: "start", label: "Start", title: "Start the test?", text: () => state.run?.clock === "real" ? "The rig begins to move. Nobody is near it, and its own emergency stop is within reach?" : "The rehearsal begins." , yes: "Start" },
  { name: "hold", label: "Hold", title: "Hold the test?", text: () => "The desired motion stands still at its last position and the time of the test stops; resume goes on from there. Forces that depend on rate or inertia are not those of an uninterrupted test: the result is pseudo-dynamic, and the record says so. To end the test press STOP instead.", yes: "Hold" },
  { name: "resume", label: "Resume", title: "Resume the test?", text: () => "The test goes on from where it was held. The rig moves again.", yes: "Resume" },
];

/** What the program's exit codes mean, where the state does not say it. */
const EXITS = { 3: "The experiment file is wrong", 5: "The record is incomplete", 7: "Not started: the loop is predicted to be unstable", 8: "Stopped by the operator",
  9: "The load broke off", 10: "The verdict is wrong", 11: "The verdict is unsafe", 12: "The verdict is doubtful", 13: "The loop could not be judged" };

export function runHead() {
  const title = h("h1"), word = h("span.run-state"), clock = h("span.clock"), phase = h("span.soft"), verdict = h("span");
  const progress = h("progress", { "aria-label": "Time of the test", max: 1, value: 0 });
  const buttons = h("div.row"), trip = h("div.banner", { "data-level": "bad", role: "alert", hidden: true }), hint = h("span.soft.small");
  const said = h("div.unseen", { role: "status" });
  const element = h("div.run-head", null, h("div", null, title, h("div.row.small", null, verdict, phase, said)), h("div.row", null, word, clock, buttons, hint), trip, progress);
  progress.style.flexBasis = "100%";
  trip.style.flexBasis = "100%";
  let shown = "";

  const draw = () => {
    const run = state.run;
    if (!run) return;
    const [text, level] = STATES[run.state] ?? [run.state, ""];
    const named = `${text}${run.state === "over" && isStopped(run) ? ": stopped" : run.state === "over" && run.trip ? ": tripped" : ""}`;
    say(title, run.title || run.path);
    trip.dataset.level = isStopped(run) ? "doubtful" : "bad";
    say(word, state.link.stale ? `${named}?` : named);
    word.title = state.link.stale ? "What the test does now is not known" : "";
    word.dataset.level = state.link.stale ? "bad" : level;
    say(phase, `${run.clock === "real" ? "real time" : "virtual time"}${run.tick_hz ? ` · ${plain(run.tick_hz)} Hz` : ""}${run.phase_word ? ` · ${run.phase_word}` : ""}${unseen(run)}${alone(run)}`);
    say(clock, !run.duration_s ? "" : `${run.time_s.toFixed(1)} s of ${plain(Number(run.duration_s.toPrecision(3)))} s`);
    progress.value = run.duration_s > 0 ? Math.min(1, run.time_s / run.duration_s) : 0;
    const key = [run.can, inControl(), run.state, run.trip?.text, run.message, run.record, run.verdict?.level].join("|");
    if (key === shown) return;
    shown = key;
    verdict.replaceChildren(verdictChip(run.verdict));
    drawButtons(run, buttons, hint);
    drawTrip(run, trip);
    say(said, run.trip ? "" : `The test is ${text.toLowerCase()}.`);
  };
  draw();
  return { element, ends: [on("run", draw), on("lease", draw), on("link", draw)] };
}

/** Whether an operator has ended the test. */
const isStopped = (run) => run.exit === 8 || (run.presses > 0 && /operator/.test(run.trip?.text ?? ""));

/** What becomes of a test that nobody controls. */
function alone({ operator_lost: lost, state: now }) {
  if (lost?.attended !== false || now === "over") return "";
  return lost.action === "continue" ? " · nobody controls it, it goes on" : ` · NOBODY CONTROLS IT: ${lost.action} ${plain(lost.after_s)} s after the operator was lost`;
}

/** What the curves lack; the record has every frame. */
function unseen(run) {
  const frames = Math.max(run.frames_lost ?? 0, live.lostFrames);
  return `${frames ? ` · ${frames} frames not drawn` : ""}${live.missed ? ` · ${live.missed} messages missed by this viewer` : ""}`;
}

function drawButtons(run, box, hint) {
  const controls = CONTROLS.filter(({ name }) => run.can.includes(name)).map(({ name, label, title, text, yes }) => h("button", {
    type: "button", disabled: !inControl(), onclick: attempt(async () => {
      if (await confirm(title, [h("p", null, text())], yes)) await post(`/api/run/${name}`);
    }) }, label));
  const over = run.state === "over" || run.state === "lost";
  if (over && run.record) controls.push(h("a.button.quiet", { href: `#/records/${run.record}` }, "Open the record"));
  if (over) controls.push(h("button.quiet", { type: "button", disabled: !inControl(), onclick: attempt(async () => {
    await post("/api/run/clear");
    takeRun(null);
  }) }, "Next test"));
  box.replaceChildren(...controls);
  say(hint, controls.some((one) => one.disabled) ? (state.session?.role === "operator" ? "Take control first" : "You watch as a viewer") : "");
}

function drawTrip(run, box) {
  const words = isStopped(run) ? [h("h2", null, `Stopped by the operator${run.trip ? ` at ${run.trip.time_s.toFixed(2)} s` : ""}`)]
    : run.trip ? [h("h2", null, `Tripped at ${run.trip.time_s.toFixed(3)} s: ${run.trip.text}`), h("p.small", null, "The command is held, then ramps to zero. The record says what led to it.")]
    : run.state === "lost" ? [h("h2", null, "The host cannot reach the test"), h("p", null, "Its process lives, and what it does is not known here. Look at the rig. The stop is sent as soon as the test can be reached.")]
      : run.state === "over" && run.exit ? [h("h2", null, EXITS[run.exit] ?? `The test ended with exit code ${run.exit}`)] : [];
  if (words.length && run.message && !isStopped(run) && run.exit !== 4) words.push(h("pre", { tabindex: 0 }, run.message));
  box.hidden = !words.length;
  box.replaceChildren(...words);
}
