// @ts-check
/** Control of the test: one operator at a time, with hand-over. */
import { byId, h } from "./dom.js";
import { ApiError, keys, post, put, remove } from "./api.js";
import { ask, attempt, confirm, notice } from "./notice.js";
import { isActive, on, state, tell } from "./state.js";

const NAME = "twinrig.name";
let waiting = 0;
let renewed = 0, renewing = false;

/** Whether this tab has control. */
export const inControl = () => keys.lease !== "" && performance.now() - renewed < 15_000;

export function installLease() {
  on("lease", draw);
  on("run", draw);
  // A browser slows down the clocks of a page that is hidden, but not what the host tells it.
  on("run", () => performance.now() - renewed > 5000 && renew());
  on("session", draw);
  // Who leaves a test that runs is an operator lost.
  addEventListener("beforeunload", (event) => {
    if (inControl() && isActive(state.run)) event.preventDefault();
  });
  setInterval(renew, 5000);
  if (keys.lease) renew();
  draw();
}

async function renew() {
  if (!keys.lease || renewing) return;
  renewing = true;
  try {
    await put("/api/lease");
    const before = inControl();
    renewed = performance.now();
    if (!before) tell("lease", state.lease);
  } catch (problem) {
    if (problem instanceof ApiError && problem.code === "lease_needed") lose("Control has gone to somebody else or has expired.");
    else if (!inControl()) tell("lease", state.lease);
  } finally {
    renewing = false;
  }
}

function lose(why) {
  keys.lease = "";
  notice(why, "doubtful");
  tell("lease", state.lease);
}

/** Asks for control under a name, once now and then every 2 s until it is given. */
const take = attempt(async () => {
  const field = h("input", { value: localStorage.getItem(NAME) ?? "", maxlength: 40, required: true, autocomplete: "name" });
  const held = state.lease && !inControl();
  const name = await ask(held ? `Ask ${state.lease?.holder} for control` : "Take control", [
    h("p", null, held ? "The other operator sees your name and may hand over." : "Only one operator at a time controls the test. Everybody with an operator's token can stop it."),
    h("label.field", null, "Your name, as it will stand in the record", field),
  ], [{ label: "Cancel", value: null, quiet: true }, { label: held ? "Ask" : "Take control", value: () => field.value.trim(), ready: () => field.value.trim() !== "" }]);
  if (!name) return;
  localStorage.setItem(NAME, name);
  clearInterval(waiting);
  if (await tryTake(name)) return;
  waiting = window.setInterval(attempt(() => tryTake(name)), 2000);
  draw();
});

async function tryTake(name) {
  try {
    const answer = await post("/api/lease", { name });
    keys.lease = answer.lease;
    renewed = performance.now();
    stopAsking();
    state.lease = { holder: answer.holder, asked_by: null };
    tell("lease", state.lease);
    return true;
  } catch (problem) {
    if (problem instanceof ApiError && problem.code === "lease_held") return false;
    stopAsking();
    throw problem;
  }
}

function stopAsking() {
  clearInterval(waiting);
  waiting = 0;
  draw();
}

const give = attempt(async () => {
  await post("/api/lease/give");
  keys.lease = "";
  tell("lease", state.lease);
});

const release = attempt(async () => {
  const lost = state.run?.operator_lost;
  if (isActive(state.run) && !(await confirm("Release control while a test is active?", [
    h("p", null, lost ? `This is the loss of the operator: after ${lost.after_s} s the test will ${lost.action}, as its file declares.` : "Nobody will control the test.")], "Release", true))) return;
  await remove("/api/lease");
  keys.lease = "";
  state.lease = null;
  tell("lease", null);
});

function draw() {
  const box = byId("lease");
  if (state.session?.role !== "operator") {
    box.replaceChildren(h("span", null, "Control: " + (state.lease?.holder ?? "nobody")));
    return;
  }
  const mine = inControl(), holder = state.lease?.holder;
  const asked = mine && state.lease?.asked_by;
  const key = [mine, holder, asked, waiting !== 0, keys.lease !== ""].join("|");
  if (box.dataset.key === key) return;
  box.dataset.key = key;
  const words = mine ? `Control: you (${holder ?? ""})` : keys.lease ? "Control: not confirmed" : `Control: ${holder ?? "nobody"}`;
  const button = (label, work, quiet = true) => h("button" + (quiet ? ".quiet" : ""), { type: "button", onclick: work }, label);
  box.replaceChildren(h("span", mine ? { "data-level": "good", class: "chip" } : null, words),
    ...(mine ? [asked && h("strong", null, `${asked} asks for control`), asked && button(`Hand over to ${asked}`, give, false), button("Release", release)]
      : waiting ? [h("span.beat", null, "asked …"), button("Stop asking", stopAsking)]
        : [button(holder ? "Ask for control" : "Take control", take, !!holder)]).filter(Boolean));
}
