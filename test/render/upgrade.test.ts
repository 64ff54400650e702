/** What people read of a run that waits for code, and of what was deployed under it. */
import { expect, test } from "vitest";
import { plain } from "../../src/render/paint.ts";
import { renderRun } from "../../src/render/run.ts";
import { UNTOLD } from "../../src/render/story.ts";
import { renderEvents } from "../../src/render/timeline.ts";
import { commandLine } from "../../src/render/words.ts";
import { inline } from "../../src/core/message.ts";
import type { Shown, TimelineEntry } from "../../src/operations/views.ts";
import { AT, RUN, EVENT } from "../support/states/states-and-events.ts";

const PAGE = { now: AT, paint: plain, width: 100 };
const command = (...words: readonly string[]): string => commandLine(words);

const waiting: Shown = {
  ...{ run: RUN, agent: "travel", status: "blocked", phase: "AwaitingAgent", inProgress: true, resumable: true },
  storeOutage: null,
  ...{
    version: 12,
    epoch: 9,
    beats: 6,
    takeovers: 0,
    wakeAt: AT + 12_000,
    messages: 13,
    attempt: 1,
    label: "waiting for its agent",
  },
  ...{
    createdAt: AT,
    startedAt: AT,
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
    statusSince: AT,
    lastCheckpointAt: AT,
    task: {},
    agentVersion: "1",
  },
  ...{
    keptUntil: null,
    archive: null,
    files: [],
    granted: null,
    assigned: null,
    topology: null,
    cracks: {},
    ignoredDecision: null,
  },
  ...{
    spent: { usd: 0, tokensIn: 0, tokensOut: 0 },
    unknown: [],
    gates: [],
    waits: [],
    ...{ children: [], again: null, parent: null },
    result: null,
    failure: null,
    waitsFor: null,
    outage: null,
    detachedCall: null,
    redrivable: false,
  },
};

test.each([
  [
    { kind: "upgrade", from: "1", to: "2", accepted: false },
    `? it is pinned to agent version 1, and version 2 is deployed
  npx cairn resume ${RUN} --upgrade  # continue with version 2
  npx cairn resume ${RUN}            # try again now; by itself it tries in 12s`,
  ],
  [
    { kind: "upgrade", from: "1", to: "2", accepted: true },
    `? it is pinned to agent version 1, and version 2 is deployed
accepted  the next beat applies it`,
  ],
  [
    { kind: "agent", why: "there is no agent file" },
    `? its agent cannot be loaded: there is no agent file
  npx cairn resume ${RUN}  # try again now; by itself it tries in 12s`,
  ],
  [
    { kind: "operator", mends: "code", code: "IntrinsicChanged", why: "the tool pay changed JSON.parse" },
    `? its code changes functions of the language: IntrinsicChanged: the tool pay changed JSON.parse
  npx cairn resume ${RUN}  # go on, once that is mended`,
  ],
  [
    { kind: "tools", tools: ["pay"] },
    `? its agent no longer has a fitting tool pay; the run continues by itself once it is deployed
  npx cairn resume ${RUN}  # try again now; by itself it tries in 12s`,
  ],
] as const)("a run that waits for code names the version and what to type: %j", (waitsFor, says) => {
  const text = renderRun({ ...waiting, waitsFor }, { ...PAGE, command });
  expect(text.split("\n\n")[1]).toBe(says);
});

test("the timeline shows what a run waits for, who lets it continue, and which call continues", () => {
  const body = { kind: "upgrade", question: 1, to: "2", by: "ada" } as const;
  const call = { kind: "call", tool: "book", args: inline({}), provider: null } as const;
  const events = [
    EVENT.replied([call]),
    EVENT.holdDecided(null),
    EVENT.holdDecided("2"),
    { kind: "MessageAbsorbed", at: AT, stage: "taken", message: "upgrade#1", body },
    { kind: "AgentChanged", at: AT, from: "1", to: "2", by: "ada" },
    EVENT.decided({ kind: "toolBack", call: "c1" }),
  ] as const;
  const entries = events.map((event, index): TimelineEntry => ({ version: index + 1, epoch: 1, ...event }));
  const lines = renderEvents(UNTOLD, entries, PAGE).lines.map((line) => line.slice("   +0.0s  e1   v1   ".length));
  expect(lines.slice(1)).toEqual([
    "‖ waits for its agent (r): w",
    "‖ waits for an upgrade (r): w",
    "ada accepts agent version 2",
    "continues with agent version 2 instead of 1, accepted by ada",
    "↻ book (c1) continues (r)",
  ]);
});
