/** The recovery table: the first rule that matches wins, every rule can fire, and none hides another. */
import { nextCommands, fold } from "../../src/features/compose.ts";
import { describe, expect, test } from "vitest";
import type { Action } from "../../src/core/event.ts";
import { BOUNDS } from "../../src/core/limits.ts";
import { RECOVERY, type Trouble, decideRecovery, tooManyDeaths } from "../../src/core/policy/recovery.ts";
import type { RetryTerms } from "../../src/core/policy/outage.ts";
import type { State } from "../../src/core/state.ts";
import { AT, FAILURE, IN_PHASE, EVENT } from "../support/states/states-and-events.ts";

const state = (change: Partial<State> = {}): State => ({ ...IN_PHASE.AwaitingLLM(), ...change });

/** A call that may be made again, by an agent with one model. */
const terms = (change: Partial<RetryTerms> = {}): RetryTerms => ({
  ...{ afterMs: null, chance: 0.5, outageMaxMs: 24 * 3_600_000, models: 1, asked: 0 },
  ...change,
});

const model = (change: object = {}): Trouble => ({
  ...{ kind: "model", failure: FAILURE, retry: terms() },
  ...change,
});
const away = (change: object = {}): State =>
  state({ modelRetries: 3, outage: { since: AT - 7_000, attempts: 3 }, ...change });
const TOO_LONG = { code: "ContextTooLong", message: "8,192 tokens" };
const refused = (change: object = {}) =>
  ({
    kind: "model",
    failure: FAILURE,
    retry: null,
    refused: { terms: terms(), leavesOut: false, replyTokensMax: null, ...change },
  }) as const;
const budget: Trouble = { kind: "budget", failure: FAILURE };
const deaths: Trouble = { kind: "deaths", failure: FAILURE };
const idle: Trouble = { kind: "idle", failure: FAILURE };
const loop: Trouble = { kind: "loop", failure: FAILURE };
const noClosingReply: Trouble = { kind: "speechless", failure: { code: "NoLastWords", message: "it was lost" } };
const deadline: Trouble = { kind: "deadline", failure: FAILURE };
const agent: Trouble = { kind: "agent", failure: FAILURE };
const conflict: Trouble = { kind: "conflict", failure: FAILURE, say: "They contradict each other." };
const crowded: Trouble = { kind: "crowded", failure: FAILURE, say: "Be brief." };
const topology: Trouble = { kind: "topology", failure: FAILURE };
const summary = (retry: { readonly afterMs: number | null } | null): Trouble => ({
  ...{ kind: "summary", failure: FAILURE, retry },
});
const reply: Trouble = { kind: "reply", failure: FAILURE, say: "Call a tool." };

/** For each rule a state and a trouble that it is there for. */
const CASES: readonly (readonly [rule: string, State, Trouble])[] = [
  ["too many processes died", state(), deaths],
  ["no answer before the deadline", state(), deadline],
  ["stops without a closing reply", IN_PHASE.ForceStop(), noClosingReply],
  ["hard idle timeout", state(), idle],
  ["context too long, not yet compacted", state(), model({ failure: TOO_LONG, shortens: true })],
  ["request refused, sent again without optional parts", state(), refused({ leavesOut: true })],
  ["request refused, the next model is asked", state(), refused({ terms: terms({ models: 2 }) })],
  ["request refused, it may be too long, not yet compacted", state(), { ...refused(), shortens: true }],
  ["request refused, a shorter reply makes room for it", state(), refused({ replyTokensMax: 512 })],
  ["the provider refuses the request", state(), refused()],
  ["model of summaries failed, may be asked again", IN_PHASE.Compacting(), summary({ afterMs: null })],
  ["model of summaries failed, the working model summarises", IN_PHASE.Compacting(), summary(null)],
  ["model unavailable for too long", away(), model({ retry: terms({ outageMaxMs: 7_000 }) })],
  ["model failed, may be asked again", state(), model()],
  ["model unavailable, the next one is asked", away(), model({ retry: terms({ models: 2 }) })],
  ["model unavailable, asked again later", away(), model()],
  ["budget exhausted", state(), budget],
  ["budget exhausted, calls are open", IN_PHASE.ExecutingTools(), budget],
  ["loop detector", state(), loop],
  ["results contradict each other, model is told", state(), conflict],
  ["context nearly full, model is told", IN_PHASE.Compacting(), crowded],
  ["reply cannot be used, model is told", state(), reply],
  ["reply was cut, model is told", state(), { kind: "cut", failure: FAILURE, say: "Go on." }],
  ["replies are cut again and again", state(), { kind: "cuts", failure: FAILURE }],
  ["its topology gives up", state(), topology],
  ["no other rule applies", state(), agent],
];

test("each rule has a case here, and the names differ", () => {
  expect(RECOVERY.map(({ name }) => name)).toEqual(CASES.map(([rule]) => rule));
  expect(new Set(CASES.map(([rule]) => rule)).size).toBe(CASES.length);
});

test.each(CASES)("%s: fires, and no rule before it fires", (rule, from, trouble) => {
  expect(decideRecovery(from, trouble, AT)).toMatchObject({
    kind: "RecoveryDecided",
    at: AT,
    rule,
    why: `${trouble.failure.code}: ${trouble.failure.message}`,
  });
  expect(RECOVERY.filter((each) => each.when(from, trouble, AT)).map(({ name }) => name)[0]).toBe(rule);
});

test("only the last rule matches everything, so a decision always exists", () => {
  const all = CASES.map(([, from, trouble]) => [from, trouble] as const);
  const always = RECOVERY.filter(({ when }) => all.every(([from, trouble]) => when(from, trouble, AT)));
  expect(always.map(({ name }) => name)).toEqual([RECOVERY.at(-1)?.name]);
});

describe("a model that failed", () => {
  test("is called again after one, two and four seconds, then the run waits for the end of the outage", () => {
    const at = [0, 1, 2, 3].map((modelRetries) => decideRecovery(state({ modelRetries }), model(), AT).action);
    expect(BOUNDS.modelRetriesMax).toBe(3);
    expect(at).toMatchObject([
      { kind: "retry", at: AT + 1_000, outage: { since: AT, attempts: 1 } },
      { kind: "retry", at: AT + 2_000 },
      { kind: "retry", at: AT + 4_000 },
      { kind: "retry", at: AT + 4_000 },
    ]);
  });

  test("is not called before its retry-after, and never before our own pause", () => {
    const at = (afterMs: number) => decideRecovery(state(), model({ retry: terms({ afterMs }) }), AT).action;
    expect(at(70_000)).toMatchObject({ kind: "retry", at: AT + 70_000, outage: { notBefore: AT + 70_000 } });
    expect(at(5)).toMatchObject({ kind: "retry", at: AT + 1_000 });
  });

  test("permanently is not called again", () => {
    expect(decideRecovery(state(), model({ retry: null }), AT).action).toEqual({
      kind: "abort",
      failure: FAILURE,
    });
  });
});

describe("a request that its provider refuses", () => {
  test("is sent without optional parts first, then to the next model, then shorter, then waits for an operator", () => {
    const all = { ...refused({ leavesOut: true, terms: terms({ models: 2 }) }), shortens: true };
    const second = { ...refused({ terms: terms({ models: 2 }) }), shortens: true };
    const last = { ...refused({ terms: terms({ models: 2, asked: 1 }) }), shortens: true };
    const nothing = refused({ terms: terms({ models: 2, asked: 1 }) });
    const kinds = [all, second, last, nothing].map((each) => decideRecovery(state(), each, AT).action);
    expect(kinds).toMatchObject([
      { kind: "leaveOut" },
      { kind: "retry", at: AT, outage: { model: 1 } },
      { kind: "compact" },
      { kind: "block", mends: "request", failure: FAILURE },
    ]);
  });

  test("is whole again for another model, and after the run waited", () => {
    const left = fold(state(), decideRecovery(state(), refused({ leavesOut: true }), AT));
    expect(left).toMatchObject({ phase: "AwaitingLLM", leavesOut: true });
    const next = fold(left, decideRecovery(left, refused({ terms: terms({ models: 2 }) }), AT));
    expect(next).toMatchObject({ phase: "RetryingLLM", outage: { model: 1 } });
    expect(next).not.toHaveProperty("leavesOut");
    const waits = fold(left, decideRecovery(left, refused(), AT));
    expect(waits).toMatchObject({ phase: "AwaitingAgent", pausedFrom: "AwaitingLLM", retryAt: null });
    for (const gone of ["leavesOut", "outage"]) expect(waits).not.toHaveProperty(gone);
  });

  test("leaves no outage behind that would end the run after a resume", () => {
    const out = { ...IN_PHASE.RetryingLLM(), outage: { since: 0, attempts: 9, model: 1 }, modelRetries: 3 };
    const waits = fold(out, decideRecovery(out, refused(), AT));
    const resumed = fold(waits, { kind: "RunResumed", at: AT });
    expect(resumed).toMatchObject({ phase: "AwaitingLLM", modelRetries: 0, upgrades: { lack: null } });
    expect(resumed).not.toHaveProperty("outage");
  });
});

describe("a model of summaries that failed", () => {
  const after = (attempts: number, afterMs: number | null = null): Action => {
    const compacting = { ...IN_PHASE.Compacting(), ...(attempts === 0 ? {} : { failedSummaries: { attempts } }) };
    return decideRecovery(compacting, summary({ afterMs }), AT).action;
  };

  test("is called again after one, two and four seconds, then the working model summarises", () => {
    expect([0, 1, 2, 3].map((tries) => after(tries))).toEqual([
      { kind: "compact", at: AT + 1_000, failed: { attempts: 1 } },
      { kind: "compact", at: AT + 2_000, failed: { attempts: 2 } },
      { kind: "compact", at: AT + 4_000, failed: { attempts: 3 } },
      { kind: "compact", failed: { attempts: 4, isLeft: true } },
    ]);
  });

  test("is waited for as long as the shortest pause in an outage, and no longer", () => {
    const { outagePauseMsMin } = BOUNDS;
    expect(after(0, outagePauseMsMin)).toEqual({ kind: "compact", at: AT + outagePauseMsMin, failed: { attempts: 1 } });
    expect(after(0, outagePauseMsMin + 1)).toEqual({ kind: "compact", failed: { attempts: 1, isLeft: true } });
  });

  test("does not touch the outage of the working model, and is forgotten with the next reply", () => {
    const outage = { since: AT - 7_000, attempts: 2 };
    const before = { ...IN_PHASE.Compacting(), outage, modelRetries: 2 };
    const decision = decideRecovery(before, summary({ afterMs: null }), AT);
    const waits = fold(before, decision);
    expect(waits).toMatchObject({ phase: "Compacting", retryAt: AT + 1_000, outage, modelRetries: 2 });
    const owed = (now: number) =>
      nextCommands(waits, { now, epoch: 1, effectsSettleAt: 0, cancel: false, pause: false, looked: false });
    expect(owed(AT + 999)).toEqual([{ kind: "wait", until: AT + 1_000 }]);
    expect(owed(AT + 1_000)).toEqual([{ kind: "compact" }]);
    const done = fold(waits, EVENT.compacted(waits));
    expect({ failedSummaries: done.failedSummaries, retryAt: done.retryAt, phase: done.phase }).toEqual({
      failedSummaries: undefined,
      retryAt: null,
      phase: "AwaitingLLM",
    });
  });
});

describe("a reply that cannot be used", () => {
  test("is reported to the model three times, then the run ends", () => {
    const actions = [0, 1, 2, 3].map((nudges) => decideRecovery(state({ nudges }), reply, AT).action.kind);
    expect(actions).toEqual(["nudge", "nudge", "nudge", "abort"]);
    expect(decideRecovery(state(), reply, AT).action).toEqual({ kind: "nudge", text: "Call a tool." });
  });

  test("has its own count: retries of the model do not use it up", () => {
    expect(decideRecovery(state({ modelRetries: 3 }), reply, AT).action.kind).toBe("nudge");
    expect(decideRecovery(state({ nudges: 3 }), model(), AT).action.kind).toBe("retry");
  });
});

test("the order is idle, context, retry, loops, nudge, abort", () => {
  const order = ["hard idle timeout", "context too long, not yet compacted", "the provider refuses the request"];
  const rest = [
    "model failed, may be asked again",
    "loop detector",
    "reply cannot be used, model is told",
    "no other rule applies",
  ];
  const names = RECOVERY.map(({ name }) => name);
  expect(names.filter((name) => [...order, ...rest].includes(name))).toEqual([...order, ...rest]);
});

describe("a run that has to stop", () => {
  test.each([
    ["its budget", budget],
    ["a loop", loop],
  ])("for %s is never retried, whatever the counts: it makes a closing call that names the reason", (_, trouble) => {
    const { action } = decideRecovery(state(), trouble, AT);
    expect(action).toMatchObject({ kind: "stop", failure: FAILURE });
    expect(action.kind === "stop" ? action.text : "").toMatch(/it broke.*what is done.*still open/s);
  });

  test("ends with its reason even if the closing call is lost", () => {
    expect(decideRecovery(IN_PHASE.ForceStop(), noClosingReply, AT).action).toEqual({
      kind: "abort",
      failure: FAILURE,
    });
  });

  test("makes no closing call when its processes died too often", () => {
    const left = { kind: "abort", failure: FAILURE, next: "leave", forced: true };
    expect(decideRecovery(state(), deaths, AT).action).toEqual(left);
  });
});

test("a context that is too long and cannot be compacted is not sent again, whatever the provider replies", () => {
  const failure = TOO_LONG;
  const waits = { kind: "block", mends: "request", failure };
  expect(decideRecovery(state(), model({ failure, shortens: false }), AT).action).toEqual(waits);
  const shortens = model({ failure, shortens: true });
  expect(decideRecovery(state({ modelRetries: 3 }), shortens, AT).action).toEqual({ kind: "compact" });
});

test("names how many processes died, and what ended the last one when that is known", () => {
  const said = "3 processes died one after the other while they held this run, 2 are allowed";
  const trouble = (cause: string | null) => tooManyDeaths("CrashLoop", { deaths: 3, max: 2, cause });
  expect(trouble(null).failure).toEqual({ code: "CrashLoop", message: said });
  expect(trouble("out of memory").failure.message).toBe(`${said}; the last one ended with: out of memory`);
});

test("makes no closing call while a call is open, whatever the phase", () => {
  const open = IN_PHASE.ExecutingTools().open;
  expect(decideRecovery(state({ open }), budget, AT).rule).toBe("budget exhausted, calls are open");
});

test("counts a failure as one of the model only in a phase that calls it", () => {
  expect(decideRecovery(state(), { ...agent, failure: TOO_LONG }, AT).rule).toBe("no other rule applies");
});

describe("a child that acted outside, with tries of its parent left,", () => {
  const outside = { calls: [{ call: "c1", tool: "pay", key: "k", outcome: "succeeded" }] } as const;
  const child = (change: Partial<State> = {}): State =>
    state({ outside, expected: { tries: 3 }, modelRetries: 3, outage: { since: AT - 7_000, attempts: 3 }, ...change });
  const over = model({ retry: terms({ outageMaxMs: 7_000 }) });
  const result: Trouble = { kind: "result", failure: FAILURE, say: "It cannot be used." };
  const worn = { nudges: BOUNDS.nudgesMax } as const;

  test.each<[Trouble["kind"], State, Trouble, boolean]>([
    ["model", child(), over, true],
    ["model", child(), model({ retry: null }), false],
    ["idle", child(), idle, true],
    ["deaths", child(), deaths, true],
    ["reply", child(worn), reply, true],
    ["result", child(), result, true],
    ["budget", child(), budget, false],
    ["budget", child({ open: IN_PHASE.ExecutingTools().open }), budget, false],
    ["loop", child(), loop, false],
    ["agent", child(), agent, false],
    ["topology", child(), topology, false],
    ["deadline", child(), deadline, false],
    ["speechless", child(), noClosingReply, false],
  ])(
    "goes on after a failure of kind %s if another try can mend it: each failure is decided",
    (_, from, trouble, goesOn) => {
      const { action } = decideRecovery(from, trouble, AT);
      expect(action.kind === "tryAgain").toBe(goesOn);
      if (goesOn) expect(action).toMatchObject({ try: 2, tries: 3 });
    },
  );

  test("takes back no end that is decided, and goes on with no work that it has to stop", () => {
    const ending = { kind: "failed", failure: FAILURE } as const;
    expect(decideRecovery(child({ ending }), deaths, AT).action.kind).toBe("abort");
    expect(decideRecovery(child({ stopsFor: FAILURE }), deaths, AT).action.kind).toBe("abort");
  });

  test("reads what is wrong, unless its topology has finished and would give the same answer", () => {
    const text = "It cannot be used.\nThis is try 2 of 3. What you did stands: do not do it again.";
    expect(decideRecovery(child(), result, AT).action).toMatchObject({ text });
    const finished = child({ topology: { final: "m3" } as never });
    expect(decideRecovery(finished, result, AT).action.kind).toBe("abort");
    expect(decideRecovery(finished, deaths, AT).action).toEqual({
      kind: "tryAgain",
      failure: FAILURE,
      try: 2,
      tries: 3,
    });
  });

  test("forgets the outage and its retries, and keeps its calls, its keys, and what it spent", () => {
    const before = child({ ...IN_PHASE.ExecutingTools(), outside, expected: { tries: 3 }, nudges: 2, modelRetries: 3 });
    const after = fold(before, decideRecovery(before, deaths, AT));
    expect(after).toEqual({
      ...{ ...before, outage: undefined },
      expected: { tries: 3, returned: 1, after: { failure: FAILURE, messages: expect.any(Number) } },
      ...{ nudges: 0, modelRetries: 0, retryAt: null },
    });
    const away = { ...child(), phase: "RetryingLLM", retryAt: AT + 1 } as const;
    expect(fold(away, decideRecovery(away, over, AT))).toMatchObject({ phase: "AwaitingLLM", retryAt: null });
    expect(fold(away, decideRecovery(away, over, AT)).outage).toBeUndefined();
  });

  test.each<[string, Partial<State>]>([
    ["its parent has no try left", { expected: { tries: 3, returned: 2 } }],
    ["it did nothing outside", { outside: undefined as never }],
    ["no parent waits for its answer", { expected: undefined as never }],
  ])("ends where %s", (_, change) => {
    expect(decideRecovery(child(change), deaths, AT).action.kind).toBe("abort");
  });

  test("ends at the place where it went on the last time, and goes on after a word of somebody else", () => {
    const place = (messages: number) => ({ tries: 3, returned: 1, after: { failure: FAILURE, messages } });
    const said = child().messages.filter(({ source }) => source !== "cairn").length;
    const at = (messages: number) => decideRecovery(child({ expected: place(messages) }), deaths, AT).action;
    expect(at(said).kind).toBe("abort");
    expect(at(said - 1)).toMatchObject({ kind: "tryAgain", try: 3, tries: 3 });
  });

  test("is nudged, waits or is compacted as any run is: only an end becomes another try", () => {
    const kinds = [reply, model(), conflict, summary(null)].map(
      (trouble) => decideRecovery(child({ modelRetries: 0, outage: undefined as never }), trouble, AT).action.kind,
    );
    expect(kinds).toEqual(["nudge", "retry", "nudge", "compact"]);
  });
});

describe("what a rule does", () => {
  const actionOf = (trouble: Trouble, from: State = state()): Action => decideRecovery(from, trouble, AT).action;

  test("a text after a cut one is told apart from another nudge", () => {
    const cut: Trouble = { kind: "cut", failure: FAILURE, say: "Go on." };
    expect(actionOf(cut)).toEqual({ kind: "nudge", text: "Go on.", isCut: true });
    expect(actionOf(conflict)).toEqual({ kind: "nudge", text: "They contradict each other." });
  });

  test("replies that are cut again and again need other replies, and a refused request another request", () => {
    const cuts: Trouble = { kind: "cuts", failure: FAILURE };
    expect(actionOf(cuts)).toEqual({ kind: "block", mends: "replies", failure: FAILURE });
    expect(actionOf(refused())).toEqual({ kind: "block", mends: "request", failure: FAILURE });
  });

  test("a shorter reply has the limit that makes room", () => {
    expect(actionOf(refused({ replyTokensMax: 512 }))).toEqual({ kind: "limitReply", tokensMax: 512 });
  });

  test("a context that may be too long is compacted before its model is asked again, and once", () => {
    expect(actionOf(model({ shortens: true }))).toEqual({ kind: "compact" });
    expect(actionOf(model({ shortens: false })).kind).toBe("retry");
    expect(actionOf({ ...refused({ terms: terms({ models: 2 }) }), shortens: true }).kind).toBe("retry");
    expect(actionOf({ ...refused(), failure: TOO_LONG, shortens: true })).toEqual({ kind: "compact" });
  });
});
