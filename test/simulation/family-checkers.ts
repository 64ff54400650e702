/** What must hold of any history of a family. Each checker returns the violations that it finds, in words. */
import { type Spent, NOTHING_SPENT, add } from "../../src/core/policy/budget.ts";
import { spentOfGrant } from "../../src/core/calls/children.ts";
import type { EventOf } from "../../src/core/event.ts";
import { type Row, hasEnded } from "../../src/protocol/row.ts";
import { SegmentCache, load } from "../../src/history/load.ts";
import { verify } from "../../src/history/verify.ts";
import { type TimelineEntry, timeline } from "../../src/operations/views.ts";
import type { FamilyHistory } from "./family-history.ts";

/** Everything that is wrong with a history. */
export async function wrongInFamily(history: FamilyHistory): Promise<readonly string[]> {
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
  const each = await Promise.all(rows.map((row) => wrongIn(history, row)));
  const known = new Set((await Promise.all(rows.map((row) => eventsOf(history, row)))).flat().flatMap(dispatchedIn));
  const orphans = rows.filter(({ run }) => run !== history.root && !known.has(run) && !isBelowRemoved(history, run));
  return [
    ...twice,
    ...each.flat(),
    ...orphans.map(({ run }) => `${run} works for no call`),
    ...(removed.has(history.root) ? ["the root is gone"] : []),
  ];
}

const isBelowRemoved = ({ removed, stored }: FamilyHistory, run: string): boolean =>
  stored.some(({ row }) => row.run === run && row.parent !== null && removed.has(row.parent.run));

const dispatchedIn = (event: TimelineEntry): readonly string[] =>
  event.kind === "ChildDispatched" ? [event.child] : [];

const eventsOf = async ({ world }: FamilyHistory, { run }: Row): Promise<readonly TimelineEntry[]> =>
  (await timeline(world, { run, after: 0 })) ?? [];

async function wrongIn(history: FamilyHistory, row: Row): Promise<readonly string[]> {
  const { world } = history;
  const { run } = row;
  const events = await eventsOf(history, row);
  const { state } = await load(world.objects, row, new SegmentCache());
  const named = (what: string): string => `${row.agent} ${run.slice(-6)}: ${what}`;
  const isForced = events.some(
    (event) =>
      event.kind === "RecoveryDecided" &&
      (event.action.kind === "force" || (event.action.kind === "abort" && event.action.forced === true)),
  );
  const wrong: string[] = [];
  if (!isForced && state.children.length > 0) wrong.push("entries stand after the end");
  const parts = state.messages.flatMap((message) => message.parts);
  const results = parts.filter((part) => part.kind === "result").map(({ call }) => call);
  wrong.push(
    ...results.filter((call, index) => results.indexOf(call) !== index).map((call) => `${call} is settled twice`),
  );
  if (!isForced) wrong.push(...endsAfterChildren(history, { row, events }));
  wrong.push(...conserved(history, { row, events, standing: state.children.map(({ id }) => id) }));
  const findings = (await verify(world, { run }))?.findings ?? [];
  wrong.push(...findings.map((finding) => JSON.stringify(finding)));
  return wrong.map(named);
}

const lastOf = ({ stored }: FamilyHistory, run: string): Row | undefined =>
  stored.findLast(({ row }) => row.run === run)?.row;

const endOf = ({ stored }: FamilyHistory, run: string): number =>
  stored.findIndex(({ row }) => row.run === run && hasEnded(row));

/** No child works after its parent ended as it should. */
function endsAfterChildren(
  history: FamilyHistory,
  { row, events }: { row: Row; events: readonly TimelineEntry[] },
): readonly string[] {
  const end = endOf(history, row.run);
  return events.flatMap((event) => {
    if (event.kind !== "ChildDispatched" || event.left === true || lastOf(history, event.child) === undefined)
      return [];
    const ended = endOf(history, event.child);
    return ended < 0 || ended > end ? [`child ${event.child.slice(-6)} works after the end`] : [];
  });
}

/** What the run spent is what it spent itself, and what each of its children spent, once. */
function conserved(
  history: FamilyHistory,
  { row, events, standing }: { row: Row; events: readonly TimelineEntry[]; standing: readonly string[] },
): readonly string[] {
  const debits = events.filter((event) => event.kind === "BudgetDebited");
  const own = sum(debits.filter(({ child }) => child === undefined).map(({ debit }) => debit));
  const dispatched = events.filter((event) => event.kind === "ChildDispatched");
  const reported = new Set(
    events.flatMap((event) =>
      event.kind === "MessageAbsorbed" && event.stage === "taken" && event.body.kind === "child"
        ? [event.body.child]
        : [],
    ),
  );
  const costs = dispatched.map((event) =>
    costOf(history, { event, isReported: reported.has(event.child), stands: standing.includes(event.child) }),
  );
  const all = sum([own, ...costs]);
  return JSON.stringify(row.spent) === JSON.stringify(all)
    ? []
    : [`it spent ${JSON.stringify(row.spent)}, and ${JSON.stringify(all)} was spent for it`];
}

function costOf(
  history: FamilyHistory,
  of: { readonly event: EventOf<"ChildDispatched">; readonly isReported: boolean; readonly stands: boolean },
): Partial<Spent> {
  const { event, isReported, stands } = of;
  const child = lastOf(history, event.child);
  if (event.left === true) return spentOfGrant(event.grant);
  if (isReported) return child?.spent ?? NOTHING_SPENT;
  return stands ? spentOfGrant(event.grant) : NOTHING_SPENT;
}

const sum = (debits: readonly Partial<Spent>[]): Spent =>
  debits.reduce<Spent>((spent, debit) => add(spent, debit), NOTHING_SPENT);
