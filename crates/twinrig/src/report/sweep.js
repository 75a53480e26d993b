"use strict";
(function () {
  const sweep = JSON.parse(document.getElementById("sweep").textContent);
  // Okabe and Ito's colours; the shapes tell the states apart without them.
  const states = {
    completed: { color: "#0072b2", symbol: "circle" },
    tripped: { color: "#e69f00", symbol: "diamond" },
    unstable: { color: "#d55e00", symbol: "x" },
  };
  const config = {
    displaylogo: false,
    responsive: true,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    toImageButtonOptions: { format: "svg" },
  };
  const font = {
    family: "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    size: 13,
    color: "#1f2933",
  };
  const axis = (title) => ({
    title: { text: title, standoff: 8 },
    showline: true, linecolor: "#7b8794", linewidth: 1, mirror: true,
    ticks: "outside", tickcolor: "#7b8794", ticklen: 4,
    gridcolor: "#e4e7eb", zerolinecolor: "#cbd2d9", automargin: true,
  });
  const titled = (name, unit) => (unit ? `${name} [${unit}]` : name);
  const places = (state) =>
    sweep.state.map((found, at) => (found === state ? at : -1)).filter((at) => at >= 0);
  const pick = (values, at) => at.map((at) => values[at]);
  const plot = (parent) => {
    const element = document.createElement("div");
    element.className = "plot";
    element.setAttribute("role", "img");
    parent.appendChild(element);
    return element;
  };
  // The same scatter of points on every load: a fraction that wanders evenly.
  const jitter = (at) => 0.5 * (((at * 0.6180339887) % 1) - 0.5);

  const strip = (metric, element) => {
    const completed = pick(metric.values, places("completed"));
    const data = [{
      type: "box", y: completed, x: completed.map(() => 0), width: 0.75, boxpoints: false,
      line: { color: "#52606d", width: 1.4 }, fillcolor: "rgba(0,0,0,0.03)",
      hoverinfo: "skip", showlegend: false,
    }];
    for (const [state, look] of Object.entries(states)) {
      const at = places(state).filter((at) => metric.values[at] !== null);
      if (!at.length) continue;
      data.push({
        type: "scatter", mode: "markers", name: state,
        x: at.map(jitter), y: pick(metric.values, at), text: pick(sweep.variant, at),
        marker: { size: 5, opacity: 0.55, ...look },
        hovertemplate: `variant %{text}<br>%{y:.5g} ${metric.unit}<extra>${state}</extra>`,
      });
    }
    const layout = {
      margin: { l: 56, r: 8, t: 30, b: 14 }, font, height: 300, showlegend: false,
      title: { text: metric.id, font: { size: 14 }, x: 0.5, y: 0.97 },
      paper_bgcolor: "#ffffff", plot_bgcolor: "#ffffff", hovermode: "closest",
      xaxis: { visible: false, range: [-0.6, 0.6], fixedrange: true },
      yaxis: axis(metric.unit),
    };
    element.setAttribute("aria-label", `${metric.id}: ${metric.quantity}`);
    // Its buttons would cover the title of so small a plot.
    Plotly.newPlot(element, data, layout, { ...config, displayModeBar: false });
  };

  const against = (metric, parameter, element) => {
    const data = [];
    for (const [state, look] of Object.entries(states)) {
      const at = places(state).filter((at) => metric.values[at] !== null);
      if (!at.length) continue;
      data.push({
        type: "scatter", mode: "markers", name: state,
        x: pick(parameter.values, at), y: pick(metric.values, at), text: pick(sweep.variant, at),
        marker: { size: 6, opacity: 0.6, ...look },
        hovertemplate: "variant %{text}<br>%{x:.5g}, %{y:.5g}<extra>" + state + "</extra>",
      });
    }
    const layout = {
      margin: { l: 66, r: 16, t: 14, b: 46 }, font, height: 300,
      paper_bgcolor: "#ffffff", plot_bgcolor: "#ffffff", hovermode: "closest",
      showlegend: data.length > 1, legend: { orientation: "h", x: 0, y: 1.01, yanchor: "bottom" },
      xaxis: axis(titled(parameter.path, parameter.unit)),
      yaxis: axis(titled(metric.id, metric.unit)),
    };
    element.setAttribute("aria-label", `${metric.id} against ${parameter.path}`);
    Plotly.react(element, data, layout, config);
  };

  // One plot at a time, so that the page can be read and scrolled meanwhile.
  const tasks = [];
  const work = () => {
    const task = tasks.shift();
    if (!task) return;
    task();
    setTimeout(work, 0);
  };
  const strips = document.querySelector(".strips");
  for (const metric of sweep.metrics) {
    if (metric.values.every((value) => value === null)) continue;
    const element = plot(strips);
    tasks.push(() => strip(metric, element));
  }
  const select = document.getElementById("metric");
  if (select) {
    const scatter = document.querySelector(".scatter");
    const elements = sweep.parameters.map(() => plot(scatter));
    sweep.metrics.forEach((metric, at) => {
      const option = document.createElement("option");
      option.value = at;
      // The texts were made safe for markup; read them back as text.
      option.innerHTML = `${metric.id}: ${metric.quantity}`;
      select.appendChild(option);
    });
    const first = sweep.metrics.findIndex((metric) => metric.id === "NRMSE");
    select.value = Math.max(first, 0);
    const draw = () => {
      const metric = sweep.metrics[select.value];
      sweep.parameters.forEach((parameter, at) => {
        tasks.push(() => against(metric, parameter, elements[at]));
      });
    };
    select.addEventListener("change", () => { draw(); work(); });
    draw();
  }
  work();
})();
