// @ts-check
/** Records: what was run, its result, report and export; two or more laid over each other. */
import { facts, h, moment, quantity, short, size, table, verdictBanner, verdictChip } from "../dom.js";
import { download, get, openTicket, request } from "../api.js";
import { Curves, decode } from "../curves.js";
import { attempt, notice } from "../notice.js";
import { on } from "../state.js";
import { TimePlot, TimeView } from "../timeplot.js";

/** Of records over each other: colours that stand for no quantity. */
const ROLES = ["other0", "other1", "other2", "other3", "other4", "other5"];
const LEVELS = { completed: "good", tripped: "bad", incomplete: "doubtful" };

/** @param {string} ids of the records opened, with commas between them @returns {any} */
export function records(ids) {
  const opened = ids.split(",").filter(Boolean), list = h("ul.cards"), detail = h("div.stack");
  const chosen = new Set(opened);
  const compare = h("a.button", { href: "#/records", hidden: true });
  const look = () => {
    compare.href = `#/records/${[...chosen].join(",")}`;
    compare.textContent = chosen.size > 1 ? `Lay ${chosen.size} over each other` : "Open";
    compare.hidden = !chosen.size;
  };
  const element = h("div.stack", null, h("div.row.spread", null, h("h1", null, "Records"), compare), h("div.two", null, list, detail));
  get("/api/records").then(({ records: all }) => {
    list.replaceChildren(...all.map((record) => recordCard(record, chosen, opened, look)));
    if (!all.length) list.append(h("li", null, "No record in this folder yet."));
  }, notice);
  look();
  /** @type {Overlay | null} */ let overlay = null;
  if (opened.length) Promise.all(opened.map((id) => get(`/api/records/${encodeURIComponent(id)}`))).then((answers) => {
    overlay = new Overlay(answers.map((answer, i) => ({ ...answer, id: opened[i] })));
    detail.replaceChildren(...(answers.length === 1 ? single(answers[0], opened[0]) : [h("h2", null, `${answers.length} records over each other`), comparison(answers)]), overlay.element);
    overlay.load();
  }, notice);
  else detail.append(h("p.soft", null, "Open a record, or mark two or more and lay them over each other."));
  const off = on("theme", () => overlay?.redraw());
  return { element, wide: true, close: off };
}

function recordCard({ id, title, folder, started, modified_s, bytes, verdict, status, role }, chosen, opened, look) {
  const mark = h("input", { type: "checkbox", checked: chosen.has(id), "aria-label": `Mark ${title || id}`, onchange: () => { mark.checked ? chosen.add(id) : chosen.delete(id); look(); } });
  return h("li.card", { "aria-current": opened.includes(id) ? "true" : null }, h("div.row.mark", null, mark, h("div", null, h("h2", null, h("a", { href: `#/records/${id}` }, title || id)),
    h("p.soft.small", null, [folder, started ? started.replace("T", " ").slice(0, 19) : moment(modified_s), size(bytes), role !== "loop" && role].filter(Boolean).join(" · ")))),
  h("div.row", null, status && h("span.chip", { "data-level": LEVELS[status] ?? null }, status), verdict && verdictChip(verdict)));
}

function single({ record, summary, events = [], duration_s, frames, files = [] }, id) {
  const address = `/api/records/${encodeURIComponent(id)}`;
  const criteria = summary?.criteria ?? [], peaks = summary?.peaks ?? [];
  return [h("h2", null, record?.title || id), summary?.verdict ? verdictBanner(summary.verdict, "h3") : "",
    (summary?.statements ?? []).map((text) => h("p", null, text)),
    h("div.row", null, h("button", { type: "button", onclick: attempt(() => openTicket(() => get(`${address}/page`))) }, "Open the report"),
      ["csv", "mat", "uff"].map((format) => h("button.quiet", { type: "button", onclick: attempt(() => download(`${address}/export?format=${format}`, `${id}.${format}`)) }, `Export ${format.toUpperCase()}`))),
    facts([["Duration", quantity(duration_s, "s")], ["Frames", frames], ["Lost frames", summary?.frames_lost], ["Rate", summary?.rate_hz && quantity(summary.rate_hz, "Hz")], ["Seed", summary?.seed], ["Files", files.join(", ")]]),
    events.length ? h("details", { open: events.length < 12 }, h("summary", null, `Events (${events.length})`), table("", ["n:Time [s]", "What", "Text"], events.slice(0, 300).map(({ time_s, what, text }) => [short(time_s, 5), what, text]))) : "",
    criteria.length ? table("Criteria", ["Name", "Quantity", "n:Value"], criteria.map(({ id: name, quantity: what, value, unit }) => [name, what, `${short(value)} ${unit}`])) : "",
    peaks.length ? h("details", null, h("summary", null, "Peaks"), table("", ["Quantity", "n:Value", "n:Time [s]"], peaks.map(({ quantity: what, value, unit, time_s }) => [what, quantity(value, unit), short(time_s)]))) : ""].flat();
}

/** The criteria of several records beside each other, by what they are of: the numbering depends on the structure. */
function comparison(answers) {
  const names = [...new Set(answers.flatMap(({ summary }) => (summary?.criteria ?? []).map((one) => one.quantity)))];
  const value = ({ summary }, name) => { const found = summary?.criteria?.find((one) => one.quantity === name); return found ? `${short(found.value)} ${found.unit}` : "–"; };
  return table("Criteria", ["Quantity", ...answers.map(({ record }, i) => `n:${i + 1}: ${record?.id ?? record?.title ?? ""}`)], names.map((name) => [name, ...answers.map((answer) => value(answer, name))]));
}

/** The colour that a quantity has everywhere. */
function roleOf(channel) {
  const first = channel.split(".")[0];
  return first === "force" ? "measured" : ["desired", "command", "achieved", "measured", "reference"].includes(first) ? first : "ink";
}

/** Chosen channels of all opened records, one panel for each channel. */
class Overlay {
  constructor(answers) {
    this.answers = answers;
    this.view = new TimeView();
    this.view.window = 0;
    this.view.changed = () => { this.#drawAll(); this.#askFiner(); };
    const names = answers[0].channels.map(({ name }) => name);
    const common = names.filter((name) => name !== "time" && answers.every(({ channels }) => channels.some((one) => one.name === name)));
    this.common = common;
    this.chosen = ["measured.1", "command.1", "force.1", "stability_warning"].filter((name) => common.includes(name)).slice(0, 3);
    if (!this.chosen.length) this.chosen = common.slice(0, 2);
    this.place = h("div.stack");
    const add = h("select", { "aria-label": "Add a channel", onchange: () => { if (add.value) { this.chosen.push(add.value); add.value = ""; this.load(); } } },
      h("option", { value: "" }, "Add a channel …"), common.map((name) => h("option", { value: name }, name)));
    this.element = h("section.stack", null, h("div.row", null, h("h3", null, "Curves"), add, h("span.soft.small", null, "Drag: zoom. Double click: back.")), this.place);
    /** @type {Curves[]} */ this.curves = [];
    /** @type {TimePlot[]} */ this.plots = [];
    this.asked = "";
    new ResizeObserver(() => this.#drawAll()).observe(this.place);
  }

  async load() {
    this.curves = await Promise.all(this.answers.map((answer) => this.#fetch(answer)));
    this.plots = this.chosen.map((channel) => {
      const { unit, description } = this.answers[0].channels.find(({ name }) => name === channel);
      const several = this.answers.length > 1;
      return new TimePlot({ title: several || !description ? channel : `${channel}: ${description}`, quantity: channel, unit, series: this.answers.map(({ id }, i) =>
        ({ channel, name: several ? `${i + 1}: ${id}` : channel, role: several ? ROLES[i % ROLES.length] : roleOf(channel), source: () => this.curves[i] })) }, this.view);
    });
    this.place.replaceChildren(...this.plots.map((plot) => plot.element));
    this.#drawAll();
  }

  /** @param {any} answer @param {[number, number] | null} span @returns {Promise<Curves>} */
  async #fetch({ id, channels, duration_s }, span = null) {
    const made = new Curves(this.chosen.map((name) => ({ name, unit: channels.find((one) => one.name === name)?.unit ?? "" })));
    const [from, to] = span ?? [0, duration_s];
    const answer = await request("GET", `/api/records/${encodeURIComponent(id)}/curves?channels=${this.chosen.map(encodeURIComponent).join(",")}&points=2000&from=${Math.max(0, from)}&to=${to}`);
    const message = decode(await answer.arrayBuffer());
    if (message) made.add(message);
    return made;
  }

  /** A span that was zoomed into is asked for again, finer. */
  #askFiner() {
    const key = JSON.stringify(this.view.span);
    if (key === this.asked) return;
    this.asked = key;
    clearTimeout(this.timer);
    this.timer = setTimeout(attempt(async () => {
      const made = await Promise.all(this.answers.map((answer) => this.#fetch(answer, this.view.span)));
      if (this.asked !== key) return;
      this.curves = made;
      this.redraw();
    }), 250);
  }

  redraw() {
    this.plots.forEach((plot) => plot.forget());
    this.#drawAll();
  }

  #drawAll() {
    for (const plot of this.plots) {
      plot.draw();
      plot.cursor();
    }
  }
}
