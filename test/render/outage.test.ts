/** A run that waits for its model's provider, as people read it in `show` and in `list`. */
import { expect, test } from "vitest";
import { plain } from "../../src/render/paint.ts";
import { renderList } from "../../src/render/run-list.ts";
import { renderRun } from "../../src/render/run.ts";
import { commandLine } from "../../src/render/words.ts";
import type { Shown } from "../../src/operations/views.ts";

/** Eight in the evening, wherever the reader is. */
const NOW = new Date(2026, 4, 14, 20, 0, 0).getTime();
const PAGE = { now: NOW, paint: plain, width: 160 };
const OUTAGE = { since: NOW - 600_000, tries: 9, nextTryAt: NOW + 420_000 };

const waiting: Shown = {
  ...{ run: `local-${"a".repeat(26)}`, agent: "travel", status: "running", phase: "RetryingLLM", inProgress: true },
  ...{ resumable: true, version: 12, epoch: 9, beats: 6, takeovers: 0, wakeAt: OUTAGE.nextTryAt, messages: 13 },
  ...{
    createdAt: NOW - 700_000,
    startedAt: NOW - 700_000,
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
    attempt: 1,
  },
  ...{
    label: "waiting: its model is unavailable",
    outage: OUTAGE,
    detachedCall: null,
    redrivable: false,
    task: {},
    unknown: [],
    gates: [],
    waits: [],
    ...{ children: [], again: null, parent: null },
    result: null,
  },
  ...{ spent: { usd: 0.17, tokensIn: 17_000, tokensOut: 120 }, agentVersion: "1", waitsFor: null, failure: null },
  ...{ storeOutage: null, ignoredDecision: null },
  ...{ granted: null, assigned: null, topology: null, cracks: {}, keptUntil: null, archive: null, files: [] },
};

test("shows since when the model is unavailable, the number of tries, and the time of the next try", () => {
  const shown = (nextTryAt: number) =>
    renderRun({ ...waiting, outage: { ...OUTAGE, nextTryAt } }, { ...PAGE, command: (...words) => commandLine(words) });
  const words = "status      running, waiting: its model is unavailable since 19:50:00, tried 9 times";
  expect(shown(OUTAGE.nextTryAt)).toContain(`${words}, next try at 20:07:00\n`);
  expect(shown(NOW)).toContain(`${words}, the next try is due\n`);
});

test("shows since when a run waits for a job of its model, and when it looks at it again", () => {
  const shown = (nextLookAt: number) => {
    const detachedCall = {
      key: "cairn-1",
      model: "openai-batch:m",
      reference: "batch_1",
      since: NOW - 600_000,
      nextLookAt,
    };
    const run = { ...waiting, label: "waiting for model job batch_1", outage: null, detachedCall };
    return renderRun(run, { ...PAGE, command: (...words) => commandLine(words) });
  };
  const words = "status      running, waiting for model job batch_1 since 19:50:00";
  expect(shown(OUTAGE.nextTryAt)).toContain(`${words}, next look at 20:07:00\n`);
  expect(shown(NOW)).toContain(`${words}, the next look is due\n`);
});

test("has a note in a list while it waits, and a list without such a run has no notes", () => {
  const [title, listed] = renderList([waiting], PAGE).split("\n");
  expect(title).toMatch(/ {2}NOTE$/);
  expect(listed).toMatch(/ {2}waits for its model, next call in 7m00s, at 20:07:00$/);
  expect(renderList([{ ...waiting, wakeAt: NOW - 1 }], PAGE)).not.toContain("NOTE");
  expect(renderList([{ ...waiting, phase: "AwaitingLLM" }], PAGE)).not.toContain("NOTE");
  const asleep = { ...waiting, phase: "ExecutingTools", status: "waiting" } as const;
  expect(renderList([asleep], PAGE)).toMatch(/ {2}until 20:07:00 at the latest$/);
});
