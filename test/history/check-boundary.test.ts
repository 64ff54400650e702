/** The persistence boundary on a stored run: a field that was altered, or that grew beyond its bound, is named. */
import { beforeAll, expect, test } from "vitest";
import type { Snapshot } from "../../src/codec/snapshot.ts";
import { BOUNDARY } from "../../src/history/boundary.ts";
import { checkBoundary } from "../../src/history/check-boundary.ts";
import { judgeBoundary } from "../../src/doctor/boundary.ts";
import { inline } from "../../src/core/message.ts";
import { DamagedCopy, type StoredRun, createLongRun } from "../support/runs/damaged-copies.ts";
import { newCall } from "../../src/core/calls/open-calls.ts";

type Field = keyof typeof BOUNDARY;

let storedRun: StoredRun;

beforeAll(async () => {
  storedRun = await createLongRun();
});

const AT = 1_700_000_000_000;
const failure = { code: "Forged", message: "forged" };

/** Another value for each field. It has the right form, so only the boundary can tell that it is wrong. */
const OTHER: { readonly [F in Field]: unknown } = {
  run: "local-bbbbbbbbbbbbbbbbbbbbbbbbbb",
  born: "cccccccccc",
  agent: "another",
  agentVersion: "99",
  task: inline({ forged: true }),
  startedAt: 1,
  startedBy: "eve",
  firing: { schedule: "crew", dueAt: 1, previousDueAt: null, makesUp: false },
  forked: { run: "local-1", born: "b", version: 1, calls: 1 },
  restart: 7,
  calls: 700,
  manifest: [],
  tail: [],
  restartedFrom: 3,
  window: { from: 2, lead: [] },
  leftOutTools: "forged",
  chosen: { choice: { offered: ["forged"] }, restart: 1, agentVersion: "1", messages: 1 },
  open: [newCall("c900", "act")],
  absorbed: ["forged"],
  signals: [{ event: "forged", value: inline(1), by: "eve" }],
  outside: { calls: [{ call: "c1", tool: "act", key: "forged", outcome: "undone" }] },
  undo: [{ call: "c1", key: "forged", from: null }],
  repeats: { due: ["c1"], undone: [], standing: [] },
  saga: { leftInPlace: ["c1"] },
  compensate: { next: "cancel", by: "eve" },
  changedIntrinsics: [{ intrinsic: "JSON.parse", tool: "forged", epoch: 1 }],
  children: [{ id: "local-1", call: "c1", try: 1, agent: "w", grant: { beats: 1 }, deadline: null, superseded: false }],
  spent: { tokensIn: 1, tokensOut: 1, microUsd: 1, beats: 1, toolCalls: 1 },
  price: { inUsd: 999, outUsd: 999 },
  takeoversMax: 999,
  extension: { questions: 1, granted: { beats: 1 }, gate: null },
  grant: { beats: 3 },
  depth: 2,
  expected: { tries: 2 },
  phase: "Compacting",
  pausedFrom: "Compacting",
  modelRetries: 2,
  nudges: 2,
  cutReplies: 2,
  leavesOut: true,
  replyTokensMax: 512,
  retryAt: AT,
  outage: { since: AT, attempts: 3 },
  failedSummaries: { attempts: 3 },
  fallback: { model: 1, until: AT },
  modelOut: {
    by: "modelJob",
    detached: {
      ...{ at: AT, key: "cairn-9", model: "a:b", epoch: 1, reserved: {}, reference: "forged" },
      request: { instructions: "", tools: [], messages: "" },
    },
    held: [],
  },
  stopsFor: failure,
  closingCallLost: true,
  memory: { learned: [{ id: "forged", digest: "0".repeat(64) }] },
  deadline: { at: AT, endBy: AT, onExpiry: "undo" },
  ending: { kind: "cancelled" },
  result: inline("forged"),
  resultFiles: [{ kind: "file", file: "a".repeat(64), mediaType: "image/png", bytes: 1, name: "forged.png" }],
  failure,
  failedFrom: { phase: "AwaitingLLM", started: [] },
  redriven: { times: 1, id: "forged" },
  onIdle: "wait",
  warnedOf: 1,
  retention: { hotMs: 1_000, archive: null },
  topology: { kind: "debate", progress: {}, role: "critic", where: "round 9", from: 0 },
  cracks: { runaway: { section: 0, times: 3, at: AT, why: "forged" } },
  upgrades: { policy: "pin", questions: 0, lack: null, accepted: null },
  assigned: { number: 1, to: "eve", by: "eve" },
  ignoredDecision: { at: AT, gate: "g", as: "approve", by: "eve", why: "forged" },
};

const forged = (field: Field, value: unknown): DamagedCopy => {
  const copy = new DamagedCopy(storedRun);
  copy.forge((document: Snapshot) => ({ ...document, state: { ...document.state, [field]: value } }));
  return copy;
};

const verdicts = async ({ world, run }: DamagedCopy) => {
  const checked = await checkBoundary(world, run);
  return checked === null ? null : judgeBoundary(checked, { verify: `npx cairn verify ${run}` });
};

test("a run that is as it was written is within all bounds, and its events give all fields again", async () => {
  const found = await verdicts(new DamagedCopy(storedRun));
  expect(found).toMatchObject([
    { id: "run-bounds", status: "ok" },
    { id: "run-fields", status: "ok" },
  ]);
  expect(found?.[1]?.why).toMatch(new RegExp(`^${Object.keys(BOUNDARY).length} fields of snapshot \\d+$`));
});

test.each(Object.keys(BOUNDARY) as Field[])("names the altered field %s", async (field) => {
  const [, fields] = (await verdicts(forged(field, OTHER[field]))) ?? [];
  expect(fields).toMatchObject({ status: "fail", mend: expect.stringContaining("verify") });
  // A snapshot of another run is not taken for this one at all.
  const named = field === "run" || field === "born" ? /belongs to run/ : new RegExp(`^${field}: it is `);
  expect(fields?.why).toMatch(named);
});

test.each<[Field, unknown, RegExp]>([
  [
    "open",
    Array.from({ length: 17 }, (_, at) => newCall(`c${900 + at}`, "act")),
    /open: it has 17, .*callsPerReplyMax/,
  ],
  ["task", inline("x".repeat(5_000)), /task: it has 5002, .*stateValueBytesMax/],
  ["agent", "a".repeat(65), /agent: it has 65, .*nameCharactersMax/],
  ["startedBy", "e".repeat(140_000), /the whole state: it has \d+ bytes, 131072 are allowed/],
])("names the field %s when it is beyond its bound", async (field, value, says) => {
  const [bounds] = (await verdicts(forged(field, value))) ?? [];
  expect(bounds).toMatchObject({ id: "run-bounds", status: "fail" });
  expect(bounds?.why).toMatch(says);
});

test("says that fields cannot be computed again when an older snapshot is lost", async () => {
  const copy = new DamagedCopy(storedRun);
  copy.delete(copy.keys("snapshots")[3]);
  expect(await verdicts(copy)).toMatchObject([
    { status: "ok" },
    { status: "fail", why: expect.stringContaining("cannot be computed again") },
  ]);
});
