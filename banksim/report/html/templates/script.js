for (const root of document.querySelectorAll(".banksim:not([data-ready])")) {
  root.dataset.ready = "";
  for (const picture of root.querySelectorAll(".picture")) {
    const box = picture.querySelector(".steps");
    if (!box) continue;
    const steps = JSON.parse(box.dataset.steps), slider = box.querySelector("input"), said = box.querySelector("output");
    const cells = [...picture.querySelectorAll("g[data-p]")], told = picture.querySelector(".cell");
    const show = () => {
      const turn = Number(slider.value);
      said.textContent = `Pass ${turn} of ${steps.length} ${steps[turn - 1]}.`;
      for (const cell of cells) {
        const at = Number(cell.dataset.p);
        cell.setAttribute("class", at === turn ? "c now" : at < turn ? "c done" : "c");
      }
    };
    slider.addEventListener("input", show);
    for (const button of box.querySelectorAll("button")) {
      button.addEventListener("click", () => { slider.value = Number(slider.value) + Number(button.dataset.move); show(); });
    }
    cells.forEach((cell, at) => {
      const tell = () => { told.textContent = cell.querySelector("title").textContent; };
      cell.setAttribute("tabindex", at ? "-1" : "0");
      cell.addEventListener("focus", tell);
      cell.addEventListener("mouseenter", tell);
      cell.addEventListener("keydown", event => {
        const move = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, Home: -at, End: cells.length - 1 - at }[event.key];
        if (move === undefined) return;
        event.preventDefault();
        cells[Math.min(Math.max(at + move, 0), cells.length - 1)].focus();
      });
    });
    show();
  }
  root.querySelector(".sass input")?.addEventListener("change", () => {
    for (const code of root.querySelectorAll("td.s pre")) code.scrollTop = (code.querySelector("b")?.offsetTop ?? 0) - 60;
  });
  const bar = root.querySelector(".bar");
  if (bar) new ResizeObserver(() => root.style.setProperty("--bar", `${bar.offsetHeight}px`)).observe(bar);
  const lines = [...root.querySelectorAll("tr.conflict")];
  let at = -1;
  const unfold = one => { for (let up = one; up; up = up.parentElement) if (up.localName === "details") up.open = true; };
  const go = move => {
    if (!lines.length) return;
    at = (at + move + lines.length + (at < 0 && move < 0 ? 1 : 0)) % lines.length;
    for (const line of lines) line.classList.toggle("here", line === lines[at]);
    unfold(lines[at]);
    lines[at].scrollIntoView({ block: "center" });
  };
  for (const button of root.querySelectorAll("button[data-go]")) button.addEventListener("click", () => go(Number(button.dataset.go)));
  for (const link of root.querySelectorAll('a[href^="#"]')) {
    link.addEventListener("click", () => { const goal = document.getElementById(link.hash.slice(1)); if (goal) unfold(goal); });
  }
  if (root.parentElement === document.body) {
    addEventListener("keydown", event => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("svg, input:not([type=radio]):not([type=checkbox])")) return;
      const digit = root.querySelectorAll('.choice input[type="radio"]')[event.key - 1];
      if (event.key === "n") go(1);
      else if (event.key === "p") go(-1);
      else if (event.key === "s") root.querySelector(".sass input")?.click();
      else if (digit) digit.click();
    });
    let opened = [];
    addEventListener("beforeprint", () => { opened = [...root.querySelectorAll("details:not([open]):not(.data)")]; for (const one of opened) one.open = true; });
    addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
  }
}
