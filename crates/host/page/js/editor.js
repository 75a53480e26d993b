// @ts-check
/**
 * A small editor for experiment files: the browser's own text field, with colours, line numbers
 * and errors drawn beneath it, and completion beside the cursor.
 */
import { h } from "./dom.js";
import { coloured, columnAt, unitsBefore } from "./toml.js";

/**
 * @typedef {{severity: string, message: string, remedy?: string, file?: string, line: number | null, column?: number, end_line?: number, end_column?: number}} Diagnostic
 * @typedef {{from_column: number, items: {label: string, kind: string, insert: string, detail?: string, doc?: string}[]}} Completion
 */

export class Editor {
  /** @param {{changed: (text: string) => void, complete: (text: string, line: number, column: number) => Promise<Completion | null>, save: () => void}} owner */
  constructor(owner) {
    this.owner = owner;
    this.lines = /** @type {string[]} */ ([]);
    /** @type {Diagnostic[]} */ this.diagnostics = [];
    this.gutter = h("div.gutter", { "aria-hidden": "true" });
    this.paper = h("pre", { "aria-hidden": "true" });
    this.field = h("textarea", { spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", "aria-label": "Experiment file", "aria-autocomplete": "list", "aria-describedby": "editor-help" });
    this.popup = h("ul.completion", { role: "listbox", id: "completion", "aria-label": "Completions", hidden: true });
    this.element = h("div.editor", null, this.gutter, h("div.sheet", null, this.paper, this.field, this.popup));
    this.asked = 0;
    /** @type {Completion | null} */ this.offer = null;
    this.at = 0;
    this.#listen();
  }

  get text() { return this.field.value; }

  set text(value) {
    this.field.value = value;
    this.field.setSelectionRange(0, 0);
    this.diagnostics = [];
    this.draw();
  }

  /** @param {Diagnostic[]} diagnostics those of this file */
  mark(diagnostics) {
    this.diagnostics = diagnostics;
    this.draw();
  }

  /** Lines that did not change keep their elements. */
  draw() {
    const lines = this.text.split("\n"), marked = new Map();
    for (const one of this.diagnostics) if (one.line) marked.set(one.line - 1, [...(marked.get(one.line - 1) ?? []), one]);
    const keys = lines.map((line, i) => line + "\u0000" + JSON.stringify(marked.get(i) ?? ""));
    lines.forEach((line, i) => {
      if (this.lines[i] === keys[i]) return;
      const row = h("div", null, coloured(line, (marked.get(i) ?? []).map((one) => place(line, one))), "\n");
      const number = h("span", null, String(i + 1));
      const worst = (marked.get(i) ?? []).some((one) => one.severity === "error") ? "bad" : marked.has(i) ? "doubtful" : null;
      if (worst) {
        number.dataset.level = worst;
        number.textContent = `${worst === "bad" ? "✕" : "!"} ${i + 1}`;
        number.title = marked.get(i).map((one) => one.message).join("\n");
      }
      if (this.paper.children[i]) {
        this.paper.children[i].replaceWith(row);
        this.gutter.children[i].replaceWith(number);
      } else {
        this.paper.append(row);
        this.gutter.append(number);
      }
    });
    while (this.paper.childElementCount > lines.length) {
      this.paper.lastElementChild.remove();
      this.gutter.lastElementChild.remove();
    }
    this.lines = keys;
  }

  /** Line from 1, column from 1 in characters, and what stands before it. */
  cursor() {
    const before = this.text.slice(0, this.field.selectionStart), line = before.split("\n").length;
    const start = before.lastIndexOf("\n") + 1;
    return { line, column: columnAt(before.slice(start), before.length - start), start };
  }

  /** Sets the cursor; columns count characters. */
  goTo(line, column = 1) {
    const lines = this.text.split("\n"), before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    const at = before + unitsBefore(lines[line - 1] ?? "", column);
    this.field.focus();
    this.field.setSelectionRange(at, at);
    this.element.scrollTop = Math.max(0, (line - 8) * this.#lineHeight());
  }

  #lineHeight() { return parseFloat(getComputedStyle(this.paper).lineHeight) || 20; }

  #listen() {
    this.field.addEventListener("input", (event) => {
      this.draw();
      this.owner.changed(this.text);
      const typed = /** @type {InputEvent} */ (event).data;
      if (typed && /[\w."[=]/.test(typed)) this.complete();
      else this.#close();
    });
    this.field.addEventListener("blur", () => setTimeout(() => this.#close(), 150));
    this.field.addEventListener("click", () => this.#close());
    this.field.addEventListener("keydown", (event) => this.#key(event));
    this.popup.addEventListener("mousedown", (event) => {
      event.preventDefault();
      const item = event.target.closest("li[role=option]");
      if (item) this.#take(Number(item.dataset.i));
    });
  }

  #key(event) {
    const { key, ctrlKey, metaKey, shiftKey } = event, open = !this.popup.hidden;
    const done = () => event.preventDefault();
    if ((ctrlKey || metaKey) && key === " ") { done(); this.complete(true); }
    else if ((ctrlKey || metaKey) && key.toLowerCase() === "s") { done(); this.owner.save(); }
    else if ((ctrlKey || metaKey) && key === "/") { done(); this.#comment(); }
    else if (open && (key === "ArrowDown" || key === "ArrowUp")) { done(); this.#choose(this.at + (key === "ArrowDown" ? 1 : -1)); }
    else if (open && (key === "Enter" || key === "Tab") && !shiftKey) { done(); this.#take(this.at); }
    else if (open && key === "Escape") { done(); event.stopPropagation(); this.#close(); }
    else if (open && (key === "ArrowLeft" || key === "ArrowRight" || key === "Home" || key === "End")) this.#close();
  }

  /** Puts `# ` before the lines of the selection, or takes it away. */
  #comment() {
    const { selectionStart, selectionEnd, value } = this.field;
    const from = value.lastIndexOf("\n", selectionStart - 1) + 1, end = value.indexOf("\n", selectionEnd), to = end < 0 ? value.length : end;
    const lines = value.slice(from, to).split("\n"), all = lines.every((line) => /^\s*(#|$)/.test(line));
    const made = lines.map((line) => (all ? line.replace(/^(\s*)# ?/, "$1") : "# " + line)).join("\n");
    this.#replace(from, to, made);
  }

  /** By the browser's own editing, so that undo knows it. */
  #replace(from, to, text) {
    this.field.focus();
    this.field.setSelectionRange(from, to);
    if (!document.execCommand("insertText", false, text)) {
      this.field.setRangeText(text, from, to, "end");
      this.field.dispatchEvent(new InputEvent("input"));
    }
  }

  async complete(wanted = false) {
    const asked = ++this.asked, { line, column } = this.cursor();
    const offer = await this.owner.complete(this.text, line, column).catch(() => null);
    if (asked !== this.asked || document.activeElement !== this.field) return;
    if (!offer?.items.length || (!wanted && offer.items.length > 200)) return this.#close();
    this.offer = offer;
    this.popup.replaceChildren(...offer.items.slice(0, 100).map(({ label, detail, kind }, i) =>
      h("li", { role: "option", id: `completion-${i}`, "data-i": i, "aria-selected": "false" }, h("span", null, label), h("span.soft", null, detail ?? kind))), h("li.doc", { role: "presentation" }));
    this.popup.hidden = false;
    this.field.setAttribute("aria-controls", "completion");
    const text = this.text.split("\n")[line - 1] ?? "", letter = this.#letterWidth();
    this.popup.style.left = `${10 + unitsBefore(text, offer.from_column) * letter}px`;
    this.popup.style.top = `${8 + line * this.#lineHeight()}px`;
    this.#choose(0);
  }

  #letterWidth() {
    const ctx = /** @type {CanvasRenderingContext2D} */ (h("canvas").getContext("2d"));
    ctx.font = getComputedStyle(this.field).font;
    return ctx.measureText("0000000000").width / 10;
  }

  #choose(i) {
    const items = this.popup.querySelectorAll("[role=option]");
    this.at = (i + items.length) % items.length;
    items.forEach((item, k) => item.setAttribute("aria-selected", String(k === this.at)));
    items[this.at]?.scrollIntoView({ block: "nearest" });
    this.field.setAttribute("aria-activedescendant", `completion-${this.at}`);
    const doc = this.popup.querySelector(".doc");
    doc.textContent = this.offer?.items[this.at]?.doc ?? "";
    doc.hidden = !doc.textContent;
  }

  #take(i) {
    const item = this.offer?.items[i], { line, start } = this.cursor();
    if (!item || !this.offer) return;
    const text = this.text.split("\n")[line - 1] ?? "";
    // A key whose value stands there already.
    const hasValue = /^\s*=/.test(this.text.slice(this.field.selectionStart));
    const insert = hasValue ? item.insert.replace(/\s*=\s*$/, "") : item.insert;
    this.#replace(start + unitsBefore(text, this.offer.from_column), this.field.selectionStart, insert);
    this.#close();
    if (item.kind === "key" && insert.endsWith("= ")) this.complete();
  }

  #close() {
    this.asked++;
    this.popup.hidden = true;
    this.field.removeAttribute("aria-activedescendant");
    this.field.removeAttribute("aria-controls");
  }
}

/** Where a diagnostic stands in its line. */
function place(line, { column = 1, end_line, line: own, end_column, severity }) {
  const from = unitsBefore(line, column ?? 1);
  const to = end_column && (!end_line || end_line === own) ? unitsBefore(line, end_column) : line.length;
  return { from: Math.min(from, Math.max(0, line.length - 1)), to: Math.max(to, from + 1), level: severity === "error" ? "error" : "warning" };
}
