// Return and cost against lambda, one above the other on the same axis.

function drawProfile(state) {
  const { task } = state, host = $("#profile");
  host.replaceChildren();
  $("#profile-legend").replaceChildren();
  if (!task.profile) {
    host.append(make("p", { class: "notice", text: "There are not enough fixed lambdas here for a profile." }));
    return null;
  }
  const log = state.data.options.scale === "log";
  const inside = range(task.groups.length).filter((i) => !log || task.groups[i].lambda > 0);
  const [first, last] = [task.profile.lambda[0], task.profile.lambda.at(-1)];
  const domain = log ? [first / (last / first) ** 0.015, last * (last / first) ** 0.015] : span([first, last], { room: 0.015 });
  const total = chartHeight(host);
  const parts = [["return", "return", Math.round(total * 0.46)], ["cost", "cost", total - Math.round(total * 0.46)]];
  const others = otherLearners(state).filter((one) => one.profile);
  const panels = parts.map(([name, title, height], i) => {
    const curve = task.profile[name], means = inside.map((j) => task.groups[j][name].value);
    const chart = axes(host, {
      height,
      quietX: i === 0,
      x: { domain, log, title: "λ" },
      y: { domain: span([...means, ...known(curve.lo), ...known(curve.hi), ...curve.value, ...others.flatMap((one) => known(one.profile[name].value))], { zero: name === "cost" }), title, colour: `var(--${name})` },
      label: `Profile of ${name} against lambda on ${task.task}`,
    });
    chart.moving = draw("g");
    chart.back.append(chart.moving);
    chart.back.append(draw("path", { class: "band", style: `fill:var(--${name})`, d: bandPath(chart, task.profile.lambda, curve.lo, curve.hi) }));
    for (const other of others) chart.back.append(otherLine(other, linePath(chart, other.profile.lambda, other.profile[name].value)));
    chart.plot.append(draw("path", { class: "line", style: `stroke:var(--${name})`, d: linePath(chart, task.profile.lambda, curve.value) }));
    const colour = lambdaColour(task);
    chart.dots = inside.map((j, k) => {
      const group = task.groups[j];
      const dot = draw("circle", { class: "dot", cx: chart.x(group.lambda), cy: chart.y(means[k]), r: 4.5, style: `fill:${colour(group.lambda)}` });
      chart.plot.append(dot);
      return [j, dot];
    });
    return chart;
  });
  const level = percent(state.data.options.level);
  $("#profile-legend").append(
    legendLine("return profile", "var(--return)"),
    legendLine("cost profile", "var(--cost)"),
    legendBand(`${level} band`, "var(--muted)"),
    ...others.map((one) => legendLine(`profiles of ${one.algorithm}`, one.colour)),
    legendItem("limit d", draw("line", { x1: -11, x2: 11, class: "limit-line" })),
    legendItem(`λ* with its ${level} interval`, draw("rect", { x: -8, y: -7, width: 16, height: 14, class: "star-band" }), draw("line", { y1: -7, y2: 7, class: "star-line" })),
  );
  return panels;
}

function moveProfile(state) {
  if (!state.profile) return;
  const finding = state.finding, grid = state.task.profile.lambda;
  state.profile.forEach((chart, i) => {
    chart.moving.replaceChildren();
    if (!finding) return;
    const star = finding.lambda;
    if (star.value !== null) {
      const [from, to] = [chart.x(star.lo ?? grid[0]), chart.x(star.hi ?? grid.at(-1))];
      const x = chart.x(star.value);
      chart.moving.append(draw("rect", { class: "star-band", x: from, y: 0, width: Math.max(to - from, 1), height: chart.floor }));
      chart.moving.append(draw("line", { class: "star-line", x1: x, x2: x, y1: 0, y2: chart.floor }));
    }
    if (i === 1) {
      const y = chart.y(finding.limit);
      chart.moving.append(draw("line", { class: "limit-line", x1: LEFT, x2: chart.width - RIGHT, y1: y, y2: y }));
      chart.moving.append(draw("text", { class: "quiet", x: chart.width - RIGHT - 4, y: y - 5, "text-anchor": "end", text: `d = ${plain(finding.limit)}` }));
    }
  });
}

function profileNearest(chart, x) {
  let best = null, least = 30;
  for (const [series, dot] of chart.dots) {
    const far = Math.abs(Number(dot.getAttribute("cx")) - x);
    if (far < least) [best, least] = [series, far];
  }
  return best;
}

function markProfile(state) {
  for (const chart of state.profile ?? []) for (const [series, dot] of chart.dots) mark(dot, series, state);
}
