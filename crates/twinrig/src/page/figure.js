"use strict";
// Draws every figure of the page from its description. Panes with one link ("time",
// "frequency") share zoom and cursor over the whole page. Drag: zoom; double click: back.
(() => {
  const LEFT = 72, RIGHT = 18, ROW = 16, GAP = 12, BELOW = 44, PAPER = 700;
  const SPACE = "http://www.w3.org/2000/svg";
  const node = (parent, name, attributes, text) => {
    const made = document.createElementNS(SPACE, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  };
  const html = (parent, name, className, text) => {
    const made = document.createElement(name);
    made.className = className;
    made.textContent = text;
    parent.append(made);
    return made;
  };
  const sup = (n) => String(n).replace(/./g, (c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻");
  const minus = (text) => text.replace("-", "−");
  const short = (value) => {
    if (value === 0) return "0";
    const power = Math.floor(Math.log10(Math.abs(value)));
    if (power >= 6 || power < -3) return minus((value / 10 ** power).toPrecision(4)) + "×10" + sup(power);
    return minus(value.toFixed(Math.max(0, 3 - power)));
  };

  // Round values within an axis; on a logarithmic one decades, 2 and 5 where there is room.
  const ticks = ({ low, high, log }, pixels, spacing) => {
    if (log) {
      const decades = Math.log10(high / low), all = [];
      const labelled = decades < 2.5 ? [1, 2, 5] : [1];
      const every = Math.ceil((decades * spacing) / pixels);
      for (let p = Math.floor(Math.log10(low)); p <= Math.log10(high); p++)
        for (let m = 1; m < 10; m++) {
          const value = m * 10 ** p;
          if (value < low * 0.9999 || value > high * 1.0001 || (m > 1 && decades > 5)) continue;
          const plain = p >= -3 && p < 5 ? String(+value.toPrecision(1)) : (m > 1 ? m + "·" : "") + "10" + sup(p);
          all.push([value, labelled.includes(m) && p % every === 0 ? plain : ""]);
        }
      return all;
    }
    const rough = (high - low) / Math.max(2, pixels / spacing), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((step) => step >= rough) ?? power;
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), all = [];
    const most = Math.max(Math.abs(low), Math.abs(high));
    const common = most >= 1e5 || most < 1e-3 ? Math.floor(Math.log10(most)) : 0;
    for (let i = Math.ceil(low / step - 1e-9); i <= high / step + 1e-9 && all.length < 50; i++) {
      const value = i * step;
      const text = common ? String(+(value / 10 ** common).toPrecision(4)) + (i ? "×10" + sup(common) : "") : value.toFixed(digits);
      all.push([value, minus(text)]);
    }
    return all;
  };

  const share = ({ low, high, log }, value) =>
    log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  const unshare = ({ low, high, log }, part) => (log ? low * (high / low) ** part : low + part * (high - low));
  const clamp = (value) => Math.max(-9e3, Math.min(9e3, value)).toFixed(1);

  // At most the first, lowest, highest and last point of each pixel, so every peak stays.
  const thinned = (series, low, high, pixels) => {
    const { x, y } = series;
    series.rising ??= x.every((value, i) => i === 0 || value === null || x[i - 1] === null || value >= x[i - 1]);
    if (!series.rising) return x.map((_, i) => i);
    let first = 0, last = x.length;
    while (first < last - 1 && x[first + 1] < low) first++;
    while (last > first + 1 && x[last - 2] > high) last--;
    if (last - first <= 3 * pixels) return Array.from({ length: last - first }, (_, i) => first + i);
    const kept = [];
    for (let i = first; i < last; ) {
      const column = Math.floor(((x[i] - low) / (high - low)) * pixels);
      let [end, gap, least, most] = [i, i, i, i];
      while (end < last && Math.floor(((x[end] - low) / (high - low)) * pixels) === column) {
        if (y[end] === null) gap = end;
        else {
          if (y[least] === null || y[end] < y[least]) least = end;
          if (y[most] === null || y[end] > y[most]) most = end;
        }
        end++;
      }
      kept.push(...[...new Set([i, gap, least, most, end - 1])].sort((a, b) => a - b));
      i = Math.max(end, i + 1);
    }
    return kept;
  };

  class Pane {
    constructor(data) {
      Object.assign(this, data);
      [this.x, this.y].forEach((axis, i) => {
        axis.whole = data.ranges[i];
        [axis.low, axis.high] = axis.whole;
        axis.log = axis.scale === "log";
        axis.fixed = axis.range !== null;
      });
      this.unit = this.y.title.match(/\[([^\]]*)\]/)?.[1] ?? "";
    }
    px(value) { return this.left + share(this.x, value) * (this.right - this.left); }
    py(value) { return this.bottom - share(this.y, value) * (this.bottom - this.top); }
    // Zoomed in x alone, the visible data set the other axis.
    fit() {
      if (this.y.fixed || (this.x.low === this.x.whole[0] && this.x.high === this.x.whole[1])) {
        [this.y.low, this.y.high] = this.y.whole;
        return;
      }
      let [low, high] = [Infinity, -Infinity];
      for (const { x, y } of this.series)
        y?.forEach((value, i) => {
          if (value === null || x[i] < this.x.low || x[i] > this.x.high || (this.y.log && value <= 0)) return;
          [low, high] = [Math.min(low, value), Math.max(high, value)];
        });
      if (low > high) return;
      const room = this.y.log ? 1.3 : 0.06 * (high - low || Math.abs(high) || 1);
      [this.y.low, this.y.high] = this.y.log ? [low / room, high * room] : [low - room, high + room];
    }
  }

  // Words above the frame, in as many rows as keep them apart (four at most).
  const banded = (pane) => {
    const rows = [];
    const labels = [...pane.shaded.map(({ from, text }) => [from, text]), ...pane.lines.flatMap(({ event }) => (event ? [event] : []))];
    return labels.filter(([x, text]) => text && x >= pane.x.low && x <= pane.x.high).sort((a, b) => a[0] - b[0]).map(([x, text]) => {
      const wide = 6.6 * text.length, at = Math.max(pane.left, Math.min(pane.px(x) + 2, pane.right - wide));
      let row = rows.findIndex((end) => end < at);
      if (row < 0 && rows.length < 4) row = rows.push(0) - 1;
      if (row < 0) return null;
      rows[row] = at + wide + 10;
      return { x, text, at, row };
    }).filter(Boolean);
  };

  class Figure {
    constructor(element) {
      this.element = element;
      const data = JSON.parse(element.querySelector("script").textContent);
      this.panes = data.panes.map((pane) => new Pane(pane));
      this.hidden = new Set();
      this.legend = html(element, "div", "legend", "");
      this.plot = html(element, "div", "plot", "");
      this.plot.setAttribute("role", "img");
      this.plot.setAttribute("aria-label", data.title);
      this.tip = html(this.plot, "div", "tip", "");
      this.back = html(element, "button", "back", "Whole range");
      this.back.addEventListener("click", () => this.reset());
      const save = html(element, "button", "save", "SVG");
      save.title = "Save the figure";
      save.addEventListener("click", () => this.save(data.title));
      this.names();
      this.listen();
    }

    names() {
      const seen = new Map();
      this.panes.forEach((pane) => pane.series.forEach((series) => {
        if (!series.name) return;
        if (seen.has(series.name)) return void (series.entry = seen.get(series.name));
        const entry = html(this.legend, "button", "entry", "");
        const sample = node(entry, "svg", { width: 26, height: 12 });
        if (series.kind === "points") mark(sample, series, 13, 6);
        else if (series.kind === "band" || series.kind === "steps")
          node(sample, "rect", { y: 2, width: 26, height: 8, class: "band " + series.role });
        else node(sample, "path", { d: "M0 6h26", class: "curve " + series.role });
        html(entry, "span", "", series.name);
        const value = html(entry, "output", "", "");
        entry.addEventListener("click", () => {
          if (!this.hidden.delete(series.name)) this.hidden.add(series.name);
          entry.classList.toggle("off");
          this.draw();
        });
        series.entry = { entry, value };
        seen.set(series.name, series.entry);
      }));
      this.legend.hidden = seen.size < 1;
    }

    layout(width) {
      let top = 6;
      this.panes.forEach((pane, index) => {
        const next = this.panes[index + 1];
        [pane.left, pane.right] = [LEFT, width - RIGHT];
        pane.last = !next || next.x.title !== pane.x.title;
        const wide = pane.right - pane.left;
        pane.words = banded(pane);
        top += ROW * (pane.words.length ? 1 + Math.max(...pane.words.map((word) => word.row)) : 0);
        pane.top = top;
        pane.bottom = top + (pane.shape.high ?? Math.min(wide * (pane.shape === "equal" ? (pane.y.high - pane.y.low) / (pane.x.high - pane.x.low) : 1), 720));
        top = pane.bottom + (pane.last ? BELOW : 0) + (next ? GAP : 0);
      });
      return top;
    }

    // The place of a figure that is drawn later, so that links lead where they should.
    reserve() {
      this.dirty = true;
      if (this.plot.clientWidth < 100) return;
      this.layout(this.plot.clientWidth);
      this.plot.style.minHeight = this.layout(this.plot.clientWidth) + "px";
    }

    draw(width = this.plot.clientWidth) {
      if (width < 100) return;
      this.dirty = false;
      this.panes.forEach((pane) => pane.fit());
      this.layout(width);
      // The words above a frame need its width first, and give its place.
      const height = this.layout(width);
      this.svg?.remove();
      this.plot.style.minHeight = "0";
      this.svg = node(this.plot, "svg", { viewBox: `0 0 ${width} ${height}`, width, height });
      this.panes.forEach((pane) => this.pane(pane));
      this.back.hidden = !this.panes.some((pane) => [pane.x, pane.y].some((axis) => axis.zoomed));
    }

    pane(pane) {
      const { left, right, top, bottom, x, y } = pane, svg = this.svg;
      const clip = "clip" + (Figure.clips = (Figure.clips ?? 0) + 1);
      node(node(svg, "clipPath", { id: clip }), "rect", { x: left, y: top, width: right - left, height: bottom - top });
      const inside = node(svg, "g", { "clip-path": `url(#${clip})` });
      for (const { from, to, tone } of pane.shaded)
        node(inside, "rect", { x: clamp(pane.px(from)), y: top, width: Math.max(0, clamp(pane.px(to)) - clamp(pane.px(from))), height: bottom - top, class: "shade " + tone });
      pane.series.filter((series) => series.kind === "field").forEach((series) => field(inside, pane, series));
      for (const [value, text] of ticks(x, right - left, 80)) {
        const at = pane.px(value).toFixed(1);
        node(inside, "path", { d: `M${at} ${top}V${bottom}`, class: text ? "grid" : "grid fine" });
        if (text && pane.last) node(svg, "text", { x: at, y: bottom + 16, class: "middle" }, text);
      }
      // An axis without a title is no axis.
      for (const [value, text] of y.title ? ticks(y, bottom - top, 32) : []) {
        const at = pane.py(value).toFixed(1);
        node(inside, "path", { d: `M${left} ${at}H${right}`, class: text ? "grid" : "grid fine" });
        if (text) node(svg, "text", { x: left - 6, y: +at + 4, class: "end" }, text);
      }
      for (const series of pane.series) if (!this.hidden.has(series.name)) shapes[series.kind]?.(inside, pane, series);
      this.marks(pane, inside);
      node(svg, "rect", { x: left, y: top, width: right - left, height: bottom - top, class: "frame" });
      if (pane.last) node(svg, "text", { x: (left + right) / 2, y: bottom + 36, class: "middle title" }, x.title);
      node(svg, "text", { transform: `translate(14 ${(top + bottom) / 2}) rotate(-90)`, class: "middle title" }, y.title);
      pane.cursor = node(inside, "path", { class: "cursor" });
    }

    marks(pane, inside) {
      const { left, right, top, bottom } = pane, taken = [];
      for (const { event, limit } of pane.lines) {
        if (event) {
          node(inside, "path", { d: `M${clamp(pane.px(event[0]))} ${top}V${bottom}`, class: "event" });
          continue;
        }
        const at = pane.py(limit[0]);
        if (!(at >= top - 1 && at <= bottom + 1)) continue;
        node(inside, "path", { d: `M${left} ${at}H${right}`, class: "limit" });
        const near = taken.filter((other) => Math.abs(other - at) < 14).length;
        taken.push(at);
        const below = at < top + 16 ? 15 : -5;
        if (near < 2 && limit[1]) node(inside, "text", { x: near ? left + 6 : right - 6, y: at + below, class: near ? "halo" : "halo end" }, limit[1]);
      }
      const up = (row) => top - 4 - ROW * row;
      for (const { x, row } of pane.words)
        node(this.svg, "path", { d: `M${clamp(pane.px(x))} ${top}V${up(row) - 8}`, class: "leader" });
      for (const { text, at, row } of pane.words) node(this.svg, "text", { x: at, y: up(row), class: "halo" }, text);
      const words = [];
      for (const { at, text, kind } of pane.marks) {
        const [cx, cy] = [pane.px(at[0]), pane.py(at[1])], dot = kind === "place";
        if (!(cx >= left - 1 && cx <= right + 1 && cy >= top - 1 && cy <= bottom + 1)) continue;
        if (dot) node(inside, "path", { d: `M${cx - 6} ${cy}h12M${cx} ${cy - 6}v12`, class: "mark" });
        const flip = cx + 12 + 6.6 * text.length > right;
        const anchor = dot ? (flip ? "end" : "") : "middle";
        // Below the place where the words of another stand above it.
        const below = cy < top + 20 || words.some(([a, b]) => Math.abs(a - cx) < 90 && Math.abs(b - cy) < 16);
        words.push([cx, cy]);
        node(inside, "text", { x: cx + (dot ? (flip ? -9 : 9) : 0), y: cy + (dot ? (below ? 18 : -8) : 4), class: "halo strong " + anchor }, text);
      }
    }

    at(event) {
      const box = this.plot.getBoundingClientRect();
      const [px, py] = [event.clientX - box.left, event.clientY - box.top];
      return [px, py, this.panes.find((pane) => py >= pane.top && py <= pane.bottom && px >= pane.left && px <= pane.right)];
    }

    listen() {
      const plot = this.plot;
      plot.addEventListener("pointerdown", (event) => {
        const [px, py, pane] = this.at(event);
        if (!pane || event.button) return;
        event.preventDefault();
        plot.setPointerCapture(event.pointerId);
        this.drag = { px, py, pane, box: node(this.svg, "rect", { class: "drag" }) };
      });
      plot.addEventListener("pointermove", (event) => {
        const [px, py, pane] = this.at(event);
        if (!this.drag) return pane ? this.point(pane, px, py) : this.leave();
        const { pane: own, box } = this.drag, clip = (value, low, high) => Math.max(low, Math.min(high, value));
        const xs = [this.drag.px, clip(px, own.left, own.right)].sort((a, b) => a - b);
        const ys = own.x.link ? [own.top, own.bottom] : [this.drag.py, clip(py, own.top, own.bottom)].sort((a, b) => a - b);
        Object.entries({ x: xs[0], y: ys[0], width: xs[1] - xs[0], height: ys[1] - ys[0] }).forEach(([key, value]) => box.setAttribute(key, value));
        Object.assign(this.drag, { xs, ys });
      });
      const release = () => {
        const { pane, box, xs, ys } = this.drag ?? {};
        this.drag = null;
        box?.remove();
        if (!xs || xs[1] - xs[0] < 6) return;
        const part = (px) => unshare(pane.x, (px - pane.left) / (pane.right - pane.left));
        const up = (py) => unshare(pane.y, (pane.bottom - py) / (pane.bottom - pane.top));
        if (pane.x.link) return zoom(pane.x.link, xs.map(part));
        const [across, along] = [xs.map(part), [up(ys[1]), up(ys[0])]];
        [pane.x.low, pane.x.high] = across;
        [pane.y.whole, pane.y.kept] = [along, pane.y.kept ?? pane.y.whole];
        pane.x.zoomed = pane.y.fixed = true;
        this.draw();
      };
      plot.addEventListener("pointerup", release);
      plot.addEventListener("pointercancel", release);
      plot.addEventListener("pointerleave", () => this.drag || this.leave());
      plot.addEventListener("dblclick", () => this.reset());
    }

    point(pane, px, py) {
      const x = unshare(pane.x, (px - pane.left) / (pane.right - pane.left));
      if (pane.x.link) return cursor(pane.x.link, x);
      let best = [20, null];
      for (const series of pane.series)
        if (!this.hidden.has(series.name)) series.y?.forEach((value, i) => {
          const far = value === null ? 99 : Math.hypot(pane.px(series.x[i]) - px, pane.py(value) - py);
          if (far < best[0]) best = [far, `${series.labels?.[i] || series.name}: ${short(series.x[i])}, ${short(value)}`];
        });
      this.tip.textContent = best[1] ?? `${short(x)}, ${short(unshare(pane.y, (pane.bottom - py) / (pane.bottom - pane.top)))}`;
      this.tip.style.cssText = `display:block;left:${Math.min(px + 12, pane.right - 160)}px;top:${py - 30}px`;
    }

    leave() {
      this.tip.style.display = "none";
      this.panes.forEach((pane) => pane.x.link && cursor(pane.x.link, null));
    }

    // The cursor of a link: a line in each pane, values beside the names.
    cursor(link, x) {
      const said = new Map();
      for (const pane of this.panes) {
        if (pane.x.link !== link || !pane.cursor) continue;
        const shown = x !== null && x >= pane.x.low && x <= pane.x.high;
        pane.cursor.setAttribute("d", shown ? `M${pane.px(x).toFixed(1)} ${pane.top}V${pane.bottom}` : "");
        for (const series of pane.series) {
          if (!series.entry || !series.y) continue;
          const value = shown ? near(series, x) : null;
          const texts = said.get(series.entry.value) ?? [];
          if (value !== null) texts.push(short(value) + (pane.unit ? " " + pane.unit : ""));
          said.set(series.entry.value, texts);
        }
      }
      for (const [output, texts] of said) output.textContent = [...new Set(texts)].slice(0, 4).join(" · ");
      const unit = { time: "s", "close-up": "s", frequency: "Hz" }[link];
      this.legend.dataset.at = x === null ? "" : `at ${short(x)} ${unit}`;
    }

    reset() {
      for (const pane of this.panes) {
        if (pane.x.link) zoom(pane.x.link, null);
        [pane.x.low, pane.x.high] = pane.x.whole;
        if (pane.y.kept) [pane.y.whole, pane.y.kept, pane.y.fixed] = [pane.y.kept, null, false];
        pane.x.zoomed = false;
      }
      this.draw();
    }

    save(title) {
      const copy = this.svg.cloneNode(true);
      copy.setAttribute("xmlns", SPACE);
      const style = document.createElementNS(SPACE, "style");
      style.textContent = document.getElementById("drawing").textContent;
      copy.prepend(style);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([copy.outerHTML], { type: "image/svg+xml" }));
      link.download = title.replace(/[^\w]+/g, "-").toLowerCase() + ".svg";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }
  }

  // The value of the sample nearest to x; none beyond the ends.
  const near = ({ x, y }, at) => {
    let best = -1;
    x.forEach((value, i) => { if (y[i] !== null && (best < 0 || Math.abs(value - at) < Math.abs(x[best] - at))) best = i; });
    const step = (Math.max(...[x[0], x[x.length - 1]]) - Math.min(x[0], x[x.length - 1])) / 100;
    return best < 0 || Math.abs(x[best] - at) > step ? null : y[best];
  };
  const mark = (parent, { role, symbol }, x, y) => {
    const d = { circle: "M-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0z", diamond: "M0-4.5L4.5 0L0 4.5L-4.5 0Z", cross: "M-3.5-3.5L3.5 3.5M-3.5 3.5L3.5-3.5" }[symbol];
    if (d) node(parent, "path", { d, transform: `translate(${x} ${y})`, class: (symbol === "circle" ? "dot " : "open ") + role });
  };
  const path = (pane, xs, ys) => {
    let d = "", down = false;
    xs.forEach((x, i) => {
      const y = ys[i];
      if (x === null || y === null || (pane.y.log && y <= 0) || (pane.x.log && x <= 0)) return void (down = false);
      d += `${down ? "L" : "M"}${clamp(pane.px(x))} ${clamp(pane.py(y))}`;
      down = true;
    });
    return d;
  };
  const shapes = {
    line(parent, pane, series) {
      const kept = thinned(series, pane.x.low, pane.x.high, pane.right - pane.left);
      node(parent, "path", { d: path(pane, kept.map((i) => series.x[i]), kept.map((i) => series.y[i])), class: "curve " + series.role });
    },
    points(parent, pane, series) {
      const g = node(parent, "g", { opacity: series.x.length > 300 ? 0.55 : 1 });
      series.x.forEach((x, i) => {
        const y = series.y[i];
        if (x === null || y === null || (pane.y.log && y <= 0)) return;
        const [px, py] = [clamp(pane.px(x)), clamp(pane.py(y))];
        const bar = (d) => node(g, "path", { d, class: "bar " + series.role });
        if (series.up[i]) bar(`M${px} ${clamp(pane.py(y - series.up[i]))}V${clamp(pane.py(y + series.up[i]))}`);
        if (series.side[i]) bar(`M${clamp(pane.px(x - series.side[i]))} ${py}H${clamp(pane.px(x + series.side[i]))}`);
        mark(g, series, px, py);
      });
    },
    band(parent, pane, { x, low, high, role }) {
      for (let i = 1; i < x.length; i++) {
        if ([low[i - 1], high[i - 1], low[i], high[i]].includes(null)) continue;
        const at = (k, y) => `${clamp(pane.px(x[k]))} ${clamp(pane.py(y[k]))}`;
        node(parent, "path", { d: `M${at(i - 1, low)}L${at(i - 1, high)}L${at(i, high)}L${at(i, low)}Z`, class: "band " + role });
      }
    },
    steps(parent, pane, { bins, role }) {
      let d = "", end = null;
      for (const [low, high, value] of bins) {
        const [a, b, y] = [pane.px(low), pane.px(high), pane.py(Math.max(value, pane.y.low))];
        if (end === null || Math.abs(a - end) > 0.5) d += (end === null ? "" : `V${pane.bottom}`) + `M${clamp(a)} ${pane.bottom}`;
        d += `V${clamp(y)}H${clamp(b)}`;
        end = b;
      }
      if (end === null) return;
      node(parent, "path", { d: d + `V${pane.bottom}`, class: "steps " + role });
    },
  };

  const hatch = (parent) => {
    const id = "hatch" + (Figure.hatches = (Figure.hatches ?? 0) + 1);
    const pattern = node(parent, "pattern", { id, width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
    node(pattern, "rect", { width: 8, height: 8, class: "unstable" });
    node(pattern, "path", { d: "M0 0V8", class: "hatch" });
    return `fill:url(#${id})`;
  };
  const field = (parent, pane, { across: x, along: y, size: [columns, rows], values, stable, most }) => {
    const { left, right, top, bottom } = pane;
    if (stable) {
      node(parent, "rect", { x: left, y: top, width: right - left, height: bottom - top, style: hatch(parent) });
      const d = stable.map((polygon) => "M" + polygon.map(([a, b]) => `${clamp(pane.px(a))} ${clamp(pane.py(b))}`).join("L") + "Z").join("");
      node(parent, "path", { d, class: "stable" });
    }
    const [dx, dy] = [(x[1] - x[0]) / (columns - 1), (y[1] - y[0]) / (rows - 1)];
    const tone = (value) => (value === null ? "unjudged" : stable ? "" : "growth" + Math.round(Math.max(-5, Math.min(5, (5 * value) / most))));
    const cells = node(parent, "g", { "shape-rendering": "crispEdges" });
    for (let j = 0; j < rows; j++)
      for (let i = 0, end; i < columns; i = end) {
        const own = tone(values[j * columns + i]);
        for (end = i + 1; end < columns && tone(values[j * columns + end]) === own; ) end++;
        if (!own) continue;
        const [x0, x1] = [pane.px(x[0] + (i - 0.5) * dx), pane.px(x[0] + (end - 0.5) * dx)];
        const [y0, y1] = [pane.py(y[0] + (j + 0.5) * dy), pane.py(y[0] + (j - 0.5) * dy)];
        node(cells, "rect", { x: clamp(x0), y: clamp(y0), width: clamp(x1 - x0 + 0.3), height: clamp(y1 - y0 + 0.3), class: own });
      }
  };

  if (matchMedia("(max-width: 820px)").matches) document.querySelector("nav details").open = false;
  const figures = [...document.querySelectorAll("figure[data-figure]")].map((element) => new Figure(element));
  const visible = (figure) => {
    const box = figure.element.getBoundingClientRect();
    return box.height > 0 && box.bottom > -400 && box.top < innerHeight + 400;
  };
  const refresh = () => figures.forEach((figure) => figure.dirty && visible(figure) && figure.draw());
  const zoom = (link, range) => {
    for (const figure of figures)
      for (const pane of figure.panes) {
        if (pane.x.link !== link) continue;
        [pane.x.low, pane.x.high] = range ?? pane.x.whole;
        pane.x.zoomed = range !== null;
        figure.dirty = true;
      }
    refresh();
  };
  const cursor = (link, x) => figures.forEach((figure) => visible(figure) && figure.cursor(link, x));
  const all = () => figures.forEach((figure) => figure.reserve());
  all();
  refresh();
  addEventListener("scroll", refresh, { passive: true });
  addEventListener("resize", () => { all(); refresh(); });
  const parts = { whole: 1, half: 2, third: 3 };
  const paper = (figure) => figure.element.offsetParent && figure.draw(PAPER / parts[figure.element.classList[0]] - 10);
  addEventListener("beforeprint", () => figures.forEach(paper));
  addEventListener("afterprint", () => { all(); refresh(); });
  for (const select of document.querySelectorAll(".choice select")) {
    const options = [...select.closest(".choice").querySelectorAll(":scope > .option")];
    const show = () => { options.forEach((option, i) => (option.hidden = i !== select.selectedIndex)); refresh(); };
    select.addEventListener("change", show);
    show();
  }
})();
