// @ts-check
/** Elements, numbers and small helpers that every view uses. */

/**
 * Makes an element: `h("a.quiet", {href}, "text", child)`. Keys that begin with `on` are listeners;
 * `true` sets an empty attribute, `false` and `null` none.
 * @param {string} tag name, then classes after dots
 * @param {Record<string, any> | null} [attributes]
 * @param {...(Node | string | number | null | undefined | false | any[])} children
 * @returns {any}
 */
export function h(tag, attributes, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name || "div");
  if (classes.length) element.className = classes.join(" ");
  fill(element, attributes, children);
  return element;
}

const SPACE = "http://www.w3.org/2000/svg";

/**
 * The same for a drawing.
 * @param {string} tag
 * @param {Record<string, any> | null} [attributes]
 * @param {...any} children
 * @returns {any}
 */
export function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SPACE, tag);
  fill(element, attributes, children);
  return element;
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, String(value));
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
}

/** The element with an id of `index.html`. @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/** Sets a text only where it changed, so that nothing is laid out again. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const sup = (n) => String(n).replace(/./g, (c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)] ?? "⁻");
const minus = (text) => text.replace("-", "−");

/** A number with `digits` significant digits. @param {number | null | undefined} value */
export function short(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const power = Math.floor(Math.log10(Math.abs(value)));
  if (power >= 6 || power < -4) return minus((value / 10 ** power).toPrecision(digits)) + "×10" + sup(power);
  return minus(value.toFixed(Math.max(0, digits - 1 - power)));
}

const PREFIXED = new Set(["m", "s", "N", "J", "m/s", "Hz", "N/m", "W", "N s/m", "N m"]);
const PREFIXES = [[1e-6, "µ"], [1e-3, "m"], [1, ""], [1e3, "k"], [1e6, "M"], [1e9, "G"]];

/**
 * The factor and unit in which a quantity of this size is read: 0.0123 m is 12.3 mm.
 * @param {number} size @param {string} unit @returns {{factor: number, unit: string}}
 */
export function scale(size, unit) {
  const most = Math.abs(size);
  if (!PREFIXED.has(unit) || !(most > 0) || !Number.isFinite(most)) return { factor: 1, unit };
  let best = PREFIXES[0];
  for (const prefix of PREFIXES) if (most >= 0.999 * Number(prefix[0])) best = prefix;
  if (unit === "s" && Number(best[0]) > 1) best = PREFIXES[2];
  return { factor: 1 / Number(best[0]), unit: best[1] + unit };
}

/** A number without zeros at its end. @param {number} value */
export const plain = (value) => (Number.isFinite(value) && Math.abs(value) < 1e6 ? minus(String(+value.toPrecision(5))) : short(value));

/** A quantity in words: 12.3 mm. @param {number | null | undefined} value */
export function quantity(value, unit = "", digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return short(value);
  const { factor, unit: shown } = scale(value, unit);
  return short(value * factor, digits) + (shown ? (shown === "%" ? " %" : " " + shown) : "");
}

/** @param {number} bytes */
export const size = (bytes) => (bytes < 1e3 ? `${bytes} B` : bytes < 1e6 ? `${short(bytes / 1e3, 3)} kB` : `${short(bytes / 1e6, 3)} MB`);

/** @param {number} seconds since 1970 */
export function moment(seconds) {
  if (!seconds) return "";
  const date = new Date(seconds * 1000);
  const two = (n) => String(n).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** A table. @param {string[]} heads `n:` before a head sets a column of numbers */
export function table(caption, heads, rows, attributes = null) {
  const numeric = heads.map((head) => head.startsWith("n:"));
  const cell = (tag, i, content) => h(tag + (numeric[i] ? ".number" : ""), tag === "th" ? { scope: "col" } : null, content);
  return h("div.wide", { tabindex: 0, role: "region", "aria-label": caption || "Table" }, h("table", attributes,
    caption && h("caption", null, caption),
    h("thead", null, h("tr", null, heads.map((head, i) => cell("th", i, head.replace(/^n:/, ""))))),
    h("tbody", null, rows.map((row) => h("tr", null, row.map((content, i) => cell("td", i, content)))))));
}

/** Names with their values. @param {[string, any][]} pairs */
export const facts = (pairs) => h("dl.facts", null, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
  .map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));

/** The limits of a test. One that is not the same for all interface DOFs has several values. */
export const limitTable = (caption, limits) => table(caption, ["Quantity", "n:Limit"], limits.map(({ name, values, value, unit }) =>
  [name, [...new Set(values ?? [value])].map((one) => quantity(one, unit)).join(", ")]));

/** A verdict as a banner. @param {{level: string, reasons?: any[], short?: string} | null} verdict */
export function verdictBanner(verdict, tag = "h2") {
  if (!verdict) return h("div.banner", null, h(tag, null, "No verdict yet"));
  const words = { sound: "Sound", doubtful: "Doubtful", unsafe: "Unsafe" };
  return h("div.banner", { "data-level": verdict.level }, h(tag, null, words[verdict.level] ?? verdict.level),
    verdict.reasons?.length
      ? h("ul", null, verdict.reasons.map((reason) => h("li", null, reason.text ?? String(reason), reason.remedy && h("span.soft", null, " Remedy: " + reason.remedy))))
      : h("p", null, verdict.short ?? "Nothing speaks against this test."));
}

/** @param {any} verdict */
export const verdictChip = (verdict) => verdict
  ? h("span.chip", { "data-level": verdict.level }, { sound: "✓ sound", doubtful: "? doubtful", unsafe: "✕ unsafe" }[verdict.level] ?? verdict.level)
  : h("span.soft.small", null, "not judged yet");

/** Calls `work` once things have been quiet for `ms`. */
export function later(work, ms) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => work(...args), ms);
  };
}
