/** Calls as people read them: whose a key is, what follows without an answer, and what the other side said by itself. */
import { expect, test } from "vitest";
import { UNTOLD } from "../../src/render/story.ts";
import { renderEvents } from "../../src/render/timeline.ts";
import { renderRun } from "../../src/render/run.ts";
import { renderLedger } from "../../src/render/ledger.ts";
import { commandLine } from "../../src/render/words.ts";
import { inline } from "../../src/core/message.ts";
import type { LedgerEntry, Shown, TimelineEntry, UnknownCall } from "../../src/operations/views.ts";

const NOW = 1_790_000_000_000;
const PAGE = { now: NOW, paint: (_: unknown, text: string) => text, width: 100 };

const call: UnknownCall = {
  ...{ call: "c6", tool: "pay", key: "trip_42", args: { usd: 266 }, reconcilableFrom: NOW + 12_000 },
  ...{
    answered: false,
    toolGone: false,
    unbegun: null,
    lostTime: false,
    did: [],
    business: true,
    otherwise: "ask",
    undo: false,
  },
};

const blocked: Shown = {
  ...{ run: "local-a", agent: "travel", status: "blocked", phase: "AwaitingReconcile", label: "waiting" },
  ...{
    inProgress: true,
    resumable: true,
    version: 12,
    epoch: 9,
    beats: 6,
    takeovers: 1,
    wakeAt: null,
    storeOutage: null,
    messages: 13,
    attempt: 1,
  },
  ...{
    createdAt: NOW,
    startedAt: NOW,
    ...{
      execution: "local-a-1",
      aws: null,
      budget: [],
      signals: [],
      restored: null,
      isScheduled: false,
      title: null,
      startKey: null,
      labels: {},
      askingSince: null,
      slowFrom: null,
      ready: false,
      unread: null,
    },
    forkedFrom: null,
    standing: [],
    startedBy: null,
    firing: null,
    cancelling: null,

    deadline: null,
    statusSince: NOW,
    lastCheckpointAt: NOW,
    task: {},
    unknown: [call],
    gates: [],
    waits: [],
    ...{ children: [], again: null, parent: null },
  },
  spent: { usd: 0.17, tokensIn: 17_000, tokensOut: 120 },
  ...{
    agentVersion: "1",
    waitsFor: null,
    outage: null,
    detachedCall: null,
    redrivable: false,
    result: null,
    failure: null,
    keptUntil: null,
    archive: null,
    files: [],
  },
  ignoredDecision: null,
  ...{ granted: null, assigned: null, topology: null, cracks: {} },
};

const shown = (otherwise: UnknownCall["otherwise"]): string =>
  renderRun({ ...blocked, unknown: [{ ...call, otherwise }] }, { ...PAGE, command: (...words) => commandLine(words) });

test("a call of a restored run says why it asks", () => {
  const lines = renderRun(
    { ...blocked, unknown: [{ ...call, lostTime: true }] },
    { ...PAGE, command: (...words) => commandLine(words) },
  );
  expect(lines).toContain("its run was restored from a backup; this may have happened in between");
});

test("a call of a restored run that waited for approval says both", () => {
  const lines = renderRun(
    { ...blocked, unknown: [{ ...call, lostTime: true, approval: "it is a payment" }] },
    { ...PAGE, command: (...words) => commandLine(words) },
  );
  expect(lines).toContain("its run was restored from a backup; this may have happened in between");
  expect(lines).toContain("it is a payment; the answer retry approves it");
});

test("a call that needs no reconciliation shows what follows, when, and the origin of its key", () => {
  expect(shown("ask")).toMatch(/\nkey +trip_42, the agent's own\nlook for that key/);
  expect(shown("tell")).toMatch(/\notherwise +the model is told that the outcome is unknown, in 12s\n/);
  expect(shown("fail")).toMatch(/\notherwise +the run fails, in 12s\n/);
});

test("the ledger shows where a key comes from", () => {
  const entry: LedgerEntry = {
    ...{ call: "c1", tool: "pay", effect: "keyed", key: "trip_42", business: true, status: "reconciled", attempts: 2 },
    ...{ externalId: "R7", evidence: "external service says: succeeded (409)", intendedAt: NOW, settledAt: NOW },
  };
  expect(renderLedger([entry], PAGE)).toMatch(/ R7 +trip_42 +business +external service says: succeeded \(409\)$/);
});

test("the timeline shows what the external service reports by itself, and what follows without an answer", () => {
  const parts = [{ kind: "call", tool: "book", args: inline({ flight: 7 }), provider: null }];
  const answer = { as: "succeeded", value: null, by: "external service", note: null };
  const failed = { rule: "call failed, its tool says try again", why: "503", action: { kind: "again", call: "c1" } };
  const events = [
    { kind: "ModelCallCompleted", parts },
    { kind: "RecoveryDecided", ...failed },
    { kind: "ToolOutcomeUnknown", call: "c1", why: "no answer", reconcilableFrom: NOW + 12_000, onUnknown: "tell" },
    { kind: "RecoveryDecided", rule: "R", why: "nobody said", action: { kind: "tell", call: "c1" } },
    { kind: "ToolResultReconciled", call: "c1", answer, evidence: "409", externalId: "R7" },
  ];
  const entries = events.map((event, index) => ({ version: index, epoch: 1, at: NOW, ...event }) as TimelineEntry);
  expect(renderEvents(UNTOLD, entries, PAGE).lines.map((line) => line.slice("   +0.0s  e1   v1   ".length))).toEqual([
    'beat 1 asks for book (c1) {"flight":7}',
    "↻ book (c1) failed and is tried again: 503",
    "? the outcome of book (c1) is unknown: no answer; the model is told in 12s, unless an operator reconciles it first",
    "↻ the model is told that the outcome of book (c1) is unknown (R)",
    "✔ external service reconciled book (c1): succeeded as R7 (409)",
  ]);
});

test("the timeline announces nothing for a call of which the model is told in the same commit", () => {
  const entries = [
    { kind: "ToolOutcomeUnknown", call: "c1", why: "no answer", reconcilableFrom: NOW + 12_000, onUnknown: "tell" },
    { kind: "RecoveryDecided", rule: "R", why: "tries used up", action: { kind: "tell", call: "c1" } },
  ].map((event) => ({ version: 4, epoch: 1, at: NOW, ...event }) as TimelineEntry);
  expect(renderEvents(UNTOLD, entries, PAGE).lines.map((line) => line.slice("   +0.0s  e1   v1   ".length))).toEqual([
    "? the outcome of c1 is unknown: no answer",
    "↻ the model is told that the outcome of c1 is unknown (R)",
  ]);
});

test("says that a call of a class without a probe only waits before it runs again", () => {
  const lineFor = (effect: string): string | undefined => {
    const action = { kind: "probe", call: "c1", at: NOW + 12_000, tried: false };
    const events = [
      { kind: "ToolIntended", call: "c1", effect, key: "K" },
      { kind: "RecoveryDecided", rule: "died", why: "x", action },
    ].map((event) => ({ version: 1, epoch: 1, at: NOW, ...event }) as TimelineEntry);
    return renderEvents(UNTOLD, events, PAGE).lines.at(-1);
  };
  expect(lineFor("idempotent")).toMatch(
    /c1 runs again in 12s, when its earlier request can no longer take effect \(died\): x$/,
  );
  expect(lineFor("probed")).toMatch(/c1 is probed in 12s \(died\): x$/);
});

test("counts in the ledger only the time in which a call ran, not that of an approval or reconciliation", () => {
  const entry: LedgerEntry = {
    ...{ call: "c1", tool: "pay", effect: "keyed", key: null, status: "succeeded", attempts: 1 },
    ...{ externalId: null, evidence: "-", intendedAt: NOW - 3_600_000, releasedAt: NOW - 2_000, settledAt: NOW },
  };
  const took = (changed: Partial<LedgerEntry>): string | undefined =>
    /pay +keyed +\w+ +\d+ +(?<took>\S+)/.exec(renderLedger([{ ...entry, ...changed }], PAGE))?.groups?.["took"];
  expect(took({})).toBe("2.0s");
  expect(took({ status: "reconciled" })).toBe("-");
  expect(took({ status: "failed", attempts: 0 })).toBe("-");
});

test("shows the ledger as a list of its calls on 40 columns, where rows of the table would wrap", () => {
  const entry: LedgerEntry = {
    ...{ call: "c1", tool: "pay", effect: "keyed", key: null, status: "proposed", attempts: 0 },
    ...{ externalId: null, evidence: "it waits", intendedAt: null, settledAt: null },
  };
  const lines = renderLedger([entry, { ...entry, call: "c2" }], { ...PAGE, width: 40 }).split("\n");
  expect(lines.slice(0, 4)).toEqual([
    "CALL         c1",
    "TOOL         pay",
    "EFFECT       keyed",
    "STATUS       proposed",
  ]);
  expect(lines.indexOf("")).toBe(10);
  expect(lines[11]).toBe("CALL         c2");
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(40);
});

test("an undo that only a human can do is asked about in its own words, and what stands is listed", () => {
  const undo: UnknownCall = { ...call, call: "undo-c2", tool: "book", undoes: "c2", byHand: true };
  const page = { ...PAGE, command: (...words: string[]) => commandLine(words) };
  const lines = renderRun({ ...blocked, unknown: [undo], standing: ["book (c1)"] }, page);
  expect(lines).toContain("? is book (c2) undone?");
  expect(lines).toContain("no tool can undo it; undo it by hand, or leave it");
  expect(lines).toContain("# c2 is not undone, and its effect stays");
  expect(lines).not.toContain("--as retry");
  expect(lines).toContain("book (c1), of work that was repeated");
});

test("a child that goes on says which try it is at, and after what, and its parent says so of it", () => {
  const again = { try: 2, tries: 3, after: "ModelUnavailable: no model answered for 2 hours" };
  const words = "try 2 of 3 after: ModelUnavailable: no model answered for 2 hours";
  const page = { ...PAGE, width: 200, command: (...said: readonly string[]) => commandLine(said) };
  expect(renderRun({ ...blocked, again }, page)).toMatch(`\ngoes on     ${words}\n`);
  const child = {
    ...{ run: "local-a", agent: "worker", call: "c1", try: 1, grant: {}, deadline: null, superseded: false },
    ...{ late: false, asked: false, dispatch: 1, settlesAt: null, again },
  };
  expect(renderRun({ ...blocked, children: [child] }, page)).toContain(`c1, ${words}`);
  // An older server says nothing of further tries.
  const { again: _, ...olderChild } = child;
  const { again: __, ...older } = { ...blocked, children: [olderChild] };
  const inFirstTry = { ...blocked, again: null, children: [{ ...child, again: null }] };
  expect(renderRun(older as unknown as Shown, page)).toBe(renderRun(inFirstTry, page));
});
