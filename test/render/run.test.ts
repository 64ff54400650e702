/**
 * What people read: pure functions from a run to a page, compared as a whole.
 */
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import type { SupervisorEvent } from "../../src/ports/supervisor-events.ts";
import { inline } from "../../src/core/message.ts";
import type { LedgerEntry, Shown, TimelineEntry } from "../../src/operations/views.ts";
import { type Paint, plain } from "../../src/render/paint.ts";
import { renderList } from "../../src/render/run-list.ts";
import { renderRun } from "../../src/render/run.ts";
import { renderLedger } from "../../src/render/ledger.ts";
import { renderSupervision } from "../../src/render/supervision.ts";
import { UNTOLD } from "../../src/render/story.ts";
import { renderEvents } from "../../src/render/timeline.ts";
import { commandLine } from "../../src/render/words.ts";

/** Eight in the evening, wherever the reader is. */
const NOW = new Date(2026, 4, 14, 20, 0, 0).getTime();
const PAGE = { now: NOW, paint: plain, width: 100 };
const RUN = "local-abcdefghijklmnopqrstuvwxyz";
const command = (...words: readonly string[]): string => commandLine(words);

const KNOWN = {
  answered: false,
  toolGone: false,
  unbegun: null,
  lostTime: false,
  did: [],
  business: false,
  otherwise: "ask",
  undo: false,
} as const;

const blocked: Shown = {
  ...{ run: RUN, agent: "travel", status: "blocked", phase: "AwaitingReconcile", inProgress: true, resumable: true },
  storeOutage: null,
  ...{ version: 12, epoch: 9, beats: 6, takeovers: 1, wakeAt: NOW + 1e9, messages: 13, attempt: 1 },
  ...{
    createdAt: NOW - 125_000,
    startedAt: NOW - 124_000,
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
    startedBy: "ann@loom",
    firing: null,
    cancelling: null,

    deadline: null,
    statusSince: NOW - 5_000,
    lastCheckpointAt: NOW - 5_000,
  },
  spent: { usd: 0.17, tokensIn: 17_000, tokensOut: 120 },
  label: "waiting for an operator: the outcome of a call is unknown",
  task: { to: "Lisbon" },
  unknown: [
    { call: "c6", tool: "chargeCard", key: "K6", args: { usd: 266 }, reconcilableFrom: NOW + 12_000, ...KNOWN },
  ],
  ...{ agentVersion: "1", waitsFor: null, gates: [], result: null, failure: null, keptUntil: null, archive: null },
  ...{
    ignoredDecision: null,
    topology: null,
    cracks: {},
    granted: null,
    assigned: null,
    outage: null,
    detachedCall: null,
    redrivable: false,
    files: [],
    waits: [],
    children: [],
    again: null,
    parent: null,
  },
};

describe("a run", () => {
  it("that is blocked shows the call, its arguments, and from when which command answers", () => {
    expect(renderRun(blocked, { ...PAGE, command })).toBe(
      `
${RUN}  travel
status      blocked, waiting for an operator: the outcome of a call is unknown
started     2m05s ago, at 19:57:55, by ann@loom
checkpoint  5s ago
done        6 beats, version 12, epoch 9, 1 takeover
spent       $0.17, 17,000 tokens in, 120 out
task        {"to":"Lisbon"}

? the outcome of chargeCard (c6) is unknown
arguments  {"usd":266}
key        K6
look for that key in the external service, then type one of these:
  npx cairn reconcile ${RUN} c6 --as succeeded  # it happened (--result JSON gives what it returned)
  npx cairn reconcile ${RUN} c6 --as failed     # it did not happen; the model is told so; accepted from 20:00:12 on (in 12s)
  npx cairn reconcile ${RUN} c6 --as retry      # it did not happen; run it now; accepted from 20:00:12 on (in 12s)
`.trim(),
    );
  });

  it("asks for no answer that was already given", () => {
    const answered = blocked.unknown.map((call) => ({ ...call, answered: true }));
    const text = renderRun({ ...blocked, unknown: answered }, { ...PAGE, command });
    expect(text).toContain("answer     recorded; the next beat applies it");
    expect(text).not.toContain("npx cairn reconcile");
  });

  it("that has ended shows its result or its failure", () => {
    const ended = { ...blocked, unknown: [], inProgress: false, wakeAt: null };
    const completed = { ...ended, status: "completed", label: "completed", result: { ok: true } } as const;
    expect(renderRun(completed, { ...PAGE, command })).toMatch(
      /status +completed\n[^]*\nresult\n\{\n {2}"ok": true\n\}$/,
    );
    const failure = { code: "BudgetExhausted", message: "$2 of $2 is spent" };
    const failed = { ...ended, status: "failed", label: "failed", failure } as const;
    expect(renderRun(failed, { ...PAGE, command })).toMatch(/\n\nBudgetExhausted: \$2 of \$2 is spent$/);
  });

  it("shows when it continues by itself", () => {
    const text = renderRun({ ...blocked, status: "running", unknown: [], wakeAt: NOW + 30_000 }, { ...PAGE, command });
    expect(text).toMatch(/\ncontinues +in 30s, at 20:00:30$/);
  });

  it("says of a scheduled run when it was due, and whether it makes up for a missed time", () => {
    const firing = { schedule: "travel", dueAt: NOW - 3_600_000, previousDueAt: NOW - 7_200_000, makesUp: true };
    const before = "of schedule travel, due 19:00:00, the one before 18:00:00, makes up for a missed time";
    expect(renderRun({ ...blocked, firing }, { ...PAGE, command })).toMatch(`firing      ${before}`);
    const first = { ...firing, previousDueAt: null, makesUp: false };
    expect(renderRun({ ...blocked, firing: first }, { ...PAGE, command })).toMatch(
      /\nfiring +of schedule travel, due 19:00:00, the first that is known\n/,
    );
  });

  it("shows how long it is kept and the key of its archive", () => {
    const ended = { ...blocked, unknown: [], inProgress: false, status: "cancelled", label: "cancelled" } as const;
    const kept = { ...ended, keptUntil: NOW + 7 * 24 * 3_600_000 };
    expect(renderRun(kept, { ...PAGE, command })).toMatch(/\nkept +for 7d[^\n]* from now on$/);
    const archive = { tier: "warm", key: "archive/warm/local/x/y.jsonl.gz" } as const;
    expect(renderRun({ ...kept, archive }, { ...PAGE, command })).toMatch(
      /\narchive +archive\/warm\/local\/x\/y.jsonl.gz$/,
    );
  });

  it("that is being cancelled says of each call under way whether it is aborted", () => {
    const cancelling = [
      { call: "c1", tool: "pay", effect: "keyed", stops: false },
      { call: "c2", tool: "look", effect: "none", stops: true },
    ] as const;
    expect(renderRun({ ...blocked, cancelling }, { ...PAGE, command })).toContain(
      "\ncancel      asked for; waits for pay (c1, effect keyed); aborts the signal of look (c2, effect none)\n",
    );
  });

  it("is listed by its shortest unique prefix", () => {
    const twin = { ...blocked, run: `${RUN.slice(0, 15)}2${RUN.slice(16)}`, takeovers: 0 };
    expect(renderList([blocked, twin], PAGE).split("\n")).toEqual([
      "RUN               AGENT   STATUS   SINCE   BEATS  TAKEOVERS  SPENT  STARTED    LAST CHECKPOINT",
      "local-abcdefghij  travel  blocked  5s ago      6          1  $0.17  2m05s ago  5s ago",
      "local-abcdefghi2  travel  blocked  5s ago      6          0  $0.17  2m05s ago  5s ago",
    ]);
  });

  it("is listed on two lines where the page has 60 columns", () => {
    const lines = renderList([blocked, { ...blocked, run: `${RUN.slice(0, 15)}2${RUN.slice(16)}`, takeovers: 0 }], {
      ...PAGE,
      width: 60,
    }).split("\n");
    expect(lines).toEqual([
      expect.stringMatching(/^local-abcdefghij {2}travel {2}blocked since /),
      "  6 beats, 1 takeover, $0.17, started 2m05s ago",
      expect.stringMatching(/^local-abcdefghi2 {2}travel {2}blocked since /),
      "  6 beats, $0.17, started 2m05s ago",
    ]);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60);
  });

  it("is listed on two lines, and one for its title, where the table has more columns than the page", () => {
    const titled = { ...blocked, title: "refund A-2" };
    const listAt = (width: number): string[] => renderList([titled], { ...PAGE, width }).split("\n");
    const columns = listAt(160)[0]?.length ?? 0;
    expect(listAt(columns)[0]).toBe(
      "RUN             AGENT   TITLE       STATUS   SINCE   BEATS  TAKEOVERS  SPENT  STARTED    LAST CHECKPOINT",
    );
    expect(listAt(columns - 1)).toEqual([
      "local-abcdefgh  travel  blocked since 5s",
      "  refund A-2",
      "  6 beats, 1 takeover, $0.17, started 2m05s ago",
    ]);
  });

  it("is a row of a table in a log, however long its title is", () => {
    const agent = "an-agent-with-a-name-of-more-than-forty-characters";
    const lines = renderList([{ ...blocked, agent, title: "t".repeat(60) }], { ...PAGE, width: 160 }).split("\n");
    expect(lines).toEqual([expect.stringMatching(/^RUN .* TITLE /), expect.stringContaining("t".repeat(49))]);
    expect(lines[0]?.length).toBeGreaterThan(160);
  });
});

describe("the ledger", () => {
  it("has one row for each call", () => {
    const call: LedgerEntry = {
      ...{ call: "c1", tool: "bookFlight", effect: "keyed", key: "K1", status: "succeeded", attempts: 2 },
      ...{ externalId: "PNR7", evidence: "the tool returned", intendedAt: NOW, settledAt: NOW + 2_000 },
    };
    const proposed: LedgerEntry = {
      ...{ call: "c2", tool: "mail", effect: null, key: null, status: "proposed", attempts: 0 },
      ...{ externalId: null, evidence: "the model asked for it", intendedAt: null, settledAt: null },
    };
    expect(renderLedger([call, proposed], PAGE).split("\n")).toEqual([
      "CALL  TOOL        EFFECT  STATUS     TRIES  TOOK  EXTERNAL ID  KEY  OF      EVIDENCE",
      "c1    bookFlight  keyed   succeeded      2  2.0s  PNR7         K1   intent  the tool returned",
      "c2    mail        -       proposed       0     -  -            -    -       the model asked for it",
    ]);
  });
});

/** The events of one commit each, two seconds apart. */
const committed = (...events: readonly object[]): TimelineEntry[] =>
  events.map((event, index) => ({ version: index + 1, epoch: 1, at: NOW + 2_000 * index, ...event }) as TimelineEntry);

const linesOf = (...events: readonly object[]): readonly string[] =>
  renderEvents(UNTOLD, committed(...events), PAGE).lines.map((line) => line.slice("   +0.0s  e1   v1   ".length));

const asks = {
  ...{ kind: "ModelCallCompleted", model: "m", finish: "tool-calls", tokensIn: 1, tokensOut: 1, tookMs: 1 },
  parts: [{ kind: "call", tool: "book", args: inline({ flight: 7 }), provider: null }],
};
const debited = { kind: "BudgetDebited", debit: { microUsd: 50_000 }, for: "m" };
const invoked = { kind: "ToolInvoked", call: "c1", epoch: 1 };

describe("the timeline", () => {
  it("shows beats with their cost, calls with their outcome, and the end", () => {
    const recorded = { outcome: "succeeded", value: inline("booked"), externalId: "PNR7", evidence: "" };
    const told = renderEvents(
      UNTOLD,
      committed(
        { kind: "RunStarted", agentVersion: "1" },
        ...[asks, debited, { kind: "ToolIntended", call: "c1", effect: "keyed" }, invoked],
        { kind: "ToolResultRecorded", call: "c1", ...recorded, epoch: 2 },
        { kind: "RunEnded", status: "completed", result: inline({ ok: true }), epoch: 3 },
      ),
      PAGE,
    );
    expect(told.lines).toEqual([
      "   +0.0s  e1   v1   started with agent version 1",
      '   +2.0s  e1   v2   beat 1 $0.05, $0.05 in all, asks for book (c1) {"flight":7}',
      "    +10s  e2   v6   ✔ book (c1) succeeded as PNR7 in 2.0s booked",
      '    +12s  e3   v7   ■ completed {"ok":true}',
    ]);
    expect(told.story).toMatchObject({ beats: 1, microUsd: 50_000, tools: new Map([["c1", "book"]]), startedAt: NOW });
  });

  it("names another model than the agent's own, and why it was called", () => {
    const routed = { by: "fallback", why: "fallback 1: the model before it did not answer (4 calls failed)" };
    const [line] = linesOf({ ...asks, routed });
    expect(line).toContain("asks for book (c1) (m: fallback 1: the model before it did not answer (4 calls failed))");
    expect(linesOf(asks)[0]).not.toContain("(m:");
  });

  it("continues from its cursor", () => {
    const entries = committed(asks, debited, invoked, { ...asks, parts: [{ kind: "text", text: "done" }] }, debited);
    const whole = renderEvents(UNTOLD, entries, PAGE);
    const first = renderEvents(UNTOLD, entries.slice(0, 3), PAGE);
    const second = renderEvents(first.story, entries.slice(3), PAGE);
    expect([...first.lines, ...second.lines]).toEqual(whole.lines);
    expect(second.lines).toEqual([expect.stringContaining("beat 2 $0.05, $0.10 in all, says: done")]);
  });

  it("shows deaths, takeovers and repetitions", () => {
    const takeover = { kind: "takeover", from: "x", takeovers: 1 };
    expect(
      linesOf(
        asks,
        invoked,
        { kind: "RecoveryDecided", rule: "takeover", why: "", action: takeover, epoch: 7 },
        invoked,
        { kind: "ModelCallLost", calls: 1, why: "its process ended" },
        debited,
        { kind: "RecoveryDecided", rule: "call", why: "timeout", action: { kind: "again", call: "c1" } },
        { kind: "RecoveryDecided", rule: "R", why: "busy", action: { kind: "retry", at: NOW + 18_000 } },
        { kind: "RecoveryDecided", rule: "R", why: "empty", action: { kind: "nudge", text: "x" } },
        {
          kind: "RecoveryDecided",
          rule: "R",
          why: "away",
          action: { kind: "tryAgain", failure: {}, try: 2, tries: 3 },
        },
        { kind: "RecoveryDecided", rule: "R", why: "no money", action: { kind: "abort", failure: {} } },
        { kind: "RunEnded", status: "failed", failure: { code: "BudgetExhausted", message: "no money" } },
      ),
    ).toEqual([
      'beat 1 asks for book (c1) {"flight":7}',
      "⚡ epoch 7 took over: the process that held the run is gone",
      "▶ book (c1) runs again",
      "1 reply of the model lost $0.05, $0.05 in all: its process ended",
      "↻ book (c1) gave no answer: timeout",
      "↻ the model is asked again in 4s (R): busy",
      "↻ the model is told (R): empty",
      "↻ goes on with try 2 of 3 after: away",
      "✖ gives up (R): no money",
      "■ failed, BudgetExhausted: no money",
    ]);
  });

  it("shows questions, answers and further facts for an operator", () => {
    const answer = { as: "failed", value: null, by: "ada", note: "not in the outbox" };
    const body = { kind: "reconcile", call: "c1", question: 1, answer };
    expect(
      linesOf(
        { kind: "AgentChanged", from: "1", to: "2" },
        asks,
        { kind: "ToolOutcomeUnknown", call: "c1", why: "it died", reconcilableFrom: NOW + 9_000 },
        { kind: "ToolOutcomeUnknown", call: "c1", why: "no answer", reconcilableFrom: null },
        { kind: "MessageAbsorbed", stage: "taken", message: "m", body },
        { kind: "MessageAbsorbed", stage: "cleared", message: "m" },
        { kind: "ToolResultReconciled", call: "c1", answer },
        { kind: "CheckFailed", check: "paid", why: "no receipt" },
      ),
    ).toEqual([
      "continues with agent version 2 instead of 1",
      'beat 1 asks for book (c1) {"flight":7}',
      "? the outcome of book (c1) is unknown: it died; an operator can reconcile it in 5.0s",
      "? the outcome of book (c1) is unknown: no answer",
      "a reconciliation of book (c1) was received",
      "✔ ada reconciled book (c1): failed (not in the outbox)",
      "✖ not done yet, paid: no receipt",
    ]);
  });

  it("truncates values at the end of the line, with and without colour", () => {
    const loud: Paint = (_, text) => `\u001b[1m${text}\u001b[22m`;
    const parts = [{ kind: "call", tool: "book", args: inline("x".repeat(500)), provider: null }];
    const [bare = "", painted = ""] = [plain, loud].map(
      (paint) => renderEvents(UNTOLD, committed({ ...asks, parts }), { ...PAGE, paint }).lines[0],
    );
    expect(bare).toHaveLength(PAGE.width);
    expect(stripVTControlCharacters(painted)).toBe(bare);
  });
});

describe("supervision", () => {
  const of = { execution: `${RUN}-b-1`, run: RUN, retry: 0, pid: 7, state: "Beat" } as const;
  const said = (event: SupervisorEvent): string | null => renderSupervision(event, PAGE);

  it("is shown line by line", () => {
    const error = { name: "Error", code: null, message: "boom" };
    const events: readonly SupervisorEvent[] = [
      { kind: "workerSpawned", pid: 7 },
      { kind: "attemptStarted", ...of },
      { kind: "attemptAnswered", ...of, route: "wait" },
      { kind: "attemptFailed", ...of, retry: 1, how: "SIGKILL", error: null },
      { kind: "attemptFailed", ...of, how: "the task threw", error },
      { kind: "moved", execution: of.execution, run: RUN, state: "Beat", readyAt: NOW + 2_000 },
      { kind: "moved", execution: of.execution, run: RUN, state: "Rescue", readyAt: NOW },
      { kind: "workerGone", pid: 7, how: "SIGKILL" },
      { kind: "orphanKilled", pid: 8 },
      { kind: "waitingForStore", why: "the disk is full", retryInMs: 250 },
      { kind: "upkeepDone", task: "cleanUp", run: RUN },
      { kind: "upkeepFailed", task: "cleanUp", run: RUN, how: "the task threw", error },
      { kind: "upkeepFailed", task: "orphans", run: null, how: "SIGKILL", error: null },
    ];
    expect(events.map(said)).toEqual([
      "20:00:00  worker pid 7 starts",
      "20:00:00  local-abcdefgh  Beat → worker pid 7",
      "20:00:00  local-abcdefgh  Beat ✔ route wait",
      "20:00:00  local-abcdefgh  Beat (retry 1) ✖ worker pid 7: SIGKILL",
      "20:00:00  local-abcdefgh  Beat ✖ worker pid 7: the task threw: Error: boom",
      "20:00:00  local-abcdefgh  is retried in 2s",
      "20:00:00  local-abcdefgh  lost too many processes, is handed over to a new execution now",
      "20:00:00  worker pid 7 is gone: SIGKILL",
      "20:00:00  worker pid 8 of a dead supervisor is killed",
      "20:00:00  waiting for the store, again in 250ms: the disk is full",
      "20:00:00  local-abcdefgh  is removed with all its data",
      "20:00:00  local-abcdefgh  deleting its data failed: the task threw: Error: boom; it is retried",
      "20:00:00  the search for objects without a run failed: SIGKILL; it is retried",
    ]);
  });

  it("omits what follows from the line before", () => {
    const moved = { kind: "moved", execution: of.execution, run: RUN } as const;
    expect(said({ ...moved, state: "Beat", readyAt: NOW })).toBeNull();
    expect(said({ ...moved, state: "End", readyAt: null })).toBeNull();
    expect(said({ kind: "upkeepDone", task: "orphans", run: null })).toBeNull();
  });
});
