// @ts-check
/** Which channel is drawn where, by the names that a record gives them. */
import { live } from "./live.js";
import { TimePlot } from "./timeplot.js";
import { Chart, Hysteresis, latencyPlan } from "./chart.js";

const OTHERS = ["other0", "other1", "other2", "other3", "other4", "other5"];
const WORDS = { "energy.input": "input", "energy.feedback": "fed back by the specimen", "energy.dissipated": "dissipated", "energy.kinetic": "kinetic", "energy.strain": "strain", "energy.numerical": "numerical" };

/** The names of the interface DOFs: what ends the names of their channels. */
export const interfaces = (channels) => channels.filter(({ name }) => name.startsWith("measured.")).map(({ name }) => name.slice(9));

/**
 * The panels of a running test.
 * @param {{name: string, unit: string}[]} channels @param {any[]} limits @param {string} dof
 * @param {import("./timeplot.js").TimeView} view @param {string[]} chosen auxiliary channels
 */
export function panels(channels, limits, dof, view, chosen) {
  const source = () => live.curves;
  const there = new Map(channels.map((channel) => [channel.name, channel]));
  const unit = (name) => there.get(name)?.unit ?? "";
  const list = (pairs) => pairs.filter(([name]) => there.has(name)).map(([channel, name, role]) => ({ channel, name, role, source }));
  // A limit of a rate or a difference is told beside the channel it is formed from.
  const bounds = (channel) => limits.filter((one) => one.channel === channel && one.name === channel.split(".")[0]).flatMap(({ name, limit }) =>
    [{ value: limit, text: `limit of ${name}` }, { value: -limit, text: "" }]);
  const time = (id, title, quantity, of, series, more = {}) =>
    series.length ? [{ id, title, panel: new TimePlot({ title, quantity, unit: unit(of), series, ...more }, view) }] : [];
  const energies = channels.filter(({ name }) => name.startsWith("energy."));
  const used = channels.filter(({ name }) => name.startsWith("use."));
  const full = [{ value: 100, text: "100 %" }];
  return [
    ...time("motion", "Displacement", "Displacement", `measured.${dof}`, list([[`reference.interface.${dof}`, "reference", "reference"], [`desired.${dof}`, "desired", "desired"],
      [`command.${dof}`, "command", "command"], [`measured.${dof}`, "measured", "measured"]]), { limits: bounds(`command.${dof}`) }),
    ...time("force", "Force", "Force", `force.${dof}`, list([[`force.${dof}`, "measured force", "measured"]]), { limits: bounds(`force.${dof}`) }),
    ...(there.has(`force.${dof}`) ? [{ id: "hysteresis", title: "Force–displacement", panel: new Hysteresis({ title: "Force–displacement", x: `measured.${dof}`, y: `force.${dof}`, source }, view) }] : []),
    ...time("limits", "Use of the limits", "Use", used[0]?.name, used.map(({ name }, i) => ({ channel: name, name: name.slice(4), role: OTHERS[i % 6], source })),
      { limits: full, least: 20 }),
    ...time("stability", "Stability warning", "Stability warning", "stability_warning",
      list([["stability_warning", "stability warning", "error"], ["stability_warning.windowed", "windowed", "other0"]]), { limits: full, least: 10, most: 1000 }),
    ...time("tracking", "Tracking delay", "Delay", `tracking.delay.${dof}`, list([[`tracking.delay.${dof}`, "delay of the measured motion", "error"]])),
    ...time("energies", "Energies", "Energy", "energy.input", energies.map(({ name }, i) => ({ channel: name, name: WORDS[name] ?? name.slice(7), role: OTHERS[i % 6], source }))),
    { id: "latency", title: "Latency", panel: new Chart(latencyPlan(null)) },
    ...chosen.filter((name) => there.has(name)).flatMap((name) => time("aux:" + name, name, name, name, [{ channel: name, name, role: "ink", source }])),
  ];
}

const OWN = /^(time|phase|trip|forecast|use\..*|energy\..*|stability_warning.*|(desired|command|measured|force|reference\.interface|tracking\.delay)\..*)$/;
/** Channels that no panel shows of itself. */
export const auxiliary = (channels) => channels.filter(({ name }) => !OWN.test(name)).map(({ name }) => name);
