/** ReAct: the first signal of a runaway, the cap of a nested one, and contradictions that are escalated. */
import { expect, test } from "vitest";
import { type OnContradiction, REACT, reactTopology } from "../../../src/core/topologies/react.ts";
import { context } from "../../support/states/topology-context.ts";

const options = reactTopology({ maxBeats: 10 });
const due = (used: number, change: Parameters<typeof context>[0] = {}) =>
  REACT.observe(null, { kind: "due" }, { options, context: context({ beats: { used, max: 10 }, ...change }) });

test("signals a runaway at 80 % of its beats, once, and before the cap", () => {
  expect([due(0), due(7), due(10)]).toEqual([null, null, null]);
  const cracks = [{ crack: "runaway", why: "8 of 10 beats are used" }];
  expect(due(8)).toEqual({ kind: "signal", cracks });
  expect(due(9, { wasSignalled: (crack) => crack === "runaway" })).toBeNull();
  // A cap below 5 has no beat between 80 % and itself.
  expect(
    REACT.observe(null, { kind: "due" }, { options, context: context({ beats: { used: 3, max: 4 } }) }),
  ).toBeNull();
});

test("is done when the model has no more calls", () => {
  const seen = { kind: "reply", message: "m2", text: "over" } as const;
  expect(REACT.observe(null, seen, { options, context: context() })).toMatchObject({ kind: "finish", message: null });
});

const CONFLICT = { kind: "conflict", why: "map and list differ", say: "Two results contradict each other." } as const;

test.each<[OnContradiction | undefined, object | null, object]>([
  [undefined, null, { tools: "all" }],
  ["stop", null, { tools: "all" }],
  ["ask", { escalated: CONFLICT.why }, { role: "react", approval: CONFLICT.why }],
  [{ model: "second" }, { escalated: CONFLICT.why }, { role: "arbiter", model: "second" }],
])("escalates a contradiction that the model was told of: %o", (onContradiction, progress, request) => {
  const harness = { ...options, ...(onContradiction === undefined ? {} : { onContradiction }) };
  const move = REACT.observe(null, CONFLICT, { options: harness, context: context() });
  expect(move).toEqual(
    progress === null
      ? null
      : { kind: "ask", progress, note: expect.stringContaining(CONFLICT.why), tell: CONFLICT.say },
  );
  if (move?.kind !== "ask") return;
  expect(REACT.request(move.progress, harness)).toMatchObject(request);
  // The next contradiction is not escalated again: the run stops.
  expect(REACT.observe(move.progress, CONFLICT, { options: harness, context: context() })).toBeNull();
});

test("refuses options that it does not understand", () => {
  expect(REACT.problems(reactTopology({ maxBeats: 1, onContradiction: "shrug" as never }))).toHaveLength(1);
  expect(REACT.problems(options)).toEqual([]);
});
