// @ts-check
/** Studies: the program's own commands, started from here, with their progress and growing results. */
import { h, moment, quantity, say } from "../dom.js";
import { download, get, openTicket, post, remove, request } from "../api.js";
import { Chart } from "../chart.js";
import { documentOf, words } from "../document.js";
import { attempt, notice } from "../notice.js";
import { on, state } from "../state.js";

const KINDS = {
  check: { text: "Check: is the loop stable?", options: [["advise", "check", "Rank other partitions"]] },
  identify: { text: "Identify the transfer system", options: [["signal", ["", "noise", "chirp", "multisine"], "Signal"], ["band", "0.1..25 Hz", "Band"], ["rms", "0.5 mm", "Rms of the command"], ["duration", "120 s", "Duration"], ["order", "auto", "Order"]] },
  chart: { text: "Chart where the test is stable", options: [["x", "transfer_system.delay=0..4 ms", "Along x"], ["y", "partition.mass[1]=0..60 %", "Along y"], ["grid", "200x200", "Points"], ["growth", "check", "Growth at every point"]] },
  trace: { text: "Trace a frequency response", options: [["restart", "check", "Begin afresh"]] },
  sweep: { text: "Sweep: many variants", options: [["runs", "as the file says", "Draws"], ["seed", "as the file says", "Seed"]] },
  reduce: { text: "Reduce a large structure", options: [] },
};

/** @param {string} path the experiment chosen beforehand @returns {any} */
export function studies(path) {
  const list = h("ul.cards"), detail = h("div.stack");
  const element = h("div.stack", null, h("h1", null, "Studies"), startForm(path, (study) => { chosen = study.id; load(); }), h("div.two", null, list, detail));
  let chosen = "", timer = 0, open = true;
  /** @type {Detail | null} */ let shown = null;

  const choose = (id) => {
    chosen = id;
    load();
  };
  let drawn = "";
  /** Draws the cards where something changed; who stands on a button stays on it. */
  const drawList = (all) => {
    const key = JSON.stringify([chosen, all.map(({ id, state: now }) => [id, now])]);
    if (key === drawn) return;
    drawn = key;
    const at = list.contains(document.activeElement) ? document.activeElement?.getAttribute("data-id") : null;
    list.replaceChildren(...all.map((study) => studyCard(study, study.id === chosen, choose)));
    if (at) list.querySelector(`[data-id="${CSS.escape(at)}"]`)?.focus();
  };
  const load = async () => {
    clearTimeout(timer);
    let active = false;
    try {
      const all = (await get("/api/studies")).studies;
      if (!open) return;
      chosen ||= all[0]?.id ?? "";
      active = all.some((study) => study.state === "running" || study.state === "queued");
      drawList(all);
      if (!all.length) list.replaceChildren(h("li", null, "No study yet."));
      if (chosen) {
        if (shown?.id !== chosen) detail.replaceChildren((shown = new Detail(chosen)).element);
        await shown.load();
      }
    } catch (problem) {
      notice(/** @type {any} */ (problem));
    }
    if (open) timer = window.setTimeout(load, active ? 700 : 4000);
  };
  const off = on("theme", () => shown?.chart.draw());
  load();
  return { element, wide: false, close: () => { open = false; clearTimeout(timer); off(); } };
}

function startForm(path, started) {
  const choice = h("select", { required: true }), kind = h("select", null, Object.entries(KINDS).map(([name, { text }]) => h("option", { value: name }, text)));
  const options = h("div.form"), sets = h("input", { placeholder: "integrator.rate=2 kHz; …" });
  const viewer = state.session?.role !== "operator";
  const draw = () => options.replaceChildren(...KINDS[kind.value].options.map(([name, hint, text]) => h("label", null, text,
    hint === "check" ? h("input", { type: "checkbox", name }) : Array.isArray(hint) ? h("select", { name }, hint.map((one) => h("option", { value: one }, one || "as the program chooses")))
      : h("input", { name, placeholder: hint }))));
  kind.addEventListener("change", draw);
  draw();
  get("/api/experiments").then(({ experiments }) => choice.replaceChildren(...experiments.map((one) => h("option", { value: one.path, selected: one.path === path }, one.path))), notice);
  return h("form.stack", { onsubmit: attempt(async (event) => {
    event.preventDefault();
    const chosen = Object.fromEntries([...options.querySelectorAll("[name]")].map((one) => [one.name, one.type === "checkbox" ? one.checked : one.value.trim()]).filter(([, value]) => value));
    started(await post("/api/studies", { kind: kind.value, path: choice.value, options: chosen, set: sets.value.split(";").map((one) => one.trim()).filter(Boolean) }));
  }) }, h("div.form", null, h("label", null, "Study", kind), h("label", null, "Experiment", choice), h("label", null, "Other values in the file", sets)), options,
  h("div.row", null, h("button", { disabled: viewer }, "Start"), viewer && h("span.soft", null, "Viewers cannot start studies.")));
}

const LEVELS = { done: "good", failed: "bad", running: "doubtful" };

/** Exit codes of a command that has no result. */
const WRONG = [1, 2, 3, 13];

function studyCard({ id, kind, path, state: now, started_s, took_s, exit }, current, choose) {
  return h("li.card", { "aria-current": current ? "true" : null }, h("div", null, h("h2", null, `${kind} of ${path}`), h("p.soft.small", null, `${moment(started_s)}${took_s ? ` · ${quantity(took_s, "s", 3)}` : ""}`)),
    h("div.row", null, h("span.chip", { "data-level": WRONG.includes(exit) ? "bad" : LEVELS[now] ?? null }, now), h("button.quiet", { type: "button", "data-id": id, onclick: () => choose(id), "aria-label": `Show the ${kind} of ${path}` }, "Show")));
}

/** One study: asked again from the last event on, so that results grow. */
class Detail {
  constructor(id) {
    this.id = id;
    this.next = 0;
    /** @type {any[]} */ this.rows = [];
    this.title = h("h2");
    this.line = h("div.row");
    this.progress = h("progress", { "aria-label": "Progress" });
    this.words = h("p", { role: "status" });
    this.log = h("ul");
    this.counts = h("p");
    /** @type {Map<string, number>} how many variants ended how */ this.tally = new Map();
    this.result = h("div");
    this.axes = h("div.row", { hidden: true });
    this.x = h("select", { "aria-label": "Along x", onchange: () => this.#draw() });
    this.y = h("select", { "aria-label": "Along y", onchange: () => this.#draw() });
    this.axes.append("Along x", this.x, "along y", this.y);
    this.chart = new Chart({ title: "Results so far", x: { title: "" }, y: { title: "" }, lines: [] });
    this.chart.element.hidden = true;
    this.element = h("section.stack", null, this.title, this.line, this.progress, this.words, this.counts, this.axes, this.chart.element, this.result, this.log);
    this.shown = "";
  }

  async load() {
    const study = await get(`/api/studies/${this.id}?after=${this.next}`);
    this.next = study.next ?? this.next;
    say(this.title, `${study.kind} of ${study.path}`);
    const active = study.state === "running" || study.state === "queued";
    this.progress.hidden = !active;
    if (study.progress?.of) { this.progress.max = study.progress.of; this.progress.value = study.progress.done; }
    else this.progress.removeAttribute("value");
    say(this.words, [active ? study.state : `${study.state}${study.took_s ? ` after ${quantity(study.took_s, "s", 3)}` : ""}`, study.stage, study.progress ? `${study.progress.done} of ${study.progress.of}` : "", study.exit ? `exit code ${study.exit}` : ""].filter(Boolean).join(" · "));
    this.#take(study.events ?? []);
    const key = study.state + study.files?.length;
    if (key === this.shown) return;
    this.shown = key;
    this.#finish(study, active);
  }

  #take(events) {
    for (const { kind, data } of events) {
      if (kind === "point" || kind === "variant") {
        this.rows.push(flat(data));
        if (data?.status) this.tally.set(data.status, (this.tally.get(data.status) ?? 0) + 1);
      }
      else if (kind !== "stage") this.log.append(h("li", null, `${kind}: ${data?.text ?? data?.message ?? (typeof data === "string" ? data : JSON.stringify(data))}`));
    }
    say(this.counts, [...this.tally].map(([status, count]) => `${count} ${status}`).join(", "));
    if (!events.length || !this.rows.length) return;
    const keys = Object.keys(this.rows[0]);
    if (this.x.childElementCount !== keys.length) {
      const guess = (likely, other) => likely.map((one) => keys.find((key) => one.test(key))).find(Boolean) ?? keys[other] ?? keys[0];
      const [x, y] = [guess([/frequency/, /^x$/, /number/], 0), guess([/amplitude/, /^y$/, /peak|nrmse|growth/], 1)];
      this.x.replaceChildren(...keys.map((key) => h("option", { value: key, selected: key === x }, words(key))));
      this.y.replaceChildren(...keys.map((key) => h("option", { value: key, selected: key === y }, words(key))));
    }
    this.axes.hidden = this.chart.element.hidden = keys.length < 2;
    this.#draw();
  }

  #draw() {
    const [x, y] = [this.x.value, this.y.value];
    this.chart.set({ title: `${this.rows.length} results so far`, x: { title: words(x) }, y: { title: words(y) },
      lines: [{ x: this.rows.map((row) => row[x] ?? NaN), y: this.rows.map((row) => row[y] ?? NaN), role: "measured", name: "results", points: true }] });
  }

  /** A figure that the command has drawn, fetched with the token. */
  #picture(name) {
    const image = h("img.figure", { alt: `Figure ${name} of the study` });
    request("GET", `/api/studies/${this.id}/files/${encodeURIComponent(name)}`).then((answer) => answer.blob()).then((blob) => {
      image.src = URL.createObjectURL(new Blob([blob], { type: "image/svg+xml" }));
      image.addEventListener("load", () => URL.revokeObjectURL(image.src), { once: true });
    }, notice);
    return image;
  }

  #finish(study, active) {
    const operator = state.session?.role === "operator";
    this.line.replaceChildren(...[
      active && operator && h("button.danger", { type: "button", onclick: attempt(() => remove(`/api/studies/${this.id}`)) }, "Stop this study"),
      ...(study.files ?? []).flatMap((name) => [
        /\.html$/.test(name) && h("button", { type: "button", onclick: attempt(() => openTicket(() => post(`/api/studies/${this.id}/page`, { name }))) }, `Open ${name}`),
        h("button.quiet", { type: "button", onclick: attempt(() => download(`/api/studies/${this.id}/files/${encodeURIComponent(name)}`, name)) }, `Download ${name}`)])].filter(Boolean));
    this.result.replaceChildren(...[study.message && h("pre", { tabindex: 0 }, study.message), ...(study.files ?? []).filter((name) => name.endsWith(".svg")).map((name) => this.#picture(name)), study.result && h("h3", null, "Result"), study.result && documentOf(study.result)].filter(Boolean));
    this.chart.draw();
  }
}

/** The numbers of a row, by name; those of tables within it as well. */
function flat(data, before = "", into = {}) {
  for (const [key, value] of Object.entries(data ?? {})) {
    const name = before + key;
    if (typeof value === "number") into[name] = value;
    else if (Array.isArray(value)) value.slice(0, 6).forEach((one, i) => typeof one === "number" && (into[value.length > 1 ? `${i + 1}: ${name}` : name] = one));
    else if (value && typeof value === "object" && !before) flat(value, name + " ", into);
  }
  return into;
}

