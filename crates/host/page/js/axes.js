// @ts-check
/** Frames, grids and colours that every figure shares. */

/** Round values of an axis with their texts. @returns {[number, string][]} */
export function ticks(low, high, pixels, spacing, log = false) {
  const all = /** @type {[number, string][]} */ ([]);
  const minus = (text) => text.replace("-", "−");
  if (!(high > low)) return all;
  if (log) {
    const decades = Math.log10(high / low), marks = decades < 2.5 ? [1, 2, 5] : [1];
    for (let p = Math.floor(Math.log10(low)); p <= Math.log10(high); p++)
      for (const m of marks) {
        const value = m * 10 ** p;
        if (value >= low * 0.999 && value <= high * 1.001) all.push([value, p >= -3 && p < 5 ? String(+value.toPrecision(1)) : `${m > 1 ? m + "·" : ""}10^${minus(String(p))}`]);
      }
    return all;
  }
  const rough = (high - low) / Math.max(1.5, pixels / spacing), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((one) => one >= rough) ?? power;
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  for (let i = Math.ceil(low / step - 1e-9); i <= high / step + 1e-9 && all.length < 40; i++)
    all.push([i * step, minus((i * step).toFixed(Math.min(digits, 9)))]);
  return all;
}

/** @type {Map<string, string>} */
let colours = new Map();
/** The colour that a name has in the present theme. @param {string} name */
export function colour(name) {
  let value = colours.get(name);
  if (value === undefined) colours.set(name, value = getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim() || "#888888");
  return value;
}
/** After a change of theme. */
export const forgetColours = () => { colours = new Map(); };

/** How a role is drawn: width in pixels, and columns on and off. */
export const ROLES = {
  desired: { width: 1.6 }, command: { width: 1.6, dash: [7, 4] }, achieved: { width: 1.6, dash: [2, 3] }, measured: { width: 1.2 },
  reference: { width: 3 }, error: { width: 1 }, ink: { width: 1.2 }, other0: { width: 1.6 }, other1: { width: 1.6, dash: [8, 3] },
  other2: { width: 1.6, dash: [2, 3] }, other3: { width: 1.6, dash: [9, 3] }, other4: { width: 2.2, dash: [5, 5] }, other5: { width: 1 },
};

/** Letters in pixels of the screen, larger on a wall. */
export const letters = () => Math.round(0.82 * parseFloat(getComputedStyle(document.documentElement).fontSize));

/** How much thicker lines are there than on a desk. */
export const thickness = () => Math.max(1, letters() / 12);

/**
 * A canvas made as large as its place, in device pixels; answers whether it changed.
 * @param {HTMLCanvasElement} canvas @param {number} width @param {number} height
 */
export function fit(canvas, width, height) {
  const ratio = Math.min(2, devicePixelRatio || 1);
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width === w && canvas.height === h) return false;
  canvas.width = w;
  canvas.height = h;
  return true;
}

/**
 * @typedef {{low: number, high: number, log?: boolean, title?: string, factor?: number}} Axis
 * @typedef {{left: number, top: number, right: number, bottom: number}} Box
 */

/** @param {Axis} axis */
export const share = ({ low, high, log }, value) => (log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));

/**
 * Frame, grid, ticks and titles, in CSS pixels.
 * @param {CanvasRenderingContext2D} ctx @param {Box} box @param {Axis} x @param {Axis} y
 */
export function drawAxes(ctx, box, x, y, size = 12) {
  const { left, top, right, bottom } = box;
  ctx.font = `${size}px system-ui, sans-serif`;
  ctx.lineWidth = 1;
  ctx.strokeStyle = colour("grid");
  ctx.fillStyle = colour("ink");
  ctx.beginPath();
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  for (const [value, text] of ticks(x.low * (x.factor ?? 1), x.high * (x.factor ?? 1), right - left, 6 * size, x.log)) {
    const at = Math.round(left + share(x, value / (x.factor ?? 1)) * (right - left)) + 0.5;
    ctx.moveTo(at, top);
    ctx.lineTo(at, bottom);
    if (x.title !== undefined) ctx.fillText(text, at, bottom + 4);
  }
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const [value, text] of ticks(y.low * (y.factor ?? 1), y.high * (y.factor ?? 1), bottom - top, 2.4 * size, y.log)) {
    const at = Math.round(bottom - share(y, value / (y.factor ?? 1)) * (bottom - top)) + 0.5;
    ctx.moveTo(left, at);
    ctx.lineTo(right, at);
    ctx.fillText(text, left - 6, at);
  }
  ctx.stroke();
  ctx.strokeStyle = colour("edge");
  ctx.strokeRect(left + 0.5, top + 0.5, right - left - 1, bottom - top - 1);
  ctx.textAlign = "center";
  ctx.textBaseline = "alphabetic";
  if (x.title) ctx.fillText(x.title, (left + right) / 2, bottom + 2.5 * size + 4);
  if (!y.title) return;
  ctx.save();
  ctx.translate(size + 1, (top + bottom) / 2);
  ctx.rotate(-Math.PI / 2);
  ctx.fillText(y.title, 0, 0);
  ctx.restore();
}

/** An axis that holds these values with some room. @returns {Axis} */
export function around(low, high, log = false) {
  if (!(high >= low)) return { low: log ? 1 : -1, high: log ? 10 : 1, log };
  if (log) return { low: low / 1.2, high: high * 1.2, log };
  const room = 0.06 * (high - low || Math.abs(high) || 1);
  return { low: low - room, high: high + room };
}
