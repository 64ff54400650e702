/**
 * Starts a run: stores snapshot 0, then creates the row, then starts the execution. Each step can be repeated, so a
 * start that crashed is repeated with the same idempotency key.
 */
import * as z from "zod";
import type { Agent } from "../ports/agent.ts";
import { fit } from "../codec/fit.ts";
import { Unreadable, digestOf } from "../codec/canonical.ts";
import { checksumOf } from "../codec/checksum.ts";
import { RowNewer } from "../codec/row.ts";
import { NOTHING_SEALED, encodeSnapshot } from "../codec/snapshot.ts";
import { asJson } from "../codec/value.ts";
import { secretNamesOf } from "../ports/secrets.ts";
import { bornFrom, runId } from "../protocol/ids.ts";
import type { Json } from "../core/json.ts";
import { SIZES } from "../codec/limits.ts";
import { type Creation, type Incarnation, type Row, newRow } from "../protocol/row.ts";
import type { Tombstone } from "../protocol/tombstone.ts";
import { initialState } from "./new-run.ts";
import type { CreateOutcome } from "../ports/run-table.ts";
import type { World } from "../ports/world.ts";
import { signIn } from "../history/vouch.ts";
import { keepValue, putSegments, putSnapshot } from "../history/write-objects.ts";
import { resolveAmbiguousWrite } from "../history/resolve-ambiguous-write.ts";
import { startExecution } from "../engine/loop/executions.ts";
import { snapshotKey } from "../history/object-keys.ts";
import { senderOf } from "../engine/context/inbox.ts";
import { learnSecretsOfInput, redactionIn } from "../history/secrets.ts";

/** The outcome of a start. */
export type Started =
  | { readonly kind: "started"; readonly row: Row }
  /** The same key and input as an earlier start: it returns the same run. */
  | { readonly kind: "exists"; readonly row: Row }
  /** The same key with another input. That run may have ended, and its data may be gone. */
  | { readonly kind: "conflict"; readonly run: string }
  /** The same key and input as a run that has ended and whose data is gone. */
  | { readonly kind: "ended"; readonly tombstone: Tombstone }
  /** The agent does not accept the input; `why` names each path. */
  | { readonly kind: "invalid"; readonly why: string; readonly issues: readonly Issue[] };

/** One problem of an input, and its path. */
export interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Throws `RowNewer` if a newer version of cairn wrote the run, and `Unreadable` if its row is damaged. */
export async function startRun(
  world: World,
  of: {
    readonly agent: Agent;
    readonly input: Json;
    readonly tenant: string;
    /** Null: every start creates a new run. */
    readonly idempotencyKey: string | null;
    /** The run that starts this one as its child and waits for its end. */
    readonly parent?: Incarnation;
    /** Who starts the run, as the API or CLI knows them. The first start with a key decides. */
    readonly by?: string;
  },
): Promise<Started> {
  const { agent, tenant } = of;
  await learnSecretsOfInput(world, secretNamesOf(agent));
  const task = taskOf(world, agent, of.input);
  if (!task.ok) return { kind: "invalid", why: task.why, issues: task.issues };
  const inputDigest = digestOf(task.json);
  const idempotencyKey = of.idempotencyKey ?? world.random.hex();
  const run = runId(world.hash, { tenant, agent: agent.name, idempotencyKey });
  const now = world.clock.earliest();
  // Avoids the PUTs of a late retry. The creation itself makes the decision.
  const [found, tombstone] = await Promise.all([world.table.read(run, now), world.table.readKey(run, now)]);
  if (found !== null) return resumeStart(world, { row: found, inputDigest });
  if (tombstone !== null) return endedBefore(tombstone, inputDigest);
  const creation = await prepare(world, {
    ...{ agent, tenant, run, inputDigest },
    task: task.json,
    parent: of.parent ?? null,
    by: of.by ?? null,
  });
  const outcome = await resolveAmbiguousWrite<Exclude<CreateOutcome, { kind: "ambiguous" }>>(
    () => world.table.create(creation),
    (row) => (row.born === creation.born ? { kind: "created", row } : null),
  );
  if (outcome.kind === "newer") throw new RowNewer(run, outcome);
  if (outcome.kind === "unreadable") throw new Unreadable(`run ${run}: ${outcome.why}`, "RowDamaged");
  if (outcome.kind === "ended") return endedBefore(outcome.tombstone, inputDigest);
  if (outcome.kind !== "created") return resumeStart(world, { row: outcome.row, inputDigest });
  await startExecution(world, outcome.row);
  return { kind: "started", row: outcome.row };
}

/** A repeated start: the first one may have died after it created the row and before it started the execution. */
async function resumeStart(world: World, of: { row: Row; inputDigest: string }): Promise<Started> {
  const { row, inputDigest } = of;
  if (row.inputDigest !== inputDigest) return { kind: "conflict", run: row.run };
  if (row.status === "queued") await startExecution(world, row);
  return { kind: "exists", row };
}

/** Schedule 81: the key was used before, and its run is gone. The work is not done again. */
const endedBefore = (tombstone: Tombstone, inputDigest: string): Started =>
  tombstone.inputDigest === inputDigest ? { kind: "ended", tombstone } : { kind: "conflict", run: tombstone.run };

/** Stores everything that has to be durable before the row names it. */
async function prepare(
  world: World,
  of: Omit<Creation, "agent" | "agentVersion" | "born" | "snapshot" | "now" | "deadline"> & {
    readonly agent: Agent;
    readonly task: Json;
    readonly by: string | null;
  },
): Promise<Creation> {
  const { agent, tenant, run, inputDigest, parent, by } = of;
  const now = world.clock.now();
  const born = bornFrom(world.random.hex());
  const state = initialState({
    ...{ run, born, agent: agent.name, agentVersion: agent.version, at: now },
    takeoversMax: agent.budget.takeovers,
    price: agent.price,
    retention: agent.retention,
    upgrade: agent.upgrade,
    ...(by === null ? {} : { startedBy: redactionIn(world).text(senderOf(by)) }),
    task: await keepValue(world, { run, born }, { json: of.task, inlineMax: SIZES.stateValueBytesMax }),
    taskText: typeof of.task === "string" ? of.task : JSON.stringify(of.task),
  });
  const sign = await signIn(world);
  const first = { version: 0, previous: null, seal: NOTHING_SEALED, commits: [], state, sign };
  const { digest, bytes, segments } = encodeSnapshot(first);
  await putSegments(world.objects, { run, born }, segments);
  const key = snapshotKey({ run, born }, { version: 0, epoch: 0, put: 1 });
  await putSnapshot(world.objects, { key, bytes });
  const identity = { run, born, parent, tenant, agent: agent.name, agentVersion: agent.version, inputDigest };
  const snapshot = { version: 0, key, digest };
  const creation = {
    ...identity,
    snapshot,
    now,
    earliest: world.clock.earliest(),
    deadline: now + world.limits.idleRunMs,
  };
  return { ...creation, checksum: checksumOf(newRow(creation)) };
}

type Task =
  | { readonly ok: true; readonly json: Json }
  | { readonly ok: false; readonly why: string; readonly issues: readonly Issue[] };

function taskOf(world: World, agent: Agent, input: Json): Task {
  const refused = (why: string): Task => ({ ok: false, why, issues: [{ path: [], message: why }] });
  const given = asJson(input);
  if (!given.ok) return refused(given.why);
  const parsed = fit(agent.task, given.json);
  if (parsed.kind === "threw") return refused(parsed.why);
  if (parsed.kind === "misfits") {
    const issues = parsed.issues.slice(0, SIZES.issuesMax);
    return { ok: false, why: z.prettifyError({ issues: [...issues] }), issues };
  }
  const task = asJson(parsed.output);
  if (!task.ok) return refused(task.why);
  const issues = secretsIn(world, task.json);
  return issues.length === 0 ? task : { ok: false, why: z.prettifyError({ issues }), issues };
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
