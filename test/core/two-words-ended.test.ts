/**
 * Fork, redrive and purge before and after every other word, in each phase: who is refused, and with what code. A redrive
 * needs a failed run, a purge one that has ended, and a fork a version at which nothing is open or decided. `docs/sagas.md`
 * has the table for people.
 */
import { fold } from "../../src/features/compose.ts";
import { describe, expect, test } from "vitest";
import { isTerminal, PHASES } from "../../src/core/phases.ts";
import { forkRefusal } from "../../src/features/fork/core.ts";
import { redriveRefusal } from "../../src/features/redrive/core.ts";
import type { State } from "../../src/core/state.ts";
import { type Row, decideRequest, hasEnded } from "../../src/protocol/row.ts";
import { decideRedrive } from "../../src/protocol/row-redrive.ts";
import { decidePurge } from "../../src/protocol/row-removal.ts";
import { withChildren } from "../support/states/child-events.ts";
import { AT, FAILURE, IN_PHASE, row, view, EVENT } from "../support/states/states-and-events.ts";
import { CANCELS, PLACES, type Run, STATES, WORDS, outcomeOf, step } from "../support/walks/two-words.ts";

/** What a sender hears, and the run after that; null: it is gone. */
interface Told {
  readonly code: string;
  readonly run: Run | null;
}

const rowAt = ({ state: { phase }, view: { cancel, pause } }: Run): Row =>
  row({ phase, status: PHASES[phase].status, cancel, pause, endNotified: isTerminal(phase) });

const redriveIn = (before: Row) =>
  decideRedrive(before, { ...before, now: AT, deadline: AT + 9, note: { id: "r1", by: "ada", why: "mended" } });

const ENDED_WORDS: { readonly [word: string]: (run: Run) => Told } = {
  fork: (run) => ({ code: forkRefusal(run.state) ?? "forked", run }),
  redrive: (run) => {
    const before = rowAt(run);
    const { state, view: seen } = run;
    const code = before.status === "failed" ? redriveRefusal(state) : "NotFailed";
    if (code !== null) return { code, run };
    const event = { ...EVENT.redriven, failure: state.failure ?? FAILURE };
    return {
      code: redriveIn(before).kind,
      run: { state: fold(state, event), view: { ...seen, epoch: seen.epoch + 1 } },
    };
  },
  purge: (run) => (decidePurge(rowAt(run)).kind === "purged" ? { code: "purged", run: null } : { code: "live", run }),
};

const ENDED_NAMES = Object.keys(ENDED_WORDS);
const ALL = [...Object.keys(WORDS), ...ENDED_NAMES];

function tell(word: string, run: Run | null): Told {
  if (run === null) return { code: "missing", run };
  const needsEnd = ENDED_WORDS[word];
  if (needsEnd !== undefined) return needsEnd(run);
  const before = rowAt(run);
  // A message and a request are judged alike.
  if (hasEnded(before)) return { code: decideRequest(before, { ...before, now: AT, want: "cancel" }).kind, run };
  const after = WORDS[word]?.(run) ?? null;
  return after === null ? { code: "refused", run } : { code: "accepted", run: after };
}

const ENDED: { readonly [where: string]: () => State } = {
  Completed: IN_PHASE.Completed,
  Failed: IN_PHASE.Failed,
  Cancelled: IN_PHASE.Cancelled,
  "Failed by itself": () => ({ ...IN_PHASE.Failed(), failure: FAILURE }),
  "Failed and undone": () => ({ ...IN_PHASE.Failed(), saga: { leftInPlace: [] } }),
  "Failed, children are out": () => ({ ...IN_PHASE.Failed(), children: withChildren(IN_PHASE.AwaitingLLM()).children }),
};

/** Fork, redrive and purge alone. A live run is neither redriven nor purged, whatever it does. */
const CODES: { readonly [where: string]: readonly [fork: string, redrive: string, purge: string] } = {
  Completed: ["Ending", "NotFailed", "purged"],
  Failed: ["Ending", "redriven", "purged"],
  Cancelled: ["Ending", "NotFailed", "purged"],
  "Failed by itself": ["Ending", "NotInfrastructure", "purged"],
  "Failed and undone": ["Ending", "Compensated", "purged"],
  "Failed, children are out": ["CallsOpen", "HasChildren", "purged"],
  Preparing: ["forked", "NotFailed", "live"],
  AwaitingLLM: ["forked", "NotFailed", "live"],
  RetryingLLM: ["forked", "NotFailed", "live"],
  Compacting: ["forked", "NotFailed", "live"],
  Reflecting: ["Elsewhere", "NotFailed", "live"],
  ForceStop: ["Ending", "NotFailed", "live"],
  "a gate of the budget": ["forked", "NotFailed", "live"],
};
const OPEN = ["CallsOpen", "NotFailed", "live"] as const;

const startIn = (state: State): Run => ({ state, view: view({ epoch: 2, pause: state.phase === "Paused" }) });

const PLACED = Object.entries({ ...STATES, ...ENDED }).map(([where, make]) => ({ where, make }));

describe.each(PLACED)("in $where", ({ where, make }) => {
  test("fork, redrive and purge are allowed or refused with their code", () => {
    const codes = ENDED_NAMES.map((word) => tell(word, startIn(make())).code);
    expect(codes).toEqual(CODES[where] ?? OPEN);
  });

  test.each(ALL)("%s comes first", (first) => {
    for (const second of ALL) {
      if (ENDED_WORDS[first] === undefined && ENDED_WORDS[second] === undefined) continue;
      const start = startIn(make());
      const said = tell(first, start);
      if (said.run === null) expect({ second, code: tell(second, said.run).code }).toEqual({ second, code: "missing" });
      else if (hasEnded(rowAt(said.run))) expectAfterEnd({ first, second, start, said });
      else expectLive({ first, second, start, run: said.run });
    }
  });
});

/** A run that has ended takes no word but these, so a word before changes nothing of what they do. */
function expectAfterEnd(pair: {
  readonly first: string;
  readonly second: string;
  readonly start: Run;
  readonly said: Told;
}): void {
  const { first, second, start, said } = pair;
  expect(said.run).toBe(start);
  if (ENDED_WORDS[first] === undefined) expect({ first, code: said.code }).toEqual({ first, code: "late" });
  expect(tell(second, said.run).code).toBe(tell(second, start).code);
}

/** The second word comes at each place of the way that the first one leads to. */
function expectLive(pair: {
  readonly first: string;
  readonly second: string;
  readonly start: Run;
  readonly run: Run;
}): void {
  const { first, second, start, run } = pair;
  const isRedriven = hasEnded(rowAt(start));
  // A refused word and a fork leave the run as it is.
  if (ENDED_WORDS[first] !== undefined && !isRedriven) expect(run).toBe(start);
  let between: Run | null = run;
  for (let place = 0; between !== null && place < PLACES; place += 1) {
    const { state } = between;
    const told = tell(second, between);
    if (second === "purge") expect(told.code).toBe(isTerminal(state.phase) ? "purged" : "live");
    if (second === "redrive" && state.phase !== "Failed") expect(told.code).toBe("NotFailed");
    if (second === "fork") {
      const { open, children, ending, compensate, phase } = state;
      const isQuiet = open.length + children.length === 0 && ending === null && compensate === undefined;
      // No fork takes half of a restart or of a cancel with undo.
      if (!isQuiet || isTerminal(phase)) expect(["CallsOpen", "Ending"]).toContain(told.code);
    }
    if (ENDED_WORDS[second] !== undefined && !isTerminal(state.phase)) expect(told.run).toBe(between);
    if (isTerminal(state.phase)) return;
    if (isRedriven && CANCELS.has(second)) expect(told.run && outcomeOf(told.run).how).toBe("Cancelled");
    if (isRedriven && second === "pause") expect(told.run && outcomeOf(told.run).how).toBe("Paused");
    between = step(between);
  }
}

test("of two redrives the first one counts, and the second one is late", () => {
  const failed = rowAt(startIn(IN_PHASE.Failed()));
  const once = redriveIn(failed);
  expect({ once: once.kind, again: redriveIn(once.row).kind }).toEqual({ once: "redriven", again: "late" });
});

test.each([
  [{ cancel: true }, "Cancelled"],
  [{ pause: true }, "Paused"],
  [{ cancel: true, pause: true }, "Cancelled"],
] as const)("a request that a failure overtook, %j, holds after a redrive", (asked, how) => {
  const failed = { state: IN_PHASE.Failed(), view: view({ epoch: 2, ...asked }) };
  const { code, run } = tell("redrive", failed);
  expect(code).toBe("redriven");
  expect(run && outcomeOf(run).how).toBe(how);
  // The row keeps what was asked.
  expect(redriveIn(rowAt(failed)).row).toMatchObject(asked);
});

test("an end that nobody has heard of is not purged: its parent would wait for ever", () => {
  const ended = { ...rowAt(startIn(IN_PHASE.Completed())), endNotified: false };
  expect(decidePurge(ended).kind).toBe("kept");
});
