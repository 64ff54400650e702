/**
 * What must hold of the spend cap of a history. Once the debits of a day have reached it, no beat begins a model call; one
 * that is at work then may have one under way. And the sum of the day is never less than what is committed.
 */
import type { ObservedHistory } from "../observed-history.ts";
import { finalRow } from "../replay.ts";
import type { Feature } from "./feature.ts";

const DAY_MS = 24 * 3_600_000;
/** Processes whose clocks are off may take the first moments of a day for the one before. */
const MIDNIGHT_MS = 60_000;
const dayOf = (at: number): number => Math.floor(at / DAY_MS);
const isNearMidnight = (at: number): boolean => (at + MIDNIGHT_MS) % DAY_MS < 2 * MIDNIGHT_MS;

interface Over {
  readonly task: number;
  readonly hasBegunOver: boolean;
}

/** The model calls that left when the day had reached its cap. */
function callsOver({ events, history }: ObservedHistory): readonly Over[] {
  const { modelCalls, capRaised } = history.features;
  const cap = history.plan.features.cap?.microUsd ?? Infinity;
  const debits = events("BudgetDebited").map(({ event, order }) => ({
    order,
    at: history.stored.find((each) => each.order === order)?.at ?? 0,
    microUsd: event.debit.microUsd ?? 0,
  }));
  const spentAt = (before: number, day: number): number =>
    debits.reduce((sum, { order, at, microUsd }) => (order < before && dayOf(at) === day ? sum + microUsd : sum), 0);
  const begunAt = (task: number): number => history.record.calls.find((call) => call.task === task)?.sent ?? Infinity;
  return modelCalls.flatMap(({ task, order, at }) => {
    if (isNearMidnight(at) || order > capRaised) return [];
    const day = dayOf(at);
    if (spentAt(order, day) < cap) return [];
    return [{ task, hasBegunOver: spentAt(begunAt(task), day) >= cap }];
  });
}

function wrong(seen: ObservedHistory): readonly string[] {
  const over = callsOver(seen);
  const tasks = over.map(({ task }) => task);
  return [
    ...over.flatMap(({ task, hasBegunOver }) =>
      hasBegunOver ? [`task ${task} began over the cap, and called a model`] : [],
    ),
    ...[...new Set(tasks)].flatMap((task) => {
      const times = tasks.filter((each) => each === task).length;
      return times > 1 ? [`task ${task} called a model ${times} times over the cap`] : [];
    }),
    ...uncounted(seen),
  ];
}

/** Whatever is committed is in the sums of the days. */
function uncounted({ history }: ObservedHistory): readonly string[] {
  const sums = [...history.world.store.records.values()].flatMap(({ kind, about, body }) =>
    kind === "rate" && about === "*account" ? [(body as { readonly microUsd: number }).microUsd] : [],
  );
  const [sum, spent] = [sums.reduce((all, each) => all + each, 0), finalRow(history).spent.microUsd];
  return sum >= spent ? [] : [`${spent} is committed, and the days have ${sum}`];
}

const CELLS = ["reached", "went on the next day", "raised by an operator"].map((what) => `cap ${what}`);

function met(seen: ObservedHistory): readonly string[] {
  const { history } = seen;
  const { telemetry } = history.record;
  const first = telemetry.find(({ what }) => what === "SpendCapReached")?.at;
  if (first === undefined) return [];
  const { modelCalls, capRaised } = history.features;
  const isLater = modelCalls.some(({ order, at }) => order < capRaised && dayOf(at) > dayOf(first));
  return [
    "cap reached",
    ...(isLater ? ["cap went on the next day"] : []),
    ...(modelCalls.some(({ order }) => order > capRaised) ? ["cap raised by an operator"] : []),
  ];
}

export const CAP: Feature = { isIn: ({ plan }) => plan.features.cap !== null, wrong, cells: CELLS, met };
