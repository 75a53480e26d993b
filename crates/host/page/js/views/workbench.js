// @ts-check
/** The workbench: a file as text, and at every pause what the program thinks of it. */
import { facts, h, later, limitTable, quantity, short, table, verdictBanner } from "../dom.js";
import { ApiError, get, inAddress, post, put } from "../api.js";
import { Chart } from "../chart.js";
import { Editor } from "../editor.js";
import { ask, attempt, confirm, notice } from "../notice.js";
import { on, state } from "../state.js";
import { picture } from "../structure.js";

/** @param {string} path @returns {any} */
export function workbench(path) {
  return path ? new Bench(path).view : chooseFile();
}

function chooseFile() {
  const list = h("ul.cards");
  get("/api/files").then(({ files }) => list.replaceChildren(...files.filter((one) => /\.(toml|csv|txt|md)$/.test(one.path)).map((one) =>
    h("li.card", null, h("a", { href: `#/edit/${inAddress(one.path)}` }, one.path)))), notice);
  const name = h("input", { placeholder: "frame.toml", "aria-label": "Name of a new file" });
  const fresh = h("form.row", { onsubmit: (event) => {
    event.preventDefault();
    const wanted = name.value.trim();
    if (wanted) location.hash = `#/edit/${inAddress(/\.\w+$/.test(wanted) ? wanted : wanted + ".toml")}`;
  } }, name, h("button.quiet", null, "New file"));
  return { element: h("div", null, h("div.row.spread", null, h("h1", null, "Workbench"), fresh), list) };
}

class Bench {
  constructor(path) {
    this.path = path;
    this.version = /** @type {string | null} */ (null);
    this.saved = "";
    this.editor = new Editor({ changed: () => this.#changed(), save: () => this.save(),
      complete: (text, line, column) => post("/api/complete", { path, text, line, column }) });
    this.problems = h("ul.problems", { "aria-label": "Errors" });
    this.status = h("span.soft.small", { role: "status" });
    this.button = h("button", { type: "button", onclick: () => this.save(), title: "Ctrl+S" }, "Save");
    this.judged = h("div.judged.stack");
    this.chart = new Chart({ title: "Damping over delay", x: { title: "Further delay", unit: "s" }, y: { title: "Damping ratio [%]" }, lines: [] });
    /** @type {AbortController | null} */ this.asking = null;
    this.judgeSoon = later(() => this.#judge(), 300);
    const links = h("div.row", null, this.status, this.button, h("a.button.quiet", { href: `#/studies/${inAddress(path)}` }, "Studies"), h("a.button.quiet", { href: `#/run/${inAddress(path)}` }, "Prepare"));
    const left = h("div", null, this.editor.element, h("p.soft.small", { id: "editor-help" }, "Ctrl+Space completes, Ctrl+/ comments, Ctrl+S saves. Tab leaves the text."), this.problems);
    const element = h("div.stack", null, h("div.row.spread", null, h("h1", null, path), links), h("div.bench", null, left, this.judged));
    const leave = (event) => { if (this.dirty) event.preventDefault(); };
    addEventListener("beforeunload", leave);
    const off = on("theme", () => this.chart.draw());
    this.view = { element, wide: true, mayClose: () => this.#mayClose(), close: () => { off(); removeEventListener("beforeunload", leave); this.asking?.abort(); } };
    this.#load();
  }

  get dirty() { return this.editor.text !== this.saved; }

  async #load() {
    try {
      const { text, version } = await get(`/api/files/${inAddress(this.path)}`);
      [this.saved, this.version] = [text, version];
    } catch (problem) {
      if (!(problem instanceof ApiError && problem.status === 404)) return notice(/** @type {any} */ (problem));
      notice("A new file: it is written when you save it.");
    }
    this.editor.text = this.saved;
    this.#tellState();
    this.#judge();
  }

  #tellState() {
    const viewer = state.session?.role !== "operator";
    this.status.textContent = viewer ? "Viewers cannot save" : this.dirty ? "Not saved" : "Saved";
    this.button.disabled = viewer || !this.dirty;
  }

  #changed() {
    this.#tellState();
    this.judged.dataset.old = "";
    this.judgeSoon();
  }

  save = attempt(async (force = false) => {
    const text = this.editor.text;
    try {
      const { version } = await put(`/api/files/${inAddress(this.path)}`, { text, version: this.version });
      [this.saved, this.version] = [text, version];
      this.#tellState();
    } catch (problem) {
      if (!(problem instanceof ApiError && problem.code === "changed") || force) throw problem;
      await this.#conflict();
    }
  });

  /** Somebody else has written the file in between. */
  async #conflict() {
    const answer = await ask("The file has changed on the disk", [h("p", null, "Somebody else, or another program, has written it since you opened it.")],
      [{ label: "Cancel", value: null, quiet: true }, { label: "Throw mine away, load theirs", value: "load", quiet: true }, { label: "Overwrite theirs", value: "mine", danger: true }]);
    if (!answer) return;
    const { text, version } = await get(`/api/files/${inAddress(this.path)}`);
    this.version = version;
    if (answer === "mine") return this.save(true);
    this.saved = text;
    this.editor.text = text;
    this.#changed();
  }

  async #mayClose() {
    return !this.dirty || !!(await confirm("Leave without saving?", [h("p", null, `${this.path} has changes that are not saved.`)], "Leave", true));
  }

  async #judge() {
    if (!this.path.endsWith(".toml")) return void this.judged.replaceChildren();
    this.asking?.abort();
    const own = this.asking = new AbortController(), body = { path: this.path, text: this.editor.text };
    try {
      const answer = await post("/api/judge", body, { signal: own.signal });
      if (own !== this.asking) return;
      this.#tellDiagnostics(answer.diagnostics ?? []);
      delete this.judged.dataset.old;
      if (answer.ok) this.#tellJudgement(answer);
      else this.judged.replaceChildren(h("div.banner", { "data-level": "bad" }, h("h2", null, "The file has errors"), h("p", null, "Verdict, modes and margins come back when they are mended.")));
    } catch (problem) {
      if (own.signal.aborted) return;
      notice(/** @type {any} */ (problem));
    }
  }

  #tellDiagnostics(all) {
    const name = this.path.split("/").pop();
    this.editor.mark(all.filter(({ file, line }) => line && (!file || file === name || file === this.path)));
    this.problems.replaceChildren(...all.map((one) => h("li", null, h("button", { type: "button", "data-level": one.severity === "error" ? "bad" : "doubtful",
      onclick: () => one.line && this.editor.goTo(one.line, one.column) },
    `${one.line ? `Line ${one.line}: ` : ""}${one.message}`, one.remedy && h("span.soft", null, ` ${one.remedy}`)))));
  }

  /** @param {any} answer of `POST /api/judge` */
  #tellJudgement({ verdict, check = {}, delay_chart: delays, structure, limits = [], took_ms }) {
    const loop = check.loop ?? {};
    this.judged.replaceChildren(verdictBanner(verdict), check.words ? h("p", null, check.words) : "",
      facts([["Delay margin", loop.delay_margin && `${quantity(loop.delay_margin.delay_s, "s")} at ${quantity(loop.delay_margin.frequency_hz, "Hz", 3)}`],
        ["Gain margin", loop.gain_margin_above && `×${short(loop.gain_margin_above.factor, 3)}`],
        ["Phase margin", loop.phase_margin && `${short((loop.phase_margin.rad * 180) / Math.PI, 3)}°`],
        ["Critical delay", quantityOr(check.critical_delay_s, "s")], ["Delay of the transfer system", quantityOr(check.transfer_delay_s, "s")],
        ["Step", quantityOr(check.step_s, "s")], ["Ticks", check.ticks], ["DOFs", check.dofs]]),
      delays ? this.#delayChart(delays) : "", modes(check, loop), structure ? h("section", null, h("h2", null, "Structure"), picture(structure)) : "",
      limits.length ? limitTable("Limits", limits) : h("p", null, "No limits declared: a real test does not start without them."),
      h("p.soft.small", null, `Judged in ${short(took_ms, 3)} ms.`));
    this.chart.draw();
  }

  /** The damping of the motions that lose most when the loop is later than declared. */
  #delayChart({ curves = [], critical_s }) {
    const lines = curves.map(({ name, points }, i) => ({ x: points.map(([delay]) => delay), y: points.map(([, ratio]) => ratio), role: `other${i % 6}`, name }));
    const marks = [{ y: 0, text: "below: unstable" }, { x: 0, text: "as declared" }, ...(critical_s ? [{ x: critical_s, text: `unstable from ${quantity(critical_s, "s", 3)}` }] : [])];
    this.chart.set({ title: "Damping over delay", x: { title: "Further delay", unit: "s" }, y: { title: "Damping ratio [%]" }, lines, marks,
      words: critical_s ? `Unstable with ${quantity(critical_s, "s", 3)} more delay.` : "Stable in the range shown." });
    return this.chart.element;
  }
}

const quantityOr = (value, unit) => (Number.isFinite(value) ? quantity(value, unit) : null);

function modes(check, loop) {
  if (loop.modes?.length) {
    return table("Modes", ["n:Mode", "n:Frequency [Hz]", "n:Damping [%]", "n:Frequency in the loop [Hz]", "n:Damping in the loop [%]"], loop.modes.slice(0, 40).map(({ mode, truth, in_loop }) =>
      [mode, short(truth?.frequency_hz), short(100 * truth?.damping_ratio, 3), short(in_loop?.frequency_hz), short(100 * in_loop?.damping_ratio, 3)]));
  }
  return check.modes?.length ? table("Modes", ["n:Mode", "n:Frequency [Hz]", "n:Damping [%]"], check.modes.slice(0, 40).map((mode, i) => [i + 1, short(mode.frequency_hz), short(100 * mode.damping_ratio, 3)])) : "";
}
