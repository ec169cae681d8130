"use strict";
(() => {
  // A link to a folded part opens it.
  const unfold = () => document.getElementById(location.hash.slice(1))?.closest("details")?.setAttribute("open", "");
  addEventListener("hashchange", unfold);
  unfold();
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
  // Heat maps: hosts in the order of the study, or the slowest first.
  for (const figure of document.querySelectorAll("figure.heat")) heat(figure);

  function heat(figure) {
    const [head, ...body] = figure.querySelectorAll("tr");
    const columns = [...head.children].slice(1).map((cell, place) => [Number(cell.dataset.effect), place + 1]);
    const cells = new Map([head, ...body].map((row) => [row, [...row.children]]));
    const label = document.createElement("label");
    figure.prepend(label);
    const box = element(label, "input", { type: "checkbox" });
    label.append(" slowest hosts first");
    box.addEventListener("change", () => {
      const by = (of, effect) => (box.checked ? [...of].sort((a, b) => effect(a) - effect(b)) : of);
      const order = by(columns, (column) => column[0]).map((column) => column[1]);
      for (const [row, all] of cells) row.replaceChildren(all[0], ...order.map((place) => all[place]));
      figure.querySelector("tbody").replaceChildren(...by(body, (row) => Number(row.dataset.effect)));
    });
  }

  function element(parent, name, properties) {
    return parent.appendChild(Object.assign(document.createElement(name), properties));
  }
})();
