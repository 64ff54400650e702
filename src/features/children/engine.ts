/**
 * Makes child runs that are dispatched, and asks children to stop whose answers are not wanted any more. The decision
 * for either is committed before. The rules C1 to C8 are those of `docs/protocol.md` (child runs).
 */
import { Unreadable } from "../../codec/canonical.ts";
import { RowNewer, RowUnreadable } from "../../codec/row.ts";
import type { Child, ExpectedAnswer } from "../../core/child.ts";
import type { State } from "../../core/state.ts";
import type { Agent } from "../../ports/agent.ts";
import { argsOf } from "../../core/calls/ledger.ts";
import type { Json } from "../../core/json.ts";
import { childEndId, parentStopId } from "../../protocol/ids.ts";
import { markForNew, openMark } from "../../protocol/restored.ts";
import { NO_EXECUTION, isUnbegun } from "../../protocol/row-park.ts";
import type { ChildFence, FenceAnswer, FenceOutcome } from "../../protocol/row-fence.ts";
import { hasEnded } from "../../protocol/row.ts";
import type { ChildAnswer, ChildCreation, ChildrenOutcome } from "../../protocol/row-children.ts";
import type { World } from "../../ports/world.ts";
import { alarm } from "../../history/alarm.ts";
import { findRow } from "../../history/damage.ts";
import { patient, resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";
import { prepareCreation, taskOf } from "../../engine/context/creation.ts";
import { keptTrace, traceOfCall } from "../../engine/context/trace.ts";
import { Fenced } from "../../engine/context/fenced.ts";
import { absorbInbox, deliver } from "../../engine/context/inbox.ts";
import { type Next, type Saw, goesOn } from "../../engine/context/next.ts";
import type { Runner } from "../../engine/context/runner.ts";
import { startExecution } from "../../engine/context/executions.ts";
import { expectedAnswerOf } from "./expected-answer.ts";
import { toolFor } from "../../engine/tools/tools.ts";
import { sendRequest } from "../../engine/loop/request.ts";

/**
 * Makes the children, and starts their executions (C1, C2). A process that dies in between leaves their entries: the
 * next invocation makes them again and finds what is there. The sweeper starts a child that was made and not started.
 */
export async function makeChildren(
  { runner, agent }: { readonly runner: Runner; readonly agent: Agent },
  run: ActiveRun,
  ids: readonly string[],
): Promise<Next> {
  if (run.hasPending) {
    // The intent is durable first. The commit may also bring news, such as a cancel.
    await run.commitPending();
    return "continue";
  }
  if (run.leftMs <= 0 && run.moved) return "release";
  const children: { readonly entry: Child; readonly made: ChildCreation }[] = [];
  const saw: Saw[] = [];
  for (const entry of entriesOf(run, ids)) {
    const made = await creationOf({ runner, agent }, run, entry);
    if (made === null) saw.push("childLacking");
    else children.push({ entry, made });
  }
  if (children.length === 0) return goesOn(...saw);
  const answers = await create(
    run,
    children.map(({ made }) => made),
  );
  let hasReported = false;
  for (const [index, { entry }] of children.entries()) {
    const answer = answers[index] as ChildAnswer;
    if (answer.kind === "unreadable") {
      cannotMake(run, entry, { what: "Unreadable", why: `its row cannot be read: ${answer.why}` });
      saw.push("childLacking");
      continue;
    }
    if (answer.kind === "reported") hasReported = true;
    else if (answer.row.status === "queued") await startExecution(run.world, answer.row);
    run.record({ kind: "ChildStarted", at: run.now, child: entry.id });
  }
  if (hasReported) await absorbInbox(run);
  return goesOn(...saw);
}

const entriesOf = (run: ActiveRun, ids: readonly string[]): readonly Child[] =>
  run.state.children.filter(({ id }) => ids.includes(id));

/** Stores what the child's row will name. Null: its agent cannot be loaded or does not take the task now. */
async function creationOf(
  { runner, agent: parent }: Parameters<typeof makeChildren>[0],
  run: ActiveRun,
  entry: Child,
): Promise<ChildCreation | null> {
  const { world, row, state } = run;
  const found = await runner.agentOf(entry.agent);
  const absent = (why: string): null =>
    cannotMake(run, entry, { what: "AgentAbsent", why: `agent ${entry.agent} ${why}` });
  if (found.kind === "absent") return absent(`cannot be loaded: ${found.why}`);
  const { agent } = found;
  const args = await run.json(argsOf(state, entry.call));
  const task = taskOf(world, agent, args);
  if (!task.ok) return absent(`does not take its task: ${task.why}`);
  const isLeft = entry.left === true;
  const mark = openMark(row);
  const creation = await prepareCreation(world, {
    agent,
    tenant: row.tenant,
    run: entry.id,
    task: await recordedTask(run, { call: entry.call, args, task: task.json }),
    grant: entry.grant,
    depth: (state.depth ?? 0) + 1,
    expected: expectedOf(parent, state, entry),
    parent: isLeft ? null : { run: row.run, born: row.born },
    by: `run ${row.run}`,
    trace: keptTrace("parent", traceOfCall(world, row, callOf(state, entry))),
    // It may have existed in the lost time of a restore, and have acted.
    restored: mark === null ? undefined : markForNew(mark),
  });
  return { creation, reportId: childEndId(entry.id), isLeft };
}

const callOf = ({ open }: State, { call }: Child) =>
  open.find((each) => each.call === call) ?? { call, timesUnknown: 0 };

function expectedOf(parent: Agent, { open }: State, { call, ...entry }: Child): ExpectedAnswer | undefined {
  const waiting = open.find((each) => each.call === call);
  const { child, output } = (waiting === undefined ? null : toolFor(parent, waiting)) ?? {};
  return child === undefined ? undefined : expectedAnswerOf({ child, output, used: entry.try - 1 });
}

/** The task as the intent of the call has it: another parse may make another value. */
async function recordedTask(
  run: ActiveRun,
  given: { readonly call: string; readonly args: Json; readonly task: Json },
) {
  const { intent } = run.state.open.find(({ call }) => call === given.call) ?? {};
  if (intent === undefined || intent === null) return given.task;
  return intent.parsed === undefined ? given.args : run.json(intent.parsed.json);
}

/** The run looks again later, until the child is too late. */
function cannotMake(run: ActiveRun, entry: Child, { what, why }: Parameters<typeof alarm>[2]): null {
  alarm(run.world, run.row.run, { what, why: `child run ${entry.id} cannot be made: ${why}` });
  return null;
}

/** C2: the creation names this epoch of the parent, so a process that lost the parent makes no child. */
async function create(run: ActiveRun, children: readonly ChildCreation[]): Promise<readonly ChildAnswer[]> {
  const { world, row, invocation } = run;
  const { clock, random, limits, table } = world;
  const { run: id, born, epoch } = row;
  const outcome = await resolveAmbiguousWrite<ChildrenOutcome>(
    () => table.createChildren({ run: id, born, epoch, now: clock.now(), children }),
    () => null,
    patient({ clock, random, until: invocation.deadline - limits.drainMs }),
  );
  if (outcome.kind === "missing") throw new Fenced("the run is gone");
  if (outcome.kind === "fenced") throw new Fenced(`epoch ${epoch} is over, epoch ${outcome.row.epoch} has it`);
  if (outcome.kind === "unreadable") throw new Unreadable(`run ${id}: ${outcome.why}`);
  if (outcome.kind === "newer") throw new RowNewer(id, outcome);
  return outcome.children;
}

/**
 * Takes children that are to go on from the processes that hold them, and starts their next executions (C9). A process
 * that dies in between leaves the entries as they are: the next invocation sends the same requests, which find their
 * numbers in the rows.
 */
export async function continueChildren(run: ActiveRun, ids: readonly string[]): Promise<Next> {
  if (run.hasPending) {
    await run.commitPending();
    return "continue";
  }
  if (run.leftMs <= 0 && run.moved) return "release";
  let hasReported = false;
  const saw: Saw[] = [];
  for (const entry of entriesOf(run, ids)) {
    const answer = await fence(run, { child: entry.id, dispatch: entry.dispatch ?? 1 });
    if (answer.kind === "childUnreadable") {
      saw.push("childUnreadable");
      continue;
    }
    if (answer.kind === "ended" || answer.kind === "gone") hasReported = true;
    run.record({ kind: "ChildResumed", at: run.now, child: entry.id });
  }
  if (hasReported) await absorbInbox(run);
  return goesOn(...saw);
}

/**
 * The token of the execution that waits for that run. Schedule 269: a fence lands and its answer is lost, so the answer to
 * its copy does not name that execution, which would stay open until its limit. Null: none waits, or it is not known.
 */
async function parkOf({ table, clock }: World, run: string): Promise<string | null> {
  try {
    return (await table.read(run, clock.now()))?.park?.token ?? null;
  } catch (error) {
    // The fence says what is wrong with the row.
    if (error instanceof RowNewer || error instanceof RowUnreadable) return null;
    throw error;
  }
}

/**
 * The fence names this epoch of the parent, so a process that lost the parent takes no child from its successor.
 *
 * Schedule 218: a fence lands, and the store is away before its answer comes. The next process finds the number of its fence
 * in the row, and starts the execution that the first one did not start.
 */
async function fence(run: ActiveRun, request: Pick<ChildFence, "child" | "dispatch">): Promise<FenceAnswer> {
  const { world, row, invocation } = run;
  const { clock, random, limits, table } = world;
  const { run: id, born, epoch } = row;
  const before = await parkOf(world, request.child);
  const outcome = await resolveAmbiguousWrite<FenceOutcome>(
    () => table.fenceChild({ run: id, born, epoch, now: clock.now(), ...request }),
    () => null,
    patient({ clock, random, until: invocation.deadline - limits.drainMs }),
  );
  if (outcome.kind === "missing") throw new Fenced("the run is gone");
  if (outcome.kind === "refused") throw new Fenced(`epoch ${epoch} is over, epoch ${outcome.row.epoch} has it`);
  if (outcome.kind === "unreadable") throw new Unreadable(`run ${id}: ${outcome.why}`);
  if (outcome.kind === "newer") throw new RowNewer(id, outcome);
  // The execution that waited for the child finds that the run has moved on, and ends.
  const parked = outcome.kind === "fenced" ? outcome.parked : before;
  const isOver = outcome.kind === "fenced" || (outcome.kind === "already" && outcome.row.park?.token !== parked);
  if (isOver && parked !== null && parked !== NO_EXECUTION) await world.chain.wake(parked);
  if ((outcome.kind === "fenced" || outcome.kind === "already") && isUnbegun(outcome.row)) {
    await startExecution(world, outcome.row);
  }
  return outcome;
}

/**
 * Asks children to stop (C5, C7). A child without a row was never made, and cannot be made any more: this epoch fences
 * every older creation. It may also have reported and be gone, so the inbox is read before, and the commit that drops
 * the entry is conditional on the wake-up counter.
 */
export async function stopChildren(run: ActiveRun, ids: readonly string[]): Promise<Next> {
  if (run.hasPending) {
    await run.commitPending();
    return "continue";
  }
  if (!(await absorbInbox(run))) return "continue";
  const gone: Child[] = [];
  const saw: Saw[] = [];
  for (const entry of entriesOf(run, ids)) {
    const asked =
      entry.left === true ? await stateOfLeft(run, entry) : await askChildToStop(run.world, askOf(run, entry));
    if (asked === "missing") gone.push(entry);
    else if (asked === "unreadable") saw.push("childUnreadable");
    else if (asked === "works") run.record({ kind: "ChildStarted", at: run.now, child: entry.id });
    else run.record({ kind: "ChildAskedToStop", at: run.now, child: entry.id });
  }
  if (gone.length === 0) return goesOn(...saw);
  const before = run.mark();
  for (const { id, call } of gone) run.record({ kind: "ChildNeverMade", at: run.now, call, child: id });
  const outcome = await run.commit({ release: false, unlessWoken: true });
  if (outcome === "woken") run.restore(before);
  return goesOn(...saw);
}

const askOf = ({ state }: ActiveRun, { id }: Child) => ({ child: id, undoneBy: state.compensate?.by ?? null });

/** A child that is left alone goes on without its parent. */
async function stateOfLeft({ world }: ActiveRun, { id }: Child): Promise<"works" | "missing" | "unreadable"> {
  const row = await findRow(world, id, world.clock.now());
  if (row instanceof RowUnreadable) return "unreadable";
  if (row === null) return "missing";
  if (row.status === "queued") await startExecution(world, row);
  return "works";
}

/**
 * Asks a child to stop. `undoneBy`: who wants the effects of the parent compensated; then those of the child are, too.
 * That request is delivered first, since an end that absorbs it is decided again (schedule 75).
 */
export async function askChildToStop(
  world: World,
  request: { readonly child: string; readonly undoneBy: string | null },
): Promise<"asked" | "ended" | "missing" | "unreadable"> {
  try {
    return await ask(world, request);
  } catch (error) {
    // A newer version of cairn wrote the child.
    if (error instanceof RowNewer) return "unreadable";
    throw error;
  }
}

async function ask(
  world: World,
  { child, undoneBy }: Parameters<typeof askChildToStop>[1],
): ReturnType<typeof askChildToStop> {
  const row = await findRow(world, child, world.clock.now());
  if (row === null) return "missing";
  if (row instanceof RowUnreadable) return "unreadable";
  // Until its end is delivered, children that it left behind may work (schedule 133).
  if (hasEnded(row)) return row.endNotified ? "ended" : "asked";
  if (undoneBy !== null) {
    const body = { kind: "compensate", next: "cancel", by: undoneBy } as const;
    const message = { id: parentStopId, sentAt: world.clock.now(), body };
    const delivered = await deliver(world, { run: child, born: row.born, message });
    if (delivered === "unreadable") return "unreadable";
  }
  if (row.cancel) return "asked";
  const asked = await sendRequest(world, { run: child, want: "cancel" });
  return asked === "requested" || asked === "late" ? "asked" : asked;
}
