// Draws what Python sends, and sends Python what the reader selects; it computes only positions on
// the screen. Data enter only through textContent and setAttribute, so no text acts as markup.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 640, INK = "#222222", QUIET = "#595959";

function complete(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

const element = (tag, attributes = {}, ...children) =>
  complete(document.createElement(tag), attributes, children);
const shape = (tag, attributes, ...children) =>
  complete(document.createElementNS(SVG, tag), attributes, children);
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

// The picture ------------------------------------------------------------------------------------

function symbol(style, x, y, r, more = {}) {
  const square = `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`;
  const circle = `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  return shape("path", { d: style.shape === "s" ? square : circle, stroke: style.color,
    "stroke-width": 1.6, fill: style.filled ? style.color : "#ffffff", ...more });
}

function frame(picture) {
  const left = 62, top = 58, width = WIDTH - left - 16, height = 380;
  const scale = ({ limits: [low, high] }, start, length) => (value) =>
    start + (value - low) / (high - low) * length;
  return { left, top, right: left + width, bottom: top + height,
    x: scale(picture.x, left, width), y: scale(picture.y, top + height, -height) };
}

function draw_axes({ x, y }, area) {
  const text = (label, more) =>
    shape("text", { fill: INK, "font-size": 12, "text-anchor": "middle", ...more }, label);
  const middle = (area.left + area.right) / 2, turn = `translate(14 ${(area.top + area.bottom) / 2})`;
  return shape("g", { "aria-hidden": "true" },
    shape("path", { d: `M${area.left} ${area.top}V${area.bottom}H${area.right}`, fill: "none",
      stroke: QUIET }),
    ...x.ticks.map((tick, n) => text(x.labels[n], { x: area.x(tick), y: area.bottom + 17 })),
    ...y.ticks.map((tick, n) => text(y.labels[n], { x: area.left - 8, y: area.y(tick) + 4,
      "text-anchor": "end" })),
    text(x.label, { x: middle, y: area.bottom + 38 }),
    text(y.label, { transform: `${turn} rotate(-90)` }));
}

function draw_margins(histograms, area) {
  const most = Math.max(1, ...histograms.flatMap(({ counts }) => counts));
  const level = (count) => area.top - 6 - 42 * count / most;
  return histograms.map(({ edges, counts, color, filled }) => {
    const steps = counts.map((count, n) => `V${level(count)}H${area.x(edges[n + 1])}`);
    const style = filled ? { fill: color, opacity: 0.5 } : { fill: "none", stroke: color };
    const d = `M${area.x(edges[0])} ${level(0)}${steps.join("")}V${level(0)}Z`;
    return shape("path", { d, ...style, "aria-hidden": "true" });
  });
}

// Points are one stop for the Tab key; arrow keys move between them, from left to right.
function draw_points(picture, area, ask) {
  const points = picture.points.flatMap((group) => group.ids.map((id, n) =>
    ({ id, group, name: group.names[n], x: area.x(group.x[n]), y: area.y(group.y[n]) })));
  points.sort((a, b) => a.x - b.x || b.y - a.y);
  const start = Math.max(0, points.findIndex(({ id }) => id === picture.picked));
  points.forEach((point, n) => {
    const is_picked = point.id === picture.picked, pick = () => ask({ type: "pick", id: point.id });
    const move = (step) => () => {
      const next = points[(n + step + points.length) % points.length].node;
      point.node.setAttribute("tabindex", -1);
      next.setAttribute("tabindex", 0);
      next.focus();
    };
    const style = is_picked ? { stroke: "#000000", "stroke-width": 3 } : {};
    if (!is_picked && (picture.near || []).includes(point.id)) style.stroke = INK;
    point.node = symbol(point.group, point.x, point.y, is_picked ? 8 : 5, { ...style,
      class: "nlg-point", role: "button", tabindex: n === start ? 0 : -1, "data-id": point.id,
      "aria-label": point.name, "aria-pressed": String(is_picked), onclick: pick,
      onkeydown: on_keys({ ArrowRight: move(1), ArrowDown: move(1), ArrowLeft: move(-1),
        ArrowUp: move(-1), Enter: pick, " ": pick }) });
  });
  const on_top = (point) => point.id === picture.picked;
  return [...points].sort((a, b) => on_top(a) - on_top(b)).map(({ node }) => node);
}

function draw_picture(picture, ask) {
  const area = frame(picture), [x0, x1] = picture.map.x.map(area.x);
  const [y0, y1] = picture.map.y.map(area.y);
  const paths = picture.lines.map((line) =>
    "M" + line.map(([x, y]) => `${area.x(x).toFixed(1)} ${area.y(y).toFixed(1)}`).join("L"));
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${area.bottom + 46}`, role: "group",
    "aria-label": `${picture.title}. ${picture.alt}`, class: "nlg-picture" },
  shape("image", { x: x0, y: y1, width: x1 - x0, height: y0 - y1, href: picture.map.href,
    preserveAspectRatio: "none", "aria-hidden": "true" }),
  ...paths.map((d) => shape("path", { d, fill: "none", stroke: "#444444", "aria-hidden": "true" })),
  ...draw_points(picture, area, ask), ...draw_margins(picture.top, area),
  draw_axes(picture, area));
  const sign = (entry) => shape("svg", { viewBox: "0 0 28 16", "aria-hidden": "true" },
    entry.shape ? symbol(entry, 14, 8, 5) :
      shape("rect", { x: 4, y: 2, width: 20, height: 12, fill: entry.box, stroke: QUIET }));
  const legend = picture.legend.map((entry) => element("li", {}, sign(entry), entry.label));
  return [element("h3", {}, picture.title), svg,
    element("ul", { class: "nlg-legend", "aria-label": "Legend" }, ...legend)];
}

// Parts ------------------------------------------------------------------------------------------

// A figure. A click on an area sends the area's message, any other click its relative position.
function draw_image(part, ask) {
  const url = URL.createObjectURL(new Blob([part.png], { type: "image/png" }));
  return [element("img", { src: url, alt: part.alt, class: "nlg-image",
    // Tall figures shrink to the window, unless their text would become too small to read.
    style: `max-width: min(100%, ${part.width}px); ` +
      `max-height: max(${0.75 * part.height}px, 100vh - 230px)`,
    onload: () => URL.revokeObjectURL(url),
    onclick: (event) => {
      const x = event.offsetX / event.target.width, y = event.offsetY / event.target.height;
      const hit = part.areas.find(({ box: [left, top, right, bottom] }) =>
        left <= x && x <= right && top <= y && y <= bottom);
      ask(hit ? hit.sends : { type: "at", x, y });
    } })];
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
  const table = element("div", { class: "nlg-scroll" }, element("table", {},
    element("caption", {}, part.caption),
    element("thead", {}, element("tr", {}, ...draw_head(part, ask))),
    element("tbody", {}, ...rows)));
  if (!part.pages) return [table];
  const [page, last] = part.pages;
  const turn = (label, n, able) => button(label, () => ask({ type: "page", n }), { disabled: !able });
  return [table, element("div", { class: "nlg-pages" }, turn("First", 1 - page, page > 1),
    turn("Previous page", -1, page > 1), `Page ${page} of ${last}`,
    turn("Next page", 1, page < last), turn("Last", last - page, page < last))];
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
  game: draw_game, picture: draw_picture,
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
