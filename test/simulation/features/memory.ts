/**
 * What must hold of the memory of a history: an entry whose write was acknowledged is there, once, with the last text that
 * it was given; what the run learned is there once; and the run goes on with what it recalled, whatever became of it.
 */
import { callsOf } from "../record.ts";
import type { ObservedHistory } from "../observed-history.ts";
import { replay } from "../replay.ts";
import type { Feature } from "./feature.ts";
import { FACT, LEARNED, factIn, factText } from "./memory-tools.ts";

interface Entry {
  readonly id: string;
  readonly text: string;
  readonly digest: string;
  /** How often it was written. */
  readonly version: number;
}

const entriesIn = ({ history }: ObservedHistory): readonly Entry[] =>
  [...history.world.store.records.values()].flatMap(({ kind, id, body, version }) =>
    kind === "memoryEntry" ? [{ ...(body as unknown as Omit<Entry, "id" | "version">), id, version }] : [],
  );

function wrong(seen: ObservedHistory): readonly string[] {
  const entries = entriesIn(seen);
  return [...lost(seen, entries), ...overwritten(seen, entries), ...learnedOnce(seen, entries), ...changed(seen)];
}

function lost({ history }: ObservedHistory, entries: readonly Entry[]): readonly string[] {
  return history.features.written.flatMap(({ id, text }) => {
    const found = entries.find((each) => each.id === id);
    if (found?.text !== text) return [`${id} was kept, and says ${found?.text ?? "nothing"}`];
    return found.version === 1 ? [] : [`${id} says the same, and was written ${found.version} times`];
  });
}

/** A write that lands late changes no later one. */
function overwritten({ history }: ObservedHistory, entries: readonly Entry[]): readonly string[] {
  const { revisions, isRevising } = history.features;
  const text = entries.find(({ id }) => id === FACT)?.text;
  return isRevising || text === factText(revisions) ? [] : [`the fact has version ${revisions}, and says ${text}`];
}

function learnedOnce({ events, history }: ObservedHistory, entries: readonly Entry[]): readonly string[] {
  const refs = events("Learned").flatMap(({ event }) => event.refs);
  const missing = refs.filter(({ id, digest }) => !entries.some((each) => each.id === id && each.digest === digest));
  const isDone = replay(history).state.phase === "Completed";
  const isNoted = history.record.telemetry.some(({ what }) => what === "MemoryNotLearned");
  return [
    ...missing.map(({ id }) => `${id} was learned, and is not there`),
    ...LEARNED.flatMap((text) => {
      const times = entries.filter((each) => each.text === text).length;
      if (times > 1) return [`${text} was learned ${times} times`];
      return times === 0 && isDone && !isNoted ? [`${text} was never learned`] : [];
    }),
  ];
}

/**
 * Every request after the commit that recalled shows the same version. A task of an earlier epoch is fenced: what it
 * recalled and was told is in no commit.
 */
function changed({ events, history }: ObservedHistory): readonly string[] {
  const [recalled] = events("Recalled");
  const fenced = new Set(
    callsOf(history.record.calls, "table.claim").flatMap(({ task, outcome }) =>
      outcome?.kind === "granted" && outcome.row.epoch < (recalled?.epoch ?? 0) ? [task] : [],
    ),
  );
  const shown = history.features.modelCalls.flatMap(({ order, task, shows }) =>
    order > (recalled?.order ?? Infinity) && !fenced.has(task) ? [factIn(shows)] : [],
  );
  const versions = [...new Set(shown)].filter((version) => version !== null);
  return versions.length > 1 ? [`the run recalled the fact in versions ${versions.join(" and ")}`] : [];
}

const CELLS = ["recalled", "written", "written again", "learned", "changed after it was recalled"];

function met(seen: ObservedHistory): readonly string[] {
  const { events, history } = seen;
  const { written, revisions, modelCalls } = history.features;
  const ids = written.map(({ id }) => id);
  const recalled = events("Recalled")[0]?.order ?? Infinity;
  const cells: Readonly<Record<string, boolean>> = {
    recalled: recalled < Infinity,
    written: ids.length > 0,
    "written again": ids.some((id, index) => ids.indexOf(id) !== index),
    learned: events("Learned").length > 0,
    "changed after it was recalled":
      revisions > 0 &&
      modelCalls.some(({ order, shows }) => order > recalled && (factIn(shows) ?? revisions) < revisions),
  };
  return Object.entries(cells).flatMap(([name, isMet]) => (isMet ? [`memory ${name}`] : []));
}

export const MEMORY: Feature = {
  isIn: ({ plan }) => plan.features.memory !== null,
  wrong,
  cells: CELLS.map((what) => `memory ${what}`),
  met,
};
