// @ts-check
/**
 * The stop. It needs no lease, works from every view and dialog by button and by Shift+Escape, and
 * is sent again until the host answers or the stream shows that it was taken.
 */
import { byId, h } from "./dom.js";
import { ApiError, post } from "./api.js";
import { on, state } from "./state.js";

/** So soon it is said that there is no answer yet. */
const TELL_MS = 800;
/** A request that is lost on its way is sent again after this, one that failed at once sooner. */
const AGAIN_MS = 2500, SOON_MS = 400;
const LONGEST_MS = 60_000;
/** @type {{id: string, since: number, presses: number, run: string | undefined, over: boolean} | null} */
let pending = null;
let hide = 0;

export function installStop() {
  byId("stop").addEventListener("click", press);
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (!event.repeat) press();
  }, { capture: true });
  on("run", (run) => {
    if (pending && !pending.over && run && run.id === pending.run && run.presses > pending.presses) taken(run.presses);
  });
}

/** One press by a person: what follows are repetitions of this one, which the host counts once. */
function press() {
  if (pending && !pending.over) pending.over = true;
  const id = Array.from(crypto.getRandomValues(new Uint32Array(3)), (n) => n.toString(36)).join("");
  pending = { id, since: performance.now(), presses: state.run?.presses ?? 0, run: state.run?.id, over: false };
  show(null, "STOP sent …");
  send(pending);
}

async function send(own) {
  const round = new AbortController();
  const limit = setTimeout(() => round.abort(), AGAIN_MS);
  const tell = setTimeout(() => own.over || unconfirmed(own, "no answer yet."), TELL_MS);
  try {
    const { presses } = await post("/api/run/stop", {}, { signal: round.signal, press: own.id });
    if (!own.over) taken(presses);
  } catch (problem) {
    if (own.over) return;
    const said = problem instanceof ApiError ? problem : null;
    if (said && said.status >= 400 && said.status < 500 && said.status !== 429) return refused(own, said);
    if (performance.now() - own.since > LONGEST_MS) return void (own.over = true);
    unconfirmed(own, said ? said.message : "no answer.");
    setTimeout(() => own.over || send(own), said ? SOON_MS : 0);
  } finally {
    clearTimeout(limit);
    clearTimeout(tell);
  }
}

function unconfirmed(own, why) {
  const waited = (performance.now() - own.since) / 1000;
  show("bad", `STOP is not confirmed after ${waited.toFixed(1)} s: ${why} It is sent again until it is. Use the emergency stop of the laboratory.`);
}

const MEANING = ["", "the command is held, then ramps to zero", "the ramp begins at once", "the command is frozen where it is"];

function taken(presses) {
  if (!pending) return;
  pending.over = true;
  const waited = (performance.now() - pending.since) / 1000;
  show("good", `Stop taken after ${waited.toFixed(2)} s (press ${presses}): ${MEANING[Math.min(presses, 3)] || "the test stops"}.`);
}

function refused(own, problem) {
  own.over = true;
  if (problem.code === "wrong_state" || problem.code === "not_found") return show(null, `Nothing to stop: ${problem.message}`);
  show("bad", `STOP REFUSED: ${problem.message} ${problem.code === "viewer" ? "A viewer cannot stop a test: call the operator, or use the emergency stop of the laboratory." : problem.remedy}`);
}

function show(level, text) {
  const box = byId("stop-state");
  clearTimeout(hide);
  if (level !== "bad") hide = window.setTimeout(() => { box.hidden = true; }, 20_000);
  if (level) box.dataset.level = level;
  else delete box.dataset.level;
  box.hidden = false;
  box.replaceChildren(h("span", null, text), h("button.quiet", { type: "button", onclick: () => { box.hidden = true; } }, "Close"));
}
