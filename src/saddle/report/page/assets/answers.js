// What is known at the limit: a sentence and five cards.

const REGIME_WORDS = {
  restrictive: "a tighter limit takes much return",
  unrestrictive: "a tighter limit takes little return",
  even: "a tighter limit takes about as much return as on average: neither clearly more nor clearly less",
};
const END_WORDS = { "always below": "at the smallest λ", "always above": "at the largest λ" };

function card(id, title, estimate, text, more) {
  const value = typeof estimate === "string" ? estimate : text(estimate.value);
  const ends = typeof estimate === "string" ? {} : { "data-value": estimate.value, "data-lo": estimate.lo, "data-hi": estimate.hi };
  const small = [typeof estimate === "string" ? "" : interval(estimate, text), more].filter(Boolean).join(" · ");
  return make("div", { id, ...ends }, make("dt", { text: title }), make("dd", { class: "value", text: value }), make("dd", { class: "more", text: small }));
}

function showAnswers(state) {
  const { finding, data } = state, nothing = { value: null, lo: null, hi: null };
  $("#answers").hidden = !finding;
  $("#together").replaceChildren(...state.task.together.map((text) => make("li", { text })));
  if (!finding) return;
  const fixed = finding.margins.find((margin) => margin.rule === "fixed");
  const others = finding.margins.filter((margin) => margin.rule !== "fixed" && margin.training_limit.value !== null);
  const named = others.length > 3 ? ["other rules: see the table"] : others.map((margin) => `${ruleName(margin.rule)} ${plain(margin.training_limit.value)} ${interval(margin.training_limit)}`);
  const wanted = percent(data.options.satisfied_share);
  const which = state.task.constraint ? `${state.task.constraint}. ` : "";
  $("#sentence").textContent = which + sentence(finding, fixed, wanted);
  $("#cards").replaceChildren(
    card("lambda-star", "λ* at this limit", finding.lambda, plain, finding.status === "reached" ? "" : finding.status ?? "no sweep"),
    card("regime", "regime", finding.regime ?? "–", plain, REGIME_WORDS[finding.regime] ?? "cannot be told"),
    card("expected-return", "expected return", finding.return, plain, finding.status === "always below" ? END_WORDS[finding.status] : ""),
    card("violation-share", "seeds that violate there", finding.violation_share, percent, END_WORDS[finding.status] ?? ""),
    card("training-limit", `train at, for ${wanted} of seeds within`, fixed?.training_limit ?? nothing, plain, [fixed?.lambda?.value ? `fixed λ ${plain(fixed.lambda.value)}` : "", ...named].filter(Boolean).join(" · ")),
  );
}

function sentence(finding, fixed, wanted) {
  const limit = plain(finding.limit);
  if (finding.status === null) return `Limit ${limit}: ${finding.reason}.`;
  if (finding.status !== "reached") return `Limit ${limit} ${finding.reason}.`;
  const parts = [`To keep the mean cost at ${limit}, set λ to ${ranged(finding.lambda)}: expect a return of ${ranged(finding.return)}.`];
  if (finding.violation_share.value !== null) parts.push(`About ${ranged(finding.violation_share, percent)} of seeds would still cost more than that.`);
  if (fixed && fixed.training_limit.value !== null) parts.push(`For ${wanted} of seeds within it, train at ${ranged(fixed.training_limit)}.`);
  else if (fixed) parts.push(`A stricter limit to train at cannot be given: ${fixed.reason}.`);
  return parts.join(" ");
}
