/** Renders a run. */
import { BUDGET } from "../core/policy/extension.ts";
import type { Crack } from "../core/crack.ts";
import { responseTo } from "../core/topologies/cracks.ts";
import type { Status } from "../core/phases.ts";
import type { Damaged } from "../ports/run-table.ts";
import type { OpenGate, Shown, Summary, UnknownCall } from "../operations/views.ts";
import { askedFor, grantWords } from "./grants.ts";
import { type Ink, type Paint, type Style, pairs } from "./paint.ts";
import { labelWords, undrivenSince } from "./outage.ts";
import { goneOnWords, renderChildren } from "./children.ts";
import { renderWait } from "./input-waits.ts";
import { filesInWords } from "./files.ts";
import { budgetWords } from "./meters.ts";
import { waits } from "./waits.ts";
import {
  type CommandBuilder,
  count,
  dollars,
  duration,
  grouped,
  labelsText,
  relative,
  short,
  shortJson,
  momentWords,
  timeOfDay,
  titleWords,
} from "./words.ts";
import type { RunPlaces } from "../ports/run-places.ts";

export const INKS: { readonly [S in Status]: Ink } = {
  queued: "dim",
  running: "cyan",
  waiting: "cyan",
  paused: "yellow",
  blocked: "yellow",
  completed: "green",
  failed: "red",
  cancelled: "red",
};

export const inked = (status: Status, paint: Paint): string => paint(INKS[status], status);

/** The line of a run whose row cannot be decoded. Nothing else of the row is known. */
export const renderDamaged = (
  { run, why }: Damaged,
  style: Pick<Style, "paint"> & { readonly command: CommandBuilder },
): string =>
  `${style.paint("bold", run)}  ${style.paint("red", "damaged")}: ${why}; see ${style.paint("bold", style.command("verify", run))}`;

export function renderRun(run: Shown, style: Style & { readonly command: CommandBuilder }): string {
  const calls = run.unknown.map((call) => renderUnknown(run.run, call, style));
  const gates = run.gates.map((gate) => renderGate(run.run, gate, style));
  return [
    ...head(run, style),
    ...renderChildren(run, style),
    ...gates,
    ...run.waits.map((wait) => renderWait(run.run, wait, style)),
    ...calls,
    ...waits(run, style),
    ...paused(run, style),
    ...end(run, style),
  ].join("\n");
}

function head(run: Shown, { now, paint }: Style): string[] {
  const { tokensIn, tokensOut } = run.spent;
  const { beats, version, epoch, takeovers } = run;
  const attempt = run.attempt === 1 ? [] : [`attempt ${run.attempt}`];
  const done = [...attempt, count(beats, "beat"), `version ${version}`, `epoch ${epoch}`];
  const deaths = takeovers === 0 ? [] : [paint("yellow", count(takeovers, "takeover"))];
  const label = labelWords(run, now);
  const tokens = `${grouped(tokensIn)} tokens in, ${grouped(tokensOut)} out`;
  const wakes = run.inProgress && run.status !== "blocked" && run.status !== "paused" ? (run.wakeAt ?? 0) : 0;
  return [
    [paint("bold", run.run), run.agent, titleWords(run)].filter((word) => word !== "").join("  "),
    ...pairs(
      [
        ...(labelsText(run.labels) === "" ? [] : [["labels", labelsText(run.labels)] as const]),
        ["status", `${inked(run.status, paint)}${label === run.status ? "" : paint("dim", `, ${label}`)}`],
        ...drivenBy(run, now),
        ["started", startWords(run, now)],
        ...cancelOf(run),
        ...firingOf(run, now),
        ...restoredOf(run, now),
        ...deadlineOf(run, now),
        ["checkpoint", relative(run.lastCheckpointAt, now)],
        ["done", [...done, ...deaths].join(", ")],
        ["spent", `${spentOf(run)}, ${tokens}`],
        ...(run.budget.length === 0 ? [] : [["budget", budgetWords(run.budget)] as const]),
        ...(run.again == null ? [] : [["goes on", goneOnWords(run.again)] as const]),
        ...topologyOf(run, now),
        ...(run.standing.length === 0
          ? []
          : [["still stands", `${run.standing.join(", ")}, of work that was repeated`] as const]),
        ...(run.granted === null ? [] : [["granted", `${grantWords(run.granted)}, beyond its budget`] as const]),
        ...(run.ignoredDecision === null ? [] : [["decision", ignoredWords(run.ignoredDecision)] as const]),
        ...(run.assigned === null ? [] : [["assigned", `to ${run.assigned.to}, by ${run.assigned.by}`] as const]),
        ...unreadBy(run, now),
        ["task", shortJson(run.task, 200)],
        ...filesInWords(run),
        ...(wakes > now ? [["continues", momentWords(wakes, now)] as const] : []),
        ...keptOf(run, now),
        ...placeLines(run),
      ],
      paint,
    ),
  ];
}

/** A run that could be at work and is not. One that waits, is paused or is blocked says elsewhere for what. */
function drivenBy(run: Shown, now: number): readonly (readonly [string, string])[] {
  const since = undrivenSince(run, now);
  return since === null
    ? []
    : [["driven by", `${since}no process now; it is resumable, and the next invocation goes on with it`]];
}

/** What was delivered and no beat has taken in. An older server does not say it. */
const unreadBy = ({ unread }: Shown, now: number): readonly (readonly [string, string])[] =>
  unread == null
    ? []
    : [
        [
          "unread",
          `${count(unread.count, "message")}, the oldest from ${relative(unread.since, now)}; the next beat reads them`,
        ],
      ];

/** When a run that goes on must be over, and what follows then. */
function deadlineOf({ deadline, inProgress }: Shown, now: number): readonly (readonly [string, string])[] {
  if (deadline === null || !inProgress) return [];
  const { at, onExpiry } = deadline;
  const then = onExpiry === "undo" ? "undoes its effects and fails" : "fails, and its effects stay";
  return [["deadline", `${relative(at, now)}, at ${timeOfDay(at, now)}: then it ${then}`]];
}

/** Where the topology stands, and one line for each first signal of a failure. */
function topologyOf({ topology, cracks }: Shown, now: number): readonly (readonly [string, string])[] {
  const stands = topology === null ? [] : [[topology.kind, topology.where] as const];
  const signals = Object.entries(cracks).map(
    ([crack, { times, at, why }]) =>
      [
        "signal",
        `${crack}${times > 1 ? ` ${times} times` : ""}, ${relative(at, now)}: ${short(why, 200)} → ${responseTo(crack as Crack)}`,
      ] as const,
  );
  return [...stands, ...signals];
}

function startWords({ createdAt, startedBy, forkedFrom }: Shown, now: number): string {
  const by = startedBy === null ? "" : `, by ${startedBy}`;
  const from = forkedFrom === null ? "" : `, forked from ${forkedFrom.run} at version ${forkedFrom.version}`;
  return `${relative(createdAt, now)}, at ${timeOfDay(createdAt, now)}${by}${from}`;
}

/** What a run that is cancelled does with its calls under way. An older server does not say it. */
function cancelOf({ cancelling }: Shown): readonly (readonly [string, string])[] {
  if (cancelling == null) return [];
  const said = cancelling.map(
    ({ call, tool, effect, stops }) =>
      `${stops ? "aborts the signal of" : "waits for"} ${tool} (${call}, effect ${effect})`,
  );
  return [["cancel", ["asked for", ...said].join("; ")]];
}

/** The firing of a schedule that started the run. An older server does not say it. */
function firingOf({ firing }: Shown, now: number): readonly (readonly [string, string])[] {
  if (firing == null) return [];
  const { schedule, dueAt, previousDueAt, makesUp } = firing;
  const before = previousDueAt === null ? "the first that is known" : `the one before ${timeOfDay(previousDueAt, now)}`;
  const late = makesUp ? ", makes up for a missed time" : "";
  return [["firing", `of schedule ${schedule}, due ${timeOfDay(dueAt, now)}, ${before}${late}`]];
}

/** A decision that was delivered, but had no effect. */
export const ignoredWords = ({ as, by, call, why }: NonNullable<Shown["ignoredDecision"]>): string =>
  `${as} by ${by} about ${call} had no effect: ${why}`;

/** For a finished run: how long it is kept, and what is kept longer. */
function keptOf({ keptUntil, archive }: Shown, now: number): readonly (readonly [string, string])[] {
  if (keptUntil === null) return [];
  const kept = ["kept", `for ${duration(Math.max(0, keptUntil - now))} from now on`] as const;
  return archive === null ? [kept] : [kept, ["archive", archive.key]];
}

/** Its store was restored, and the services were not checked since. */
function restoredOf({ restored }: Shown, now: number): readonly (readonly [string, string])[] {
  // An older server does not say it.
  if (restored == null) return [];
  const { at, asOf } = restored;
  const from = `${relative(at, now)}, from its state of ${timeOfDay(asOf, now)}: what it did in between may have happened`;
  return [
    ["restored", from],
    ["asks first", "each unsafe call, and each probed call without a key of the agent's own"],
    ["may repeat", "keyed and idempotent calls under a new key, if they have no key of the agent's own"],
  ];
}

function paused(run: Shown, { paint, command }: Style & { readonly command: CommandBuilder }): string[] {
  const checked =
    run.restored == null
      ? []
      : ["", `once its external services were checked: ${paint("bold", command("checked", run.run))}`];
  return run.status === "paused"
    ? [...checked, "", `to resume it: ${paint("bold", command("resume", run.run))}`]
    : checked;
}

function end(run: Shown, { paint, command }: Style & { readonly command: CommandBuilder }): string[] {
  if (run.failure !== null) {
    const { code, message } = run.failure;
    const ways = run.redrivable
      ? [`to continue from its last checkpoint: ${paint("bold", command("redrive", run.run))}`]
      : [];
    return ["", `${paint("red", code)}: ${message}`, ...ways];
  }
  if (run.status !== "completed") return [];
  return [
    "",
    paint("dim", "result"),
    typeof run.result === "string" ? run.result : JSON.stringify(run.result, null, 2),
  ];
}

const untilOf = ({ expiresAt, asksAgain }: OpenGate, now: number): string =>
  `${timeOfDay(expiresAt, now)} (${relative(expiresAt, now)}), then ${asksAgain ? "it is asked again" : "it is denied"}`;

/** Shows a gate: the frozen call, and the decisions that an operator can make. */
export function renderGate(run: string, gate: OpenGate, style: Style & { readonly command: CommandBuilder }): string {
  const { now, paint, command } = style;
  if (gate.call === BUDGET) return renderBudget(run, gate, style);
  const title = `${paint("yellow", "?")} may ${paint("bold", gate.tool)} (${gate.call}) run? ${gate.reason}`;
  const until = untilOf(gate, now);
  const facts = [["arguments", shortJson(gate.args, 300)] as const, ...parsedFacts(gate), ["gate", gate.gate] as const];
  if (gate.decided) {
    return ["", title, ...pairs([...facts, ["decision", "recorded; the next beat applies it"]], paint)].join("\n");
  }
  const ways = [
    { type: command("approve", run, gate.call), means: "run it as shown (--args JSON runs it with other arguments)" },
    { type: command("deny", run, gate.call), means: "do not run it; the model is told so (--note gives the reason)" },
  ];
  const width = Math.max(...ways.map(({ type }) => type.length));
  return [
    "",
    title,
    ...pairs([...facts, ["until", until]], paint),
    ...ways.map(({ type, means }) => `  ${paint("bold", type.padEnd(width))}  ${paint("dim", `# ${means}`)}`),
  ].join("\n");
}

/** What the tool gets in place of the arguments, and what it does not get of them. */
function parsedFacts({ parsed }: OpenGate): (readonly [string, string])[] {
  if (parsed === null) return [];
  const { as, json, dropped } = parsed;
  const gets = ["tool gets", `${shortJson(json, 300)}${as === "value" ? "" : " (not JSON: shown as text)"}`] as const;
  return dropped.length === 0 ? [gets] : [gets, ["not sent", `${short(dropped.join(", "), 300)}: its schema drops it`]];
}

/** Shows an exhausted budget, and how to grant more. */
function renderBudget(
  run: string,
  gate: OpenGate,
  { now, paint, command }: Style & { readonly command: CommandBuilder },
): string {
  const title = `${paint("yellow", "?")} may the run spend more than its ${paint("bold", "budget")}? ${gate.reason}`;
  if (gate.decided)
    return ["", title, ...pairs([["decision", "recorded; the next beat applies it"]], paint)].join("\n");
  const until = untilOf(gate, now);
  const ways = [
    {
      type: command("approve", run, gate.call, ...askedFor(gate)),
      means: "grant as much again; any sufficient amount works",
    },
    { type: command("deny", run, gate.call), means: "grant nothing; the run ends" },
  ];
  const width = Math.max(...ways.map(({ type }) => type.length));
  return [
    "",
    title,
    ...pairs(
      [
        ["gate", gate.gate],
        ["until", until],
      ],
      paint,
    ),
    ...ways.map(({ type, means }) => `  ${paint("bold", type.padEnd(width))}  ${paint("dim", `# ${means}`)}`),
  ].join("\n");
}

/** Shows a call with an unknown outcome: its arguments, and how an operator can reconcile it. */
export function renderUnknown(
  run: string,
  call: UnknownCall,
  { now, paint, command }: Style & { readonly command: CommandBuilder },
): string {
  const name = `${paint("bold", call.tool)} (${call.call})`;
  const title =
    call.undoes !== undefined
      ? `${paint("yellow", "?")} is ${paint("bold", call.tool)} (${call.undoes}) undone?`
      : call.unbegun === null
        ? `${paint("yellow", "?")} the outcome of ${name} is unknown`
        : `${paint("yellow", "?")} ${name} was agreed and could not be started; it did not happen`;
  const key = `${call.key}${call.business ? ", the agent's own" : ""}`;
  const facts: (readonly [string, string])[] = [
    ["arguments", shortJson(call.args, 300)],
    ["key", key],
  ];
  if (call.byHand === true) facts.push(["why", "no tool can undo it; undo it by hand, or leave it"]);
  if (call.unbegun !== null) facts.push(["why", call.unbegun]);
  if (call.lostTime) facts.push(["why", "its run was restored from a backup; this may have happened in between"]);
  if (call.approval !== undefined) facts.push(["approval", `${call.approval}; the answer retry approves it`]);
  for (const line of call.did) facts.push(["its run", line]);
  if (call.answered) {
    return ["", title, ...pairs([...facts, ["answer", "recorded; the next beat applies it"]], paint)].join("\n");
  }
  if (call.otherwise !== "ask") {
    facts.push(["otherwise", `${FOLLOWS[call.otherwise]}, ${relative(call.reconcilableFrom, now)}`]);
  }
  const answers = answersTo(run, call, command);
  const width = Math.max(...answers.map(({ type }) => type.length));
  const from = `; accepted from ${timeOfDay(call.reconcilableFrom, now)} on (${relative(call.reconcilableFrom, now)})`;
  return [
    "",
    title,
    ...pairs(facts, paint),
    call.unbegun === null
      ? `look for ${call.did.length === 0 ? "that key" : "what its run did"} in the external service, then type one of these:`
      : "mend that, then type one of these:",
    ...answers.map(({ type, means, waits }) => {
      const when = waits && call.reconcilableFrom > now ? paint("yellow", from) : "";
      return `  ${paint("bold", type)}${" ".repeat(width - type.length)}  ${paint("dim", `# ${means}`)}${when}`;
    }),
  ].join("\n");
}

const FOLLOWS = {
  tell: "the model is told that the outcome is unknown",
  fail: "the run fails",
  compensate: "all effects are undone",
} as const;

function answersTo(run: string, { call, undo, undoes, byHand }: UnknownCall, command: CommandBuilder) {
  const answer = (as: string): string => command("reconcile", run, call, "--as", as);
  if (undoes !== undefined) {
    return [
      { type: answer("succeeded"), means: `${undoes} is undone`, waits: false },
      { type: answer("failed"), means: `${undoes} is not undone, and its effect stays`, waits: true },
      ...(byHand === true ? [] : [{ type: answer("retry"), means: "run its undo now", waits: true }]),
    ];
  }
  return [
    { type: answer("succeeded"), means: "it happened (--result JSON gives what it returned)", waits: false },
    { type: answer("failed"), means: "it did not happen; the model is told so", waits: true },
    { type: answer("retry"), means: "it did not happen; run it now", waits: true },
    ...(undo ? [{ type: answer("compensate"), means: "undo it and all other effects of the run", waits: false }] : []),
  ];
}

export const spentOf = ({ spent }: Pick<Summary, "spent">): string => dollars(Math.round(spent.usd * 1e6));

/** Where a run is in the services of AWS, as lines of `show`. */
export function placeLines({ aws }: { readonly aws: RunPlaces | null }): readonly (readonly [string, string])[] {
  if (aws === null) return [];
  return [
    ["execution", aws.executionUrl ?? aws.executionArn],
    ["objects", aws.objects],
    ["row", `${aws.table} ${aws.rowKey}`],
  ];
}
