// Draws what Python sends, and sends Python what the reader selects; it computes only positions on
// the screen. Data enter only through textContent and setAttribute, so no text acts as markup.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 640, INK = "#222222", QUIET = "#595959";
// Disables JupyterLab's own keys (arrows, Enter) for the focused element. JupyterLab checks that
// element before those around it.
const OWN_KEYS = { "data-lm-suppress-shortcuts": "true" };
const FOCUSABLE = ["input", "select", "button", "pre"];
const DASHES = { "-": "", "--": "6 3", ":": "2 3", "-.": "6 3 2 3" };
let n_made = 0;

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  if (FOCUSABLE.includes(tag)) attributes = { ...OWN_KEYS, ...attributes };
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

function shape(tag, attributes, parent, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

// Symbols ----------------------------------------------------------------------------------------

function outline(kind, x, y, r) {
  const polygon = (...places) =>
    "M" + places.map(([a, b]) => `${x + a * r} ${y + b * r}`).join("L") + "Z";
  const cross = [[-0.3, -1], [0.3, -1], [0.3, -0.3], [1, -0.3], [1, 0.3], [0.3, 0.3], [0.3, 1],
    [-0.3, 1], [-0.3, 0.3], [-1, 0.3], [-1, -0.3], [-0.3, -0.3]];
  const turned = cross.map(([a, b]) => [(a - b) * 0.75, (a + b) * 0.75]);
  switch (kind) {
    case "s": return polygon([-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]);
    case "D": return polygon([0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]);
    case "^": return polygon([0, -1.2], [1.1, 0.9], [-1.1, 0.9]);
    case "v": return polygon([0, 1.2], [1.1, -0.9], [-1.1, -0.9]);
    case "P": return polygon(...cross);
    case "X": return polygon(...turned);
    default: return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  }
}

function symbol(look, x, y, r, parent, more = {}) {
  const attributes = { d: outline(look.shape, x, y, r), stroke: look.color, "stroke-width": 1.6 };
  attributes.fill = look.filled ? look.color : "#ffffff";
  return shape("path", { ...attributes, ...more }, parent);
}

// The picture ------------------------------------------------------------------------------------

function frame(picture) {
  const left = 62, top = 58, width = WIDTH - left - 16, height = 380;
  const place = (axis, start, length) => (value) =>
    start + (value - axis.limits[0]) / (axis.limits[1] - axis.limits[0]) * length;
  return {
    left, top, width, height,
    x: place(picture.x, left, width),
    y: place(picture.y, top + height, -height),
    whole: top + height + 46,
  };
}

function draw_axes(picture, at, parent) {
  const bottom = at.top + at.height;
  const text = { fill: INK, "font-size": 12, "aria-hidden": "true" };
  shape("path", { d: `M${at.left} ${at.top}V${bottom}H${at.left + at.width}`, fill: "none",
    stroke: QUIET }, parent);
  picture.x.ticks.forEach((tick, n) => {
    const look = { ...text, x: at.x(tick), y: bottom + 17, "text-anchor": "middle" };
    shape("text", look, parent, picture.x.labels[n]);
  });
  picture.y.ticks.forEach((tick, n) => {
    const look = { ...text, x: at.left - 8, y: at.y(tick) + 4, "text-anchor": "end" };
    shape("text", look, parent, picture.y.labels[n]);
  });
  const below = { ...text, x: at.left + at.width / 2, y: bottom + 38, "text-anchor": "middle" };
  shape("text", below, parent, picture.x.label);
  const turn = `translate(14 ${at.top + at.height / 2}) rotate(-90)`;
  shape("text", { ...text, transform: turn, "text-anchor": "middle" }, parent, picture.y.label);
}

function channels(color) {
  return [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16));
}

const DRAW = {
  raster(mark, at, parent) {
    const [columns, rows] = mark.size;
    const canvas = element("canvas", { width: columns, height: rows });
    const brush = canvas.getContext("2d");
    const image = brush.createImageData(columns, rows);
    const ends = mark.colors.map(channels);
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        // Shares from 0 to 1 are encoded as 0 to 254; colors run from human through white to model.
        const share = mark.shares.getUint8((rows - 1 - row) * columns + column) / 127;
        const [low, high] = share < 1 ? [ends[0], ends[1]] : [ends[1], ends[2]];
        const part = share < 1 ? share : share - 1;
        const start = 4 * (row * columns + column);
        for (let c = 0; c < 3; c++) image.data[start + c] = low[c] + part * (high[c] - low[c]);
        image.data[start + 3] = 255;
      }
    }
    brush.putImageData(image, 0, 0);
    const [x0, x1] = mark.x.map(at.x), [y0, y1] = mark.y.map(at.y);
    shape("image", { x: x0, y: y1, width: x1 - x0, height: y0 - y1, href: canvas.toDataURL(),
      preserveAspectRatio: "none", "aria-hidden": "true" }, parent);
  },
  line(mark, at, parent) {
    const places = mark.x.map((x, n) => `${at.x(x).toFixed(1)} ${at.y(mark.y[n]).toFixed(1)}`);
    shape("path", { d: "M" + places.join("L"), fill: "none", stroke: mark.color,
      "stroke-width": mark.width || 1.5, "stroke-dasharray": DASHES[mark.dash || "-"],
      "aria-hidden": "true" }, parent);
  },
  points(mark, at, parent, tell) {
    mark.x.forEach((x, n) => {
      const [across, down] = [at.x(x), at.y(mark.y[n])];
      if (!mark.ids) return symbol(mark, across, down, mark.size || 5, parent,
        { "aria-hidden": "true" });
      const id = mark.ids[n];
      const chosen = tell.picked === id;
      const near = tell.near.has(id);
      const more = { ...OWN_KEYS, role: "button", tabindex: -1, "aria-label": mark.names[n],
        "aria-pressed": String(chosen), "data-id": id, class: "nlg-point" };
      if (near) more.stroke = INK;
      if (chosen) Object.assign(more, { stroke: "#000000", "stroke-width": 3 });
      const size = (mark.size || 5) + (chosen ? 3 : 0);
      const made = symbol(mark, across, down, size, parent, more);
      made.addEventListener("click", () => tell.pick(id));
      tell.places.push({ made, id, across, down });
    });
  },
};

function draw_margins(picture, at, parent) {
  const most = Math.max(1, ...picture.top.flatMap((one) => one.counts));
  picture.top.forEach(({ edges, counts, color, filled }) => {
    const level = (count) => at.top - 6 - 42 * count / most;
    let d = `M${at.x(edges[0])} ${level(0)}`;
    counts.forEach((count, n) => { d += `V${level(count)}H${at.x(edges[n + 1])}`; });
    const look = filled ? { fill: color, opacity: 0.5 } : { fill: "none", stroke: color,
      "stroke-width": 1.4 };
    shape("path", { d: d + `V${level(0)}Z`, ...look, "aria-hidden": "true" }, parent);
  });
}

function draw_picture(picture, ask) {
  const pick = (id) => ask({ type: "pick", id });
  const at = frame(picture);
  const root = document.createElementNS(SVG, "svg");
  root.setAttribute("viewBox", `0 0 ${WIDTH} ${Math.ceil(at.whole)}`);
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", `${picture.title}. ${picture.alt}`);
  root.setAttribute("class", "nlg-picture");
  const tell = { pick, places: [], picked: picture.picked, near: new Set(picture.near || []) };
  picture.marks.forEach((mark) => DRAW[mark.type](mark, at, root, tell));
  const chosen = tell.places.find((one) => one.id === tell.picked);
  if (chosen) root.append(chosen.made);  // drawn above its neighbors
  draw_margins(picture, at, root);
  draw_axes(picture, at, root);
  // One stop for the Tab key; arrow keys move between points, from left to right.
  const walk = tell.places.sort((a, b) => a.across - b.across || b.down - a.down);
  const start = Math.max(0, walk.findIndex((one) => one.id === tell.picked));
  if (walk.length) walk[start].made.setAttribute("tabindex", 0);
  root.addEventListener("keydown", (event) => {
    const here = walk.findIndex((one) => one.made === event.target);
    if (here < 0) return;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) {
      const next = walk[(here + step + walk.length) % walk.length].made;
      event.target.setAttribute("tabindex", -1);
      next.setAttribute("tabindex", 0);
      next.focus();
    } else if (event.key === "Enter" || event.key === " ") pick(walk[here].id);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return [element("h3", {}, picture.title), root, draw_legend(picture.legend)];
}

function draw_legend(entries) {
  return element("ul", { class: "nlg-legend", "aria-label": "Legend" }, ...entries.map((entry) => {
    const root = document.createElementNS(SVG, "svg");
    root.setAttribute("viewBox", "0 0 28 16");
    root.setAttribute("aria-hidden", "true");
    if (entry.dash) DRAW.line({ x: [0, 28], y: [8, 8], color: entry.color, dash: entry.dash },
      { x: (x) => x, y: (y) => y }, root);
    if (entry.shape) symbol(entry, 14, 8, 5, root);
    if (entry.box) shape("rect", { x: 4, y: 2, width: 20, height: 12, fill: entry.box,
      stroke: QUIET }, root);
    return element("li", {}, root, element("span", {}, entry.label));
  }));
}

// Parts ------------------------------------------------------------------------------------------

// A figure. A click on an area sends the area's message, any other click its relative position.
function draw_image(part, ask) {
  const url = URL.createObjectURL(new Blob([part.png], { type: "image/png" }));
  const made = element("img", { src: url, alt: part.alt, class: "nlg-image",
    // Tall figures shrink to the window, unless their text would become too small to read.
    style: `max-width: min(100%, ${part.width}px); ` +
      `max-height: max(${0.75 * part.height}px, 100vh - 230px)`,
    onload: () => URL.revokeObjectURL(url),
    onclick: (event) => {
      const box = made.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width, y = (event.clientY - box.top) / box.height;
      const hit = part.areas.find(({ box: [left, top, right, bottom] }) =>
        left <= x && x <= right && top <= y && y <= bottom);
      ask(hit ? hit.sends : { type: "at", x, y });
    } });
  return [made];
}

function draw_head(part, ask) {
  const [sorted, falling] = part.sort || [];
  return part.columns.map((name, n) => {
    const key = part.keys && part.keys[n];
    const look = part.kinds ? { class: `nlg-${part.kinds[n]}` } : {};
    if (!key) return element("th", { scope: "col", ...look }, name);
    const state = key === sorted ? (falling ? "descending" : "ascending") : "none";
    const sign = { none: "", ascending: " ▲", descending: " ▼" }[state];
    return element("th", { scope: "col", "aria-sort": state, ...look }, element("button", { type: "button",
      title: name, onclick: () => ask({ type: "sort", column: key }) }, name + sign));
  });
}

// Arrow keys move between rows that can be opened; Tab goes to the first of them.
function draw_table(part, ask) {
  const rows = part.rows.map((cells, n) => {
    const sends = part.opens && part.opens[n];
    const own = sends ? { class: "nlg-row", tabindex: n ? -1 : 0, ...OWN_KEYS,
      onclick: () => ask(sends),
      onkeydown: (event) => {
        const step = { ArrowDown: "nextSibling", ArrowUp: "previousSibling" }[event.key];
        if (step) event.currentTarget[step]?.focus();
        else if (event.key === "Enter") ask(sends);
        else return;
        event.preventDefault();
        event.stopPropagation();
      } } : {};
    return element("tr", own, ...cells.map((cell, c) => {
      const kind = part.kinds && part.kinds[c];
      return element("td", kind ? { class: `nlg-${kind}` } : {},
        element("span", { dir: "auto" }, cell));
    }));
  });
  const made = [element("div", { class: "nlg-scroll" }, element("table", {},
    element("caption", {}, part.caption),
    element("thead", {}, element("tr", {}, ...draw_head(part, ask))),
    element("tbody", {}, ...rows)))];
  if (part.pages) {
    const [page, last] = part.pages;
    const turn = (label, n, able) => element("button", { type: "button", disabled: !able,
      onclick: () => ask({ type: "page", n }) }, label);
    made.push(element("div", { class: "nlg-pages" }, turn("First", 1 - page, page > 1),
      turn("Previous page", -1, page > 1), element("span", {}, `Page ${page} of ${last}`),
      turn("Next page", 1, page < last), turn("Last", last - page, page < last)));
  }
  return made;
}

function draw_told(part, ask) {
  const made = [element("h3", {}, part.title)];
  if (part.text) made.push(element("blockquote", { dir: "auto" }, part.text));
  const lines = part.says.map((line) => element("p", {}, line));
  return [...made, ...lines, ...draw_table(part.table, ask)];
}

// An item: a column for each output, in as many tables as the width requires. Arrow keys step through
// the rows of the table from which it was opened.
function draw_item(part, ask, width) {
  const button = (label, content) =>
    element("button", { type: "button", onclick: () => ask(content) }, label);
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
  const given = part.given.map(([name, text]) => element("details", { open: true },
    element("summary", {}, name), element("blockquote", { dir: "auto" }, text)));
  const made = element("section", { class: "nlg-item", tabindex: 0, ...OWN_KEYS,
    "aria-label": part.title, onkeydown: (event) => {
      const content = { ArrowLeft: { type: "step", n: -1 }, ArrowRight: { type: "step", n: 1 },
        Escape: { type: "close" } }[event.key];
      if (!content) return;
      ask(content);
      event.preventDefault();
      event.stopPropagation();
    } },
  element("div", { class: "nlg-pages" }, button("Back to the table (Esc)", { type: "close" }),
    button("Previous (←)", { type: "step", n: -1 }), element("span", {}, part.at),
    button("Next (→)", { type: "step", n: 1 })),
  element("h3", {}, part.title), ...given,
  ...part.tables.filter((rows) => rows.length).flatMap((rows) =>
    starts.map((start) => block(rows, start))),
  element("p", {}, part.note), ...(part.votes ? draw_table(part.votes, ask) : []));
  return [made];
}

function draw_game(game, ask) {
  const swatches = game.colors.map((one) =>
    element("button", { type: "button", class: "nlg-swatch", disabled: game.answered,
      "data-id": one.id, "aria-label": `${one.name}: ${one.words}`,
      onclick: () => ask({ type: "pick", id: one.id }) },
    element("span", { class: "nlg-color", style: `background:${one.color}` }),
    element("span", {}, one.mark ? `${one.name}: ${one.mark}` : one.name)));
  return [element("h3", {}, game.title),
    element("p", { class: "nlg-caption", dir: "auto" }, game.caption),
    element("div", { class: "nlg-swatches", role: "group", "aria-label": "Which color is meant?" },
      ...swatches),
    element("button", { type: "button", onclick: () => ask({ type: "next" }) }, "Next caption")];
}

const PARTS = { image: draw_image, table: draw_table, told: draw_told, item: draw_item,
  game: draw_game, picture: draw_picture,
  action: (part, ask) => [element("button", { type: "button", onclick: () => ask(part.sends) },
    part.label)] };

// Controls ---------------------------------------------------------------------------------------

function draw_control(one, id, set) {
  if (one.kind === "slider") {
    const value = element("output", { for: id }, String(one.value));
    const input = element("input", { id, type: "range", min: one.low, max: one.high, step: 1,
      oninput: () => { value.textContent = input.value; set(one.name, Number(input.value)); } });
    input.value = one.value;
    const update = (now) => { input.value = now; value.textContent = String(now); };
    return { made: element("div", { class: "nlg-control" },
      element("label", { for: id }, one.label), input, value), input, update };
  }
  if (one.kind === "choice") {
    const input = element("select", { id, onchange: () => set(one.name, input.value) },
      ...one.options.map(([value, label]) => element("option", { value }, label)));
    input.value = one.value;
    return { made: element("div", { class: "nlg-control" },
      element("label", { for: id }, one.label), input), input,
      update: (now) => { input.value = now; } };
  }
  if (one.kind === "words" || one.kind === "number") {
    const type = one.kind === "words" ? "search" : "number";
    const read = () => (one.kind === "words" ? input.value :
      input.value === "" ? null : Number(input.value));
    let wait = null;
    const input = element("input", { id, type, step: "any", maxlength: 1000, oninput: () => {
      clearTimeout(wait);
      wait = setTimeout(() => { wait = null; set(one.name, read()); }, 250);
    } });
    input.value = one.value;
    const update = (now) => { if (wait === null && read() !== now) input.value = now; };
    return { made: element("div", { class: "nlg-control" },
      element("label", { for: id }, one.label), input), update };
  }
  const boxes = one.options.map(([value, label], n) => {
    const input = element("input", { type: "checkbox", id: `${id}-${n}`, value,
      onchange: () => tell() });
    return { input, made: element("label", { for: `${id}-${n}` }, input, label) };
  });
  const count = element("summary", { id, ...OWN_KEYS });
  const update = (now) => {
    boxes.forEach((box) => { box.input.checked = now.includes(box.input.value); });
    count.textContent = `${one.label}: ${now.length} of ${boxes.length}`;
  };
  const tell = () =>
    set(one.name, boxes.filter((box) => box.input.checked).map((box) => box.input.value));
  const all = (checked) => element("button", { type: "button", onclick: () => {
    boxes.forEach((box) => { box.input.checked = checked; });
    tell();
  } }, checked ? "Select all" : "Select none");
  update(one.value);
  return { made: element("details", { class: "nlg-picks" }, count, element("div", {},
    all(true), all(false), ...boxes.map((box) => box.made))), update };
}

// The whole --------------------------------------------------------------------------------------

function render({ model, el }) {
  const uid = `nlg-${n_made++}-${Math.random().toString(36).slice(2, 8)}`;
  const controls = element("form", { class: "nlg-controls", "aria-label": "Controls",
    onsubmit: (event) => event.preventDefault() });
  const places = { main: element("div", { class: "nlg-main" }),
    side: element("div", { class: "nlg-side", "aria-live": "polite" }) };
  const code = element("code", { tabindex: 0, "aria-label": "Code that makes this figure" });
  const status = element("p", { class: "nlg-status", role: "status", "aria-live": "polite" });
  const said = element("p", { class: "nlg-said" });
  const about = element("p", { class: "nlg-about" });
  const tabs = element("div", { role: "tablist", class: "nlg-tabs", "aria-label": "Views" });
  const panel = element("div", { role: "tabpanel", id: `${uid}-panel` });
  const files = element("span", {});
  panel.append(controls, status, element("div", { class: "nlg-body" }, places.main, places.side),
    said, element("div", { class: "nlg-export" }, files, code));
  const root = element("div", { class: "nlg-explorer", lang: "en" }, about, tabs, panel);
  el.append(root);

  // One request at a time; of the requests that arrive meanwhile, each control's last one is kept.
  let stamp = 0, waiting = false, slow = null, drawn = {};
  const queue = [];
  function ask(content) {
    if (waiting) {
      const last = queue.at(-1);
      if (last && content.type === "set" && last.name === content.name) queue.pop();
      queue.push(content);
      return;
    }
    waiting = true;
    stamp += 1;
    slow = setTimeout(() => {
      status.textContent = "Computing…";
      panel.setAttribute("aria-busy", "true");
    }, 300);
    model.send({ ...content, stamp });
  }
  function answered(shown) {
    waiting = false;
    clearTimeout(slow);
    panel.removeAttribute("aria-busy");
    status.textContent = shown.problem || shown.hint;
    status.classList.toggle("nlg-problem", Boolean(shown.problem));
    if (queue.length) ask(queue.shift());
  }
  const set = (name, value) => ask({ type: "set", name, value });

  // Arrow keys move only the focus, Enter opens: computing a view may take a while.
  function draw_tabs(shown) {
    const names = shown.views.map((view) => view.name).join();
    if (tabs.dataset.names !== names) {
      tabs.dataset.names = names;
      tabs.replaceChildren(...shown.views.map((view) => element("button", { type: "button",
        role: "tab", id: `${uid}-${view.name}`, "aria-controls": `${uid}-panel`,
        onclick: () => ask({ type: "open", view: view.name }),
        onkeydown: (event) => {
          const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          const all = [...tabs.children];
          if (step) all.at((all.indexOf(event.target) + step) % all.length).focus();
        } }, view.title)));
    }
    shown.views.forEach((view, n) => {
      const chosen = view.name === shown.view;
      tabs.children[n].setAttribute("aria-selected", String(chosen));
      tabs.children[n].setAttribute("tabindex", chosen ? 0 : -1);
      if (chosen) panel.setAttribute("aria-labelledby", tabs.children[n].id);
    });
  }

  function draw_controls(shown) {
    const specs = shown.controls.map(({ value, ...spec }) => spec);
    const key = JSON.stringify([shown.view, specs]);
    if (drawn.key !== key) {  // unchanged controls stay, and keep their focus
      const focused = controls.contains(document.activeElement) && document.activeElement.id;
      drawn = { key, parts: shown.controls.map((one) =>
        draw_control(one, `${uid}-${one.name}`, set)) };
      controls.replaceChildren(...drawn.parts.map((part) => part.made));
      if (focused) document.getElementById(focused)?.focus();
    }
    if (!queue.length) shown.controls.forEach((one, n) => drawn.parts[n].update(one.value));
  }

  function draw() {
    const shown = model.get("shown");
    if (!shown.views) return;
    const body = places.main.parentElement;
    const active = body.contains(document.activeElement) && document.activeElement;
    const focus = active && active.getAttribute("data-id");
    about.textContent = shown.about;
    draw_tabs(shown);
    draw_controls(shown);
    for (const [name, place] of Object.entries(places)) {
      const parts = shown.parts[name] || [];
      place.replaceChildren(...parts.flatMap((part) =>
        PARTS[part.type](part, ask, root.clientWidth - 24)));
      place.hidden = parts.length === 0;
    }
    const item = body.querySelector(".nlg-item");
    controls.hidden = Boolean(item);
    said.textContent = shown.says;
    code.textContent = shown.code;
    files.replaceChildren(...shown.exports.map((format) => element("button", { type: "button",
      onclick: () => ask({ type: "export", format }) }, `Download ${format.toUpperCase()}`)));
    const again = [...body.querySelectorAll("[data-id]")].find((one) =>
      focus && one.getAttribute("data-id") === focus);
    if (active) (again || item || body.querySelector(".nlg-row"))?.focus({ preventScroll: true });
    item?.querySelector(".nlg-chosen").scrollIntoView({ block: "nearest" });
    root.setAttribute("data-stamp", shown.stamp);
    if (shown.stamp === stamp || !waiting) answered(shown);
  }

  function receive(content, buffers) {
    if (content.type !== "file") return;
    const blob = new Blob([buffers[0]], { type: content.mime });
    const link = element("a", { href: URL.createObjectURL(blob), download: content.name });
    root.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  model.on("change:shown", draw);
  model.on("msg:custom", receive);
  draw();
  return () => { model.off("change:shown", draw); model.off("msg:custom", receive); };
}

export default { render };
