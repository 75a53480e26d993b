// @ts-check
/** Before a test: choose, prepare, read verdict and limits, arm. Nothing moves here. */
import { facts, h, limitTable, quantity, verdictBanner } from "../dom.js";
import { get, post } from "../api.js";
import { inControl } from "../lease.js";
import { takeRun } from "../live.js";
import { attempt, notice } from "../notice.js";
import { on, state } from "../state.js";

/** @param {string} path @returns {{element: any, ends: (() => void)[]}} */
export function preparing(path) {
  const choice = h("select", { required: true, name: "experiment" });
  const clock = h("select", { name: "clock" }, h("option", { value: "real" }, "real time, with the rig"), h("option", { value: "virtual" }, "virtual time, a rehearsal"));
  const rig = h("input", { name: "rig", placeholder: "as in the file; ADDRESS:PORT; virtual" });
  const sets = h("input", { name: "set", placeholder: "integrator.rate=2 kHz; …" });
  const result = h("div.stack", { "aria-live": "polite" });
  const button = h("button", null, "Prepare");
  const words = h("p.soft.small");
  const form = h("form.stack", { onsubmit: attempt(async (event) => {
    event.preventDefault();
    button.disabled = true;
    result.replaceChildren(h("p.beat", null, "Preparing …"));
    try {
      const wish = { path: choice.value, clock: clock.value, rig: rig.value.trim() || null, set: sets.value.split(";").map((one) => one.trim()).filter(Boolean) };
      result.replaceChildren(prepared(await post("/api/run/prepare", wish), wish));
    } catch (problem) {
      result.replaceChildren(refusal(/** @type {any} */ (problem)));
    }
    control();
  }) }, h("div.form", null, h("label", null, "Experiment", choice), h("label", null, "Clock", clock), h("label", null, "Laboratory", rig), h("label", null, "Other values in the file", sets)),
  h("div.row", null, button, words));

  const control = () => {
    const viewer = state.session?.role !== "operator";
    button.disabled = !inControl();
    words.textContent = viewer ? "Viewers watch; an operator prepares and arms." : inControl() ? "Preparing moves nothing." : "Take control first (above).";
    result.querySelectorAll("[data-needs-control]").forEach((one) => one.dispatchEvent(new Event("control")));
  };
  get("/api/experiments").then(({ experiments }) => choice.replaceChildren(...experiments.map((one) =>
    h("option", { value: one.path, selected: one.path === path }, one.title ? `${one.title} (${one.path})` : one.path))), notice);
  control();
  const element = h("div.read.stack", null, h("h1", null, "Prepare a test"), form, result);
  return { element, ends: [on("lease", control), on("session", control)] };
}

function refusal(problem) {
  const found = problem.body?.diagnostics ?? [];
  return h("div.banner", { "data-level": "bad", role: "alert" }, h("h2", null, "Not prepared"), h("p", null, problem.message, " ", problem.remedy),
    found.length > 0 && h("ul", null, found.map((one) => h("li", null, `${one.file}${one.line ? ":" + one.line : ""}: ${one.message}`, one.remedy && ` (${one.remedy})`))));
}

function prepared(answer, wish) {
  const { verdict, limits = [], unstable } = answer;
  const read = h("input", { type: "checkbox" }), accept = h("input", { type: "checkbox" });
  const real = wish.clock === "real";
  const arm = h("button.danger", { type: "button", "data-needs-control": "", onclick: attempt(async () => {
    const armed = await post("/api/run/arm", { prepared: answer.prepared, accept_unstable: unstable && accept.checked });
    takeRun(armed.run ?? armed);
  }) },
    real ? "Arm the rig" : "Start the process");
  const look = () => { arm.disabled = !inControl() || !read.checked || (unstable && !accept.checked); };
  for (const one of [read, accept]) one.addEventListener("change", look);
  arm.addEventListener("control", look);
  look();
  return h("section.stack", null, h("h2", null, answer.title || wish.path),
    verdictBanner(verdict, "h3"),
    answer.diagnostics?.length > 0 && h("ul", null, answer.diagnostics.map((one) => h("li", null, one.message))),
    facts([["Clock", real ? "real time" : "virtual time"], ["Laboratory", wish.rig ?? "as in the file"], ["Duration", quantity(answer.duration_s, "s")], ["Other values", wish.set.join("; ")], ["File", (answer.version ?? "").slice(0, 12)]]),
    limits.length ? limitTable("Limits: the test stops by itself when one is exceeded", limits)
      : h("div.banner", { "data-level": "bad" }, h("h3", null, "The file declares no limits")),
    h("label", null, read, "I have read the verdict and the limits"),
    unstable && h("label", null, accept, h("strong", null, "The loop is predicted to be unstable. Arm it all the same: the record will say so")),
    h("div.row", null, arm, h("span.soft.small", null, real ? "The process starts, finds its rig and stands ready. The load begins only with Start." : "The process starts and stands ready.")));
}
