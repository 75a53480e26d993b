"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const config = { displaylogo: false, responsive: true, toImageButtonOptions: { format: "svg" } };
for (const { id, figure } of data.figures) Plotly.newPlot(id, figure.data, figure.layout, config);

// One period of a signal from its coefficients: mean, cosine, sine, …
function period(coefficients) {
  const values = [];
  for (let i = 0; i <= 240; i++) {
    const phase = (2 * Math.PI * i) / 240;
    let value = coefficients[0];
    for (let k = 1; 2 * k < coefficients.length + 1; k++) {
      value += coefficients[2 * k - 1] * Math.cos(k * phase) + coefficients[2 * k] * Math.sin(k * phase);
    }
    values.push(value);
  }
  return values;
}

function titled(title) {
  const axis = structuredClone(data.axis);
  axis.title.text = title;
  return axis;
}

function show(index) {
  const point = data.points[index];
  const time = Array.from({ length: 241 }, (_, i) => (1e3 * i) / 240 / point.hz);
  const profile = [];
  const lissajous = [];
  data.names.forEach((name, dof) => {
    const of = data.names.length > 1 ? " " + name : "";
    const measured = period(point.measured[dof]);
    const simulated = period(point.simulated[dof]);
    const line = (colour, dash) => ({ color: colour, width: 1.8, dash });
    profile.push({ x: time, y: measured, mode: "lines", name: "measured" + of, line: line(data.colours.measured, "solid") });
    profile.push({ x: time, y: simulated, mode: "lines", name: "simulated" + of, line: line(data.colours.simulated, "dot") });
    lissajous.push({ x: measured, y: simulated, mode: "lines", name: name, showlegend: data.names.length > 1, line: { width: 1.8 } });
  });
  const layout = (x, y) => Object.assign(structuredClone(data.layout), { height: 380, xaxis: titled(x), yaxis: titled(y), showlegend: true });
  const square = layout(`measured [${data.unit}]`, `simulated [${data.unit}]`);
  square.yaxis.scaleanchor = "x";
  square.showlegend = data.names.length > 1;
  Plotly.react("profile", profile, layout("time [ms]", `motion [${data.unit}]`), config);
  Plotly.react("lissajous", lissajous, square, config);
}

const which = document.getElementById("which");
if (which) {
  let largest = 0;
  data.points.forEach((point, index) => {
    const option = document.createElement("option");
    const size = (p) => Math.hypot(p.measured[0][1], p.measured[0][2]);
    option.value = index;
    option.textContent = `${index + 1}: ${point.hz.toFixed(4)} Hz, ${size(point).toPrecision(4)} ${data.unit.split(",")[0]}`;
    which.append(option);
    if (size(point) > size(data.points[largest])) largest = index;
  });
  which.value = largest;
  which.addEventListener("change", () => show(Number(which.value)));
  show(largest);
}
