// Return against cost: a point per lambda, the frontier, the rules at the limit.

function drawFrontier(state) {
  const { task } = state, host = $("#frontier");
  host.replaceChildren();
  const swept = task.groups, cells = task.comparison;
  if (!swept.length && !cells.length) return null;
  const curve = task.frontier?.curve;
  const window = frontierWindow(state, curve);
  const chart = axes(host, {
    height: chartHeight(host),
    x: { domain: window.cost, title: "cost of an episode" },
    y: { domain: window.return, title: "return of an episode" },
    label: `Return against cost on ${task.task}: ${swept.length} fixed lambdas and the frontier`,
  });
  chart.limit = draw("g");
  chart.back.append(chart.limit);
  if (curve) {
    chart.back.append(draw("path", { class: "band", style: "fill:var(--ink)", d: bandPath(chart, task.frontier.grid, curve.lo, curve.hi) }));
    regimeStrip(chart, task);
  }
  chart.dots = swept.map((group) => frontierDot(chart, group, lambdaColour(task)));
  for (const other of otherLearners(state)) {
    if (other.frontier) chart.back.append(otherLine(other, linePath(chart, other.frontier.grid, other.frontier.curve.value)));
  }
  if (curve) chart.plot.append(draw("path", { class: "line dashed", style: "stroke:var(--ink)", d: linePath(chart, task.frontier.grid, curve.value) }));
  chart.over = draw("g");
  chart.plot.append(chart.over);
  chart.places = swept.map((group) => [chart.x(group.cost.value), chart.y(group.return.value)]);
  frontierLegend(state);
  return chart;
}

// The same task under other learners, each with the colour of its lines.
function otherLearners(state) {
  const { task, data } = state;
  const isOther = (one) => one.task === task.task && one.constraint === task.constraint && one.algorithm !== task.algorithm;
  return data.tasks.filter(isOther).map((one, i) => ({ ...one, colour: `var(--rule${(i + 2) % 7})` }));
}

const otherLine = (other, d) => draw("path", { class: "line other", style: `stroke:${other.colour}`, "data-algorithm": other.algorithm, d });

// Costs and returns to show: everything, or what lies near the limit.
function frontierWindow(state, curve) {
  const { task, finding } = state;
  const ends = (one, name) => [-1, 1].map((side) => one[name].value + side * (one[`${name}_sd`] ?? 0));
  const near = state.near && finding && finding.limit > 0 ? [0, 2 * finding.limit] : null;
  const inside = (cost) => !near || cost <= near[1];
  const swept = task.groups.length > 0;
  const all = [...task.groups, ...task.comparison.filter((cell) => !swept || cell.limit === finding?.limit)].filter((one) => inside(one.cost.value));
  const costs = all.flatMap((one) => ends(one, "cost").map((cost) => Math.max(cost, 0))).concat(finding && !swept ? [finding.limit] : []);
  const onCurve = curve ? known(curve.value.filter((_, i) => inside(task.frontier.grid[i]))) : [];
  const others = near ? [] : otherLearners(state).flatMap((one) => one.groups);
  const returns = [...all, ...others].flatMap((one) => ends(one, "return")).concat(onCurve);
  costs.push(...others.map((group) => group.cost.value));
  return { cost: near ?? span(costs, { zero: true }), return: span(returns.length ? returns : [0, 1]) };
}

function chartHeight(host) {
  return Math.round(Math.min(Math.max(host.clientWidth * 0.68, 260), 440));
}

function frontierDot(chart, group, colour) {
  const [x, y] = [chart.x(group.cost.value), chart.y(group.return.value)];
  const [dx, dy] = [group.cost_sd ?? 0, group.return_sd ?? 0];
  const across = { x1: chart.x(Math.max(group.cost.value - dx, 0)), x2: chart.x(group.cost.value + dx), y1: y, y2: y };
  const upright = { x1: x, x2: x, y1: chart.y(group.return.value - dy), y2: chart.y(group.return.value + dy) };
  chart.back.append(draw("line", { class: "whisker", ...across }), draw("line", { class: "whisker", ...upright }));
  const dot = draw("circle", { class: "dot", cx: x, cy: y, r: 5.5, style: `fill:${colour(group.lambda)}` });
  chart.plot.append(dot);
  return dot;
}

function regimeStrip(chart, task) {
  for (const regime of task.regimes) {
    const [from, to] = [chart.x(regime.cost_from), chart.x(regime.cost_to)];
    const look = `fill:var(--${regime.kind})`;
    chart.back.append(draw("rect", { x: from, y: chart.floor - 6, width: Math.max(to - from, 1), height: 6, style: look }));
  }
}

// What moves with the limit: the region beyond it, lambda* on the frontier, and the rules trained at it.
function moveFrontier(state) {
  const chart = state.frontier, finding = state.finding;
  if (!chart) return;
  chart.limit.replaceChildren();
  chart.over.replaceChildren();
  chart.cells = [];
  if (finding) {
    const x = chart.x(finding.limit);
    const beyond = { class: "beyond", x, y: 0, width: Math.max(chart.width - x, 0), height: chart.floor };
    chart.limit.append(draw("rect", beyond), draw("line", { class: "limit-line", x1: x, x2: x, y1: 0, y2: chart.floor }));
    const flip = x > chart.width - 70;
    const at = { x: x + (flip ? -5 : 5), y: chart.floor - 12, "text-anchor": flip ? "end" : "start", class: "quiet" };
    chart.limit.append(draw("text", { ...at, text: `d = ${plain(finding.limit)}` }));
    if (finding.status === "reached") chart.over.append(starMark(x, chart.y(finding.return.value)));
  }
  state.task.comparison.forEach((cell, i) => {
    if (finding && state.task.groups.length && cell.limit !== finding.limit) return;
    const place = [chart.x(cell.cost.value), chart.y(cell.return.value)];
    const look = { class: "dot", transform: `translate(${place})`, style: `fill:${ruleColour(state.task, cell.rule)}` };
    const mark = draw("path", { ...look, d: ruleShape(state.task, cell.rule, 6) });
    chart.over.append(mark);
    chart.cells.push({ series: state.task.groups.length + i, place, mark });
  });
  chart.seeds = draw("g");
  chart.over.append(chart.seeds);
}

function starMark(x, y) {
  const points = range(10).map((i) => {
    const [r, angle] = [i % 2 ? 4 : 9.5, (i * Math.PI) / 5];
    return `${(x + r * Math.sin(angle)).toFixed(1)},${(y - r * Math.cos(angle)).toFixed(1)}`;
  });
  return draw("polygon", { points: points.join(" "), style: "fill:var(--paper);stroke:var(--ink);stroke-width:1.6" });
}

// The series under the pointer, or null.
function frontierNearest(state, [x, y]) {
  const chart = state.frontier;
  const places = [...chart.places.map((place, i) => [i, place]), ...chart.cells.map((cell) => [cell.series, cell.place])];
  let best = null, least = 26;
  for (const [series, place] of places) {
    const far = Math.hypot(place[0] - x, place[1] - y);
    if (far < least) [best, least] = [series, far];
  }
  return best;
}

function markFrontier(state, shown) {
  const chart = state.frontier;
  if (!chart) return;
  chart.dots.forEach((dot, i) => mark(dot, i, state));
  chart.cells.forEach((cell) => mark(cell.mark, cell.series, state));
  chart.seeds.replaceChildren();
  const runs = shown === null ? [] : state.task.series[shown].runs;
  for (const [, , ret, cost] of runs) chart.seeds.append(draw("circle", { class: "seed", cx: chart.x(cost), cy: chart.y(ret), r: 2.6 }));
}

function mark(element, series, state) {
  element.classList.toggle("hot", series === state.hover);
  element.classList.toggle("chosen", state.chosen.includes(series));
}

function frontierLegend(state) {
  const { task, data } = state, items = [];
  const lambdas = task.groups.map((group) => group.lambda);
  if (lambdas.length) {
    const stops = range(9).map((i) => viridis(i / 8)).join(",");
    const ramp = make("i", { class: "ramp", style: `background:linear-gradient(90deg,${stops})` });
    items.push(make("span", {}, `λ ${plain(Math.min(...lambdas))}`, ramp, `${plain(Math.max(...lambdas))}; bars ± 1 SD over seeds`));
  }
  if (task.frontier) {
    items.push(legendLine("frontier", "var(--ink)", "dashed"), legendBand(`${percent(data.options.level)} band`, "var(--ink)"));
    items.push(legendItem("λ* at the limit", starMark(0, 0)));
    const kinds = [...new Set(task.regimes.map((regime) => regime.kind))];
    items.push(...kinds.map((kind) => make("span", {}, make("i", { class: "key", style: `background:var(--${kind});margin:0` }), kind)));
  }
  items.push(...otherLearners(state).filter((one) => one.frontier).map((one) => legendLine(`frontier of ${one.algorithm}`, one.colour)));
  items.push(...[...new Set(task.comparison.map((cell) => cell.rule))].slice(0, 8).map((rule) => legendRule(task, rule)));
  $("#frontier-legend").replaceChildren(...items);
}
