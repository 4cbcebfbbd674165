// The comparison, rule against rule, regimes, notes, settings.

const withInterval = (estimate, text = plain) => {
  const ends = interval(estimate, text);
  const digits = { "data-value": estimate.value, "data-lo": estimate.lo, "data-hi": estimate.hi };
  return [text(estimate.value), ...(ends ? [" ", make("small", { text: ends, ...digits })] : [])];
};

// The training limit that a rule's own seeds call for, known at limits it was trained at.
const trainAt = (cell, task) =>
  task.limits.find((finding) => finding.limit === cell.limit)?.margins.find((margin) => margin.rule === cell.rule)?.training_limit;

// Head, sort key and content of each column.
const COLUMNS = [
  { head: "limit", key: (cell) => cell.limit, show: (cell) => [plain(cell.limit)] },
  { head: "rule", words: true, key: (cell) => ruleName(cell.rule), show: (cell) => [ruleName(cell.rule)] },
  {
    head: "mark",
    words: true,
    key: (cell) => (cell.best ? 0 : cell.violated ? 2 : 1),
    show: (cell) => (cell.best ? [make("b", { class: "best", text: "✓ best" })] : cell.violated ? [make("b", { class: "violated", text: "✕ violated" })] : []),
  },
  { head: "return", key: (cell) => cell.return.value, show: (cell) => withInterval(cell.return) },
  { head: "cost", key: (cell) => cell.cost.value, show: (cell) => withInterval(cell.cost) },
  { head: "seeds violating", key: (cell) => cell.violation.share, show: (cell) => [percent(cell.violation.share)] },
  { head: "gap to frontier", key: (cell) => cell.gap.value, show: (cell) => withInterval(cell.gap) },
  { head: "train at", key: (cell, task) => trainAt(cell, task)?.value ?? null, show: (cell, task) => (trainAt(cell, task) ? withInterval(trainAt(cell, task)) : []) },
  { head: "λ", key: (cell) => cell.lambda, show: (cell) => [plain(cell.lambda)] },
  { head: "seeds", key: (cell) => cell.seeds, show: (cell) => [String(cell.seeds)] },
];

// What is not known goes last, either way.
function ordered(task, column, down) {
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b);
  const keyed = task.comparison.map((cell, i) => ({ i, key: column.key(cell, task) }));
  const [there, missing] = [keyed.filter((one) => one.key !== null), keyed.filter((one) => one.key === null)];
  there.sort((a, b) => (down ? -1 : 1) * compare(a.key, b.key) || a.i - b.i);
  return [...there, ...missing].map((one) => one.i);
}

function comparisonTable(state, choose) {
  const cells = state.task.comparison, sort = state.sort;
  $("#comparison-box").hidden = !cells.length;
  const heads = COLUMNS.map((column, i) => {
    const resort = () => {
      state.sort = { column: i, down: sort.column === i && !sort.down };
      comparisonTable(state, choose);
      $(`#comparison th:nth-child(${i + 1}) button`).focus();
    };
    const direction = sort.column === i ? (sort.down ? "descending" : "ascending") : "none";
    return make("th", { scope: "col", class: column.words ? "words" : null, "aria-sort": direction }, make("button", { type: "button", text: column.head, onclick: resort }));
  });
  const rows = ordered(state.task, COLUMNS[sort.column], sort.down).map((i) => {
    const cell = cells[i];
    const name = `Show ${ruleName(cell.rule)} at limit ${plain(cell.limit)}`;
    const button = make("button", { type: "button", text: "show", "aria-label": name, onclick: () => choose(state.task.groups.length + i) });
    const here = state.finding?.limit === cell.limit;
    const content = COLUMNS.map((column) => make("td", { class: column.words ? "words" : null }, ...column.show(cell, state.task)));
    return make("tr", { class: here ? "here" : null, "data-limit": cell.limit }, ...content, make("td", {}, button));
  });
  const head = make("thead", {}, make("tr", {}, ...heads, make("th", {}, make("span", { "aria-label": "training curves" }))));
  $("#comparison").replaceChildren(make("table", {}, head, make("tbody", {}, ...rows)));
}

function pairsTable(state) {
  const pairs = state.task.pairs;
  $("#pairs-box").hidden = !pairs.length || pairs.length > 400;
  const heads = ["limit", "a seed of", "against one of", "has the higher return", "has the lower cost"];
  const rows = pairs.slice(0, 400).map((pair) =>
    make(
      "tr",
      {},
      make("td", { text: plain(pair.limit) }),
      make("td", { class: "words", text: ruleName(pair.first) }),
      make("td", { class: "words", text: ruleName(pair.second) }),
      make("td", {}, ...withInterval(pair.higher_return, percent)),
      make("td", {}, ...withInterval(pair.lower_cost, percent)),
    ),
  );
  const headings = heads.map((text, i) => make("th", { scope: "col", class: i === 1 || i === 2 ? "words" : null, text }));
  $("#pairs").replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, ...headings)), make("tbody", {}, ...rows)));
}

function criticsTable(state) {
  const { critics } = state.task;
  $("#critics-box").hidden = !critics.length;
  const heads = ["rule", "λ", "limit", "of", "seeds", "critics say", "episodes come to", "bias", "share"];
  const rows = critics.map((one) =>
    make(
      "tr",
      {},
      make("td", { class: "words", text: ruleName(one.rule) }),
      make("td", { text: `${plain(one.lambda)}${othersOf(one)}` }),
      make("td", { text: plain(one.limit) }),
      make("td", { class: "words", text: one.signal }),
      make("td", { text: String(one.seeds) }),
      make("td", {}, ...withInterval(one.said)),
      make("td", {}, ...withInterval(one.came)),
      make("td", {}, ...withInterval(one.bias)),
      make("td", { text: one.share === null ? "" : percent(one.share) }),
    ),
  );
  const headings = heads.map((text, i) => make("th", { scope: "col", class: i === 0 || i === 3 ? "words" : null, text }));
  $("#critics").replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, ...headings)), make("tbody", {}, ...rows)));
}

// How each rule kept its limit while it trained: head, and content, of what a cell says of that.
/** @type {[head: string, content: (told: any) => any[]][]} */
const OVER_TRAINING = [
  ["epochs above", (told) => withInterval(told.epochs_above, percent)],
  ["episodes above", (told) => withInterval(told.episodes_above, percent)],
  ["excess cost", (told) => withInterval(told.excess)],
  ["settles after", (told) => withInterval(told.settled_after)],
  ["of seeds", (told) => [percent(told.settled_share)]],
  ["overshoot", (told) => withInterval(told.overshoot)],
  ["oscillation", (told) => withInterval(told.oscillation)],
  ["worst tenth", (told) => withInterval(told.tail_cost)],
];

function overTrainingTable(state) {
  const cells = state.task.comparison.filter((cell) => cell.over_training);
  $("#over-training-box").hidden = !cells.length;
  const heads = ["limit", "rule", ...OVER_TRAINING.map(([head]) => head)];
  const headings = heads.map((text, i) => make("th", { scope: "col", class: i === 1 ? "words" : null, text }));
  const rows = cells.map((cell) =>
    make(
      "tr",
      { class: state.finding?.limit === cell.limit ? "here" : null },
      make("td", { text: plain(cell.limit) }),
      make("td", { class: "words", text: ruleName(cell.rule) }),
      ...OVER_TRAINING.map(([, show]) => make("td", {}, ...show(cell.over_training))),
    ),
  );
  $("#over-training").replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, ...headings)), make("tbody", {}, ...rows)));
}

// Rules by limits: blue where a rule's return is above the frontier's at its cost, orange where below.
function mapTable(state) {
  const map = state.task.map;
  $("#map-box").hidden = !map;
  if (!map) return;
  const most = Math.max(...known(map.cells.map((cell) => Math.abs(cell.gap_normalised.value ?? 0))), 1e-9);
  const rows = map.rules.map((rule) => {
    const cells = map.limits.map((limit) => {
      const cell = map.cells.find((one) => one.rule === rule && one.limit === limit.limit);
      if (!cell) return make("td", {});
      const gap = cell.gap_normalised.value;
      const share = gap === null ? 0 : Math.round((60 * Math.abs(gap)) / most);
      const colour = `background:color-mix(in srgb, var(--${gap > 0 ? "return" : "cost"}) ${share}%, transparent)`;
      const broken = cell.keeps === "broken" ? [make("b", { class: "violated", text: " ✕" })] : [];
      const violating = make("small", { text: `${percent(cell.violating.value)} violate` });
      return make("td", { class: limit.use.includes(rule) ? "use" : null, style: colour }, gap === null ? "–" : percent(gap), ...broken, violating);
    });
    return make("tr", {}, make("th", { scope: "row", class: "words", text: ruleName(rule) }), ...cells);
  });
  const heads = map.limits.map((limit) => make("th", { scope: "col", text: plain(limit.limit) }));
  const head = make("thead", {}, make("tr", {}, make("th", { scope: "col", class: "words", text: "rule at limit" }), ...heads));
  $("#map").replaceChildren(make("table", {}, head, make("tbody", {}, ...rows)));
  const words = [...map.limits.map((limit) => `${plain(limit.limit)}: ${limit.words}`), ...map.words];
  $("#map-words").replaceChildren(...words.map((text) => make("li", { text })));
}

const key = (kind) => make("i", { class: "key", style: `background:var(--${kind})` });

function regimeList(state) {
  const { task } = state, parts = [];
  if (task.regimes.length) {
    parts.push(make("ul", {}, ...task.regimes.map((regime) => make("li", {}, key(regime.kind), make("b", { text: regime.kind }), `: ${regime.reason}; normalised slope ${ranged(regime.normalised_slope)}.`))));
  } else {
    parts.push(make("p", { text: "The data show no regimes here." }));
  }
  if (task.recommended.length) {
    const advice = task.recommended.map((one) => make("li", {}, make("b", { text: plain(one.limit) }), ` (${one.kind}; ${one.published})`));
    parts.push(make("p", { text: "Limits worth testing at, one in each stretch:" }), make("ul", {}, ...advice));
  }
  for (const rise of task.profile?.rises ?? []) {
    const sure = rise.clear ? "clearly" : "perhaps";
    parts.push(make("p", { text: `The ${rise.quantity} ${sure} rises with λ, from ${plain(rise.lambda_from)} to ${plain(rise.lambda_to)}.` }));
  }
  $("#regimes").replaceChildren(...parts);
}

function noteList(state) {
  const { notes } = state.task, finding = state.finding;
  const here = [];
  if (finding?.status === "always above") here.push(`No λ* at limit ${plain(finding.limit)}: ${finding.reason}.`);
  if (finding && finding.status === "reached" && finding.regime === null) here.push(`The regime at limit ${plain(finding.limit)} cannot be told.`);
  const all = [...here, ...notes];
  $("#notes").replaceChildren(...(all.length ? all : ["Nothing stands out: all runs count, and every statement has its interval."]).map((text) => make("li", { text })));
}

function settings(data) {
  const { study, options, reproduce, counts } = data;
  const entry = ([name, value]) => (Array.isArray(value) && !value.length ? [] : [`${name} ${[value].flat().join(", ")}`]);
  const text = (value) => (value && typeof value === "object" ? Object.entries(value).flatMap(entry).join(" · ") : String(value ?? "not recorded"));
  const isPublished = options.construction === "published";
  const profile = isPublished ? `means smoothed by LOWESS over ${options.scale} λ with frac ${options.frac}` : "means pooled where they rise with λ";
  const facts = {
    study: `${study.name}, begun ${study.created ?? "at a time that is not recorded"}`,
    runs: `${counts.used} of ${counts.total} count`,
    Saddle: `${study.saddle ?? "?"}${study.git ? `, commit ${study.git.replace(/^([0-9a-f]{12})[0-9a-f]*/, "$1")}` : ""}`,
    versions: text(study.versions),
    machine: text(study.hardware),
    precision: text(study.precision),
    analysis: `final ${percent(options.final_share)} of training, ${profile}, ${percent(options.level)} intervals from ${options.replicates} replicates`,
  };
  const list = make("dl", { class: "words" }, ...Object.entries(facts).flatMap(([name, value]) => [make("dt", { text: name }), make("dd", { text: value })]));
  const published = isPublished ? " --published" : "";
  const commands = [reproduce.command, `saddle analyze STUDY --json${published}`, `saddle report STUDY --out report.html${published}`].filter(Boolean);
  const parts = [list, make("p", { text: "STUDY is the study's directory." }), make("pre", { id: "commands", tabindex: "0", text: commands.join("\n") })];
  if (reproduce.note) parts.push(make("p", { text: reproduce.note }));
  if (reproduce.file) parts.push(make("details", {}, make("summary", { text: "plan.toml: the study file" }), make("pre", { tabindex: "0", text: reproduce.file })));
  parts.push(make("details", {}, make("summary", { text: "The plan, in full" }), make("pre", { tabindex: "0", text: JSON.stringify(study.plan, null, 1) })));
  $("#settings").replaceChildren(...parts);
}
