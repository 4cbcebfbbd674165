// Training curves of a series, seed by seed, or of all rules at a limit; the runs behind them.

const CODES = Object.fromEntries([..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"].map((letter, i) => [letter, i]));
const NO_VALUE = 4095;
const QUANTITIES = ["return", "cost", "lambda"];

// Curves [runs][bins] of a packed quantity; null where there is no value.
function unpack(packed, runs, bins) {
  if (!packed) return [];
  if (!packed.runs.length) return range(runs).map(() => range(bins).map(() => packed.lo));
  return packed.runs.map((text) =>
    range(text.length / 2).map((i) => {
      const code = CODES[text[2 * i]] * 64 + CODES[text[2 * i + 1]];
      return code === NO_VALUE ? null : packed.lo + (code / (NO_VALUE - 1)) * (packed.hi - packed.lo);
    }),
  );
}

function curvesOf(task, series, quantity) {
  const axis = task.axes[series.axis];
  const runs = unpack(series.curves[quantity], series.runs.length, axis.length);
  const columns = axis.map((_, i) => known(runs.map((run) => run[i])));
  const middle = columns.map((values) => (values.length ? mean(values) : null));
  const half = columns.map(deviation);
  return { axis, runs, middle, lo: middle.map((m, i) => (m === null ? null : m - half[i])), hi: middle.map((m, i) => (m === null ? null : m + half[i])) };
}

function drawTraining(state) {
  const shown = state.chosen.map((i) => state.task.series[i]);
  // Before any is drawn, since they share the width. A policy with a dial has no lambda of its own.
  for (const quantity of QUANTITIES) $(`#training-${quantity}`).parentElement.hidden = !shown.some((series) => series.curves[quantity]);
  state.training = QUANTITIES.map((quantity) => trainingChart(state, quantity, shown));
  const alone = shown.length === 1;
  const items = alone
    ? [legendLine("mean over seeds", "var(--ink)"), legendLine("one seed", colourOf(state.task, shown[0]), "thin")]
    : [...shown.map((series) => legendLine(ruleName(series.rule), colourOf(state.task, series))), legendBand("± 1 SD over seeds", "var(--muted)")];
  if (shown.some((series) => series.limit !== null)) items.push(legendItem("limit", draw("line", { x1: -11, x2: 11, class: "limit-line" })));
  $("#training-legend").replaceChildren(...(shown.length ? items : []));
  runsTable(state, shown);
}

const colourOf = (task, series) => (isSweep(series) ? lambdaColour(task)(series.lambda) : ruleColour(task, series.rule));

function trainingChart(state, quantity, shown) {
  const host = $(`#training-${quantity}`), { task } = state;
  host.replaceChildren();
  const all = shown.map((series) => curvesOf(task, series, quantity));
  const alone = all.length === 1;
  const limit = quantity === "cost" ? shown[0]?.limit ?? null : null;
  const values = all.flatMap((curves) => (alone ? known(curves.runs.flat()) : known([...curves.lo, ...curves.hi])));
  if (!values.length) return null;
  const lows = quantity === "return" ? {} : { zero: true };
  const domain = span(limit === null ? values : [...values, limit], lows);
  if (quantity !== "return") domain[0] = Math.max(domain[0], 0);
  const chart = axes(host, {
    height: 220,
    x: { domain: [0, Math.max(...all.flatMap((curves) => known(curves.axis)))], title: "env steps", text: steps },
    y: { domain, title: quantity === "lambda" ? "λ" : quantity },
    label: `${quantity} along training`,
  });
  chart.lines = [];
  all.forEach((curves, i) => {
    const colour = colourOf(task, shown[i]);
    if (alone) {
      chart.lines = curves.runs.map((run) => draw("path", { class: "thin", style: `stroke:${colour}`, d: linePath(chart, curves.axis, run) }));
      chart.plot.append(...chart.lines);
    } else {
      chart.back.append(draw("path", { class: "band", style: `fill:${colour}`, d: bandPath(chart, curves.axis, curves.lo, curves.hi) }));
    }
    chart.plot.append(draw("path", { class: "line", style: `stroke:${alone ? "var(--ink)" : colour}`, d: linePath(chart, curves.axis, curves.middle) }));
  });
  if (limit !== null) {
    chart.back.append(draw("line", { class: "limit-line", x1: LEFT, x2: chart.width - RIGHT, y1: chart.y(limit), y2: chart.y(limit) }));
  }
  followPointer(chart, all, shown);
  return chart;
}

// A guide under the pointer, and the values there.
function followPointer(chart, all, shown) {
  const guide = draw("line", { class: "guide", y1: TOP, y2: chart.floor, visibility: "hidden" });
  chart.plot.append(guide);
  chart.svg.addEventListener("pointermove", (event) => {
    const [x, y] = pointerIn(chart, event);
    const axis = all[0].axis, step = chart.x.invert(x);
    const place = axis.reduce((best, value, i) => (value !== null && Math.abs(value - step) < Math.abs(axis[best] - step) ? i : best), 0);
    fill(guide, { x1: chart.x(axis[place]), x2: chart.x(axis[place]), visibility: "visible" }, []);
    const lines = all.map((curves, i) => {
      const middle = curves.middle[place] ?? null;
      const half = middle === null ? null : curves.hi[place] - middle;
      return make("div", { text: `${nameOf(shown[i])}: ${plain(middle)}${half ? ` ± ${plain(half)}` : ""}` });
    });
    showTip(chart, x, y, make("div", { text: `${steps(axis[place])} env steps` }), ...lines);
  });
  chart.svg.addEventListener("pointerleave", () => {
    guide.setAttribute("visibility", "hidden");
    hideTip();
  });
}

function runsTable(state, shown) {
  const host = $("#runs"), count = shown.reduce((sum, series) => sum + series.runs.length, 0);
  $("#runs-box summary").textContent = count === 1 ? "1 run" : `${count} runs`;
  const alone = shown.length === 1;
  const head = [["rule", true], ["seed"], ["return"], ["cost"], ["within", true], ["run", true]].slice(alone ? 1 : 0);
  const body = make("tbody");
  for (const series of shown) {
    series.runs.forEach(([name, seed, ret, cost], i) => {
      const limit = series.limit ?? state.finding?.limit ?? null;
      const within = limit === null ? "" : cost <= limit ? "yes" : "no";
      const heat = (on) => () => alone && state.training.forEach((chart) => chart?.lines[i]?.classList.toggle("hot", on));
      const cells = [make("td", { text: seed }), make("td", { text: plain(ret) }), make("td", { text: plain(cost) })];
      if (!alone) cells.unshift(make("td", { class: "words", text: ruleName(series.rule) }));
      cells.push(make("td", { class: `words ${within === "no" ? "violated" : ""}`, text: within }), make("td", { class: "words", text: name }));
      body.append(make("tr", { onpointerenter: heat(true), onpointerleave: heat(false) }, ...cells));
    });
  }
  const headings = head.map(([text, words]) => make("th", { scope: "col", class: words ? "words" : null, text: text === "within" ? "within the limit" : text }));
  host.replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, ...headings)), body));
}
