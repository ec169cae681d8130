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
})();
