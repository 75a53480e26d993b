// @ts-check
/**
 * Curves over time on a canvas. Each column of pixels shows the lowest and the highest value that
 * any frame had in it, so no peak is hidden. While time scrolls, the picture is moved and only the new
 * columns are drawn.
 */
import { colour, drawAxes, fit, letters, ROLES, thickness } from "./axes.js";
import { h, say, scale } from "./dom.js";

/**
 * @typedef {import("./curves.js").Curves} Curves
 * @typedef {{channel: string, name: string, role: string, source: () => Curves, hidden?: boolean, output?: any}} Series
 * @typedef {{title: string, quantity: string, unit: string, series: Series[], limits?: {value: number, text: string}[],
 *   fixed?: [number, number], least?: number, most?: number}} Plan
 */

/** The span of time that all plots of a view share. */
export class TimeView {
  constructor() {
    /** Seconds shown; 0 for all. */ this.window = 20;
    /** @type {[number, number] | null} a span that stands still */ this.span = null;
    /** @type {number | null} */ this.cursor = null;
    /** @type {any[]} events to be marked */ this.events = [];
    this.changed = () => {};
  }

  /** @returns {[number, number]} */
  shown(start, end) {
    if (this.span) return this.span;
    if (this.window) return end - start < this.window ? [start, start + this.window] : [end - this.window, end];
    const step = 10 ** Math.floor(Math.log10(Math.max(1, end - start)));
    return [start, start + Math.max(1, Math.ceil(((end - start) / step) * 4) / 4) * step];
  }

  set(span) {
    this.span = span && span[1] - span[0] > 1e-4 ? span : null;
    this.changed();
  }
}

export class TimePlot {
  /** @param {Plan} plan @param {TimeView} view */
  constructor(plan, view) {
    this.plan = plan;
    this.view = view;
    this.back = h("canvas", { "aria-hidden": "true" });
    this.front = h("canvas.front", { "aria-hidden": "true" });
    this.line = h("div.cursor", { hidden: true });
    this.drag = h("div.drag", { hidden: true });
    this.place = h("div.plot", null, this.back, this.front, this.line, this.drag);
    this.legend = h("div.legend", null, plan.series.map((series) => this.#entry(series)));
    this.element = h("figure.panel", { "aria-label": plan.title }, h("figcaption", null, h("h3", null, plan.title), this.legend), this.place);
    this.range = [0, 1];
    this.isEmpty = true;
    this.versions = "";
    this.seen = -Infinity;
    this.looked = 0;
    this.told = 0;
    /** What the picture in front shows. @type {any} */ this.picture = null;
    /** What the frame behind it was drawn for. */ this.behind = "";
    this.visible = true;
    this.#listen();
  }

  #entry(series) {
    series.output = h("output", { "aria-live": "off" });
    const swatch = h("i.swatch", { "aria-hidden": "true", "data-role": series.role });
    const button = h("button.entry", { type: "button", "aria-pressed": String(!series.hidden), onclick: () => {
      series.hidden = !series.hidden;
      button.setAttribute("aria-pressed", String(!series.hidden));
      this.forget();
      this.view.changed();
    } }, swatch, h("span", null, series.name), series.output);
    return button;
  }

  /** The whole picture is drawn again. */
  forget() {
    this.picture = null;
    this.behind = "";
    this.isEmpty = true;
    this.seen = -Infinity;
  }

  /** @returns {Curves[]} */
  get sources() { return [...new Set(this.plan.series.map((series) => series.source()))]; }

  draw(now = performance.now()) {
    if (!this.visible) return;
    const width = this.place.clientWidth, height = this.place.clientHeight;
    if (width < 60 || height < 40) return;
    const size = letters();
    const resized = fit(this.front, width, height);
    if (fit(this.back, width, height)) this.behind = "";
    const ratio = this.front.width / width;
    const box = { left: this.#left(), top: 6, right: width - this.#right(), bottom: height - Math.round(1.6 * size) - 2 };
    const sources = this.sources;
    const [start, end] = [Math.min(...sources.map((one) => one.start)), Math.max(...sources.map((one) => one.end))];
    const [from, to] = this.view.shown(start, end);
    if (resized) this.picture = null;
    this.#findRange(from, to, now);
    this.#drawBack(box, ratio, from, to, size);
    this.#drawFront(box, ratio, from, to, sources);
    if (now - this.told > 200) {
      this.told = now;
      this.tellValues();
    }
  }

  /** The range of the values shown: it grows at once, and shrinks now and then. */
  #findRange(from, to, now) {
    const { fixed, series, limits = [], least = 0, most = Infinity } = this.plan;
    if (fixed) return void (this.range = fixed);
    // After a history has come, older buckets are others than were looked at.
    const versions = this.sources.map((one) => one.version).join();
    const whole = this.isEmpty || versions !== this.versions || now - this.looked > 1000 || this.view.span !== null || to < this.seen;
    if (whole) this.looked = now;
    let [low, high] = [Infinity, -Infinity];
    for (const one of series) {
      if (one.hidden) continue;
      const [a, b] = one.source().range(one.channel, whole ? from : Math.max(from, this.seen), to);
      if (a < low) low = a;
      if (b > high) high = b;
    }
    [this.seen, this.versions] = [to, versions];
    high = Math.min(high, most);
    if (!(high >= low)) {
      if (this.isEmpty) this.range = [0, 1];
      return;
    }
    const first = this.isEmpty;
    this.isEmpty = false;
    // What does not change is drawn in the middle; what cannot be negative above zero.
    const half = Math.max(least, 1e-12 * Math.abs(high)) / 2;
    if (high - low < 2 * half) [low, high] = low >= 0 && low < half ? [0, 2 * half] : [(low + high) / 2 - half, (low + high) / 2 + half];
    // A limit is shown once the values have come near it.
    for (const { value } of limits) {
      if (value > high && high > 0.4 * value) high = value;
      if (value < low && low < 0.4 * value && value < 0) low = value;
    }
    const room = 0.08 * (high - low);
    const [oldLow, oldHigh] = this.range;
    const fits = !first && low >= oldLow && high <= oldHigh && (!whole || high - low > 0.45 * (oldHigh - oldLow));
    if (!fits) {
      this.range = whole ? [low - room, high + room] : [low < oldLow ? low - room : oldLow, high > oldHigh ? high + room : oldHigh];
      this.picture = null;
    }
  }

  #drawBack(box, ratio, from, to, size) {
    const key = [from, to, this.range, this.back.width, this.back.height, this.view.events.length].join("|");
    if (key === this.behind) return;
    this.behind = key;
    const ctx = /** @type {CanvasRenderingContext2D} */ (this.back.getContext("2d"));
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, this.back.width, this.back.height);
    const [low, high] = this.range;
    const { factor, unit } = scale(Math.max(Math.abs(low), Math.abs(high)), this.plan.unit);
    this.shown = { factor, unit };
    drawAxes(ctx, box, { low: from, high: to, title: "" }, { low, high, factor, title: unit ? `${this.plan.quantity} [${unit}]` : this.plan.quantity }, size);
    ctx.textAlign = "right";
    ctx.textBaseline = "top";
    ctx.fillText("Time [s]", box.left - 0.8 * size, box.bottom + 4);
    const py = (value) => box.bottom - ((value - low) / (high - low)) * (box.bottom - box.top);
    const px = (time) => box.left + ((time - from) / (to - from)) * (box.right - box.left);
    ctx.save();
    ctx.beginPath();
    ctx.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
    ctx.clip();
    ctx.setLineDash([6, 4]);
    ctx.strokeStyle = ctx.fillStyle = colour("ink");
    ctx.textAlign = "right";
    for (const { value, text } of this.plan.limits ?? []) {
      if (value < low || value > high || this.isEmpty) continue;
      const at = Math.round(py(value)) + 0.5;
      ctx.beginPath();
      ctx.moveTo(box.left, at);
      ctx.lineTo(box.right, at);
      ctx.stroke();
      ctx.textBaseline = at < box.top + 1.5 * size ? "top" : "bottom";
      ctx.fillText(text, box.right - 5, at + (ctx.textBaseline === "top" ? 3 : -2));
    }
    ctx.setLineDash([3, 3]);
    for (const { time_s, what } of this.view.events) {
      if (time_s < from || time_s > to || what === "control" || what === "link") continue;
      if (what === "trip") {
        ctx.fillStyle = colour("trip");
        ctx.fillRect(px(time_s), box.top, box.right - px(time_s), box.bottom - box.top);
      }
      ctx.strokeStyle = colour(what === "trip" ? "bad" : "ink");
      ctx.beginPath();
      ctx.moveTo(px(time_s), box.top);
      ctx.lineTo(px(time_s), box.bottom);
      ctx.stroke();
    }
    ctx.restore();
  }

  #drawFront(box, ratio, from, to, sources) {
    const ctx = /** @type {CanvasRenderingContext2D} */ (this.front.getContext("2d"));
    const pixels = Math.round((box.right - box.left) * ratio), per = (to - from) / pixels;
    const first = Math.round(from / per), last = first + pixels;
    const versions = sources.map((one) => one.version).join();
    const key = [pixels, per.toPrecision(9), this.range, versions, this.front.height, sources.length].join("|");
    const frame = { left: Math.round(box.left * ratio), top: Math.round(box.top * ratio), bottom: Math.round(box.bottom * ratio), per, first, ratio };
    let begin = first;
    const old = this.picture;
    if (old && old.key === key && first >= old.first && first < old.last) {
      const moved = first - old.first;
      if (moved) {
        ctx.globalCompositeOperation = "copy";
        ctx.drawImage(this.front, -moved, 0);
        ctx.globalCompositeOperation = "source-over";
        ctx.clearRect(0, 0, frame.left, this.front.height);
      }
      begin = Math.max(first, Math.min(...old.ends) - 1);
    }
    // Columns behind the newest value are empty; the next picture begins where this one ended.
    const ends = sources.map((one) => Math.floor(one.end / per));
    this.picture = { key, first, last, ends };
    ctx.clearRect(frame.left + begin - first, 0, last - begin + 1, this.front.height);
    this.#shade(ctx, frame, begin, last, sources[0]);
    const order = [...this.plan.series].sort((a, b) => (b.role === "reference" ? 1 : 0) - (a.role === "reference" ? 1 : 0));
    for (const series of order) if (!series.hidden) this.#columns(ctx, series, frame, begin, last);
  }

  /** Phases other than the test itself, and times from which nothing arrived. */
  #shade(ctx, { left, top, bottom, per, first }, begin, last, curves) {
    const phase = curves?.values[curves.index.get("phase") ?? -1];
    if (!curves?.count) return;
    const trip = this.view.events.find(({ what }) => what === "trip")?.time_s ?? Infinity;
    for (let k = begin; k < last; k++) {
      const time = (k + 0.5) * per, i = curves.at(time);
      if (i < 0 || time > curves.end) continue;
      const phased = phase && phase[2 * i + 1] > 0 && time < trip;
      const missing = time > curves.begin[i] + 1.5 * curves.long[i];
      if (!missing && !phased) continue;
      ctx.fillStyle = missing ? colour("line") : colour("phase");
      ctx.fillRect(left + k - first, top, 1, bottom - top);
    }
  }

  #columns(ctx, series, { left, top, bottom, per, first, ratio }, begin, last) {
    const curves = series.source(), own = curves.values[curves.index.get(series.channel) ?? -1];
    if (!own || !curves.count) return;
    const style = ROLES[series.role] ?? ROLES.ink, wide = ratio * thickness(), thick = Math.max(1, Math.round(style.width * wide));
    const dash = this.plan.series.length > 1 && style.dash?.map((n) => Math.round(n * wide));
    const [low, high] = this.range, tall = bottom - top, factor = tall / (high - low);
    ctx.fillStyle = colour(series.role);
    let i = Math.max(0, curves.at(Math.max(begin - 1, first) * per)), above = NaN, below = NaN;
    for (let k = Math.max(begin - 1, first); k < last; k++) {
      const from = k * per, to = from + per;
      while (i < curves.count - 1 && curves.begin[i] + curves.long[i] <= from) i++;
      let [least, most] = [Infinity, -Infinity];
      for (let j = i; j < curves.count && curves.begin[j] < to; j++) {
        if (curves.begin[j] + curves.long[j] <= from) continue;
        if (own[2 * j] < least) least = own[2 * j];
        if (own[2 * j + 1] > most) most = own[2 * j + 1];
      }
      if (!(most >= least)) {
        above = below = NaN;
        if (from > curves.end) return;
        continue;
      }
      let y0 = Math.max(top, Math.min(bottom, bottom - (most - low) * factor)), y1 = Math.max(top, Math.min(bottom, bottom - (least - low) * factor));
      const [a, b] = [y0, y1];
      if (y0 > below) y0 = below;
      if (y1 < above) y1 = above;
      [above, below] = [a, b];
      if (k < begin || (dash && ((k % (dash[0] + dash[1])) + dash[0] + dash[1]) % (dash[0] + dash[1]) >= dash[0])) continue;
      ctx.fillRect(left + k - first, Math.round(y0 - thick / 2), 1, Math.max(thick, Math.round(y1 - y0 + thick)));
    }
  }

  /** The values beside the names: at the cursor, or the newest. */
  tellValues() {
    const { factor = 1, unit = "" } = this.shown ?? {};
    // As many digits as the axis has room for: they do not jump about.
    const most = Math.max(Math.abs(this.range[0]), Math.abs(this.range[1])) * factor;
    const digits = most > 0 ? Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(most)))) : 2;
    for (const { output, channel, source, hidden } of this.plan.series) {
      const curves = source(), own = curves.values[curves.index.get(channel) ?? -1];
      const i = this.view.cursor === null ? curves.count - 1 : curves.at(this.view.cursor);
      const there = own && i >= 0 && !hidden;
      const [low, high] = there ? [own[2 * i], own[2 * i + 1]] : [NaN, NaN];
      const value = Math.abs(high) >= Math.abs(low) ? high : low;
      say(output, there && Number.isFinite(value) ? `${(value * factor).toFixed(digits).replace("-", "−")} ${unit}` : there ? "–" : "");
    }
  }

  /** Draws the cursor that all plots share. */
  cursor() {
    const { cursor } = this.view, { start, end } = this.#bounds();
    const [from, to] = this.view.shown(start, end);
    this.line.hidden = cursor === null || cursor < from || cursor > to;
    if (!this.line.hidden && cursor !== null) this.line.style.transform = `translateX(${this.#left() + ((cursor - from) / (to - from)) * (this.place.clientWidth - this.#right() - this.#left())}px)`;
    this.tellValues();
  }

  #left() { return Math.round(5 * letters() + 6); }
  #right() { return letters(); }

  #bounds() {
    const sources = this.sources;
    return { start: Math.min(...sources.map((one) => one.start)), end: Math.max(...sources.map((one) => one.end)) };
  }

  #time(event) {
    const { start, end } = this.#bounds(), [from, to] = this.view.shown(start, end);
    const box = this.place.getBoundingClientRect(), left = this.#left();
    const part = (event.clientX - box.left - left) / (box.width - this.#right() - left);
    return from + Math.max(0, Math.min(1, part)) * (to - from);
  }

  #listen() {
    let begun = /** @type {{x: number, time: number} | null} */ (null);
    this.place.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      begun = { x: event.clientX, time: this.#time(event) };
      this.place.setPointerCapture(event.pointerId);
    });
    this.place.addEventListener("pointermove", (event) => {
      this.view.cursor = this.#time(event);
      this.view.changed();
      if (!begun) return;
      const box = this.place.getBoundingClientRect(), [a, b] = [begun.x, event.clientX].sort((p, q) => p - q);
      this.drag.hidden = b - a < 6;
      this.drag.style.left = `${a - box.left}px`;
      this.drag.style.width = `${b - a}px`;
    });
    const end = (event) => {
      this.drag.hidden = true;
      if (begun && Math.abs(event.clientX - begun.x) >= 6) {
        const times = [begun.time, this.#time(event)].sort((a, b) => a - b);
        this.view.set(/** @type {[number, number]} */ (times));
      }
      begun = null;
    };
    this.place.addEventListener("pointerup", end);
    this.place.addEventListener("pointercancel", () => { begun = null; this.drag.hidden = true; });
    this.place.addEventListener("pointerleave", () => { this.view.cursor = null; this.view.changed(); });
    this.place.addEventListener("dblclick", () => this.view.set(null));
  }
}
