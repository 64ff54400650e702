/**
 * What the creation of a run needs: the task that its agent accepts, and the objects that have to be durable before a
 * row names them. A start from outside and the dispatch of a child run use the same.
 */
import * as z from "zod";
import type { Agent } from "../../ports/agent.ts";
import type { ExpectedAnswer } from "../../core/child.ts";
import type { FileContent, FileRef } from "../../core/file.ts";
import { inputDigestOf } from "../../codec/file.ts";
import { NO_PROTO, droppedNames, protoIn } from "../../core/dropped-names.ts";
import { fit } from "../../codec/fit.ts";
import { checksumOf } from "../../codec/checksum.ts";
import { NOTHING_SEALED, encodeSnapshot } from "../../codec/snapshot.ts";
import { asJson } from "../../codec/value.ts";
import { bornFrom } from "../../protocol/ids.ts";
import type { RunLabels } from "../../core/ids.ts";
import type { Json } from "../../core/json.ts";
import { LOWEST_LEVEL, neededLevel } from "../../core/levels.ts";
import type { RunFiring } from "../../core/run-firing.ts";
import type { Grant } from "../../core/policy/budget.ts";
import { SIZES } from "../../codec/limits.ts";
import type { RestoredMark } from "../../protocol/restored.ts";
import { type Creation, type Incarnation, newRow } from "../../protocol/row.ts";
import type { State } from "../../core/state.ts";
import type { World } from "../../ports/world.ts";
import { signIn } from "../../history/vouch.ts";
import { putFiles } from "../../history/files.ts";
import { keepValue, putSegments, putSnapshot } from "../../history/write-objects.ts";
import { snapshotKey } from "../../history/object-keys.ts";
import { redactionIn } from "../../history/secrets.ts";
import { briefOf } from "./brief.ts";
import { senderOf } from "./inbox.ts";
import { initialState, partOfAgent } from "./new-run.ts";
import { type RunNames, runNames } from "./title.ts";

/** One problem of an input, and its path. */
export interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** The task as the agent's schema parsed it, or why it is refused. */
export type ParsedTask =
  /** `dropped`: the paths of what the input has and the task lacks. */
  | { readonly ok: true; readonly json: Json; readonly dropped: readonly string[] }
  | { readonly ok: false; readonly why: string; readonly issues: readonly Issue[] };

/** Stores everything that has to be durable before the row names it. */
export async function prepareCreation(
  world: World,
  request: {
    readonly agent: Agent;
    readonly tenant: string;
    readonly run: string;
    readonly task: Json;
    /** The files of the task; absent: none. */
    readonly files?: readonly FileContent[];
    readonly parent: Incarnation | null;
    /** Who starts the run; null where nothing is known. */
    readonly by: string | null;
    /** What the parent reserved for the run; absent for a run that no run dispatched. */
    readonly grant?: Grant;
    /** How many runs are above the run; absent for a run that no run dispatched. */
    readonly depth?: number;
    /** What its parent takes for an answer; absent: no run waits for one. */
    readonly expected?: ExpectedAnswer | undefined;
    /** The schedule of the agent starts it; default: it does not. */
    readonly isScheduled?: boolean | undefined;
    /** The firing that starts it; absent: none does. */
    readonly firing?: RunFiring | undefined;
    /** The mark of a restore that the run inherits; absent: none. */
    readonly restored?: RestoredMark | undefined;
    /** The key that its caller gave; absent: none. */
    readonly key?: string | null;
    /** The trace that starts it (`RowBrief.trace`); absent: none does. */
    readonly trace?: string | undefined;
    /** What its caller calls it besides; absent: nothing. */
    readonly labels?: RunLabels | undefined;
  },
): Promise<Creation> {
  const { agent, tenant, run, parent, by, grant, depth, expected, isScheduled = false, files: contents = [] } = request;
  const now = world.clock.now();
  const born = bornFrom(world.random.hex());
  await putFiles(world.objects, { run, born }, contents);
  const withoutSecrets = (ref: FileRef): FileRef => ({ ...ref, name: redactionIn(world).text(ref.name) });
  const files = contents.map(({ ref }) => withoutSecrets(ref));
  const begun = initialState({
    run,
    born,
    ...partOfAgent(agent),
    at: now,
    ...(grant === undefined ? {} : { grant }),
    ...(depth === undefined ? {} : { depth }),
    ...(by === null ? {} : { startedBy: redactionIn(world).text(senderOf(by)) }),
    firing: request.firing,
    task: await keepValue(world, { run, born }, { json: request.task, inlineMax: SIZES.stateValueBytesMax }),
    files,
    taskText: typeof request.task === "string" ? request.task : JSON.stringify(request.task),
  });
  const state = expected === undefined ? begun : { ...begun, expected };
  const inputDigest = inputDigestOf(request.task, files);
  const names = runNames(world, { agent, run, task: request.task, key: request.key ?? null, labels: request.labels });
  const { restored, trace } = request;
  return storeCreation(world, { agent, tenant, parent, state, inputDigest, isScheduled, names, restored, trace });
}

/** Stores the first snapshot of a run. Its values are stored before. */
export async function storeCreation(
  world: World,
  {
    agent,
    tenant,
    parent,
    state,
    inputDigest,
    names,
    isScheduled = false,
    restored,
    trace,
  }: {
    readonly agent: Pick<Agent, "name" | "version" | "budget">;
    readonly tenant: string;
    readonly parent: Incarnation | null;
    readonly state: State;
    readonly inputDigest: string;
    readonly names: RunNames;
    readonly isScheduled?: boolean;
    readonly restored?: RestoredMark | undefined;
    readonly trace?: string | undefined;
  },
): Promise<Creation> {
  const { run, born } = state;
  const now = world.clock.now();
  const sign = await signIn(world);
  const level = neededLevel({ state, events: [] });
  const needs = level > LOWEST_LEVEL ? { level } : {};
  const first = { version: 0, previous: null, seal: NOTHING_SEALED, commits: [], state, sign, ...needs };
  const { segmentBytes } = world.sizes;
  const { digest, bytes, segments } = encodeSnapshot({ ...first, segmentBytes });
  await putSegments(world.objects, { run, born }, segments);
  const key = snapshotKey({ run, born }, { version: 0, epoch: 0, put: 1 });
  await putSnapshot(world.objects, { key, bytes });
  const identity = { run, born, parent, tenant, agent: agent.name, agentVersion: agent.version, inputDigest };
  const snapshot = { version: 0, key, digest };
  const creation = {
    ...identity,
    ...needs,
    ...(restored !== undefined && { restored }),
    snapshot,
    brief: {
      ...briefOf(state, { budget: agent.budget }),
      isScheduled,
      ...names,
      ...(trace !== undefined && { trace }),
    },
    now,
    earliest: world.clock.earliest(),
    deadline: now + world.limits.idleRunMs,
  };
  return { ...creation, checksum: checksumOf(newRow(creation)) };
}

/** Parses the input with the agent's schema. The secrets of the agent have to be known, since a task must hold none. */
export function taskOf(world: World, agent: Pick<Agent, "task">, input: Json): ParsedTask {
  const given = asJson(input);
  if (!given.ok) return refusedTask(given.why);
  const parsed = fit(agent.task, given.json);
  if (parsed.kind === "threw") return refusedTask(parsed.why);
  if (parsed.kind === "misfits") {
    const issues = parsed.issues.slice(0, SIZES.issuesMax);
    return { ok: false, why: z.prettifyError({ issues: [...issues] }), issues };
  }
  const task = taskFrom(world, parsed.output);
  if (!task.ok) return task;
  const dropped = droppedNames(given.json, task.json);
  const proto = protoIn(given.json);
  if (proto === null || proto === protoIn(task.json)) return { ...task, dropped };
  const why = `it has a member named ${proto}: ${NO_PROTO}`;
  return { ok: false, why, issues: [{ path: proto.split("."), message: why }] };
}

const refusedTask = (why: string): ParsedTask => ({ ok: false, why, issues: [{ path: [], message: why }] });

/** The same for what the agent's schema made of the input. */
export function taskFrom(world: World, output: unknown): ParsedTask {
  const task = asJson(output);
  if (!task.ok) return refusedTask(task.why);
  const issues = secretsIn(world, task.json);
  return issues.length === 0 ? { ...task, dropped: [] } : { ok: false, why: z.prettifyError({ issues }), issues };
}

/** A secret in an input is refused, not redacted: with one key, inputs with different secrets would look the same. */
function secretsIn(world: World, json: Json): z.core.$ZodIssue[] {
  const issues: z.core.$ZodIssue[] = [];
  redactionIn(world).json(json, ({ path, reference }) => {
    const message =
      `it holds ${reference}, and an input is kept with its run: leave it out, declare it in the agent's secrets, ` +
      "and let the tool that needs it ask for it with secrets.get";
    if (issues.length < SIZES.issuesMax) issues.push({ code: "custom", path: [...path], message, input: undefined });
  });
  return issues;
}
