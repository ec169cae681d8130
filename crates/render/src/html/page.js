"use strict";
// Paper cannot unfold: what is folded is printed whole, and folded again.
(() => {
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
