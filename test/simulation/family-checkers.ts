/** What must hold of any history of a family. Each checker returns the violations that it finds, in words. */
import { verify } from "../../src/features/seals/verify.ts";
import { conserved, dispatchesIn, withinGrants } from "./family-accounts.ts";
import { fencedAsDecided } from "./family-fences.ts";
import { actsOnce, asksAboutUnknown } from "./family-service.ts";
import { type FamilyRecord, type Told, descendantsOf, endOf, reportedIn } from "./family-history.ts";

/** Everything that is wrong with a history, of whose runs `all` is told. */
export async function wrongInFamily(history: FamilyRecord, all: readonly Told[]): Promise<readonly string[]> {
  const { mistakes, isOver, births, world, removed } = history;
  if (mistakes.length > 0) return mistakes.slice(0, 2).map((each) => `mistake: ${each}`);
  const rows = [...world.store.rows.values()];
  if (!isOver) {
    const open = rows.filter(({ endNotified }) => !endNotified);
    return [
      `it does not end: ${open.map(({ agent, status, phase, cancel, pause }) => `${agent} ${status} ${phase} ${cancel} ${pause}`).join("; ")}`,
    ];
  }
  const twice = [...births].filter(([, count]) => count > 1).map(([run]) => `the row of ${run} was made twice`);
  const each = await Promise.all(all.map((of) => wrongIn(of, all)));
  const known = new Set(all.flatMap(({ events }) => dispatchesIn(events).map(({ child }) => child)));
  const forks = new Set(all.flatMap(({ row, state }) => (state.forked === undefined ? [] : [row.run])));
  // A child that is left alone does not name the run that made it, which may be one that was removed.
  const orphans = rows.filter(
    ({ run, parent }) =>
      ![history.root, ...known, ...forks].includes(run) &&
      (parent === null ? removed.size === 0 : !isBelowRemoved(history, run)),
  );
  return [
    ...twice,
    ...each.flat(),
    ...orphans.map(({ run }) => `${run} works for no call`),
    ...(removed.has(history.root) ? ["the root is gone"] : []),
  ];
}

const isBelowRemoved = ({ removed, stored }: FamilyRecord, run: string): boolean =>
  stored.some(({ row }) => row.run === run && row.parent !== null && removed.has(row.parent.run));

async function wrongIn(of: Told, all: readonly Told[]): Promise<readonly string[]> {
  const { history, row } = of;
  const findings = (await verify(history.world, { run: row.run }))?.findings ?? [];
  const wrong = [...CHECKERS.flatMap((check) => check(of, all)), ...findings.map((finding) => JSON.stringify(finding))];
  return wrong.map((what) => `${row.agent} ${row.run.slice(-6)}: ${what}`);
}

const CHECKERS: readonly ((of: Told, all: readonly Told[]) => readonly string[])[] = [
  settledOnce,
  heardOnce,
  dispatchedOnce,
  endsAfterDescendants,
  conserved,
  withinGrants,
  actsOnce,
  asksAboutUnknown,
  fencedAsDecided,
  goesOnWithinTries,
];

/**
 * A child goes on in place of its end only after it acted, with each try once, never beyond what its parent allows, and
 * with a message in between. What was reserved for it stays: `withinGrants`.
 */
function goesOnWithinTries({ events, state }: Told): readonly string[] {
  const wrong: string[] = [];
  let [used, messages, since] = [0, 0, -1];
  for (const event of events) {
    const isText = event.kind === "MessageAbsorbed" && event.stage === "taken" && "text" in event.body;
    if (isText || /^(ModelCallCompleted|ToolResultRecorded|ToolResultReconciled)$/.test(event.kind)) messages += 1;
    if (event.kind === "CheckFailed" && event.isAnswer === true) used += 1;
    if (event.kind !== "RecoveryDecided" || event.action.kind !== "tryAgain") continue;
    used += 1;
    if (event.action.try !== used + 1) wrong.push(`try ${event.action.try} follows ${used}`);
    if (since === messages) wrong.push(`try ${event.action.try} begins where the one before failed`);
    since = messages;
    if (state.outside === undefined && state.open.length === 0) wrong.push(`it did nothing, and has try ${used + 1}`);
  }
  const { tries = 1 } = state.expected ?? {};
  if (used >= tries && used > 0) wrong.push(`it went on ${used} times, ${tries} tries are allowed`);
  return wrong;
}

function settledOnce({ state }: Told): readonly string[] {
  const parts = state.messages.flatMap((message) => message.parts);
  const results = parts.filter((part) => part.kind === "result").map(({ call }) => call);
  return results.filter((call, index) => results.indexOf(call) !== index).map((call) => `${call} is settled twice`);
}

/** Of each child the parent hears once: a report, or that it was never made. A forced end hears of it at most once. */
function heardOnce({ events, state, isForced }: Told): readonly string[] {
  const reports = reportedIn(events);
  const unmade = events.flatMap((event) => (event.kind === "ChildNeverMade" ? [event.child] : []));
  return dispatchesIn(events).flatMap(({ child, left }) => {
    const times = [...reports, ...unmade].filter((each) => each === child).length;
    const stands = state.children.some(({ id }) => id === child);
    const name = `child ${child.slice(-6)}`;
    if (times > 1) return [`${name} is heard of ${times} times`];
    if (stands && !isForced) return [`${name} has an entry after the end`];
    return times === 0 && !stands && left !== true ? [`${name} is never heard of`] : [];
  });
}

/**
 * A new boss dispatches nothing that is done or under way: another try follows the end of the one before, and a restart
 * follows the end of every child.
 */
function dispatchedOnce({ events }: Told): readonly string[] {
  const wrong: string[] = [];
  let tries = new Map<string, { readonly number: number; isOver: boolean }>();
  const calls = new Map<string, string>();
  const out = new Set<string>();
  for (const event of events) {
    if (event.kind === "ChildDispatched") {
      const before = tries.get(event.call);
      if (before?.isOver === false) wrong.push(`${event.call} is dispatched while a child of it works`);
      if (event.try !== (before?.number ?? 0) + 1)
        wrong.push(`${event.call} has try ${event.try} after ${before?.number}`);
      tries.set(event.call, { number: event.try, isOver: false });
      calls.set(event.child, event.call);
      if (event.left !== true) out.add(event.child);
    }
    const over =
      event.kind === "ChildSuperseded" || event.kind === "ChildNeverMade" ? [event.child] : reportedIn([event]);
    for (const child of over) {
      const of = tries.get(calls.get(child) ?? "");
      if (of !== undefined) of.isOver = true;
      if (event.kind !== "ChildSuperseded") out.delete(child);
    }
    if (event.kind === "RecoveryDecided" && event.action.kind === "restart") {
      if (out.size > 0) wrong.push(`it begins again while ${out.size} children work`);
      tries = new Map();
    }
  }
  return wrong;
}

/** Nothing below a run works after it ended as it should. */
function endsAfterDescendants({ history, row, isForced }: Told): readonly string[] {
  if (isForced) return [];
  const end = endOf(history, row.run);
  return descendantsOf(history, row.run).flatMap((run) => {
    const ended = endOf(history, run);
    return ended < 0 || ended > end ? [`${run.slice(-6)} below it works after the end`] : [];
  });
}
