// @ts-check
/** Beside the curves: use of the limits, forecast, parameters, load, events. */
import { h, plain, say, short } from "../dom.js";
import { get, post, put } from "../api.js";
import { inControl } from "../lease.js";
import { live } from "../live.js";
import { attempt } from "../notice.js";
import { on, state } from "../state.js";

export function side() {
  const limits = limitBars(), parameters = parameterList(), events = eventList(), load = loadFeed();
  const element = h("aside.side", { "aria-label": "Limits, parameters and events" }, limits.element, parameters.element, load.element, events.element);
  const timer = setInterval(limits.draw, 200);
  const ends = [() => clearInterval(timer), on("hello", () => { limits.build(); parameters.draw(); }), on("run", () => { parameters.draw(); load.draw(); }),
    on("lease", () => { parameters.draw(true); load.draw(); }), on("events", events.draw)];
  limits.build();
  parameters.draw();
  load.draw();
  events.draw();
  return { element, ends };
}

/** How much of each limit is used now, and at most so far. */
function limitBars() {
  const box = h("div.bars.values"), forecast = h("p.values");
  /** @type {{name: string, bar: any, text: any, most: number}[]} */
  let rows = [];
  const row = (name, words) => {
    const bar = h("i"), text = h("span.number");
    rows.push({ name, bar, text, most: 0 });
    return h("div.bar-line", null, h("span", null, words), h("div.bar", { "aria-hidden": "true" }, bar), text);
  };
  const build = () => {
    rows = [];
    const names = live.curves.channels.map(({ name }) => name);
    box.replaceChildren(...names.filter((name) => name.startsWith("use.")).map((name) => row(name, name.slice(4))),
      ...(names.includes("stability_warning") ? [row("stability_warning", "stability")] : []));
    if (!rows.length) box.append(h("p.soft.small", null, "No limits known."));
  };
  const draw = () => {
    for (const one of rows) {
      const value = live.curves.newest(one.name)[1];
      if (Number.isFinite(value)) one.most = Math.max(one.most, value);
      one.bar.style.transform = `scaleX(${Math.max(0, Math.min(1, (value || 0) / 100))})`;
      one.bar.dataset.level = value > 90 ? "bad" : value > 70 ? "doubtful" : "good";
      say(one.text, Number.isFinite(value) ? `${value.toFixed(1)} %` : "–");
    }
    const [low] = live.curves.newest("forecast");
    const known = live.curves.index.has("forecast");
    forecast.hidden = !known;
    if (known) say(forecast, Number.isFinite(low) ? `Forecast: stability warning reaches 100 % in ${short(low, 2)} s` : "Forecast: no rise towards 100 %");
    forecast.dataset.level = low < 2 ? "bad" : "";
  };
  return { element: h("section", null, h("h2", null, "Use of the limits"), box, forecast), build, draw };
}

/** The numbers that the file declares as adjustable. */
function parameterList() {
  const box = h("div"), element = h("section", null, h("h2", null, "Parameters"), box);
  let shown = "";
  const draw = (again = false) => {
    const list = state.run?.parameters ?? [];
    element.hidden = !list.length;
    const key = JSON.stringify([list.map(({ name, min, max }) => [name, min, max]), inControl(), state.run?.can.includes("parameters")]);
    if (key !== shown || again === true) {
      shown = key;
      box.replaceChildren(...list.map(parameterRow));
    }
    list.forEach(({ name, value, target, unit }) => {
      const now = box.querySelector(`[data-now="${CSS.escape(name)}"]`);
      if (now) say(now, value === target ? `now ${plain(value)} ${unit}` : `now ${plain(value)} ${unit}, on its way to ${plain(target)} ${unit}`);
    });
  };
  return { element, draw };
}

function parameterRow({ name, target, min, max, unit, rate_per_s }) {
  const field = h("input", { type: "number", min, max, step: "any", value: target, "aria-label": `${name}, ${unit}` });
  const allowed = inControl() && state.run?.can.includes("parameters");
  const set = h("button.quiet", { disabled: !allowed }, "Set");
  return h("form.parameter", { onsubmit: attempt(async (event) => {
    event.preventDefault();
    await put("/api/run/parameters", { name, value: field.valueAsNumber });
  }) }, h("span", null, name), field, set,
  h("span.soft", null, h("span", { "data-now": name }), ` · ${plain(min)} to ${plain(max)} ${unit}, at most ${plain(rate_per_s)} per second`));
}

/** A load that is fed from a file of the folder. */
function loadFeed() {
  const words = h("p.small"), choice = h("select", { "aria-label": "File with the load" }), scale = h("input", { type: "number", value: 1, step: "any", "aria-label": "Factor", size: 6 });
  const send = h("button.quiet", { type: "button", onclick: attempt(() => post("/api/run/load", { path: choice.value, scale: scale.valueAsNumber })) }, "Feed");
  const row = h("div.row", null, choice, scale, send), element = h("section", null, h("h2", null, "Load"), words, row);
  let asked = false;
  const draw = () => {
    const load = state.run?.load, can = state.run?.can.includes("load");
    element.hidden = !load && !can;
    row.hidden = !can;
    send.disabled = !inControl();
    if (load) say(words, `${load.state}: ${load.used} of ${load.samples} samples used${load.starved_ticks ? `, ${load.starved_ticks} ticks without a sample` : ""}`);
    if (can && !asked) {
      asked = true;
      get("/api/files").then(({ files }) => choice.replaceChildren(...files.filter(({ path }) => path.endsWith(".csv")).map(({ path }) => h("option", { value: path }, path))), () => { asked = false; });
    }
  };
  return { element, draw };
}

const LEVELS = { trip: "bad", warning: "doubtful" };

function eventList() {
  const list = h("ol.events", { tabindex: 0, "aria-label": "Events, newest first" });
  const draw = () => list.replaceChildren(...[...state.events].reverse().slice(0, 200).map(({ time_s, what, text, by }) =>
    h("li", { "data-level": LEVELS[what] ?? null }, h("time", null, `${time_s.toFixed(2)} s`), h("span", null, h("span.soft", null, `${what}: `), text, by && h("span.soft", null, ` (${by})`)))),
  ...(state.events.length ? [] : [h("li", null, "Nothing yet.")]));
  return { element: h("section", null, h("h2", null, "Events"), list), draw };
}
