"use strict";
// Draws the pictures as they come into view, in the colours of the page, and saves the numbers behind them.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const plots = [...document.querySelectorAll(".plot")];
  const light = ["#0072b2", "#d55e00", "#009e73", "#aa4499", "#7a5c00", "#3d5a80", "#882255", "#555555"];
  const bright = ["#56b4e9", "#e69f00", "#2bc08f", "#e69fd0", "#f0e442", "#9fb8d8", "#ff8fa3", "#bbbbbb"];
  const verdicts = { better: "#116329", worse: "#a40e26", same: "#57606a", changed: "#0550ae", missing: "#7a3e9d", "cannot tell": "#9a7b1c" };
  const verdictsOnDark = { better: "#56d364", worse: "#ff9492", same: "#a3adb8", changed: "#79b8ff", missing: "#d2a8ff", "cannot tell": "#e3b341" };
  const colours = (on) => {
    const ink = on ? "#e6edf3" : "#1b1f24";
    const grid = on ? "#313a44" : "#dfe4e8";
    const axis = { gridcolor: grid, linecolor: grid, zerolinecolor: grid };
    return {
      layout: {
        colorway: on ? bright : light,
        font: { color: ink },
        paper_bgcolor: "rgba(0,0,0,0)",
        plot_bgcolor: "rgba(0,0,0,0)",
        xaxis: axis,
        yaxis: axis,
        modebar: { bgcolor: "rgba(0,0,0,0)", color: on ? "#a3adb8" : "#57606a", activecolor: ink },
      },
    };
  };
  const draw = (element, on) => {
    const { data, layout } = read(element.dataset.plot);
    layout.template = colours(on);
    // A bound that is not known is no bar; null would be one of length 0.
    for (const bars of data.flatMap((trace) => [trace.error_x, trace.error_y]).filter(Boolean)) {
      for (const side of ["array", "arrayminus"]) bars[side] = bars[side]?.map((length) => length ?? NaN);
    }
    // Traces of a group are of one thing: points, and the line through them.
    const groups = [...new Set(data.map((trace) => trace.legendgroup).filter(Boolean))];
    const way = on ? bright : light;
    for (const trace of data.filter((one) => one.legendgroup)) {
      const colour = way[groups.indexOf(trace.legendgroup) % way.length];
      trace.line = { ...trace.line, color: colour };
      trace.marker = { ...trace.marker, color: colour };
    }
    // Of more things than colours those of a further round have other signs and dashes.
    const signs = ["circle", "square", "diamond", "triangle-up", "star"];
    const dashes = ["solid", "dash", "dot", "dashdot", "longdash"];
    data.filter((one) => one.meta !== "limit").forEach((trace, place) => {
      const round = Math.floor((trace.legendgroup ? groups.indexOf(trace.legendgroup) : place) / way.length) % signs.length;
      if (round === 0 || trace.type !== "scatter") return;
      trace.marker = { symbol: signs[round], ...trace.marker };
      trace.line = { dash: dashes[round], ...trace.line };
    });
    // A verdict has its colour wherever it stands.
    for (const trace of data.filter((one) => one.meta === "verdict")) {
      const colour = (on ? verdictsOnDark : verdicts)[trace.name];
      trace.marker = { ...trace.marker, color: colour };
      trace.error_x = { ...trace.error_x, color: colour };
    }
    // What theory allows stands behind what was measured.
    for (const trace of data.filter((one) => one.meta === "limit")) {
      trace.line = { ...trace.line, color: on ? "#a3adb8" : "#57606a" };
    }
    layout.height = parseInt(element.style.minHeight, 10);
    const config = { responsive: true, displaylogo: false, plotGlPixelRatio: 1, showTips: false };
    element.dataset.drawn = String(on);
    return Plotly.react(element, data, layout, config);
  };
  const all = (on) => Promise.all(plots.filter((p) => p.dataset.drawn !== String(on)).map((p) => draw(p, on)));
  if (plots.length && typeof Plotly === "undefined") {
    for (const plot of plots) plot.textContent = "The script that draws this could not be read; the numbers are in the file below.";
  } else if (plots.length) {
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        seen.unobserve(entry.target);
        draw(entry.target, dark.matches);
      }
    }, { rootMargin: "800px" });
    plots.forEach((plot) => seen.observe(plot));
    dark.addEventListener("change", () => plots.filter((p) => p.dataset.drawn).forEach((p) => draw(p, dark.matches)));
    addEventListener("beforeprint", () => all(false));
    addEventListener("afterprint", () => plots.forEach((plot) => draw(plot, dark.matches)));
  }
  // Paper cannot unfold: what is folded is printed whole, and folded again.
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not([open])")];
    for (const folded of unfolded) folded.open = true;
  });
  addEventListener("afterprint", () => {
    for (const folded of unfolded) folded.open = false;
    unfolded = [];
  });
  for (const button of document.querySelectorAll("button.save")) {
    button.addEventListener("click", () => {
      const { file, text } = read(button.dataset.from);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
      link.download = file;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }
})();
