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
  // The charts of call chains.
  for (const figure of document.querySelectorAll("figure.chains")) chains(figure, JSON.parse(figure.querySelector("script").textContent));

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

  // A choice of one of the trees; `none` is the text for no tree.
  function choice(parent, words, data, none) {
    const label = element(parent, "label", { textContent: words + " " });
    const select = element(label, "select", {});
    if (none) element(select, "option", { value: "-1", textContent: none });
    data.trees.forEach((tree, place) => element(select, "option", { value: place, textContent: tree.cell }));
    return select;
  }

  function chains(figure, data) {
    const choose = element(figure, "div", { className: "choose" });
    const shown = choice(choose, "Cell", data);
    const old = choice(choose, "compared with", data, "no other");
    const said = element(figure, "output", {});
    const chart = element(figure, "div", {});
    const root = (place) => (place < 0 ? undefined : [-1, 0, data.trees[place].ns, data.trees[place].calls]);
    let path = [];
    const name = (node) => (node[0] < 0 ? "all" : data.names[node[0]]);
    const call = (node, named) => node?.[3].find((of) => of[0] === named);
    const draw = () => {
      const tree = data.trees[shown.value];
      let top = root(Number(shown.value));
      let before = root(Number(old.value));
      const stack = [[top, before]];
      for (const named of path) {
        const next = call(top, named);
        if (!next) break;
        [top, before] = [next, call(before, named)];
        stack.push([top, before]);
      }
      path = path.slice(0, stack.length - 1);
      chart.replaceChildren();
      const whole = top[2];
      const rows = [];
      const row = (depth) => (rows[depth] ??= element(chart, "div", { className: "row" }));
      const words = ([node, was]) => {
        const share = ((100 * node[2]) / tree.ns).toFixed(1);
        const change = old.value < 0 ? "" : `, ${was ? "was " + was[2].toFixed(1) : "was not there"}`;
        const layer = node[0] < 0 ? "" : ` (${data.layers[node[1]]})`;
        return `${name(node)}${layer}: ${node[2].toFixed(1)} ${tree.unit}, ${share} %${change}`;
      };
      const ink = ([node, was]) => {
        if (old.value < 0) return node[0] < 0 ? "even" : `l${node[1]}`;
        const change = node[2] - (was?.[2] ?? 0);
        if (Math.abs(change) < 0.005 * tree.ns) return "even";
        return change > 0 ? "more" : "less";
      };
      const block = (depth, from, width, pair, to) => {
        const button = element(row(depth), "button", { className: `block ${ink(pair)}`, title: words(pair), type: "button" });
        button.style.left = `${100 * from}%`;
        button.style.width = `calc(${100 * width}% - 1px)`;
        if (width > 0.03) element(button, "span", { textContent: name(pair[0]) });
        else button.setAttribute("aria-label", name(pair[0]));
        button.onclick = () => { path = to; draw(); };
        button.onmouseenter = button.onfocus = () => { said.textContent = words(pair); };
      };
      stack.slice(0, -1).forEach((pair, depth) => block(depth, 0, 1, pair, path.slice(0, depth)));
      const below = (depth, from, pair, to) => {
        const width = pair[0][2] / whole;
        if (width < 0.002) return;
        block(depth, from, width, pair, to);
        let place = from;
        for (const next of pair[0][3]) {
          below(depth + 1, place, [next, call(pair[1], next[0])], [...to, next[0]]);
          place += next[2] / whole;
        }
      };
      below(stack.length - 1, 0, [top, before], path);
      said.textContent = words([top, before]);
    };
    shown.onchange = old.onchange = draw;
    draw();
  }
})();
