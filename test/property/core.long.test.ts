/**
 * The laws of the core over random valid runs: any order of replies, calls, answers, commits and deaths.
 * A failure prints the seed and the path that lead to it. What the runs hold is a claim about any seed; what they reach
 * is one about a seed that reaches it.
 * More than 400 lines: the laws share their walks.
 */
import { nextCommands, fold, foldAll, transition } from "../../src/features/compose.ts";
import { isLacking } from "../../src/core/policy/holds.ts";
import type { Command } from "../../src/core/commands.ts";
import { expiresAt } from "../../src/core/policy/ending.ts";
import { waitIn, gateIn } from "../../src/core/calls/held-calls.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeJournal, encodeJournal } from "../../src/codec/journal.ts";
import { NOTHING_SEALED, decodeSnapshot } from "../../src/codec/snapshot.ts";
import { encodeSnapshot, wholeState } from "../../src/codec/snapshot.ts";
import { decodeSegment, encodeSegment } from "../../src/codec/transcript.ts";
import { canonical } from "../../src/codec/canonical.ts";
import { type Spent, NOTHING_SPENT, add } from "../../src/core/policy/budget.ts";
import type { CommitRecord, Event, EventKind } from "../../src/core/event.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { FEW_BYTES } from "../../src/ports/stored-sizes.ts";
import { isModelOut } from "../../src/core/policy/model-out.ts";
import { type View } from "../../src/core/outstanding.ts";
import { PHASE_NAMES, isTerminal } from "../../src/core/phases.ts";
import { redriveOf } from "../support/walks/redrives.ts";
import type { State } from "../../src/core/state.ts";
import { sampled } from "../support/gate/stride.ts";
import { type Walk, deepFreeze, walks, walksFrom } from "../support/walks/random-walks.ts";
import { EVENT_KINDS, FAILURE, callPart, eventOf, newState, view, EVENT } from "../support/states/states-and-events.ts";

/** A seed that reaches every phase, event and command in 300 runs. */
const REACHING = 20_265;

/** For a law that holds of each run, and counts none. */
const OF_ANY: fc.Parameters<[Walk]> = { numRuns: sampled(100, 300) };

function holds(law: (walk: Walk) => void, options: fc.Parameters<[Walk]> = {}): void {
  fc.assert(fc.property(walks, law), { numRuns: 300, ...options });
}

/** The state as another process reads it, without shared objects. */
function reread(state: State, version = 0): State {
  const { digest, bytes, segments } = encodeSnapshot({
    version,
    previous: null,
    seal: NOTHING_SEALED,
    commits: [],
    state,
    ...FEW_BYTES,
  });
  const stored = decodeSnapshot({ version, key: "k", digest }, bytes).state;
  const objects = new Map(segments.map((segment) => [segment.ref.sha256, encodeSegment(segment)]));
  return wholeState(stored, (ref) => decodeSegment(ref, objects.get(ref.sha256) as Uint8Array));
}

const folded = (state: State, commits: readonly CommitRecord[]): State =>
  commits.reduce((before, { events }) => foldAll(before, events), state);

test("the random runs reach every phase, every event and every command", () => {
  const phases = new Set<string>();
  const kinds = new Set<EventKind>();
  const commands = new Set<Command["kind"]>();
  const statuses = new Set<string>();
  holds(
    ({ strides }) => {
      for (const { event, outcome } of strides) {
        kinds.add(event.kind);
        phases.add(outcome.state.phase);
        for (const command of outcome.commands) commands.add(command.kind);
        for (const open of outcome.state.open) statuses.add(open.status);
      }
    },
    { seed: REACHING },
  );
  expect([...phases].toSorted()).toEqual([...PHASE_NAMES].toSorted());
  expect([...kinds].toSorted()).toEqual([...EVENT_KINDS].toSorted());
  expect([...statuses].toSorted()).toEqual(["gated", "permitted", "proposed", "started", "unknown"]);
  const all =
    "askModel awaitAnswer cancel childTooLate close compact compensate conclude continueChildren decide dropDetachedCall end endWait expire expireGate giveUp intend judge lookAgain makeChildren pause perform pollModel prepare probe reconcile recover resume startOver stopChildren takeInputs takeReports undo wait";
  expect([...commands].toSorted()).toEqual(all.split(" "));
});

test("equal events make equal states, and fold changes neither state nor event", () => {
  holds(
    ({ strides }) => {
      for (const { before, event, view: by, outcome } of strides) {
        const copy = structuredClone({ before, event });
        expect(transition(deepFreeze(copy.before), deepFreeze(copy.event), by)).toEqual(outcome);
      }
    },
    { numRuns: 60 },
  );
});

test("fold(snapshot, journal) is the live state, for the snapshot and the journal of every prefix", () => {
  holds(
    ({ states, commits }) => {
      const last = states.length - 1;
      for (const [version, state] of states.entries()) {
        const base = reread(state, version);
        expect(base).toEqual(state);
        const journal = decodeJournal(encodeJournal(commits.slice(version)));
        expect(folded(base, journal)).toEqual(states[last]);
        if (version < last) expect(folded(base, journal.slice(0, 1))).toEqual(states[version + 1]);
      }
    },
    { numRuns: 60 },
  );
});

/** A command as one line per outstanding action. */
const lines = (commands: readonly Command[]): string[] =>
  commands.flatMap((command) =>
    "calls" in command ? command.calls.map((call) => `${command.kind} ${call}`) : [command.kind],
  );

/** The outstanding action of that line after its owner is dead and its effects have settled. */
const successors: Readonly<Record<string, readonly string[]>> = {
  perform: ["recover"],
  // An answer about the outside is applied before the cancel or the restart, which then follows (schedule 265).
  cancel: ["cancel", "reconcile"],
  startOver: ["startOver", "reconcile"],
  wait: [
    "askModel",
    "end",
    "reconcile",
    "probe",
    "expireGate",
    "decide",
    "giveUp",
    "undo",
    "conclude",
    "childTooLate",
    "endWait",
  ],
};

describe("what a transition commands", () => {
  test("is outstanding in the committed state, for every later reader", () => {
    let seen = 0;
    holds(
      ({ strides, states }) => {
        for (const { outcome, view: by } of strides.filter((stride) => states.includes(stride.outcome.state))) {
          seen += 1;
          expect(nextCommands(reread(outcome.state), by)).toEqual(outcome.commands);
        }
      },
      { numRuns: 100 },
    );
    expect(seen).toBeGreaterThan(500);
  });

  test("stays outstanding after a crash until it is done", () => {
    holds(({ strides }) => {
      for (const { outcome, view: by } of strides) {
        const held = outcome.state.open.map((open) => {
          const leftUntil = (open.onUnknown ?? "ask") === "ask" ? null : open.reconcilableFrom;
          return open.probeAt ?? gateIn(open)?.expiresAt ?? leftUntil ?? waitIn(open)?.until ?? 0;
        });
        const undoFrom = outcome.state.undo?.at(-1)?.from ?? 0;
        const tooLate = outcome.state.children.map(({ deadline, superseded }) => (superseded ? 0 : (deadline ?? 0)));
        const later = Math.max(by.now, by.effectsSettleAt, outcome.state.retryAt ?? 0, undoFrom, ...held, ...tooLate);
        const next: View = { ...by, now: later, epoch: by.epoch + 1, effectsSettleAt: later };
        const commands = nextCommands(outcome.state, next);
        const owed = new Set([...lines(commands), ...commands.map((command) => command.kind)]);
        // A requested pause comes first; a resume brings back the outstanding actions. A deadline ends them, and drops
        // a model job that is out before that (seed n4).
        const endsAt = expiresAt(outcome.state) ?? Infinity;
        const isDropped = later >= endsAt && owed.has("dropDetachedCall");
        if (owed.has("pause") || owed.has("expire") || isDropped) continue;
        for (const line of lines(outcome.commands)) {
          const [kind = "", call] = line.split(" ");
          const heir = (successors[kind] ?? [kind]).map((each) => (call === undefined ? each : `${each} ${call}`));
          expect(heir.some((each) => owed.has(each))).toBe(true);
        }
      }
    }, OF_ANY);
  });

  test("is never empty before the run ends, and always empty after it", () => {
    holds(({ strides }) => {
      for (const { outcome } of strides) expect(outcome.commands.length > 0).toBe(!isTerminal(outcome.state.phase));
    }, OF_ANY);
  });
});

test("includes no end, no probe and no conclusion that a call did not happen while a fenced owner may still act", () => {
  let held = 0;
  holds(({ strides }) => {
    for (const { outcome, view: by } of strides.filter((stride) => stride.view.now < stride.view.effectsSettleAt)) {
      held += 1;
      for (const command of outcome.commands) {
        expect(["end", "probe", "conclude"]).not.toContain(command.kind);
        if (command.kind !== "reconcile") continue;
        const open = outcome.state.open.find(({ call }) => call === command.call);
        expect(["succeeded", "compensate"]).toContain(open?.answer?.as);
      }
      expect(by.effectsSettleAt).toBeGreaterThan(0);
    }
  });
  expect(held).toBeGreaterThan(100);
});

/** How many releases of the call are known not to have begun it. */
const postponed = (events: readonly Event[], call: string): number =>
  events.filter(
    ({ kind, ...event }) =>
      kind === "RecoveryDecided" &&
      "action" in event &&
      event.action.kind === "postpone" &&
      event.action.call === call &&
      event.action.after === "release",
  ).length;

describe("outside effects", () => {
  test("no call runs without a committed intent, and only the epoch that released it runs it", () => {
    let seen = 0;
    holds(({ strides }) => {
      for (const { before, committed, event, view: by } of strides) {
        if (event.kind !== "ToolResultRecorded" || event.outcome !== "succeeded") continue;
        // Nothing runs for a call that waits.
        if (before.open.some((each) => each.call === event.call && waitIn(each) !== undefined)) continue;
        const open = committed.open.find(({ call }) => call === event.call);
        // The report of a child settles its call in whichever epoch absorbs it.
        if (open?.heldBy?.by === "child") continue;
        seen += 1;
        expect(open).toMatchObject({ status: "started", releasedBy: by.epoch, intent: { key: `key-${event.call}` } });
      }
    });
    expect(seen).toBeGreaterThan(20);
  });

  test("an unsafe call is released once, and once more per permission", () => {
    let again = 0;
    const law = (events: readonly Event[]): void => {
      for (const unsafe of events) {
        if (unsafe.kind !== "ToolIntended" || unsafe.effect !== "unsafe") continue;
        const own = events.filter((event) => "call" in event && event.call === unsafe.call);
        const releases = own.filter(({ kind }) => kind === "ToolInvoked").length;
        const permissions = own.filter((event) => event.kind === "ToolResultReconciled" && event.answer.as === "retry");
        if (releases > 1) again += 1;
        expect(releases).toBeLessThanOrEqual(1 + permissions.length + postponed(events, unsafe.call));
      }
    };
    const eventsOf = ({ commits }: Walk): readonly Event[] => commits.flatMap((commit) => commit.events);
    holds((walk) => law(eventsOf(walk)), OF_ANY);
    // Few walks meet an unknown outcome that an operator lets them try again, so these begin with one.
    const begun = [
      EVENT.started,
      EVENT.replied([callPart("a")]),
      EVENT.intended("c1", "unsafe"),
      EVENT.invoked("c1", 1),
      EVENT.outcomeLost("c1"),
    ];
    const fromUnknown = walksFrom(foldAll(newState(), begun));
    fc.assert(
      fc.property(fromUnknown, (walk) => law([...begun, ...eventsOf(walk)])),
      { numRuns: 200 },
    );
    expect(again).toBeGreaterThan(3);
  });
});

describe("control", () => {
  test("a resumed run continues where it was, with all messages that arrived meanwhile", () => {
    const seen = { resumed: 0, heard: 0 };
    holds(({ strides }) => {
      for (const { before, event, outcome } of strides) {
        if (event.kind === "RunPaused") expect(outcome.state.pausedFrom).toBe(before.pausedFrom ?? before.phase);
        const isHeld = before.phase === "Paused" && isLacking(before);
        if (event.kind === "RunResumed") seen.resumed += 1;
        if (event.kind === "RunResumed") expect(outcome.state.phase).toBe(isHeld ? "AwaitingAgent" : before.pausedFrom);
        if (before.phase !== "Paused" || event.kind !== "MessageAbsorbed") continue;
        seen.heard += 1;
        expect(outcome.state.phase).toBe("Paused");
        if (event.stage === "taken" && event.body.kind === "user")
          expect(outcome.state.pausedFrom).not.toBe("Reflecting");
      }
    });
    expect(Math.min(seen.resumed, seen.heard)).toBeGreaterThan(20);
  });

  test("a decided cancel releases no call, asks no question, and ends the run as cancelled", () => {
    let seen = 0;
    holds(({ strides }) => {
      for (const { before, event } of strides.filter((stride) => stride.before.ending?.kind === "cancelled")) {
        seen += 1;
        const isUndo = "call" in event && event.call.startsWith("undo-") && before.compensate?.next === "cancel";
        if (!isUndo) expect(["ToolIntended", "ToolInvoked", "ModelCallCompleted"]).not.toContain(event.kind);
        if (event.kind === "RunEnded") expect(event.status).toBe("cancelled");
        expect(before.result).toBeNull();
      }
    });
    expect(seen).toBeGreaterThan(10);
  });

  test("a probed call is released once, and once more for each question to an operator about it", () => {
    let again = 0;
    holds(
      ({ commits }) => {
        const events = commits.flatMap((commit) => commit.events);
        for (const probed of events) {
          if (probed.kind !== "ToolIntended" || probed.effect !== "probed") continue;
          const releases = events.filter((event) => event.kind === "ToolInvoked" && event.call === probed.call).length;
          const asked = events.filter(
            (event) =>
              (event.kind === "RecoveryDecided" &&
                event.action.kind === "probe" &&
                event.action.call === probed.call) ||
              (event.kind === "ToolResultReconciled" && event.call === probed.call && event.answer.as === "retry"),
          );
          if (releases > 1) again += 1;
          expect(releases).toBeLessThanOrEqual(1 + asked.length + postponed(events, probed.call));
        }
      },
      { numRuns: 1_200 },
    );
    expect(again).toBeGreaterThan(3);
  });
});

/** Children of a walk may not have reported. */
const abortedAtOnce = EVENT.decided({ kind: "abort", failure: FAILURE, next: "leave", forced: true });

test("the end is final: only a redrive can follow it, and no action is outstanding", () => {
  holds(({ strides }) => {
    for (const { outcome } of strides.slice(-1)) {
      const { state } = outcome;
      const dropped = isModelOut(state) ? [EVENT.detachedEnded] : [];
      const ended = isTerminal(state.phase) ? state : foldAll(state, [abortedAtOnce, ...dropped, EVENT.failed]);
      expect(nextCommands(ended, view())).toEqual([]);
      for (const kind of EVENT_KINDS) {
        // A redrive is possible only for ends that recorded the phase of the run.
        if (kind === "RunRedriven" && redriveOf(ended) !== null) continue;
        const refusal = kind === "RunRedriven" ? /does not happen in|has no way out/ : `${kind} does not happen in`;
        expect(() => fold(ended, eventOf(kind, "ExecutingTools"))).toThrow(refusal);
      }
    }
  }, OF_ANY);
});

test("a message keeps its ID, its time and its source forever", () => {
  holds(({ strides, states }) => {
    for (const { before, event, outcome } of strides) {
      const { messages } = outcome.state;
      expect(messages.slice(0, before.messages.length)).toEqual(before.messages);
      for (const added of messages.slice(before.messages.length)) expect(added.at).toBe(event.at);
      expect(messages.map(({ id }) => id)).toEqual(messages.map((_, index) => `m${index + 1}`));
    }
    const metadata = ({ messages }: State) =>
      messages.map(({ id, at, source, tokens }) => ({ id, at, source, tokens }));
    for (const state of states.slice(-1)) expect(metadata(reread(state))).toEqual(metadata(state));
  }, OF_ANY);
});

test("spent never falls and is the sum of all debits", () => {
  holds(({ states, commits }) => {
    let sum: Spent = NOTHING_SPENT;
    for (const [index, { events }] of commits.entries()) {
      const before = states[index]?.spent ?? NOTHING_SPENT;
      for (const event of events) if (event.kind === "BudgetDebited") sum = add(sum, event.debit);
      const now = states[index + 1]?.spent ?? NOTHING_SPENT;
      expect(now).toEqual(sum);
      for (const meter of Object.keys(sum) as (keyof Spent)[])
        expect(now[meter]).toBeGreaterThanOrEqual(before[meter] ?? 0);
    }
  }, OF_ANY);
});

test("stored data stays within its limits", () => {
  let sealedMax = 0;
  const long = foldAll(
    newState(),
    Array.from({ length: 14 }, (_, index) => EVENT.messageReceived("a long word ".repeat(100), `long-${index}`)),
  );
  const law = ({ states }: Walk): void => {
    for (const state of states) {
      const { segments } = encodeSnapshot({
        ...{ version: 1, previous: null, seal: NOTHING_SEALED, commits: [], state },
        ...FEW_BYTES,
      });
      const sealed = segments.reduce((sum, { ref }) => sum + ref.count, 0);
      sealedMax = Math.max(sealedMax, sealed);
      const open = state.messages.slice(sealed).reduce((sum, each) => sum + Buffer.byteLength(canonical(each)), 0);
      expect(open).toBeLessThan(FEW_BYTES.segmentBytes);
      expect(segments.length).toBeLessThan(2 * SIZES.segmentFanIn);
    }
  };
  fc.assert(fc.property(walksFrom(long), law), { numRuns: 60 });
  expect(sealedMax).toBeGreaterThan(8);
});
