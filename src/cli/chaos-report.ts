/** Renders the result of `cairn chaos` as a table, for a terminal and for a documentation page. */
import type { Report } from "../chaos/compare.ts";
import type { EffectDifference } from "../chaos/effects.ts";
import type { Figures } from "../chaos/figures.ts";
import type { EffectSource } from "../chaos/stand-ins.ts";
import type { Strategy } from "../chaos/strategy.ts";
import { type Cell, type Style, fittedTable } from "../render/paint.ts";
import { commandLine, count, duration } from "../render/words.ts";

export interface ChaosStyle extends Pick<Style, "paint" | "width"> {
  readonly ok: boolean;
  /** The directory that was kept, or null. */
  readonly dir: string | null;
  /** The command that repeats the comparison. */
  readonly again: string;
}

const TITLES: { readonly [S in Strategy]: string } = {
  "in-process": "state in the process",
  "act-then-save": "act, then save",
  cairn: "cairn",
};

export function renderChaos(report: Report, page: ChaosStyle): string {
  const { ok, dir, again, paint } = page;
  const columns = [{ title: "" }, ...report.figures.map(({ strategy }) => ({ title: TITLES[strategy] }))];
  const rows = rowsOf(report).map(([name, ...cells]) => [dimCell(name)].concat(cells));
  const lines = [headline(report), "", ...fittedTable(columns, rows, page), "", paint("dim", countedWords(report))];
  const shown = report.failures.slice(0, FAILURES_SHOWN).map(({ task, killed, what, run, reference }) => {
    const where = task === null ? "" : `task ${task}${killed === null ? "" : `, killed ${killed}`}: `;
    const look = run === null ? "" : `\n  ${commandLine(["timeline", run, "--store", report.store])}`;
    const other =
      reference === undefined
        ? ""
        : `\n  uninterrupted: ${commandLine(["timeline", reference.run, "--store", reference.store])}`;
    return `${paint("red", "✗")} ${where}${what}${look}${other}`;
  });
  const more = report.failures.length - shown.length;
  if (shown.length > 0) lines.push("", ...shown, ...(more > 0 ? [`and ${more} more, which --json lists`] : []));
  if (dir !== null) lines.push("", `all stores are kept in ${dir}`);
  if (!ok) lines.push(`to repeat it: ${paint("bold", again)}`);
  return lines.join("\n");
}

const dimCell = (text: string): Cell => ({ text, ink: "dim" });

const FAILURES_SHOWN = 10;

export function renderMarkdown(report: Report): string {
  const titles = report.figures.map(({ strategy }) => TITLES[strategy]);
  const head = [
    ["", ...titles],
    ["---", ...titles.map(() => "---")],
  ];
  const lines = [...head, ...rowsOf(report)].map((cells) => `| ${cells.join(" | ")} |`);
  return [headline(report), "", ...lines, "", countedWords(report)].join("\n");
}

function headline({ agent, everyEdge, seed, figures }: Report): string {
  const tasks = count(figures[0]?.tasks ?? 0, "task");
  const where = everyEdge ? "one killed at each fault point of a run" : `each killed at a random beat (seed ${seed})`;
  return `${agent}: ${tasks}, ${where}, with SIGKILL`;
}

type Row = readonly [name: string, ...cells: string[]];

function rowsOf({ figures }: Report): readonly Row[] {
  const row = (name: string, cell: (column: Figures) => string): Row => [name, ...figures.map(cell)];
  const rows = [
    row("killed", ({ killed, tasks }) => `${killed} of ${tasks}`),
    row("runs surviving", ({ survived, tasks }) => `${survived}/${tasks}`),
    row("same result", ({ survived, divergent }) =>
      survived === 0 ? "–" : `${survived - divergent.length}/${survived}`,
    ),
    row("duplicate effects", ({ duplicates }) => (duplicates === null ? "n/a" : String(sumOf(duplicates)))),
    row("effects missing", ({ duplicates, missing }) => (duplicates === null ? "n/a" : String(sumOf(missing)))),
    row("work lost per kill", workCell),
    ...(figures.some(({ retries }) => retries > 0)
      ? [row("retries after timeouts", ({ retries }) => String(retries))]
      : []),
    row("resume time, p50", ({ resumeMs }) => (resumeMs === null ? "– (restart)" : duration(resumeMs.p50))),
    row("resume time, max", ({ resumeMs }) => (resumeMs === null ? "–" : duration(resumeMs.max))),
  ];
  const isAnswered = figures.some(({ answers }) => Object.values(answers).some((count) => count > 0));
  return isAnswered ? [...rows, row("decided for a human", answersCell)] : rows;
}

const sumOf = (differences: readonly EffectDifference[]): number =>
  differences.reduce((sum, { times }) => sum + times, 0);

function workCell({ strategy, work }: Figures): string {
  const { repliesMean, repliesMax, callsMean, callsMax } = work;
  const words = `${repliesMean.toFixed(1)} replies, ${callsMean.toFixed(1)} calls`;
  return strategy === "in-process" ? `all of it: ${words}` : `${words} (max ${repliesMax}, ${callsMax})`;
}

function answersCell({ answers }: Figures): string {
  const { approved, denied, answered, confirmed, repeated } = answers;
  const parts = [
    ...(approved > 0 ? [`${approved} approved`] : []),
    ...(denied > 0 ? [`${denied} denied`] : []),
    ...(answered > 0 ? [`${answered} answered`] : []),
    ...(confirmed > 0 ? [`${confirmed} had happened`] : []),
    ...(repeated > 0 ? [`${repeated} had not`] : []),
  ];
  return parts.join(", ") || "0";
}

const countedWords = ({ countedBy, casting, notDuring, leftOut }: Report): string =>
  [
    ...(casting.real.length === 0 ? [] : [`These tools acted for real: ${casting.real.join(", ")}.`]),
    ...(casting.faked.length === 0 ? [] : [fakedWords(casting.faked)]),
    COUNTED[countedBy],
    ...(notDuring.length === 0 ? [] : [notDuringWords(countedBy, notDuring)]),
    ...(leftOut.length === 0 ? [] : [NO_BASELINE]),
  ].join("\n");

const notDuringWords = (countedBy: Report["countedBy"], tools: readonly string[]): string =>
  countedBy === "calls"
    ? "No process was killed during a tool call, because only the external service knows whether such a call took effect."
    : `No process was killed during a call of ${tools.join(", ")}: only a human may say whether an unsafe call took effect.`;

const fakedWords = (tools: readonly string[]): string =>
  `Fakes replaced ${tools.join(", ")}, so nothing left this machine. They honour keys where the effect class of the tool says so; ` +
  "whether the real services do is not checked.";

const COUNTED: Readonly<Record<EffectSource, string>> = {
  "other side": "Effects are counted by the external service (chaos.effects of the agent's file).",
  fakes: "Effects are counted by the fakes.",
  calls:
    "Effects are counted where calls leave cairn: which tool ran, and under which key. Whether the external service honours " +
    "keys is not checked; export chaos = defineChaos({ input, effects }) to count there.",
};
const NO_BASELINE =
  "There is no plain loop to compare with: it knows ReAct only and no waits, and would leave out the gates, plans, rounds or waits.";
