"use strict";
(function () {
  const config = {
    displaylogo: false,
    responsive: true,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    toImageButtonOptions: { format: "svg" },
  };
  const plots = Array.from(document.querySelectorAll(".plot"));
  const draw = (plot) => {
    if (plot.dataset.drawn) return;
    plot.dataset.drawn = "yes";
    const { data, layout } = JSON.parse(plot.nextElementSibling.textContent);
    Plotly.newPlot(plot, data, layout, config);
  };
  // One plot at a time, so that the page can be read and scrolled meanwhile.
  const next = () => {
    const plot = plots.find((plot) => !plot.dataset.drawn);
    if (!plot) return;
    draw(plot);
    setTimeout(next, 0);
  };
  next();
  // Paper has another width than the window.
  const refit = () => plots.forEach((plot) => { draw(plot); Plotly.Plots.resize(plot); });
  window.addEventListener("beforeprint", refit);
  window.addEventListener("afterprint", refit);
})();
