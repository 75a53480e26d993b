"use strict";
(function () {
  const config = {
    displaylogo: false,
    responsive: true,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    toImageButtonOptions: { format: "svg" },
  };
  const plots = Array.from(document.querySelectorAll(".plot"));
  // Paper has another width than the window, and plotly does not hear of it:
  // with a view box the style sheet can scale the finished drawing to the paper.
  const scalable = (plot) => {
    plot.querySelectorAll(".main-svg").forEach((svg) => {
      const [width, height] = [svg.getAttribute("width"), svg.getAttribute("height")];
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      plot.style.setProperty("--ratio", `${width} / ${height}`);
    });
  };
  const draw = (plot) => {
    if (plot.dataset.drawn) return;
    plot.dataset.drawn = "yes";
    const { data, layout } = JSON.parse(plot.nextElementSibling.textContent);
    Plotly.newPlot(plot, data, layout, config);
    plot.on("plotly_afterplot", () => scalable(plot));
    scalable(plot);
  };
  // One plot at a time, so that the page can be read and scrolled meanwhile.
  const next = () => {
    const plot = plots.find((plot) => !plot.dataset.drawn);
    if (!plot) return;
    draw(plot);
    setTimeout(next, 0);
  };
  next();
  window.addEventListener("beforeprint", () => plots.forEach(draw));
})();
