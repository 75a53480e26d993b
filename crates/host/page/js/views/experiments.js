// @ts-check
/** The experiments of the folder with their verdict. */
import { h, moment, size, verdictChip } from "../dom.js";
import { get, inAddress } from "../api.js";
import { notice } from "../notice.js";

export function experiments() {
  const list = h("ul.cards");
  const filter = h("input", { type: "search", placeholder: "Part of a name", "aria-label": "Show only experiments with this in their name" });
  const element = h("div", null, h("div.row.spread", null, h("h1", null, "Experiments"), filter), list);
  let all = /** @type {any[]} */ ([]), timer = 0, open = true;

  const draw = () => {
    const part = filter.value.toLowerCase();
    const shown = all.filter(({ path, title }) => `${path} ${title}`.toLowerCase().includes(part));
    list.replaceChildren(...shown.map(card));
    if (!shown.length) list.append(h("li", null, all.length ? "None has this in its name." : "No experiment in this folder. An experiment is a .toml file with [structure] or [integrator]."));
  };
  const load = async () => {
    try {
      all = (await get("/api/experiments")).experiments;
    } catch (problem) {
      return notice(/** @type {any} */ (problem));
    }
    if (!open) return;
    draw();
    if (all.some(({ verdict, errors }) => !verdict && !errors)) timer = window.setTimeout(load, 1500);
  };
  filter.addEventListener("input", draw);
  load();
  return { element, close: () => { open = false; clearTimeout(timer); } };
}

function card({ path, title, modified_s, bytes, verdict, errors }) {
  return h("li.card", null,
    h("div", null, h("h2", null, title || path), h("p.soft.small", null, `${path} · ${size(bytes)} · ${moment(modified_s)}`),
      verdict?.short && h("p.small", null, verdict.short)),
    h("div.row", null, errors ? h("span.chip", { "data-level": "bad" }, `✕ ${errors} ${errors === 1 ? "error" : "errors"}`) : verdictChip(verdict),
      h("a.button.quiet", { href: `#/edit/${inAddress(path)}`, "aria-label": `Open ${path} in the workbench` }, "Open"),
      !errors && h("a.button", { href: `#/run/${inAddress(path)}`, "aria-label": `Prepare the test ${path}` }, "Prepare")));
}
