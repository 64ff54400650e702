/** Finds what an agent does not declare but will need after a crash, and says what to write. */
import type { Agent } from "../ports/agent.ts";
import type { Meter } from "../core/policy/budget.ts";
import { APPROVAL_MS_MAX, hotMsOf, type Limits } from "../protocol/limits.ts";
import { EFFECTS, type Effect, type EffectRow } from "../core/calls/effects.ts";
import { topologiesIn } from "./inner-topologies.ts";
import { moduleOf } from "../engine/model/topology.ts";
import type { OnUnknown } from "../core/event.ts";
import type { CrackRow } from "../core/topologies/cracks.ts";

/** A declaration that an agent lacks: why that matters, and what to write. */
export interface Missing {
  readonly kind: "missing";
  readonly what:
    | "decision"
    | "effects"
    | "budget"
    | "done"
    | "crack"
    | "approval"
    | "timeout"
    | "hints"
    | "server"
    | "leftOut"
    | "detached"
    | "intrinsics"
    | "retention";
  readonly why: string;
  readonly mend: string;
}

interface Audited {
  readonly tools: readonly ToolAudit[];
  readonly cracks: readonly CrackAudit[];
  readonly limits: Limits;
}

/** What the declarations of an agent show. Whether its servers answer, and what its modules change, is found elsewhere. */
type Seen = Exclude<Missing["what"], "server" | "leftOut" | "intrinsics">;

type Look = (agent: Agent, audited: Audited) => Omit<Missing, "kind" | "what"> | null;

/** The line about functions of the language that the agent's modules changed while they were loaded; none if they did not. */
export const changedWhileLoaded = (names: readonly string[]): readonly Missing[] =>
  names.length === 0
    ? []
    : [
        {
          kind: "missing",
          what: "intrinsics",
          why:
            `its modules change ${names.join(", ")} while they are loaded; the records of its runs are written with these ` +
            "functions, so an error in the replacement loses them",
          mend: "remove the polyfill: this version of Node has these functions",
        },
      ];

/** All declarations that the agent lacks. */
export const missingIn = (agent: Agent, audited: Audited): readonly Missing[] =>
  (Object.entries(LOOKS) as readonly (readonly [Seen, Look])[]).flatMap(([what, look]) => {
    const found = look(agent, audited);
    return found === null ? [] : [{ kind: "missing", what, ...found } as const];
  });

const LOOKS: { readonly [W in Seen]: Look } = {
  decision: (agent, { tools }) => {
    const names = namesOf(tools, ({ decisionPoint }) => decisionPoint);
    return about(
      names,
      (all) =>
        `no key, no probe, no undo: after a process death in ${all} an operator has to decide: resume or restart`,
      mendFor(agent, names, {
        own: 'make it keyed or probed, give it an undo, or declare what follows: onUnknown: "tell" or "fail"',
        listed: "if a call may be repeated, say so in effects of mcpServer",
      }),
    );
  },
  // What the worker of a child tool does is declared by its own agent, whose audit says it.
  effects: ({ topology, tools: declared }, { tools }) => {
    const isLoop = topology.kind === "react";
    const own = tools.filter(({ tool }) => declared[tool]?.child === undefined);
    // In a plain loop a human's approval of each call is the only decision that could come before it.
    const isAlone = ({ effect, approval }: ToolAudit): boolean => approval === "never" && !EFFECTS[effect].mayRepeat;
    const early = own.filter((each) => (isLoop ? isAlone(each) : !each.idempotent));
    const found = early.flatMap(({ tool }) => {
      // A loop inside another topology ends with its stage or step, and the outer topology says what follows that.
      const may = topologiesIn(topology).filter(
        (inner, index) => (inner.tools?.includes(tool) ?? true) && (index === 0 || inner.topology.kind !== "react"),
      );
      const [why] = may.flatMap((inner) => moduleOf(inner.topology).decidesAfter(inner.topology, tool) ?? []);
      return why === undefined ? [] : [`${tool} must not run twice, and ${why}`];
    });
    if (found.length === 0) return null;
    const mend = isLoop
      ? 'write approval: "always", or let effects come last, in a stage or steps of their own (pipeline, planExecute)'
      : "let effects come last: decide everything before the first of them";
    return { why: found.join("; "), mend };
  },
  approval: (agent, { tools }) => {
    const names = namesOf(tools, ({ effect, approval }) => !EFFECTS[effect].mayRepeat && approval === "never");
    return about(
      names,
      (all) => `${all} must not happen twice, and starts without an approval`,
      mendFor(agent, names, {
        own: 'write approval: "always", or a policy',
        listed: 'write approval: { TOOL: "always" } in mcpServer',
      }),
    );
  },
  // A server may be wrong about its own tools, so its hints declare nothing.
  hints: ({ tools }) => {
    const said = Object.values(tools).flatMap(({ suggests = [] }) => suggests);
    if (said.length === 0) return null;
    return { why: said.join("; "), mend: "declare what is true in effects and approval of mcpServer" };
  },
  // A child run works in beats of its own, and its parent waits for it without a process.
  timeout: (agent, { tools, limits: { beatMs, drainMs } }) => {
    const most = beatMs - 3 * drainMs;
    return about(
      namesOf(tools, ({ tool, timeoutMs }) => timeoutMs > most && agent.tools[tool]?.child === undefined),
      (names) => `${names} may take longer than the ${most} ms that a beat leaves, and would never start`,
      `set timeoutMs to ${most} at most, or raise beatSeconds`,
    );
  },
  // Only the source text of the tool's own functions can be searched, not the code that they call.
  detached: ({ tools }) =>
    about(
      Object.entries(tools).flatMap(([name, { run, undo }]) => (leavesWork(run, undo?.run) ? [name] : [])),
      (names) =>
        `${names} may leave work that continues after the call: neither a timeout nor the end of a process stops it`,
      "wait for that work before the tool returns, and start no detached process",
    ),
  budget: (agent) =>
    about(
      unlimited(agent).map(([, name]) => name),
      (names) => `nothing limits ${names}`,
      `add to its budget: ${unlimited(agent)
        .map(([, , limit]) => limit)
        .join(", ")}`,
    ),
  done: ({ done }) =>
    done.length > 0
      ? null
      : { why: "its model alone decides when a run is done", mend: 'write done: [check("NAME", ...)]' },
  crack: (_, { cracks }) =>
    about(
      cracks.flatMap(({ crack, alarm }) => (alarm === null ? [crack] : [])),
      (names) => `cairn does not watch for ${names}, so no alarm reports it`,
      'leave out loops: "ignore", and write done checks and an endToEnd check',
    ),
  // An operator who takes as long as a gate allows should still find the result of the run.
  retention: (agent, { tools, limits }) => {
    const waits = tools.some(({ approval }) => approval !== "never") || agent.budget.onExhausted === "ask";
    const hotMs = hotMsOf(limits, agent.retention ?? undefined);
    const declared = [agent.approvals, ...Object.values(agent.tools).map(({ approvals }) => approvals)];
    const terms = declared.flatMap((each) =>
      each?.expiresMs === undefined ? [] : [each.expiresMs ?? APPROVAL_MS_MAX],
    );
    const longest = Math.max(agent.approvals?.expiresMs === undefined ? limits.gateMs : 0, ...terms);
    if (!waits || hotMs >= longest) return null;
    const why = `an ended run is removed after ${hours(hotMs)} hours, and an approval may take ${hours(longest)}`;
    return { why, mend: `write retention: { hotDays: ${Math.ceil(longest / DAY_MS)} } or more` };
  },
};

/** A detached child process, or a timer that does not keep its process alive. */
const DETACHED = /\bdetached\s*:\s*(true|!0)|\b(setsid|nohup)\b|\.unref\(/;

const leavesWork = (...functions: readonly unknown[]): boolean =>
  functions.some((each) => typeof each === "function" && DETACHED.test(Function.prototype.toString.call(each)));

const DAY_MS = 24 * 3_600_000;
const hours = (ms: number): number => Math.round(ms / 360_000) / 10;

/** Each meter in words, and a limit as a budget declares it. */
const METERS: readonly (readonly [meter: Meter, name: string, limit: string])[] = [
  ["microUsd", "money", "usd: 1"],
  ["tokens", "tokens", "tokens: 500_000"],
  ["beats", "beats", "beats: 50"],
  ["wallMs", "time at work", 'wall: "2h"'],
  ["toolCalls", "tool calls", "toolCalls: 100"],
];

const unlimited = ({ budget }: Pick<Agent, "budget">): typeof METERS =>
  METERS.filter(([meter]) => (budget[meter] ?? null) === null);

const namesOf = (tools: readonly ToolAudit[], is: (tool: ToolAudit) => boolean): readonly string[] =>
  tools.filter(is).map(({ tool }) => tool);

/** What to write depends on where the tools are declared: in the agent, or by a server that lists them. */
function mendFor(
  { tools }: Pick<Agent, "tools">,
  names: readonly string[],
  mends: { readonly own: string; readonly listed: string },
): string {
  const listed = names.filter((name) => tools[name]?.isListed === true);
  if (listed.length === 0) return mends.own;
  return listed.length === names.length ? mends.listed : `${mends.own}; for tools of servers: ${mends.listed}`;
}

const about = (names: readonly string[], why: (names: string) => string, mend: string) =>
  names.length === 0 ? null : { why: why(names.join(", ")), mend };

/** What the audit found about one tool. */
export interface ToolAudit {
  readonly kind: "tool";
  readonly tool: string;
  readonly effect: Effect;
  /** Whether the call may run again without a human's decision. */
  readonly idempotent: boolean;
  /** Which idempotency key the external service knows; null: none. */
  readonly key: "derived" | "business" | null;
  readonly probe: boolean;
  readonly undo: boolean;
  /** The call may not repeat, has no key and no undo. After a crash a human decides whether the run goes on. */
  readonly decisionPoint: boolean;
  readonly recovery: Recovery;
  readonly approval: "never" | "always" | "policy";
  readonly timeoutMs: number;
  /**
   * How long after a lease a request may still take effect, in milliseconds; null if recovery need not wait for that.
   */
  readonly settleMs: number | null;
  readonly dial: { readonly plan: "skip" | "force"; readonly results: "merge" | "force"; readonly why: string };
}

/** How a call is recovered after the death of its process. */
export interface Recovery {
  /** What the next invocation does with a call that was released and has no outcome. */
  /** `wait`: it runs again without a probe, when its earlier request can no longer take effect. */
  readonly onCrash: EffectRow["onCrash"] | "wait";
  /** What happens if its outcome stays unknown. */
  readonly unknown: OnUnknown;
  readonly inWords: string;
}

/** A typical failure of the agent's topology, and the alarm that detects it. */
export interface CrackAudit extends CrackRow {
  readonly kind: "crack";
  /** The alarm that a deployment raises for this failure; null: the failure is not detected. */
  readonly alarm: string | null;
}
