/**
 * `cairn approvals`, `approve` and `deny`: a human decides about calls that wait at a gate, and about requests for more
 * budget. The list also has the questions to answer and the calls to reconcile.
 */
import { BUDGET } from "../../core/policy/extension.ts";
import type { Grant, Meter } from "../../core/policy/budget.ts";
import type { Json } from "../../core/json.ts";
import type { Agent } from "../../ports/agent.ts";
import { registerResolution } from "../../sdk/resolution.ts";
import { callOf } from "../../features/approvals/core-ignored-decisions.ts";
import type { Accepted, DecisionFate } from "../../operations/decision-fate.ts";
import { OPERATIONS } from "../../operations/table.ts";
import type {
  RestoredRun,
  WaitingGate,
  WaitingPage,
  WaitingQuestion,
  WaitingUnknown,
} from "../../operations/approvals.ts";
import type { OpenGate, Shown } from "../../operations/views.ts";
import { reportAccepted } from "../accepted.ts";
import { grantWords, GRANTS } from "../../render/grants.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { readJson } from "../input.ts";
import { locateNamed } from "../../compose/locate.ts";
import type { Opened } from "../../compose/open.ts";
import { refusedAs, unlessRunGone } from "../perform.ts";
import { renderWait } from "../../render/input-waits.ts";
import { ignoredWords, renderGate, renderUnknown } from "../../render/run.ts";
import { retyped, timeOfDay, titleWords, commandLine } from "../../render/words.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { type Shell, printLines } from "../shell.ts";
import { transportTo, transportToRun } from "../choose-transport.ts";
import type { Transport } from "../transport.ts";
import { durationMs } from "../../sdk/duration.ts";

export interface DecisionFlags extends StoreFlags, GrantFlags {
  readonly note?: string;
  /** With approve: run the call with these arguments instead. */
  readonly args?: string;
}

/** `cairn approve` and `cairn deny`: records the decision about a gate, and waits shortly for its effect. */
export async function decideGate(
  shell: Shell,
  typed: {
    readonly run: string;
    /** A gate or its call; null if the run has only one gate. */
    readonly gate: string | null;
    readonly approve: boolean;
    readonly flags: DecisionFlags;
  },
): Promise<number> {
  const { flags } = typed;
  const args = flags.args === undefined ? null : await readJson(shell, { option: "--args", text: flags.args });
  const more = typed.approve ? grantOf(flags) : {};
  const { transport, run } = await transportToRun(shell, typed);
  const { shown } = unlessRunGone(transport, { run, outcome: await transport.perform("show", { run }) });
  const { gate, call, tool } = gateMeant(transport, { shown, typed: typed.gate });
  const as = typed.approve ? (flags.args === undefined ? "approve" : "edit") : "deny";
  // If a process drives the run, its next beat shows at once whether the decision took effect.
  const waitMs = (await transport.attendant()) === null ? 0 : TAKEN_IN_MS;
  const { opened } = transport;
  const local = opened === null ? {} : { agentOf: (name: string) => agentOf(opened, name, shown.agentVersion) };
  const said = { run, gate, note: flags.note ?? null, waitMs };
  const outcome =
    as === "approve" && grantWords(more) !== ""
      ? await transport.perform("budget", { ...said, more }, local)
      : await transport.perform("decide", { ...said, as, args, more }, local);
  if (outcome.kind !== "accepted") throw refusal(shell, transport, { run, call, outcome });
  const { stage, dropped, toolGone } = outcome;
  await report(shell, transport, {
    run,
    call,
    tool,
    gate,
    as,
    args,
    stage,
    ...(dropped && { dropped: [...dropped] }),
    ...(toolGone && { toolGone }),
    ...(grantWords(more) === "" ? {} : { more }),
  });
  return EXIT.done;
}

const TAKEN_IN_MS = 5_000;

/** Loads the agent's code, to check edited arguments and answers before they are sent. Null if the code is not available here. */
export async function agentOf({ settings, agentFiles }: Opened, name: string, version: string): Promise<Agent | null> {
  registerResolution();
  try {
    const remembered = agentFiles?.find(name) ?? null;
    const { agent } = await locateNamed(name, { agentFiles: settings.agentFiles, remembered });
    // The deployed code may differ from these files. The beat checks the arguments again.
    return settings.world.agents.kind === "files" || agent.version === version ? agent : null;
  } catch {
    return null;
  }
}

/** Lists every call of the store that waits for a decision, an answer or a reconciliation. */
export async function listApprovals(shell: Shell, flags: StoreFlags & { readonly tenant: string }): Promise<number> {
  const transport = await transportTo(shell, flags);
  const local = { tenant: flags.tenant };
  const open: WaitingGate[] = [];
  const questions: WaitingQuestion[] = [];
  const unknown: WaitingUnknown[] = [];
  const restored: RestoredRun[] = [];
  let after: string | null = null;
  do {
    const page: WaitingPage = await transport.perform("approvals", { after }, local);
    for (const { run, why } of page.unreadable) {
      const next = transport.command("verify", run);
      shell.terminal.err(
        `run ${run} cannot be read (${why}), so cairn cannot tell whether it waits for approval: ${next}`,
      );
    }
    open.push(...page.gates);
    questions.push(...page.questions);
    unknown.push(...page.unknown);
    restored.push(...page.restored);
    after = page.next;
  } while (after !== null);
  if (shell.json) {
    const marked = [
      ...unknown.map((call) => ({ ...call, unknown: true })),
      ...restored.map((mark) => ({ ...mark, restored: true })),
    ];
    printLines(shell, [...open, ...questions, ...marked]);
    return EXIT.done;
  }
  const { paintOut: paint, width, out } = shell.terminal;
  const style = { now: transport.now(), paint, width, command: transport.command };
  if (open.length + questions.length + unknown.length === 0)
    out("no call waits for an approval, an answer or a reconciliation");
  for (const { asOf, ...mark } of restored) {
    const { run } = mark;
    const from = `restored from its state of ${timeOfDay(asOf, style.now)}; check what it did since, then`;
    out(`${namesLine(mark)}  ${from} ${paint("bold", transport.command("checked", run))}`);
  }
  for (const gate of open) out(`${headOf(gate)}${renderGate(gate.run, gate, style)}\n`);
  for (const question of questions) out(`${headOf(question)}${renderWait(question.run, question, style)}\n`);
  for (const call of unknown) out(`${headOf(call)}${renderUnknown(call.run, call, style)}\n`);
  return EXIT.done;
}

const headOf = ({ assigned, ...names }: Parameters<typeof namesLine>[0] & Pick<WaitingGate, "assigned">): string =>
  `${namesLine(names)}${assigned === null ? "" : `, assigned to ${assigned.to}`}`;

const namesLine = (names: Pick<WaitingGate, "run" | "agent" | "title" | "startKey">): string =>
  [names.run, names.agent, titleWords(names)].filter((word) => word !== "").join("  ");

function gateMeant(
  transport: Transport,
  { shown, typed }: { readonly shown: Shown; readonly typed: string | null },
): OpenGate {
  const found = shown.gates.filter(({ gate, call }) => typed === null || typed === gate || typed === call);
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return only;
  const next = transport.command("show", shown.run);
  if (only !== undefined) {
    const why = `name one of them: ${found.map(({ call, tool }) => `${call} (${tool})`).join(", ")}`;
    throw new UserError({
      code: "GateAmbiguous",
      exit: EXIT.usage,
      what: `run ${shown.run} has several open gates`,
      why,
      next,
    });
  }
  const what = typed === null ? `run ${shown.run} waits for no approval` : `run ${shown.run} has no open gate ${typed}`;
  const open = shown.gates.map(({ call, tool }) => `${call} (${tool})`).join(", ");
  const ignored = shown.ignoredDecision === null ? "" : `; ${ignoredWords(shown.ignoredDecision)}`;
  const closed = `it is ${shown.status}${ignored}; its timeline shows what was decided`;
  const why = open === "" ? closed : `the open gates are: ${open}${ignored}`;
  throw new UserError({ code: "Stale", exit: EXIT.refused, what, why, next });
}

function refusal(
  shell: Shell,
  transport: Transport,
  {
    run,
    call,
    outcome,
  }: { readonly run: string; readonly call: string; readonly outcome: Exclude<DecisionFate, { kind: "accepted" }> },
): UserError {
  const next = transport.command("show", run);
  const refused = (words: Partial<Parameters<typeof refusedAs>[2]> & { readonly what: string; readonly why: string }) =>
    refusedAs(OPERATIONS.decide, outcome.kind, { next, ...words });
  switch (outcome.kind) {
    case "duplicate": {
      const { decision } = outcome;
      const why =
        decision === null
          ? "the first decision counts"
          : `the first decision counts: ${decision.by} says ${decision.as}`;
      return refused({ what: `${call} was decided already`, why });
    }
    case "noEffect": {
      const { gates } = outcome;
      const calls = gates.map(callOf).join(", ");
      const now = calls === "" ? "no call waits for a decision now" : `these wait for a decision now: ${calls}`;
      const why = `${outcome.why}; the decision was delivered, but the run ignores it; ${now}`;
      return refused({ what: `the decision about ${call} of run ${run} had no effect`, why, facts: { gates } });
    }
    case "argsInvalid": {
      const { asks } = outcome;
      const what = `the arguments do not fit the tool of ${call}`;
      const asked = asks === null ? "nothing was sent" : "the call was not run, and waits for a decision again";
      const why = `${outcome.why}; ${asked}`;
      if (asks !== null) return refused({ what, why, facts: { gate: asks } });
      return refused({ what, why, next: retyped(shell, "--args", "JSON"), facts: {} });
    }
    case "stale": {
      const why = outcome.why ?? "the run has changed since it was shown";
      return refused({ what: `${call} no longer waits for approval`, why });
    }
    case "refused":
      return refused({ what: `this does not decide about ${call} of run ${run}`, why: outcome.why });
    case "late":
      return refused({ what: `run ${run} has ended`, why: "an ended run accepts no decisions" });
    case "missing":
      return transport.gone(run);
  }
}

const DONE = { approve: "approved", edit: "approved with other arguments", deny: "denied" } as const;

async function report(
  shell: Shell,
  transport: Transport,
  said: {
    readonly run: string;
    readonly call: string;
    readonly tool: string;
    readonly gate: string;
    readonly as: keyof typeof DONE;
    readonly args: Json;
    readonly stage: Accepted["stage"];
    readonly dropped?: string[];
    readonly toolGone?: true;
    readonly more?: Grant;
  },
): Promise<void> {
  const { more, ...rest } = said;
  const document = more === undefined ? rest : { ...rest, more: { ...more } };
  const what = said.call === BUDGET ? "budget" : `${said.tool} (${said.call})`;
  const amount = more === undefined ? "" : `, ${grantWords(more)} more`;
  await reportAccepted(shell, transport, { document, says: `${DONE[said.as]}: ${what} of ${said.run}${amount}` });
  if (shell.json) return;
  if (said.dropped !== undefined)
    shell.terminal.err(`${said.tool} does not get ${said.dropped.join(", ")}: its schema drops that`);
  if (said.toolGone === true)
    shell.terminal.err(`its agent has no tool ${said.tool} any more: without it the call does not run`);
  shell.terminal.out(STAGES[said.stage]);
}

const STAGES = {
  applied: "the run has applied the decision",
  waits: "the decision waits in the inbox until the next beat; repeat the command to see whether it was applied",
  unknown: "the run has read the decision, but its history cannot be read, so the effect of the decision is not known",
} as const;

/** Options of `approve`: how much more a run may spend. */
interface GrantFlags {
  readonly usd?: string;
  readonly tokens?: string;
  readonly beats?: string;
  readonly toolCalls?: string;
  readonly wall?: string;
}

interface Amount {
  readonly flag: keyof GrantFlags;
  readonly means: string;
  readonly parse: (text: string) => number | null;
}

const whole = (text: string): number | null => (/^[1-9]\d{0,11}$/.test(text) ? Number(text) : null);
const micros = (text: string): number | null =>
  /^\d{1,6}(\.\d{1,6})?$/.test(text) ? Math.round(Number(text) * 1e6) || null : null;
const span = (text: string): number | null => whole(text) ?? durationMs(text);

const AMOUNTS: { readonly [M in Meter]: Amount } = {
  microUsd: { flag: "usd", means: "dollars", parse: micros },
  tokens: { flag: "tokens", means: "tokens", parse: whole },
  beats: { flag: "beats", means: "beats", parse: whole },
  toolCalls: { flag: "toolCalls", means: "tool calls", parse: whole },
  wallMs: { flag: "wall", means: "time at work, such as 30m", parse: span },
};

const METERS = Object.keys(AMOUNTS) as readonly Meter[];

/**
 * Budgets on the command line: the options that grant more, and the parsing of their amounts. The grant that the flags
 * ask for. Throws if a flag is not an amount.
 */
function grantOf(flags: GrantFlags): Grant {
  const given = METERS.flatMap((meter) => {
    const { flag, parse, means } = AMOUNTS[meter];
    const { option } = GRANTS[meter];
    const text = flags[flag];
    if (text === undefined) return [];
    const amount = parse(text);
    if (amount !== null) return [[meter, amount] as const];
    const [what, why] = [`${option} ${text} is not an amount`, `write a positive number of ${means}`];
    throw new UserError({ code: "Usage", exit: EXIT.usage, what, why, next: commandLine(["approve", "--help"]) });
  });
  return Object.fromEntries(given);
}
