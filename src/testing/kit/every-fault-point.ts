/**
 * Kills an agent at every moment at which a crash matters, one run for each, and compares each run with the one that
 * nothing interrupted.
 */
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type * as z from "zod";
import type { Json } from "../../core/json.ts";
import type { Agent } from "../../ports/agent.ts";
import { wrongEffects } from "./expect-effects-once.ts";
import type { KillPoint } from "./kill-points.ts";
import { type AgentRun, type RunAgentOptions, runAgent } from "./run-agent.ts";

type OneRun<Task extends z.ZodType> = Omit<RunAgentOptions<Task>, "killAt">;

/**
 * Runs the agent and kills its process at that point. Throws an `AssertionError` if the run does not pass the point.
 *
 * @example
 *   const run = await killAt(clerk, "after:effect:send#2", { input: { to: "Ada" }, tools: { send: post } });
 *   expectEffectsOnce(run);
 */
export async function killAt<Task extends z.ZodType>(
  agent: Agent<Task>,
  point: KillPoint,
  options: OneRun<Task>,
): Promise<AgentRun> {
  const run = await runAgent(agent, { ...options, killAt: point });
  if (run.killed.length > 0) return run;
  const message = `the run never reached ${point}; it passed ${run.points.join(", ")}`;
  throw new assert.AssertionError({ message });
}

export interface EveryFaultPointOptions<Task extends z.ZodType> extends OneRun<Task> {
  /** The part of a result that must be equal with and without a kill. Default: all of it. */
  readonly normalise?: (result: Json) => unknown;
}

/** What `everyFaultPoint` did. */
export interface FaultPointsKilled {
  /** The run that nothing interrupted. */
  readonly uninterrupted: AgentRun;
  /** The points at which a run was killed: all that the uninterrupted run passed. */
  readonly points: readonly KillPoint[];
}

/**
 * Runs the agent once without a kill, then once for each point that it passed, killed there. Each run must end with the
 * same status, the same result and the same effects, each of them once. Throws an `AssertionError` that lists each point
 * at which this does not hold; `killAt` repeats one.
 *
 * Only the services of `tools` and `services` can show a second effect. So an agent whose tools act outside needs one of
 * them, and each succeeded call must have an effect there.
 *
 * @example
 *   await everyFaultPoint(clerk, { input: { to: "Ada" }, tools: { send: post } });
 */
export async function everyFaultPoint<Task extends z.ZodType>(
  agent: Agent<Task>,
  { normalise = (result) => result, ...options }: EveryFaultPointOptions<Task>,
): Promise<FaultPointsKilled> {
  const uninterrupted = await runAgent(agent, options);
  const wrongAlone = wrongEffects(uninterrupted);
  if (wrongAlone.length > 0) throw failed([`without a kill: ${wrongAlone.join("; ")}`]);
  const findings: string[] = [];
  for (const point of uninterrupted.points) {
    const run = await killAt(agent, point, options);
    const wrong = [...differences(uninterrupted, run, normalise), ...wrongEffects(run)];
    if (wrong.length > 0) findings.push(`${point}: ${wrong.join("; ")}`);
  }
  const { points } = uninterrupted;
  if (findings.length > 0) throw failed([`${findings.length} of ${points.length} kills changed the run`, ...findings]);
  return { uninterrupted, points };
}

function differences(expected: AgentRun, run: AgentRun, normalise: (result: Json) => unknown): readonly string[] {
  const ended = ({ status, failure }: AgentRun): string => (failure === null ? status : `${status}, ${failure.code}`);
  const wrong: string[] = [];
  if (ended(run) !== ended(expected)) wrong.push(`it ended as ${ended(run)} instead of ${ended(expected)}`);
  const [one, other] = [normalise(run.result), normalise(expected.result)];
  if (!isDeepStrictEqual(one, other)) wrong.push(`its result is ${inWords(one)} instead of ${inWords(other)}`);
  const [made, expectedFiles] = [digestsOf(run), digestsOf(expected)];
  if (made !== expectedFiles) wrong.push(`its files are ${made} instead of ${expectedFiles}`);
  const [seen, due] = [subjectsOf(run), subjectsOf(expected)];
  const missing = [...due].filter((subject) => !seen.has(subject));
  const others = [...seen].filter((subject) => !due.has(subject));
  if (missing.length > 0) wrong.push(`missing effects: ${missing.join(", ")}`);
  if (others.length > 0) wrong.push(`other effects: ${others.join(", ")}`);
  return wrong;
}

const digestsOf = ({ files }: AgentRun): string =>
  files.map(({ name, file }) => `${name} ${file}`).join(", ") || "none";

/** Which effects remain. How often each happened is the concern of `wrongEffects`. */
const subjectsOf = ({ effects }: AgentRun): ReadonlySet<string> =>
  new Set(effects.filter(({ undone }) => !undone).map(({ service, subject }) => `${service} ${subject}`));

const inWords = (value: unknown): string => JSON.stringify(value) ?? String(value);

const failed = (lines: readonly string[]): assert.AssertionError =>
  new assert.AssertionError({ message: lines.join("\n  ") });
