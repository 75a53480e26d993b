// @ts-check
/** A picture of the structure: masses in a row, what joins them, and what stands in the laboratory. */
import { h, svg } from "./dom.js";

/**
 * @param {{dofs: string[], interface: {name: string, dof: string | null}[], elements: {kind: string, from: string, to: string}[], left_out?: number, specimen?: string, transfer_system?: string}} structure
 */
export function picture(structure) {
  const { dofs = [], interface: held = [], elements = [] } = structure;
  if (dofs.length + (structure.left_out ?? 0) > 24) return h("p.soft", null, `${dofs.length + (structure.left_out ?? 0)} DOFs, ${held.length} of them at the interface: too many for a picture.`);
  const step = 84, left = 70, y = 60, width = left + step * dofs.length + 40;
  const at = new Map([["ground", 20], ...dofs.map((dof, i) => /** @type {[string, number]} */ ([dof, left + step * i + 22]))]);
  const inLab = new Map(held.filter(({ dof }) => dof).map(({ name, dof }) => [dof, name]));
  const arcs = elements.filter(({ from, to }) => at.has(from) && at.has(to)).map((element) => joint(element, at, y));
  const boxes = dofs.map((dof) => {
    const x = at.get(dof) ?? 0, own = inLab.has(dof);
    return svg("g", null, svg("rect", { x: x - 22, y: y - 18, width: 44, height: 36, rx: 3, class: own ? "held" : "mass" }),
      svg("text", { x, y: y + 4, "text-anchor": "middle" }, dof), own && svg("text", { x, y: y + 96, "text-anchor": "middle" }, `interface ${inLab.get(dof)}`),
      own && svg("path", { d: `M${x} ${y + 20}V${y + 62}m-5 -8l5 8l5 -8M${x} ${y + 20}m-5 8l5 -8l5 8`, class: "laboratory" }));
  });
  const lab = held.length > 0 && svg("g", null, svg("path", { d: `M10 ${y + 68}H${width - 10}`, class: "laboratory" }),
    svg("text", { x: 14, y: y + 118 }, ["Laboratory", structure.transfer_system, structure.specimen].filter(Boolean).join(" · ")));
  const words = `${dofs.length} DOFs; at the interface: ${held.map(({ name, dof }) => dof ?? `deformation ${name}`).join(", ") || "none"}.`;
  return h("div.structure.wide", { tabindex: 0, role: "region", "aria-label": "Picture of the structure" },
    svg("svg", { width, height: y + 130, viewBox: `0 0 ${width} ${y + 130}`, role: "img", "aria-label": words },
      svg("path", { d: `M20 ${y - 24}V${y + 24}`, class: "ground" }), svg("text", { x: 4, y: y + 42 }, "ground"), arcs, boxes, lab),
    h("p.soft.small", null, words));
}

/** A spring as a zigzag between neighbours, as an arc between others; a damper as a box on its line. */
function joint({ kind, from, to }, at, y) {
  const [a, b] = [at.get(from) ?? 0, at.get(to) ?? 0].sort((p, q) => p - q);
  const begin = a === 20 ? a : a + 22, end = b - 22, damper = /damp|dash/.test(kind);
  if (end - begin > 60) return svg("path", { d: `M${a} ${y - 18}C${a} ${y - 62} ${b} ${y - 62} ${b} ${y - 18}`, class: "link" });
  const row = damper ? y + 10 : y - 6, n = 6, wide = (end - begin) / (n + 2);
  if (damper) return svg("path", { d: `M${begin} ${row}H${(begin + end) / 2 - 4}m0 -5v10m-4 -12h12v14h-12M${(begin + end) / 2 + 8} ${row}H${end}`, class: "link" });
  let d = `M${begin} ${row}h${wide}`;
  for (let i = 0; i < n; i++) d += `l${wide / 2} ${i % 2 ? 6 : -6}l${wide / 2} ${i % 2 ? -6 : 6}`;
  return svg("path", { d: d + `H${end}`, class: "link" });
}
