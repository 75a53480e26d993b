// @ts-check
/** Colours of TOML, word by word; and errors beneath them. */

const WORD = /(?<comment>#.*$)|(?<string>"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?)|(?<number>[+-]?(?:\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?|inf|nan)\b|\btrue\b|\bfalse\b)/gm;

/**
 * One line in pieces of one kind each.
 * @param {string} line @returns {{from: number, to: number, kind: string}[]}
 */
export function pieces(line) {
  const found = /** @type {{from: number, to: number, kind: string}[]} */ ([]);
  const head = /^\s*\[\[?[^\]\n]*\]?\]?/.exec(line);
  let from = 0;
  if (head) found.push({ from: 0, to: from = head[0].length, kind: "table" });
  else {
    const key = /^\s*[\w."'-]+(?=\s*=)/.exec(line);
    if (key) found.push({ from: 0, to: from = key[0].length, kind: "key" });
  }
  for (const match of line.slice(from).matchAll(WORD)) {
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined)?.[0] ?? "";
    found.push({ from: from + match.index, to: from + match.index + match[0].length, kind });
  }
  for (const match of line.slice(from).matchAll(/([\w-]+)(?=\s*=)/g)) {
    const at = from + match.index;
    if (!found.some((piece) => at < piece.to && at + match[0].length > piece.from)) found.push({ from: at, to: at + match[0].length, kind: "key" });
  }
  return found.sort((a, b) => a.from - b.from);
}

/**
 * The line as elements, with what is wrong underlined.
 * @param {string} line @param {{from: number, to: number, level: string}[]} marks in UTF-16 units
 */
export function coloured(line, marks) {
  const all = pieces(line), edges = new Set([0, line.length]);
  for (const { from, to } of [...all, ...marks]) edges.add(Math.min(from, line.length)).add(Math.min(to, line.length));
  const sorted = [...edges].sort((a, b) => a - b), parts = /** @type {(Node | string)[]} */ ([]);
  for (let i = 0; i + 1 < sorted.length; i++) {
    const [from, to] = [sorted[i], sorted[i + 1]], text = line.slice(from, to);
    const kind = all.find((piece) => piece.from <= from && piece.to >= to)?.kind, mark = marks.find((one) => one.from <= from && one.to >= to);
    if (!kind && !mark) { parts.push(text); continue; }
    const span = document.createElement("span");
    span.className = [kind && "t-" + kind, mark && "t-" + mark.level].filter(Boolean).join(" ");
    span.textContent = text;
    parts.push(span);
  }
  return parts;
}

/** A column that counts characters from 1, as a place in the line that counts UTF-16 units. */
export const unitsBefore = (line, column) => Array.from(line).slice(0, Math.max(0, column - 1)).join("").length;
/** The other way round. */
export const columnAt = (line, units) => Array.from(line.slice(0, units)).length + 1;
