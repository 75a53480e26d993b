// @ts-check
/** Still figures: lines and points over any axis, the hysteresis of a running test, bars of latencies. */
import { around, colour, drawAxes, fit, letters, ROLES, share, thickness } from "./axes.js";
import { h, scale } from "./dom.js";

/**
 * @typedef {{x: ArrayLike<number>, y: ArrayLike<number>, role: string, name: string, points?: boolean}} Line
 * @typedef {{title: string, x: {title: string, unit?: string, log?: boolean}, y: {title: string, unit?: string, log?: boolean},
 *   lines: Line[], marks?: {x?: number, y?: number, text: string}[], words?: string}} ChartPlan
 */

export class Chart {
  /** @param {ChartPlan} plan */
  constructor(plan) {
    this.plan = plan;
    this.canvas = h("canvas", { role: "img" });
    this.place = h("div.plot", null, this.canvas);
    this.words = h("p.soft.small");
    this.legend = h("div.legend");
    this.element = h("figure.panel", { "aria-label": plan.title }, h("figcaption", null, h("h3", null, plan.title), this.legend, this.words), this.place);
    this.set(plan);
    new ResizeObserver(() => this.draw()).observe(this.place);
  }

  /** @param {ChartPlan} plan */
  set(plan) {
    this.plan = plan;
    this.words.textContent = plan.words ?? "";
    this.words.hidden = !plan.words;
    this.canvas.setAttribute("aria-label", plan.title + (plan.words ? ": " + plan.words : ""));
    this.legend.replaceChildren(...(plan.lines.length > 1 ? plan.lines.map((line) => h("span.entry", null, h("i.swatch", { "aria-hidden": "true", "data-role": line.role }), line.name)) : []));
    this.draw();
  }

  draw() {
    const width = this.place.clientWidth, height = this.place.clientHeight;
    if (width < 60 || height < 60) return;
    fit(this.canvas, width, height);
    const ctx = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d")), ratio = this.canvas.width / width, size = letters();
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    const box = { left: 5 * size + 8, top: 8, right: width - 10, bottom: height - 3 * size - 6 };
    const x = this.#axis("x"), y = this.#axis("y");
    drawAxes(ctx, box, x, y, size);
    ctx.save();
    ctx.beginPath();
    ctx.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
    ctx.clip();
    const px = (value) => box.left + share(x, value) * (box.right - box.left), py = (value) => box.bottom - share(y, value) * (box.bottom - box.top);
    for (const line of this.plan.lines) strokeLine(ctx, line, px, py);
    this.#marks(ctx, box, px, py, size);
    ctx.restore();
  }

  #axis(which) {
    let [low, high] = [Infinity, -Infinity];
    const { title, unit = "", log } = this.plan[which];
    const values = [...this.plan.lines.map((line) => line[which]), (this.plan.marks ?? []).map((mark) => mark[which] ?? NaN)];
    for (const list of values)
      for (let i = 0; i < list.length; i++) {
        const value = list[i];
        if (!Number.isFinite(value) || value === null || (log && value <= 0)) continue;
        if (value < low) low = value;
        if (value > high) high = value;
      }
    const axis = which === "x" && !log && high > low ? { low, high } : around(low, high, log);
    const { factor, unit: shown } = scale(Math.max(Math.abs(axis.low), Math.abs(axis.high)), unit);
    return { ...axis, log, factor, title: shown ? `${title} [${shown}]` : title };
  }

  #marks(ctx, box, px, py, size) {
    ctx.strokeStyle = ctx.fillStyle = colour("ink");
    ctx.setLineDash([5, 4]);
    ctx.lineWidth = 1;
    (this.plan.marks ?? []).forEach(({ x, y, text }, i) => {
      ctx.beginPath();
      if (x !== undefined) { ctx.moveTo(px(x), box.top); ctx.lineTo(px(x), box.bottom); }
      if (y !== undefined) { ctx.moveTo(box.left, py(y)); ctx.lineTo(box.right, py(y)); }
      ctx.stroke();
      const left = x !== undefined && px(x) < (box.left + box.right) / 2;
      ctx.textAlign = left ? "left" : "right";
      ctx.textBaseline = x !== undefined || py(y) < box.top + 1.4 * size ? "top" : "bottom";
      ctx.fillText(text, x !== undefined ? px(x) + (left ? 5 : -5) : box.right - 5, x !== undefined ? box.top + 4 + i * 1.4 * size : py(y) + (ctx.textBaseline === "top" ? 3 : -3));
    });
  }
}

/** @param {any} ctx @param {Line} line @param {(value: number) => number} px @param {(value: number) => number} py */
function strokeLine(ctx, { x, y, role, points }, px, py) {
  const style = ROLES[role] ?? ROLES.ink;
  ctx.strokeStyle = ctx.fillStyle = colour(role);
  ctx.lineWidth = style.width * thickness();
  ctx.setLineDash(points ? [] : style.dash ?? []);
  ctx.beginPath();
  let down = false;
  for (let i = 0; i < x.length; i++) {
    const [a, b] = [px(x[i]), py(y[i])];
    if (x[i] === null || y[i] === null || !Number.isFinite(a) || !Number.isFinite(b)) { down = false; continue; }
    if (points) ctx.fillRect(a - 2, b - 2, 4, 4);
    else if (down) ctx.lineTo(a, b);
    else ctx.moveTo(a, b);
    down = true;
  }
  if (!points) ctx.stroke();
}

/** Force over displacement, from the middles of the buckets of the shown span. */
export class Hysteresis {
  /** @param {{title: string, x: string, y: string, source: () => import("./curves.js").Curves}} plan @param {import("./timeplot.js").TimeView} view */
  constructor(plan, view) {
    this.plan = plan;
    this.view = view;
    this.back = h("canvas", { "aria-hidden": "true" });
    this.front = h("canvas.front", { "aria-hidden": "true" });
    this.place = h("div.plot.still", null, this.back, this.front);
    this.element = h("figure.panel", { "aria-label": plan.title }, h("figcaption", null, h("h3", null, plan.title)), this.place);
    this.visible = true;
    this.whole = 0;
    this.drawn = 0;
  }

  forget() { this.whole = 0; }

  /** Each second the whole picture, between that only what is new. */
  draw(now = performance.now()) {
    const width = this.place.clientWidth, height = this.place.clientHeight, curves = this.plan.source();
    if (!this.visible || width < 60 || height < 60) return;
    const xs = curves.values[curves.index.get(this.plan.x) ?? -1], ys = curves.values[curves.index.get(this.plan.y) ?? -1];
    if (!xs || !ys) return;
    const [from, to] = this.view.shown(curves.start, curves.end);
    const resized = fit(this.front, width, height);
    const [x0, x1] = curves.range(this.plan.x, Math.max(from, resized ? from : curves.end - 0.2), to);
    const outside = this.axes && (x0 < this.axes.x.low || x1 > this.axes.x.high);
    const again = resized || !this.axes || outside || curves.version !== this.version || now - this.whole > 1000;
    const ctx = /** @type {CanvasRenderingContext2D} */ (this.front.getContext("2d")), ratio = this.front.width / width, size = letters();
    const box = { left: 5 * size + 8, top: 6, right: width - 10, bottom: height - 3 * size - 6 };
    if (again) {
      this.#axes(curves, from, to, box, width, height, size);
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      ctx.clearRect(0, 0, width, height);
      this.whole = now;
      this.version = curves.version;
      this.drawn = Math.max(0, curves.at(from));
    }
    const { x, y } = /** @type {any} */ (this.axes);
    ctx.strokeStyle = colour("measured");
    ctx.lineWidth = 1.2 * thickness();
    ctx.beginPath();
    let down = false;
    const last = Math.min(curves.count - 1, curves.at(to));
    for (let i = this.drawn; i <= last; i++) {
      const a = box.left + share(x, (xs[2 * i] + xs[2 * i + 1]) / 2) * (box.right - box.left), b = box.bottom - share(y, (ys[2 * i] + ys[2 * i + 1]) / 2) * (box.bottom - box.top);
      if (!Number.isFinite(a + b)) down = false;
      else if (down) ctx.lineTo(a, b);
      else { ctx.moveTo(a, b); down = true; }
    }
    ctx.stroke();
    this.drawn = Math.max(0, last);
  }

  #axes(curves, from, to, box, width, height, size) {
    fit(this.back, width, height);
    const axis = (name, words) => {
      const [low, high] = curves.range(name, from, to), found = around(low, high), channel = curves.channels[curves.index.get(name)];
      const { factor, unit } = scale(Math.max(Math.abs(found.low), Math.abs(found.high)), channel.unit);
      return { ...found, factor, title: `${words} [${unit}]` };
    };
    this.axes = { x: axis(this.plan.x, "Measured displacement"), y: axis(this.plan.y, "Force") };
    const ctx = /** @type {CanvasRenderingContext2D} */ (this.back.getContext("2d")), ratio = this.back.width / width;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    drawAxes(ctx, box, this.axes.x, this.axes.y, size);
  }
}

/** Latencies of the loop: bins on logarithmic axes. @param {any} latency */
export function latencyPlan(latency) {
  const lines = [["wake_up", "wake-up", "desired"], ["execution", "execution", "measured"]].flatMap(([key, name, role]) => {
    const own = latency?.[key];
    if (!own?.bins?.length) return [];
    const x = [], y = [];
    for (const [low, high, count] of own.bins) {
      const joined = x.length && Math.abs(x[x.length - 1] / low - 1) < 1e-3;
      if (joined) y.pop(), x.pop();
      else x.push(low), y.push(0.5);
      x.push(low, high, high);
      y.push(count, count, 0.5);
    }
    return [{ x, y, role, name: `${name}: 99 % below ${(own.p99_s * 1e6).toFixed(1)} µs, longest ${(own.max_s * 1e6).toFixed(1)} µs` }];
  });
  return { title: "Latency", x: { title: "Time", unit: "s", log: true }, y: { title: "Ticks", log: true }, lines,
    words: lines.length ? "" : "The loop tells its latencies in real time only." };
}
