
"use strict";
/* The table of nodes, the worst errors and the explorer. All text enters by textContent: nothing of a run is markup. */
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  if (!data.views.length) return;
  const PAGE = 25, TOP_CLASSES = 8, LISTED = 60;
  const PARTS = { t: "training", v: "validation", s: "test", "-": "–" };
  const at = (id) => document.getElementById(id);
  const state = { view: 0, color: "prediction", row: null, sort: "node", down: false, from: 0 };
  const MANY = 2000; /* nodes from which on the table is there before the drawing */
  let view, graph, sigma = null, drawn = null, extra = [], near = new Set(), waiting = 0;

  /* ---- small things ---- */
  function make(tag, words, css) {
    const node = document.createElement(tag);
    if (words !== undefined) node.textContent = words;
    if (css) node.className = css;
    return node;
  }
  function put(parent, ...children) {
    for (const child of children) parent.append(child);
    return parent;
  }
  const percent = (share, digits) => `${(100 * share).toFixed(digits === undefined ? 1 : digits)} %`;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const computed = new Map();
  function theme(name) {
    if (!computed.has(name)) computed.set(name, getComputedStyle(document.documentElement).getPropertyValue(name).trim());
    return computed.get(name);
  }
  function cssColor(css) {
    if (!computed.has(css)) {
      const probe = put(document.body, make("i", "", css)).lastChild;
      computed.set(css, getComputedStyle(probe).getPropertyValue("--c").trim());
      probe.remove();
    }
    return computed.get(css);
  }
  function hue(number) {
    if (number < 0) return theme("--dim");
    if (number < 10) return cssColor("c" + number);
    const angle = (number * 137.508) % 360, light = dark.matches ? 0.66 : 0.45, a = 0.5 * Math.min(light, 1 - light);
    const part = (n) => {
      const k = (n + angle / 30) % 12, level = light - a * Math.max(-1, Math.min(k - 3, 9 - k, 1));
      return Math.round(255 * level).toString(16).padStart(2, "0");
    };
    return "#" + part(0) + part(8) + part(4);
  }
  const FOUR = ["1-hop", "2-hop", "ppr", "knn"];
  function heuristicCss(number) {
    const known = FOUR.indexOf(view.heuristics[number]);
    return "h" + (known >= 0 ? known : 4 + (number % 4));
  }

  /* ---- what a view says of a row ---- */
  const classes = () => graph.classes;
  const className = (c) => (c < 0 ? "unknown" : String(classes()[c]));
  const spoken = (c) => (/^-?[\d.]+$/.test(className(c)) ? "class " : "") + className(c);
  const nodeName = (row) => String(graph.names ? graph.names[row] : graph.ids[row]);
  const proba = (row, c) => view.proba[row * classes().length + c] / 1000;
  function read(number) {
    state.view = number;
    view = data.views[number];
    graph = data.graphs[view.graph];
    const wide = classes().length, count = graph.ids.length;
    view.prediction = view.prediction || Array.from({ length: count }, (_, row) => {
      let best = 0;
      for (let c = 1; c < wide; c++) if (view.proba[row * wide + c] > view.proba[row * wide + best]) best = c;
      return best;
    });
    if (!graph.rowOf) graph.rowOf = new Map(graph.ids.map((id, row) => [id, row]));
    if (graph.edges && !graph.around) {
      graph.around = graph.ids.map(() => []);
      for (let k = 0; k < graph.edges.length; k += 2) {
        graph.around[graph.edges[k]].push(graph.edges[k + 1]);
        graph.around[graph.edges[k + 1]].push(graph.edges[k]);
      }
    }
  }
  const confidence = (row) => proba(row, view.prediction[row]);
  const isWrong = (row) => graph.label[row] >= 0 && graph.label[row] !== view.prediction[row];
  function attended(row) {
    const flat = view.attention && view.attention[row];
    if (!flat) return null;
    const step = 2 + view.heuristics.length, found = [];
    for (let k = 0; k < flat.length; k += step) {
      found.push({ id: flat[k], share: flat[k + 1] / 1000, brought: flat.slice(k + 2, k + step), row: graph.rowOf.get(flat[k]) });
    }
    return found;
  }

  /* ---- explorer ---- */
  function nodeColor(row) {
    if (state.color === "truth") return hue(graph.label[row]);
    if (state.color === "error") return graph.label[row] < 0 ? theme("--dim") : cssColor(isWrong(row) ? "c3" : "c2");
    if (state.color === "super" && view.superNode) return hue(10 + view.superNode[row]);
    return hue(view.prediction[row]);
  }
  function legend() {
    const place = at("graph-legend");
    place.replaceChildren();
    const entry = (color, words) => {
      const swatch = make("i", "", "swatch");
      swatch.style.background = color;
      put(place, put(make("span"), swatch, words), " ");
    };
    if (state.color === "error") {
      entry(cssColor("c2"), "right");
      entry(cssColor("c3"), "wrong");
    } else if (state.color === "super") {
      place.textContent = "Nodes of one colour are in one super-node, or in different ones that happen to share it.";
    } else {
      classes().slice(0, 24).forEach((name, c) => entry(hue(c), String(name)));
      if (classes().length > 24) put(place, `and ${classes().length - 24} more`);
    }
    if (state.color !== "prediction" && state.color !== "super" && graph.label.some((c) => c < 0)) {
      entry(theme("--dim"), "label unknown");
    }
  }
  function tooltip(context, node, settings) {
    if (!node.label) return;
    const size = settings.labelSize;
    context.font = `${settings.labelWeight} ${size}px ${settings.labelFont}`;
    const width = context.measureText(node.label).width;
    context.fillStyle = theme("--soft");
    context.fillRect(node.x + node.size + 1, node.y - size / 2 - 5, width + 10, size + 9);
    context.fillStyle = theme("--ink");
    context.fillText(node.label, node.x + node.size + 6, node.y + size / 3);
  }
  function drawGraph() {
    const place = at("graph");
    if (sigma) sigma.kill();
    sigma = null;
    at("explorer").hidden = false;
    at("stage").hidden = !graph.x;
    at("missing").hidden = !graph.missing;
    at("missing").textContent = graph.missing ? `The graph is not drawn: ${graph.missing}` : "";
    if (!graph.x) return;
    const many = graph.ids.length, edges = graph.edges.length / 2, turn = ++waiting;
    at("graph-words").textContent =
      (many < graph.numNodes ? `${many.toLocaleString("en")} of ${graph.numNodes.toLocaleString("en")} nodes` : `${many.toLocaleString("en")} nodes`) +
      `, ${edges.toLocaleString("en")} of ${graph.numEdges.toLocaleString("en")} edges. Drag to move, scroll to zoom, click a node.`;
    legend();
    const begin = () => { if (turn === waiting) draw(place, many, edges); };
    if (document.readyState === "loading") addEventListener("DOMContentLoaded", () => afterPaint(begin)); /* sigma comes last */
    else if (many < MANY) begin();
    else afterPaint(begin);
  }
  const afterPaint = (then) => requestAnimationFrame(() => setTimeout(then));
  function draw(place, many, edges) {
    drawn = new graphology.Graph({ type: "undirected", multi: true });
    const small = many > 8000 ? 1.3 : many > 2000 ? 2 : many > 400 ? 3.2 : 5, grow = many > 2000 ? 0.25 : 0.6;
    graph.ids.forEach((id, row) => {
      const size = small + grow * Math.min(Math.sqrt(graph.degree[row]), 12);
      drawn.addNode(row, { x: graph.x[row], y: -graph.y[row], size, label: nodeName(row), color: nodeColor(row) });
    });
    for (let k = 0; k < graph.edges.length; k += 2) drawn.addEdge(graph.edges[k], graph.edges[k + 1]);
    const { EdgeLineProgram, EdgeRectangleProgram, NodePointProgram, NodeCircleProgram } = Sigma.rendering;
    try {
      sigma = new Sigma(drawn, place, {
        edgeProgramClasses: { line: edges > 5000 ? EdgeLineProgram : EdgeRectangleProgram, wide: EdgeRectangleProgram },
        nodeProgramClasses: { circle: many > MANY ? NodePointProgram : NodeCircleProgram },
        defaultEdgeColor: edgeColor(edges), labelColor: { color: theme("--ink") }, labelSize: 12, labelFont: "system-ui, sans-serif",
        labelRenderedSizeThreshold: many > 400 ? 9 : 7, hideEdgesOnMove: edges > 15000, hideLabelsOnMove: true, zIndex: true,
        defaultDrawNodeHover: tooltip, nodeReducer, edgeReducer, minCameraRatio: 0.01, maxCameraRatio: 4, allowInvalidContainer: true,
      });
    } catch (error) {
      at("graph-words").textContent = "This browser cannot draw the graph: it has no WebGL.";
      return;
    }
    calm(edges);
    sigma.getNodeAtPosition = finder(many);
    for (const program of Object.values(sigma.nodePrograms)) program.pickProgram = null; /* what the finder makes needless */
    sigma.pickingLayers.clear();
    sigma.on("clickNode", (event) => select(Number(event.node)));
    sigma.on("clickStage", () => select(null));
    if (state.row !== null) select(state.row, true);
    performance.mark("ansgt-graph");
  }
  function calm(edges) {
    /* While a large graph moves, only its nodes are drawn: layers without content are neither cleared nor laid over the others. */
    if (edges <= 15000) return;
    const { nodes } = sigma.webGLContexts, mouse = sigma.getMouseCaptor(), clear = sigma.clear.bind(sigma), place = at("graph");
    const isMoving = () => sigma.getCamera().isAnimated() || mouse.isMoving || mouse.draggedEvents || mouse.currentWheelDirection;
    sigma.clear = () => {
      const moving = !!isMoving();
      place.classList.toggle("moving", moving);
      if (!moving) return clear();
      nodes.bindFramebuffer(nodes.FRAMEBUFFER, null);
      nodes.clear(nodes.COLOR_BUFFER_BIT);
      return sigma;
    };
  }
  function finder(many) {
    /* The node under the pointer, by a grid of places: sigma reads a pixel back at every move, and waits for the whole drawing. */
    const side = Math.max(1, Math.round(Math.sqrt(many / 4))), cells = new Map(), scale = side / 10001;
    const cell = (x, y) => Math.floor(x * scale) * side + Math.floor(y * scale);
    for (let row = 0; row < many; row++) {
      const key = cell(graph.x[row], graph.y[row]);
      if (cells.has(key)) cells.get(key).push(row);
      else cells.set(key, [row]);
    }
    const largest = drawn.reduceNodes((most, _, node) => Math.max(most, node.size), 0) + 4, own = graph;
    return (where) => {
      const from = sigma.viewportToGraph(where), other = sigma.viewportToGraph({ x: where.x + 1, y: where.y });
      const pixel = Math.hypot(other.x - from.x, other.y - from.y), x = from.x, y = -from.y;
      const reach = (sigma.scaleSize(largest) + 1) * pixel, low = (v) => Math.max(0, Math.floor((v - reach) * scale));
      const high = (v) => Math.min(side - 1, Math.floor((v + reach) * scale));
      let best = null, least = Infinity;
      for (let i = low(x); i <= high(x); i++) {
        for (let j = low(y); j <= high(y); j++) {
          for (const row of cells.get(i * side + j) || []) {
            const away = Math.hypot(own.x[row] - x, own.y[row] - y) / pixel;
            if (away < least && away <= sigma.scaleSize(sigma.getNodeDisplayData(row).size) + 1) { best = String(row); least = away; }
          }
        }
      }
      return best;
    };
  }
  const edgeColor = (edges) => theme(edges > 15000 ? "--faded" : "--edge");
  function nodeReducer(key, node) {
    if (state.row === null) return node;
    if (Number(key) === state.row) return { ...node, size: node.size + 4, zIndex: 2, highlighted: true, forceLabel: true };
    if (near.has(Number(key))) return { ...node, size: node.size + 1, zIndex: 1, forceLabel: near.size < 30 };
    return { ...node, size: node.size * 0.6, color: theme("--faded"), label: null, zIndex: 0 };
  }
  function edgeReducer(key, edge) {
    if (state.row === null || edge.attention) return edge;
    const own = drawn.extremities(key).some((end) => Number(end) === state.row);
    return own ? { ...edge, color: theme("--dim"), zIndex: 1 } : { ...edge, hidden: true };
  }
  function recolor() {
    if (!sigma) return;
    drawn.updateEachNodeAttributes((key, node) => ({ ...node, color: nodeColor(Number(key)) }), { attributes: ["color"] });
    sigma.refresh();
    legend();
  }
  function show(row) {
    /* Neighbours and attended nodes of the selected one; attention as coloured edges. */
    for (const key of extra) drawn.dropEdge(key);
    extra = [];
    near = new Set();
    if (row !== null) {
      for (const other of graph.around[row]) near.add(other);
      for (const one of attended(row) || []) {
        if (one.row === undefined || one.row === row) continue;
        near.add(one.row);
        const most = one.brought.indexOf(Math.max(...one.brought));
        extra.push(drawn.addEdge(row, one.row, {
          attention: true, type: "wide", size: 1 + 40 * Math.min(one.share, 0.2), color: cssColor(heuristicCss(most)), zIndex: 2,
        }));
      }
    }
    sigma.refresh();
  }
  function centre(row) {
    /* The node and its surroundings fill the stage. */
    const shown = [row, ...near].map((other) => sigma.getNodeDisplayData(other));
    const middle = (axis) => (Math.min(...shown.map((one) => one[axis])) + Math.max(...shown.map((one) => one[axis]))) / 2;
    const x = middle("x"), y = middle("y"), reach = Math.max(...shown.map((one) => Math.hypot(one.x - x, one.y - y)));
    sigma.getCamera().animate({ x, y, ratio: Math.min(Math.max(2.2 * reach, 0.06), 1.2) }, { duration: 250 });
  }
  function select(row, move) {
    state.row = row;
    if (sigma) {
      show(row);
      if (row !== null && move) centre(row);
    }
    detail(row);
    for (const line of document.querySelectorAll("#table tbody tr")) line.classList.toggle("selected", Number(line.dataset.row) === row);
  }

  /* ---- the selected node ---- */
  function bar(words, parts, number, css) {
    const track = make("span", undefined, "track");
    for (const [share, color] of parts) {
      const piece = make("i");
      piece.style.width = `${Math.max(0, Math.min(100, 100 * share))}%`;
      piece.style.background = color;
      track.append(piece);
    }
    return put(make("div", undefined, "bar" + (css ? " " + css : "")), words, track, make("span", number));
  }
  function pick(row, words) {
    const button = make("button", words, "pick");
    button.type = "button";
    button.addEventListener("click", (event) => {
      event.stopPropagation();
      select(row, true);
      at("explorer").scrollIntoView({ block: "nearest" });
    });
    return button;
  }
  function detail(row) {
    const place = at("detail");
    place.replaceChildren();
    if (row === null) {
      put(place, make("p", graph.x ? "Click a node, here or in the table, to see its neighbours, its probabilities and whom it attended to." :
        "Click a node in the table to see its probabilities.", "dim"));
      return;
    }
    const truth = graph.label[row], given = view.prediction[row];
    put(place, make("h4", `node ${nodeName(row)}`));
    const facts = put(make("p"), "predicted ", make("b", className(given)), ` (${percent(confidence(row))}), truth `);
    put(facts, make("b", className(truth), isWrong(row) ? "wrong" : ""), `, ${view.part[row] === "-" ? "in no part" : PARTS[view.part[row]] + " part"}`);
    put(place, facts, make("h5", "probabilities"));
    const order = classes().map((_, c) => c).sort((a, b) => proba(row, b) - proba(row, a)).slice(0, TOP_CLASSES);
    for (const c of order) {
      const words = make("span", className(c));
      words.title = className(c);
      put(place, bar(words, [[proba(row, c), hue(c)]], percent(proba(row, c)), c === truth ? "own" : ""));
    }
    around(place, row);
    attention(place, row);
  }
  function around(place, row) {
    if (!graph.around) return;
    const others = graph.around[row], trained = others.filter((other) => view.part[other] === "t").length;
    const hidden = graph.degree[row] - others.length;
    put(place, make("h5", `neighbours: ${graph.degree[row]}${hidden > 0 ? ` (${hidden} not drawn)` : ""}, ${trained} in training`));
    const list = make("p");
    others.slice(0, LISTED).forEach((other) => {
      const color = make("i", "", "swatch");
      color.style.background = hue(graph.label[other]);
      color.title = className(graph.label[other]);
      put(list, put(make("span"), color, pick(other, nodeName(other))), " ");
    });
    if (others.length > LISTED) put(list, `and ${others.length - LISTED} more`);
    put(place, list);
  }
  function attention(place, row) {
    const found = attended(row);
    if (!found) {
      const why = view.heuristics ? "Its attention was not computed for this page (see --explained)." : "This model has no sampled sequences to attend to.";
      put(place, make("h5", "attention"), make("p", why, "dim"));
      return;
    }
    const kinds = view.kinds[row], words = view.kindNames.map((name, k) => `${name} ${kinds[k]} %`).filter((_, k) => kinds[k] > 0);
    put(place, make("h5", "attention by heuristic"), make("p", `to kinds of tokens: ${words.join(", ")}`, "dim"));
    const most = Math.max(...found.map((one) => one.share), 0.001);
    for (const one of found) {
      const words = one.row === undefined ? make("span", String(one.id)) : pick(one.row, nodeName(one.row));
      if (one.row !== undefined) words.title = `truth ${className(graph.label[one.row])}, ${PARTS[view.part[one.row]]}`;
      put(place, bar(words, one.brought.map((share, k) => [(share / 100) * (one.share / most), cssColor(heuristicCss(k))]), percent(one.share)));
    }
    const names = make("p", undefined, "legend");
    view.heuristics.forEach((name, k) => put(names, put(make("span"), make("i", "", "swatch " + heuristicCss(k)), name), " "));
    put(place, names);
  }

  /* ---- worst errors ---- */
  function why(error) {
    const row = error.row, given = view.prediction[row], truth = graph.label[row], words = [];
    words.push(`${percent(confidence(row))} sure of ${spoken(given)}; the truth, ${spoken(truth)}, got ${percent(proba(row, truth))}.`);
    if (error.around) {
      const all = error.around.reduce((sum, pair) => sum + pair[1], 0), of = (c) => (error.around.find((pair) => pair[0] === c) || [0, 0])[1];
      words.push(all ? `Of its ${all} neighbour${all > 1 ? "s" : ""} ${of(given)} ${of(given) === 1 ? "is" : "are"} of ${spoken(given)} and ${of(truth)} of ${spoken(truth)}.` : "It has no neighbours.");
    }
    const found = attended(row);
    if (found) {
      const sum = (c) => found.reduce((s, one) => s + (one.row !== undefined && graph.label[one.row] === c ? one.share : 0), 0);
      const total = found.reduce((s, one) => s + one.share, 0) || 1;
      const brought = view.heuristics.map((name, k) => [found.reduce((s, one) => s + one.share * one.brought[k], 0), name]).sort((a, b) => b[0] - a[0]);
      words.push(`Of the attention to its ${found.length} most attended nodes ${percent(sum(given) / total, 0)} went to nodes of ${spoken(given)}, ${percent(sum(truth) / total, 0)} to ${spoken(truth)}; most of it came by ${brought[0][1]}.`);
    }
    return words.join(" ");
  }
  function worst() {
    const place = at("worst");
    place.replaceChildren();
    for (const error of view.worst) put(place, put(make("li"), pick(error.row, `node ${nodeName(error.row)}`), ": " + why(error)));
    if (!view.worst.length) put(place, make("li", "None: every scored node is right."));
  }

  /* ---- table of nodes ---- */
  const COLUMNS = [
    ["node", (row) => (graph.names ? graph.names[row] : graph.ids[row]), (row) => nodeName(row)],
    ["truth", (row) => className(graph.label[row])],
    ["prediction", (row) => className(view.prediction[row])],
    ["confidence", confidence, (row) => percent(confidence(row))],
    ["part", (row) => PARTS[view.part[row]]],
  ];
  function less(a, b) {
    return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  }
  function rows() {
    const words = at("search").value.trim().toLowerCase(), which = at("which").value, found = [];
    for (let row = 0; row < graph.ids.length; row++) {
      if (which === "wrong" ? !isWrong(row) : which !== "all" && view.part[row] !== which) continue;
      const text = words && [nodeName(row), className(graph.label[row]), className(view.prediction[row])];
      if (!words || text.some((one) => one.toLowerCase().includes(words))) found.push(row);
    }
    const key = COLUMNS.find((column) => column[0] === state.sort)[1], sign = state.down ? -1 : 1;
    const keys = new Map(found.map((row) => [row, key(row)]));
    return found.sort((a, b) => sign * less(keys.get(a), keys.get(b)) || a - b);
  }
  function table() {
    const found = rows(), last = Math.max(0, Math.ceil(found.length / PAGE) - 1) * PAGE;
    state.from = Math.min(Math.max(state.from, 0), last);
    const shown = found.slice(state.from, state.from + PAGE), body = document.querySelector("#table tbody");
    body.replaceChildren(...shown.map((row) => {
      const line = make("tr", undefined, row === state.row ? "selected" : "");
      line.dataset.row = row;
      COLUMNS.forEach(([name, key, words], k) => {
        const cell = make("td", (words || key)(row));
        if (name === "prediction" && isWrong(row)) cell.className = "wrong";
        if (k === 0) cell.replaceChildren(pick(row, nodeName(row)));
        line.append(cell);
      });
      line.addEventListener("click", () => select(row, true));
      return line;
    }));
    at("found").textContent = found.length ? `${state.from + 1}–${state.from + shown.length} of ${found.length.toLocaleString("en")}` : "no node";
    at("back").disabled = state.from === 0;
    at("next").disabled = state.from >= last;
    for (const head of document.querySelectorAll("#table th")) {
      head.className = "sorts" + (head.textContent === state.sort ? (state.down ? " down" : " up") : "");
    }
  }

  /* ---- tables that the page brings along ---- */
  function sortable(where) {
    const body = where.tBodies[0];
    [...where.tHead.rows[0].cells].forEach((head, k) => {
      head.className = "sorts";
      head.addEventListener("click", () => {
        const down = head.classList.contains("up"), value = (line) => line.cells[k].textContent, number = (text) => (text === "–" ? -1 : Number(text));
        body.append(...[...body.rows].sort((a, b) => {
          const one = number(value(a)), two = number(value(b));
          return (down ? -1 : 1) * (Number.isNaN(one) || Number.isNaN(two) ? less(value(a), value(b)) : one - two);
        }));
        for (const other of where.tHead.rows[0].cells) other.className = "sorts";
        head.classList.add(down ? "down" : "up");
      });
    });
  }

  function open(number) {
    const before = graph;
    read(number);
    state.row = null;
    state.from = 0;
    extra = [];
    near = new Set();
    at("color").querySelector("[value=super]").hidden = !view.superNode;
    if (state.color === "super" && !view.superNode) at("color").value = state.color = "prediction";
    if (before === graph && sigma) {
      for (const key of drawn.filterEdges((_, edge) => edge.attention)) drawn.dropEdge(key);
      recolor();
    } else {
      drawGraph();
    }
    at("color-label").hidden = !graph.x;
    detail(null);
    worst();
    table();
  }

  /* ---- begin ---- */
  data.views.forEach((one, number) => {
    const many = data.graphs.length > 1 ? `${data.graphs[one.graph].title}: ` : "";
    const option = make("option", `${many}${one.run}, split ${one.split}`);
    option.value = number;
    at("view").append(option);
  });
  const head = document.querySelector("#table thead tr");
  for (const [name] of COLUMNS) {
    const cell = make("th", name, "sorts");
    cell.addEventListener("click", () => {
      state.down = state.sort === name && !state.down;
      state.sort = name;
      state.from = 0;
      table();
    });
    head.append(cell);
  }
  at("view").addEventListener("change", (event) => open(Number(event.target.value)));
  at("color").addEventListener("change", (event) => { state.color = event.target.value; recolor(); });
  for (const id of ["search", "which"]) at(id).addEventListener("input", () => { state.from = 0; table(); });
  at("back").addEventListener("click", () => { state.from -= PAGE; table(); });
  at("next").addEventListener("click", () => { state.from += PAGE; table(); });
  dark.addEventListener("change", () => {
    computed.clear();
    if (sigma) { sigma.setSetting("defaultEdgeColor", edgeColor(graph.edges.length / 2)); sigma.setSetting("labelColor", { color: theme("--ink") }); }
    recolor();
    detail(state.row);
  });
  document.querySelectorAll("table.sortable").forEach(sortable);
  open(0);
  performance.mark("ansgt-table");
  window.ansgtPage = {
    /* for tests: where a node is on the screen */
    place: (row) => sigma && sigma.graphToViewport(drawn.getNodeAttributes(row)),
    color: (row) => sigma && sigma.getNodeDisplayData(row).color,
    attentionEdges: () => extra.length,
    selected: () => state.row,
    choose: (row) => select(row, true),
    camera: () => sigma && sigma.getCamera().getState(),
  };
})();
