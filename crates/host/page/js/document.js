// @ts-check
/** A result of the program as facts and tables, whatever it holds. */
import { facts, h, plain, short, table } from "./dom.js";

const UNITS = [["_hz", "Hz"], ["_s", "s"], ["_m", "m"], ["_n", "N"], ["_rad", "rad"], ["_ratio", ""], ["_1_s", "1/s"]];

/** The words of a key: `delay_margin_s` is delay margin [s]. */
export function words(key) {
  const found = [...UNITS].sort((a, b) => b[0].length - a[0].length).find(([end]) => key.endsWith(end));
  const name = (found ? key.slice(0, -found[0].length) : key).replaceAll("_", " ");
  return found?.[1] ? `${name} [${found[1]}]` : name;
}

const isPlain = (value) => value === null || typeof value !== "object";
const text = (value) => (typeof value === "number" ? (Number.isInteger(value) ? plain(value) : short(value)) : value === null ? "–" : value === true ? "yes" : value === false ? "no" : String(value));
/** Values on one line: a plain one, or a table of a few plain ones. */
const inline = (value) => isPlain(value) ? text(value)
  : Array.isArray(value) ? (value.every(isPlain) ? value.slice(0, 8).map(text).join(", ") + (value.length > 8 ? " …" : "") : `${value.length} entries`)
    : Object.entries(value).filter(([, one]) => isPlain(one) && one !== null).map(([key, one]) => `${words(key)}: ${text(one)}`).join("; ");

/** @param {any} value @param {string} title @returns {any} */
export function documentOf(value, title = "", depth = 0) {
  if (isPlain(value)) return h("p", null, text(value));
  if (Array.isArray(value)) return listOf(value, title);
  const entries = Object.entries(value).filter(([, one]) => one !== null && !(Array.isArray(one) && !one.length));
  const flat = entries.filter(([, one]) => isPlain(one) || (!Array.isArray(one) && Object.values(one).every(isPlain)) || (Array.isArray(one) && one.every(isPlain)));
  const deep = entries.filter((entry) => !flat.includes(entry));
  return h("div", null, flat.length > 0 && facts(flat.map(([key, one]) => [words(key), inline(one)])),
    deep.map(([key, one]) => h("details", { open: depth === 0 && deep.length < 4 }, h("summary", null, words(key)), depth < 4 ? documentOf(one, "", depth + 1) : h("pre", null, JSON.stringify(one, null, 1)))));
}

function listOf(list, title) {
  if (!list.some((one) => one && typeof one === "object" && !Array.isArray(one))) return h("p", null, inline(list));
  const keys = [...new Set(list.slice(0, 50).flatMap((one) => Object.keys(one ?? {})))].slice(0, 10);
  const numeric = keys.map((key) => list.some((one) => typeof one?.[key] === "number"));
  const shown = list.slice(0, 200);
  return h("div", null, table(title, keys.map((key, i) => (numeric[i] ? "n:" : "") + words(key)), shown.map((one) => keys.map((key) => inline(one?.[key] ?? null)))),
    list.length > shown.length && h("p.soft.small", null, `The first ${shown.length} of ${list.length}.`));
}
