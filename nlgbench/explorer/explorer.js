// Draws what Python sends, and sends Python what the reader selects; it computes only positions on
// the screen. Data enter only through textContent and setAttribute, so no text acts as markup.

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

const button = (label, onclick, more = {}) =>
  element("button", { type: "button", onclick, ...more }, label);

function on_keys(actions) {
  return (event) => {
    if (!actions[event.key]) return;
    actions[event.key](event);
    event.preventDefault();
    event.stopPropagation();
  };
}

// Parts ------------------------------------------------------------------------------------------

// A figure. A click on an area sends the area's message, any other click its relative position.
function draw_image(part, ask) {
  const url = URL.createObjectURL(new Blob([part.png], { type: "image/png" }));
  const { width, height } = part;
  // Tall figures shrink to the window, unless their text would become too small to read.
  const fitting = `max(${0.75 * width}px, ${width / height} * (100vh - 230px))`;
  return [element("div", { class: "nlg-figure", style: `width: min(100%, ${width}px, ${fitting})` },
    element("img", { src: url, alt: part.alt, class: "nlg-image",
      onload: () => URL.revokeObjectURL(url),
      onclick: (event) => {
        const x = event.offsetX / event.target.width, y = event.offsetY / event.target.height;
        const hit = part.areas.find(({ box: [left, top, right, bottom] }) =>
          left <= x && x <= right && top <= y && y <= bottom);
        ask(hit ? hit.sends : { type: "at", x, y });
      } }), ...draw_points(part, ask))];
}

// Points on a figure are one stop for the Tab key; arrow keys move between them.
function draw_points({ points = [], picked, near }, ask) {
  const start = Math.max(0, points.findIndex(({ id }) => id === picked));
  const nodes = points.map(({ id, x, y, name }, n) => {
    const pick = () => ask({ type: "pick", id });
    const move = (step) => () => {
      const next = nodes[(n + step + nodes.length) % nodes.length];
      nodes[n].setAttribute("tabindex", -1);
      next.setAttribute("tabindex", 0);
      next.focus();
    };
    return element("span", { class: near.includes(id) ? "nlg-point nlg-near" : "nlg-point",
      style: `left: ${100 * x}%; top: ${100 * y}%`, role: "button", "aria-label": name,
      "aria-pressed": String(id === picked), tabindex: n === start ? 0 : -1, "data-id": id,
      onclick: pick, onkeydown: on_keys({ ArrowRight: move(1), ArrowDown: move(1),
        ArrowLeft: move(-1), ArrowUp: move(-1), Enter: pick, " ": pick }) });
  });
  return nodes;
}

function draw_head(part, ask) {
  const [sorted, falling] = part.sort || [];
  return part.columns.map((name, n) => {
    const key = part.keys && part.keys[n];
    const look = part.kinds ? { class: `nlg-${part.kinds[n]}` } : {};
    if (!key) return element("th", { scope: "col", ...look }, name);
    const state = key === sorted ? (falling ? "descending" : "ascending") : "none";
    const sign = { none: "", ascending: " ▲", descending: " ▼" }[state];
    return element("th", { scope: "col", "aria-sort": state, ...look },
      button(name + sign, () => ask({ type: "sort", column: key }), { title: name }));
  });
}

// Arrow keys move between rows that can be opened; Tab goes to the first of them.
function draw_table(part, ask) {
  const rows = part.rows.map((cells, n) => {
    const sends = part.opens && part.opens[n];
    return element("tr", sends ? { class: "nlg-row", tabindex: n ? -1 : 0,
      onclick: () => ask(sends),
      onkeydown: on_keys({ Enter: () => ask(sends),
        ArrowDown: ({ currentTarget }) => currentTarget.nextSibling?.focus(),
        ArrowUp: ({ currentTarget }) => currentTarget.previousSibling?.focus() }) } : {},
    ...cells.map((cell, c) => element("td", part.kinds ? { class: `nlg-${part.kinds[c]}` } : {},
      element("span", { dir: "auto" }, cell))));
  });
  const above = part.bars ? draw_bars(part.bars, ask) : [];
  const table = element("div", { class: "nlg-scroll" }, element("table", {},
    element("caption", {}, part.caption),
    element("thead", {}, element("tr", {}, ...draw_head(part, ask))),
    element("tbody", {}, ...rows)));
  if (!part.pages) return [...above, table];
  const [page, last] = part.pages;
  const turn = (label, n, able) => button(label, () => ask({ type: "page", n }), { disabled: !able });
  return [...above, table, element("div", { class: "nlg-pages" }, turn("First", 1 - page, page > 1),
    turn("Previous page", -1, page > 1), `Page ${page} of ${last}`,
    turn("Next page", 1, page < last), turn("Last", last - page, page < last))];
}

// A histogram, whose bars filter the table.
function draw_bars({ caption, bars }, ask) {
  return [element("div", { class: "nlg-bars", role: "group", "aria-label": caption },
    ...bars.map(({ name, height, chosen, sends }, n) => button("", () => ask(sends),
      { title: name, "aria-label": name, "aria-pressed": String(chosen), "data-id": `bar ${n}`,
        style: `height: ${100 * height}%` })), caption)];
}

function draw_told(part, ask) {
  return [element("h3", {}, part.title), element("blockquote", { dir: "auto" }, part.text),
    ...part.says.map((line) => element("p", {}, line)), ...draw_table(part.table, ask)];
}

// An item: a column for each output, in as many tables as the width requires. Arrow keys step through
// the rows of the table from which it was opened.
function draw_item(part, ask, width) {
  const column = (n) => (part.chosen.includes(n) ? { class: "nlg-chosen" } : {});
  const n_fitting = Math.min(6, Math.max(2, Math.floor((width - 130) / 170)));
  const n_columns = Math.ceil(part.columns.length / Math.ceil(part.columns.length / n_fitting));
  const starts = part.columns.map((_, n) => n).filter((n) => n % n_columns === 0);
  const block = (rows, start) => element("table", {},
    element("thead", {}, element("tr", {}, element("td", {}),
      ...part.columns.slice(start, start + n_columns).map((name, n) => element("th",
        { scope: "col", ...column(start + n) }, element("span", { dir: "auto" }, name))))),
    element("tbody", {}, ...rows.map((row) => element("tr", {},
      element("th", { scope: "row" }, row.name),
      ...row.cells.slice(start, start + n_columns).map((cell, n) => element("td", column(start + n),
        element("div", { dir: "auto", class: row.kind === "text" ? "nlg-text" : null }, cell)))))));
  const step = (n) => () => ask({ type: "step", n }), close = () => ask({ type: "close" });
  return [element("section", { class: "nlg-item", tabindex: 0, "aria-label": part.title,
    onkeydown: on_keys({ ArrowLeft: step(-1), ArrowRight: step(1), Escape: close }) },
  element("div", { class: "nlg-pages" }, button("Back to the table (Esc)", close),
    button("Previous (←)", step(-1)), part.at, button("Next (→)", step(1))),
  element("h3", {}, part.title),
  ...part.given.map(([name, text]) => element("details", { open: true },
    element("summary", {}, name), element("blockquote", { dir: "auto" }, text))),
  ...part.tables.filter((rows) => rows.length).flatMap((rows) =>
    starts.map((start) => block(rows, start))),
  element("p", {}, part.note), ...(part.votes ? draw_table(part.votes, ask) : []))];
}

function draw_game(game, ask) {
  return [element("h3", {}, game.title),
    element("p", { class: "nlg-caption", dir: "auto" }, game.caption),
    element("div", { class: "nlg-swatches", role: "group", "aria-label": "Which color is meant?" },
      ...game.colors.map((color) => element("button", { type: "button", class: "nlg-swatch",
        disabled: game.answered, "data-id": color.id, "aria-label": `${color.name}: ${color.words}`,
        onclick: () => ask({ type: "pick", id: color.id }) },
      element("span", { class: "nlg-color", style: `background:${color.color}` }),
      color.mark ? `${color.name}: ${color.mark}` : color.name))),
    button("Next caption", () => ask({ type: "next" }))];
}

const PARTS = { image: draw_image, table: draw_table, told: draw_told, item: draw_item,
  game: draw_game,
  action: (part, ask) => [button(part.label, () => ask(part.sends))] };

// The whole --------------------------------------------------------------------------------------

// Disables JupyterLab's own keys (arrows, Enter) for the focused element; JupyterLab checks that
// element before those around it.
function keep_keys({ target }) {
  if (target.closest?.(".nlg-panel")) target.setAttribute("data-lm-suppress-shortcuts", "true");
}

function render({ model, el }) {
  const places = { main: element("div", { class: "nlg-main" }),
    side: element("div", { class: "nlg-side", "aria-live": "polite" }) };
  const body = element("div", { class: "nlg-body" }, places.main, places.side);
  const code = element("code", { tabindex: 0, "aria-label": "Code that makes this figure" });
  const status = element("p", { class: "nlg-status", role: "status", "aria-live": "polite" });
  const said = element("p", { class: "nlg-said" });
  const root = element("div", { class: "nlg-explorer", lang: "en" }, status, body, said, code);
  const ask = (content) => model.send(content);
  let slow = null;
  el.append(root);

  function report() {
    const { problem, hint } = model.get("shown");
    clearTimeout(slow);
    if (model.get("busy")) slow = setTimeout(() => { status.textContent = "Computing…"; }, 300);
    else status.textContent = problem || hint;
    root.setAttribute("aria-busy", String(model.get("busy")));
    status.classList.toggle("nlg-problem", Boolean(problem));
  }

  function draw() {
    const shown = model.get("shown");
    const active = body.contains(document.activeElement) && document.activeElement;
    for (const [name, place] of Object.entries(places)) {
      const parts = shown.parts[name] || [];
      place.replaceChildren(...parts.flatMap((part) =>
        PARTS[part.type](part, ask, root.clientWidth)));
      place.hidden = parts.length === 0;
    }
    said.textContent = shown.says;
    code.textContent = shown.code;
    const item = body.querySelector(".nlg-item"), id = active && active.getAttribute("data-id");
    const again = id && body.querySelector(`[data-id="${CSS.escape(id)}"]`);
    if (active) (again || item || body.querySelector(".nlg-row"))?.focus({ preventScroll: true });
    item?.querySelector(".nlg-chosen").scrollIntoView({ block: "nearest" });
    report();
  }

  function save(content, buffers) {
    const href = URL.createObjectURL(new Blob([buffers[0]], { type: content.mime }));
    element("a", { href, download: content.name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10000);
  }

  model.on("change:shown", draw);
  model.on("change:busy", report);
  model.on("msg:custom", save);
  document.addEventListener("focusin", keep_keys);
  draw();
  return () => {
    model.off("change:shown", draw);
    model.off("change:busy", report);
    model.off("msg:custom", save);
  };
}

export default { render };
