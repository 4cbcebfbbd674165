// State, and what follows from a change of it: task, limit, chosen series, series under the pointer.

/** @type {PageData} */
const data = JSON.parse($("#data").textContent);
/** @type {any} */
const noTask = null; // until the first is shown
/** @type {PageState} */
const state = { data, task: noTask, finding: null, chosen: [], hover: null, pointed: false, near: false, sort: { column: 0, down: false } };

function showTask(index) {
  state.task = data.tasks[index];
  state.hover = null;
  state.pointed = false;
  const { limits } = state.task;
  $("#limit").max = Math.max(limits.length - 1, 0);
  $("#limit-box").hidden = !limits.length;
  state.finding = limits[nearestLimit(firstLimit())] ?? null;
  chips();
  seriesPicker();
  state.chosen = firstChoice();
  drawAll();
}

// The first limit that was asked for, else one that runs were trained at, else a published one that the sweep reaches,
// else one worth testing at.
function firstLimit() {
  const { limits, asked, comparison, recommended, published_comparison: published } = state.task;
  const reached = published.find((limit) => limits.some((finding) => finding.limit === limit && finding.status === "reached"));
  return asked[0] ?? comparison[0]?.limit ?? reached ?? recommended[0]?.limit ?? limits[Math.floor(limits.length / 2)]?.limit;
}

// Charts depend on the width of the page; everything that they show is in the state.
function drawAll() {
  $("#snap").textContent = "";
  redrawFrontier();
  state.profile = drawProfile(state);
  listen("profile", state.profile ?? []);
  pairsTable(state);
  criticsTable(state);
  mapTable(state);
  regimeList(state);
  drawEpisodes(state);
  showLimit();
  showSeries(state.chosen);
}

function redrawFrontier() {
  state.frontier = drawFrontier(state);
  listen("frontier", state.frontier ? [state.frontier] : []);
}

function nearestLimit(limit) {
  const far = (finding) => Math.abs(finding.limit - limit);
  return state.task.limits.reduce((best, finding, i, all) => (far(finding) < far(all[best]) ? i : best), 0);
}

function setLimit(index) {
  state.finding = state.task.limits[index] ?? null;
  state.pointed = false;
  $("#snap").textContent = "";
  showLimit();
}

function showLimit() {
  const { finding } = state;
  if (finding) {
    const slider = $("#limit");
    slider.value = state.task.limits.indexOf(finding);
    slider.setAttribute("aria-valuetext", `cost limit ${plain(finding.limit)}`);
    $("#limit-number").value = finding.limit;
  }
  for (const chip of $("#chips").children) chip.setAttribute("aria-pressed", Number(chip.dataset.limit) === finding?.limit);
  showAnswers(state);
  if (state.near) redrawFrontier();
  moveFrontier(state);
  moveProfile(state);
  comparisonTable(state, chooseCell);
  overTrainingTable(state);
  noteList(state);
  showMarks();
  keepAddress();
}

// The page's address names what it shows, and opens there: #task=NAME&limit=25, with &algorithm= and &constraint= where
// there are several, and &rule= or &lambda= where one series is chosen, other than the one that the page opens with.
const several = new Set(data.tasks.map((task) => task.algorithm)).size > 1;

function address() {
  const { task, finding } = state;
  const parts = new URLSearchParams({ task: task.task });
  if (several) parts.set("algorithm", task.algorithm);
  if (task.constraint) parts.set("constraint", task.constraint);
  if (finding) parts.set("limit", String(finding.limit));
  const isFirst = state.chosen.join() === firstChoice().join();
  const alone = state.chosen.length === 1 && !isFirst ? task.series[state.chosen[0]] : null;
  if (alone) parts.set(isSweep(alone) ? "lambda" : "rule", String(isSweep(alone) ? alone.lambda : alone.rule));
  return `#${parts}`;
}

// Browsers allow few changes of the address in a second, and a slider makes many: only the last one is written.
let addressTimer = 0;
function keepAddress() {
  clearTimeout(addressTimer);
  addressTimer = setTimeout(() => {
    try { history.replaceState(null, "", address()); } catch { /* a page shown within another has no address of its own */ }
  }, 200);
}

// Whether the address names a task of this file; if so, it is shown.
function openAddress() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const [task, algorithm, constraint, limit] = ["task", "algorithm", "constraint", "limit"].map((name) => parts.get(name));
  const isNamed = (one) => one.task === task && (algorithm === null || one.algorithm === algorithm) && (constraint === null || one.constraint === constraint);
  const index = data.tasks.findIndex(isNamed);
  if (index < 0) return false;
  $("#task").value = index;
  showTask(index);
  if (limit !== null && limit.trim() !== "") wantLimit(Number(limit));
  const series = namedSeries(parts.get("rule"), parts.get("lambda"));
  if (series !== null) choose([series]);
  return true;
}

// The series of a rule, at this limit if there is one, or of a lambda of the sweep; null: none.
function namedSeries(rule, lambda) {
  const { series } = state.task;
  const all = range(series.length);
  const own = all.filter((i) => (rule !== null ? !isSweep(series[i]) && series[i].rule === rule : isSweep(series[i]) && String(series[i].lambda) === lambda));
  return own.find((i) => series[i].limit === state.finding?.limit) ?? own[0] ?? null;
}

function chips() {
  const { asked, comparison, recommended, limits } = state.task;
  const reasons = new Map(state.task.published_comparison.map((limit) => [limit, "published"]));
  for (const cell of comparison) reasons.set(cell.limit, "trained at");
  for (const advice of recommended) reasons.set(advice.limit, reasons.has(advice.limit) ? `${reasons.get(advice.limit)}, ${advice.kind}` : `worth testing, ${advice.kind}`);
  for (const limit of asked) reasons.set(limit, reasons.has(limit) ? `asked, ${reasons.get(limit)}` : "asked");
  const wanted = [...reasons].filter(([limit]) => limits.some((finding) => finding.limit === limit)).sort((a, b) => a[0] - b[0]);
  const buttons = wanted.map(([limit, why]) =>
    make("button", { type: "button", "data-limit": limit, text: `${plain(limit)} · ${why}`, onclick: () => setLimit(nearestLimit(limit)) }),
  );
  $("#chips").replaceChildren(...buttons);
}

function typedLimit() {
  const typed = $("#limit-number").value;
  if (typed === "") showLimit();
  else wantLimit(Number(typed));
}

function wantLimit(wanted) {
  if (!Number.isFinite(wanted) || !state.finding) return showLimit();
  setLimit(nearestLimit(wanted));
  if (state.finding.limit !== wanted) {
    $("#snap").textContent = `Shown: ${plain(state.finding.limit)}, the nearest limit in this file. For ${wanted}: saddle analyze STUDY --limit ${wanted}, or saddle report --limit ${wanted}.`;
  }
}

// Series to choose from: every lambda, every rule at a limit, and all rules of a limit at once.
function seriesPicker() {
  const { series } = state.task, groups = [];
  const limits = [...new Set(series.filter((one) => !isSweep(one)).map((one) => one.limit))];
  for (const limit of limits) {
    const own = range(series.length).filter((i) => series[i].limit === limit);
    const options = own.map((i) => make("option", { value: String(i), text: `${ruleName(series[i].rule)}, limit ${plain(limit)}` }));
    if (own.length > 1) options.unshift(make("option", { value: own.join(), text: `all rules, limit ${plain(limit)}` }));
    groups.push(make("optgroup", { label: `limit ${plain(limit)}` }, ...options));
  }
  const swept = range(series.length).filter((i) => isSweep(series[i]));
  if (swept.length) groups.push(make("optgroup", { label: "fixed λ" }, ...swept.map((i) => make("option", { value: String(i), text: nameOf(series[i]) }))));
  $("#series").replaceChildren(...groups);
}

function firstChoice() {
  const option = $("#series option");
  return option ? option.value.split(",").map(Number) : [];
}

// By the reader, who then wants to see the episode of that point, until the limit moves.
function choose(series) {
  state.pointed = true;
  showSeries(series);
}

function showSeries(series) {
  state.chosen = series;
  $("#series").value = series.join();
  drawTraining(state);
  showMarks();
  keepAddress();
}

function chooseCell(index) {
  choose([index]);
  setLimit(nearestLimit(state.task.series[index].limit));
  $("#training-title").scrollIntoView({ block: "center", behavior: "auto" });
}

function hover(series, chart, place) {
  state.hover = series;
  showMarks();
  if (series === null) hideTip();
  else showTip(chart, ...place, ...tipContent(series));
}

function showMarks() {
  markFrontier(state, state.hover ?? (state.chosen.length === 1 ? state.chosen[0] : null));
  markProfile(state);
  markEpisodes(state);
}

function tipContent(index) {
  const series = state.task.series[index], group = index < state.task.groups.length ? state.task.groups[index] : state.task.comparison[index - state.task.groups.length];
  const spread = (name) => `${plain(group[name].value)}${group[`${name}_sd`] === null ? "" : ` ± ${plain(group[`${name}_sd`])}`}`;
  const rows = series.runs.slice(0, 12).map(([, seed, ret, cost]) => make("tr", {}, ...[seed, plain(ret), plain(cost)].map((text) => make("td", { text }))));
  const head = make("tr", {}, ...["seed", "return", "cost"].map((text) => make("th", { text })));
  const more = series.runs.length > 12 ? [make("div", { text: `and ${series.runs.length - 12} more` })] : [];
  return [
    make("b", { text: nameOf(series) }),
    make("div", { text: `return ${spread("return")}, cost ${spread("cost")}` }),
    make("table", {}, head, ...rows),
    ...more,
  ];
}

// Pointer and keys on the two linked charts. As a control, a chart is a slider along the sweep's lambdas.
function listen(id, charts) {
  const host = $(`#${id}`), groups = state.task.groups;
  const seek = (chart, event) => (id === "frontier" ? frontierNearest(state, pointerIn(chart, event)) : profileNearest(chart, pointerIn(chart, event)[0]));
  for (const chart of charts) {
    chart.svg.addEventListener("pointermove", (event) => hover(seek(chart, event), chart, pointerIn(chart, event)));
    chart.svg.addEventListener("pointerleave", () => hover(null));
    chart.svg.addEventListener("click", (event) => {
      const series = seek(chart, event);
      if (series !== null) choose([series]);
    });
  }
  if (!groups.length) return ["role", "tabindex"].forEach((name) => host.removeAttribute(name));
  fill(host, { role: "slider", tabindex: 0, "aria-label": `${id}: choose a fixed lambda with the arrow keys`, "aria-valuemin": 0, "aria-valuemax": groups.length - 1 }, []);
  speak(host);
  host.onkeydown = (event) => {
    const now = state.chosen.length === 1 && state.chosen[0] < groups.length ? state.chosen[0] : -1;
    const moves = { ArrowRight: now + 1, ArrowUp: now + 1, ArrowLeft: now - 1, ArrowDown: now - 1, Home: 0, End: groups.length - 1 };
    if (!(event.key in moves)) return;
    event.preventDefault();
    choose([Math.min(Math.max(moves[event.key], 0), groups.length - 1)]);
    ["frontier", "profile"].forEach((name) => speak($(`#${name}`)));
  };
}

function speak(host) {
  const chosen = state.chosen.length === 1 && state.chosen[0] < state.task.groups.length ? state.chosen[0] : 0;
  const group = state.task.groups[chosen];
  const words = `lambda ${plain(group.lambda)}: return ${plain(group.return.value)}, cost ${plain(group.cost.value)}`;
  fill(host, { "aria-valuenow": chosen, "aria-valuetext": words }, []);
}

function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)"), button = $("#theme");
  const stored = (() => { try { return localStorage.getItem("saddle-theme"); } catch { return null; } })();
  const set = (name) => {
    document.documentElement.dataset.theme = name;
    button.textContent = name === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${name === "dark" ? "light" : "dark"} colours`);
  };
  set(stored ?? (dark.matches ? "dark" : "light"));
  button.addEventListener("click", () => {
    const name = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    set(name);
    try { localStorage.setItem("saddle-theme", name); } catch { /* a file opened without storage keeps no choice */ }
  });
}

function start() {
  theme();
  const title = (task) => [task.task, several ? task.algorithm : "", task.constraint].filter(Boolean).join(" · ");
  $("#task").append(...data.tasks.map((task, i) => make("option", { value: i, text: title(task) })));
  const { used, total } = data.counts, count = data.tasks.length;
  let shown = count > 1 ? `${count} tasks` : "1 task";
  if (several) shown = `${count} pairs of task and algorithm`;
  if (data.tasks.some((task) => task.constraint)) shown = `${count} views of tasks and their constraints`;
  const parts = [`${used} of ${total} runs count`, shown];
  $("#summary").textContent = [...parts, `begun ${(data.study.created ?? "").slice(0, 10)}`, `Saddle ${data.study.saddle ?? ""}`].join(" · ");
  settings(data);
  addExports(state);
  $("#app").hidden = false;
  $("#task").addEventListener("change", (event) => showTask(Number(event.target.value)));
  $("#limit").addEventListener("input", (event) => setLimit(Number(event.target.value)));
  $("#limit-number").addEventListener("change", typedLimit);
  $("#near").addEventListener("change", (event) => {
    state.near = event.target.checked;
    redrawFrontier();
    showLimit();
  });
  $("#series").addEventListener("change", (event) => choose(event.target.value.split(",").map(Number)));
  window.addEventListener("scroll", hideTip, { passive: true });
  if (!openAddress()) showTask(0);
  window.addEventListener("hashchange", openAddress);
  let width = document.body.clientWidth;
  new ResizeObserver(() => {
    if (document.body.clientWidth !== width) {
      width = document.body.clientWidth;
      drawAll();
    }
  }).observe(document.body);
}

start();
