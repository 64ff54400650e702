/** What waits for a human, as the page of what it needs orders and names it, without a browser. */
import { describe, expect, test } from "vitest";
import {
  type AllNeeds,
  type ShownDocument,
  argsIn,
  blockedFrom,
  isOpenIn,
  needsOf,
} from "../../src/console/model/needs.ts";
import type { WaitingGate, WaitingQuestion } from "../../src/operations/approvals.ts";
import type { Shown, UnknownCall } from "../../src/operations/views.ts";

const call = (of: Partial<UnknownCall> = {}): UnknownCall => ({
  ...{
    call: "c1",
    tool: "mail",
    key: "mail-c1",
    business: false,
    args: null,
    reconcilableFrom: 1_000,
    answered: false,
  },
  ...{ toolGone: false, unbegun: null, lostTime: false, did: [], otherwise: "ask", undo: false },
  ...of,
});

const shown = (of: Partial<Shown>): Shown =>
  ({ run: "local-a", agent: "clerk", inProgress: true, unknown: [], gates: [], waits: [], ...of }) as Shown;

const idsOf = (blocked: Shown): readonly string[] => needsIn(blocked).map(({ id }) => id);
const needsIn = (blocked: Shown) =>
  needsOf({ gates: [], questions: [], restored: [], unreadable: [], blocked: [blocked] } satisfies AllNeeds);

describe("a question that a run asks again", () => {
  test("about an outcome that is unknown again is another one, and the decided one is over", () => {
    const [first, again] = [shown({ unknown: [call()] }), shown({ unknown: [call({ reconcilableFrom: 2_000 })] })];
    expect(idsOf(first)).toEqual(idsOf(shown({ unknown: [call({ args: {} })] })));
    expect(idsOf(first)).not.toEqual(idsOf(again));
    expect(
      needsIn(first).map((need) => ({ isOpenBefore: isOpenIn(need, first), isOpenAfter: isOpenIn(need, again) })),
    ).toEqual([{ isOpenBefore: true, isOpenAfter: false }]);
  });

  test("about another version is another one, and the accepted one is over", () => {
    const waits = (from: string, to: string, accepted = false): Shown =>
      shown({ waitsFor: { kind: "upgrade", from, to, accepted } });
    const [first, later] = [waits("1", "2"), waits("2", "3")];
    expect(idsOf(first)).not.toEqual(idsOf(later));
    expect(idsOf(waits("1", "2", true))).toEqual([]);
    const open = [waits("1", "2", true), later, shown({ waitsFor: null })];
    expect(needsIn(first).map((need) => open.map((each) => isOpenIn(need, each)))).toEqual([[true, false, false]]);
  });

  test("about a refusal of a provider is another one after a resume", () => {
    const waits = (statusSince: number): Shown =>
      shown({ statusSince, waitsFor: { kind: "operator", mends: "request", code: "ModelRefused", why: "HTTP 401" } });
    const open = [waits(1), waits(2), shown({ waitsFor: null })];
    expect(needsIn(waits(1))).toMatchObject([{ kind: "operator", title: "The model of clerk" }]);
    expect(needsIn(waits(1)).map((need) => open.map((each) => isOpenIn(need, each)))).toEqual([[true, false, false]]);
  });

  test("about code that changes the language names the code, whatever the failure is called", () => {
    const waitsFor = { kind: "operator", mends: "code", code: "ModelRefused", why: "it changed JSON.parse" } as const;
    expect(needsIn(shown({ waitsFor }))).toMatchObject([{ kind: "operator", title: "The code of clerk" }]);
  });
});

test("arguments that the list leaves out come from the same question of the run, unless that leaves them out too", () => {
  const gate = { run: "local-a", gate: "c1-a", args: null } as WaitingGate;
  const question = { run: "local-a", call: "c2", asked: 2, args: null } as WaitingQuestion;
  const document = {
    gates: [
      { gate: "c1-b", args: "other" },
      { gate: "c1-a", args: { step: 1 }, parsed: { as: "value", json: { step: 2 }, dropped: [] } },
    ],
    waits: [
      { call: "c2", asked: 1, args: "earlier" },
      { call: "c2", asked: 2, args: { question: "why?" } },
    ],
  } as unknown as ShownDocument;
  expect(argsIn(gate, document)).toEqual({
    args: { step: 1 },
    parsed: { as: "value", json: { step: 2 }, dropped: [] },
  });
  expect(argsIn(question, document)).toEqual({ args: { question: "why?" }, parsed: null });
  expect(argsIn({ ...question, asked: 3 }, document)).toBeNull();
  expect(argsIn(gate, { ...document, omitted: ["#/gates/*/args"] })).toBeNull();
  expect(argsIn(question, { ...document, omitted: ["#/gates/*/args"] })).toEqual({
    args: { question: "why?" },
    parsed: null,
  });
  expect(argsIn(question, { ...document, omitted: ["#/waits/*/args"] })).toBeNull();
});

test("a blocked run that cannot be read stays as it was known, and is named if it was not", () => {
  const [known, other] = [shown({ run: "local-a" }), shown({ run: "local-b" })];
  const reads = [{ run: "local-a", why: "away" }, { run: "local-c", why: "damaged" }, { shown: other }, null];
  const unreadable = [{ run: "local-c", why: "damaged" }];
  expect(blockedFrom([known], reads)).toEqual({ blocked: [known, other], unreadable });
});
