// @ts-check
/** The operator's view: from preparing a test to its end, with live curves. */
import { h, say } from "../dom.js";
import { live } from "../live.js";
import { isActive, on, state } from "../state.js";
import { interfaces, panels, auxiliary } from "../panels.js";
import { latencyPlan } from "../chart.js";
import { TimeView } from "../timeplot.js";
import { preparing } from "./prepare.js";
import { runHead } from "./run_head.js";
import { side } from "./run_side.js";

const HIDDEN = "twinrig.hidden";
const stored = (key, otherwise) => {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "") ?? otherwise;
  } catch {
    return otherwise;
  }
};

/** @param {string} path the experiment to prepare @returns {any} */
export function operator(path) {
  const element = h("div");
  /** @type {(() => void)[]} */
  let ends = [];
  let shown = "";
  const draw = () => {
    const wanted = state.run ? "run:" + state.run.id : "prepare";
    if (wanted === shown) return;
    shown = wanted;
    ends.forEach((end) => end());
    const part = state.run ? running() : preparing(path);
    ends = part.ends;
    element.replaceChildren(part.element);
  };
  const off = on("run", draw);
  draw();
  return { element, wide: true, close: () => { off(); ends.forEach((end) => end()); } };
}

/** @returns {{element: any, ends: (() => void)[]}} */
function running() {
  const view = new TimeView();
  const place = h("div.plots");
  const head = runHead(), beside = side();
  const shelf = new Shelf(view, place);
  const element = h("div.operator", null, head.element, shelf.tools, place, beside.element);
  let wanted = false;
  const frame = () => {
    wanted = false;
    shelf.draw();
  };
  const redraw = () => {
    if (!wanted) requestAnimationFrame(frame);
    wanted = true;
  };
  // The newest values are told a little later than they are drawn: once more when nothing comes after them.
  let trail = 0;
  const came = () => {
    clearTimeout(trail);
    trail = window.setTimeout(redraw, 1200);
    redraw();
  };
  view.changed = () => { shelf.drawTools(); redraw(); };
  const stale = () => {
    const run = state.run, old = state.link.stale && (isActive(run) || !state.link.open);
    for (const box of [place, beside.element]) {
      if (old) box.dataset.stale = `STALE: ${state.link.text}`;
      else delete box.dataset.stale;
    }
  };
  const ends = [on("curves", came), () => clearTimeout(trail), on("hello", () => shelf.build()), on("link", stale),
    on("events", (events) => { view.events = events; redraw(); }), on("latency", (latency) => shelf.latency(latency)),
    on("theme", () => { shelf.forget(); redraw(); }), ...head.ends, ...beside.ends];
  const observer = new ResizeObserver(redraw);
  observer.observe(place);
  view.events = state.events;
  shelf.build();
  stale();
  return { element, ends: [...ends, () => observer.disconnect(), () => shelf.close()] };
}

/** The panels that stand there, and the tools above them. */
class Shelf {
  constructor(view, place) {
    this.view = view;
    this.place = place;
    /** @type {{id: string, title: string, panel: any}[]} */ this.all = [];
    this.hidden = new Set(stored(HIDDEN, []));
    this.chosen = stored("twinrig.auxiliary", []);
    this.dof = "";
    this.seen = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const found = this.all.find(({ panel }) => panel.element === target);
        if (found) found.panel.visible = isIntersecting;
      }
      this.draw();
    }, { rootMargin: "100px" });
    this.#makeTools();
  }

  #makeTools() {
    const button = (label, work, title) => h("button.quiet", { type: "button", onclick: work, title, "aria-label": title }, label);
    this.window = h("select", { "aria-label": "Time shown", onchange: () => {
      this.view.window = Number(this.window.value);
      this.view.set(null);
    } }, [[2, "2 s"], [5, "5 s"], [10, "10 s"], [20, "20 s"], [60, "60 s"], [0, "whole test"]].map(([value, text]) => h("option", { value, selected: value === 20 }, text)));
    this.freeze = button("Freeze", () => this.view.set(this.view.span ? null : this.#now()), "Freeze the picture; numbers go on arriving");
    this.frozen = h("strong");
    const zoom = (factor) => () => {
      const [from, to] = this.#now(), middle = (from + to) / 2, half = ((to - from) / 2) * factor;
      this.view.set([middle - half, middle + half]);
    };
    const move = (part) => () => {
      const [from, to] = this.#now(), step = (to - from) * part;
      this.view.set([from + step, to + step]);
    };
    this.dofs = h("select", { "aria-label": "Interface DOF", onchange: () => { this.dof = this.dofs.value; this.build(); } });
    this.menu = h("div");
    this.tools = h("div.tools", null, h("h2.unseen", null, "Curves"), h("span.soft", null, "Time"), this.window, this.freeze,
      button("−", zoom(2), "Zoom out"), button("+", zoom(0.5), "Zoom in"), button("◂", move(-0.5), "Earlier"), button("▸", move(0.5), "Later"),
      this.dofs, h("details.menu", null, h("summary", null, "Panels"), this.menu), this.frozen);
  }

  /** @returns {[number, number]} */
  #now() { return this.view.shown(live.curves.start, live.curves.end); }

  drawTools() {
    const { span } = this.view;
    this.freeze.setAttribute("aria-pressed", String(!!span));
    say(this.freeze, span ? "Back to live" : "Freeze");
    say(this.frozen, span ? `Frozen by you at ${span[0].toFixed(2)} to ${span[1].toFixed(2)} s. The test goes on.` : "");
    if (!span) this.window.value = String(this.view.window);
  }

  build() {
    const { channels } = live.curves, names = interfaces(channels);
    if (!names.includes(this.dof)) this.dof = names[0] ?? "1";
    this.dofs.hidden = names.length < 2;
    this.dofs.replaceChildren(...names.map((name) => h("option", { value: name, selected: name === this.dof }, `Interface DOF ${name}`)));
    this.seen.disconnect();
    this.all = panels(channels, live.limits, this.dof, this.view, this.chosen);
    this.menu.replaceChildren(...this.all.filter(({ id }) => !id.startsWith("aux:")).map(({ id, title }) => this.#box(title, !this.hidden.has(id), (shown) => {
      shown ? this.hidden.delete(id) : this.hidden.add(id);
      localStorage.setItem(HIDDEN, JSON.stringify([...this.hidden]));
    })), h("strong.small", null, "Auxiliary channels"), ...auxiliary(channels).map((name) => this.#box(name, this.chosen.includes(name), (shown) => {
      this.chosen = shown ? [...this.chosen, name] : this.chosen.filter((other) => other !== name);
      localStorage.setItem("twinrig.auxiliary", JSON.stringify(this.chosen));
    })));
    this.#arrange();
    if (state.latency) this.latency(state.latency);
  }

  #box(text, checked, work) {
    return h("label", null, h("input", { type: "checkbox", checked, onchange: (event) => {
      work(event.target.checked);
      const open = this.tools.querySelector("details").open;
      this.build();
      this.tools.querySelector("details").open = open;
    } }), text);
  }

  #arrange() {
    const shown = this.all.filter(({ id }) => !this.hidden.has(id) && (id !== "latency" || state.latency));
    this.place.replaceChildren(...shown.map(({ panel }) => panel.element));
    if (!live.curves.channels.length) this.place.append(h("p.soft", null, "No numbers yet."));
    for (const { panel } of shown) this.seen.observe(panel.element);
    this.draw();
  }

  latency(latency) {
    const own = this.all.find(({ id }) => id === "latency")?.panel;
    own?.set(latencyPlan(latency));
    if (latency && !own?.element.isConnected && !this.hidden.has("latency")) this.#arrange();
  }

  forget() {
    for (const { panel } of this.all) panel.forget?.();
    this.latency(state.latency);
  }

  draw() {
    const now = performance.now();
    for (const { id, panel } of this.all) {
      if (id === "latency" || !panel.element.isConnected) continue;
      panel.draw(now);
      panel.cursor?.();
    }
  }

  close() { this.seen.disconnect(); }
}

