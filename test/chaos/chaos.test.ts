/** Chaos without processes: what counts as an effect, and what the table says of it. */
import { describe, expect, it } from "vitest";
import type { OutsideEffect } from "../../src/sdk/chaos.ts";
import { compareEffects, effectsIn, expectedEffects } from "../../src/chaos/effects.ts";
import { type Compared, figuresOf, isSound } from "../../src/chaos/figures.ts";
import { truthOf } from "../../src/chaos/operator.ts";
import { NO_ANSWERS, type Outcome } from "../../src/chaos/strategy.ts";
import type { CallLine, Line } from "../../src/chaos/trace.ts";
import { plain } from "../../src/render/paint.ts";
import { renderChaos, renderMarkdown } from "../../src/cli/chaos-report.ts";

const call = (what: CallLine["what"], change: Partial<CallLine> = {}): CallLine => ({
  ...{ kind: "call", at: 1, pid: 1, what, tool: "pay", effect: "keyed", key: "k1", args: { usd: 5 }, result: null },
  ...change,
});
const begun = (change: Partial<CallLine> = {}): CallLine => call("begun", change);
const undo = (what: CallLine["what"], change: Partial<CallLine> = {}): CallLine =>
  call(what, { key: "u1", undoes: "k1", ...change });
const undone = (change: Partial<CallLine> = {}): readonly CallLine[] => [
  undo("begun", change),
  undo("returned", change),
];
const ids = (effects: readonly OutsideEffect[]): readonly string[] => effects.map(({ id }) => id);

describe("effects, from the log of calls", () => {
  it.each<[says: string, lines: readonly Line[], expected: readonly string[]]>([
    ["tools without an effect have none", [begun({ effect: "none" })], []],
    ["two runs under one key are one effect", [begun(), begun()], ["k1"]],
    ["another key is another effect", [begun(), begun({ key: "k2" })], ["k1", "k2"]],
    ["an unsafe tool acts each time", [begun({ effect: "unsafe" }), begun({ effect: "unsafe" })], ["k1", "k1"]],
    ["so does a probed one", [begun({ effect: "probed" }), begun({ effect: "probed" })], ["k1", "k1"]],
    ["a call that threw did not happen", [begun(), call("threw")], []],
    [
      "a call that threw once and then returned happened the second time",
      [begun(), call("threw"), begun(), call("returned")],
      ["k1"],
    ],
    [
      "a call with an unknown outcome counts as happened",
      [begun({ effect: "unsafe" }), call("unsure", { effect: "unsafe" })],
      ["k1"],
    ],
    ["a compensated effect no longer stands", [begun(), ...undone()], []],
    ["nor does one that was tried several times under its key", [begun(), begun(), ...undone()], []],
    [
      "one of two effects without keys is compensated",
      [begun({ effect: "unsafe" }), begun({ effect: "unsafe" }), ...undone()],
      ["k1"],
    ],
    ["an undo that has not returned may not have happened", [begun(), undo("begun")], ["k1"]],
    ["nor may an undo that threw", [begun(), undo("begun"), undo("threw")], ["k1"]],
    ["an effect after its undo stands", [begun(), ...undone(), begun()], ["k1"]],
    ["undone twice under one key is undone once", [begun(), ...undone(), ...undone()], []],
    ["an undo without an effect is never reported", [begun(), ...undone({ effect: "none" }), ...undone()], []],
    ["the next attempt has its own keys", [begun(), ...undone(), begun({ key: "k2" })], ["k2"]],
    ["an undo of a call that did not happen compensates nothing", [...undone(), begun({ key: "k2" })], ["k2"]],
  ])("%s", (_, lines, expected) => {
    expect(ids(effectsIn(lines, 1))).toEqual(expected);
  });

  it.each<[says: string, again: Partial<CallLine>]>([
    ["under another key", { key: "u2" }],
    ["without a key", { effect: "unsafe" }],
  ])("that is undone twice %s is a duplicate; an attempt that is also undone is not", (_, again) => {
    const due = effectsIn([begun(), ...undone(again), begun({ key: "k2" })], 1);
    const attempt = [begun({ key: "k0" }), ...undone({ key: "u0", undoes: "k0" })];
    const lines = [...attempt, begun(), ...undone(again), begun({ key: "k2" })];
    expect(compareEffects(due, effectsIn(lines, 1))).toEqual({ duplicates: [], missing: [] });
    const twice = effectsIn([...lines, ...undone({ ...again, key: again.effect ? "u1" : "u3" })], 1);
    expect(compareEffects(due, twice).duplicates).toMatchObject([{ tool: "undo of pay", times: 1 }]);
  });

  it("a fresh key for the same arguments of one task is a duplicate; another task is not", () => {
    const due = [...effectsIn([begun({ key: "a" })], 1), ...effectsIn([begun({ key: "b" })], 2)];
    expect(compareEffects(due, due)).toEqual({ duplicates: [], missing: [] });
    const seen = [...effectsIn([begun({ key: "c" }), begun({ key: "d" })], 1), ...effectsIn([begun({ key: "e" })], 2)];
    expect(compareEffects(due, seen)).toEqual({
      duplicates: [{ tool: "pay", of: 'task 1: {"usd":5}', times: 1, ids: ["c", "d"] }],
      missing: [],
    });
  });
});

const effect = (of: string, id: string): OutsideEffect => ({ tool: "pay", id, of });

describe("effects, compared with an uninterrupted run", () => {
  it("may happen twice when they happen twice in the uninterrupted run", () => {
    const due = [effect("Ada", "1"), effect("Ada", "2")];
    expect(compareEffects(due, [effect("Ada", "3"), effect("Ada", "4")]).duplicates).toEqual([]);
    expect(compareEffects(due, [...due, effect("Ada", "5")]).duplicates).toMatchObject([{ times: 1 }]);
  });

  it("are expected once where work was handed out again, so that no duplicate is compared with itself", () => {
    const seen = [effect("Ada", "1"), effect("Ada", "2"), effect("Bob", "3")];
    const expected = expectedEffects(seen, { isHandedOutAgain: true });
    expect(ids(expected).toSorted()).toEqual(["1", "3"]);
    expect(compareEffects(expected, seen)).toMatchObject({ duplicates: [{ of: "Ada", times: 1 }], missing: [] });
    expect(expectedEffects(seen, { isHandedOutAgain: false })).toEqual(seen);
  });

  it("are no duplicate when new and single, and are missing when they did not happen", () => {
    const { duplicates, missing } = compareEffects([effect("Ada", "1")], [effect("Bob", "2")]);
    expect(duplicates).toEqual([]);
    expect(missing).toMatchObject([{ of: "Ada", times: 1 }]);
  });
});

describe("the operator's view of a call", () => {
  const unknown = { tool: "pay", key: "k1" };

  it.each<[says: string, lines: readonly Line[], kind: "happened" | "absent" | undefined]>([
    ["it was never sent", [begun({ key: "k2" })], "absent"],
    ["it returned", [begun(), call("returned", { result: "ok" })], "happened"],
    ["it threw", [begun(), call("threw")], "absent"],
    ["it was sent, without a response", [begun()], undefined],
    ["it was compensated, which is another question", [begun(), ...undone()], undefined],
    ["it threw once, and was sent once more", [begun(), call("threw"), begun()], undefined],
  ])("%s", (_, lines, kind) => {
    expect(truthOf(lines, unknown)?.kind).toBe(kind);
  });
});

const model: Line = { kind: "moment", when: "during", name: "model", where: "", at: 5, pid: 7 };
const outcome = (task: number, change: Partial<Outcome> = {}): Outcome => ({
  ...{ task, run: null, lines: [model, begun()], why: null, killed: null, answers: NO_ANSWERS, handedOutAgain: 0 },
  ...{ end: { status: "completed", result: { paid: task, at: 1 } } },
  ...change,
});

/** Two tasks, both killed by 100; 9 goes on. */
const KILLED = { at: 100, pid: 7 };
const RESUMED: readonly Line[] = [
  ...[model, begun()],
  { kind: "moment", when: "before", name: "claim", where: "1", at: 150, pid: 9 },
  { ...model, at: 400, pid: 9 },
];
const compared = (change: Partial<Compared>): Compared => ({
  ...{ strategy: "cairn", outcomes: [], effects: [], referenceEffects: [] },
  ...{ reference: new Map([1, 2].map((task) => [task, outcome(task)])), normalise: (result) => result },
  ...change,
});

describe("the figures of a strategy", () => {
  it("counts survivors, repeated work and recovery time", () => {
    const outcomes = [outcome(1, { killed: KILLED, lines: RESUMED }), outcome(2, { killed: KILLED })];
    const figures = figuresOf(compared({ outcomes }));
    expect(figures).toMatchObject({
      tasks: 2,
      killed: 2,
      survived: 2,
      lost: [],
      divergent: [],
      resumeMs: { max: 300 },
    });
    expect(figures.work).toEqual({ repliesMean: 0.5, repliesMax: 1, callsMean: 0, callsMax: 0 });
    expect(isSound(figures)).toBe(true);
  });

  it.each<[says: string, lines: readonly Line[], retries: number, callsMax: number]>([
    ["a call that answered too late and ran again", [begun(), call("unsure"), begun()], 1, 0],
    ["a call whose process had to end, because it outlived its timeout", [begun({ pid: 8 }), begun()], 1, 0],
    ["a call that was interrupted by the kill", [begun({ pid: KILLED.pid }), begun({ pid: 8 })], 0, 1],
    ["a call that failed and was proposed again", [begun(), call("threw"), begun({ key: "k2" })], 0, 1],
  ])("tells retries after timeouts from lost work: %s", (_, lines, retries, callsMax) => {
    const killed = [outcome(1, { killed: KILLED, lines: [model, ...lines] })];
    expect(figuresOf(compared({ outcomes: killed }))).toMatchObject({ retries, work: { callsMax } });
  });

  it.each<[says: string, change: Partial<Compared>, found: object]>([
    ["a run without an end", { outcomes: [outcome(1, { end: null })] }, { survived: 0, lost: [1] }],
    [
      "a run with another end",
      { outcomes: [outcome(1, { end: { status: "failed", result: "CrashLoop" } })] },
      { survived: 0, lost: [1] },
    ],
    [
      "another result",
      { outcomes: [outcome(1), outcome(2, { end: { status: "completed", result: "x" } })] },
      { survived: 2, divergent: [2] },
    ],
    ["a duplicate", { effects: [effect("Ada", "1"), effect("Ada", "2")] }, { duplicates: [{ times: 1 }] }],
    ["a missing effect", { referenceEffects: [effect("Ada", "1")] }, { missing: [{ times: 1 }] }],
  ])("%s counts as a failure", (_, change, found) => {
    const figures = figuresOf(compared(change));
    expect(figures).toMatchObject(found);
    expect(isSound(figures)).toBe(false);
  });

  it("compares only what is left of a result", () => {
    const outcomes = [outcome(1, { end: { status: "completed", result: { paid: 1, at: 999 } } })];
    const normalise: Compared["normalise"] = (result) => (result as { readonly paid: number }).paid;
    expect(figuresOf(compared({ outcomes })).divergent).toEqual([1]);
    expect(figuresOf(compared({ outcomes, normalise })).divergent).toEqual([]);
  });

  it("reports that a process whose state died with it lost everything and leaves nothing to compare", () => {
    const outcomes = [outcome(1, { end: null, killed: KILLED })];
    const figures = figuresOf(compared({ strategy: "in-process", outcomes, referenceEffects: [effect("Ada", "1")] }));
    expect(figures).toMatchObject({ survived: 0, duplicates: null, missing: [], resumeMs: null });
    expect(figures.work).toMatchObject({ repliesMean: 1, callsMean: 1 });
  });
});

describe("the table", () => {
  const lost = figuresOf(compared({ strategy: "in-process", outcomes: [outcome(1, { end: null, killed: KILLED })] }));
  const twice = figuresOf(compared({ outcomes: [outcome(1)], effects: [effect("Ada", "1"), effect("Ada", "2")] }));
  const report = {
    ...{
      agent: "payer",
      everyEdge: false,
      seed: "1",
      countedBy: "calls" as const,
      casting: { services: [], faked: ["mail"], real: ["pay"] },
      figures: [lost, twice],
      store: "/tmp/x/cairn",
      leftOut: [],
      notDuring: ["mail"],
    },
    failures: [{ task: 1, run: "local-abc", killed: "after effect 2 (pay)", what: "lost: it is blocked" }],
  } as const;

  it("shows counts, failures, where the stores are and how to repeat the run", () => {
    const text = renderChaos(report, {
      ok: false,
      dir: "/tmp/x",
      again: "npx cairn chaos payer",
      paint: plain,
      width: 100,
    });
    expect(text).toMatch(/runs surviving +0\/1 +1\/1\n/);
    expect(text).toMatch(/duplicate effects +n\/a +1\n/);
    expect(text).toContain("Whether the external service honours keys is not checked");
    expect(text).toContain("No process was killed during a tool call, because only the external service knows");
    const counted = { ...report, countedBy: "other side" as const };
    const style = { ok: true, dir: null, again: "", paint: plain, width: 100 };
    expect(renderChaos(counted, style)).toContain("No process was killed during a call of mail: only a human may say");
    expect(text).toContain("task 1, killed after effect 2 (pay): lost: it is blocked");
    expect(text).toContain("npx cairn timeline local-abc --store /tmp/x/cairn");
    expect(text).not.toContain("uninterrupted:");
    const reference = { run: "local-def", store: "/tmp/x/reference" };
    const differs = { ...report, failures: [{ ...report.failures[0], what: "differs", reference }] };
    expect(renderChaos(differs, style)).toContain(
      "uninterrupted: npx cairn timeline local-def --store /tmp/x/reference",
    );
    expect(text).toContain("all stores are kept in /tmp/x\nto repeat it: npx cairn chaos payer");
  });

  it("says why there is no plain loop for another topology than ReAct", () => {
    const style = { ok: true, dir: null, again: "", paint: plain, width: 100 };
    expect(renderChaos(report, style)).not.toContain("no plain loop");
    const alone = renderChaos({ ...report, figures: [twice], leftOut: ["in-process", "act-then-save"] }, style);
    expect(alone).toContain("There is no plain loop to compare with: it knows ReAct only");
  });

  it("is Markdown when that is requested", () => {
    const lines = renderMarkdown(report).split("\n");
    expect(lines).toContain("| duplicate effects | n/a | 1 |");
    expect(lines).toContain("| --- | --- | --- |");
  });
});
