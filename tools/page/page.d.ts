// What src/saddle/report/page/data.py writes into the page, as far as its scripts name it, and what they keep of it.

interface Estimate {
  value: number | null;
  lo: number | null;
  hi: number | null;
}

// What is known at one limit.
interface Finding {
  limit: number;
  status: string;
  [answer: string]: any;
}

// Runs that differ in their seed only: a lambda of the sweep, or a rule at a limit.
interface Series {
  rule: string;
  lambda: number | null;
  others: number[]; // lambdas of the other constraints, of several
  limit: number | null;
  axis: number;
  runs: [run: string, seed: number, ret: number, cost: number][];
  curves: any;
}

// An episode at a setting of a dial.
interface DialEpisode {
  lambda: number;
  return: number;
  cost: number;
  picture: string; // an address that holds it
  film?: string; // the same, of worlds that draw themselves
}

interface Task {
  task: string;
  algorithm: string;
  constraint: string; // the one of several that this is about; empty where there is one
  together: string[]; // lambda* of all constraints, a sentence for each set of limits
  limits: Finding[];
  groups: any[];
  comparison: any[];
  critics: any[]; // what they say beside what episodes come to; empty where no learner logs it
  asked: number[]; // limits that a person asked for, in their order
  recommended: { limit: number; kind: string; [reason: string]: any }[];
  published_comparison: number[];
  series: Series[];
  episodes: DialEpisode[] | null; // of a policy with a dial
  [part: string]: any;
}

interface PageData {
  study: any;
  counts: { used: number; total: number };
  options: any;
  reproduce: any;
  rules: Record<string, string>;
  tasks: Task[];
}

interface PageState {
  data: PageData;
  task: Task; // from the first showTask on
  finding: Finding | null;
  chosen: number[]; // places of series
  hover: number | null; // place of a series
  pointed: boolean; // whether the reader chose it, since the limit moved
  near: boolean;
  sort: { column: number; down: boolean };
  frontier?: any; // charts
  profile?: any;
}
